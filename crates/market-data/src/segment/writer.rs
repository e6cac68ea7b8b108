//! Writes recordings: appends records, starts new segments, repairs segments after a crash.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::events::EventCodec;
use super::file::Segment;
use super::frame::{self, CONTINUATION, ENTRIES_MAX, Entry, KEY, RECORDS_AT};
use super::snapshots::SnapshotCodec;
use super::{Codec, Header, Records, folder};
use crate::defect::Defect;
use crate::time::Timestamp;

/// Records snapshots.
pub type SnapshotWriter = SegmentWriter<SnapshotCodec>;
/// Records events.
pub type EventWriter = SegmentWriter<EventCodec>;

/// A frame is written when it has this many bytes.
const FRAME_TARGET_BYTES: usize = 64 << 10;

/// Size limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The first frame beyond this size starts a new segment.
    pub segment_bytes: u64,
    /// Number of records between two key frames, which bounds the work of a search.
    pub key_records: u32,
    /// Total size of all segments: the oldest are removed beyond it, the current one is kept.
    pub total_bytes: Option<u64>,
}

impl Default for Limits {
    /// Segments of 64 MiB, key frames every 1,024 records, nothing is removed.
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            key_records: 1_024,
            total_bytes: None,
        }
    }
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The record cannot be encoded; the recording continues without it.
    #[error("a record was left out of the recording: {0}")]
    Refused(&'static str),
    /// The name of the market is longer than 255 bytes.
    #[error("the name of a market has at most 255 bytes")]
    MarketName,
    /// Another process records into this folder.
    #[error("{}: another process records into this folder", .0.display())]
    Locked(PathBuf),
    /// The folder has a recording of another market or format.
    #[error("{}: {what}", path.display())]
    Other {
        /// A segment of it.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// A file could not be written; the recording has ended.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Appends records to the segments of a folder.
#[derive(Debug)]
pub struct SegmentWriter<C: Codec> {
    folder: PathBuf,
    header: Header,
    limits: Limits,
    codec: C,
    /// Locked until the end.
    _lock: File,
    /// Finished segments with their sizes, oldest first.
    finished: Vec<(u64, u64)>,
    number: u64,
    open: Option<Open>,
    /// The frame being built: kind and time of its first record, and the records.
    frame: (u8, Timestamp),
    records: Records,
    count: u32,
    /// Buffer of payloads.
    payload: Vec<u8>,
    /// Records since the last key frame, those of the current payload included.
    since_key: u32,
    failed: bool,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    bytes: u64,
    records: u64,
    index: Vec<Entry>,
}

impl<C: Codec> SegmentWriter<C> {
    /// Starts a recording in a folder, created if necessary, after the records that it has. A segment that a crash has
    /// left unfinished is repaired first.
    pub fn begin(path: &Path, header: Header, limits: Limits) -> Result<Self, WriteError> {
        if header.market.len() > usize::from(u8::MAX) {
            return Err(WriteError::MarketName);
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WriteError::Io { path, source }
        };
        fs::create_dir_all(path).map_err(failed(path))?;
        let lock_path = folder::lock(path);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WriteError::Locked(path.to_owned())),
            Err(TryLockError::Error(source)) => return Err(failed(&lock_path)(source)),
        }
        let mut finished = Vec::new();
        let mut number = 1;
        for segment in folder::list(path).map_err(failed(path))? {
            let file = folder::path(path, segment);
            number = segment;
            if repair::<C>(&file, &header)? {
                let bytes = fs::metadata(&file).map_err(failed(&file))?.len();
                finished.push((segment, bytes));
                // The number of one that was removed is used again: a number without a file is lost data.
                number = segment + 1;
            }
        }
        let mut writer = Self {
            folder: path.to_owned(),
            header,
            limits,
            codec: C::default(),
            _lock: lock,
            finished,
            number,
            open: None,
            frame: (KEY, Timestamp(0)),
            records: Records::default(),
            count: 0,
            payload: Vec::new(),
            since_key: 0,
            failed: false,
        };
        // Runs that are shorter than a segment leave one each.
        writer.make_room()?;
        Ok(writer)
    }

    /// Appends a record. It is in the file after [`Self::flush`], or when a frame is full.
    pub fn write(&mut self, record: &C::Record) -> Result<(), WriteError> {
        if self.failed {
            return Err(WriteError::Refused("the recording has ended with an error"));
        }
        if let Some(why) = self.codec.refuse(record) {
            return Err(WriteError::Refused(why));
        }
        if self.count == 0 {
            self.begin_frame(C::time(record))?;
        }
        self.codec.encode(record, &mut self.records);
        self.count += 1;
        self.since_key += 1;
        if self.records.bytes() >= FRAME_TARGET_BYTES || self.since_key >= self.limits.key_records {
            self.flush()?;
        }
        Ok(())
    }

    /// Passes everything to the operating system, so that it survives a crash of the process.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.count == 0 {
            return Ok(());
        }
        let count = std::mem::take(&mut self.count);
        let (kind, time) = self.frame;
        self.payload.clear();
        self.payload.push(kind);
        self.payload.extend_from_slice(&count.to_le_bytes());
        self.payload.extend_from_slice(&time.0.to_le_bytes());
        debug_assert_eq!(self.payload.len(), RECORDS_AT);
        self.payload.extend_from_slice(&self.records.heads);
        self.payload.extend_from_slice(&self.records.values);
        self.records.clear();
        let head = frame::head(&self.payload);
        if let Some(open) = &mut self.open {
            let written = open
                .file
                .write_all(&head)
                .and_then(|()| open.file.write_all(&self.payload));
            open.bytes += (head.len() + self.payload.len()) as u64;
            open.records += u64::from(count);
            if let Err(source) = written {
                self.failed = true;
                let path = open.path.clone();
                return Err(WriteError::Io { path, source });
            }
        }
        Ok(())
    }

    /// Flushes and waits until everything is on disk.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        let Some(open) = &self.open else {
            return Ok(());
        };
        open.file.sync_data().map_err(|source| {
            self.failed = true;
            let path = open.path.clone();
            WriteError::Io { path, source }
        })
    }

    /// Ends the recording: the last segment gets its index and is synced.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.flush()?;
        self.finish_segment()
    }

    /// Starts a frame, and a segment if there is none or the last one is full.
    fn begin_frame(&mut self, time: Timestamp) -> Result<(), WriteError> {
        let full = |open: &Open| {
            open.bytes >= self.limits.segment_bytes || open.index.len() >= ENTRIES_MAX
        };
        let is_full = self.open.as_ref().is_some_and(full);
        let key_is_due =
            self.open.is_none() || is_full || self.since_key >= self.limits.key_records;
        if key_is_due {
            if is_full {
                self.finish_segment()?;
            }
            if self.open.is_none() {
                self.begin_segment()?;
            }
            self.codec.restart();
            self.since_key = 0;
            if let Some(open) = &mut self.open {
                open.index.push(Entry {
                    time,
                    offset: open.bytes,
                    record: open.records,
                });
            }
        }
        self.frame = (if key_is_due { KEY } else { CONTINUATION }, time);
        Ok(())
    }

    fn begin_segment(&mut self) -> Result<(), WriteError> {
        let path = folder::path(&self.folder, self.number);
        let bytes = opening::<C>(&self.header);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let file = options.open(&path).and_then(|mut file| {
            file.write_all(&bytes)?;
            folder::sync(&self.folder)?;
            Ok(file)
        });
        let file = file.map_err(|source| {
            self.failed = true;
            WriteError::Io {
                path: path.clone(),
                source,
            }
        })?;
        self.open = Some(Open {
            path,
            file,
            bytes: bytes.len() as u64,
            records: 0,
            index: Vec::new(),
        });
        Ok(())
    }

    fn finish_segment(&mut self) -> Result<(), WriteError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let index = end_of(open.bytes, &open.index);
        let done = open
            .file
            .write_all(&index)
            .and_then(|()| open.file.sync_all());
        if let Err(source) = done {
            self.failed = true;
            let path = open.path;
            return Err(WriteError::Io { path, source });
        }
        let bytes = open.bytes + index.len() as u64;
        self.finished.push((self.number, bytes));
        self.number += 1;
        self.make_room()
    }

    /// Removes the oldest segments until the rest, with one full segment, is within the limit.
    fn make_room(&mut self) -> Result<(), WriteError> {
        let Some(total) = self.limits.total_bytes else {
            return Ok(());
        };
        let room = total.saturating_sub(self.limits.segment_bytes);
        let mut kept: u64 = self.finished.iter().map(|segment| segment.1).sum();
        while kept > room && !self.finished.is_empty() {
            let (number, bytes) = self.finished.remove(0);
            let path = folder::path(&self.folder, number);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(WriteError::Io { path, source });
                }
                _ => kept -= bytes,
            }
        }
        Ok(())
    }
}

