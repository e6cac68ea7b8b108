//! Whether a book of a feed is newer than the ones before it, and how old it is.

use cambist_core::Time;

/// The estimate of a feed's clock may fall behind by one part in so many, so that clocks that run at different speeds
/// do not make every book look older than it is.
const DRIFT: i64 = 1_000;
/// So many books in a row with lower numbers mean that the exchange numbers its books anew. A copy of it that lags
/// behind the one that answered before does not send as many without one that is newer.
const RENUMBERED_AFTER: u32 = 10;

/// Follows the sequence numbers and the times of one feed.
#[derive(Debug, Default)]
pub struct Freshness {
    /// The highest sequence number.
    sequence: Option<u64>,
    /// Books in a row with lower numbers.
    lower: u32,
    /// The least difference between our clock at an arrival and the feed's time of the book, in microseconds, and
    /// when it was last changed: offset of the clocks plus the shortest way.
    offset: Option<(i64, Time)>,
}

/// A book that is older than one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Older {
    /// Its number.
    pub sequence: u64,
    /// The highest number before.
    pub newest: u64,
    /// Whether the book before it was not older.
    pub is_first: bool,
}

impl Freshness {
    /// Takes in the number of a book. Books with lower numbers are older, until there are so many in a row that the
    /// exchange must have begun to count anew.
    pub fn number(&mut self, sequence: Option<u64>) -> Result<(), Older> {
        let Some(sequence) = sequence else {
            return Ok(());
        };
        if let Some(newest) = self.sequence
            && sequence < newest
        {
            self.lower += 1;
            if self.lower < RENUMBERED_AFTER {
                let is_first = self.lower == 1;
                return Err(Older {
                    sequence,
                    newest,
                    is_first,
                });
            }
        }
        self.lower = 0;
        self.sequence = Some(sequence);
        Ok(())
    }

    /// How many microseconds later than after the shortest way a book arrived, by its own time in microseconds.
    pub fn behind_us(&mut self, received: Time, book_us: i64) -> u64 {
        let offset = signed(received.0).saturating_sub(book_us);
        let least = self.offset.map_or(offset, |(least, since)| {
            let drifted = signed(received.micros_since(since)) / DRIFT;
            least.saturating_add(drifted).min(offset)
        });
        self.offset = Some((least, received));
        offset.saturating_sub(least).unsigned_abs()
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_lags_behind_is_older_every_time() {
        let mut feed = Freshness::default();
        for round in 1..100 {
            assert_eq!(feed.number(Some(round * 100)), Ok(()));
            for lagging in 1..RENUMBERED_AFTER {
                let sequence = round * 100 - 20 + u64::from(lagging);
                let older = Older {
                    sequence,
                    newest: round * 100,
                    is_first: lagging == 1,
                };
                assert_eq!(feed.number(Some(sequence)), Err(older));
            }
        }
        // The same number again is no older book.
        assert_eq!(feed.number(Some(9_900)), Ok(()));
        assert_eq!(feed.number(None), Ok(()));
    }

    #[test]
    fn an_exchange_that_counts_anew_is_believed_after_ten_books() {
        let mut feed = Freshness::default();
        assert_eq!(feed.number(Some(1_000_000)), Ok(()));
        for sequence in 1..u64::from(RENUMBERED_AFTER) {
            assert!(feed.number(Some(sequence)).is_err(), "{sequence}");
        }
        assert_eq!(feed.number(Some(10)), Ok(()));
        assert_eq!(feed.number(Some(11)), Ok(()));
        assert!(feed.number(Some(10)).is_err());
    }
}
