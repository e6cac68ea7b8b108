//! Parquet files: reads and writes depth snapshots, writes other tables.
//!
//! Columns have the names of [`crate::columns`]. Prices and quantities may be floats, integers or decimals; times are
//! timestamps of any precision, integers with the unit in their name, or text. Tick and lot are in the file's metadata
//! (`tick`, `lot`, and `price=ticks`, `qty=lots` for integer columns) or given by the caller. Files are compatible with
//! pandas, Polars, DuckDB and Arrow in both directions.

mod cells;
mod column;
mod reader;
mod writer;

pub use reader::{ParquetOptions, ParquetReader, find_grid};
pub use writer::{ColumnKind, DECIMAL_DIGITS, SnapshotWriter, TableWriter, Value};
