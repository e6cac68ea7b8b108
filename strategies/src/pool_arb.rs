//! Pool arbitrage: a swap with the pool beside the market and the same base on the book, when both together earn
//! something after all fees.
//!
//! The swap goes first, because it trades all of its amount for at least what it signs, or nothing: a round that is
//! gone costs nothing. The second leg takes from the book with a limit of `unwind_bps` beyond the mid, which is the
//! only slippage of a round. Its size is not remembered but read: it is the distance of the base holdings from
//! `base_target`, which the ledger knows exactly after every crash. While a leg is open nothing is swapped, and its
//! order is replaced until the distance is below what the venue takes. A distance of more than two rounds is not from
//! this strategy, and is left alone. So it must be the only strategy of its market.
//!
//! It keeps no state.

mod round;

use cambist_core::control::Control;
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{OwnOrder, PoolView, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{OpenLeg, Promise, StrategyInfo, TwoLegs};
use crate::scale::{base_floor, lots_floor};
use crate::sizing::{is_orderable, is_within};
use round::{Outcome, Round};

const WHOLE: Amount = 10_000;
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// Rounds that may lie between the holdings and the target: one that is open, and one that filled after the venue
/// had reported another end of it.
const ROUNDS_OPEN: u64 = 2;

/// How far an order of the second leg may be from its limit before it is replaced.
const TOLERANCE_BPS: u32 = 5;

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "pool_arb",
    summary: "Swaps with the pool and trades the same base on the book when both together earn \
              something after all fees. Needs [market.pool] with swap_value_max, and orders that may \
              take (orders.maker_only = false).",
    promise: Promise::Swaps,
    two_legs: Some(TwoLegs {
        open_leg,
        takes: true,
    }),
    parameters: &[
        Parameter {
            name: "base_target",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Changed,
            meaning: "Base held between two rounds. What is held beyond or below it is an open leg, \
                      and is traded on the book. Rounded down to whole lots.",
        },
        Parameter {
            name: "round_amount_max",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Higher,
            meaning: "Largest round, and so the largest open leg. Rounded down to whole lots.",
        },
        Parameter {
            name: "profit_min_bps",
            unit: "bps of what a round costs",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: Some("5"),
            looser: Looser::Lower,
            meaning: "Least profit of a round after all fees, at the prices last read. The swap may \
                      be paid so much less that this is left.",
        },
        Parameter {
            name: "unwind_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("30"),
            looser: Looser::Higher,
            meaning: "How far beyond the mid the second leg may trade.",
        },
    ],
    build: |params, market| Ok(Box::new(PoolArb::new(params, market)?)),
};

fn open_leg(params: &Params, market: &MarketSpec) -> Result<OpenLeg, ParamError> {
    let strategy = PoolArb::new(params, market)?;
    let base = market.base_amount(strategy.round_max);
    Ok(OpenLeg {
        target: strategy.base_target,
        base: base.unwrap_or(Amount::MAX),
        unwind_bps: strategy.unwind_bps,
        drift_max_bps: None,
    })
}

/// The strategy.
#[derive(Clone, Debug)]
struct PoolArb {
    /// Base units.
    base_target: Amount,
    round_max: Qty,
    profit_min_bps: u32,
    unwind_bps: u32,
}

