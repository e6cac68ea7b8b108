//! Candles of several intervals, from trades in order. Intervals without trades have no candle.

use std::collections::VecDeque;

use cambist_core::{Amount, Price, Reason, VenueTime};

use super::PublicTrade;
use crate::error_response::ErrorResponse;

/// Most candles kept for each interval: a day of minutes, and what has passed of the minute before it.
pub(super) const CANDLES_MAX: usize = 1_500;

/// Length of a candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval(usize);

/// Names and lengths in milliseconds.
const INTERVALS: [(&str, u64); 9] = [
    ("1m", 60_000),
    ("5m", 300_000),
    ("15m", 900_000),
    ("30m", 1_800_000),
    ("1h", 3_600_000),
    ("4h", 14_400_000),
    ("1d", 86_400_000),
    ("1w", 604_800_000),
    ("15d", 1_296_000_000),
];

impl Interval {
    pub fn parse(name: &str) -> Result<Self, ErrorResponse> {
        let found = INTERVALS.iter().position(|(known, _)| *known == name);
        found.map(Self).ok_or_else(|| {
            let known: Vec<_> = INTERVALS.iter().map(|(known, _)| *known).collect();
            let what = format!("interval: {name:?} is not one of {}", known.join(", "));
            ErrorResponse::new(Reason::InvalidArgument, what)
        })
    }

    pub fn of_minutes(minutes: u64) -> Option<Self> {
        let length_ms = minutes.checked_mul(60_000)?;
        let found = INTERVALS.iter().position(|(_, known)| *known == length_ms);
        found.map(Self)
    }

    pub const fn name(self) -> &'static str {
        INTERVALS[self.0].0
    }
}

/// The trades of one interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candle {
    /// Its beginning, milliseconds since the Unix epoch, a multiple of its length.
    pub start_ms: u64,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub close: Price,
    pub base: Amount,
    pub quote: Amount,
    pub trades: u64,
}

impl Candle {
    fn of(start_ms: u64, trade: &PublicTrade) -> Self {
        Self {
            start_ms,
            open: trade.price,
            high: trade.price,
            low: trade.price,
            close: trade.price,
            base: trade.base,
            quote: trade.quote,
            trades: 1,
        }
    }

    /// An interval in which nothing was traded yet, at the price of the last trade before it.
    pub const fn without_trades(start_ms: u64, price: Price) -> Self {
        Self {
            start_ms,
            open: price,
            high: price,
            low: price,
            close: price,
            base: 0,
            quote: 0,
            trades: 0,
        }
    }

    /// Extends it by a later candle.
    fn join(&mut self, later: &Self) {
        self.high = self.high.max(later.high);
        self.low = self.low.min(later.low);
        self.close = later.close;
        self.base = self.base.saturating_add(later.base);
        self.quote = self.quote.saturating_add(later.quote);
        self.trades += later.trades;
    }
}

/// Candles of one market, oldest first.
#[derive(Debug, Default)]
pub(super) struct Candles([VecDeque<Candle>; INTERVALS.len()]);

impl Candles {
    pub fn add(&mut self, trade: &PublicTrade) {
        for (candles, (_, length_ms)) in self.0.iter_mut().zip(INTERVALS) {
            let start_ms = trade.at.0 - trade.at.0 % length_ms;
            let new = Candle::of(start_ms, trade);
            let last = candles.back_mut();
            if let Some(last) = last.filter(|last| last.start_ms == start_ms) {
                last.join(&new);
                continue;
            }
            if candles.len() == CANDLES_MAX {
                candles.pop_front();
            }
            candles.push_back(new);
        }
    }

    pub fn of(&self, interval: Interval) -> impl DoubleEndedIterator<Item = &Candle> {
        self.0[interval.0].iter()
    }

    /// All trades of the last `period_ms`, to the minute; `None` if there were none.
    pub fn day(&self, now: VenueTime, period_ms: u64) -> Option<Candle> {
        let from = now.0.saturating_sub(period_ms);
        let mut minutes = self.0[0].iter().filter(|candle| candle.start_ms > from);
        let mut whole = minutes.next()?.clone();
        minutes.for_each(|candle| whole.join(candle));
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::Side;

    use super::*;

    fn trade(at_ms: u64, price: u64) -> PublicTrade {
        PublicTrade {
            id: 0,
            at: VenueTime(at_ms),
            taker_side: Side::Sell,
            price: Price(price),
            base: 2,
            quote: 3,
            is_market_order: false,
        }
    }

    fn prices(candle: &Candle) -> [u64; 4] {
        [candle.open, candle.high, candle.low, candle.close].map(|price| price.0)
    }

    #[test]
    fn candles_have_the_trades_of_their_interval() {
        let mut candles = Candles::default();
        for (at_ms, price) in [
            (60_000, 5),
            (60_001, 9),
            (119_999, 4),
            (120_000, 6),
            (600_000, 7),
        ] {
            candles.add(&trade(at_ms, price));
        }
        let of = |name: &str| {
            let interval = Interval::parse(name).ok();
            let found = interval.map(|interval| candles.of(interval).cloned().collect::<Vec<_>>());
            found.unwrap_or_default()
        };
        let minutes = of("1m");
        let starts: Vec<_> = minutes.iter().map(|candle| candle.start_ms).collect();
        assert_eq!(starts, [60_000, 120_000, 600_000]);
        assert_eq!(prices(&minutes[0]), [5, 9, 4, 4]);
        assert_eq!(
            (minutes[0].base, minutes[0].quote, minutes[0].trades),
            (6, 9, 3)
        );
        let longer = of("5m");
        assert_eq!(longer.len(), 2);
        assert_eq!(prices(&longer[0]), [5, 9, 4, 6]);
        assert_eq!(of("1d").len(), 1);
        assert!(Interval::parse("2m").is_err());
        // A period, to the minute on both sides.
        let period = |now_ms| candles.day(VenueTime(now_ms), 480_000);
        assert_eq!(period(600_000).map(|all| all.trades), Some(1));
        assert_eq!(
            period(599_999).map(|all| (all.trades, prices(&all))),
            Some((2, [6, 7, 6, 7]))
        );
        assert_eq!(period(2_000_000), None);
    }

    #[test]
    fn the_number_of_candles_is_bounded() {
        let mut candles = Candles::default();
        for minute in 0..2_000 {
            candles.add(&trade(minute * 60_000, 1));
        }
        let minutes: Vec<_> = Interval::parse("1m")
            .map(|one| candles.of(one).collect())
            .unwrap_or_default();
        assert_eq!(
            (minutes.len(), minutes[0].start_ms),
            (CANDLES_MAX, 500 * 60_000)
        );
    }
}
