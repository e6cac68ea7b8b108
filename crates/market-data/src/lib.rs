//! Recorded market data as streams.
//!
//! Readers of ticks in the normalised format of hftbacktest (`.npy`, `.npz`), depth snapshots in CSV or Parquet, and
//! our own compact format, row by row in bounded memory. Prices become whole ticks and quantities whole lots, exactly
//! ([`Grid`]). Bad input ends the reading with file and row, unless the caller tolerates its kind ([`Tolerance`]);
//! skipped defects are counted ([`Report`]).
//!
//! This crate uses files, but no clocks and no sockets, and knows nothing about own orders.

pub mod book;
mod check;
pub mod columns;
pub mod csv;
pub mod decimal;
pub mod defect;
mod delays;
pub mod event;
mod file;
pub mod first_bytes;
pub mod grid;
pub mod npy;
pub mod open;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod report;
pub mod segment;
pub mod shell;
pub mod snapshot;
mod snapshot_check;
pub mod source;
pub mod supplied;
pub mod time;
pub mod units;

pub use book::{Book, CrossedRows};
pub use check::{DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR};
pub use defect::{Defect, DefectKind, Error, Place, Result};
pub use delays::Delays;
pub use event::{Event, Update, Visibility};
pub use file::open_file;
pub use grid::{Grid, Step};
pub use open::{OpenOptions, Recording, open};
pub use report::{Report, Skipped, Tolerance, Views};
pub use snapshot::{Level, Snapshot};
pub use snapshot_check::power_of_ten;
pub use source::{EventSource, LiveRow, LiveSource, SnapshotSource};
pub use time::{TimeUnit, Timestamp};
