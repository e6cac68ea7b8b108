//! LP manager: holds a share of the assets in the pool beside the market.
//!
//! The share is the value of our pool shares over the value of base, quote and pool shares together, all at the mid.
//! Below `enter_below_bps` it joins, above `leave_above_bps` it exits, each time towards `target_share_bps`; between
//! the two it states no target, and nothing happens. After every join or exit, whatever its result, it pauses for
//! `cool_down_s`. While the prices of pool and book differ it waits, because a join or exit at such a moment pays for
//! the difference. It places no quotes and keeps no state besides the holdings.

use cambist_core::control::Control;
use cambist_core::math::mul_div_floor;
use cambist_core::shares::{divergence_bps, quote_value};
use cambist_core::strategy::{PoolView, Strategy, Targets, View};
use cambist_core::{Amount, MarketSpec, Side};

use crate::parameter::{Kind, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::quote_floor;

/// Its name: in the configuration it requires a pool at the same market.
pub const LP_MANAGER: &str = "lp_manager";

const WHOLE: Amount = 10_000;

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: LP_MANAGER,
    summary: "Holds a share of the holdings in the pool beside the market: joins below one bound, \
              exits above another, rests after each. Needs [market.pool]; quotes nothing.",
    promise: Promise::PoolShares,
    parameters: &[
        Parameter {
            name: "target_share_bps",
            unit: "of holdings",
            kind: Kind::Bps { min: 0, max: 9_999 },
            default: Some("2000"),
            meaning: "Share of the worth of base, quote and pool shares together that joins and exits \
                      lead to.",
        },
        Parameter {
            name: "enter_below_bps",
            unit: "of holdings",
            kind: Kind::Bps { min: 0, max: 9_999 },
            default: Some("1500"),
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
            meaning: "Rest after every join and exit, whatever came of it.",
        },
        Parameter {
            name: "pause_above_bps",
            unit: "of the mid",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("50"),
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
            meaning: "Most that one join or exit is worth; a longer way is gone in steps. 0 goes it at \
                      once.",
        },
    ],
    build,
};

/// The strategy: its parameters, without state.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LpManager {
    target_bps: u32,
    enter_bps: u32,
    leave_bps: u32,
    cool_down_ms: u64,
    pause_bps: u32,
    /// Quote units; 0 means no limit.
    step: Amount,
}

fn build(params: &Params, market: &MarketSpec) -> Result<Box<dyn Strategy>, ParamError> {
    let manager = LpManager {
        target_bps: params.whole("target_share_bps")?,
        enter_bps: params.whole("enter_below_bps")?,
        leave_bps: params.whole("leave_above_bps")?,
        cool_down_ms: u64::from(params.whole("cool_down_s")?) * 1_000,
        pause_bps: params.whole("pause_above_bps")?,
        step: quote_floor(params, "step_value", market)?,
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

impl Strategy for LpManager {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        for side in Side::BOTH {
            targets.withhold(side, Control::NotConfigured);
        }
        if let Some(shares) = view.pool.and_then(|pool| self.wanted(view, &pool)) {
            targets.hold_shares(shares);
        }
    }
}

impl LpManager {
    /// The shares to hold, if a join or exit is due. `None` for a pool without shares, and on overflow.
    fn wanted(&self, view: &View<'_>, pool: &PoolView) -> Option<Amount> {
        let rests = pool
            .moved
            .is_some_and(|moved| view.now.ms_since(moved) < self.cool_down_ms);
        let away = divergence_bps(view.market, pool.base, pool.quote, view.mid)?;
        if pool.moving || rests || away.unsigned_abs() > u64::from(self.pause_bps) {
            return None;
        }
        let worth = |base, quote| quote_value(view.market, base, view.mid)?.checked_add(quote);
        let whole = worth(pool.base, pool.quote)?;
        let ours = mul_div_floor(whole, pool.held, pool.supply)?;
        let all = worth(view.holdings.base, view.holdings.quote)?.checked_add(ours)?;
        let share = mul_div_floor(ours, WHOLE, all)?;
        if share >= self.enter_bps.into() && share <= self.leave_bps.into() {
            return None;
        }
        let target = mul_div_floor(all, self.target_bps.into(), WHOLE)?;
        let step = if self.step == 0 {
            Amount::MAX
        } else {
            self.step
        };
        let worth = target.clamp(ours.saturating_sub(step), ours.saturating_add(step));
        let shares = mul_div_floor(worth, pool.supply, whole)?;
        (shares != pool.held).then_some(shares)
    }
}

#[cfg(test)]
#[path = "lp_manager_tests.rs"]
pub(crate) mod tests;
