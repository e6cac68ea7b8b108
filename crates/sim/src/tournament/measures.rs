//! What is measured in a game. Amounts are integers of the quote token; ratios are computed where they are shown.

use cambist_core::event::Amounts;
use cambist_core::math::mul_div_floor;
use cambist_core::{Amount, MarketSpec, Price, Side};
use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;

/// Interval between two looks at the own orders that rest, milliseconds.
pub(super) const SAMPLE_MS: u64 = 250;

/// The result of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// Value of the account at the beginning, at the fair price of that time, quote units.
    pub equity_first: Amount,
    /// Value of the account at the end, at the fair price of that time, quote units.
    pub equity_last: Amount,
    /// What the opening balances are worth at the end: the value of an account that did nothing, quote units.
    pub unchanged_last: Amount,
    /// Looks at the own orders that rest, one every quarter of a second since the maker's start.
    pub samples: u64,
    /// Those with own orders on both sides.
    pub samples_both: u64,
    /// Requests of every kind.
    pub requests: u64,
    /// Transmissions of orders.
    pub orders: u64,
    /// Trades of own orders.
    pub fills: u64,
    /// Quote units traded.
    pub volume: Amount,
    /// Orders that rest at the end unknown to the maker, and those that filled when it did not know them.
    pub orphans: u64,
    /// Violated invariants of the engine's world; none for a maker without the engine.
    pub violations: u64,
}

impl Played {
    /// What the maker's actions earned: its equity at the end less that of the unchanged opening balances, quote units.
    pub fn profit(&self) -> i128 {
        signed(self.equity_last) - signed(self.unchanged_last)
    }

    /// The same in ten-thousandths of the equity at the beginning.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for statistics")]
    pub fn profit_bps(&self) -> f64 {
        self.profit() as f64 * 10_000.0 / self.equity_first.max(1) as f64
    }

    /// Share of the time with own orders on both sides, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for statistics")]
    pub fn uptime(&self) -> f64 {
        self.samples_both as f64 / self.samples.max(1) as f64
    }

    /// Seconds with own orders on both sides for each request.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for statistics")]
    pub fn seconds_per_request(&self) -> f64 {
        (self.samples_both * SAMPLE_MS) as f64 / 1_000.0 / self.requests.max(1) as f64
    }
}

/// What own orders have traded: the other way to the balances at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Base bought less its fees, less base sold, base units.
    pub base: i128,
    /// Quote received less its fees, less quote paid, quote units.
    pub quote: i128,
    /// Quote units of all trades.
    pub volume: Amount,
}

impl Flows {
    /// Adds base, quote and fee of an order; the fee is taken in what is bought.
    pub(crate) fn add(&mut self, side: Side, (base, quote, fee): (Amount, Amount, Amount)) {
        self.volume += quote;
        let (base, quote, fee) = (signed(base), signed(quote), signed(fee));
        match side {
            Side::Buy => {
                self.base += base - fee;
                self.quote -= quote;
            }
            Side::Sell => {
                self.base -= base;
                self.quote += quote - fee;
            }
        }
    }

    /// Whether these flows lead from the first balances to the last.
    pub(super) fn lead(&self, spec: &MarketSpec, first: &Amounts, last: &Amounts) -> bool {
        let of = |held: &Amounts, token| signed(held.get(token).copied().unwrap_or(0));
        let change = |token| of(last, token) - of(first, token);
        change(&spec.base.id) == self.base && change(&spec.quote.id) == self.quote
    }
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

/// The value of balances at a price, pool shares at what they are due, rounded down; `None` if it exceeds the venue's
/// range.
pub(super) fn equity(
    exchange: &Exchange,
    spec: &MarketSpec,
    held: &Amounts,
    price: Price,
) -> Option<Amount> {
    let venue = exchange.venue();
    let scale = venue.scale(venue.market_id(&spec.name)?)?;
    let of = |token| held.get(&token).copied().unwrap_or(0);
    let (mut base, mut quote) = (of(spec.base.id), of(spec.quote.id));
    for pool in &venue.config().pools {
        let shares = of(pool.lp);
        if shares == 0 || pool.pooled != [spec.base.id, spec.quote.id] {
            continue;
        }
        let ([pooled_base, pooled_quote], supply) = venue.pool_reserves(&pool.address)?;
        base = base.checked_add(mul_div_floor(pooled_base, shares, supply)?)?;
        quote = quote.checked_add(mul_div_floor(pooled_quote, shares, supply)?)?;
    }
    scale.quote_floor(base, price)?.checked_add(quote)
}
