//! Conversion of margins into orders, for all strategies: prices at a margin from the mid, the passive clamp, and
//! dividing holdings among targets.

use cambist_core::control::Control;
use cambist_core::math::mul_div_floor;
use cambist_core::strategy::{BookLevel, Holdings, PoolView, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, Parameter};

/// Ten-thousandths in one.
pub const BPS: u32 = 10_000;

/// The fee parameter of strategies that quote at configured distances: it is part of the smallest one.
pub const FEE: Parameter = Parameter {
    name: "fee_bps",
    unit: "bps",
    kind: Kind::Bps { min: 0, max: 100 },
    default: Some("0"),
    looser: Looser::Lower,
    meaning: "The exchange's maker fee; no order is so near to the mid that a fill would not earn \
              it.",
};

/// The price `margin_bps` away from the mid, rounded away from it: never nearer than configured.
///
/// The mid is in half ticks, so the price is `mid · (10000 ∓ margin) / 20000`.
pub fn price_at(side: Side, mid: u64, margin_bps: u32) -> Price {
    let mid = u128::from(mid);
    let whole = u128::from(2 * BPS);
    let ticks = match side {
        Side::Buy => mid * u128::from(BPS.saturating_sub(margin_bps)) / whole,
        Side::Sell => (mid * u128::from(BPS.saturating_add(margin_bps))).div_ceil(whole),
    };
    Price(u64::try_from(ticks).unwrap_or(u64::MAX))
}

/// The price at a model's distance (bps, negative beyond the mid) from the mid, rounded away from it. `None` if there
/// is no such price: at or below zero, above 2^53 ticks, or if the distance is not a number.
pub fn price_from(side: Side, mid: u64, bps: f64) -> Option<Price> {
    #[allow(clippy::cast_precision_loss, reason = "a model's price, below 2^53")]
    let mid = mid as f64 / 2.0;
    let away = bps / f64::from(BPS);
    let ticks = match side {
        Side::Buy => (mid * (1.0 - away)).floor(),
        Side::Sell => (mid * (1.0 + away)).ceil(),
    };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1, below 2^53"
    )]
    (1.0..9e15).contains(&ticks).then_some(Price(ticks as u64))
}

/// The one of two prices that is further from the mid.
pub fn further(side: Side, one: Price, other: Price) -> Price {
    match side {
        Side::Buy => one.min(other),
        Side::Sell => one.max(other),
    }
}

/// Lots of base that make up this share of the value of all holdings, rounded down. `None` on overflow.
pub fn target_lots(view: &View<'_>, target_bps: u32) -> Option<Qty> {
    let lot_value = view
        .market
        .quote_per_lot_tick
        .checked_mul(view.mid.into())?;
    // The mid is in half ticks.
    let quote = view.holdings.quote.checked_mul(2)?.checked_div(lot_value)?;
    let all = u128::from(view.market.lots_floor(view.holdings.base).0).checked_add(quote)?;
    let target = all.checked_mul(target_bps.into())? / u128::from(BPS);
    u64::try_from(target).ok().map(Qty)
}

/// Whether a price is at least `margin_bps` away from the mid.
pub fn at_least(side: Side, price: Price, mid: u64, margin_bps: u32) -> bool {
    let edge = price_at(side, mid, margin_bps);
    match side {
        Side::Buy => price <= edge,
        Side::Sell => price >= edge,
    }
}

/// Whether a resting price is within `bps` of a target price.
pub fn is_within(own: Price, requested: Price, bps: u32) -> bool {
    u128::from(own.0.abs_diff(requested.0)) * u128::from(BPS)
        <= u128::from(requested.0) * u128::from(bps)
}

/// Replaces level prices by those of resting orders that are within the tolerance and allowed, if as many orders
/// rest as there are levels.
pub fn keep(
    view: &View<'_>,
    side: Side,
    quotes: &mut [(Price, Qty)],
    tolerance_bps: u32,
    allowed: impl Fn(Price) -> bool,
) {
    let mut own: Vec<Price> = view
        .own
        .iter()
        .filter(|order| order.side == side && !order.cancelling)
        .map(|order| order.price)
        .filter(|&price| passive(view, side, price) == price && allowed(price))
        .collect();
    own.sort();
    // An order close to its expiry and its replacement count as one level.
    own.dedup();
    if side == Side::Buy {
        own.reverse();
    }
    if own.len() != quotes.len() {
        return;
    }
    let pairs = own.into_iter().zip(&*quotes);
    let kept: Vec<Price> = pairs
        .map(|(own, &(requested, _))| {
            if is_within(own, requested, tolerance_bps) {
                own
            } else {
                requested
            }
        })
        .collect();
    // A kept price may be beyond the next level's new price.
    if kept
        .windows(2)
        .all(|pair| pair[0] != pair[1] && side.reaches(pair[0], pair[1]))
    {
        for (quote, price) in quotes.iter_mut().zip(kept) {
            quote.0 = price;
        }
    }
}

/// The best price of the other side that an order would trade with.
pub fn opposite_best(view: &View<'_>, side: Side) -> Option<Price> {
    let levels = match side {
        Side::Buy => view.asks,
        Side::Sell => view.bids,
    };
    levels.first().map(|level| level.price)
}

/// The price moved away from the mid so far that it does not reach the other side's best.
pub fn passive(view: &View<'_>, side: Side, price: Price) -> Price {
    match (side, opposite_best(view, side)) {
        (_, None) => price,
        (Side::Buy, Some(ask)) => price.min(Price(ask.0.saturating_sub(1))),
        (Side::Sell, Some(bid)) => price.max(Price(bid.0.saturating_add(1))),
    }
}

