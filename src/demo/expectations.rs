//! Expectations of the demo's daemon: what its strategies promise. Quotes resting on both sides; or, if no strategy
//! quotes, a total, rounds with the pool, or joins and exits of it.

use std::time::Duration;

use cambist_core::books::Books;
use cambist_core::math::mul_div_floor;
use cambist_core::{Amount, MarketSpec};
use cambist_report::summary::{PoolRow, Summary};
use cambist_strategies::Promise;

use crate::demo::crash_test::Crash;
use crate::demo::scenario_player::EXPECTED_FROM_S;
use crate::demo::venue::Venue;
use cambist_daemon::config::Daemon;
use cambist_daemon::config::market::StrategyChoice;

/// Shorter demos need not submit an order.
const SUBMITTED_FROM_S: f64 = 5.0;
/// Time after the recovery from the kill within which a pool is left.
const LEFT_WITHIN_S: f64 = 3.0;

/// The promise of a daemon's configuration.
pub fn of(config: &Daemon) -> Promise {
    let chosen = config.markets.iter().flat_map(|market| &market.strategies);
    // A process can do nothing but quote.
    let quotes = |choice: &StrategyChoice| {
        let info = cambist_strategies::find(&choice.name.value);
        choice.process.is_some() || info.is_some_and(|info| info.promise == Promise::Quotes)
    };
    let any_of = |wanted: Promise| {
        chosen.clone().any(|choice| {
            let info = cambist_strategies::find(&choice.name.value);
            info.is_some_and(|info| info.promise == wanted)
        })
    };
    if chosen.clone().any(quotes) {
        return Promise::Quotes;
    }
    let others = [
        Promise::Total,
        Promise::Swaps,
        Promise::Weight,
        Promise::Hedge,
    ];
    let other = others.into_iter().find(|promise| any_of(*promise));
    other.unwrap_or(Promise::PoolShares)
}

/// Where the promise was not kept. Times of faults that the page injected are `excused`.
pub fn problems(
    (config, promise): (&Daemon, Promise),
    summary: &Summary,
    (crash, excused): (Option<&Crash>, Duration),
    venue: &impl Venue,
) -> anyhow::Result<Vec<String>> {
    Ok(match promise {
        Promise::Quotes => {
            let duration_s = summary.duration_s;
            let recovery_s = crash.map_or(0.0, |crash| {
                crash.recovery_s + crash.recovering.as_secs_f64()
            });
            let excused_s = recovery_s + (excused + venue.before_quotes()).as_secs_f64();
            let ratio = outside(summary.quoted_both_sides_ratio, duration_s, excused_s);
            let none = duration_s >= SUBMITTED_FROM_S && summary.orders.submitted == 0;
            let none = none.then(|| "no order was submitted".to_owned());
            let problem = venue.quotes_problem(ratio, duration_s);
            none.or(problem).into_iter().collect()
        }
        Promise::PoolShares => {
            let duration_s = summary.duration_s;
            // The kill comes after two thirds of the time.
            let is_left_due =
                crash.is_some_and(|crash| duration_s / 3.0 - crash.recovery_s >= LEFT_WITHIN_S);
            pool_problems(&summary.pools, duration_s, is_left_due)
        }
        Promise::Total => total_problems(config, summary.duration_s >= EXPECTED_FROM_S)?,
        Promise::Swaps => round_problems(config, summary.duration_s >= EXPECTED_FROM_S)?,
        Promise::Weight => weight_problems(config, summary.duration_s >= EXPECTED_FROM_S)?,
        // It reads other venues, and a demo has one.
        Promise::Hedge => Vec::new(),
    })
}

/// A strategy of rounds must have traded both ways, and what it has bought and not sold, or the other way round, is no
/// more than the leg that it states; `is_long` if the demo was long enough for a round.
fn round_problems(config: &Daemon, is_long: bool) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let Some(bound) = config.bind_expected().transpose()? else {
        return Ok(problems);
    };
    let traded = cambist_store::traded::traded(&config.store.dir)?;
    for (_, market, choice) in &bound.strategies {
        let name = &choice.name.value;
        let Some(spec) = bound.markets.get(usize::from(market.0)) else {
            continue;
        };
        let info = cambist_strategies::find(name);
        let Some(leg) = info.and_then(|info| info.open_leg(&choice.params, spec)) else {
            continue;
        };
        let done = traded.get(&(spec.name.clone(), name.clone()));
        let done = done.copied().unwrap_or_default();
        if is_long && (done.bought == 0 || done.sold == 0) {
            problems.push(format!("{name} traded no whole round"));
        }
        // The taker's fee of what was bought is gone, and is bought once more.
        let fees = done.bought.saturating_mul(bound.engine.max_fee_bips.into()) / 10_000;
        let open = done.bought.abs_diff(done.sold);
        if open > leg.base.saturating_add(fees) {
            let texts = [done.bought, done.sold, leg.base].map(|units| spec.base.text(units));
            problems.push(format!(
                "{name} bought {} and sold {}: an open leg is at most {}",
                texts[0], texts[1], texts[2]
            ));
        }
    }
    Ok(problems)
}

