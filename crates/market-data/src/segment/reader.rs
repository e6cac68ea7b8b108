//! Reads recordings from the beginning, or from any time on.

use std::path::{Path, PathBuf};

use super::events::{EventCodec, has_no_price};
use super::file::{Next, Segment};
use super::frame::{Entry, KEY, RECORDS_AT};
use super::snapshots::SnapshotCodec;
use super::wire::{Cursor, PADDING};
use super::writer::{has_no_header, opening};
use super::{Codec, Content, Header, folder};
use crate::check::{
    DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR, EventCheck, EventCheckResult, crossed, gap,
    too_late,
};
use crate::defect::{Defect, Place, Result};
use crate::event::Event;
use crate::grid::{Grid, Step};
use crate::report::{Inspector, Report, Tolerance};
use crate::snapshot::{Level, Snapshot};
use crate::snapshot_check::PriceCheck;
use crate::source::{EventSource, SnapshotSource};
use crate::time::Timestamp;

/// Options for reading a recording, or supplied snapshots.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Defects that are skipped instead of ending the reading.
    pub tolerance: Tolerance,
    /// Longest time between two records, in nanoseconds.
    pub max_gap_nanos: i64,
    /// Best prices of snapshots that are about this factor, or further, away from those of the row before are a defect;
    /// `None` if only powers of ten are.
    pub price_factor: Option<u32>,
}

impl Default for ReadOptions {
    /// Nothing is skipped; gaps up to a minute; prices up to about twice or half of those before.
    fn default() -> Self {
        Self {
            tolerance: Tolerance::NONE,
            max_gap_nanos: DEFAULT_MAX_GAP_NANOS,
            price_factor: Some(DEFAULT_PRICE_FACTOR),
        }
    }
}

/// Reads the snapshots of a recording.
#[derive(Debug)]
pub struct SnapshotSegments {
    recording: Recording<SnapshotCodec>,
    check: RecordedCheck,
}

/// Reads the events of a recording.
#[derive(Debug)]
pub struct EventSegments {
    recording: Recording<EventCodec>,
    check: EventCheck,
    /// Decoded events that were not returned yet, from `at` on.
    block: Vec<Event>,
    at: usize,
    /// Whether the last event of the block may have a defect: it is checked after those before it were returned.
    doubtful: bool,
}

/// What is wrong with a frame whose records are differences to others than those before it.
const MISSING_FRAMES: &str = "frames before this row are missing";

/// Events decoded at a time.
const BLOCK_EVENTS: usize = 256;

/// The content type of the recording in a folder, or of a single segment.
pub fn content(path: &Path) -> Result<Content> {
    let inspector = Inspector::new(path.display().to_string(), Tolerance::NONE);
    let io = |error| inspector.error(Place::File, error);
    let first = if path.is_dir() {
        let numbers = folder::list(path).map_err(io)?;
        numbers.first().map(|number| folder::path(path, *number))
    } else {
        Some(path.to_owned())
    };
    let Some(first) = first else {
        return inspector.format("the folder has no segments of recorded market data");
    };
    let inspector = Inspector::new(first.display().to_string(), Tolerance::NONE);
    let segment = Segment::open(&first).map_err(|defect| inspector.error(Place::File, defect))?;
    Ok(segment.content())
}

impl SnapshotSegments {
    /// Opens the recording in a folder, or a single segment.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let recording = Recording::open(path, options)?;
        let tick = recording.header.grid.tick;
        Ok(Self {
            recording,
            check: RecordedCheck::new(tick, options),
        })
    }

    /// The market of the recording.
    pub const fn header(&self) -> &Header {
        &self.recording.header
    }

    /// Moves to a time: the next snapshot is the last one received at or before it, or the first one of the recording.
    /// Reads at most the records between two key frames.
    pub fn seek(&mut self, time: Timestamp) -> Result<()> {
        self.check.forget();
        self.recording.seek(time)
    }
}

