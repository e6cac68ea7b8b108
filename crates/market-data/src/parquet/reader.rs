//! Reads depth snapshots from a Parquet file, wide or long, in batches of rows.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::column::reader::ColumnReader;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;
use cambist_core::{Price, Qty, Side};

use super::cells::{self, bad, is_empty};
use super::column::{Cell, Column};
use crate::check::{DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR, EventCheckResult};
use crate::columns::{Columns, LEVELS_MAX, Levels};
use crate::defect::{Defect, Place, Result};
use crate::file::open_file;
use crate::grid::{Grid, StepFinder};
use crate::open::Current;
use crate::report::{Inspector, Report, Tolerance};
use crate::snapshot::{Level, Snapshot};
use crate::snapshot_check::SnapshotCheck;
use crate::source::SnapshotSource;
use crate::time::TimeUnit;
use crate::units::{Unit, Units};

/// Rows that are decoded at a time.
const BATCH: usize = 512;

/// Options for reading a Parquet file.
#[derive(Clone, Debug)]
pub struct ParquetOptions {
    /// Units that the file does not state.
    pub units: Units,
    /// Tick and lot if neither the file nor the units state them.
    pub default_grid: Option<Grid>,
    /// Columns to ignore.
    pub ignored_columns: Vec<String>,
    /// Defects that are skipped instead of ending the reading.
    pub tolerance: Tolerance,
    /// Longest time between two snapshots, in nanoseconds.
    pub max_gap_nanos: i64,
    /// Best prices that are about this factor, or further, away from those of the row before are a defect; `None` if
    /// only powers of ten are.
    pub price_factor: Option<u32>,
}

impl Default for ParquetOptions {
    /// The file states all units; nothing is skipped; gaps up to a minute; prices up to about twice or half of those before.
    fn default() -> Self {
        Self {
            units: Units::default(),
            default_grid: None,
            ignored_columns: Vec::new(),
            tolerance: Tolerance::NONE,
            max_gap_nanos: DEFAULT_MAX_GAP_NANOS,
            price_factor: Some(DEFAULT_PRICE_FACTOR),
        }
    }
}

/// Reads snapshots row by row.
pub struct ParquetReader {
    rows: Rows,
    inspector: Inspector,
    grid: Grid,
    price: Unit,
    qty: Unit,
    /// Unit of integer local and exchange times.
    time: Option<TimeUnit>,
    exchange_time: Option<TimeUnit>,
    columns: Columns,
    check: SnapshotCheck,
    snapshot: Snapshot,
    over: bool,
}

impl std::fmt::Debug for ParquetReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetReader").finish_non_exhaustive()
    }
}

/// The rows of a file in batches, with the needed columns only.
struct Rows {
    file: SerializedFileReader<File>,
    /// By position in the file; `None` for unneeded columns.
    columns: Vec<Option<Column>>,
    /// Of the current row group.
    readers: Vec<Option<ColumnReader>>,
    /// The next row group.
    group: usize,
    /// Rows of the batch, and the next one in it.
    len: usize,
    next: usize,
    /// Number of the next row in the file, counted from 0.
    row: u64,
}

fn damaged(error: &ParquetError) -> Defect {
    let what = match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => {
            text.clone()
        }
        other => other.to_string(),
    };
    Defect::Damaged { what }
}

/// Runs code of the library. Its assertions can fail on damaged files, so a panic counts as a defect of the file.
fn guarded<T>(run: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(ParquetError::General("invalid values".to_owned())))
}

/// Whether the columns of every row group are within the file, which the library assumes.
fn is_sound(file: &SerializedFileReader<File>, len: u64) -> bool {
    let within = |column: &ColumnChunkMetaData| {
        let begin = column
            .dictionary_page_offset()
            .unwrap_or(column.data_page_offset());
        let end = begin.checked_add(column.compressed_size());
        let end = end.and_then(|end| u64::try_from(end).ok());
        begin >= 0 && column.compressed_size() >= 0 && end.is_some_and(|end| end <= len)
    };
    let groups = file.metadata().row_groups();
    groups
        .iter()
        .all(|group| group.columns().iter().all(within))
}

