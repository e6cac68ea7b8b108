//! Feeds as sources of reference prices: the middle of a book, and how old it is.

use cambist_core::reference::{ReferenceId, ReferenceReading};

use super::freshness::Freshness;
use super::poll::BookArrival;

/// Turns the books of one source into reference prices.
#[derive(Debug)]
pub struct ReferenceReader {
    source: ReferenceId,
    freshness: Freshness,
}

impl ReferenceReader {
    /// A source that has not been read.
    pub fn new(source: ReferenceId) -> Self {
        Self {
            source,
            freshness: Freshness::default(),
        }
    }

    /// The price of a book; none if the answer is invalid, a side is empty, the book is older than one before, or
    /// its time is in the future.
    pub fn read(&mut self, arrival: &BookArrival) -> Option<ReferenceReading> {
        let book = arrival.book.as_ref().ok()?;
        self.freshness.number(book.sequence).ok()?;
        let mut age_us = arrival.received.micros_since(arrival.sent);
        if let Some(time) = book.time {
            let behind_us = self.freshness.behind_us(arrival.received, time.0 / 1_000);
            age_us = age_us.max(behind_us.ok()?);
        }
        let (bid, ask) = (book.bids.first()?, book.asks.first()?);
        Some(ReferenceReading {
            source: self.source,
            mid: bid.price.0.checked_add(ask.price.0)?,
            age_ms: age_us.div_ceil(1_000),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#[path = "reference_tests.rs"]
mod tests;
