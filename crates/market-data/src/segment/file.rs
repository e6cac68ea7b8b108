//! One segment file: frames, index, trailer.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::frame::{self, Entry, FRAME_BYTES, INDEX, KEY, PREFIX_BYTES, TRAILER_BYTES};
use super::wire::PADDING;
use super::{Content, Header};
use crate::defect::Defect;
use crate::file::open_file;
use crate::time::Timestamp;

/// What follows at an offset of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A frame of records: its kind, the number of records, and the time of the first one.
    Records(u8, u32, Timestamp),
    /// The index: there are no more records.
    Index,
    /// The end of the file: the segment was not finished.
    End,
    /// An incomplete frame at the end of the file.
    Torn,
}

/// Reads the frames of a segment.
#[derive(Debug)]
pub struct Segment {
    frames: Frames,
    /// Offset of the first frame of records.
    begin: u64,
    content: Content,
    header: Header,
}

impl Segment {
    /// Opens a segment and reads its header.
    pub fn open(path: &Path) -> Result<Self, Defect> {
        let file = open_file(path)?;
        let length = file.metadata()?.len();
        let format = |what: &str| Defect::Format {
            what: what.to_owned(),
        };
        let mut frames = Frames {
            input: BufReader::with_capacity(256 << 10, file),
            length,
            offset: PREFIX_BYTES as u64,
            payload: Vec::new(),
        };
        let mut prefix = [0; PREFIX_BYTES];
        let got = frames.read(&mut prefix)?;
        if got < PREFIX_BYTES || prefix[..8] != *frame::MAGIC {
            return Err(format("it is not a segment of recorded market data"));
        }
        let version = u16::from_le_bytes([prefix[8], prefix[9]]);
        if version != frame::VERSION {
            return Err(Defect::Format {
                what: format!(
                    "format {version} is not supported; this program reads format {}",
                    frame::VERSION
                ),
            });
        }
        if !frames.next()? {
            return Err(format("its header is incomplete"));
        }
        let header = frame::read_header(frames.records());
        let (content, header) = header.ok_or_else(|| format("its header is invalid"))?;
        Ok(Self {
            begin: frames.offset,
            frames,
            content,
            header,
        })
    }

    /// The type of its records.
    pub const fn content(&self) -> Content {
        self.content
    }

    /// The market of the recording.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Offset of the next frame.
    pub const fn offset(&self) -> u64 {
        self.frames.offset
    }

