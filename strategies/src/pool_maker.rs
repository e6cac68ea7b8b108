//! Pool maker: quotes the book around the price of the pool beside the market, and hedges fills by swaps with it.
//!
//! A level is priced at what its fill and the swap that hedges it earn: the pool pays for all nearer levels and what is
//! still unhedged first, its fee and the venue's are paid, and `profit_min_bps` is left. No reference price is needed,
//! and the swap is the only part of a round that can slip.
//!
//! What is unhedged is not remembered but read: it is the distance of the base holdings from `base_target`, which the
//! ledger knows exactly after every crash. Whatever may still fill, resting or of unknown state, counts as filled
//! before a new order is added, so that the distance is never more than `open_amount_max`; a larger one is not from
//! this strategy and stops it. So it must be the only strategy of its market.
//!
//! While a swap is undecided, or the pool was not read again after it, nothing is swapped and nothing new is quoted.
//! What rests stays: it was priced behind the levels that were hedged.
//!
//! It keeps no state.

mod hedge;

use cambist_core::control::Control;
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{OwnOrder, PoolView, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{FirstLeg, OpenLeg, Promise, StrategyInfo, TwoLegs};
use crate::scale::{base_floor, lots_floor};
use crate::sizing::{self, Funds, is_orderable, is_within, passive, unorderable};
use hedge::Open;

const WHOLE: Amount = 10_000;
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// Distances of so many times `open_amount_max` are still closed: one that was open, and one that a fill of an order
/// made which the venue had reported another end of.
const LEGS_MAX: Amount = 2;

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "pool_maker",
    summary: "Quotes the book around the price of the pool, and hedges fills by swaps with the pool. Needs \
              [market.pool] with swap_value_max.",
    promise: Promise::Swaps,
    two_legs: Some(TwoLegs {
        open_leg,
        first: FirstLeg::Fill,
    }),
    parameters: &[
        Parameter {
            name: "base_target",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Changed,
            meaning: "Base held while nothing is to be hedged. What is held beyond or below it is \
                      unhedged, and is swapped. Rounded down to whole lots.",
        },
        Parameter {
            name: "open_amount_max",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Higher,
            meaning: "Most base that may be unhedged, and so most that the orders of a side add up to. At \
                      least two times order_amount for each level lets orders be replaced while the old ones \
                      may still fill. Rounded down to whole lots.",
        },
        Parameter {
            name: "order_amount",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Higher,
            meaning: "Size of every level. Rounded down to whole lots.",
        },
        Parameter {
            name: "order_levels",
            unit: "",
            kind: Kind::Integer { min: 1, max: 16 },
            default: Some("1"),
            looser: Looser::Higher,
            meaning: "Levels on each side, each priced behind the nearer ones.",
        },
        Parameter {
            name: "profit_min_bps",
            unit: "bps of what a round costs",
            kind: Kind::Bps { min: 1, max: 1_000 },
            default: Some("5"),
            looser: Looser::Lower,
            meaning: "What a fill and its hedge earn after all fees, at the balances last read.",
        },
        sizing::FEE,
        Parameter {
            name: "hedge_slippage_bps",
            unit: "bps of what the pool pays",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: Some("10"),
            looser: Looser::Higher,
            meaning: "How much less than at the balances last read a hedge accepts; at most \
                      market.pool.slippage_bps.",
        },
        Parameter {
            name: "unwind_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("100"),
            looser: Looser::Higher,
            meaning: "How far beyond the mid a hedge may trade, the pool's fee included; beyond that it waits.",
        },
        Parameter {
            name: "order_refresh_tolerance_bps",
            unit: "bps of the price",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: Some("3"),
            looser: Looser::Higher,
            meaning: "New orders are this much further away than they need to be, and stay until they are \
                      twice as far, or too near.",
        },
    ],
    build: |params, market| Ok(Box::new(PoolMaker::new(params, market)?)),
};

fn open_leg(params: &Params, market: &MarketSpec) -> Result<OpenLeg, ParamError> {
    let strategy = PoolMaker::new(params, market)?;
    Ok(OpenLeg {
        target: strategy.base_target,
        base: strategy.open_max,
        unwind_bps: strategy.unwind_bps,
        // New orders are so much further away than they need to be, and that earns so much.
        drift_max_bps: Some(strategy.tolerance_bps + strategy.profit_min_bps),
    })
}

/// The strategy.
#[derive(Clone, Debug)]
struct PoolMaker {
    /// Base units.
    base_target: Amount,
    open_max: Amount,
    size: Qty,
    levels: u32,
    profit_min_bps: u32,
    fee_bps: u32,
    slippage_bps: u32,
    unwind_bps: u32,
    tolerance_bps: u32,
}

/// A level: the price nearest to the mid that still earns enough, the price of a new order, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    nearest: Price,
    price: Price,
    qty: Qty,
}

