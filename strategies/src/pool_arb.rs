//! Pool arbitrage: a swap with the pool beside the market and the same base on the book, when both together earn
//! something after all fees.
//!
//! The swap goes first, because it trades all of its amount for at least what it signs, or nothing: a round that is
//! gone costs nothing. The second leg takes from the book with a limit of `unwind_bps` beyond the mid, which is the
//! only slippage of a round. Its size is not remembered but read: it is the distance of the base holdings from
//! `base_target`, which the ledger knows exactly after every crash. While a leg is open nothing is swapped, and its
//! order is replaced until the distance is below what the venue takes, or at most `tolerance`. What is left open so is part
//! of the next round, so that a leg is never larger than `round_amount_max`. A distance of more than two rounds is not
//! from this strategy, and is left alone. So it must be the only strategy of its market.
//!
//! With `book` the book is that of a market at another venue, and what is held there counts with what is held here. The
//! strategy then only swaps: `hedge` at that market closes the leg. Nothing is swapped while the leg is open, while
//! anything there is undecided, or while book or holdings there are not known.
//!
//! It keeps no state.

mod round;

use cambist_core::control::Control;
use cambist_core::elsewhere::{self, OtherHoldings};
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{Holdings, OtherMarket, PoolView, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::closing::{UNWIND_BPS, close, distance, lots_due};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{FirstLeg, OpenLeg, Promise, StrategyInfo, TwoLegs};
use crate::scale::{base_floor, lots_floor};
use crate::sizing::least_lots;
use round::{Outcome, Round, RoundBook};

const WHOLE: Amount = 10_000;
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// Rounds that may lie between the holdings and the target: one that is open, and one that filled after the venue
/// had reported another end of it.
const ROUNDS_OPEN: u64 = 2;

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "pool_arb",
    summary: "Swaps with the pool and trades the same base on the book when both together earn \
              something after all fees. Needs [market.pool] with swap_value_max, and orders that may \
              take (orders.maker_only = false).",
    promise: Promise::Swaps,
    two_legs: Some(TwoLegs {
        open_leg,
        first: FirstLeg::Swap,
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
            meaning: "Largest round together with what is open before it, and so the largest open leg. \
                      Rounded down to whole lots.",
        },
        Parameter {
            name: "tolerance",
            unit: "base tokens",
            kind: AMOUNT,
            default: Some("0"),
            looser: Looser::Higher,
            meaning: "No leg is open while the distance from base_target is at most this, or less than \
                      the smallest order that the book takes. With book at least the tolerance of the \
                      hedge there.",
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
        UNWIND_BPS,
        Parameter {
            name: "book",
            unit: "",
            kind: Kind::Market,
            default: Some("\"\""),
            looser: Looser::Changed,
            meaning: "Name of a market of another venue (venue:market), whose book is traded against \
                      instead of the one beside the pool. It places no orders then: hedge at that \
                      market closes the leg. base_target is the base at both venues, and unwind_bps \
                      is not used.",
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
    /// Base units.
    tolerance: Amount,
    profit_min_bps: u32,
    unwind_bps: u32,
    /// The market of another venue that is traded against, if it is not the one beside the pool.
    book: Option<[String; 1]>,
}

/// What a round trades with: its book, and what may be used at it.
struct Against<'a> {
    book: RoundBook<'a>,
    /// Half ticks of the book's market.
    mid: u64,
    funds: Holdings,
}

impl Against<'_> {
    /// The smallest order that closes a leg here, at any limit that it may have: from half of the mid for a sale, and from
    /// the mid for a purchase. So every order takes what is not less.
    fn fewest(&self, side: Side) -> Qty {
        let halves = match side {
            Side::Buy => 2,
            Side::Sell => 4,
        };
        let price = Price((self.mid / halves).max(1));
        least_lots(self.book.market, price, Qty(1))
    }
}

impl PoolArb {
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let round_max = lots_floor(params, "round_amount_max", market)?;
        if round_max.0 == 0 {
            return Err(params.conflict("round_amount_max", "must be at least one lot"));
        }
        let tolerance = base_floor(params, "tolerance", market)?;
        if market.lots_floor(tolerance) >= round_max {
            return Err(params.conflict("tolerance", "must be below round_amount_max"));
        }
        Ok(Self {
            base_target: base_floor(params, "base_target", market)?,
            round_max,
            tolerance,
            profit_min_bps: params.whole("profit_min_bps")?,
            unwind_bps: params.whole("unwind_bps")?,
            book: book_of(params)?,
        })
    }

    /// The book beside the pool.
    fn beside<'a>(view: &View<'a>, pool: &PoolView) -> Against<'a> {
        Against {
            book: RoundBook {
                market: view.market,
                bids: view.bids,
                asks: view.asks,
                fee_bips: pool.swap.taker_fee_bips,
            },
            mid: view.mid,
            funds: view.holdings,
        }
    }

    /// The book of another venue, and what is held there; or why it cannot be traded against.
    fn elsewhere<'a>(
        view: &View<'_>,
        other: &OtherMarket<'a>,
    ) -> Result<(Against<'a>, OtherHoldings), Withheld> {
        let no_price = |_| Withheld::from(Control::NoFairPrice);
        let book = other.book.map_err(no_price)?;
        if other.market.base.id != view.market.base.id {
            return Err(Control::NoFairPrice.into());
        }
        let held = other.holdings.ok_or(Control::NoFairPrice)?;
        let against = Against {
            book: RoundBook {
                market: other.market,
                bids: book.bids,
                asks: book.asks,
                fee_bips: other.taker_fee_bips,
            },
            mid: book.mid.map_err(no_price)?,
            funds: Holdings {
                base: held.base,
                quote: held.quote,
            },
        };
        Ok((against, held))
    }

    /// The better of both directions within funds and limits, if it earns enough and the book takes its other leg. `leg` is
    /// what is open before it.
    fn round(
        &self,
        view: &View<'_>,
        pool: &PoolView,
        against: &Against<'_>,
        leg: (Side, Amount),
    ) -> Option<(Side, Outcome)> {
        let rounds = Side::BOTH.map(|side| {
            let round = Round::new(against.book, pool, side);
            let outcome = round.best(self.lots_max(view, pool, against, (side, leg)))?;
            let market = against.book.market;
            let base = market.base_amount(Qty(outcome.lots))?;
            let base = base.checked_add(added(side, leg))?;
            let fewest = against.fewest(side.opposite());
            let is_closed = base > self.tolerance && market.lots_floor(base) >= fewest;
            let is_worth_it = outcome.profit()? >= self.keep(&outcome);
            (is_closed && is_worth_it).then_some((side, outcome))
        });
        let earns = |(_, outcome): &(Side, Outcome)| outcome.profit();
        rounds.into_iter().flatten().max_by_key(earns)
    }

    /// The least profit of a round, quote units.
    fn keep(&self, outcome: &Outcome) -> Amount {
        let keep = mul_div_ceil(outcome.cost, self.profit_min_bps.into(), WHOLE);
        keep.unwrap_or(Amount::MAX).max(1)
    }

    /// Most lots of a round: its limit, the value that a swap may have, and what both legs have to spend.
    /// What is open in the direction of the swap is part of its limit.
    fn lots_max(
        &self,
        view: &View<'_>,
        pool: &PoolView,
        against: &Against<'_>,
        (side, leg): (Side, (Side, Amount)),
    ) -> u64 {
        let swap = pool.swap;
        let market = against.book.market;
        // The engine values a swap at its most: with its slippage, and with the fee that is bought as well.
        let more = WHOLE + Amount::from(swap.slippage_bps) + 2 * Amount::from(swap.taker_fee_bips);
        let value = mul_div_floor(swap.value_max, WHOLE, more + 1).unwrap_or(0);
        let mid = Price(against.mid.div_ceil(2));
        let worth = |quote: Amount| market.lots_affordable(quote, mid).0;
        let lots = |base: Amount| market.lots_floor(base).0;
        let elsewhere = self.book.is_some();
        let (allowed, held, there) = match side {
            // The pool is cheaper than the bids.
            Side::Buy => (
                worth(value),
                worth(view.holdings.quote),
                lots(against.funds.base),
            ),
            // The pool pays more than the asks cost.
            Side::Sell => {
                let (base, quote) = (pool.base, pool.quote);
                let in_pool = mul_div_floor(value, base, quote).unwrap_or(0);
                (
                    worth(value).min(lots(in_pool)),
                    lots(view.holdings.base),
                    // With what the book's venue takes.
                    mul_div_floor(
                        against.funds.quote,
                        WHOLE,
                        WHOLE + Amount::from(against.book.fee_bips),
                    )
                    .map_or(0, worth),
                )
            }
        };
        // What the swap brings pays for the leg on the book beside the pool.
        let there = if elsewhere { there } else { u64::MAX };
        let round_max = view.market.base_amount(self.round_max).unwrap_or(0);
        let round_max = lots(round_max.saturating_sub(added(side, leg)));
        round_max.min(allowed).min(held).min(there)
    }

    /// Why an open leg is left alone: it is larger than this strategy makes one.
    fn too_far(&self, market: &MarketSpec, open: Amount) -> Option<Withheld> {
        let lots = market.lots_floor(open);
        let most = self.round_max.0.saturating_mul(ROUNDS_OPEN);
        let key = "market.strategy.params.round_amount_max";
        let compared = Compared::new(Unit::Lots, key, lots.0, most);
        (lots.0 > most).then(|| Withheld::compared(Control::StrategySkew, compared))
    }

    /// Wants the swap of the best round, if one earns enough.
    fn begin_round(
        &self,
        view: &View<'_>,
        pool: &PoolView,
        against: &Against<'_>,
        leg: (Side, Amount),
        targets: &mut Targets,
    ) {
        let Some((side, outcome)) = self.round(view, pool, against, leg) else {
            return;
        };
        let round = Round::new(against.book, pool, side);
        if let Some(swap) = round.swap(&outcome, self.keep(&outcome)) {
            targets.swap(swap);
        }
    }

    /// A decision against the book beside the pool; or why there is none.
    fn decide_beside(&self, view: &View<'_>, targets: &mut Targets) -> Result<(), Withheld> {
        let leg = distance(view.holdings.base, self.base_target);
        if let Some(why) = self.too_far(view.market, leg.1) {
            return Err(why);
        }
        let round_max = view.market.base_amount(self.round_max);
        let most = round_max.and_then(|most| most.checked_mul(ROUNDS_OPEN.into()));
        let most = most.unwrap_or(Amount::MAX);
        if leg.1 > self.tolerance && close(view, leg, most, self.unwind_bps, targets) {
            return Ok(());
        }
        let pool = view.pool.ok_or(Control::NoFairPrice)?;
        if !pool.swap.possible {
            return Err(Control::SwapUndecided.into());
        }
        // What is undecided may still open a leg or close one.
        if view.own.is_empty() && view.unknown == [0; 2] {
            self.begin_round(view, &pool, &Self::beside(view, &pool), leg, targets);
        }
        Ok(())
    }

    /// A decision against the book of another venue, where another strategy closes the leg; or why there is none.
    fn decide_against(
        &self,
        view: &View<'_>,
        other: &OtherMarket<'_>,
        targets: &mut Targets,
    ) -> Result<(), Withheld> {
        let pool = view.pool.ok_or(Control::NoFairPrice)?;
        let (against, held) = Self::elsewhere(view, other)?;
        let all = view.holdings.base.saturating_add(held.base);
        let leg = distance(all, self.base_target);
        if let Some(why) = self.too_far(view.market, leg.1) {
            return Err(why);
        }
        if !pool.swap.possible || held.undecided {
            return Err(Control::SwapUndecided.into());
        }
        let market = against.book.market;
        let fewest = against.fewest(leg.0);
        let due = lots_due(market, against.book.fee_bips, leg);
        if leg.1 > self.tolerance && due >= fewest {
            // Base units are the same at both markets, and lots are not.
            let smallest = market.base_amount(fewest).unwrap_or(Amount::MAX);
            let key = "market.strategy.params.base_target";
            let compared = Compared::new(Unit::Base, key, leg.1, self.tolerance.max(smallest));
            return Err(Withheld::compared(Control::StrategySkew, compared));
        }
        self.begin_round(view, &pool, &against, leg, targets);
        Ok(())
    }
}

