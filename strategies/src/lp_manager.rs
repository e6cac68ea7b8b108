//! LP manager: holds a share of the assets in the pool beside the market.
//!
//! The share is the value of our pool shares over the value of base, quote and pool shares together, all at the mid.
//! Below `enter_below_bps` it joins, above `leave_above_bps` it exits, each time towards `target_share_bps`; between
//! the two it states no target, and nothing happens. After every join or exit, whatever its result, it pauses for
//! `cool_down_s`. While the prices of pool and book differ it waits, because a join or exit at such a moment pays for
//! the difference.
//!
//! Where fees do not stay in the pool it collects them once enough is owed (`market.pool.collect_value`): by an exit of
//! one base unit of shares. An exit that is due anyway pays them out as well; a join waits for it.
//!
//! Three optional rules exit everything: the pool does not pay (`cambist_quant::lp::income`), the shares have lost too much
//! against what they were taken for (`lp_manager/entry.rs`), or the pool's data were too old for too long. After the
//! last two it stays out for `stay_out_s`. It places no quotes. Its memory is what these rules observed.

mod entry;

use cambist_core::control::Control;
use cambist_core::math::mul_div_floor;
use cambist_core::shares::{divergence_bps, quote_value};
use cambist_core::strategy::{Owed, PoolView, Strategy, Targets, View};
use cambist_core::{Amount, MarketSpec, Side, Time};
use cambist_quant::lp::hold::Hysteresis;
use cambist_quant::lp::income::{Income, Observed};
use serde::{Deserialize, Serialize};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::quote_floor;
use entry::Entry;

/// Its name: in the configuration it requires a pool at the same market.
pub const LP_MANAGER: &str = "lp_manager";

const WHOLE: Amount = 10_000;

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: LP_MANAGER,
    summary: "Keeps a share of the holdings in the pool beside the market: joins below one bound, \
              exits above another, pauses after each. Needs [market.pool]; quotes nothing.",
    promise: Promise::PoolShares,
    two_legs: None,
    parameters: &[
        Parameter {
            name: "target_share_bps",
            unit: "of holdings",
            kind: Kind::Bps { min: 0, max: 9_999 },
            default: Some("2000"),
            looser: Looser::Higher,
            meaning: "Target share of the pool shares in the value of base, quote and pool shares \
                      together.",
        },
        Parameter {
            name: "enter_below_bps",
            unit: "of holdings",
            kind: Kind::Bps { min: 0, max: 9_999 },
            default: Some("1500"),
            looser: Looser::Higher,
            meaning: "Below this share it joins. At most the target.",
        },
        Parameter {
            name: "leave_above_bps",
            unit: "of holdings",
            kind: Kind::Bps {
                min: 0,
                max: 10_000,
            },
            default: Some("2500"),
            looser: Looser::Higher,
            meaning: "Above this share it exits. At least the target.",
        },
        Parameter {
            name: "cool_down_s",
            unit: "s",
            kind: Kind::Integer {
                min: 0,
                max: 604_800,
            },
            default: Some("60"),
            looser: Looser::Lower,
            meaning: "Pause after every join and exit, whatever its result.",
        },
        Parameter {
            name: "pause_above_bps",
            unit: "of the mid",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("50"),
            looser: Looser::Higher,
            meaning: "While the pool's price and the mid differ by more it neither joins nor exits.",
        },
        Parameter {
            name: "step_value",
            unit: "quote tokens",
            kind: Kind::Decimal {
                min: "0",
                max: "1000000000000",
            },
            default: Some("0"),
            looser: Looser::HigherOrZero,
            meaning: "Largest value of one join or exit; a larger difference takes several steps. 0 means \
                      no limit.",
        },
        Parameter {
            name: "income_half_life_s",
            unit: "s",
            kind: Kind::Integer {
                min: 0,
                max: 2_592_000,
            },
            default: Some("0"),
            looser: Looser::HigherOrZero,
            meaning: "Compares the pool's fee income with the loss to rebalancing; observations lose \
                      half of their weight in this time, and before as much was observed it does not \
                      join. 0 is off.",
        },
        Parameter {
            name: "income_enter_bps",
            unit: "of the shares' value, per day",
            kind: Kind::Bps {
                min: 0,
                max: 10_000,
            },
            default: Some("5"),
            looser: Looser::Lower,
            meaning: "Joins only while fee income less loss to rebalancing is above this.",
        },
        Parameter {
            name: "income_leave_bps",
            unit: "of the shares' value, per day",
            kind: Kind::Bps {
                min: 0,
                max: 10_000,
            },
            default: Some("5"),
            looser: Looser::Higher,
            meaning: "Exits everything when fee income is below the loss to rebalancing by more than \
                      this.",
        },
        Parameter {
            name: "loss_max_bps",
            unit: "of what the shares were taken for",
            kind: Kind::Bps {
                min: 0,
                max: 10_000,
            },
            default: Some("0"),
            looser: Looser::HigherOrZero,
            meaning: "Exits everything when the shares, with the fees they earned, are worth less by \
                      more than this than what they were due when they were taken. 0 is off.",
        },
        Parameter {
            name: "stale_exit_s",
            unit: "s",
            kind: Kind::Integer {
                min: 0,
                max: 604_800,
            },
            default: Some("0"),
            looser: Looser::HigherOrZero,
            meaning: "Exits everything when the pool's data come back after they were too old for \
                      longer than this. 0 is off.",
        },
        Parameter {
            name: "stay_out_s",
            unit: "s",
            kind: Kind::Integer {
                min: 0,
                max: 2_592_000,
            },
            default: Some("86400"),
            looser: Looser::Lower,
            meaning: "How long it does not join after it left for a loss or for stale data.",
        },
    ],
    build,
};

