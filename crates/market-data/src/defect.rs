//! Defects of recorded data and their positions.

use std::fmt;
use std::io;

use cambist_core::Side;
use serde::{Deserialize, Serialize};

use crate::check::EARLIEST;
use crate::time::Timestamp;

/// Kinds of defects that a reader can skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefectKind {
    /// No rows for longer than allowed, or segments of a recording that are missing between others. If skipped, reading
    /// continues after the gap.
    Gap,
    /// A repeated snapshot. If skipped, it is left out.
    Duplicate,
    /// A time or version before that of an earlier row. If skipped, the row is left out.
    Backward,
    /// Received before it happened. If skipped, the row is left out.
    NegativeLatency,
    /// Bids at or above asks. If skipped, a snapshot is left out; in a book of single changes the levels of the side
    /// that changed earlier are removed.
    Crossed,
    /// Not a multiple of tick or lot. If skipped, the row is left out.
    OffGrid,
    /// Not a number, or an impossible one. If skipped, the row is left out.
    BadValue,
    /// Levels out of order, repeated, or empty. If skipped, the snapshot is left out.
    Unsorted,
    /// Times or prices that jump by a power of ten. If skipped, the row is left out.
    MixedUnits,
    /// An event of an unknown kind. If skipped, the row is left out.
    UnknownEvent,
    /// A file that ends too early. If skipped, the existing rows are used.
    Truncated,
    /// Bytes that differ from those written. If skipped, the rest of the file is left out.
    Damaged,
    /// No usable answer: a timeout, a limit of the rate, or another status than success. Feeds have it, files do not: it
    /// is no row.
    Unavailable,
    /// A price that is a factor away from the book, or best prices of a snapshot that are from those before it. If
    /// skipped, the row is left out; a book of ticks whose best price moved so far stays.
    ImplausiblePrice,
    /// A book that arrived and is too old by its own time. Feeds leave it out; files do not have it.
    Stale,
}

impl DefectKind {
    /// Every kind that a file can have.
    pub const ALL: [Self; 13] = [
        Self::Gap,
        Self::Duplicate,
        Self::Backward,
        Self::NegativeLatency,
        Self::Crossed,
        Self::OffGrid,
        Self::BadValue,
        Self::Unsorted,
        Self::MixedUnits,
        Self::ImplausiblePrice,
        Self::UnknownEvent,
        Self::Truncated,
        Self::Damaged,
    ];

