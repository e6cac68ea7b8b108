//! A tape in segments, so that recording may go on for ever in bounded space.
//!
//! Each segment is a whole tape. The first of a run begins with the start event; each later one begins
//! with a snapshot of the running engine, taken by the caller between two events. When all segments
//! together exceed their limit, the oldest go.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::record::Header;
use crate::writer::{WriteError, Writer};

/// Where segments are kept, by number.
pub trait Shelf {
    /// One open segment.
    type File: Write;

    /// Segments that exist, with their sizes in bytes, lowest number first.
    fn list(&self) -> io::Result<Vec<(u64, u64)>>;
    /// Begins a segment that must not exist yet.
    fn create(&mut self, number: u64) -> io::Result<Self::File>;
    /// Takes a segment away.
    fn remove(&mut self, number: u64) -> io::Result<()>;
}

/// How large things may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A segment of this size is due for the next one.
    pub segment_bytes: u64,
    /// All segments together, the one being written included.
    pub total_bytes: u64,
}

/// Why recording cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// A record was not written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A segment could not be listed, begun or removed.
    #[error("tape segment {number}: {source}")]
    Shelf {
        /// Its number.
        number: u64,
        /// Why.
        source: io::Error,
    },
    /// The segment was due for the next one long ago, and the caller gave no snapshot.
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
    finished: VecDeque<(u64, u64)>,
    number: u64,
    writer: Writer<S::File>,
}

impl<S: Shelf> Segments<S> {
    /// Begins the first segment of a run after those that exist.
    pub fn begin(mut shelf: S, header: Header, limits: Limits) -> Result<Self, SegmentError> {
        let failed = |number| move |source| SegmentError::Shelf { number, source };
        let finished: VecDeque<_> = shelf.list().map_err(failed(0))?.into();
        let number = finished.back().map_or(1, |last| last.0.saturating_add(1));
        let file = shelf.create(number).map_err(failed(number))?;
        let mut segments = Self {
            writer: Writer::new(file, &header, None)?,
            shelf,
            header,
            limits,
            finished,
            number,
        };
        segments.make_room()?;
        Ok(segments)
    }

    /// As [`Writer::heard`].
    pub fn heard(&mut self, now: Time, event: &Event) -> Result<(), SegmentError> {
        if self.writer.written() >= self.limits.total_bytes {
            return Err(SegmentError::Full {
                number: self.number,
                limit: self.limits.total_bytes,
            });
        }
        Ok(self.writer.heard(now, event)?)
    }

    /// As [`Writer::did`].
    pub fn did(&mut self, actions: &[Action]) -> Result<(), SegmentError> {
        Ok(self.writer.did(actions)?)
    }

    /// As [`Writer::flush`].
    pub fn flush(&mut self) -> Result<(), SegmentError> {
        Ok(self.writer.flush()?)
    }

    /// Whether the next segment should begin: take a snapshot and call [`Self::rotate`].
    pub const fn is_due(&self) -> bool {
        self.writer.written() >= self.limits.segment_bytes
    }

    /// Ends the segment and begins the next with the state of the engine as it is now.
    pub fn rotate(&mut self, snapshot: &[u8]) -> Result<(), SegmentError> {
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
        self.finished
            .push_back((self.number, self.writer.written()));
        self.writer = writer;
        self.number = next;
        self.make_room()
    }

    /// Number of the segment being written.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The open segment, for a sync after a flush.
    pub fn get_ref(&self) -> &S::File {
        self.writer.get_ref()
    }

    /// Flushes and gives the last segment back.
    pub fn finish(self) -> Result<S::File, SegmentError> {
        Ok(self.writer.finish()?)
    }

    /// Removes the oldest segments until those left, with one full segment, keep the limit.
    fn make_room(&mut self) -> Result<(), SegmentError> {
        let room = self
            .limits
            .total_bytes
            .saturating_sub(self.limits.segment_bytes.max(self.writer.written()));
        let mut kept: u64 = self.finished.iter().map(|segment| segment.1).sum();
        while kept > room {
            let Some((number, bytes)) = self.finished.pop_front() else {
                break;
            };
            self.shelf
                .remove(number)
                .map_err(|source| SegmentError::Shelf { number, source })?;
            kept -= bytes;
        }
        Ok(())
    }
}

/// Segments as files `0000000001.tape` of one folder, readable by their owner only.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A folder that exists.
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

    fn list(&self) -> io::Result<Vec<(u64, u64)>> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let Some(number) = number_of(&entry.path()) {
                segments.push((number, entry.metadata()?.len()));
            }
        }
        segments.sort_unstable();
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

/// The number in a segment's file name; anything else in the folder is not ours.
fn number_of(path: &Path) -> Option<u64> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".tape")?;
    let digits = stem.len() == 10 && stem.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| stem.parse().ok()).flatten()
}
