//! Reads a tape, including one that a crash has cut off.
//!
//! A crash leaves a file that ends too early, or (if the file system had already extended it) ends in zeros or in one
//! unfinished record. That is a torn tail: everything before it is valid and is returned. Damage anywhere else is an
//! error with its offset, because what follows cannot be trusted. A file that was cut off before its header was complete
//! holds nothing ([`empty_at`]).

use std::io::{self, Read};

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;

use crate::frame::{FORMAT, FRAME_BYTES, Frame, MAGIC, MARK_BYTES, TYPES_BYTES, UNTYPED};
use crate::record::{Header, Record};
use crate::versions::{self, RECORD};

/// Why a tape cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input failed.
    #[error("tape cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is not a tape.
    #[error("not a tape: the file does not begin with the magic bytes of a tape")]
    NotATape,
    /// Written by a later program.
    #[error(
        "tape has types that this program does not know (format {format}, types {types:#x}): a later version of the program wrote it; read it with that version"
    )]
    Version {
        /// Format in the file.
        format: u16,
        /// Identifier of the types in the file.
        types: u32,
    },
    /// The file ends before its header is complete.
    #[error("tape ends before its header is complete, at byte {offset}")]
    NoHeader {
        /// Where it ends.
        offset: u64,
    },
    /// A record was changed, or the bytes are not a record.
    #[error("tape is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where the record begins.
        offset: u64,
        /// The check that failed.
        what: &'static str,
    },
}

/// One entry after the header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one entry at a time is in memory"
)]
pub enum Entry {
    /// An event of the engine.
    Event {
        /// Time of the event.
        now: Time,
        /// The event.
        event: Event,
    },
    /// The actions that followed.
    Actions {
        /// All of them, in order.
        actions: Vec<Action>,
    },
}

/// How a tape ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// After a complete record.
    Clean,
    /// Within a record, which was left out.
    Torn {
        /// Where the unfinished record begins.
        offset: u64,
    },
}

enum Found {
    Record(Box<Record>),
    End(Tail),
}

/// Reads one tape from anything that gives bytes.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    /// Format in the file.
    format: u16,
    /// Version of the types inside.
    version: u32,
    /// Where the next record begins.
    offset: u64,
    header: Header,
    snapshot: Option<Vec<u8>>,
    /// An entry that was read while looking for a snapshot.
    ahead: Option<Entry>,
    tail: Option<Tail>,
    after_event: bool,
}

impl<R: Read> Reader<R> {
    /// Reads magic bytes, format, types, header and snapshot, in the current format or that of an earlier program.
    /// `input` should be buffered.
    pub fn open(input: R) -> Result<Self, ReadError> {
        let mut reader = Self::at_header(input)?;
        let at = reader.offset;
        match reader.record()? {
            Found::Record(record) => match *record {
                Record::Snapshot(state) => reader.snapshot = Some(state),
                other @ (Record::Header(_) | Record::Event { .. } | Record::Actions { .. }) => {
                    reader.ahead = Some(reader.entry(at, other)?);
                }
            },
            Found::End(tail) => reader.tail = Some(tail),
        }
        Ok(reader)
    }

    /// Reads up to the end of the header.
    fn at_header(mut input: R) -> Result<Self, ReadError> {
        let mut first = [0; MARK_BYTES];
        let got = fill(&mut input, &mut first)?;
        let mark = MAGIC.len().min(got);
        if first[..mark] != MAGIC[..mark] {
            // Extended by the file system before anything was written.
            if first.iter().all(|byte| *byte == 0) && only_zeros(&mut input)? {
                return Err(ReadError::NoHeader { offset: 0 });
            }
            return Err(ReadError::NotATape);
        }
        if got < MARK_BYTES {
            return Err(ReadError::NoHeader { offset: got as u64 });
        }
        let format = u16::from_le_bytes([first[8], first[9]]);
        let mut begin = MARK_BYTES;
        let types = match format {
            FORMAT => {
                let mut types = [0; TYPES_BYTES];
                let got = fill(&mut input, &mut types)?;
                begin += got;
                if got < TYPES_BYTES {
                    let offset = begin as u64;
                    return Err(ReadError::NoHeader { offset });
                }
                u32::from_le_bytes(types)
            }
            untyped if UNTYPED.contains(&untyped) => untyped.into(),
            _ => return Err(ReadError::Version { format, types: 0 }),
        };
        let version = versions::history().version_of(types);
        let mut reader = Self {
            input,
            format,
            version: version.ok_or(ReadError::Version { format, types })?,
            offset: begin as u64,
            header: Header::default(),
            snapshot: None,
            ahead: None,
            tail: None,
            after_event: false,
        };
        let begin = reader.offset;
        reader.header = match reader.record()? {
            Found::Record(record) => match *record {
                Record::Header(header) => header,
                Record::Snapshot(_) | Record::Event { .. } | Record::Actions { .. } => {
                    return Err(reader.damaged(begin, "the first record is not a header"));
                }
            },
            Found::End(_) => {
                return Err(ReadError::NoHeader {
                    offset: reader.offset,
                });
            }
        };
        Ok(reader)
    }

