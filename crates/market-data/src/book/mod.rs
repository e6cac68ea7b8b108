//! An order book by price level, built from recorded changes or snapshots.

mod crossed;
mod ladder;

use cambist_core::{Price, Qty, Side};

use crate::event::Update;
use crate::snapshot::{Level, Snapshot};
pub use crossed::CrossedRows;
use ladder::{Ladder, NONE};

/// Both sides of a market by price level. Memory is bounded: 130 KiB, and 65,536 levels per side outside the ring
/// around the best price; further ones are dropped, furthest first, and counted.
#[derive(Clone, Debug)]
pub struct Book {
    /// Bids, then asks.
    sides: [Ladder; 2],
}

/// The index of a side.
const fn index(side: Side) -> usize {
    side as usize
}

const _: () = assert!(index(Side::Buy) == 0 && index(Side::Sell) == 1);

/// Converts between a price and its key, which is higher for better prices: the price for bids, its complement for
/// asks. The function is its own inverse.
#[inline]
pub const fn priority(side: Side, price: u64) -> u64 {
    price ^ (side as u64).wrapping_neg()
}

impl Default for Book {
    fn default() -> Self {
        Self::new()
    }
}

impl Book {
    /// An empty book.
    pub fn new() -> Self {
        Self {
            sides: [Ladder::new(), Ladder::new()],
        }
    }

    /// The highest bid.
    #[inline]
    pub const fn best_bid(&self) -> Option<Price> {
        self.best(Side::Buy)
    }

    /// The lowest ask.
    #[inline]
    pub const fn best_ask(&self) -> Option<Price> {
        self.best(Side::Sell)
    }

    /// The best price of a side.
    #[inline]
    pub const fn best(&self, side: Side) -> Option<Price> {
        match self.sides[index(side)].best() {
            NONE => None,
            best => Some(Price(priority(side, best))),
        }
    }

    /// The quantity at a price.
    #[inline]
    pub fn quantity(&self, side: Side, price: Price) -> Qty {
        Qty(self.sides[index(side)].get(priority(side, price.0)))
    }

    /// Sets the quantity at a price (from 1; a quantity of 0 removes the level) and returns the previous one.
    #[inline]
    pub fn set(&mut self, side: Side, price: Price, qty: Qty) -> Qty {
        debug_assert!(
            price.0 > 0 && price.0 < u64::MAX,
            "not a valid price of a level"
        );
        Qty(self.sides[index(side)].set(priority(side, price.0), qty.0))
    }

    /// Removes levels, as in [`Update::Clear`].
    pub fn clear(&mut self, side: Option<Side>, to: Option<Price>) {
        for cleared in Side::BOTH {
            if side.is_none_or(|side| side == cleared) {
                let ladder = &mut self.sides[index(cleared)];
                match to {
                    Some(price) => ladder.clear_to(priority(cleared, price.0)),
                    None => ladder.clear(),
                }
            }
        }
    }

    /// Applies an update. Trades and updates of single orders have no effect: a trade is followed by the change of its
    /// level, and order-by-order feeds need the orders.
    #[inline]
    pub fn apply(&mut self, update: &Update) {
        match *update {
            Update::Level { side, price, qty } | Update::SnapshotLevel { side, price, qty } => {
                self.set(side, price, qty);
            }
            Update::Clear { side, to } => self.clear(side, to),
            Update::Trade { .. }
            | Update::Add { .. }
            | Update::Cancel { .. }
            | Update::Modify { .. }
            | Update::Fill { .. } => {}
        }
    }

    /// Replaces the book by a snapshot.
    pub fn apply_snapshot(&mut self, snapshot: &Snapshot) {
        self.clear(None, None);
        for side in Side::BOTH {
            for level in snapshot.side(side) {
                self.set(side, level.price, level.qty);
            }
        }
    }

    /// Best bid and best ask if they meet or overlap.
    #[inline]
    pub const fn crossing(&self) -> Option<(Price, Price)> {
        let bid = self.sides[0].best();
        // For an empty side this is the worst possible price.
        let ask = priority(Side::Sell, self.sides[1].best());
        if bid >= ask {
            Some((Price(bid), Price(ask)))
        } else {
            None
        }
    }

    /// Levels of a side, best first.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = Level> + '_ {
        let levels = self.sides[index(side)].levels();
        levels.map(move |(best, qty)| Level {
            price: Price(priority(side, best)),
            qty: Qty(qty),
        })
    }

    /// Writes the best `depth` levels of both sides into a snapshot; its times and version stay.
    pub fn write_levels(&self, depth: usize, snapshot: &mut Snapshot) {
        snapshot.bids.clear();
        snapshot.bids.extend(self.levels(Side::Buy).take(depth));
        snapshot.asks.clear();
        snapshot.asks.extend(self.levels(Side::Sell).take(depth));
    }

    /// Number of levels that were dropped.
    pub const fn dropped_levels(&self) -> u64 {
        self.sides[0].dropped() + self.sides[1].dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(bids: &[(u64, u64)], asks: &[(u64, u64)]) -> Book {
        let mut book = Book::new();
        for (side, levels) in [(Side::Buy, bids), (Side::Sell, asks)] {
            for (price, qty) in levels {
                book.set(side, Price(*price), Qty(*qty));
            }
        }
        book
    }

    #[test]
    fn updates_change_the_book_and_trades_do_not() {
        let mut book = book(&[(99, 5), (98, 6)], &[(101, 7)]);
        assert_eq!(book.best_bid(), Some(Price(99)));
        assert_eq!(book.best(Side::Sell), Some(Price(101)));
        book.apply(&Update::Level {
            side: Side::Buy,
            price: Price(99),
            qty: Qty(0),
        });
        book.apply(&Update::Trade {
            aggressor: Side::Buy,
            price: Price(101),
            qty: Qty(7),
        });
        assert_eq!(book.best_bid(), Some(Price(98)));
        assert_eq!(book.quantity(Side::Sell, Price(101)), Qty(7));
        book.apply(&Update::Clear {
            side: Some(Side::Sell),
            to: None,
        });
        assert_eq!((book.best_bid(), book.best_ask()), (Some(Price(98)), None));
        assert_eq!(book.crossing(), None);
    }

    #[test]
    fn a_clear_reaches_from_the_best_to_its_price() {
        let mut book = book(&[(99, 5), (98, 6), (97, 1)], &[(101, 7), (102, 8)]);
        book.clear(Some(Side::Buy), Some(Price(98)));
        assert_eq!(book.best_bid(), Some(Price(97)));
        book.clear(None, Some(Price(101)));
        assert_eq!(book.best_bid(), Some(Price(97)));
        assert_eq!(book.best_ask(), Some(Price(102)));
    }

    #[test]
    fn a_snapshot_of_the_book_makes_the_same_book() {
        let mut snapshot = Snapshot::default();
        let first = book(&[(99, 5), (98, 6), (1, 1)], &[(101, 7), (50_000, 8)]);
        first.write_levels(10, &mut snapshot);
        assert_eq!((snapshot.bids.len(), snapshot.asks.len()), (3, 2));
        assert_eq!(snapshot.disorder(), None);
        let mut second = book(&[(100, 1)], &[]);
        second.apply_snapshot(&snapshot);
        let levels = |book: &Book| Side::BOTH.map(|side| book.levels(side).collect::<Vec<_>>());
        assert_eq!(levels(&first), levels(&second));
        first.write_levels(1, &mut snapshot);
        assert_eq!(
            (snapshot.bids.len(), snapshot.asks[0].price),
            (1, Price(101))
        );
    }
}
