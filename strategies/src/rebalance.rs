//! Rebalancing: holds a share of the account's value in base, by the cheaper of two routes, the book or the pool beside
//! the market, within a cost cap.
//!
//! Nothing is traded while the share is within its band. Beyond it the amount that leads back to the target is traded,
//! or the largest part of it that costs no more than the cap, all fees and the distance to the mid included. One trade
//! is decided at a time: orders that may still fill, and swaps that are undecided, end before the next one. What is
//! held is read at every decision, so that kills change nothing. It keeps no state.

mod route;

use cambist_core::control::Control;
use cambist_core::strategy::{OwnOrder, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::lots_floor;
use crate::sizing::{is_orderable, target_lots};
use route::{Costs, Trade};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "rebalance",
    summary: "Holds a share of the account's value in base: trades on the book or swaps with the pool, \
              whichever costs less, while the share is outside its band. Needs orders that may take \
              (orders.maker_only = false); swaps only with [market.pool] and a swap_value_max.",
    promise: Promise::Weight,
    two_legs: None,
    parameters: &[
        Parameter {
            name: "target_share_bps",
            unit: "bps of the value held",
            kind: Kind::Bps {
                min: 0,
                max: 10_000,
            },
            default: None,
            looser: Looser::Changed,
            meaning: "Value of base at the mid over the value of base and quote together.",
        },
        Parameter {
            name: "tolerance_bps",
            unit: "bps of the value held",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("200"),
            looser: Looser::Lower,
            meaning: "Nothing is traded while the share is at most this far from its target.",
        },
        Parameter {
            name: "trade_amount_max",
            unit: "base tokens",
            kind: Kind::Decimal {
                min: "0",
                max: "1000000000",
            },
            default: None,
            looser: Looser::Higher,
            meaning: "Largest single trade. Rounded down to whole lots.",
        },
        Parameter {
            name: "cost_max_bps",
            unit: "bps of what is traded",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("30"),
            looser: Looser::Higher,
            meaning: "What a trade may cost against the mid, all fees included. On the book no level \
                      is taken beyond it; a swap signs it as its limit.",
        },
        Parameter {
            name: "fee_bps",
            unit: "bps of what is bought",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: None,
            looser: Looser::Lower,
            meaning: "What the exchange takes of a trade that takes: fees.taker_bips.",
        },
    ],
    build: |params, market| Ok(Box::new(Rebalance::new(params, market)?)),
};

/// The band that a table holds the share of base in: target and tolerance in ten-thousandths; `None` if it is not valid.
pub fn band(params: &toml::Table) -> Option<(u32, u32)> {
    let params = Params::read(INFO.parameters, params).ok()?;
    let of = |name| params.whole(name).ok();
    Some((of("target_share_bps")?, of("tolerance_bps")?))
}

/// The strategy.
#[derive(Clone, Debug)]
struct Rebalance {
    target_bps: u32,
    tolerance_bps: u32,
    trade_max: Qty,
    cost_max_bps: u32,
    fee_bps: u32,
}

impl Rebalance {
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let trade_max = lots_floor(params, "trade_amount_max", market)?;
        if trade_max.0 == 0 {
            return Err(params.conflict("trade_amount_max", "must be at least one lot"));
        }
        Ok(Self {
            target_bps: params.whole("target_share_bps")?,
            tolerance_bps: params.whole("tolerance_bps")?,
            trade_max,
            cost_max_bps: params.whole("cost_max_bps")?,
            fee_bps: params.whole("fee_bps")?,
        })
    }

    /// The side and the lots that lead back to the target, to within a lot; `None` within the band.
    fn due(&self, view: &View<'_>) -> Option<(Side, Qty)> {
        let share_bps = view.base_share_bps()?;
        if share_bps.abs_diff(self.target_bps) <= self.tolerance_bps {
            return None;
        }
        let side = if share_bps > self.target_bps {
            Side::Sell
        } else {
            Side::Buy
        };
        let (held, target) = (
            view.market.lots_floor(view.holdings.base),
            target_lots(view, self.target_bps)?,
        );
        let lots = Qty(held.0.abs_diff(target.0));
        Some((side, lots.min(self.trade_max)))
    }

    /// Why nothing is traded on a side that is due.
    fn too_dear(&self, found_bps: Option<u64>) -> Withheld {
        let key = "market.strategy.params";
        let compared = Compared::of(Unit::Bps, key, found_bps, self.cost_max_bps);
        Withheld::compared(Control::NoFairPrice, compared)
    }
}

impl Strategy for Rebalance {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        for side in Side::BOTH {
            targets.withhold(side, Control::NotConfigured);
        }
        let Some((side, due)) = self.due(view) else {
            return;
        };
        if view.pool.is_some_and(|pool| pool.moving) {
            return targets.withhold(side, Control::SwapUndecided);
        }
        // What may still fill ends first: an order that stays is one of the same plan.
        if view.unknown != [0; 2] {
            return targets.withhold(side, Control::UnknownOrder);
        }
        let costs = Costs::new(view, side, (self.cost_max_bps, self.fee_bps));
        let held = match side {
            Side::Buy => view
                .market
                .lots_affordable(view.holdings.quote, costs.limit()),
            Side::Sell => view.market.lots_floor(view.holdings.base),
        };
        let due = due.min(held);
        match costs.cheapest(due) {
            // An order of another plan is cancelled first, because it may still fill.
            Ok(Trade::Book { limit, lots }) if is_orderable(view.market, limit, lots) => {
                let is_own = |own: &&OwnOrder| own.side == side && !own.cancelling;
                match view.own {
                    [] => targets.quote(side, limit, lots, 0),
                    own => {
                        if let Some(own) = own.iter().find(is_own) {
                            targets.quote(side, limit, own.remaining.min(lots), 0);
                        }
                    }
                }
            }
            Ok(Trade::Pool(swap)) if view.own.is_empty() => targets.swap(swap),
            Ok(Trade::Pool(_)) => {}
            Ok(Trade::Book { .. }) => targets.withhold(side, Control::StrategyFunds),
            Err(found_bps) => targets.withhold(side, self.too_dear(found_bps)),
        }
    }
}

#[cfg(test)]
#[path = "rebalance_tests.rs"]
pub(crate) mod tests;