/// Index and trailer of a segment of this length.
fn end_of(bytes: u64, entries: &[Entry]) -> Vec<u8> {
    let index = frame::index(entries);
    let mut end = frame::head(&index).to_vec();
    end.extend_from_slice(&index);
    end.extend_from_slice(&frame::trailer(bytes));
    end
}

/// Finishes an unfinished segment; `false` if it was empty and was removed.
fn repair<C: Codec>(path: &Path, header: &Header) -> Result<bool, WriteError> {
    let other = |what: String| WriteError::Other {
        path: path.to_owned(),
        what,
    };
    let failed = |source| WriteError::Io {
        path: path.to_owned(),
        source,
    };
    let of_defect = |defect| match defect {
        Defect::Io(source) => failed(source),
        defect => other(defect.to_string()),
    };
    let mut segment = match Segment::open(path) {
        Ok(segment) => segment,
        Err(Defect::Format { .. })
            if has_no_header(path, &opening::<C>(header)).map_err(failed)? =>
        {
            fs::remove_file(path).map_err(failed)?;
            return Ok(false);
        }
        Err(defect) => return Err(of_defect(defect)),
    };
    if segment.content() != C::CONTENT || segment.header() != header {
        return Err(other(
            "it is a recording of another market, tick, lot or content; record into another folder"
                .to_owned(),
        ));
    }
    let walk = match segment.read_index() {
        Ok(Some(_)) => return Ok(true),
        Ok(None) => segment.walk(),
        Err(defect) => Err(defect),
    };
    let walk = match walk {
        Ok(walk) => walk,
        // A damaged segment is kept, and readers report it. The recording continues in a new one.
        Err(Defect::Damaged { .. }) => return Ok(true),
        Err(defect) => return Err(of_defect(defect)),
    };
    let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    file.set_len(walk.end)
        .and_then(|()| file.write_all(&end_of(walk.end, &walk.entries)))
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    Ok(true)
}

/// The first bytes of a segment.
pub(super) fn opening<C: Codec>(header: &Header) -> Vec<u8> {
    let header = frame::header(C::CONTENT, header);
    let mut bytes = frame::prefix().to_vec();
    bytes.extend_from_slice(&frame::head(&header));
    bytes.extend_from_slice(&header);
    bytes
}

/// Whether a crash happened before the header was written: there is a part of it, followed at most by zeros.
pub(super) fn has_no_header(path: &Path, opening: &[u8]) -> io::Result<bool> {
    let mut file = BufReader::new(File::open(path)?);
    let mut bytes = Vec::new();
    (&mut file)
        .take(opening.len() as u64)
        .read_to_end(&mut bytes)?;
    let same = bytes.iter().zip(opening).take_while(|(a, b)| a == b);
    let same = same.count();
    if bytes[same..].iter().any(|byte| *byte != 0) {
        return Ok(false);
    }
    loop {
        let more = file.fill_buf()?;
        if more.is_empty() || more.iter().any(|byte| *byte != 0) {
            return Ok(more.is_empty());
        }
        let length = more.len();
        file.consume(length);
    }
}
