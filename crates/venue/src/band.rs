//! A market's price band: the distance from a reference price within which orders may trade.
//!
//! A thief of a signing key could sell to an accomplice for almost nothing. The band bounds that loss: a bid may not be
//! above the band and an ask not below it, so that no incoming order trades outside. Orders on the other side of the
//! reference are harmless and not restricted.
//!
//! The reference follows the mid of the book, at most once per window and at most to the edge of the band, which bounds
//! how fast the reference can be moved. A one-sided book does not change it.

use cambist_core::{Amount, MarketId, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

use crate::math::{mul_div_ceil, mul_div_floor};
use crate::scale::Scale;
use crate::venue::{Market, Venue};

/// Ten-thousandths of the whole.
const WHOLE: u128 = 10_000;

/// Configuration of a market's band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceBand {
    /// Half its width in ten-thousandths of the reference, 1 to 9999.
    pub bips: u16,
    /// Shortest time between two updates of the reference in seconds, at least 1.
    pub window_s: u32,
    /// The first reference in ticks.
    pub reference: Price,
}

impl PriceBand {
    /// Why the configuration is invalid, if it is.
    pub(crate) const fn problem(&self) -> Option<&'static str> {
        if self.bips == 0 || self.bips >= 10_000 {
            Some("a price band is 1 to 9999 ten-thousandths wide on either side")
        } else if self.window_s == 0 {
            Some("a price band's window is 1 second at least")
        } else if self.reference.0 == 0 {
            Some("a price band needs a reference above 0")
        } else {
            None
        }
    }

    /// Lowest ask and highest bid around a reference in ticks; both are accepted.
    fn edges(&self, reference: Price) -> [Price; 2] {
        let (ticks, bips) = (u128::from(reference.0), u128::from(self.bips));
        let lowest = mul_div_ceil(ticks, WHOLE - bips, WHOLE);
        let highest = mul_div_floor(ticks, WHOLE + bips, WHOLE);
        let tick = |ticks: Option<u128>, beyond| {
            ticks
                .and_then(|ticks| u64::try_from(ticks).ok())
                .map_or(beyond, Price)
        };
        [tick(lowest, Price(0)), tick(highest, Price(u64::MAX))]
    }
}

/// The current reference price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reference {
    pub price: Price,
    /// Time of the last update.
    pub since: VenueTime,
}

impl Market {
    /// The reference that applies to an order at `now`: the stored one, or, after a window, the mid of the book as far
    /// as the band allows. `None` without a band.
    fn reference_at(&self, now: VenueTime) -> Option<Reference> {
        let band = self.config.price_band?;
        let window_ms = u64::from(band.window_s) * 1_000;
        let kept = self.reference.unwrap_or(Reference {
            price: band.reference,
            since: VenueTime(0),
        });
        if now.ms_since(kept.since) < window_ms {
            return Some(kept);
        }
        let [Some(bid), Some(ask)] = [Side::Buy, Side::Sell].map(|side| self.book.best(side))
        else {
            return Some(kept);
        };
        let [lowest, highest] = band.edges(kept.price);
        let middle = Price(u64::midpoint(bid.0, ask.0));
        Some(Reference {
            price: middle.clamp(lowest, highest).max(Price(1)),
            since: now,
        })
    }

    /// Lowest ask and highest bid that are accepted at `now`; `None` without a band.
    pub(crate) fn band_edges(&self, now: VenueTime) -> Option<[Price; 2]> {
        let reference = self.reference_at(now)?;
        Some(self.config.price_band?.edges(reference.price))
    }

    /// Whether an order's limit is within the band or on its harmless side.
    pub(crate) fn is_within_band(
        &self,
        now: VenueTime,
        side: Side,
        level: Price,
        [base, quote]: [Amount; 2],
    ) -> bool {
        let Some([lowest_ask, highest_bid]) = self.band_edges(now) else {
            return true;
        };
        match (side, level) {
            // A swap whose ratio has no level: below a tick, or above 64 bits.
            (Side::Buy, Price(0)) => is_below_a_tick(&self.scale, base, quote),
            (Side::Sell, Price(0)) => true,
            (Side::Buy, level) => level <= highest_bid,
            (Side::Sell, level) => level >= lowest_ask,
        }
    }
}

/// Whether a ratio without a level is too small for one; otherwise it is too large.
fn is_below_a_tick(scale: &Scale, base: Amount, quote: Amount) -> bool {
    scale.level(Side::Sell, base, quote).is_some()
}

impl Venue {
    /// Stores the reference that applied to an order.
    pub(crate) fn renew_reference(&mut self, market: MarketId) {
        let now = self.now;
        let market = &mut self.markets[usize::from(market.0)];
        market.reference = market.reference_at(now);
    }
}
