//! Feeds as sources of reference prices: the middle of a book, and how old it is.

use cambist_core::reference::{ReferenceId, ReferenceReading};

use super::error::FeedErrorKind;
use super::freshness::Freshness;
use super::poll::BookArrival;
use super::price_level::PriceLevel;
use crate::telemetry::feeds::FeedSeries;

/// Turns the books of one source into reference prices.
pub struct ReferenceReader {
    source: ReferenceId,
    /// What the log calls it.
    name: String,
    series: FeedSeries,
    freshness: Freshness,
    price_level: PriceLevel,
}

impl ReferenceReader {
    /// A source that has not been read; its answers are counted in `series`.
    pub fn new(source: ReferenceId, name: String, series: FeedSeries) -> Self {
        Self {
            source,
            name,
            series,
            freshness: Freshness::default(),
            price_level: PriceLevel::default(),
        }
    }

    /// The price of a book; none if the answer is invalid, a side is empty, the book is older than one before, its time
    /// is in the future, or its prices are in another unit.
    pub fn read(&mut self, arrival: &BookArrival) -> Option<ReferenceReading> {
        match self.judged(arrival) {
            Ok(read) => {
                self.series.book(arrival.arrived);
                Some(read)
            }
            Err(kind) => {
                self.series.error(kind);
                None
            }
        }
    }

    fn judged(&mut self, arrival: &BookArrival) -> Result<ReferenceReading, FeedErrorKind> {
        let book = arrival.book.as_ref().map_err(|error| error.kind)?;
        let times = (arrival.received, arrival.arrived);
        let behind_us = self.freshness.judge(&self.name, book, times);
        let behind_us = behind_us.map_err(|error| error.kind)?;
        let age_us = arrival.received.micros_since(arrival.sent).max(behind_us);
        let best = book.bids.first().zip(book.asks.first());
        let (bid, ask) = best.ok_or(FeedErrorKind::OneSided)?;
        let level = self.price_level.judge(&self.name, book);
        level.map_err(|error| error.kind)?;
        let mid = bid.price.0.checked_add(ask.price.0);
        Ok(ReferenceReading {
            source: self.source,
            mid: mid.ok_or(FeedErrorKind::Invalid)?,
            age_ms: age_us.div_ceil(1_000),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#[path = "reference_tests.rs"]
mod tests;
