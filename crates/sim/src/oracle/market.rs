//! A market by the rules: prices in units, and the order of matching.

use std::collections::BTreeMap;

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Side, TokenId};
use cambist_venue::MarketConfig;

use crate::oracle::wide_integer::{down, up};

/// Position in the book: better prices first, then earlier orders.
pub(super) type Place = (u64, u64);

/// One market.
#[derive(Debug)]
pub(super) struct Market {
    pub(super) name: String,
    pub(super) base: TokenId,
    pub(super) quote: TokenId,
    pub(super) listed: bool,
    pub(super) open: bool,
    pub(super) maker_bips: u8,
    pub(super) taker_bips: u8,
    pub(super) fee_in: FeeToken,
    /// A tick is `times / per` quote units per base unit.
    times: u128,
    per: u128,
    /// Numbers of the resting orders, bids and asks.
    lines: [BTreeMap<Place, u64>; 2],
}

impl Market {
    /// `None` if the decimals overflow.
    pub(super) fn new(
        config: &MarketConfig,
        base_decimals: u8,
        quote_decimals: u8,
    ) -> Option<Self> {
        let down = u32::from(base_decimals) + u32::from(config.price_decimals);
        let up = u32::from(quote_decimals);
        Some(Self {
            name: config.name.clone(),
            base: config.base,
            quote: config.quote,
            listed: true,
            open: config.enabled,
            maker_bips: config.maker_fee_bips,
            taker_bips: config.taker_fee_bips,
            fee_in: config.fee_in,
            times: 10_u128.checked_pow(up.saturating_sub(down))?,
            per: 10_u128.checked_pow(down.saturating_sub(up))?,
            lines: [BTreeMap::new(), BTreeMap::new()],
        })
    }

    /// The tick of an order's ratio, rounded to the passive side (R-PRC-01, R-PRC-02).
    pub(super) fn level(&self, side: Side, base: Amount, quote: Amount) -> Option<u64> {
        let ticks = match side {
            Side::Buy => down(quote, self.per, base.checked_mul(self.times)?)?,
            Side::Sell => up(quote, self.per, base.checked_mul(self.times)?)?,
        };
        u64::try_from(ticks).ok().filter(|ticks| *ticks > 0)
    }

    /// Value of base units at a tick in quote units, rounded down.
    pub(super) fn value_down(&self, base: Amount, price: u64) -> Option<Amount> {
        down(base, self.times.checked_mul(price.into())?, self.per)
    }

    /// Value of base units at a tick in quote units, rounded up.
    pub(super) fn value_up(&self, base: Amount, price: u64) -> Option<Amount> {
        up(base, self.times.checked_mul(price.into())?, self.per)
    }

    /// Base and quote units in the ratio of a tick.
    pub(super) fn ratio(&self, price: u64) -> (Amount, Amount) {
        (self.per, self.times.saturating_mul(price.into()))
    }

    /// Most base units with at most this value at a tick.
    pub(super) fn worth(&self, quote: Amount, price: u64) -> Amount {
        let unit = self.times.checked_mul(price.into());
        let Some(unit) = unit.filter(|unit| *unit > 0) else {
            return 0;
        };
        down(quote, self.per, unit).unwrap_or(Amount::MAX)
    }

    /// The smallest number of base units with an integer value at a tick (R-FIL-02).
    pub(super) fn lot(&self, price: u64) -> Amount {
        let (mut a, mut b) = (self.per, u128::from(price));
        while b > 0 {
            (a, b) = (b, a % b);
        }
        self.per / a.max(1)
    }

    pub(super) fn line(&self, side: Side) -> &BTreeMap<Place, u64> {
        &self.lines[index(side)]
    }

    pub(super) fn line_mut(&mut self, side: Side) -> &mut BTreeMap<Place, u64> {
        &mut self.lines[index(side)]
    }
}

/// Position of the `rank`-th order of a side.
pub(super) const fn place(side: Side, price: u64, rank: u64) -> Place {
    match side {
        Side::Buy => (u64::MAX - price, rank),
        Side::Sell => (price, rank),
    }
}

/// Price of a position.
pub(super) const fn price(side: Side, place: Place) -> u64 {
    match side {
        Side::Buy => u64::MAX - place.0,
        Side::Sell => place.0,
    }
}

const fn index(side: Side) -> usize {
    match side {
        Side::Buy => 0,
        Side::Sell => 1,
    }
}
