//! Frames: payloads with length and checksums.
//!
//! The length has a checksum of its own, so that a damaged length is distinguished from an incomplete frame and never
//! determines an allocation.

use super::{Content, Header};
use crate::grid::{Grid, Step};
use crate::time::Timestamp;

/// First bytes of a segment.
pub const MAGIC: &[u8; 8] = b"CAMBMKTD";
/// Last bytes of a finished one.
pub const END_MAGIC: &[u8; 8] = b"CAMBMKTI";
/// Version of the format; other versions are refused.
pub const VERSION: u16 = 1;
/// Bytes before the header.
pub const PREFIX_BYTES: usize = 10;
/// Bytes before a payload.
pub const FRAME_BYTES: usize = 12;
/// Bytes of the trailer, after the index.
pub const TRAILER_BYTES: usize = 20;
/// Most bytes of a payload.
pub const PAYLOAD_MAX_BYTES: usize = 16 << 20;

pub const KEY: u8 = 1;
pub const CONTINUATION: u8 = 2;
pub const INDEX: u8 = 3;

/// Bytes of a payload before its records.
pub const RECORDS_AT: usize = 13;

/// A key frame in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time of its first record.
    pub time: Timestamp,
    /// Its offset in the file.
    pub offset: u64,
    /// Number of records of the segment before it.
    pub record: u64,
}

const ENTRY_BYTES: usize = 24;

/// The first bytes of a segment.
pub fn prefix() -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// The bytes before a payload.
pub fn head(payload: &[u8]) -> [u8; FRAME_BYTES] {
    debug_assert!(payload.len() <= PAYLOAD_MAX_BYTES);
    let length = u32::try_from(payload.len())
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    let mut bytes = [0; FRAME_BYTES];
    bytes[..4].copy_from_slice(&length);
    bytes[4..8].copy_from_slice(&crc32fast::hash(&length).to_le_bytes());
    bytes[8..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    bytes
}

/// Length and checksum of the payload after a frame header; `None` if the header is invalid.
pub fn read_head(bytes: [u8; FRAME_BYTES]) -> Option<(usize, u32)> {
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let length = usize::try_from(word(0)).ok()?;
    let sound = crc32fast::hash(&bytes[..4]) == word(4) && length <= PAYLOAD_MAX_BYTES;
    sound.then(|| (length, word(8)))
}

/// The payload of a header.
pub fn header(content: Content, header: &Header) -> Vec<u8> {
    let mut bytes = vec![match content {
        Content::Snapshots => 1,
        Content::Events => 2,
    }];
    for step in [header.grid.tick, header.grid.lot] {
        bytes.extend_from_slice(&step.mantissa().to_le_bytes());
        bytes.push(step.scale());
    }
    bytes.push(u8::try_from(header.market.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(header.market.as_bytes());
    bytes
}

/// Reads the payload of a header.
pub fn read_header(payload: &[u8]) -> Option<(Content, Header)> {
    let (content, rest) = payload.split_first()?;
    let content = match content {
        1 => Content::Snapshots,
        2 => Content::Events,
        _ => return None,
    };
    let (tick, rest) = rest.split_first_chunk::<9>()?;
    let (lot, rest) = rest.split_first_chunk::<9>()?;
    let step = |bytes: &[u8; 9]| {
        let (mantissa, scale) = bytes.split_first_chunk::<8>()?;
        Step::new(u64::from_le_bytes(*mantissa), scale[0]).ok()
    };
    let (length, market) = rest.split_first()?;
    let market = (market.len() == usize::from(*length))
        .then(|| String::from_utf8(market.to_vec()).ok())??;
    let grid = Grid {
        tick: step(tick)?,
        lot: step(lot)?,
    };
    Some((content, Header { market, grid }))
}

/// Kind, number of records and first time of a payload of records.
pub fn read_records(payload: &[u8]) -> Option<(u8, u32, Timestamp)> {
    let (kind, rest) = payload.split_first()?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let time = rest.first_chunk::<8>()?;
    matches!(*kind, KEY | CONTINUATION).then(|| {
        let time = Timestamp(i64::from_le_bytes(*time));
        (*kind, u32::from_le_bytes(*count), time)
    })
}

/// The payload of an index.
pub fn index(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = vec![INDEX];
    bytes.extend_from_slice(
        &u32::try_from(entries.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    for entry in entries {
        bytes.extend_from_slice(&entry.time.0.to_le_bytes());
        bytes.extend_from_slice(&entry.offset.to_le_bytes());
        bytes.extend_from_slice(&entry.record.to_le_bytes());
    }
    bytes
}

/// Most key frames of an index.
pub const ENTRIES_MAX: usize = (PAYLOAD_MAX_BYTES - 5) / ENTRY_BYTES;

/// Reads the payload of an index.
pub fn read_index(payload: &[u8]) -> Option<Vec<Entry>> {
    let (kind, rest) = payload.split_first()?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
    let sound = *kind == INDEX && count.checked_mul(ENTRY_BYTES) == Some(rest.len());
    sound.then(|| {
        rest.chunks_exact(ENTRY_BYTES)
            .map(|bytes| {
                let word = |at: usize| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&bytes[at..at + 8]);
                    u64::from_le_bytes(word)
                };
                Entry {
                    time: Timestamp(word(0).cast_signed()),
                    offset: word(8),
                    record: word(16),
                }
            })
            .collect()
    })
}

/// The bytes after an index.
pub fn trailer(index_offset: u64) -> [u8; TRAILER_BYTES] {
    let offset = index_offset.to_le_bytes();
    let mut bytes = [0; TRAILER_BYTES];
    bytes[..8].copy_from_slice(&offset);
    bytes[8..12].copy_from_slice(&crc32fast::hash(&offset).to_le_bytes());
    bytes[12..].copy_from_slice(END_MAGIC);
    bytes
}

/// Offset of the index, from the last bytes of a file; `None` if it has none.
pub fn read_trailer(bytes: [u8; TRAILER_BYTES]) -> Option<u64> {
    let (offset, rest) = bytes.split_first_chunk::<8>()?;
    let (check, magic) = rest.split_first_chunk::<4>()?;
    let sound = crc32fast::hash(offset) == u32::from_le_bytes(*check) && magic == END_MAGIC;
    sound.then(|| u64::from_le_bytes(*offset))
}