    /// Name in options: `gap`, `negative-latency`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Duplicate => "duplicate",
            Self::Backward => "backward",
            Self::NegativeLatency => "negative-latency",
            Self::Crossed => "crossed",
            Self::OffGrid => "off-grid",
            Self::BadValue => "bad-value",
            Self::Unsorted => "unsorted",
            Self::MixedUnits => "mixed-units",
            Self::UnknownEvent => "unknown-event",
            Self::Truncated => "truncated",
            Self::Damaged => "damaged",
            Self::Unavailable => "unavailable",
            Self::ImplausiblePrice => "implausible-price",
            Self::Stale => "stale",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One defect.
#[derive(Debug, thiserror::Error)]
pub enum Defect {
    /// See [`DefectKind::Gap`].
    #[error("no row for {:.3} s since {since} (allowed: {:.3} s)", seconds(*.nanos), seconds(*.limit))]
    Gap {
        /// The time of the row before.
        since: Timestamp,
        /// Length of the gap, in nanoseconds.
        nanos: i64,
        /// Longest allowed gap, in nanoseconds.
        limit: i64,
    },
    /// See [`DefectKind::Gap`].
    #[error("segments of the recording that are missing before this one: {missing}")]
    MissingSegments {
        /// How many.
        missing: u64,
    },
    /// See [`DefectKind::Duplicate`].
    #[error("repeats the row before it ({time})")]
    Duplicate {
        /// The time of both.
        time: Timestamp,
    },
    /// See [`DefectKind::Backward`].
    #[error("{clock} time {time} is before that of an earlier row, {previous}")]
    BackwardTime {
        /// `exchange` or `local`.
        clock: &'static str,
        /// The row's time.
        time: Timestamp,
        /// The latest one before it.
        previous: Timestamp,
    },
    /// Files of one recording in another order than their times. It cannot be skipped: all of a file would be left out.
    #[error(
        "its first row, of {time}, is before that of the file before it, {before}, which begins at {begin}: the files are probably given in the wrong order; give the oldest one first"
    )]
    FileOrder {
        /// The first row's time.
        time: Timestamp,
        /// The file before it.
        before: String,
        /// Time of that file's first row.
        begin: Timestamp,
    },
    /// See [`DefectKind::Backward`].
    #[error("sequence {sequence} is before that of the row before it, {previous}")]
    BackwardSequence {
        /// The row's version.
        sequence: u64,
        /// The one before it.
        previous: u64,
    },
    /// See [`DefectKind::BadValue`].
    #[error("{clock} time {time} is before the year 2000{}", likely_unit(*time, *of_nanos))]
    TooEarly {
        /// `exchange` or `local`.
        clock: &'static str,
        /// The row's time.
        time: Timestamp,
        /// Whether the format has nanoseconds; otherwise the file states its unit.
        of_nanos: bool,
    },
    /// See [`DefectKind::BadValue`].
    #[error(
        "{clock} time {time} is more than three months after that of the row before it, {since}: it is probably wrong; data that are really so far apart need separate runs"
    )]
    TooLate {
        /// `exchange` or `local`.
        clock: &'static str,
        /// The row's time.
        time: Timestamp,
        /// The time of the row before.
        since: Timestamp,
    },
    /// See [`DefectKind::NegativeLatency`].
    #[error("received at {local}, before it happened at {exchange}")]
    NegativeLatency {
        /// Exchange time.
        exchange: Timestamp,
        /// Local time.
        local: Timestamp,
    },
    /// See [`DefectKind::Crossed`].
    #[error("the book is crossed: best bid {bid}, best ask {ask}")]
    Crossed {
        /// Best bid, as a price.
        bid: String,
        /// Best ask.
        ask: String,
    },
    /// See [`DefectKind::OffGrid`].
    #[error("{column} {} is not a multiple of {step}", shortened(value))]
    OffGrid {
        /// The column.
        column: String,
        /// What it holds.
        value: String,
        /// Tick or lot.
        step: String,
    },
    /// See [`DefectKind::BadValue`].
    #[error("{column} is {:?}, but must be {must}", shortened(value))]
    BadValue {
        /// The column.
        column: String,
        /// What it holds.
        value: String,
        /// Description of a valid value.
        must: &'static str,
    },
    /// See [`DefectKind::Unsorted`].
    #[error("level {level} of the {} is empty or not worse than the one before it", sides(*.side))]
    Unsorted {
        /// The side.
        side: Side,
        /// Counted from 1.
        level: usize,
    },
    /// See [`DefectKind::MixedUnits`].
    #[error("{what} is about {factor} times that of the row before: units are mixed")]
    MixedUnits {
        /// The quantity that jumped.
        what: &'static str,
        /// The factor of the jump.
        factor: String,
    },
    /// See [`DefectKind::ImplausiblePrice`].
    #[error(
        "{what} {price} is implausible beside {beside}: it is outside of {factor} times above or below, so that its unit is probably another one"
    )]
    ImplausiblePrice {
        /// What has the price: a trade, a bid, an ask, or the best of a side.
        what: &'static str,
        /// The price, as the file has it.
        price: String,
        /// What it is compared with.
        beside: String,
        /// The largest factor that is plausible.
        factor: u32,
    },
    /// See [`DefectKind::ImplausiblePrice`].
    #[error(
        "a book of {book} is implausible after one of {before}: every price is about {factor} times as high or as low, or further away"
    )]
    PriceJump {
        /// Its best prices, as the file has them.
        book: String,
        /// The last known ones before it.
        before: String,
        /// The factor from which on a jump is implausible.
        factor: u32,
    },
    /// See [`DefectKind::UnknownEvent`].
    #[error("an event of unknown kind {code} ({what})")]
    UnknownEvent {
        /// The complete event word of the row.
        code: u64,
        /// The unknown part of it.
        what: &'static str,
    },
    /// See [`DefectKind::Truncated`].
    #[error("the file ends too early: {what}")]
    Truncated {
        /// What is missing.
        what: String,
    },
    /// See [`DefectKind::Damaged`].
    #[error("damaged: {what}")]
    Damaged {
        /// The mismatch.
        what: String,
    },
    /// The file cannot be read from its beginning on.
    #[error("{what}")]
    Format {
        /// What was found, and what is expected.
        what: String,
    },
    /// A Parquet file, and a build that reads none.
    #[error(
        "this build reads no Parquet: build it with --features parquet, or use a release package"
    )]
    NoParquet,
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Defect {
    /// Its kind; `None` if it cannot be skipped.
    pub const fn kind(&self) -> Option<DefectKind> {
        Some(match self {
            Self::Gap { .. } | Self::MissingSegments { .. } => DefectKind::Gap,
            Self::Duplicate { .. } => DefectKind::Duplicate,
            Self::BackwardTime { .. } | Self::BackwardSequence { .. } => DefectKind::Backward,
            Self::NegativeLatency { .. } => DefectKind::NegativeLatency,
            Self::Crossed { .. } => DefectKind::Crossed,
            Self::OffGrid { .. } => DefectKind::OffGrid,
            Self::BadValue { .. } | Self::TooEarly { .. } | Self::TooLate { .. } => {
                DefectKind::BadValue
            }
            Self::Unsorted { .. } => DefectKind::Unsorted,
            Self::MixedUnits { .. } => DefectKind::MixedUnits,
            Self::ImplausiblePrice { .. } | Self::PriceJump { .. } => DefectKind::ImplausiblePrice,
            Self::UnknownEvent { .. } => DefectKind::UnknownEvent,
            Self::Truncated { .. } => DefectKind::Truncated,
            Self::Damaged { .. } => DefectKind::Damaged,
            Self::FileOrder { .. } | Self::Format { .. } | Self::NoParquet | Self::Io(_) => {
                return None;
            }
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// Longest part of a value that is shown.
const SHOWN: usize = 40;

/// A value in a message: the beginning of a long one.
fn shortened(value: &str) -> String {
    let mut rest = value.chars();
    let mut text: String = rest.by_ref().take(SHOWN).collect();
    if rest.next().is_some() {
        text.push('…');
    }
    text
}

/// The unit in which a time that is too early makes sense.
fn likely_unit(time: Timestamp, of_nanos: bool) -> String {
    let units = [
        (1_000, "microseconds"),
        (1_000_000, "milliseconds"),
        (1_000_000_000, "seconds"),
    ];
    let fits = units.into_iter().find_map(|(factor, name)| {
        let then = Timestamp(time.0.checked_mul(factor)?);
        (then >= EARLIEST).then_some((factor, name, then))
    });
    match fits {
        Some((_, name, then)) if of_nanos => {
            format!(": these are probably {name}, {then}, where nanoseconds belong")
        }
        Some((factor, _, then)) => format!(
            ": its unit is probably another one than its column states; {factor} times as long it is {then}"
        ),
        None => String::new(),
    }
}

const fn sides(side: Side) -> &'static str {
    match side {
        Side::Buy => "bids",
        Side::Sell => "asks",
    }
}

/// Position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1 as in editors.
    Line(u64),
    /// A row of a table, counted from 0 as in NumPy and pandas.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, " line {line}:"),
            Self::Row(row) => write!(f, " row {row}:"),
        }
    }
}

/// A defect with its file and position.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{place} {defect}")]
pub struct Error {
    /// The name of the file.
    pub file: String,
    /// The position in the file.
    pub place: Place,
    /// The defect.
    #[source]
    pub defect: Defect,
}

/// Result of readers. The error is boxed, so that rows stay small.
pub type Result<T> = std::result::Result<T, Box<Error>>;
