//! Whether the prices of a book are in the unit of the books before it.
//!
//! A backtest refuses such a book as `mixed-units`; a run on live data leaves it out, and goes on.

use cambist_core::{Price, Side};
use cambist_market_data::{Level, power_of_ten};

use super::decode::Book;
use super::error::{FeedError, FeedErrorKind};

/// A book whose best prices all moved by more than this factor since the one before has another unit, or is that of
/// another market.
const FACTOR_MAX: u64 = 2;
/// So many books in a row at a new level mean that the price has moved.
const MOVED_AFTER: u32 = 10;

/// Best bid and best ask, as far as they are known.
type Best = [Option<Price>; 2];

/// Follows the best prices of one feed.
#[derive(Debug, Default)]
pub struct PriceLevel {
    /// Of the last book that counts, each side as it was last seen.
    accepted: Best,
    /// Of the last book that was left out.
    other: Best,
    /// Books in a row at the level of `other`.
    in_a_row: u32,
}

impl PriceLevel {
    /// Takes in the prices of a book. A book at another level is refused until there are so many in a row, all at that
    /// level, that the price must have moved. `feed` is what the log calls it; the first of several is logged, and so is
    /// the acceptance of a new level.
    pub fn judge(&mut self, feed: &str, book: &Book) -> Result<(), FeedError> {
        let best = |levels: &[Level]| levels.first().map(|level| level.price);
        let best = [best(&book.bids), best(&book.asks)];
        let Some((side, price, before)) = apart(best, self.accepted) else {
            self.in_a_row = 0;
            for (known, price) in self.accepted.iter_mut().zip(best) {
                *known = price.or(*known);
            }
            return Ok(());
        };
        let goes_on = self.in_a_row > 0 && apart(best, self.other).is_none();
        self.in_a_row = if goes_on { self.in_a_row + 1 } else { 1 };
        self.other = best;
        let (side, price, before) = (side.name(), price.0, before.0);
        if self.in_a_row >= MOVED_AFTER {
            tracing::warn!(
                market = feed,
                side,
                price,
                before,
                books = MOVED_AFTER,
                "the books of the feed stay at another price level (in ticks), which is accepted now: the market moved, or the unit of the feed is another one"
            );
            self.in_a_row = 0;
            self.accepted = best;
            return Ok(());
        }
        if self.in_a_row == 1 {
            tracing::warn!(
                market = feed,
                side,
                price,
                before,
                "a book of the feed is at another price level (in ticks) than the one before it, as if its unit were another one, and is left out"
            );
        }
        let what =
            format!("the best {side} price is {price} ticks after {before}: units are mixed");
        Err(FeedError::new(FeedErrorKind::MixedUnits, what))
    }
}

/// The first side whose price is at another level than the one before: by a power of ten on either side, as in a
/// recording, or by more than [`FACTOR_MAX`] on every side that both have. A thin side that moves alone is no unit.
fn apart(best: Best, before: Best) -> Option<(Side, Price, Price)> {
    let sides = Side::BOTH.into_iter().zip(best).zip(before);
    let both = sides.filter_map(|((side, price), before)| Some((side, price?, before?)));
    let both: Vec<_> = both.collect();
    let mut each = both.iter().copied();
    let power = each.find(|(_, price, before)| power_of_ten(*price, *before).is_some());
    let is_above = |(_, price, before): &(Side, Price, Price)| is_beyond(*price, *before);
    let is_below = |(_, price, before): &(Side, Price, Price)| is_beyond(*before, *price);
    power.or_else(|| {
        let is_apart = both.iter().all(is_above) || both.iter().all(is_below);
        both.first().copied().filter(|_| is_apart)
    })
}

/// Whether a price is above the highest plausible one beside another.
fn is_beyond(price: Price, other: Price) -> bool {
    price.0 > other.0.saturating_mul(FACTOR_MAX)
}

#[cfg(test)]
mod tests {
    use cambist_core::Qty;

