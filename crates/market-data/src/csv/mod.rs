//! Depth snapshots in CSV, wide or long; see [`crate::columns`] for the columns.
//!
//! Comment lines before the header give the units of the columns, and so may the caller; nothing is guessed:
//!
//! ```text
//! # ETH-USDC tick=0.01 lot=0.001 price=decimal qty=decimal
//! time_ms,bid_px_1,bid_qty_1,ask_px_1,ask_qty_1
//! 1723161256302,2684.49,0.194,2684.50,12.5
//! ```
//! `tick` and `lot`: prices and quantities must be multiples of them. `price` and `qty`: `decimal` (the default), or
//! whole `ticks` and `lots`. `time`: the unit of a column named just `time`; without it such a column holds RFC 3339.
//! Cells of absent levels are empty.

mod cells;
mod table;
mod writer;

use std::io::Read;
use std::path::Path;

use ::csv::ByteRecord;
use cambist_core::{Price, Qty, Side};

use crate::check::{DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR, EventCheckResult};
use crate::columns::{Columns, Levels};
use crate::decimal::Decimal;
use crate::defect::{Defect, Place, Result};
use crate::file::open_file;
use crate::grid::{Grid, StepFinder};
use crate::open::Current;
use crate::report::{Inspector, Report, Tolerance};
use crate::snapshot::{Level, Snapshot};
use crate::snapshot_check::SnapshotCheck;
use crate::source::SnapshotSource;
pub use crate::units::{Unit, Units};
use cells::Cells;
use table::{Row, Table};
pub use writer::CsvWriter;

/// Options for reading a CSV file.
#[derive(Clone, Debug)]
pub struct CsvOptions {
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

impl Default for CsvOptions {
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
pub struct CsvReader {
    table: Table,
    cells: Cells,
    columns: Columns,
    check: SnapshotCheck,
    snapshot: Snapshot,
    over: bool,
}

impl std::fmt::Debug for CsvReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvReader").finish_non_exhaustive()
    }
}

impl CsvReader {
    /// Opens a file.
    pub fn open(path: &Path, options: &CsvOptions) -> Result<Self> {
        let inspector = Inspector::new(path.display().to_string(), options.tolerance);
        let file = open_file(path).map_err(|error| inspector.error(Place::File, error))?;
        Self::with(file, inspector, options)
    }

    /// Reads text; `name` is used in errors.
    pub fn new(
        input: impl Read + Send + 'static,
        name: &str,
        options: &CsvOptions,
    ) -> Result<Self> {
        Self::with(input, Inspector::new(name, options.tolerance), options)
    }

    fn with(
        input: impl Read + Send + 'static,
        inspector: Inspector,
        options: &CsvOptions,
    ) -> Result<Self> {
        let (table, columns, units) = Table::begin(Box::new(input), inspector, options)?;
        let cells = match Cells::new(&columns, &units, options.default_grid) {
            Ok(cells) => cells,
            Err(what) => return table.inspector.format(what),
        };
        Ok(Self {
            check: SnapshotCheck::new(options.max_gap_nanos, cells.grid.tick, options.price_factor),
            table,
            cells,
            columns,
            snapshot: Snapshot::default(),
            over: false,
        })
    }

    /// Continues with another file of the same recording: times go on where this one ended, and the
    /// report covers both.
    pub fn continue_with(self, path: &Path, options: &CsvOptions) -> Result<Self> {
        let mut next = Self::open(path, options)?;
        next.check = self.check;
        next.table.inspector.report = self.table.inspector.report;
        if next.cells.grid != self.cells.grid {
            return next
                .table
                .inspector
                .format("its tick or lot differs from that of the file before it");
        }
        Ok(next)
    }