impl Rows {
    /// Moves to the next row: its index in the batch, `None` at the end of the file.
    fn advance(&mut self) -> std::result::Result<Option<usize>, Defect> {
        while self.next == self.len {
            if !guarded(|| self.batch()).map_err(|error| damaged(&error))? {
                return Ok(None);
            }
        }
        self.next += 1;
        self.row += 1;
        Ok(Some(self.next - 1))
    }

    /// Reads the next batch; `false` at the end.
    fn batch(&mut self) -> std::result::Result<bool, ParquetError> {
        (self.len, self.next) = (0, 0);
        loop {
            if self.readers.is_empty() {
                if self.group == self.file.num_row_groups() {
                    return Ok(false);
                }
                let group = self.file.get_row_group(self.group)?;
                self.group += 1;
                for (at, column) in self.columns.iter().enumerate() {
                    let reader = column.as_ref().map(|_| group.get_column_reader(at));
                    self.readers.push(reader.transpose()?);
                }
            }
            let mut len = None;
            for (column, reader) in self.columns.iter_mut().zip(&mut self.readers) {
                if let (Some(column), Some(reader)) = (column, reader) {
                    let read = column.read(reader, BATCH)?;
                    if *len.get_or_insert(read) != read {
                        let what = "columns of one row group have different numbers of rows";
                        return Err(ParquetError::General(what.to_owned()));
                    }
                }
            }
            match len {
                Some(len) if len > 0 => {
                    self.len = len;
                    return Ok(true);
                }
                _ => self.readers.clear(),
            }
        }
    }

    fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        let column = self.columns.get(column).and_then(Option::as_ref);
        column.map_or(Cell::Null, |column| column.cell(row))
    }
}

/// The name of a column; for a nested one, that of the outermost.
fn name(column: &ColumnDescriptor) -> &str {
    column.path().parts().first().map_or("", String::as_str)
}