    use super::*;

    fn levels(price: u64) -> Vec<Level> {
        let level = Level {
            price: Price(price),
            qty: Qty(1),
        };
        if price == 0 { Vec::new() } else { vec![level] }
    }

    /// A book; a price of zero is an empty side.
    fn book(bid: u64, ask: u64) -> Book {
        Book {
            bids: levels(bid),
            asks: levels(ask),
            ..Book::default()
        }
    }

    /// Whether a book is accepted after one of 1,000 and 1,010.
    fn after(bid: u64, ask: u64) -> bool {
        let mut feed = PriceLevel::default();
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
        feed.judge("feed", &book(bid, ask)).is_ok()
    }

    #[test]
    fn twice_and_half_are_moves_and_more_is_another_unit() {
        assert!(after(2_000, 2_020));
        assert!(after(2_001, 2_020), "one side is within twice");
        assert!(!after(2_001, 2_021));
        assert!(after(500, 505));
        assert!(!after(499, 504));
        assert!(after(400, 1_010), "a side that became thin");
        assert!(after(1_000, 4_000), "a side that became thin");
        assert!(after(400, 4_000), "both sides became thin");
    }

    #[test]
    fn a_power_of_ten_of_one_side_is_another_unit() {
        assert!(!after(10_000, 10_100));
        assert!(!after(100, 101));
        assert!(!after(1_000, 10_100));
        assert!(!after(100, 1_010));
        // Within 5 % of it, and outside.
        assert!(!after(1_000, 10_600));
        assert!(after(1_000, 10_610));
    }

    #[test]
    fn an_empty_side_is_compared_once_it_is_back() {
        let mut feed = PriceLevel::default();
        assert!(feed.judge("feed", &book(0, 0)).is_ok(), "nothing is known");
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
        assert!(feed.judge("feed", &book(0, 1_010)).is_ok());
        assert!(feed.judge("feed", &book(10_000, 0)).is_err());
        assert!(
            feed.judge("feed", &book(0, 0)).is_ok(),
            "an empty book has no unit"
        );
        assert!(feed.judge("feed", &book(1_001, 1_012)).is_ok());
    }

    #[test]
    fn a_level_that_persists_for_ten_books_is_accepted() {
        let mut feed = PriceLevel::default();
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
        for number in 1..u64::from(MOVED_AFTER) {
            let judged = feed.judge("feed", &book(10_000 + number, 10_100));
            assert_eq!(
                judged.err().map(|error| error.kind),
                Some(FeedErrorKind::MixedUnits),
                "{number}"
            );
        }
        assert!(feed.judge("feed", &book(10_010, 10_100)).is_ok());
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_err());
    }

    #[test]
    fn only_books_in_a_row_at_one_level_count() {
        let mut feed = PriceLevel::default();
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
        // A good one in between.
        for _ in 0..3 {
            for _ in 1..MOVED_AFTER {
                assert!(feed.judge("feed", &book(10_000, 10_100)).is_err());
            }
            assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
        }
        // Different levels.
        for _ in 0..MOVED_AFTER {
            assert!(feed.judge("feed", &book(10_000, 10_100)).is_err());
            assert!(feed.judge("feed", &book(100_000, 101_000)).is_err());
        }
        assert!(feed.judge("feed", &book(1_000, 1_010)).is_ok());
    }

    #[test]
    fn the_largest_prices_are_compared_without_overflow() {
        let mut feed = PriceLevel::default();
        assert!(
            feed.judge("feed", &book(u64::MAX - 2, u64::MAX - 1))
                .is_ok()
        );
        assert!(feed.judge("feed", &book(1, 2)).is_err());
        let mut feed = PriceLevel::default();
        assert!(feed.judge("feed", &book(1, 2)).is_ok());
        assert!(
            feed.judge("feed", &book(u64::MAX - 2, u64::MAX - 1))
                .is_err()
        );
    }
}
