//! Arbitrage between a pool and the levels of a book.

use cambist_quant::pool::ladder::{BookSide, Level, Market};
use cambist_quant::pool::{Amount, Convention, Fee};
use cambist_signing::vectors::VectorError;

use crate::compare::{Value, member};
use crate::input::{Input, amount, exact, list, pair};
use crate::{Computed, Context, Family};

pub(super) const LADDER: Family = Family {
    name: "cpmm_arb_ladder",
    notes: &[],
    compute: compute_ladder,
};

/// Whole amounts that are tried for an integer optimum, at most.
const TRIES: usize = 100_000;

fn compute_ladder(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let side = match input.text("side")? {
        "buy_pool_sell_book" => BookSide::Bids,
        "buy_book_sell_pool" => BookSide::Asks,
        _ => {
            let node = input.get("side")?;
            return Err(node.malformed("buy_pool_sell_book or buy_book_sell_pool"));
        }
    };
    let fee = |name| Fee::bips(input.whole(name)?).map_err(|error| input.refused(error));
    let levels = list(&input.get("levels")?, |level| {
        let [price, quantity] = pair(level)?;
        Ok(Level {
            price: exact(&price)?,
            quantity: amount(&quantity)?,
        })
    })?;
    let market = Market {
        side,
        reserve_base: input.amount("reserve_base")?,
        reserve_quote: input.amount("reserve_quote")?,
        pool_fee: fee("pool_fee_bips")?,
        convention: Convention::Circuit,
        levels,
        book_fee: fee("book_fee_bips")?,
        order_fee: fee("amm_order_fee_bips")?,
    };
    let best = market.optimum().map_err(|error| input.refused(error))?;
    // A profit is a small difference of large numbers: it is measured by the turnover.
    let tolerance = context.tolerance;
    let allowed = tolerance.abs.max(tolerance.rel * best.cost);
    let mut members = vec![
        member("optimal_base", best.base),
        member("profit_quote", Value::Near(best.profit(), allowed)),
        member("cost_quote", best.cost),
        member("revenue_quote", best.revenue),
    ];
    let out = context.case.get("out")?;
    if out.present("integer_optimum").is_some() {
        members.push(member("integer_optimum", whole_optimum(input, &market)?));
    }
    Ok(Computed::new(members))
}

fn whole_optimum(input: &Input<'_>, market: &Market) -> Result<Value, VectorError> {
    let made = market
        .whole_optimum(&Amount::from(1_u8), TRIES)
        .map_err(|error| input.refused(error))?;
    if !made.is_proven {
        return Err(input.refused("too many amounts to prove an integer optimum"));
    }
    let profit = made.legs.profit().unwrap_or_default();
    Ok(Value::Members(vec![
        member("profit_quote", &profit),
        member("base_on_book", &made.legs.base_on_book),
        member("cost_quote", &made.legs.cost),
        member("revenue_quote", &made.legs.revenue),
        member("note", Value::Prose).optional(),
    ]))
}
