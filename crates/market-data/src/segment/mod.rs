//! Compact recordings: a folder of append-only segments with checksums.
//!
//! ```text
//! segment = "CAMBMKTD" version:u16 header frame* (index trailer)?
//! frame   = length:u32 check(length):u32 check(payload):u32 payload       little-endian, CRC-32
//! header  = a frame: content:u8 tick:u64,u8 lot:u64,u8 length:u8 market
//! payload = kind:u8 count:u32 first time:i64 head* value*   1: key frame, 2: continues the one before
//!           kind:u8 count:u32 (time:i64 offset:u64 record:u64)*               3: index
//! trailer = offset of the index:u64 check(offset):u32 "CAMBMKTI"
//! ```
//! A record is encoded as the difference to the one before ([`snapshots`], [`events`]); a key frame begins with a
//! complete record, so that reading can start there. The index of a finished segment lists its key frames; an
//! unfinished one is scanned frame by frame. Flushed data survives a crash of the process, synced data one of the
//! machine. A crash leaves a segment without an index, possibly with an incomplete frame at its end: the next writer of
//! the folder truncates it and writes the index; until then readers report it as [`crate::DefectKind::Truncated`].
//!
//! Frames have no numbers. That one is missing is noticed by the time of the first record in a frame that continues it,
//! and, in a finished segment, by the place of the index. Of an unfinished segment, frames before a key frame, or at the
//! end, can be missing unnoticed.
//!
//! Files are named `0000000001.mkt` and so on, and only the oldest are ever removed; a writer locks the file `lock`.

pub mod events;
mod file;
mod folder;
mod frame;
mod reader;
pub mod snapshots;
mod wire;
mod writer;

use crate::grid::Grid;
use crate::time::Timestamp;
pub use reader::{EventSegments, ReadOptions, SnapshotSegments, content};
pub use wire::{Cursor, Nonsense, Records};
pub use writer::{EventWriter, Limits, SnapshotWriter, WriteError};

/// Type of a segment's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Depth snapshots.
    Snapshots,
    /// Single events.
    Events,
}

/// The market of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Name of the market, at most 255 bytes.
    pub market: String,
    /// Tick and lot of its prices and quantities.
    pub grid: Grid,
}

/// Encoding of records as differences. Writer and reader keep the same state.
pub trait Codec: Default {
    /// A record.
    type Record;
    /// The value in headers.
    const CONTENT: Content;
    /// The clock of the time by which records are found: `exchange` or `local`.
    const CLOCK: &'static str;

    /// Bytes of a record's fixed part.
    const HEAD_BYTES: usize;

    /// Resets the state at the beginning of a key frame.
    fn restart(&mut self);
    /// The time by which records are found.
    fn time(record: &Self::Record) -> Timestamp;
    /// Why a record cannot be encoded, if it cannot.
    fn refuse(&self, record: &Self::Record) -> Option<&'static str>;
    /// Appends a record that can be encoded.
    fn encode(&mut self, record: &Self::Record, out: &mut Records);
    /// Decodes the next record into the state.
    fn decode(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Nonsense>;
    /// The last record decoded.
    fn record(&self) -> &Self::Record;
}