impl PoolArb {
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let round_max = lots_floor(params, "round_amount_max", market)?;
        if round_max.0 == 0 {
            return Err(params.conflict("round_amount_max", "must be at least one lot"));
        }
        Ok(Self {
            base_target: base_floor(params, "base_target", market)?,
            round_max,
            profit_min_bps: params.whole("profit_min_bps")?,
            unwind_bps: params.whole("unwind_bps")?,
        })
    }

    /// The side that closes the open leg, and its size in base units: what is held beyond or below the target.
    fn open_leg(&self, view: &View<'_>) -> (Side, Amount) {
        let held = view.holdings.base;
        let side = if held > self.base_target {
            Side::Sell
        } else {
            Side::Buy
        };
        (side, held.abs_diff(self.base_target))
    }

    /// Adds the orders that close the open leg; false if there is nothing to close. An order stays near its limit, and
    /// is replaced only when it is gone: whatever may still fill counts as if it does.
    fn close(&self, view: &View<'_>, targets: &mut Targets) -> bool {
        let (side, open) = self.open_leg(view);
        let limit = self.limit(view, side);
        let own = || view.own.iter().filter(|order| order.side == side);
        let stays = |order: &&OwnOrder| {
            let near = is_within(order.price, limit, TOLERANCE_BPS);
            near && !order.cancelling && !order.expiring
        };
        let mut kept = 0;
        for order in own().filter(stays) {
            targets.quote(side, order.price, order.remaining, kept);
            kept += 1;
        }
        let alive = own().fold(view.unknown[side as usize], |sum, order| {
            // A remainder below a lot may fill as well.
            let lots = u128::from(order.remaining.0).saturating_add(1);
            sum.saturating_add(lots.saturating_mul(view.market.lot))
        });
        let due = view.market.lots_floor(open.saturating_sub(alive));
        let is_due = is_orderable(view.market, limit, due);
        if is_due {
            targets.quote(side, limit, due, kept);
        }
        is_due || kept > 0
    }

    /// The limit of the second leg: so far beyond the mid, rounded towards it, that the book takes it at once.
    fn limit(&self, view: &View<'_>, side: Side) -> Price {
        let bps = Amount::from(self.unwind_bps);
        let beyond = match side {
            Side::Buy => WHOLE + bps,
            Side::Sell => WHOLE - bps,
        };
        let mid = Amount::from(view.mid);
        let ticks = match side {
            Side::Buy => mul_div_floor(mid, beyond, 2 * WHOLE),
            Side::Sell => mul_div_ceil(mid, beyond, 2 * WHOLE),
        };
        let ticks = ticks.and_then(|ticks| u64::try_from(ticks).ok());
        Price(ticks.unwrap_or(0))
    }

    /// The better of both directions within funds and limits, if it earns enough.
    fn round(&self, view: &View<'_>, pool: &PoolView) -> Option<(Side, Outcome)> {
        let rounds = Side::BOTH.map(|side| {
            let round = Round::new(view, pool, side);
            let outcome = round.best(self.lots_max(view, pool, side))?;
            (outcome.profit()? >= self.keep(&outcome)).then_some((side, outcome))
        });
        let earns = |(_, outcome): &(Side, Outcome)| outcome.profit();
        rounds.into_iter().flatten().max_by_key(earns)
    }

    /// The least profit of a round, quote units.
    fn keep(&self, outcome: &Outcome) -> Amount {
        let keep = mul_div_ceil(outcome.cost, self.profit_min_bps.into(), WHOLE);
        keep.unwrap_or(Amount::MAX).max(1)
    }

    /// Most lots of a round: its limit, the value that a swap may have, and what is held.
    fn lots_max(&self, view: &View<'_>, pool: &PoolView, side: Side) -> u64 {
        let swap = pool.swap;
        // The engine values a swap at its most: with its slippage, and with the fee that is bought as well.
        let more = WHOLE + Amount::from(swap.slippage_bps) + 2 * Amount::from(swap.taker_fee_bips);
        let value = mul_div_floor(swap.value_max, WHOLE, more + 1).unwrap_or(0);
        let mid = Price(view.mid.div_ceil(2));
        let worth = |quote: Amount, price| view.market.lots_affordable(quote, price).0;
        let (allowed, held) = match side {
            // The pool is cheaper than the bids.
            Side::Buy => (worth(value, mid), worth(view.holdings.quote, mid)),
            // The pool pays more than the asks cost.
            Side::Sell => {
                let (base, quote) = (pool.base, pool.quote);
                let in_pool = mul_div_floor(value, base, quote).unwrap_or(0);
                let in_pool = view.market.lots_floor(in_pool).0;
                (
                    worth(value, mid).min(in_pool),
                    view.market.lots_floor(view.holdings.base).0,
                )
            }
        };
        self.round_max.0.min(allowed).min(held)
    }

    /// Why an open leg is left alone: it is larger than this strategy makes one.
    fn too_far(&self, view: &View<'_>) -> Option<Withheld> {
        let lots = view.market.lots_floor(self.open_leg(view).1);
        let most = self.round_max.0.saturating_mul(ROUNDS_OPEN);
        let key = "market.strategy.params.round_amount_max";
        let compared = Compared::new(Unit::Lots, key, lots.0, most);
        (lots.0 > most).then(|| Withheld::compared(Control::StrategySkew, compared))
    }
}

impl Strategy for PoolArb {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let withhold = |targets: &mut Targets, why: Withheld| {
            for side in Side::BOTH {
                targets.withhold(side, why);
            }
        };
        withhold(targets, Control::NotConfigured.into());
        if let Some(why) = self.too_far(view) {
            return withhold(targets, why);
        }
        if self.close(view, targets) {
            return;
        }
        let Some(pool) = view.pool else {
            return withhold(targets, Control::NoFairPrice.into());
        };
        // What is undecided may still open a leg or close one.
        let is_quiet = view.own.is_empty() && view.unknown == [0; 2];
        if !pool.swap.possible {
            return withhold(targets, Control::SwapUndecided.into());
        }
        if !is_quiet {
            return;
        }
        if let Some((side, outcome)) = self.round(view, &pool) {
            let swap = Round::new(view, &pool, side).swap(&outcome, self.keep(&outcome));
            if let Some(swap) = swap {
                targets.swap(swap);
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_arb_tests.rs"]
pub(crate) mod tests;
