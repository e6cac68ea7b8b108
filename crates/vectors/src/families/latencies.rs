//! Stale quotes, spreads that pay for latency, budgets of messages, hedges left alone.

use cambist_quant::latency::budget::{Drifting, Growth, Refresh, periods, thresholds};
use cambist_quant::latency::stale::{Stale, hedge_band};
use cambist_quant::latency::widen::widen;
use cambist_signing::vectors::VectorError;

use crate::compare::member;
use crate::input::Input;
use crate::{Computed, Family};

pub(super) const LATENCY: Family = Family {
    name: "latency_refresh",
    notes: &[],
    compute: |input, _| match input.text("kind")? {
        "stale_quote" => compute_stale(input),
        "widen_for_latency" => compute_widened(input),
        "message_budget" => compute_periods(input),
        "event_triggered" => compute_thresholds(input),
        "hedge_band" => compute_band(input),
        _ => Err(input.get("kind")?.malformed(
            "stale_quote, widen_for_latency, message_budget, event_triggered or hedge_band",
        )),
    },
};

fn compute_stale(input: &Input<'_>) -> Result<Computed, VectorError> {
    let (sigma, tau, delta) = (
        input.float("sigma")?,
        input.float("tau")?,
        input.float("delta")?,
    );
    let made = Stale::new(sigma, tau, delta).map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![
        member("mean_abs_move", made.mean_move()),
        member("prob_cross_one_side_at_end", made.beyond_at_end()),
        member("expected_pickoff_one_side_at_end", made.pick_off_at_end()),
        member("prob_touch_one_side", made.touched()),
        member("mean_square_staleness_over_period", made.mean_square()),
    ]))
}

fn compute_widened(input: &Input<'_>) -> Result<Computed, VectorError> {
    let made = widen(
        input.float("sigma")?,
        input.float("latency")?,
        input.float("poll_interval")?,
        input.float("A")?,
        input.float("k")?,
    )
    .map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![
        member("mean_edge_loss_per_fill", made.loss_per_fill),
        member("optimal_half_spread", made.half_spread),
        member(
            "optimal_half_spread_no_latency",
            made.half_spread_without_latency,
        ),
        member("profit_rate_one_side_at_optimum", made.profit_rate),
        member(
            "profit_rate_if_not_widened",
            made.profit_rate_if_not_widened,
        ),
        member("profit_rate_no_latency", made.profit_rate_without_latency),
        member("first_order_loss", made.first_order_loss),
    ]))
}

/// Lists of the same length.
fn together<const N: usize>(
    input: &Input<'_>,
    names: [&'static str; N],
) -> Result<Vec<[f64; N]>, VectorError> {
    let mut lists = Vec::with_capacity(N);
    for name in names {
        lists.push(input.floats(name)?);
    }
    let length = lists[0].len();
    if lists.iter().any(|list| list.len() != length) {
        return Err(input.get(names[0])?.malformed("as many as the other lists"));
    }
    Ok((0..length)
        .map(|i| core::array::from_fn(|list| lists[list][i]))
        .collect())
}

fn compute_periods(input: &Input<'_>) -> Result<Computed, VectorError> {
    let markets = together(input, ["cost_coefficient", "messages_per_refresh"])?;
    let markets: Vec<Refresh> = markets
        .into_iter()
        .map(|[cost, messages]| Refresh { cost, messages })
        .collect();
    let growth = match input.float("cost_power")? {
        1.0 => Growth::Linear,
        0.5 => Growth::Root,
        _ => return Err(input.get("cost_power")?.malformed("1 or 0.5")),
    };
    let made = periods(&markets, input.float("budget_per_s")?, growth)
        .map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![
        member("refresh_period", made.periods),
        member("cost_rate", made.cost_rate),
        member("cost_rate_equal_periods", made.cost_rate_equal),
        member("message_rate", made.message_rate),
    ]))
}

fn compute_thresholds(input: &Input<'_>) -> Result<Computed, VectorError> {
    let markets = together(input, ["sigma", "weight", "messages_per_refresh"])?;
    let markets: Vec<Drifting> = markets
        .into_iter()
        .map(|[sigma, weight, messages]| Drifting {
            sigma,
            weight,
            messages,
        })
        .collect();
    let made =
        thresholds(&markets, input.float("budget_per_s")?).map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![
        member("threshold", made.thresholds),
        member("mean_time_between", made.periods),
        member("mean_square_error", made.mean_squares),
        member("cost_rate", made.cost_rate),
        member("cost_rate_best_periodic", made.cost_rate_periodic),
    ]))
}

fn compute_band(input: &Input<'_>) -> Result<Computed, VectorError> {
    let band = hedge_band(
        input.float("proportional_cost")?,
        input.float("price")?,
        input.float("abs_gamma")?,
        input.float("risk_aversion")?,
    );
    let band = band.map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![member("half_width_base", band)]))
}