/// Opens a file; finds its columns and metadata.
fn open(
    path: &Path,
    inspector: &Inspector,
    options: &ParquetOptions,
) -> Result<(Rows, Columns, Units)> {
    let io = |error| inspector.error(Place::File, error);
    let file = open_file(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    let file = match guarded(|| SerializedFileReader::new(file)) {
        Ok(file) => file,
        Err(error) => {
            let what = format!("it is not a Parquet file, or its end is missing: {error}");
            return inspector.format(what);
        }
    };
    if !is_sound(&file, len) {
        return inspector.format("its metadata refers to offsets outside the file: it is damaged");
    }
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<_> = schema
        .columns()
        .iter()
        .map(|c| name(c).to_owned())
        .collect();
    for (name, column) in names.iter().zip(schema.columns()) {
        let nested = column.max_rep_level() > 0 || column.path().parts().len() > 1;
        if nested && !options.ignored_columns.contains(name) {
            return inspector.format(format!(
                "wrong columns: {name:?} is a list or a struct; expected one value per row"
            ));
        }
    }
    let columns = Columns::find(names.iter().map(String::as_str), &options.ignored_columns);
    let columns = columns.or_else(|what| inspector.format(what))?;
    let mut units = Units::default();
    let metadata = file.metadata().file_metadata().key_value_metadata();
    for pair in metadata.into_iter().flatten() {
        if let Some(value) = &pair.value {
            let key = &pair.key;
            let read = units.property(key, value);
            read.or_else(|must| {
                inspector.format(format!(
                    "{key}={value} in its metadata: {key} must be {must}"
                ))
            })?;
        }
    }
    let units = units.and(options.units);
    let units = units.or_else(|what| inspector.format(what))?;
    let mut found = Vec::with_capacity(names.len());
    for (name, column) in names.iter().zip(schema.columns()) {
        let needed = !options.ignored_columns.contains(name);
        let column = needed.then(|| Column::new(column)).transpose();
        found.push(column.or_else(|what| inspector.format(what))?);
    }
    let rows = Rows {
        file,
        columns: found,
        readers: Vec::new(),
        group: 0,
        len: 0,
        next: 0,
        row: 0,
    };
    Ok((rows, columns, units))
}

impl ParquetReader {
    /// Opens a file.
    pub fn open(path: &Path, options: &ParquetOptions) -> Result<Self> {
        let inspector = Inspector::new(path.display().to_string(), options.tolerance);
        let (rows, columns, units) = open(path, &inspector, options)?;
        let Some(grid) = units.grid_or(options.default_grid) else {
            return inspector.format(
                "tick and lot are not known: set them with --tick and --lot, or in the file's metadata \
                 as tick and lot",
            );
        };
        let time = columns.time.1.or(units.time);
        let exchange = columns.exchange_time.and_then(|column| column.1);
        Ok(Self {
            rows,
            inspector,
            grid,
            price: units.price.unwrap_or(Unit::Decimal),
            qty: units.qty.unwrap_or(Unit::Decimal),
            time,
            exchange_time: exchange.or(units.time),
            columns,
            check: SnapshotCheck::new(options.max_gap_nanos, grid.tick, options.price_factor),
            snapshot: Snapshot::default(),
            over: false,
        })
    }

    /// Continues with another file of the same recording: times go on where this one ended, and the
    /// report covers both.
    pub fn continue_with(self, path: &Path, options: &ParquetOptions) -> Result<Self> {
        let mut next = Self::open(path, options)?;
        next.check = self.check;
        next.inspector.report = self.inspector.report;
        if next.grid != self.grid {
            return next
                .inspector
                .format("its tick or lot differs from that of the file before it");
        }
        Ok(next)
    }

    /// Moves to the next row; damage ends the file.
    fn next_row(&mut self) -> Result<Option<usize>> {
        match self.rows.advance() {
            Ok(row) => Ok(row),
            Err(defect) => {
                self.inspector.defect(Place::Row(self.rows.row), defect)?;
                Ok(None)
            }
        }
    }

    fn advance(&mut self) -> Result<bool> {
        while let Some(row) = self.next_row()? {
            let mut place = Place::Row(self.rows.row - 1);
            self.inspector.report.rows += 1;
            self.snapshot.bids.clear();
            self.snapshot.asks.clear();
            let read = self.times(row).and_then(|()| self.levels(row));
            let read = match (read, &self.columns.levels) {
                (read, Levels::Long { .. }) => {
                    let (at, read) = self.rest_of_long(row, place, read)?;
                    place = at;
                    read
                }
                (read, Levels::Wide { .. }) => read,
            };
            if let Err(defect) = read {
                self.inspector.defect(place, defect)?;
                continue;
            }
            match self.check.check(&self.snapshot) {
                EventCheckResult::Good => {}
                EventCheckResult::Keep(defect) => self.inspector.defect(place, defect)?,
                EventCheckResult::Drop(defect) => {
                    self.inspector.defect(place, defect)?;
                    continue;
                }
            }
            let time = self.snapshot.exchange_time;
            self.inspector.report.snapshot(&self.snapshot, time);
            return Ok(true);
        }
        Ok(false)
    }

    fn times(&mut self, row: usize) -> std::result::Result<(), Defect> {
        let columns = &self.columns;
        let local = cells::time(self.rows.cell(columns.time.0, row), "time", self.time)?;
        self.snapshot.local_time = local;
        self.snapshot.exchange_time = match columns.exchange_time {
            None => local,
            Some((at, _)) => {
                let cell = self.rows.cell(at, row);
                cells::time(cell, "exchange_time", self.exchange_time)?
            }
        };
        self.snapshot.sequence = match columns.sequence {
            None => 0,
            Some(at) => cells::sequence(self.rows.cell(at, row))?,
        };
        Ok(())
    }

    /// The levels of a row.
    fn levels(&mut self, row: usize) -> std::result::Result<(), Defect> {
        let (rows, grid) = (&self.rows, self.grid);
        let level = |price, qty, names: &dyn Fn(&str) -> String| {
            let price = cells::count(price, self.price, grid.tick, "tick", || names("px"))?;
            let qty = cells::count(qty, self.qty, grid.lot, "lot", || names("qty"))?;
            Ok::<_, Defect>(Level {
                price: Price(price),
                qty: Qty(qty),
            })
        };
        match &self.columns.levels {
            Levels::Wide { bids, asks } => {
                for (word, columns, levels) in [
                    ("bid", bids, &mut self.snapshot.bids),
                    ("ask", asks, &mut self.snapshot.asks),
                ] {
                    let mut over = false;
                    for (number, (price, qty)) in (1..).zip(columns) {
                        let names = |what: &str| format!("{word}_{what}_{number}");
                        let (price, qty) = (rows.cell(*price, row), rows.cell(*qty, row));
                        if is_empty(price) && is_empty(qty) {
                            over = true;
                            continue;
                        }
                        if over {
                            return Err(bad(
                                &names("px"),
                                price,
                                "empty, because a better level is empty",
                            ));
                        }
                        levels.push(level(price, qty, &names)?);
                    }
                }
            }
            Levels::Long {
                side,
                price,
                quantity,
            } => {
                let side = cells::side(rows.cell(*side, row))?;
                let (price, qty) = (rows.cell(*price, row), rows.cell(*quantity, row));
                let level = level(price, qty, &ToOwned::to_owned)?;
                match side {
                    Side::Buy => self.snapshot.bids.push(level),
                    Side::Sell => self.snapshot.asks.push(level),
                }
            }
        }
        Ok(())
    }

    /// Reads the other rows of a snapshot in long form, even if one of them is bad; the whole snapshot is then left
    /// out. Returns the row of the first defect.
    fn rest_of_long(
        &mut self,
        first: usize,
        place: Place,
        mut read: std::result::Result<(), Defect>,
    ) -> Result<(Place, std::result::Result<(), Defect>)> {
        let mut place = place;
        let key = |this: &Self, row| {
            let columns = &this.columns;
            let exchange = columns.exchange_time.map(|column| column.0);
            [Some(columns.time.0), exchange, columns.sequence]
                .map(|at| at.map(|at| key_of(this.rows.cell(at, row))))
        };
        let this_key = key(self, first);
        loop {
            let Some(row) = self.next_row()? else {
                return Ok((place, read));
            };
            if key(self, row) != this_key {
                // This row begins the next snapshot.
                self.rows.next -= 1;
                self.rows.row -= 1;
                return Ok((place, read));
            }
            if read.is_ok() {
                read = self.levels(row);
                if read.is_err() {
                    place = Place::Row(self.rows.row - 1);
                }
            }
            if self.snapshot.bids.len().max(self.snapshot.asks.len()) > LEVELS_MAX {
                let what = "too many levels in one snapshot: do all rows have the same time?";
                return self.inspector.format(what);
            }
        }
    }
}

/// The values that all rows of one snapshot share, in a form that outlives the batch.
#[derive(PartialEq)]
enum Key {
    Number(i128),
    Text(Vec<u8>),
}

fn key_of(cell: Cell<'_>) -> Key {
    match cell {
        Cell::Whole { value, .. } => Key::Number(value),
        Cell::Nanos(nanos) => Key::Number(i128::from(nanos)),
        Cell::Float(value) => Key::Number(i128::from(value.to_bits())),
        Cell::Text(text) => Key::Text(text.to_vec()),
        Cell::Null => Key::Text(Vec::new()),
    }
}

impl Current for ParquetReader {
    type Row = Snapshot;

    fn step(&mut self) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        let more = self.advance();
        self.over = !matches!(more, Ok(true));
        more
    }

    fn current(&self) -> &Snapshot {
        &self.snapshot
    }

    fn steps(&self) -> Grid {
        self.grid
    }

    fn account(&self) -> &Report {
        &self.inspector.report
    }
}

