//! Our own compact recordings: a folder of append-only segments with checksums.
//!
//! ```text
//! segment = "CAMBMKTD" version:u16 header frame* (index trailer)?
//! frame   = length:u32 check(length):u32 check(payload):u32 payload       little-endian, CRC-32
//! header  = a frame: content:u8 tick:u64,u8 lot:u64,u8 length:u8 market
//! payload = kind:u8 count:u32 first time:i64 head* value*   1: key frame, 2: continues the one before
//!           kind:u8 count:u32 (time:i64 offset:u64 record:u64)*               3: index
//! trailer = offset of the index:u64 check(offset):u32 "CAMBMKTI"
//! ```
//! A record says what changed since the one before ([`snapshots`], [`events`]); a key frame begins with
//! everything, so that reading may begin there. The index of a finished segment names its key frames; an
//! unfinished one is walked from frame to frame. What was flushed survives a crash of the process, what
//! was synced that of the machine. A crash leaves a segment without its end, or with a part of a frame
//! behind the last whole one: the next writer of the folder cuts that part off and writes the index;
//! without one, readers name it as [`crate::DefectKind::Truncated`].
//!
//! Files are called `0000000001.mkt` and so on; a writer holds a lock on the file `lock`.

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

/// What the records of a segment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Depth snapshots.
    Snapshots,
    /// Single events.
    Events,
}

/// What a recording is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Name of the market, at most 255 bytes.
    pub market: String,
    /// Tick and lot of its prices and quantities.
    pub grid: Grid,
}

/// How records are written as differences. Writer and reader keep the same state.
pub trait Codec: Default {
    /// A record.
    type Record;
    /// What it is called in headers.
    const CONTENT: Content;

    /// Bytes of a record's head.
    const HEAD_BYTES: usize;

    /// Forgets the records before: a key frame begins.
    fn restart(&mut self);
    /// The time by which records are found.
    fn time(record: &Self::Record) -> Timestamp;
    /// Why a record cannot be written, if it cannot.
    fn refuse(&self, record: &Self::Record) -> Option<&'static str>;
    /// Appends a record that was not refused.
    fn encode(&mut self, record: &Self::Record, out: &mut Records);
    /// Reads the next record into the state.
    fn decode(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Nonsense>;
    /// The record read last.
    fn record(&self) -> &Self::Record;
}
