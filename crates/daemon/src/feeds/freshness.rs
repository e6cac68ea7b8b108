//! Whether a book of a feed is newer than the ones before it, and how old it is.

use cambist_core::Time;
use cambist_market_data::Timestamp;

use super::decode::Book;
use super::error::{FeedError, FeedErrorKind};

/// The estimate of a feed's clock may fall behind by one part in so many, so that clocks that run at different speeds
/// do not make every book look older than it is.
const DRIFT: i64 = 1_000;
/// So many books in a row with lower numbers mean that the exchange has restarted its numbers. A copy of it that lags
/// behind the one that answered before does not send as many without one that is newer.
const RENUMBERED_AFTER: u32 = 10;
/// A book whose time is this much farther ahead than those before it, in microseconds, has a wrong time. The first one
/// is compared with the clock of this host.
const AHEAD_MAX_US: i64 = 2_000_000;
/// A first book that is so much older than this host's clock is reported: what follows is judged by it, and looks new.
const FIRST_BEHIND_S: u64 = 10;
/// So many of them in a row mean that the clock of the exchange was set, or that it and that of this host differ.
const SET_AFTER: u32 = 10;
/// A time in whole seconds may be that of any moment within its second.
const RESOLUTION_US: u64 = 1_000_000;

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
    /// Books in a row from the future.
    ahead: u32,
    /// Books of different times in a row that are late by the offset and agree with this host's clock.
    agreeing: u32,
    /// The time of the last book.
    last: Option<Timestamp>,
    /// Whether a time had a fraction of a second.
    has_fractions: bool,
}

