//! Recorded market data as streams.
//!
//! Ticks in the normalised format of hftbacktest (`.npy`, `.npz`), depth snapshots as CSV or Parquet,
//! and a compact format of our own are read row by row in bounded memory. Prices become whole ticks and quantities
//! whole lots, exactly ([`Grid`]). Bad input is named with file and row and ends the reading, unless
//! the caller tolerates its kind ([`Tolerance`]); what was skipped is counted ([`Report`]).
//!
//! This crate knows files, but no clock and no socket, and nothing about orders of our own.

pub mod book;
mod check;
pub mod columns;
pub mod csv;
pub mod decimal;
pub mod defect;
pub mod event;
pub mod grid;
pub mod npy;
pub mod open;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod report;
pub mod segment;
pub mod snapshot;
mod snapshot_check;
pub mod source;
pub mod time;
pub mod units;

pub use book::Book;
pub use check::DEFAULT_MAX_GAP_NANOS;
pub use defect::{Defect, DefectKind, Error, Place, Result};
pub use event::{Event, Update, Visibility};
pub use grid::{Grid, Step};
pub use open::{OpenOptions, Recording, open};
pub use report::{Report, Tolerance};
pub use snapshot::{Level, Snapshot};
pub use source::{EventSource, LiveRow, LiveSource, SnapshotSource};
pub use time::{TimeUnit, Timestamp};