impl SnapshotSource for ParquetReader {
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>> {
        let more = self.step()?;
        Ok(more.then_some(&self.snapshot))
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.inspector.report
    }
}

/// Finds tick and lot of a Parquet file with decimals: the largest steps that divide all prices and quantities of its
/// first `rows` rows. `None` if they do not determine them. Reading verifies every row.
pub fn find_grid(path: &Path, rows: u64, options: &ParquetOptions) -> Result<Option<Grid>> {
    let inspector = Inspector::new(path.display().to_string(), options.tolerance);
    let (mut table, columns, _) = open(path, &inspector, options)?;
    let pairs = match &columns.levels {
        Levels::Wide { bids, asks } => [&bids[..], asks].concat(),
        Levels::Long {
            price, quantity, ..
        } => vec![(*price, *quantity)],
    };
    let (mut tick, mut lot) = (StepFinder::default(), StepFinder::default());
    for _ in 0..rows {
        let row = table.advance();
        let row = row.map_err(|defect| inspector.error(Place::Row(table.row), defect))?;
        let Some(row) = row else { break };
        for (price, qty) in &pairs {
            cells::learn(table.cell(*price, row), &mut tick);
            cells::learn(table.cell(*qty, row), &mut lot);
        }
    }
    let steps = tick.step().zip(lot.step());
    Ok(steps.map(|(tick, lot)| Grid { tick, lot }))
}