impl EventSegments {
    /// Opens the recording in a folder, or a single segment.
    pub fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        Ok(Self {
            recording: Recording::open(path, options)?,
            check: EventCheck::new(options.max_gap_nanos),
            block: Vec::with_capacity(BLOCK_EVENTS),
            at: 0,
            doubtful: false,
        })
    }

    /// The market of the recording.
    pub const fn header(&self) -> &Header {
        &self.recording.header
    }

    /// Events of the block that may be returned.
    #[inline]
    const fn ready(&self) -> usize {
        self.block.len() - self.doubtful as usize
    }

    /// Decodes the next events; `false` at the end. Events in a block count as read.
    #[inline(never)]
    fn fill(&mut self) -> Result<bool> {
        loop {
            let doubtful = std::mem::take(&mut self.doubtful).then(|| self.block.last().copied());
            self.block.clear();
            self.at = 0;
            match self.block(doubtful.flatten()) {
                Ok(doubtful) => self.doubtful = doubtful,
                Err(error) => {
                    self.recording.over = true;
                    self.recording.left = 0;
                    self.block.clear();
                    return Err(error);
                }
            }
            // The first event of a block may already be doubtful.
            if !self.doubtful || self.ready() > 0 {
                return Ok(self.ready() > 0);
            }
        }
    }

    /// Decodes events into the empty block, after one of the block before that may have a defect; none at the end.
    /// `true` if the last one may have a defect.
    fn block(&mut self, doubtful: Option<Event>) -> Result<bool> {
        if let Some(event) = doubtful
            && self.is_kept(&event)?
        {
            self.block.push(event);
            self.recording.count(&self.block);
            return Ok(false);
        }
        let doubtful = self.recording.block(&mut self.block, &mut self.check)?;
        self.doubtful = doubtful;
        let ready = self.ready();
        self.recording.count(&self.block[..ready]);
        Ok(doubtful)
    }

    /// Whether the event that was decoded last is returned: it has no defect, or comes after a gap that is skipped.
    #[cold]
    fn is_kept(&mut self, event: &Event) -> Result<bool> {
        let inspector = &mut self.recording.inspector;
        let place = Place::Row(self.recording.number - 1);
        let checked = if has_no_price(&event.update) {
            EventCheckResult::Drop(Defect::BadValue {
                column: "price".to_owned(),
                value: "0".to_owned(),
                must: "a number above 0",
            })
        } else {
            self.check.check(event)
        };
        match checked {
            EventCheckResult::Good => Ok(true),
            EventCheckResult::Keep(defect) => inspector.defect(place, defect).map(|()| true),
            EventCheckResult::Drop(defect) => {
                inspector.report.rows += 1;
                inspector.defect(place, defect).map(|()| false)
            }
        }
    }
}

impl SnapshotSource for SnapshotSegments {
    #[inline]
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>> {
        while self.recording.next()? {
            let record = self.recording.codec.record();
            let Some(defect) = self.check.check(record) else {
                let report = &mut self.recording.inspector.report;
                report.snapshot(record, record.local_time);
                return Ok(Some(self.recording.codec.record()));
            };
            self.recording.leave_out(defect)?;
        }
        Ok(None)
    }

    fn grid(&self) -> Grid {
        self.recording.header.grid
    }

    fn report(&self) -> &Report {
        &self.recording.inspector.report
    }
}

impl EventSource for EventSegments {
    #[inline]
    fn next_event(&mut self) -> Result<Option<&Event>> {
        if self.at == self.ready() && !self.fill()? {
            return Ok(None);
        }
        let event = self.block.get(self.at);
        self.at += 1;
        Ok(event)
    }

    fn next_events(&mut self, events: &mut Vec<Event>) -> Result<()> {
        events.clear();
        if self.at == self.ready() && !self.fill()? {
            return Ok(());
        }
        if self.at == 0 && !self.doubtful {
            // A whole block is exchanged for the caller's buffer.
            std::mem::swap(events, &mut self.block);
        } else {
            let ready = self.ready();
            events.extend_from_slice(&self.block[self.at..ready]);
            self.at = ready;
        }
        Ok(())
    }

    fn grid(&self) -> Grid {
        self.recording.header.grid
    }

    fn report(&self) -> &Report {
        &self.recording.inspector.report
    }
}

/// The checks of recorded snapshots. Their times and gaps are checked by [`Recording`], the order of their levels by the
/// writer. Versions may go back, as they do when an exchange restarts. Only the best levels are read, because a year of
/// polls is read at little more than their decoding.
#[derive(Debug)]
struct RecordedCheck {
    prices: PriceCheck,
    tick: Step,
    max_gap: i64,
    last: Option<Digest>,
}

/// What distinguishes two snapshots of one time. The writer refuses a second one, so that only copies have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest {
    local_time: Timestamp,
    exchange_time: Timestamp,
    sequence: u64,
    best: [Option<Level>; 2],
    levels: [usize; 2],
}

impl RecordedCheck {
    const fn new(tick: Step, options: ReadOptions) -> Self {
        Self {
            prices: PriceCheck::new(tick, options.price_factor),
            tick,
            max_gap: options.max_gap_nanos,
            last: None,
        }
    }

    /// The next snapshot is compared with nothing.
    const fn forget(&mut self) {
        self.prices.forget();
        self.last = None;
    }