/// What a leg that is left open adds to the one that a swap of this side opens, base units.
fn added(swap: Side, leg: (Side, Amount)) -> Amount {
    if leg.0 == swap { 0 } else { leg.1 }
}

/// The market of another venue that a table names.
fn book_of(params: &Params) -> Result<Option<[String; 1]>, ParamError> {
    let name = params.name("book")?;
    if name.is_empty() {
        return Ok(None);
    }
    if elsewhere::split(name).is_none() {
        let what = "must be a market of another venue (venue:market); without it the book beside the pool is used";
        return Err(params.conflict("book", what));
    }
    Ok(Some([name.to_owned()]))
}

impl Strategy for PoolArb {
    fn reads(&self) -> &[String] {
        self.book.as_ref().map_or(&[], |book| book.as_slice())
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        let same = |other: &&MarketSpec| {
            (other.base.id, other.quote.id) == (market.base.id, market.quote.id)
        };
        match others.iter().find(|other| !same(other)) {
            Some(other) => Err(format!(
                "{} trades {} in {}, and this market {} in {}",
                other.name,
                other.base.symbol,
                other.quote.symbol,
                market.base.symbol,
                market.quote.symbol
            )),
            None => Ok(()),
        }
    }

    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let withhold = |targets: &mut Targets, why: Withheld| {
            for side in Side::BOTH {
                targets.withhold(side, why);
            }
        };
        withhold(targets, Control::NotConfigured.into());
        let decided = match (&self.book, view.markets.first()) {
            (None, _) => self.decide_beside(view, targets),
            (Some(_), Some(other)) => self.decide_against(view, other, targets),
            (Some(_), None) => Err(Control::NoFairPrice.into()),
        };
        if let Err(why) = decided {
            withhold(targets, why);
        }
    }
}

#[cfg(test)]
#[path = "pool_arb_tests.rs"]
pub(crate) mod tests;