/// A strategy with a total must have traded, on its side only, and not more than that; `is_long` if the demo
/// was long enough for a fill.
fn total_problems(config: &Daemon, is_long: bool) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let Some(bound) = config.bind_expected().transpose()? else {
        return Ok(problems);
    };
    let traded = cambist_store::traded::traded(&config.store.dir)?;
    for (_, market, choice) in &bound.strategies {
        let name = &choice.name.value;
        let info = cambist_strategies::find(name);
        if info.is_none_or(|info| info.promise != Promise::Total) {
            continue;
        }
        let Some(spec) = bound.markets.get(usize::from(market.0)) else {
            continue;
        };
        let Some((side, total)) = cambist_strategies::twap::total(&choice.params, spec) else {
            continue;
        };
        let done = traded.get(&(spec.name.clone(), name.clone()));
        let done = done.copied().unwrap_or_default();
        let (of_side, other) = (done.of(side), done.of(side.opposite()));
        let texts = [of_side, total, other].map(|units| spec.base.text(units));
        if of_side > total || other > 0 {
            problems.push(format!(
                "{name} traded {} of {}, and {} on the other side",
                texts[0], texts[1], texts[2]
            ));
        }
        if of_side == 0 && is_long {
            problems.push(format!("{name} traded nothing"));
        }
    }
    Ok(problems)
}

/// How far a share may be from its band at the end, ten-thousandths: the price goes on after the last trade.
const DRIFT_BPS: u32 = 100;

/// A strategy that holds a share of the value in base ends within its band; `is_long` if the demo was long enough for the
/// trades that lead to it.
fn weight_problems(config: &Daemon, is_long: bool) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let Some(bound) = config.bind_expected().transpose()?.filter(|_| is_long) else {
        return Ok(problems);
    };
    let Some((books, _)) = cambist_store::view::books(&config.store.dir)? else {
        return Ok(problems);
    };
    for (_, market, choice) in &bound.strategies {
        let name = &choice.name.value;
        let info = cambist_strategies::find(name);
        if info.is_none_or(|info| info.promise != Promise::Weight) {
            continue;
        }
        let spec = bound.markets.get(usize::from(market.0));
        let Some((spec, band)) = spec.zip(cambist_strategies::rebalance::band(&choice.params))
        else {
            continue;
        };
        let share_bps = base_share_bps(&books, spec);
        let (target, tolerance) = band;
        let most = tolerance + DRIFT_BPS;
        if share_bps.is_none_or(|share| share.abs_diff(target) > most) {
            problems.push(format!(
                "{name} holds {share_bps:?} ten-thousandths of the value in base: {target}, at most {most} away, was to be held"
            ));
        }
    }
    Ok(problems)
}

/// Value of base over the value of base and quote at the last mid that was stored, in ten-thousandths.
fn base_share_bps(books: &Books, spec: &MarketSpec) -> Option<u32> {
    let ledger = books.ledger.as_ref()?;
    let held = |token| {
        let units = ledger.get(&token).copied().unwrap_or(0);
        Amount::try_from(units).unwrap_or(0)
    };
    let rate = books.positions.get(&spec.id)?.baselines.as_ref()?.mid;
    let base = mul_div_floor(held(spec.base.id), rate.quote, rate.base)?;
    let all = base.checked_add(held(spec.quote.id))?;
    u32::try_from(base.checked_mul(10_000)?.checked_div(all)?).ok()
}

/// The share of the time outside the recovery from the kill and outside faults. Nothing is quoted while an order that
/// never arrived waits for its fence, and that time has a bound of its own.
fn outside(ratio: f64, duration_s: f64, excused_s: f64) -> f64 {
    let rest_s = duration_s - excused_s;
    if rest_s > 0.0 {
        (ratio * duration_s / rest_s).min(1.0)
    } else {
        ratio
    }
}

/// A pool must be joined; and left again after the restart, when the target is no shares, if there was time for it.
fn pool_problems(pools: &[PoolRow], duration_s: f64, is_left_due: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if duration_s < EXPECTED_FROM_S {
        return problems;
    }
    let joins: u64 = pools.iter().map(|pool| pool.joins).sum();
    let exits: u64 = pools.iter().map(|pool| pool.exits).sum();
    if joins == 0 {
        problems.push("no pool was joined".to_owned());
    }
    if is_left_due && exits == 0 {
        problems.push(
            "no pool was left, although the target after the restart is no shares".to_owned(),
        );
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "exact in binary")]
    fn the_recovery_from_a_kill_is_no_time_without_quotes() {
        assert_eq!(outside(0.5, 32.0, 0.0), 0.5);
        assert_eq!(outside(0.5, 32.0, 12.0), 0.8);
        assert_eq!(outside(0.75, 32.0, 16.0), 1.0);
        assert_eq!(outside(0.25, 8.0, 8.0), 0.25);
    }

    #[test]
    fn a_pool_strategy_is_judged_by_joins_and_exits() {
        let count = |joins, exits, duration_s, killed| {
            let pool = PoolRow {
                name: String::new(),
                joins,
                exits,
                failed: 0,
                shares: String::new(),
                value_quote: None,
                fee_income_quote: None,
                impermanent_loss_quote: None,
                move_costs_quote: None,
            };
            pool_problems(&[pool], duration_s, killed).len()
        };
        assert_eq!(count(1, 1, 25.0, true), 0);
        assert_eq!(count(1, 0, 25.0, true), 1);
        assert_eq!(count(1, 0, 25.0, false), 0, "leaving was not requested");
        assert_eq!(count(0, 0, 25.0, true), 2);
        assert_eq!(count(0, 0, 5.0, false), 0, "too short");
    }
}
