//! Tolerated defects, and the report of what was read and skipped.

use serde::{Deserialize, Serialize};

use crate::defect::{Defect, DefectKind, Error, Place, Result};
use crate::delays::Delays;
use crate::event::{Event, Update, Visibility};
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// Rows in which a recording of level changes states its whole book, if it does.
const BEGIN_ROWS: u64 = 10_000;

/// The kinds of defects that are skipped; any other ends the reading. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance(u16);

impl Tolerance {
    /// Nothing is skipped.
    pub const NONE: Self = Self(0);

    /// With one more kind.
    #[must_use]
    pub const fn with(self, kind: DefectKind) -> Self {
        Self(self.0 | 1 << kind as u16)
    }

    /// Whether a kind is skipped.
    pub const fn allows(self, kind: DefectKind) -> bool {
        self.0 & (1 << kind as u16) != 0
    }

    /// Parses names separated by commas, such as `gap,crossed`. The error is the first invalid name.
    pub fn parse(names: &str) -> std::result::Result<Self, String> {
        let mut tolerance = Self::NONE;
        for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            let kind = DefectKind::from_name(name).ok_or_else(|| name.to_owned())?;
            tolerance = tolerance.with(kind);
        }
        Ok(tolerance)
    }
}

/// Skipped defects of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The kind.
    pub kind: DefectKind,
    /// Number of defects.
    pub count: u64,
    /// The first one, with file and position.
    pub first: String,
}

/// The report of a reading, over all of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows read: events or snapshots.
    pub rows: u64,
    /// Rows returned.
    pub kept: u64,
    /// Rows that belong to no view, events of the recorder's own, and blank lines.
    pub ignored: u64,
    /// Rows of ticks with a best bid or ask beside the levels, which are not used.
    pub best_prices: u64,
    /// Levels and clears of snapshots of ticks without a time: they are taken as of the row before them, or of the first
    /// row with a time.
    pub untimed: u64,
    /// Whether one of the first 10,000 rows is of a snapshot or clears the book; `None` without levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins_whole: Option<bool>,
    /// Rows of ticks that are equal to the row before them. Two trades of one moment can be equal, so that they are
    /// counted and kept.
    pub repeated: u64,
    /// Recordings of daemons that end within a record, as after a kill: what follows was not recorded.
    pub unfinished: u64,
    /// Exchange time of the first row returned.
    pub first: Option<Timestamp>,
    /// Exchange time of the last row returned.
    pub last: Option<Timestamp>,
    /// Rows of ticks by the views that they are in; zero for snapshots.
    pub views: Views,
    /// Delays of the rows returned, by their two times.
    pub delay: Delays,
    /// Skipped defects, by kind.
    pub skipped: Vec<Skipped>,
}

/// Rows of ticks that are in one view only. Messages that overtook each other are in both, in two rows, so that as many
/// are in one view as in the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Views {
    /// Trades, and fills of single orders.
    pub trades: u64,
    /// Of the trades, fills of single orders.
    pub fills: u64,
    /// Rows in the exchange's view only.
    pub exchange_only: u64,
    /// Rows in the recorder's view only.
    pub local_only: u64,
    /// Of the trades, those in the exchange's view only.
    pub trades_exchange_only: u64,
    /// Of the trades, those in the recorder's view only.
    pub trades_local_only: u64,
}

impl Views {
    /// Adds events of one visibility.
    #[inline]
    fn add(&mut self, events: &[Event], visibility: Visibility) {
        let (mut trades, mut fills) = (0, 0);
        for event in events {
            let is_fill = matches!(event.update, Update::Fill { .. });
            let is_trade = is_fill || matches!(event.update, Update::Trade { .. });
            fills += u64::from(is_fill);
            trades += u64::from(is_trade);
        }
        self.trades += trades;
        self.fills += fills;
        match visibility {
            Visibility::Both => {}
            Visibility::Exchange => {
                self.exchange_only += events.len() as u64;
                self.trades_exchange_only += trades;
            }
            Visibility::Local => {
                self.local_only += events.len() as u64;
                self.trades_local_only += trades;
            }
        }
    }
}

impl Report {
    /// Number of skipped defects of a kind.
    pub fn skipped(&self, kind: DefectKind) -> u64 {
        let found = self.skipped.iter().find(|skipped| skipped.kind == kind);
        found.map_or(0, |skipped| skipped.count)
    }

    /// Counts a skipped defect; `text` describes the first of its kind.
    pub fn skip(&mut self, kind: DefectKind, text: impl FnOnce() -> String) {
        match self.skipped.binary_search_by_key(&kind, |s| s.kind) {
            Ok(at) => self.skipped[at].count += 1,
            Err(at) => {
                let first = Skipped {
                    kind,
                    count: 1,
                    first: text(),
                };
                self.skipped.insert(at, first);
            }
        }
    }