impl PoolMaker {
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let size = lots_floor(params, "order_amount", market)?;
        if size.0 == 0 {
            return Err(params.conflict("order_amount", "must be at least one lot"));
        }
        let open_max = base_floor(params, "open_amount_max", market)?;
        if market.lots_floor(open_max) < size {
            return Err(params.conflict("open_amount_max", "must be at least order_amount"));
        }
        Ok(Self {
            base_target: base_floor(params, "base_target", market)?,
            open_max,
            size,
            levels: params.whole("order_levels")?,
            profit_min_bps: params.whole("profit_min_bps")?,
            fee_bps: params.whole("fee_bps")?,
            slippage_bps: params.whole("hedge_slippage_bps")?,
            unwind_bps: params.whole("unwind_bps")?,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
        })
    }

    /// What is unhedged, base units, and the side of the fills that made it.
    fn open(&self, view: &View<'_>) -> (Side, Amount) {
        let held = view.holdings.base;
        let side = if held > self.base_target {
            Side::Buy
        } else {
            Side::Sell
        };
        (side, held.abs_diff(self.base_target))
    }

    /// Why nothing is done: the distance is larger than this strategy makes one.
    fn too_far(&self, open: Amount) -> Option<Withheld> {
        let most = self.open_max.saturating_mul(LEGS_MAX);
        let key = "market.strategy.params.open_amount_max";
        let compared = Compared::new(Unit::Base, key, open, most);
        (open > most).then(|| Withheld::compared(Control::StrategySkew, compared))
    }

    /// The swap that is due, or why there is none.
    fn hedge(
        &self,
        view: &View<'_>,
        pool: &PoolView,
    ) -> Result<cambist_core::strategy::WantedSwap, Open> {
        let (made, open) = self.open(view);
        let side = made.opposite();
        // What an order of unknown state may have closed already is not closed again.
        let due = open.saturating_sub(view.unknown[side as usize]);
        hedge::swap(
            view,
            pool,
            (side, due),
            (self.slippage_bps, self.unwind_bps),
        )
    }

    /// The levels of a side, nearest first, behind `before` base units of fills of that side. Shorter where the pool
    /// does not hold it.
    fn levels(
        &self,
        market: &MarketSpec,
        pool: &PoolView,
        side: Side,
        before: Amount,
    ) -> Vec<Level> {
        let mut levels = Vec::new();
        let mut begin = before;
        for _ in 0..self.levels {
            let level = self.level(market, pool, side, begin);
            let Some((level, end)) = level else { break };
            levels.push(level);
            begin = end;
        }
        levels
    }

    /// A level behind `begin` base units, and where it ends.
    fn level(
        &self,
        market: &MarketSpec,
        pool: &PoolView,
        side: Side,
        begin: Amount,
    ) -> Option<(Level, Amount)> {
        let base = market.base_amount(self.size)?;
        let tick = market.quote_amount(Price(1), self.size)?;
        let (fee, profit) = (
            Amount::from(self.fee_bps),
            Amount::from(self.profit_min_bps),
        );
        let away = Amount::from(self.tolerance_bps);
        let kept = WHOLE.checked_sub(fee)?;
        let (nearest, further, end) = match side {
            Side::Buy => {
                let end = begin.checked_add(mul_div_floor(base, kept, WHOLE)?)?;
                let earned =
                    hedge::revenue(pool, end)?.checked_sub(hedge::revenue(pool, begin)?)?;
                // Both amounts are rounded, by two units at most.
                let most = mul_div_floor(earned.checked_sub(2)?, WHOLE, WHOLE + profit)? / tick;
                (
                    most,
                    mul_div_floor(most, WHOLE.checked_sub(away)?, WHOLE)?,
                    end,
                )
            }
            Side::Sell => {
                let end = begin.checked_add(base)?;
                let paid = hedge::cost(pool, end)?.checked_sub(hedge::cost(pool, begin)?)?;
                let least = mul_div_ceil(paid.checked_add(4)?, WHOLE + profit, kept)?;
                let least = least.div_ceil(tick);
                (least, mul_div_ceil(least, WHOLE + away, WHOLE)?, end)
            }
        };
        let [nearest, price] = [nearest, further].map(|ticks| u64::try_from(ticks).ok().map(Price));
        let (nearest, price) = nearest.zip(price).filter(|(_, price)| price.0 > 0)?;
        let level = Level {
            nearest,
            price,
            qty: self.size,
        };
        Some((level, end))
    }

    /// Whether a resting order takes the place of a level.
    fn stays(&self, order: &OwnOrder, level: &Level) -> bool {
        let far_enough = match order.side {
            Side::Buy => order.price <= level.nearest,
            Side::Sell => order.price >= level.nearest,
        };
        far_enough
            && is_within(order.price, level.nearest, 2 * self.tolerance_bps)
            // A small rest is replaced.
            && order.remaining.0.saturating_mul(2) >= level.qty.0
    }

    /// Adds the orders of a side that stay and what there is room for; or returns why there are none.
    fn quote(
        &self,
        view: &View<'_>,
        pool: &PoolView,
        (side, open): (Side, Amount),
        funds: &mut Funds,
        targets: &mut Targets,
    ) -> Result<(), Withheld> {
        let market = view.market;
        // A remainder below a lot may fill as well.
        let base_of =
            |order: &OwnOrder| Amount::from(order.remaining.0).saturating_add(1) * market.lot;
        let own = || view.own.iter().filter(|order| order.side == side);
        let mut resting: Vec<&OwnOrder> = own()
            .filter(|order| !order.cancelling && !order.expiring)
            .collect();
        resting.sort_by_key(|order| order.price);
        if side == Side::Buy {
            resting.reverse();
        }
        let unknown = view.unknown[side as usize];
        let all = own().fold(unknown, |sum, order| sum.saturating_add(base_of(order)));
        let kept = resting
            .iter()
            .fold(0, |sum: Amount, order| sum.saturating_add(base_of(order)));
        let most = self.open_max.min(hedge::base_max(view, pool));
        let mut room = most.saturating_sub(open).saturating_sub(all);
        let gone = all.saturating_sub(kept);
        let levels = self.levels(market, pool, side, open.saturating_add(gone));
        let mut placed = 0;
        let mut why = None;
        let mut resting = resting.into_iter().peekable();
        for level in &levels {
            let order = if pool.swap.possible {
                while resting
                    .next_if(|order| {
                        !self.stays(order, level) && side.reaches(order.price, level.price)
                    })
                    .is_some()
                {}
                resting.next_if(|order| self.stays(order, level))
            } else {
                resting.next()
            };
            let price = passive(view, side, level.price);
            if let Some(order) = order {
                let covered = funds.take(market, side, order.price, order.remaining);
                if covered == order.remaining {
                    targets.quote(side, order.price, order.remaining, placed);
                    placed += 1;
                }
                continue;
            }
            if !pool.swap.possible {
                why = why.or(Some(Control::SwapUndecided.into()));
                break;
            }
            let wanted = level.qty.min(market.lots_floor(room));
            if wanted.0 == 0 {
                why = why.or_else(|| Some(self.full(open, all, most)));
                break;
            }
            let qty = funds.take(market, side, price, wanted);
            if is_orderable(market, price, qty) {
                let taken = market.base_amount(qty).unwrap_or(Amount::MAX);
                room = room.saturating_sub(taken);
                targets.quote(side, price, qty, placed);
                placed += 1;
            } else {
                why = why.or_else(|| Some(unorderable(view, side, price, wanted, Qty(1))));
            }
        }
        match (placed, why) {
            (0, Some(why)) => Err(why),
            (0, None) => Err(Control::NoFairPrice.into()),
            (_, _) => Ok(()),
        }
    }

    /// No room for an order: what is unhedged or may still fill is as much as may be.
    fn full(&self, open: Amount, alive: Amount, most: Amount) -> Withheld {
        let counted = open.saturating_add(alive);
        let (control, key) = if most < self.open_max {
            (Control::OrderValue, "market.pool.swap_value_max")
        } else {
            (
                Control::StrategySkew,
                "market.strategy.params.open_amount_max",
            )
        };
        let compared = Compared::new(Unit::Base, key, counted, most);
        Withheld::compared(control, compared)
    }
}