/// A book whose time is ahead of those before it, or of this host's clock, by more than any delay explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// By how much, in microseconds.
    pub micros: u64,
    /// Whether the book before it was not ahead.
    pub is_first: bool,
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
    /// The delay of a book in microseconds, unless it is older than one before it or has a time in the future. `feed` is
    /// what the log calls it; the first one of each is logged. It arrived at these times of the monotonic clock and of
    /// the clock of this host.
    pub fn judge(
        &mut self,
        feed: &str,
        book: &Book,
        times: (Time, Timestamp),
    ) -> Result<u64, FeedError> {
        if let Err(older) = self.number(book.sequence) {
            let (sequence, newest) = (older.sequence, older.newest);
            if older.is_first {
                tracing::warn!(
                    market = feed,
                    sequence,
                    newest,
                    "a book of the feed is older than one before it, and is left out"
                );
            }
            let what = format!("sequence {sequence} after {newest}");
            return Err(FeedError::new(FeedErrorKind::Older, what));
        }
        let Some(time) = book.time else {
            return Ok(0);
        };
        if let Some(behind_s) = self.behind_at_first(times.1, time) {
            tracing::warn!(
                market = feed,
                behind_s,
                "the first book of the feed is older than this host's clock, by the feed's own time: either all of its books are late, or one of the clocks is wrong (see timedatectl). Books count by the time that passes between them"
            );
        }
        self.behind_us(times, time).map_err(|ahead| {
            let ahead_s = ahead.micros / 1_000_000;
            if ahead.is_first {
                tracing::warn!(
                    market = feed,
                    ahead_s,
                    "a book of the feed has a time in the future, and is left out"
                );
            }
            let what = format!("its time, {time}, is {ahead_s} s in the future");
            FeedError::new(FeedErrorKind::Ahead, what)
        })
    }

    /// By how many seconds the first book is older than the clock of this host, if that is more than delays explain.
    fn behind_at_first(&self, arrived: Timestamp, book: Timestamp) -> Option<u64> {
        if self.offset.is_some() {
            return None;
        }
        let behind_s = arrived.nanos_since(book) / 1_000_000_000;
        let behind_s = u64::try_from(behind_s).ok()?;
        (behind_s > FIRST_BEHIND_S).then_some(behind_s)
    }

    /// Takes in the number of a book. Books with lower numbers are older, until there are so many in a row that the
    /// exchange must have restarted its numbers.
    fn number(&mut self, sequence: Option<u64>) -> Result<(), Older> {
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

    /// How many microseconds later than after the shortest way a book arrived, by its own time; it arrived at
    /// `received` and, by the clock of this host, at `arrived`. One wrong time in the future would make every later book
    /// look old. A clock that was ahead and is set right makes them old too, until there are so many in a row that agree
    /// with this host; one that is set back from the right time cannot be distinguished from a copy that lags.
    fn behind_us(
        &mut self,
        (received, arrived): (Time, Timestamp),
        book: Timestamp,
    ) -> Result<u64, Ahead> {
        let received_us = signed(received.0);
        let offset = received_us.saturating_sub(book.0 / 1_000);
        let known = self.offset.map(|(known, since)| {
            known.saturating_add(signed(received.micros_since(since)) / DRIFT)
        });
        // Before the first book: what the offset is if both clocks are right.
        let expected = known.unwrap_or_else(|| received_us.saturating_sub(arrived.0 / 1_000));
        let least = if expected.saturating_sub(offset) > AHEAD_MAX_US {
            self.ahead += 1;
            if self.ahead < SET_AFTER {
                return Err(Ahead {
                    micros: expected.abs_diff(offset),
                    is_first: self.ahead == 1,
                });
            }
            offset
        } else {
            known.map_or(offset, |known| known.min(offset))
        };
        self.ahead = 0;
        let least = if self.was_set_right(offset.saturating_sub(least), arrived, book) {
            offset
        } else {
            least
        };
        self.offset = Some((least, received));
        let behind_us = offset.saturating_sub(least).unsigned_abs();
        self.has_fractions |= book.0 % 1_000_000_000 != 0;
        let resolution_us = if self.has_fractions { 0 } else { RESOLUTION_US };
        Ok(behind_us.saturating_sub(resolution_us))
    }

    /// Whether late books agree with this host's clock for long enough. Those that repeat a time prove nothing.
    fn was_set_right(&mut self, behind_us: i64, arrived: Timestamp, book: Timestamp) -> bool {
        let is_new = self.last.replace(book) < Some(book);
        let apart_us = arrived.nanos_since(book).unsigned_abs() / 1_000;
        if behind_us <= AHEAD_MAX_US || apart_us > AHEAD_MAX_US.unsigned_abs() {
            self.agreeing = 0;
        } else if is_new {
            self.agreeing += 1;
        }
        if self.agreeing < SET_AFTER {
            return false;
        }
        self.agreeing = 0;
        true
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    /// A book that is `ahead_us` ahead of the clock of this host, which began with its monotonic one.
    fn at_host(feed: &mut Freshness, seconds: u64, ahead_us: i64) -> Result<u64, Ahead> {
        let received = Time(seconds * 1_000_000);
        let arrived = Timestamp(signed(received.0) * 1_000);
        let book = Timestamp(arrived.0.saturating_add(ahead_us.saturating_mul(1_000)));
        feed.behind_us((received, arrived), book)
    }

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
    fn one_time_from_the_future_makes_no_later_book_old() {
        let (second, day) = (1_000_000, 86_400_000_000);
        let mut feed = Freshness::default();
        let mut at = |seconds: u64, ahead_us: i64| at_host(&mut feed, seconds, ahead_us);
        assert_eq!(at(100, 0), Ok(0));
        let ahead = at(101, day).unwrap_err();
        assert!(ahead.is_first && ahead.micros > 86_399_000_000, "{ahead:?}");
        assert_eq!(at(102, 0).map(|behind_us| behind_us < 10_000), Ok(true));
        // What a fast way or a clock that is adjusted explains is no wrong time.
        assert_eq!(at(103, second), Ok(0));
        assert!(at(104, 4 * second).is_err());
        assert_eq!(
            at(105, second).map(|behind_us| behind_us < 10_000),
            Ok(true)
        );
        assert_eq!(at(106, i64::MAX).map_err(|ahead| ahead.is_first), Err(true));
        // A clock that was set stays ahead.
        for book in 1..u64::from(SET_AFTER) - 1 {
            assert!(!at(106 + book, day).unwrap_err().is_first, "{book}");
        }
        assert_eq!(at(200, day), Ok(0));
        assert_eq!(at(201, day).map(|behind_us| behind_us < 10_000), Ok(true));
    }

    #[test]
    fn a_first_time_from_the_future_makes_no_later_book_old() {
        let (second, hour) = (1_000_000, 3_600_000_000);
        let mut feed = Freshness::default();
        let ahead = at_host(&mut feed, 100, hour).unwrap_err();
        assert!(ahead.is_first && ahead.micros == 3_600_000_000, "{ahead:?}");
        assert_eq!(at_host(&mut feed, 101, 2 * second), Ok(0));
        // Behind this host's clock is no error: its books are old, or the clocks differ.
        let mut feed = Freshness::default();
        assert_eq!(at_host(&mut feed, 100, -hour), Ok(0));
        // A clock that is always ahead is another clock.
        let mut feed = Freshness::default();
        for book in 1..u64::from(SET_AFTER) {
            let ahead = at_host(&mut feed, 100 + book, hour).unwrap_err();
            assert_eq!(ahead.is_first, book == 1);
        }
        assert_eq!(at_host(&mut feed, 200, hour), Ok(0));
        assert!(at_host(&mut feed, 201, hour).is_ok_and(|behind_us| behind_us < 10_000));
    }

    #[test]
    fn only_a_first_book_is_compared_with_the_clock_of_this_host() {
        let behind = |feed: &Freshness, seconds: i64| {
            let arrived = Timestamp(100_000_000_000_000);
            feed.behind_at_first(arrived, arrived.plus_nanos(-seconds * 1_000_000_000))
        };
        let mut feed = Freshness::default();
        assert_eq!(behind(&feed, 10), None);
        assert_eq!(behind(&feed, 11), Some(11));
        assert_eq!(behind(&feed, 3_600), Some(3_600));
        assert_eq!(behind(&feed, -3_600), None, "ahead is an error of its own");
        assert_eq!(at_host(&mut feed, 100, 0), Ok(0));
        assert_eq!(behind(&feed, 3_600), None);
    }

    /// Behind in whole milliseconds, of books a tenth of a second after whole seconds.
    fn behind_ms(feed: &mut Freshness, seconds: u64, ahead_ms: i64) -> u64 {
        let received = Time(seconds * 1_000_000 + 100_000);
        let arrived = Timestamp(signed(received.0) * 1_000);
        let book = arrived.plus_nanos(ahead_ms * 1_000_000);
        feed.behind_us((received, arrived), book).unwrap() / 1_000
    }

    #[test]
    fn a_clock_that_was_ahead_and_is_set_right_makes_books_old_for_ten_of_them() {
        let mut feed = Freshness::default();
        assert_eq!(behind_ms(&mut feed, 100, 1_500), 0);
        let mut later = (101..130_u64).map(|second| behind_ms(&mut feed, second, -1_000));
        // The first one is before the last of the clock that was ahead.
        let late: Vec<_> = later.by_ref().take(10).collect();
        assert!(
            late.iter().all(|ms| (2_490..=2_500).contains(ms)),
            "{late:?}"
        );
        assert!(later.all(|ms| ms < 10));
    }

    #[test]
    fn a_copy_that_lags_or_repeats_a_book_is_old_for_as_long_as_it_does() {
        // It lags by 20 s; nothing shows that its clock was set back instead.
        let mut feed = Freshness::default();
        assert_eq!(behind_ms(&mut feed, 100, 0), 0);
        for second in 101..400 {
            let ms = behind_ms(&mut feed, second, -20_000);
            assert!((19_600..=20_000).contains(&ms), "{ms}");
        }
        // A clock that is ahead by 1.5 s, and stops: within 2 s of this host for a while.
        let mut feed = Freshness::default();
        for second in 100..120_u64 {
            let at = |second: u64| i64::try_from(second).unwrap() * 1_000;
            let ms = behind_ms(&mut feed, second, 1_500 - (at(second) - at(100)));
            let expected = (second - 100) * 1_000;
            assert!(
                (expected.saturating_sub(20)..=expected).contains(&ms),
                "{ms}"
            );
        }
    }

    #[test]
    fn a_time_in_whole_seconds_makes_no_book_old_within_its_second() {
        let mut feed = Freshness::default();
        for ms in (100_000..110_000_u64).step_by(300) {
            let received = Time::from_ms(ms);
            let arrived = Timestamp(signed(received.0) * 1_000);
            let book = Timestamp(arrived.0 / 1_000_000_000 * 1_000_000_000);
            assert_eq!(feed.behind_us((received, arrived), book), Ok(0), "{ms}");
        }
        let (received, arrived) = (Time::from_ms(115_000), Timestamp(115_000_000_000));
        let behind_us = feed.behind_us((received, arrived), Timestamp(110_000_000_000));
        assert!(behind_us.is_ok_and(|us| (3_800_000..=4_000_000).contains(&us)));
    }

    #[test]
    fn numbers_that_restart_are_accepted_after_ten_books() {
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
