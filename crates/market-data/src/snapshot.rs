//! A depth snapshot: the best price levels of both sides at one time.

use cambist_core::{Price, Qty, Side};

use crate::time::Timestamp;

/// A price level: price in ticks, resting quantity in lots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Its price.
    pub price: Price,
    /// The total resting quantity; never 0 in a snapshot.
    pub qty: Qty,
}

/// The best levels of both sides, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Its time at the exchange.
    pub exchange_time: Timestamp,
    /// When it was received.
    pub local_time: Timestamp,
    /// The exchange's version of the book, 0 if it has none.
    pub sequence: u64,
    /// Bids, highest first.
    pub bids: Vec<Level>,
    /// Asks, lowest first.
    pub asks: Vec<Level>,
}

impl Snapshot {
    /// The levels of a side, best first.
    #[inline]
    pub fn side(&self, side: Side) -> &[Level] {
        match side {
            Side::Buy => &self.bids,
            Side::Sell => &self.asks,
        }
    }

    /// The quantity at a price; `None` beyond the last listed level, where it is not known: however few levels a
    /// snapshot lists, the market may have more.
    pub fn quantity(&self, side: Side, price: Price) -> Option<Qty> {
        let levels = self.side(side);
        let found = levels.binary_search_by(|level| match side {
            Side::Buy => price.cmp(&level.price),
            Side::Sell => level.price.cmp(&price),
        });
        match found {
            Ok(at) => Some(levels[at].qty),
            Err(at) if at == levels.len() => None,
            Err(_) => Some(Qty(0)),
        }
    }

    /// Best bid and best ask if they meet or overlap.
    pub fn crossing(&self) -> Option<(Price, Price)> {
        let (bid, ask) = (self.bids.first()?.price, self.asks.first()?.price);
        (bid >= ask).then_some((bid, ask))
    }

    /// Copies another snapshot without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.exchange_time = other.exchange_time;
        self.local_time = other.local_time;
        self.sequence = other.sequence;
        self.bids.clone_from(&other.bids);
        self.asks.clone_from(&other.asks);
    }

    /// Index of the first level that is empty or not strictly worse than the one before it.
    pub fn disorder(&self) -> Option<(Side, usize)> {
        Side::BOTH.into_iter().find_map(|side| {
            let levels = self.side(side);
            let sound = |at: usize| {
                let level = levels[at];
                let worse = at == 0
                    || match side {
                        Side::Buy => level.price < levels[at - 1].price,
                        Side::Sell => level.price > levels[at - 1].price,
                    };
                worse && level.qty.0 > 0 && level.price.0 > 0
            };
            (0..levels.len())
                .find(|at| !sound(*at))
                .map(|at| (side, at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(levels: &[(u64, u64)]) -> Vec<Level> {
        let level = |(price, qty): &(u64, u64)| Level {
            price: Price(*price),
            qty: Qty(*qty),
        };
        levels.iter().map(level).collect()
    }

    #[test]
    fn absent_prices_are_empty_only_within_what_is_listed() {
        let snapshot = Snapshot {
            bids: levels(&[(100, 5), (98, 7)]),
            asks: levels(&[(101, 1), (103, 2)]),
            ..Snapshot::default()
        };
        let at = |side, price| snapshot.quantity(side, Price(price));
        assert_eq!(at(Side::Buy, 98), Some(Qty(7)));
        assert_eq!(at(Side::Buy, 99), Some(Qty(0)));
        assert_eq!(at(Side::Buy, 102), Some(Qty(0)));
        assert_eq!(at(Side::Buy, 97), None);
        assert_eq!(at(Side::Sell, 102), Some(Qty(0)));
        assert_eq!(at(Side::Sell, 104), None);
        let empty = Snapshot::default();
        assert_eq!(empty.quantity(Side::Buy, Price(97)), None);
    }

    #[test]
    fn disorder_and_crossing_are_detected() {
        let mut snapshot = Snapshot {
            bids: levels(&[(100, 5), (98, 7)]),
            asks: levels(&[(101, 1), (103, 2)]),
            ..Snapshot::default()
        };
        assert_eq!((snapshot.disorder(), snapshot.crossing()), (None, None));
        snapshot.asks[1].price = Price(101);
        assert_eq!(snapshot.disorder(), Some((Side::Sell, 1)));
        snapshot.asks[1].price = Price(103);
        snapshot.bids[0].qty = Qty(0);
        assert_eq!(snapshot.disorder(), Some((Side::Buy, 0)));
        snapshot.bids[0] = levels(&[(101, 1)])[0];
        assert_eq!(snapshot.crossing(), Some((Price(101), Price(101))));
    }
}