    /// The header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The state to restore before the first event; `None` if the first event is a start.
    pub fn snapshot(&self) -> Option<&[u8]> {
        self.snapshot.as_deref()
    }

    /// The next entry; `None` at the end, and [`Self::tail`] then has its kind.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        if let Some(entry) = self.ahead.take() {
            return Ok(Some(entry));
        }
        if self.tail.is_some() {
            return Ok(None);
        }
        let at = self.offset;
        match self.record()? {
            Found::Record(record) => self.entry(at, *record).map(Some),
            Found::End(tail) => {
                self.tail = Some(tail);
                Ok(None)
            }
        }
    }

    /// The format in the file, which determines the layout of the snapshot.
    pub const fn format(&self) -> u16 {
        self.format
    }

    /// How the tape ended; `None` before its end.
    pub const fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Bytes of all entries returned so far.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn entry(&mut self, at: u64, record: Record) -> Result<Entry, ReadError> {
        match record {
            Record::Event { now, event } if !self.after_event => {
                self.after_event = true;
                Ok(Entry::Event { now, event })
            }
            Record::Actions { actions } if self.after_event => {
                self.after_event = false;
                Ok(Entry::Actions { actions })
            }
            Record::Event { .. } | Record::Actions { .. } => {
                Err(self.damaged(at, "events and actions do not alternate"))
            }
            Record::Header(_) | Record::Snapshot(_) => {
                Err(self.damaged(at, "a header or snapshot record after the first event"))
            }
        }
    }

    /// An error after which no entry is returned.
    fn damaged(&mut self, offset: u64, what: &'static str) -> ReadError {
        self.tail = Some(Tail::Torn { offset });
        ReadError::Damaged { offset, what }
    }

    fn record(&mut self) -> Result<Found, ReadError> {
        let start = self.offset;
        let torn = Found::End(Tail::Torn { offset: start });
        let mut bytes = [0; FRAME_BYTES];
        match fill(&mut self.input, &mut bytes)? {
            0 => return Ok(Found::End(Tail::Clean)),
            FRAME_BYTES => {}
            _ => return Ok(torn),
        }
        let Some(frame) = Frame::from_bytes(bytes) else {
            // A file that was extended before its content was written ends in zeros.
            if self.only_zeros_follow()? {
                return Ok(torn);
            }
            return Err(self.damaged(start, "the check of a record's length failed"));
        };
        let mut payload = Vec::new();
        let length = u64::from(frame.length);
        let got = self.input.by_ref().take(length).read_to_end(&mut payload)?;
        if got as u64 != length {
            return Ok(torn);
        }
        if !frame.fits(&payload) {
            // The last record of a file may have its length but not all of its content.
            if self.only_zeros_follow()? {
                return Ok(torn);
            }
            return Err(self.damaged(start, "the check of a record's content failed"));
        }
        let mut rest = payload.as_slice();
        let record = versions::history().read(RECORD, self.version, &mut rest);
        let (Ok(record), []) = (record, rest) else {
            return Err(self.damaged(
                start,
                "a record cannot be decoded with the types of the tape's version",
            ));
        };
        self.offset = start + FRAME_BYTES as u64 + length;
        Ok(Found::Record(Box::new(record)))
    }

    fn only_zeros_follow(&mut self) -> Result<bool, ReadError> {
        Ok(only_zeros(&mut self.input)?)
    }
}

/// Where a tape ends whose header is not complete, because its writer was killed as it began it, or begins it now: it
/// holds nothing. `None` for any other file, a damaged one included. No more than the header is read; `input` should be
/// buffered.
pub fn empty_at(input: impl Read) -> io::Result<Option<u64>> {
    match Reader::at_header(input) {
        Err(ReadError::NoHeader { offset }) => Ok(Some(offset)),
        Err(ReadError::Io(error)) => Err(error),
        _ => Ok(None),
    }
}

/// Whether the rest of the input is zeros, or nothing.
fn only_zeros(input: &mut impl Read) -> io::Result<bool> {
    let mut block = [0; 4096];
    loop {
        let got = fill(input, &mut block)?;
        if block[..got].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        if got < block.len() {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
