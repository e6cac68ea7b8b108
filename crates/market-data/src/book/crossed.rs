//! Which levels of a crossed book are right: of two that meet or overlap, the one that a message set later.

use cambist_core::{Price, Qty, Side};

use super::Book;

/// Rows of one message that are kept to resolve a crossing.
const ROWS_MAX: usize = 1 << 16;

/// The rows of the present message, from the one that crossed the book. Within a message the sides change one after the
/// other; a book that is still crossed at its end has levels that a feed did not withdraw.
#[derive(Clone, Debug, Default)]
pub struct CrossedRows(Vec<(Side, Price)>);

impl CrossedRows {
    /// A row has set a level of the book.
    #[inline]
    pub fn level_set(&mut self, book: &mut Book, side: Side, price: Price, qty: Qty) {
        if !self.0.is_empty() || book.crossing().is_some() {
            self.keep(book, side, price, qty);
        }
    }

    #[cold]
    fn keep(&mut self, book: &mut Book, side: Side, price: Price, qty: Qty) {
        if qty.0 == 0 {
            return;
        }
        self.0.push((side, price));
        if self.0.len() == ROWS_MAX {
            self.settle(book);
        }
    }

    /// The message has ended. Returns best bid and best ask if they meet or overlap, and removes the older of all such
    /// levels.
    #[inline]
    pub fn settle(&mut self, book: &mut Book) -> Option<(Price, Price)> {
        if self.0.is_empty() {
            return None;
        }
        self.resolve(book)
    }

    #[cold]
    fn resolve(&mut self, book: &mut Book) -> Option<(Price, Price)> {
        let crossing = book.crossing();
        if crossing.is_some() {
            // From the newest: what is still there at its turn is newer than all that it crosses.
            for (side, price) in self.0.iter().rev() {
                if book.quantity(*side, *price).0 > 0 {
                    book.clear(Some(side.opposite()), Some(*price));
                }
            }
            debug_assert!(book.crossing().is_none(), "a row crossed the book");
        }
        self.0.clear();
        crossing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message on a book of 99 and 98 against 101 and 102, and the best prices after it.
    fn after(rows: &[(Side, u64, u64)]) -> (bool, [Option<u64>; 2]) {
        let (mut book, mut crossed) = (Book::new(), CrossedRows::default());
        let first = [
            (Side::Buy, 99, 1),
            (Side::Buy, 98, 1),
            (Side::Sell, 101, 1),
            (Side::Sell, 102, 1),
        ];
        let mut was_crossed = false;
        for message in [&first[..], rows] {
            for (side, price, qty) in message {
                book.set(*side, Price(*price), Qty(*qty));
                crossed.level_set(&mut book, *side, Price(*price), Qty(*qty));
            }
            was_crossed = crossed.settle(&mut book).is_some();
        }
        assert_eq!(book.crossing(), None);
        let best = [book.best_bid(), book.best_ask()];
        (was_crossed, best.map(|price| price.map(|price| price.0)))
    }

    #[test]
    fn the_newer_of_two_crossed_levels_stays() {
        use Side::{Buy, Sell};
        // A whole new book, whatever its side that comes first.
        let up = [(Buy, 120, 1), (Buy, 119, 1), (Sell, 121, 1), (Sell, 122, 1)];
        assert_eq!(after(&up), (true, [Some(120), Some(121)]));
        let up = [(Sell, 121, 1), (Sell, 122, 1), (Buy, 120, 1), (Buy, 119, 1)];
        assert_eq!(after(&up), (true, [Some(120), Some(121)]));
        let down = [(Sell, 81, 1), (Buy, 80, 1), (Sell, 82, 1), (Buy, 79, 1)];
        assert_eq!(after(&down), (true, [Some(80), Some(81)]));
        // Within a message both sides may move past each other.
        let moved = [(Buy, 101, 1), (Sell, 101, 0)];
        assert_eq!(after(&moved), (false, [Some(101), Some(102)]));
        // A level that is set and withdrawn leaves the rest as it is.
        let gone = [(Buy, 150, 1), (Buy, 150, 0)];
        assert_eq!(after(&gone), (false, [Some(99), Some(101)]));
        // Two rows of one message that meet: what the older of them had crossed stays.
        let met = [(Buy, 110, 1), (Sell, 110, 1)];
        assert_eq!(after(&met), (true, [Some(99), Some(101)]));
    }

    #[test]
    fn a_message_of_any_length_is_resolved_in_bounded_memory() {
        let (mut book, mut crossed) = (Book::new(), CrossedRows::default());
        for row in 0..300_000_u64 {
            for (side, price) in [
                (Side::Buy, 2_000 + row % 1_000),
                (Side::Sell, 1_000 + row % 1_000),
            ] {
                book.set(side, Price(price), Qty(1));
                crossed.level_set(&mut book, side, Price(price), Qty(1));
            }
        }
        assert!(crossed.0.len() < ROWS_MAX);
        assert!(crossed.settle(&mut book).is_some());
        assert_eq!(book.crossing(), None);
    }
}
