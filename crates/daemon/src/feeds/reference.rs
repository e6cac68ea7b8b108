//! Feeds as sources of reference prices: the middle of a book, and how old it is.

use cambist_core::Time;
use cambist_core::reference::{ReferenceId, ReferenceReading};

use super::poll::BookArrival;

/// The estimate of a source's clock may fall behind by one part in so many, so that clocks that run at different
/// speeds do not make every book look older than it is.
const DRIFT: i64 = 1_000;

/// Turns the books of one source into reference prices.
#[derive(Debug)]
pub struct ReferenceReader {
    source: ReferenceId,
    sequence: Option<u64>,
    /// The least difference between our clock at an arrival and the source's time of the book, in microseconds, and
    /// when it was last changed: offset of the clocks plus the shortest way.
    offset: Option<(i64, Time)>,
}

impl ReferenceReader {
    /// A source that has not been read.
    pub const fn new(source: ReferenceId) -> Self {
        Self {
            source,
            sequence: None,
            offset: None,
        }
    }

    /// The price of a book; none if the answer is invalid, a side is empty, or the book is older than one before.
    pub fn read(&mut self, arrival: &BookArrival) -> Option<ReferenceReading> {
        let book = arrival.book.as_ref().ok()?;
        if let (Some(known), Some(now)) = (self.sequence, book.sequence)
            && now < known
        {
            // An old answer from a cache, or a source that has restarted.
            self.sequence = Some(now);
            return None;
        }
        self.sequence = book.sequence.or(self.sequence);
        let mut age_us = signed(arrival.received.micros_since(arrival.sent));
        if let Some(time) = book.time {
            age_us = age_us.max(self.behind(arrival.received, time.0 / 1_000));
        }
        let (bid, ask) = (book.bids.first()?, book.asks.first()?);
        Some(ReferenceReading {
            source: self.source,
            mid: bid.price.0.checked_add(ask.price.0)?,
            age_ms: age_us.unsigned_abs().div_ceil(1_000),
        })
    }

    /// How much later than after the shortest way a book arrived, by its own time.
    fn behind(&mut self, received: Time, book_us: i64) -> i64 {
        let offset = signed(received.0).saturating_sub(book_us);
        let least = self.offset.map_or(offset, |(least, since)| {
            let drifted = signed(received.micros_since(since)) / DRIFT;
            least.saturating_add(drifted).min(offset)
        });
        self.offset = Some((least, received));
        offset.saturating_sub(least)
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#[path = "reference_tests.rs"]
mod tests;