/// The strategy.
#[derive(Clone, Debug)]
struct LpManager {
    target_bps: u32,
    enter_bps: u32,
    leave_bps: u32,
    cool_down_ms: u64,
    pause_bps: u32,
    /// Quote units; 0 means no limit.
    step: Amount,
    /// When to hold shares by their income, if that is asked for.
    hysteresis: Option<Hysteresis>,
    loss_max_bps: u32,
    stale_exit_ms: u64,
    stay_out_ms: u64,
    memory: Memory,
}

/// What it observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Memory {
    income: Option<Income>,
    entry: Entry,
    /// When the pool's data were last fresh.
    fresh_at: Option<Time>,
    /// When a loss or stale data made it leave; it stays out from then.
    left_at: Option<Time>,
}

/// What may be done about shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// Joins and exits towards the target.
    Both,
    /// Exits only.
    Exits,
    /// Everything goes.
    Leave,
}

fn build(params: &Params, market: &MarketSpec) -> Result<Box<dyn Strategy>, ParamError> {
    let half_life_s = params.whole("income_half_life_s")?;
    let rates = (
        params.whole("income_enter_bps")?,
        params.whole("income_leave_bps")?,
    );
    let model =
        |error: cambist_quant::Error| params.conflict("income_half_life_s", error.to_string());
    let manager = LpManager {
        target_bps: params.whole("target_share_bps")?,
        enter_bps: params.whole("enter_below_bps")?,
        leave_bps: params.whole("leave_above_bps")?,
        cool_down_ms: u64::from(params.whole("cool_down_s")?) * 1_000,
        pause_bps: params.whole("pause_above_bps")?,
        step: quote_floor(params, "step_value", market)?,
        hysteresis: (half_life_s > 0)
            .then(|| Hysteresis::new(rates.0.into(), rates.1.into(), 0.0, 1.0))
            .transpose()
            .map_err(model)?,
        loss_max_bps: params.whole("loss_max_bps")?,
        stale_exit_ms: u64::from(params.whole("stale_exit_s")?) * 1_000,
        stay_out_ms: u64::from(params.whole("stay_out_s")?) * 1_000,
        memory: Memory::new(half_life_s).map_err(model)?,
    };
    let target = manager.target_bps;
    if manager.enter_bps > target {
        let what = format!("must not be above target_share_bps = {target}");
        return Err(params.conflict("enter_below_bps", what));
    }
    if manager.leave_bps < target {
        let what = format!("must not be below target_share_bps = {target}");
        return Err(params.conflict("leave_above_bps", what));
    }
    Ok(Box::new(manager))
}

impl Memory {
    fn new(half_life_s: u32) -> cambist_quant::Result<Self> {
        let income = (half_life_s > 0).then(|| Income::new(half_life_s.into()));
        Ok(Self {
            income: income.transpose()?,
            entry: Entry::default(),
            fresh_at: None,
            left_at: None,
        })
    }

    /// Adds an observation of the pool to its income, and returns that less the loss to rebalancing, in bps of the
    /// value per day. `None` while it is not known, and if it is not asked for.
    fn net_bps(
        &mut self,
        view: &View<'_>,
        pool: &PoolView,
        elapsed_ms: Option<u64>,
    ) -> Option<f64> {
        let income = self.income.as_mut()?;
        let both = !view.bids.is_empty() && !view.asks.is_empty();
        let observed = Observed {
            base: number(pool.base),
            quote: number(pool.quote),
            supply: number(pool.supply),
            // A seed price in place of an empty side is not an observed mid.
            mid: both.then(|| number(view.mid.into())),
        };
        if elapsed_ms.is_none() {
            income.interrupt();
        }
        // Two decisions at one moment are one observation.
        if elapsed_ms != Some(0) {
            let seconds = number(elapsed_ms.unwrap_or(1).into()) / 1_000.0;
            income.push(&observed, seconds).ok()?;
        }
        Some(income.net_rate().ok()?? * BPS_PER_DAY)
    }
}