    /// Reads the next valid snapshot; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        while let Some(row) = self.table.next()? {
            let place = row.place;
            self.table.inspector.report.rows += 1;
            let first = &self.table.record;
            let read = self
                .table
                .check(row)
                .and_then(|()| self.cells.times(&self.columns, first, &mut self.snapshot));
            self.snapshot.bids.clear();
            self.snapshot.asks.clear();
            let read = match (&self.columns.levels, read) {
                (Levels::Wide { bids, asks }, Ok(())) => {
                    let cells = &self.cells;
                    cells
                        .side(first, Side::Buy, bids, &mut self.snapshot.bids)
                        .and_then(|()| cells.side(first, Side::Sell, asks, &mut self.snapshot.asks))
                        .map_err(|defect| (place, defect))
                }
                (Levels::Wide { .. }, Err(defect)) => Err((place, defect)),
                (Levels::Long { .. }, read) => {
                    let read = read.map_err(|defect| (place, defect));
                    self.long(row, read)?
                }
            };
            let inspector = &mut self.table.inspector;
            if let Err((place, defect)) = read {
                inspector.defect(place, defect)?;
                continue;
            }
            match self.check.check(&self.snapshot) {
                EventCheckResult::Good => {}
                EventCheckResult::Keep(defect) => inspector.defect(place, defect)?,
                EventCheckResult::Drop(defect) => {
                    inspector.defect(place, defect)?;
                    continue;
                }
            }
            let time = self.snapshot.exchange_time;
            inspector.report.snapshot(&self.snapshot, time);
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads all rows of a snapshot in long form, even if one of them is bad; the whole snapshot is then left out. The
    /// outer error is the file's.
    fn long(
        &mut self,
        first: Row,
        mut read: std::result::Result<(), (Place, Defect)>,
    ) -> Result<std::result::Result<(), (Place, Defect)>> {
        let Levels::Long {
            side,
            price,
            quantity,
        } = self.columns.levels
        else {
            return Ok(read);
        };
        let key = Cells::key(&self.columns, &self.table.record);
        let mut row = first;
        loop {
            if read.is_ok() {
                let record = &self.table.record;
                let level = self
                    .table
                    .check(row)
                    .and_then(|()| self.cells.level(record, side, price, quantity));
                let place = row.place;
                match level {
                    Ok((Side::Buy, level)) => self.snapshot.bids.push(level),
                    Ok((Side::Sell, level)) => self.snapshot.asks.push(level),
                    Err(defect) => read = Err((place, defect)),
                }
                if self.snapshot.bids.len().max(self.snapshot.asks.len())
                    > crate::columns::LEVELS_MAX
                {
                    let what = "too many levels in one snapshot: do all rows have the same time?";
                    return Err(self.table.inspector.error(
                        place,
                        Defect::Format {
                            what: what.to_owned(),
                        },
                    ));
                }
            }
            match self.table.next()? {
                None => return Ok(read),
                Some(next) => {
                    if Cells::key(&self.columns, &self.table.record) != key {
                        self.table.again = Some(next);
                        return Ok(read);
                    }
                    row = next;
                }
            }
        }
    }
}

impl Current for CsvReader {
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
        self.cells.grid
    }

    fn account(&self) -> &Report {
        &self.table.inspector.report
    }
}

impl SnapshotSource for CsvReader {
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>> {
        let more = self.step()?;
        Ok(more.then_some(&self.snapshot))
    }

    fn grid(&self) -> Grid {
        self.cells.grid
    }

    fn report(&self) -> &Report {
        &self.table.inspector.report
    }
}

/// Finds tick and lot of a CSV file with decimals: the largest steps that divide all prices and quantities of its first
/// `rows` rows. `None` if they do not determine them. Reading verifies every row.
pub fn find_grid(path: &Path, rows: u64, options: &CsvOptions) -> Result<Option<Grid>> {
    let inspector = Inspector::new(path.display().to_string(), options.tolerance);
    let file = open_file(path).map_err(|error| inspector.error(Place::File, error))?;
    let (mut table, columns, _) = Table::begin(Box::new(file), inspector, options)?;
    let (mut tick, mut lot) = (StepFinder::default(), StepFinder::default());
    let mut take = |record: &ByteRecord, price: usize, quantity: usize| {
        for (finder, at) in [(&mut tick, price), (&mut lot, quantity)] {
            if let Some(value) = record.get(at).and_then(Decimal::parse) {
                finder.decimal(value);
            }
        }
    };
    for _ in 0..rows {
        if table.next()?.is_none() {
            break;
        }
        match &columns.levels {
            Levels::Wide { bids, asks } => {
                for (price, quantity) in bids.iter().chain(asks) {
                    take(&table.record, *price, *quantity);
                }
            }
            Levels::Long {
                price, quantity, ..
            } => take(&table.record, *price, *quantity),
        }
    }
    let steps = tick.step().zip(lot.step());
    Ok(steps.map(|(tick, lot)| Grid { tick, lot }))
}

/// A level of a price and a quantity.
const fn level(price: u64, qty: u64) -> Level {
    Level {
        price: Price(price),
        qty: Qty(qty),
    }
}