/// Quote of so many lots of the best levels, best first; `None` if they do not hold as many, and on overflow.
pub fn quote_of(market: &MarketSpec, levels: &[BookLevel], lots: Qty) -> Option<Amount> {
    let (mut left, mut quote) = (lots.0, Amount::default());
    for level in levels {
        let taken = left.min(level.qty.0);
        let amount = market.quote_amount(level.price, Qty(taken))?;
        quote = quote.checked_add(amount)?;
        left -= taken;
        if left == 0 {
            return Some(quote);
        }
    }
    None
}

/// Base that our shares are due, rounded down; nothing of a pool without shares.
pub fn base_due(pool: &PoolView) -> Option<Amount> {
    if pool.held == 0 {
        return Some(0);
    }
    mul_div_floor(pool.due().0, pool.held, pool.supply)
}

/// Whether the venue accepts an order of this size.
pub fn is_orderable(market: &MarketSpec, price: Price, qty: Qty) -> bool {
    let base = market.base_amount(qty);
    let quote = market.quote_amount(price, qty);
    qty.0 > 0
        && base.is_some_and(|amount| amount >= market.base.minimum)
        && quote.is_some_and(|amount| amount >= market.quote.minimum)
}

/// The smallest quantity that the venue accepts at a price, and at least `least`.
pub(crate) fn least_lots(market: &MarketSpec, price: Price, least: Qty) -> Qty {
    let lots = |amount: Amount, one: Option<Amount>| {
        let lots = one.and_then(|one| amount.checked_add(one - 1)?.checked_div(one));
        lots.and_then(|lots| u64::try_from(lots).ok())
            .unwrap_or(u64::MAX)
    };
    let one = Qty(1);
    let base = lots(market.base.minimum, market.base_amount(one));
    let quote = lots(market.quote.minimum, market.quote_amount(price, one));
    Qty(base.max(quote).max(least.0).max(1))
}

/// Why no order of `requested` lots, or of fewer down to `least`, can be placed at a price: they are too few for the
/// venue, or the holdings do not pay for the smallest order.
pub fn unorderable(
    view: &View<'_>,
    side: Side,
    price: Price,
    requested: Qty,
    least: Qty,
) -> Withheld {
    let (market, fewest) = (view.market, least_lots(view.market, price, least));
    if requested < fewest {
        let compared = Compared::new(Unit::Lots, "market.strategy.params", requested.0, fewest.0);
        return Withheld::compared(Control::OrderAmount, compared);
    }
    let (unit, held, needed) = match side {
        Side::Buy => {
            let needed = market.quote_amount(price, fewest);
            (Unit::Quote, view.holdings.quote, needed)
        }
        Side::Sell => (Unit::Base, view.holdings.base, market.base_amount(fewest)),
    };
    let needed = needed.unwrap_or(Amount::MAX);
    let compared = Compared::new(unit, "market.strategy.params", held, needed);
    Withheld::compared(Control::StrategyFunds, compared)
}

/// Adds a level behind the others; one on the price of the last makes that larger.
pub fn add_level(levels: &mut Vec<(Price, Qty)>, price: Price, qty: Qty) {
    match levels.last_mut() {
        Some(last) if last.0 == price => last.1 = Qty(last.1.0.saturating_add(qty.0)),
        Some(_) | None => levels.push((price, qty)),
    }
}

/// The part of the holdings that is not yet assigned to a quote of this decision.
///
/// Holdings include the amounts that own orders lock, and a decision names every target, kept orders included, so each
/// decision divides the whole.
#[derive(Clone, Copy, Debug)]
pub struct Funds {
    base: Amount,
    quote: Amount,
}

impl Funds {
    /// All holdings.
    pub const fn new(holdings: Holdings) -> Self {
        Self {
            base: holdings.base,
            quote: holdings.quote,
        }
    }

    /// Takes the part of `requested` that is covered, in whole lots, and returns it.
    #[must_use]
    pub fn take(&mut self, market: &MarketSpec, side: Side, price: Price, requested: Qty) -> Qty {
        match side {
            Side::Buy => {
                let qty = requested.min(market.lots_affordable(self.quote, price));
                let cost = market.quote_amount(price, qty).unwrap_or(self.quote);
                self.quote = self.quote.saturating_sub(cost);
                qty
            }
            Side::Sell => {
                let qty = requested.min(market.lots_floor(self.base));
                let cost = market.base_amount(qty).unwrap_or(self.base);
                self.base = self.base.saturating_sub(cost);
                qty
            }
        }
    }

    /// The levels of a side that are covered, nearest first, each as far as the nearer ones leave holdings; or why there
    /// are none. Levels without a price are left out.
    pub fn cover(
        &mut self,
        view: &View<'_>,
        side: Side,
        mut levels: Vec<(Price, Qty)>,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        levels.retain(|(price, _)| price.0 > 0);
        let &(price, wanted) = levels.first().ok_or(Control::NoPassivePrice)?;
        for (price, qty) in &mut levels {
            *qty = self.take(view.market, side, *price, *qty);
        }
        levels.retain(|&(price, qty)| is_orderable(view.market, price, qty));
        if levels.is_empty() {
            return Err(unorderable(view, side, price, wanted, Qty(1)));
        }
        Ok(levels)
    }
}