    /// Payload of the last frame read, followed by [`PADDING`].
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.frames.payload
    }

    /// Reads the next frame.
    pub fn next(&mut self) -> Result<Next, Defect> {
        let offset = self.frames.offset;
        if offset == self.frames.length {
            return Ok(Next::End);
        }
        if !self.frames.next()? {
            return Ok(Next::Torn);
        }
        let payload = self.frames.records();
        match frame::read_records(payload) {
            Some((kind, count, first)) => Ok(Next::Records(kind, count, first)),
            None if payload.first() == Some(&INDEX) => self.check_trailer(offset),
            None => Err(Defect::Damaged {
                what: "a frame of an unknown kind".to_owned(),
            }),
        }
    }

    /// Compares the offset of an index that was read with the trailer: frames before it may be missing.
    fn check_trailer(&mut self, offset: u64) -> Result<Next, Defect> {
        let mut bytes = [0; TRAILER_BYTES];
        self.frames.read(&mut bytes)?;
        match frame::read_trailer(bytes) {
            Some(stated) if stated != offset => Err(Defect::Damaged {
                what: format!(
                    "its index was written at byte {stated} and is at byte {offset}: frames are missing"
                ),
            }),
            _ => Ok(Next::Index),
        }
    }

    /// Moves to a frame.
    pub fn seek(&mut self, offset: u64) -> Result<(), Defect> {
        self.frames.input.seek(SeekFrom::Start(offset))?;
        self.frames.offset = offset;
        Ok(())
    }

    /// The key frames, from the index or by scanning. Reading continues at the first record.
    pub fn key_frames(&mut self) -> Result<Vec<Entry>, Defect> {
        let found = match self.read_index()? {
            Some(entries) => entries,
            None => self.walk()?.entries,
        };
        self.seek(self.begin)?;
        Ok(found)
    }

    /// The index of a finished segment.
    pub fn read_index(&mut self) -> Result<Option<Vec<Entry>>, Defect> {
        let Some(at) = self.frames.length.checked_sub(TRAILER_BYTES as u64) else {
            return Ok(None);
        };
        let mut bytes = [0; TRAILER_BYTES];
        self.seek(at)?;
        self.frames.read(&mut bytes)?;
        let Some(offset) = frame::read_trailer(bytes).filter(|offset| *offset < at) else {
            return Ok(None);
        };
        self.seek(offset)?;
        Ok(if self.frames.next()? {
            frame::read_index(self.frames.records())
        } else {
            None
        })
    }

    /// Scans the frames of an unfinished segment, as far as they are complete.
    pub fn walk(&mut self) -> Result<Walk, Defect> {
        self.seek(self.begin)?;
        let mut entries = Vec::new();
        let mut record = 0;
        loop {
            let offset = self.frames.offset;
            match self.next()? {
                Next::Records(kind, count, time) => {
                    if kind == KEY {
                        entries.push(Entry {
                            time,
                            offset,
                            record,
                        });
                    }
                    record += u64::from(count);
                }
                Next::Index | Next::End | Next::Torn => {
                    let end = offset;
                    return Ok(Walk { entries, end });
                }
            }
        }
    }
}

/// The frames of a file.
#[derive(Debug)]
struct Frames {
    input: BufReader<File>,
    /// Length of the file when it was opened.
    length: u64,
    /// Offset of the next frame.
    offset: u64,
    /// The last payload read, followed by [`PADDING`].
    payload: Vec<u8>,
}

impl Frames {
    /// The payload without the padding.
    fn records(&self) -> &[u8] {
        &self.payload[..self.payload.len().saturating_sub(PADDING)]
    }

    /// Reads a frame; `false` if the file ends within it.
    fn next(&mut self) -> Result<bool, Defect> {
        let mut head = [0; FRAME_BYTES];
        if self.read(&mut head)? < FRAME_BYTES {
            return Ok(false);
        }
        let Some((length, check)) = frame::read_head(head) else {
            // Some file systems leave zeros after the written data.
            return if self.rest_is_zero()? {
                Ok(false)
            } else {
                Err(Defect::Damaged {
                    what: format!("the frame at byte {}", self.offset),
                })
            };
        };
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        payload.resize(length + PADDING, 0);
        let got = self.read(&mut payload[..length])?;
        let fits = got == length && crc32fast::hash(&payload[..length]) == check;
        self.payload = payload;
        let end = self.offset + (FRAME_BYTES + length) as u64;
        if fits {
            self.offset = end;
            Ok(true)
        } else if end >= self.length || self.rest_is_zero()? {
            // The last frame of a file may have been written partially, in any order.
            Ok(false)
        } else {
            Err(Defect::Damaged {
                what: format!("the frame at byte {}", self.offset),
            })
        }
    }

    fn rest_is_zero(&mut self) -> Result<bool, Defect> {
        let mut bytes = [0; 4_096];
        loop {
            let got = self.read(&mut bytes)?;
            if bytes[..got].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if got < bytes.len() {
                return Ok(true);
            }
        }
    }

    /// Fills a buffer as far as the file goes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Defect> {
        let mut got = 0;
        while got < buffer.len() {
            match self.input.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(bytes) => got += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Defect::Io(error)),
            }
        }
        Ok(got)
    }
}

/// Result of scanning an unfinished segment.
#[derive(Debug)]
pub struct Walk {
    /// Its key frames.
    pub entries: Vec<Entry>,
    /// Offset after the last complete frame.
    pub end: u64,
}
