//! Why an answer of a feed has no book that counts.

use std::fmt;

use cambist_market_data::DefectKind;

/// Kinds of errors, the label `result` of the metric `cambist_feed_answers_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedErrorKind {
    /// No complete answer within the timeout.
    NoAnswer,
    /// Status 429.
    RateLimited,
    /// Another status than success.
    HttpStatus,
    /// An answer that is no book of the market.
    Invalid,
    /// Bids at or above asks.
    Crossed,
    /// Levels that are not in order, best first.
    Unsorted,
    /// Without a level on one side, for a source of reference prices: a market's book may have an empty side.
    OneSided,
    /// Older than a book before it.
    Older,
    /// With a time in the future.
    Ahead,
    /// Older by its own time than `poll.depth_age_max_ms`.
    Stale,
    /// At another price level than the books before it, as if in another unit.
    MixedUnits,
}

impl FeedErrorKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::NoAnswer,
        Self::RateLimited,
        Self::HttpStatus,
        Self::Invalid,
        Self::Crossed,
        Self::Unsorted,
        Self::OneSided,
        Self::Older,
        Self::Ahead,
        Self::Stale,
        Self::MixedUnits,
    ];

    /// The label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::RateLimited => "rate_limited",
            Self::HttpStatus => "http_status",
            Self::Invalid => "invalid",
            Self::Crossed => "crossed",
            Self::Unsorted => "unsorted",
            Self::OneSided => "one_sided",
            Self::Older => "older",
            Self::Ahead => "ahead",
            Self::Stale => "stale",
            Self::MixedUnits => "mixed_units",
        }
    }

    /// The defect that a report counts it as.
    pub const fn defect(self) -> DefectKind {
        match self {
            Self::NoAnswer | Self::RateLimited | Self::HttpStatus => DefectKind::Unavailable,
            Self::Stale => DefectKind::Stale,
            Self::MixedUnits => DefectKind::MixedUnits,
            Self::Invalid | Self::OneSided => DefectKind::BadValue,
            Self::Crossed => DefectKind::Crossed,
            Self::Unsorted => DefectKind::Unsorted,
            Self::Older => DefectKind::Backward,
            Self::Ahead => DefectKind::NegativeLatency,
        }
    }
}

/// An answer of a feed without a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedError {
    /// What kind of error it is.
    pub kind: FeedErrorKind,
    /// Where in the answer, and what is there.
    pub what: String,
}

impl FeedError {
    /// An error of a kind.
    pub const fn new(kind: FeedErrorKind, what: String) -> Self {
        Self { kind, what }
    }
}

/// An answer that is no book.
impl From<String> for FeedError {
    fn from(what: String) -> Self {
        Self::new(FeedErrorKind::Invalid, what)
    }
}

impl fmt::Display for FeedError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.what)
    }
}