    #[inline]
    fn check(&mut self, snapshot: &Snapshot) -> Option<Defect> {
        let (local, exchange) = (snapshot.local_time, snapshot.exchange_time);
        if let Some((bid, ask)) = snapshot.crossing() {
            return Some(crossed(self.tick, bid, ask));
        }
        if local < exchange {
            return Some(Defect::NegativeLatency { exchange, local });
        }
        let digest = Digest {
            local_time: local,
            exchange_time: exchange,
            sequence: snapshot.sequence,
            best: [&snapshot.bids, &snapshot.asks].map(|side| side.first().copied()),
            levels: [snapshot.bids.len(), snapshot.asks.len()],
        };
        if self.last == Some(digest) {
            return Some(Defect::Duplicate { time: local });
        }
        let since = self.last.map_or(local, |last| last.local_time);
        let is_behind_gap = local.nanos_since(since) > self.max_gap;
        let defect = self.prices.check(snapshot, is_behind_gap);
        if defect.is_none() {
            self.last = Some(digest);
        }
        defect
    }
}

/// The records of all segments.
#[derive(Debug)]
struct Recording<C: Codec> {
    segments: Vec<PathBuf>,
    /// Index of the current segment.
    current: usize,
    segment: Option<Segment>,
    header: Header,
    options: ReadOptions,
    inspector: Inspector,
    /// Position of the last segment whose number was compared with the one before it.
    compared: usize,
    codec: C,
    /// Offsets in the payload, records left in it, and the number of the next record in the segment.
    at: (usize, usize),
    left: u32,
    number: u64,
    /// The time that a frame states of its first record, until that is decoded.
    stated: Option<Timestamp>,
    /// Time of the last snapshot.
    last: Timestamp,
    /// Whether the next record was already decoded by a search.
    ready: bool,
    over: bool,
}