impl Strategy for LpManager {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        for side in Side::BOTH {
            targets.withhold(side, Control::NotConfigured);
        }
        let Some(pool) = view.pool else {
            return;
        };
        let allowed = self.observe(view, &pool);
        if let Some(shares) = self.target_shares(view, &pool, allowed) {
            targets.hold_shares(shares);
        }
    }

    fn save(&self) -> Vec<u8> {
        // Serialisation can only fail for types of unknown length, which these are not.
        postcard::to_stdvec(&(MEMORY_VERSION, &self.memory)).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let fresh = Memory {
            income: self.memory.income.clone(),
            entry: Entry::default(),
            fresh_at: None,
            left_at: None,
        };
        if saved.is_empty() {
            self.memory = fresh;
            return true;
        }
        let Ok((MEMORY_VERSION, memory)) = postcard::from_bytes::<(u8, Memory)>(saved) else {
            self.memory = fresh;
            return false;
        };
        // Observations with another half-life are dropped.
        let like = memory
            .income
            .as_ref()
            .zip(fresh.income.as_ref())
            .is_some_and(|(saved, configured)| {
                let of = Income::half_life_s;
                of(saved).total_cmp(&of(configured)).is_eq()
            });
        self.memory = Memory {
            income: if like { memory.income } else { fresh.income },
            ..memory
        };
        true
    }
}

const MEMORY_VERSION: u8 = 1;
/// Bps of the value per day, for a fraction per second.
const BPS_PER_DAY: f64 = 86_400.0 * 10_000.0;

#[allow(
    clippy::cast_precision_loss,
    reason = "an estimate needs no more than 53 bits"
)]
fn number(amount: u128) -> f64 {
    amount as f64
}

impl LpManager {
    /// Adds the pool and the mid to the memory, and judges by the optional rules.
    fn observe(&mut self, view: &View<'_>, pool: &PoolView) -> Allowed {
        let memory = &mut self.memory;
        // A time of another origin is from an earlier run: nothing is known about the time between.
        let since = |at: Option<Time>| {
            at.filter(|at| *at <= view.now)
                .map(|at| view.now.ms_since(at))
        };
        let elapsed_ms = since(memory.fresh_at);
        memory.fresh_at = Some(view.now);
        let net = memory.net_bps(view, pool, elapsed_ms);
        let known = memory.entry.follow(pool);
        memory.entry = known.unwrap_or_default();
        let loss = known.and_then(|entry| entry.loss_bps(view, pool));
        let lost = self.loss_max_bps > 0 && loss.is_none_or(|bps| bps > self.loss_max_bps.into());
        let stale = self.stale_exit_ms > 0 && elapsed_ms.is_some_and(|ms| ms > self.stale_exit_ms);
        if lost || stale || (memory.left_at.is_some() && since(memory.left_at).is_none()) {
            memory.left_at = Some(view.now);
        }
        if since(memory.left_at).is_some_and(|ms| ms < self.stay_out_ms || lost) {
            return Allowed::Leave;
        }
        memory.left_at = None;
        let Some(hysteresis) = &self.hysteresis else {
            return Allowed::Both;
        };
        let held = pool.held > 0;
        match net.and_then(|net| hysteresis.holds(held, net, 0.0).ok()) {
            Some(true) => Allowed::Both,
            Some(false) if held => Allowed::Leave,
            Some(false) | None => Allowed::Exits,
        }
    }

    /// The shares to hold, if a join or exit is due, or one base unit less if fees are collected. `None` for a pool
    /// without shares, and on overflow.
    fn target_shares(&self, view: &View<'_>, pool: &PoolView, allowed: Allowed) -> Option<Amount> {
        let rests = pool
            .moved
            .is_some_and(|moved| view.now.ms_since(moved) < self.cool_down_ms);
        let away = divergence_bps(view.market, pool.base, pool.quote, view.mid)?;
        if pool.moving || rests || away.unsigned_abs() > u64::from(self.pause_bps) {
            return None;
        }
        let worth = |base, quote| quote_value(view.market, base, view.mid)?.checked_add(quote);
        let (base, quote) = pool.due();
        let whole = worth(base, quote)?;
        let ours = mul_div_floor(whole, pool.held, pool.supply)?;
        let all = worth(view.holdings.base, view.holdings.quote)?.checked_add(ours)?;
        let share = mul_div_floor(ours, WHOLE, all)?;
        let target = match allowed {
            Allowed::Leave => Some(0),
            Allowed::Exits if share <= self.leave_bps.into() => None,
            Allowed::Both if share >= self.enter_bps.into() && share <= self.leave_bps.into() => {
                None
            }
            Allowed::Both | Allowed::Exits => {
                Some(mul_div_floor(all, self.target_bps.into(), WHOLE)?)
            }
        };
        let step = if self.step == 0 {
            Amount::MAX
        } else {
            self.step
        };
        let shares = match target {
            Some(target) => {
                let worth = target.clamp(ours.saturating_sub(step), ours.saturating_add(step));
                mul_div_floor(worth, pool.supply, whole)?
            }
            None => pool.held,
        };
        let is_collected = |owed: Owed| owed.is_collected(view.market, view.mid);
        if shares >= pool.held && pool.held > 0 && pool.owed.is_some_and(is_collected) {
            return Some(pool.held - 1);
        }
        (shares != pool.held).then_some(shares)
    }
}

#[cfg(test)]
#[path = "lp_manager_tests.rs"]
pub(crate) mod tests;
