//! Grids of quotes, and sizes skewed by the inventory.

use cambist_quant::grid::{Grid, Simple, Skewed, Touch, changes, simple, skewed};
use cambist_quant::inventory::{Holdings, size_skew};
use cambist_quant::{Exact, Number};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Member, Value, member};
use crate::input::{Input, list, signed};
use crate::{Computed, Context, Family};

pub(super) const GRID: Family = Family {
    name: "grid_quotes",
    notes: &[],
    compute: |input, context| match input.text("kind")? {
        "glft_grid" => Ok(Computed::new(compute_skewed(input)?.0)),
        "reconcile" => compute_changes(input),
        "simple_grid" => compute_simple(input, context),
        _ => Err(input
            .get("kind")?
            .malformed("glft_grid, reconcile or simple_grid")),
    },
};

pub(super) const SKEW: Family = Family {
    name: "inventory_skew",
    notes: &[],
    compute: compute_skew,
};

fn touch(input: &Input<'_>) -> Result<Touch, VectorError> {
    Ok(Touch {
        bid: input.signed("best_bid_tick")?,
        ask: input.signed("best_ask_tick")?,
    })
}

fn levels(grid: &Grid) -> [Member; 2] {
    [
        member("bids", grid.bids.clone()),
        member("asks", grid.asks.clone()),
    ]
}

fn compute_skewed(input: &Input<'_>) -> Result<(Vec<Member>, Grid), VectorError> {
    let by = Skewed {
        half_spread: input.exact("half_spread_tick")?,
        skew: input.exact("skew_tick")?,
        position: input.exact("position")?,
        max_position: input.exact("max_position")?,
        levels: input.whole("grid_num")?,
    };
    let made = skewed(touch(input)?, &by).map_err(|error| input.refused(error))?;
    let mut members = vec![
        member("reservation_tick", made.reservation),
        member("grid_interval_tick", made.interval),
    ];
    members.extend(levels(&made.grid));
    Ok((members, made.grid))
}

fn compute_changes(input: &Input<'_>) -> Result<Computed, VectorError> {
    let quote = Input::new(input.get("quote")?)?;
    if quote.text("kind")? != "glft_grid" {
        return Err(quote.get("kind")?.malformed("glft_grid"));
    }
    let (mut members, wanted) = compute_skewed(&quote)?;
    quote.finish()?;
    let current = Input::new(input.get("current")?)?;
    let side = |name| list(&current.get(name)?, signed);
    let before = Grid {
        bids: side("bids")?,
        asks: side("asks")?,
    };
    current.finish()?;
    let made = changes(&before, &wanted);
    members.extend([
        member("cancel_bids", made.cancel.bids),
        member("cancel_asks", made.cancel.asks),
        member("new_bids", made.place.bids),
        member("new_asks", made.place.asks),
    ]);
    Ok(Computed::new(members))
}

fn compute_simple(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let by = Simple {
        tick_size: input.exact("tick_size")?,
        touch_quantities: (input.exact("best_bid_qty")?, input.exact("best_ask_qty")?),
        volatility: input.exact("volatility_tick")?,
        volatility_to_half_spread: input.exact("vol_to_half_spread")?,
        skew: input.exact("skew")?,
        position: input.exact("position")?,
        max_notional: input.exact("max_notional_position")?,
        min_step: input.signed("min_grid_step_tick")?,
        levels: input.whole("grid_num")?,
    };
    let made = simple(touch(input)?, &by).map_err(|error| input.refused(error))?;
    let bound = context.tolerance.only_named(context.file)?;
    let raw = |value: &Exact| {
        let value = value.to_f64();
        Value::Near(value, bound * value.abs().max(1.0))
    };
    let mut members = vec![
        member("forecast_tick", raw(&made.forecast)),
        member("bid_raw_tick", raw(&made.bid)),
        member("ask_raw_tick", raw(&made.ask)),
        member("grid_interval_tick", made.interval),
    ];
    members.extend(levels(&made.grid));
    Ok(Computed::new(members))
}

fn compute_skew(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    // The file: both ratios are 0 for a range of 0 or below.
    let range = input.exact("base_range")?.max(Exact::whole(0));
    let held = Holdings {
        base: input.exact("base")?,
        quote: input.exact("quote")?,
        price: input.exact("price")?,
        target: input.exact("target_base_ratio")?,
        range,
    };
    let made = size_skew(&held).map_err(|error| input.refused(error))?;
    let places = context.tolerance.places.ok_or_else(|| {
        let node: &Node<'_> = context.file;
        node.malformed("a tolerance that names the places of what is published")
    })?;
    // assertAlmostEqual: the difference rounds to 0 at so many places.
    let bound = 0.5 * 10_f64.powi(-places);
    let published = vec![
        member("bid_ratio", Value::Near(made.bid.to_f64(), bound)),
        member("ask_ratio", Value::Near(made.ask.to_f64(), bound)),
    ];
    Ok(Computed::new(vec![
        member("bid_ratio", made.bid),
        member("ask_ratio", made.ask),
    ])
    .published(published))
}
