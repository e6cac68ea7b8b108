//! Parquet files: depth snapshots are read and written, tables of other things written.
//!
//! Columns have the names of [`crate::columns`]. Prices and quantities may be floats, integers or
//! decimals; times are timestamps of any precision, integers with the unit in their name, or text. Tick
//! and lot are in the file's metadata (`tick`, `lot`, and `price=ticks`, `qty=lots` where the columns
//! hold whole ones), or the caller says them. pandas, Polars, DuckDB and Arrow read what is written
//! here, and what they write with their defaults is read.

mod cells;
mod column;
mod reader;
mod writer;

pub use reader::{ParquetOptions, ParquetReader, find_grid};
pub use writer::{ColumnKind, SnapshotWriter, TableWriter, Value};
