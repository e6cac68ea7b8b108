//! Positions in pools: value, what arbitrage takes, hedges.

use cambist_quant::lp::band_arbitrage::Pool;
use cambist_quant::lp::lvr::rates;
use cambist_quant::lp::path::{hedge, losses};
use cambist_quant::lp::value::{Position, value};
use cambist_signing::vectors::VectorError;

use crate::compare::{Value, member};
use crate::input::Input;
use crate::{Computed, Context, Family};

pub(super) const VALUE: Family = Family {
    name: "cpmm_lp_value",
    notes: &[],
    compute: compute_value,
};

pub(super) const LVR: Family = Family {
    name: "lvr_fees",
    notes: &[],
    compute: compute_lvr,
};

pub(super) const PATH: Family = Family {
    name: "lvr_path",
    notes: &[],
    compute: compute_path,
};

pub(super) const BAND: Family = Family {
    name: "cex_dex_arb",
    notes: &[],
    compute: compute_band,
};

fn compute_value(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let position = Position {
        reserve_base: input.float("reserve_base")?,
        reserve_quote: input.float("reserve_quote")?,
        share: input.float("share")?,
    };
    let made = value(&position, input.float("price_now")?).map_err(|error| input.refused(error))?;
    let published = vec![
        member("loss_percent", Value::Printed(-100.0 * made.loss)).optional(),
        member("value_now", Value::Printed(made.value)).optional(),
        member("hold_value", Value::Printed(made.value_if_held)).optional(),
        member("loss", Value::Printed(made.value_if_held - made.value)).optional(),
        member("note", Value::Prose).optional(),
    ];
    Ok(Computed::new(vec![
        member("liquidity", made.liquidity),
        member("value_entry", made.value_at_entry),
        member("value_now", made.value),
        member("hold_value", made.value_if_held),
        member("il_fraction", made.loss),
        member("il_formula", made.loss_by_ratio),
        member("base_now", made.base),
        member("quote_now", made.quote),
        member("delta_base", made.delta),
        member("gamma_base_per_price", made.gamma),
    ])
    .published(published))
}

/// Seconds of the day that rates are stated for.
const DAY_S: f64 = 86_400.0;

fn compute_lvr(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let sigma = input.float("sigma_per_sqrt_day")?;
    let interval = input.float("mean_interval_s")? / DAY_S;
    let made = rates(sigma, interval, input.float("fee")?).map_err(|error| input.refused(error))?;
    let percent = context.tolerance.published_percent.ok_or_else(|| {
        context
            .file
            .malformed("a tolerance with published_abs_percent")
    })?;
    let published = Value::Near(100.0 * made.trade_probability, percent);
    Ok(Computed::new(vec![
        member("lvr_per_day_over_V", made.lvr),
        member("p_trade_poisson", made.trade_probability),
        member("arb_per_day_over_V", made.arbitrage),
        member("arb_fast_block_approx", made.arbitrage_fast),
        member("arb_fees_per_day_over_V", made.arbitrage_fees),
        member(
            "arb_over_lvr_deterministic_interval",
            made.arbitrage_share_equal_blocks,
        ),
        member(
            "break_even_noise_volume_per_day_over_V",
            made.break_even_volume,
        ),
        member(
            "break_even_volume_if_no_arb_protection",
            made.break_even_volume_without_protection,
        ),
    ])
    .published(vec![member("p_trade_percent", published)]))
}

fn compute_path(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let liquidity = input.float("liquidity")?;
    let prices = input.floats("prices")?;
    let (cost, band) = (input.float("proportional_cost")?, input.float("band_base")?);
    let lost = losses(liquidity, &prices).map_err(|error| input.refused(error))?;
    let hedged = hedge(liquidity, &prices, cost, band).map_err(|error| input.refused(error))?;
    let full = hedge(liquidity, &prices, 0.0, 0.0).map_err(|error| input.refused(error))?;
    let first: Vec<f64> = lost.steps.iter().copied().take(5).collect();
    Ok(Computed::new(vec![
        member("lvr_steps_first5", first),
        member("lvr_total", lost.total),
        member("lvr_gamma_approx", lost.by_volatility),
        member("value_start", lost.value_start),
        member("value_end", lost.value_end),
        member("fully_hedged_pnl_no_cost", full.total),
        member("banded_hedge_pnl", hedged.hedge_pnl),
        member("banded_total", hedged.total),
        member("hedge_cost", hedged.cost),
        member("hedge_trades", hedged.trades),
    ]))
}

/// Quote in the pool of the program that made these vectors. Its constructor takes a size and ignores
/// it (`dex.py` of atiselsts/cex-dex-arbitrage-anatomy: a constant of 10⁹, half of it quote), so
/// that what a case states as `pool_liquidity_usd` changes nothing in what it computed.
const POOL_QUOTE: f64 = 5e8;

fn compute_band(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let stated = input.get("pool_liquidity_usd")?;
    if stated.float()? <= 0.0 {
        return Err(stated.malformed("a number above 0"));
    }
    let fee = input.float("fee_bps")? / 1e4;
    let price = input.float("initial_price")?;
    let mut pool = Pool::new(POOL_QUOTE, price, fee, input.float("fixed_cost")?)
        .map_err(|error| input.refused(error))?;
    let mut states = Vec::new();
    for price in input.floats("outside_prices")? {
        let traded = pool.outside(price).map_err(|error| input.refused(error))?;
        states.push(vec![
            member("traded", traded),
            member("price_after", pool.price()),
            member("reserve_base", pool.reserve_base),
            member("reserve_quote", pool.reserve_quote),
            member("lvr", pool.lvr),
            member("lp_fees", pool.fees),
            member("arb_profit", pool.arbitrage),
            member("fixed_costs", pool.fixed_costs),
        ]);
    }
    let published = vec![
        member("price_after", Value::Printed(pool.price())).optional(),
        member("lp_fee", Value::Printed(pool.fees)).optional(),
        member("lvr", Value::Printed(pool.lvr)).optional(),
    ];
    Ok(Computed::new(states).published(published))
}
