//! Metrics of feeds: what became of their answers, and when the newest book arrived.

use cambist_market_data::Timestamp;
use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Registry};

use super::metrics::Maker;
use crate::feeds::FeedErrorKind;

/// The label `feed` of a market's depth; a source of reference prices has its name after `reference:`.
pub const DEPTH: &str = "depth";
/// The label `result` of an answer with a book that counts.
const BOOK: &str = "book";

/// The metrics of all feeds.
#[derive(Clone)]
pub struct FeedMetrics {
    answers: IntCounterVec,
    book_time: GaugeVec,
}

impl FeedMetrics {
    /// Metrics without a series.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        Self::made_by(&Maker::new(registry))
    }

    pub(super) fn made_by(m: &Maker) -> Result<Self, prometheus::Error> {
        Ok(Self {
            answers: m.counters(
                "cambist_feed_answers_total",
                "Polls of a public feed by result; \"book\" is an answer with a book that counts.",
                &["market", "feed", "result"],
            )?,
            book_time: m.gauges(
                "cambist_feed_book_timestamp_seconds",
                "Unix time at which the newest book of a public feed that counts arrived; 0 before the first.",
                &["market", "feed"],
            )?,
        })
    }

    /// The series of a market's depth.
    pub fn depth(&self, market: &str) -> FeedSeries {
        self.series(market, DEPTH)
    }

    /// The series of a source of reference prices.
    pub fn reference(&self, market: &str, source: &str) -> FeedSeries {
        self.series(market, &format!("reference:{source}"))
    }

    /// All results exist at the start: a series that appears with its first event hides that event from rates.
    fn series(&self, market: &str, feed: &str) -> FeedSeries {
        let answers = |result| self.answers.with_label_values(&[market, feed, result]);
        FeedSeries {
            books: answers(BOOK),
            errors: FeedErrorKind::ALL.map(|kind| (kind, answers(kind.name()))),
            book_time: self.book_time.with_label_values(&[market, feed]),
        }
    }
}

/// The series of one feed.
#[derive(Clone)]
pub struct FeedSeries {
    books: IntCounter,
    errors: [(FeedErrorKind, IntCounter); FeedErrorKind::ALL.len()],
    book_time: Gauge,
}

impl FeedSeries {
    /// A book that counts arrived.
    pub fn book(&self, arrived: Timestamp) {
        self.books.inc();
        #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
        self.book_time.set((arrived.0 / 1_000_000) as f64 / 1e3);
    }

    /// An answer without one.
    pub fn error(&self, kind: FeedErrorKind) {
        let mut errors = self.errors.iter();
        if let Some((_, count)) = errors.find(|(of, _)| *of == kind) {
            count.inc();
        }
    }

    /// Number of books so far.
    pub fn books(&self) -> u64 {
        self.books.get()
    }

    /// Errors so far, with those that there were none of.
    pub fn errors(&self) -> impl Iterator<Item = (FeedErrorKind, u64)> + '_ {
        self.errors.iter().map(|(kind, count)| (*kind, count.get()))
    }

    /// When the newest book arrived, seconds since the Unix epoch.
    pub fn book_at(&self) -> Option<f64> {
        Some(self.book_time.get()).filter(|at| *at > 0.0)
    }
}