impl<C: Codec> Recording<C> {
    fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let inspector = Inspector::new(path.display().to_string(), options.tolerance);
        let segments = if path.is_dir() {
            let numbers =
                folder::list(path).map_err(|error| inspector.error(Place::File, error))?;
            let paths = numbers.into_iter().map(|number| folder::path(path, number));
            paths.collect()
        } else {
            vec![path.to_owned()]
        };
        let Some(first) = segments.first() else {
            return inspector.format("the folder has no segments of recorded market data");
        };
        let inspector = Inspector {
            file: first.display().to_string(),
            ..inspector
        };
        let segment =
            Segment::open(first).map_err(|defect| inspector.error(Place::File, defect))?;
        let mut records = Self {
            current: 0,
            header: segment.header().clone(),
            segment: None,
            segments,
            options,
            inspector,
            compared: 0,
            codec: C::default(),
            at: (0, 0),
            left: 0,
            number: 0,
            stated: None,
            last: Timestamp(i64::MIN),
            ready: false,
            over: false,
        };
        records.enter(0)?;
        Ok(records)
    }

    /// Starts reading a segment.
    fn enter(&mut self, position: usize) -> Result<()> {
        let path = &self.segments[position];
        self.inspector.file = path.display().to_string();
        let is_last = position > 0 && position + 1 == self.segments.len();
        let segment = match Segment::open(path) {
            Ok(segment) => segment,
            Err(Defect::Format { .. }) if is_last && self.has_no_header(path)? => {
                let what = "before its header was written".to_owned();
                (self.segment, self.current, self.left) = (None, position, 0);
                return self
                    .inspector
                    .defect(Place::File, Defect::Truncated { what });
            }
            Err(defect) => return Err(self.inspector.error(Place::File, defect)),
        };
        if segment.content() != C::CONTENT {
            return self.inspector.format(match C::CONTENT {
                super::Content::Snapshots => "it holds events, not snapshots",
                super::Content::Events => "it holds snapshots, not events",
            });
        }
        if *segment.header() != self.header {
            return self
                .inspector
                .format("its market, tick or lot differs from that of the segment before it");
        }
        self.segment = Some(segment);
        self.current = position;
        (self.left, self.number) = (0, 0);
        Ok(())
    }

    /// Whether the power failed before the header of a segment was on the disk.
    fn has_no_header(&self, path: &Path) -> Result<bool> {
        let found = has_no_header(path, &opening::<C>(&self.header));
        found.map_err(|error| self.inspector.error(Place::File, error))
    }

    /// Decodes the next record and counts it; `false` at the end.
    #[inline]
    fn next(&mut self) -> Result<bool> {
        let next = if std::mem::take(&mut self.ready) {
            Ok(true)
        } else {
            self.step()
        };
        let next = next.and_then(|more| if more { self.account() } else { Ok(false) });
        if !matches!(next, Ok(true)) {
            (self.over, self.left) = (true, 0);
        }
        next
    }

    /// The defect of a time before that of an earlier record (segments in another order than they were written in, or
    /// a clock that was set back between two runs), or too long after it for a gap.
    #[inline]
    fn wrong_time(&self, time: Timestamp) -> Option<Defect> {
        let (clock, previous) = (C::CLOCK, self.last);
        if time < previous {
            return Some(Defect::BackwardTime {
                clock,
                time,
                previous,
            });
        }
        let is_late = self.is_behind_gap(time);
        is_late.then(|| too_late(clock, previous, time)).flatten()
    }

    /// Whether a time is longer after that of the last record than is allowed.
    #[inline]
    const fn is_behind_gap(&self, time: Timestamp) -> bool {
        time.nanos_since(self.last) > self.options.max_gap_nanos && self.last.0 != i64::MIN
    }

    /// Leaves out the record that was counted last, if its defect is tolerated.
    #[cold]
    fn leave_out(&mut self, defect: Defect) -> Result<()> {
        let place = Place::Row(self.number.saturating_sub(1));
        let left_out = self.inspector.defect(place, defect);
        if left_out.is_err() {
            (self.over, self.left) = (true, 0);
        }
        left_out
    }

    /// Decodes the next record; `false` at the end.
    #[inline]
    fn step(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.over || !self.next_frame()? {
                return Ok(false);
            }
        }
        let Some(segment) = &self.segment else {
            return Ok(false);
        };
        let payload = segment.payload();
        let mut cursor = Cursor::new(payload, self.at);
        let decoded = self.codec.decode(&mut cursor);
        if decoded.is_err() || cursor.places().1 + PADDING > payload.len() {
            self.damaged("a record cannot be decoded")?;
            return self.step();
        }
        self.at = cursor.places();
        if !self.is_as_stated(C::time(self.codec.record())) {
            self.damaged(MISSING_FRAMES)?;
            return self.step();
        }
        self.left -= 1;
        self.number += 1;
        Ok(true)
    }

    /// Whether the first record of a frame has the time that the frame states. Records are differences to those before
    /// them, so that another time shows that a frame before it is missing.
    #[inline]
    fn is_as_stated(&mut self, time: Timestamp) -> bool {
        self.stated.take().is_none_or(|stated| stated == time)
    }

    /// Counts the decoded record and checks for a gap before it. Records of wrong times are left out.
    #[inline]
    fn account(&mut self) -> Result<bool> {
        let mut time = C::time(self.codec.record());
        while let Some(defect) = self.wrong_time(time) {
            self.inspector.report.rows += 1;
            let place = Place::Row(self.number.saturating_sub(1));
            self.inspector.defect(place, defect)?;
            if !self.step()? {
                return Ok(false);
            }
            time = C::time(self.codec.record());
        }
        if self.is_behind_gap(time) {
            let defect = gap(self.last, time, self.options.max_gap_nanos);
            self.inspector.defect(Place::Row(self.number - 1), defect)?;
        }
        self.last = time;
        self.inspector.report.rows += 1;
        Ok(true)
    }

    /// Reads the next frame, of the next segment if the current one has ended; `false` at the end of the last.
    fn next_frame(&mut self) -> Result<bool> {
        let Some(segment) = &mut self.segment else {
            return Ok(false);
        };
        let offset = segment.offset();
        let place = Place::Row(self.number);
        match segment.next() {
            Ok(Next::Records(kind, count, first)) => {
                self.stated = Some(first);
                if kind == KEY {
                    self.codec.restart();
                } else if self.number == 0 {
                    self.damaged("it does not begin with a key frame")?;
                    return Ok(true);
                }
                let heads = usize::try_from(count).unwrap_or(usize::MAX);
                let values = heads
                    .saturating_mul(C::HEAD_BYTES)
                    .saturating_add(RECORDS_AT);
                (self.at, self.left) = ((RECORDS_AT, values), count);
                return Ok(true);
            }
            Ok(Next::Index | Next::End) => {}
            Ok(Next::Torn) => {
                let what = format!("in the middle of the frame at byte {offset}");
                self.inspector.defect(place, Defect::Truncated { what })?;
            }
            Err(defect) => self.inspector.defect(place, defect)?,
        }
        if self.current + 1 == self.segments.len() {
            return Ok(false);
        }
        self.enter(self.current + 1)?;
        self.compare_numbers()?;
        Ok(true)
    }

    /// Reports segments that are missing before the current one, once. Only the oldest are ever removed, so that
    /// numbers without a file in between are lost data, however short the time.
    fn compare_numbers(&mut self) -> Result<()> {
        let position = self.current;
        if position <= self.compared || self.options.max_gap_nanos == i64::MAX {
            return Ok(());
        }
        self.compared = position;
        let [before, number] =
            [position - 1, position].map(|at| folder::number(&self.segments[at]));
        let missing = before
            .zip(number)
            .map(|(before, number)| number - before - 1);
        match missing {
            Some(missing) if missing > 0 => {
                let defect = Defect::MissingSegments { missing };
                self.inspector.defect(Place::File, defect)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Leaves out the rest of the segment, if that is tolerated.
    #[cold]
    fn damaged(&mut self, what: &str) -> Result<()> {
        let what = what.to_owned();
        let place = Place::Row(self.number);
        self.inspector.defect(place, Defect::Damaged { what })?;
        self.left = 0;
        if self.current + 1 < self.segments.len() {
            self.enter(self.current + 1)?;
            self.compare_numbers()
        } else {
            self.segment = None;
            Ok(())
        }
    }

    /// The key frames of a segment.
    fn key_frames(&mut self, position: usize) -> Result<Vec<Entry>> {
        self.enter(position)?;
        let Some(segment) = &mut self.segment else {
            return Ok(Vec::new());
        };
        let found = segment.key_frames();
        found.map_err(|defect| self.inspector.error(Place::File, defect))
    }

    fn seek(&mut self, time: Timestamp) -> Result<()> {
        // Binary search for the last segment with a record at or before the time.
        let (mut low, mut high) = (0, self.segments.len());
        while low < high {
            let middle = low.midpoint(high);
            let first = self.key_frames(middle)?.first().map(|entry| entry.time);
            if first.is_some_and(|first| first <= time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.over, self.ready) = (false, false);
        self.last = Timestamp(i64::MIN);
        self.codec = C::default();
        let entries = self.key_frames(low.saturating_sub(1))?;
        let found = entries.partition_point(|entry| entry.time <= time);
        let Some(entry) = found.checked_sub(1).map(|at| entries[at]) else {
            return Ok(());
        };
        self.go_to(entry)?;
        // The number of records of this frame and the following that are not later than the time.
        let mut back = 0_u64;
        while self.step()? && C::time(self.codec.record()) <= time {
            back += 1;
        }
        self.codec = C::default();
        let position = low.saturating_sub(1);
        if self.current != position {
            self.enter(position)?;
        }
        self.go_to(entry)?;
        for _ in 0..back {
            self.step()?;
        }
        self.ready = back > 0;
        Ok(())
    }

    fn go_to(&mut self, entry: Entry) -> Result<()> {
        if let Some(segment) = &mut self.segment {
            let went = segment.seek(entry.offset);
            went.map_err(|defect| self.inspector.error(Place::File, defect))?;
        }
        (self.left, self.number) = (0, entry.record);
        Ok(())
    }
}

impl Recording<EventCodec> {
    /// Decodes events into an empty block; none at the end. `true` if the last one may have a defect.
    fn block(&mut self, block: &mut Vec<Event>, check: &mut EventCheck) -> Result<bool> {
        loop {
            while self.left == 0 {
                if self.over || !self.next_frame()? {
                    self.over = true;
                    return Ok(false);
                }
            }
            let Some(segment) = &self.segment else {
                return Ok(false);
            };
            let payload = segment.payload();
            let mut cursor = Cursor::new(payload, self.at);
            let left = usize::try_from(self.left).unwrap_or(usize::MAX);
            let count = left.min(BLOCK_EVENTS);
            let mut checked = *check;
            let decoded = self
                .codec
                .decode_block(&mut cursor, count, &mut checked, block);
            let places = cursor.places();
            let (Ok(doubtful), true) = (decoded, places.1 + PADDING <= payload.len()) else {
                block.clear();
                self.damaged("a record cannot be decoded")?;
                continue;
            };
            let first = block.first().map_or(Timestamp(0), EventCodec::time);
            if !self.is_as_stated(first) {
                block.clear();
                self.damaged(MISSING_FRAMES)?;
                continue;
            }
            *check = checked;
            let read = block.len();
            self.at = places;
            self.left -= u32::try_from(read).unwrap_or(self.left);
            self.number += read as u64;
            return Ok(doubtful);
        }
    }

    /// Counts returned events.
    fn count(&mut self, events: &[Event]) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return;
        };
        let report = &mut self.inspector.report;
        report.events(events);
        report.rows += events.len() as u64;
        report.kept += events.len() as u64;
        report.first = report.first.or(Some(first.exchange_time));
        report.last = Some(last.exchange_time);
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