impl Strategy for PoolMaker {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let withhold = |targets: &mut Targets, why: Withheld| {
            for side in Side::BOTH {
                targets.withhold(side, why);
            }
        };
        let (made, open) = self.open(view);
        if let Some(why) = self.too_far(open) {
            return withhold(targets, why);
        }
        let Some(pool) = view.pool else {
            return withhold(targets, Control::NoFairPrice.into());
        };
        let mut holdings = view.holdings;
        let mut waits = None;
        if pool.swap.possible {
            match self.hedge(view, &pool) {
                Ok(swap) => {
                    targets.swap(swap);
                    // What it sells is not quoted.
                    let sold = match swap.side {
                        Side::Sell => &mut holdings.base,
                        Side::Buy => &mut holdings.quote,
                    };
                    *sold = sold.saturating_sub(swap.sell);
                }
                Err(Open::Small) => {}
                Err(Open::Away(bps)) => {
                    let key = "market.strategy.params.unwind_bps";
                    let compared = Compared::new(Unit::Bps, key, bps, self.unwind_bps);
                    waits = Some(Withheld::compared(Control::StrategyPrice, compared));
                }
            }
        }
        let mut funds = Funds::new(holdings);
        for side in Side::BOTH {
            let open = if side == made { open } else { 0 };
            // While the hedge waits for the pool's price, nothing is added to it.
            let waits = waits.filter(|_| side == made);
            let quoted = match waits {
                Some(why) => Err(why),
                None => self.quote(view, &pool, (side, open), &mut funds, targets),
            };
            if let Err(why) = quoted {
                targets.withhold(side, why);
            }
        }
    }
}

#[cfg(test)]
#[path = "pool_maker_tests.rs"]
pub(crate) mod tests;
