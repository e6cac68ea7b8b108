//! A tape in segments, so that recording can continue without end in bounded space.
//!
//! Each segment is a complete tape. The first of a run begins with the start event; each later one begins with a
//! snapshot of the running engine, which the caller takes between two events. When all segments together exceed their
//! limit, the oldest are removed, and so are segments that were last written too long ago.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::record::Header;
use crate::writer::{WriteError, Writer};

/// An existing segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub number: u64,
    /// Its size.
    pub bytes: u64,
    /// When it was last written, seconds since the Unix epoch.
    pub written_s: u64,
}

/// Storage of segments, by number.
pub trait Shelf {
    /// One open segment.
    type File: Write;

    /// Existing segments, lowest number first.
    fn list(&self) -> io::Result<Vec<Segment>>;
    /// Creates a segment that must not exist yet.
    fn create(&mut self, number: u64) -> io::Result<Self::File>;
    /// Removes a segment.
    fn remove(&mut self, number: u64) -> io::Result<()>;
}

/// Limits of size and age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size at which the next segment is due.
    pub segment_bytes: u64,
    /// Span of time at which the next segment is due, milliseconds.
    pub segment_ms: u64,
    /// Size of all segments together, including the one being written.
    pub total_bytes: u64,
    /// Age since its last write after which a segment is removed, seconds.
    pub keep_s: u64,
}

/// Why recording cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// A record was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A segment could not be listed, created or removed.
    #[error("tape segment {number}: {source}")]
    Shelf {
        /// Its number.
        number: u64,
        /// Why.
        source: io::Error,
    },
    /// The next segment was due long ago, and the caller gave no snapshot.
    #[error("tape segment {number} has reached the limit of all segments, {limit} bytes")]
    Full {
        /// Its number.
        number: u64,
        /// The limit.
        limit: u64,
    },
}

/// Writes segments.
#[derive(Debug)]
pub struct Segments<S: Shelf> {
    shelf: S,
    header: Header,
    limits: Limits,
    /// Finished segments, oldest first.
    finished: VecDeque<Segment>,
    number: u64,
    writer: Writer<S::File>,
    /// Times of the first and the newest event of the current segment.
    span: Option<(Time, Time)>,
}

impl<S: Shelf> Segments<S> {
    /// Starts the first segment of a run after the existing ones. `now_s` is the time in seconds since the Unix epoch.
    pub fn begin(
        mut shelf: S,
        header: Header,
        limits: Limits,
        now_s: u64,
    ) -> Result<Self, SegmentError> {
        let failed = |number| move |source| SegmentError::Shelf { number, source };
        let finished: VecDeque<_> = shelf.list().map_err(failed(0))?.into();
        let last = finished.back().map_or(0, |last| last.number);
        let number = last.saturating_add(1);
        let file = shelf.create(number).map_err(failed(number))?;
        let mut segments = Self {
            writer: Writer::new(file, &header, None)?,
            shelf,
            header,
            limits,
            finished,
            number,
            span: None,
        };
        segments.make_room(now_s)?;
        Ok(segments)
    }

    /// As [`Writer::write_event`].
    pub fn write_event(&mut self, now: Time, event: &Event) -> Result<(), SegmentError> {
        if self.writer.written() >= self.limits.total_bytes {
            return Err(SegmentError::Full {
                number: self.number,
                limit: self.limits.total_bytes,
            });
        }
        let begin = self.span.map_or(now, |(begin, _)| begin);
        self.span = Some((begin, now));
        Ok(self.writer.write_event(now, event)?)
    }

    /// As [`Writer::write_actions`].
    pub fn write_actions(&mut self, actions: &[Action]) -> Result<(), SegmentError> {
        Ok(self.writer.write_actions(actions)?)
    }

    /// As [`Writer::flush`].
    pub fn flush(&mut self) -> Result<(), SegmentError> {
        Ok(self.writer.flush()?)
    }

    /// Whether the next segment should begin: take a snapshot and call [`Self::rotate`].
    pub fn is_due(&self) -> bool {
        let is_long = |(begin, end): (Time, Time)| end.ms_since(begin) >= self.limits.segment_ms;
        self.writer.written() >= self.limits.segment_bytes || self.span.is_some_and(is_long)
    }

    /// Ends the current segment and starts the next one with the current state of the engine. `now_s` is the time in
    /// seconds since the Unix epoch.
    pub fn rotate(&mut self, snapshot: &[u8], now_s: u64) -> Result<(), SegmentError> {
        self.writer.flush()?;
        let next = self.number.saturating_add(1);
        let file = self
            .shelf
            .create(next)
            .map_err(|source| SegmentError::Shelf {
                number: next,
                source,
            })?;
        let writer = Writer::new(file, &self.header, Some(snapshot))?;
        self.finished.push_back(Segment {
            number: self.number,
            bytes: self.writer.written(),
            written_s: now_s,
        });
        self.writer = writer;
        self.number = next;
        self.span = None;
        self.make_room(now_s)
    }

    /// Number of the current segment.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The open segment, for a sync after a flush.
    pub fn get_ref(&self) -> &S::File {
        self.writer.get_ref()
    }

    /// Flushes and returns the last segment.
    pub fn finish(self) -> Result<S::File, SegmentError> {
        Ok(self.writer.finish()?)
    }

    /// Removes the oldest segments until the rest, together with one full segment, is within the limit and none is too
    /// old.
    fn make_room(&mut self, now_s: u64) -> Result<(), SegmentError> {
        let room = self
            .limits
            .total_bytes
            .saturating_sub(self.limits.segment_bytes.max(self.writer.written()));
        let mut kept: u64 = self.finished.iter().map(|segment| segment.bytes).sum();
        while let Some(&Segment {
            number,
            bytes,
            written_s,
        }) = self.finished.front()
        {
            let is_old = now_s.saturating_sub(written_s) > self.limits.keep_s;
            if kept <= room && !is_old {
                break;
            }
            self.finished.pop_front();
            self.shelf
                .remove(number)
                .map_err(|source| SegmentError::Shelf { number, source })?;
            kept -= bytes;
        }
        Ok(())
    }
}

/// Segments as files `0000000001.tape` in one folder, readable by their owner only.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// An existing folder.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file of a segment.
    pub fn file(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:010}.tape"))
    }
}

impl Shelf for Folder {
    type File = File;

    fn list(&self) -> io::Result<Vec<Segment>> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let Some(number) = number_of(&entry.path()) {
                let data = entry.metadata()?;
                let written = data.modified()?.duration_since(UNIX_EPOCH);
                segments.push(Segment {
                    number,
                    bytes: data.len(),
                    written_s: written.map_or(0, |since| since.as_secs()),
                });
            }
        }
        segments.sort_unstable_by_key(|segment| segment.number);
        Ok(segments)
    }

    fn create(&mut self, number: u64) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.file(number))
    }

    fn remove(&mut self, number: u64) -> io::Result<()> {
        fs::remove_file(self.file(number))
    }
}

/// The number in a segment's file name; `None` for other files in the folder.
fn number_of(path: &Path) -> Option<u64> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".tape")?;
    let digits = stem.len() == 10 && stem.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| stem.parse().ok()).flatten()
}