    /// Counts the views and the delays of events that are returned.
    #[inline]
    pub fn events(&mut self, mut events: &[Event]) {
        self.see_begin(events);
        // Events of one message have one delay.
        while let Some(first) = events.first() {
            let (visibility, delay) = (first.visibility, first.delay_nanos());
            let is_alike =
                |event: &&Event| event.visibility == visibility && event.delay_nanos() == delay;
            let count = events.iter().take_while(is_alike).count();
            let (alike, rest) = events.split_at(count);
            self.views.add(alike, visibility);
            if visibility.at_local() {
                self.delay.add(delay, count as u64);
            }
            events = rest;
        }
    }

    /// Counts the views of an event whose times are those of another row.
    #[inline]
    pub fn untimed_event(&mut self, event: &Event) {
        let events = std::slice::from_ref(event);
        self.see_begin(events);
        self.views.add(events, event.visibility);
    }

    /// Whether events among the first ones are those of a whole book.
    #[inline]
    fn see_begin(&mut self, events: &[Event]) {
        if self.kept >= BEGIN_ROWS || self.begins_whole == Some(true) {
            return;
        }
        for event in events {
            match event.update {
                Update::Level { .. } if self.begins_whole.is_none() => {
                    self.begins_whole = Some(false);
                }
                Update::SnapshotLevel { .. } | Update::Clear { .. } => {
                    self.begins_whole = Some(true);
                }
                _ => {}
            }
        }
    }

    /// Counts a snapshot that is returned, and its delay.
    #[inline]
    pub fn snapshot(&mut self, snapshot: &Snapshot, time: Timestamp) {
        let delay = snapshot.local_time.nanos_since(snapshot.exchange_time);
        self.delay.add(delay, 1);
        self.keep(time);
    }

    /// Counts a returned row.
    #[inline]
    pub fn keep(&mut self, time: Timestamp) {
        self.kept += 1;
        if self.first.is_none() {
            self.first = Some(time);
        }
        self.last = Some(time);
    }
}

/// Decides about defects and keeps the report.
#[derive(Clone, Debug)]
pub(crate) struct Inspector {
    pub file: String,
    pub tolerance: Tolerance,
    pub report: Report,
}

impl Inspector {
    pub fn new(file: impl Into<String>, tolerance: Tolerance) -> Self {
        Self {
            file: file.into(),
            tolerance,
            report: Report::default(),
        }
    }

    /// Counts a tolerated defect; an error for any other one.
    #[cold]
    pub fn defect(&mut self, place: Place, defect: Defect) -> Result<()> {
        let kind = defect.kind();
        let error = Box::new(Error {
            file: self.file.clone(),
            place,
            defect,
        });
        match kind {
            Some(kind) if self.tolerance.allows(kind) => {
                self.report.skip(kind, || error.to_string());
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// An error of this file, whatever is tolerated: a defect that can be left out elsewhere has no kind here.
    #[cold]
    #[expect(clippy::unnecessary_box_returns, reason = "results carry it boxed")]
    pub fn error(&self, place: Place, defect: impl Into<Defect>) -> Box<Error> {
        let defect = match defect.into() {
            Defect::Io(error) => Defect::Io(error),
            other => Defect::Format {
                what: other.to_string(),
            },
        };
        Box::new(Error {
            file: self.file.clone(),
            place,
            defect,
        })
    }

    /// The file does not have the expected format.
    #[cold]
    pub fn format<T>(&self, what: impl Into<String>) -> Result<T> {
        let what = what.into();
        Err(self.error(Place::File, Defect::Format { what }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn only_what_was_named_is_skipped() {
        let tolerance = Tolerance::parse("gap, crossed").unwrap();
        let skipped: Vec<_> = DefectKind::ALL
            .into_iter()
            .filter(|kind| tolerance.allows(*kind))
            .collect();
        assert_eq!(skipped, [DefectKind::Gap, DefectKind::Crossed]);
        assert_eq!(Tolerance::parse("gap,holes"), Err("holes".to_owned()));
        assert_eq!(Tolerance::parse(""), Ok(Tolerance::NONE));
    }

    #[test]
    fn skipped_defects_are_counted_with_the_first_of_their_kind() {
        let mut inspector = Inspector::new("a.csv", Tolerance::parse("unknown-event").unwrap());
        let unknown = |code| Defect::UnknownEvent {
            code,
            what: "no side",
        };
        inspector.defect(Place::Row(7), unknown(99)).unwrap();
        inspector.defect(Place::Row(9), unknown(98)).unwrap();
        let error = inspector
            .defect(Place::Line(3), Defect::Duplicate { time: Timestamp(0) })
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.csv: line 3: repeats the row before it (1970-01-01T00:00:00Z)"
        );
        assert_eq!(inspector.report.skipped(DefectKind::UnknownEvent), 2);
        assert_eq!(
            inspector.report.skipped[0].first,
            "a.csv: row 7: an event of unknown kind 99 (no side)"
        );
    }
}
