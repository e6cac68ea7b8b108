//! The recorded market in a simulation: a book built from incremental changes, or the last snapshot.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::{Book, Level, Snapshot};

/// The source of levels.
#[derive(Clone, Debug)]
pub enum Depth {
    /// Incremental changes.
    Book(Box<Book>),
    /// Snapshots.
    Snapshot(Box<Snapshot>),
}

impl Depth {
    /// The best price of a side.
    #[inline]
    pub fn best(&self, side: Side) -> Option<Price> {
        match self {
            Self::Book(book) => book.best(side),
            Self::Snapshot(snapshot) => snapshot.side(side).first().map(|level| level.price),
        }
    }

    /// The quantity at a price; `None` beyond the last level of a snapshot.
    pub fn quantity(&self, side: Side, price: Price) -> Option<Qty> {
        match self {
            Self::Book(book) => Some(book.quantity(side, price)),
            Self::Snapshot(snapshot) => snapshot.quantity(side, price),
        }
    }

    /// The levels of a side that an order with this limit price reaches, best first.
    pub fn reached(&self, side: Side, limit: Price) -> impl Iterator<Item = Level> + '_ {
        let (book, snapshot) = match self {
            Self::Book(book) => (Some(book.levels(side)), None),
            Self::Snapshot(snapshot) => (None, Some(snapshot.side(side).iter().copied())),
        };
        let levels = book.into_iter().flatten();
        let levels = levels.chain(snapshot.into_iter().flatten());
        levels.take_while(move |level| side.opposite().reaches(limit, level.price))
    }
}

/// Liquidity that our orders have taken from levels that the recording still contains.
#[derive(Clone, Debug, Default)]
pub struct Taken(Vec<(Side, Price, Qty)>);

impl Taken {
    /// Whether nothing taken is still in the recording.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The remaining quantity of a level.
    pub fn left(&self, side: Side, level: Level) -> u64 {
        let taken = self.0.iter().find(|t| t.0 == side && t.1 == level.price);
        level.qty.0 - taken.map_or(0, |taken| taken.2.0.min(level.qty.0))
    }

    /// Takes quantity from a level.
    pub fn take(&mut self, side: Side, price: Price, qty: u64) {
        match self.0.iter_mut().find(|t| t.0 == side && t.1 == price) {
            Some(taken) => taken.2.0 += qty,
            None => self.0.push((side, price, Qty(qty))),
        }
    }

    /// The recording has a new quantity for a level. Only what is added to it is available again: of a decrease it is not
    /// known whose quantity went, and what we took is never more than what is listed.
    #[inline]
    pub fn limit(&mut self, side: Side, price: Price, listed: Qty) {
        if !self.0.is_empty() {
            self.limit_all(|of, at| {
                if (of, at) == (side, price) {
                    listed
                } else {
                    Qty(u64::MAX)
                }
            });
        }
    }

    /// The same for every level that something was taken from.
    pub fn limit_all(&mut self, listed: impl Fn(Side, Price) -> Qty) {
        self.0.retain_mut(|(side, price, taken)| {
            *taken = (*taken).min(listed(*side, *price));
            taken.0 > 0
        });
    }
}
