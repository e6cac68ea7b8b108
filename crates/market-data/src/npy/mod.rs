//! Ticks in the normalised format of hftbacktest: NumPy arrays of structured rows, plain (`.npy`) or as
//! the member `data` of a zip archive (`.npz`, stored or deflated).
//!
//! Rows have 64 bytes, little-endian:
//!
//! | field | type | |
//! |---|---|---|
//! | `ev` | u64 | kind of event and visibility (below) |
//! | `exch_ts` | i64 | exchange time, ns since the Unix epoch |
//! | `local_ts` | i64 | local time, ns since the Unix epoch |
//! | `px` | f64 | price |
//! | `qty` | f64 | quantity |
//! | `order_id` | u64 | order, in order-by-order feeds |
//! | `ival`, `fval` | i64, f64 | reserved |
//!
//! The low byte of `ev` is the kind: 1 level, 2 trade, 3 clear, 4 level of a snapshot, 5 best bid or ask, 10 order
//! added, 11 cancelled, 12 modified, 13 filled; from 100 on the recorder's own. Bit 31: in the exchange's view, at
//! `exch_ts`; bit 30: in the recorder's view, at `local_ts`; bit 29: buy (bid; a buyer took), bit 28: sell. Rows
//! without bits 31 and 30 and from kind 100 on belong to no view: they are counted as ignored. Rows of kind 5 are counted
//! and not used: the levels say the same. Levels and clears of a snapshot whose time is 0 are taken as of the row before
//! them, or of the first row with a time; that is how snapshots of the end of a day are written. Source:
//! hftbacktest's documentation ("Data", "Constants") and `hftbacktest/src/types.rs` of release 0.9.4.

mod archive;
mod header;
mod row;

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::path::Path;

use crate::check::{
    BookCheck, DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR, EventCheck, EventCheckResult, Settled,
};
use crate::defect::{Defect, Place, Result};
use crate::event::Event;
use crate::file::open_file;
use crate::grid::{Grid, StepFinder};
use crate::open::Current;
use crate::report::{Inspector, Report, Tolerance};
use crate::source::EventSource;
use archive::Bytes;
use header::Layout;
use row::{Read, Row};

/// Bytes read at a time.
const BLOCK_BYTES: usize = 64 << 10;

/// Options for reading ticks.
#[derive(Clone, Copy, Debug)]
pub struct TickOptions {
    /// Tick and lot that prices and quantities must be multiples of.
    pub grid: Grid,
    /// Defects that are skipped instead of ending the reading.
    pub tolerance: Tolerance,
    /// Longest time between two events of the exchange, in nanoseconds.
    pub max_gap_nanos: i64,
    /// Whether to build the exchange's book, in order to detect where it is left crossed. A caller that builds it
    /// anyway can use [`crate::Book::crossing`] instead.
    pub build_book: bool,
    /// A trade or a crossing level further than this factor from the book, or a best price that moves away by more of
    /// it within a message, is a defect; `None` if every price is plausible.
    pub price_factor: Option<u32>,
}

impl TickOptions {
    /// Nothing is skipped; gaps up to a minute; crossed books are not detected; prices up to a factor of 2 from the book.
    pub const fn new(grid: Grid) -> Self {
        Self {
            grid,
            tolerance: Tolerance::NONE,
            max_gap_nanos: DEFAULT_MAX_GAP_NANOS,
            build_book: false,
            price_factor: Some(DEFAULT_PRICE_FACTOR),
        }
    }
}

/// Reads ticks row by row; holds one block of 64 KiB.
#[derive(Debug)]
pub struct TickReader {
    rows: Rows,
    grid: Grid,
    check: EventCheck,
    book: Option<Box<BookCheck>>,
    /// Whether a book that is left crossed is a defect.
    finds_crossings: bool,
    /// The current event.
    event: Event,
    /// Rows of a snapshot without a time, ahead of the first row that has one; they are taken once that is read.
    ahead: Ahead,
}

/// Rows that wait for the first time, in order.
#[derive(Debug, Default)]
struct Ahead {
    rows: VecDeque<(u64, Event)>,
    /// The row that has it.
    first: Option<(u64, Event)>,
}

/// Levels of a snapshot without a time: more are no snapshot of a book.
const UNTIMED_MAX: usize = 1 << 17;

impl Ahead {
    /// The next of them, once the first time is known.
    fn next(&mut self) -> Option<(u64, Event)> {
        let (number, first) = self.first?;
        if let Some((number, mut event)) = self.rows.pop_front() {
            (event.exchange_time, event.local_time) = (first.exchange_time, first.local_time);
            return Some((number, event));
        }
        self.first = None;
        Some((number, first))
    }
}

impl TickReader {
    /// Opens a `.npy` or `.npz` file, distinguished by its first bytes.
    pub fn open(path: &Path, options: &TickOptions) -> Result<Self> {
        let rows = Rows::open(path, options.tolerance)?;
        Ok(Self::from_rows(rows, options))
    }

    /// Reads the bytes of a `.npy` file; `name` is used in errors.
    pub fn new(
        input: impl io::Read + Send + 'static,
        name: &str,
        options: &TickOptions,
    ) -> Result<Self> {
        let inspector = Inspector::new(name, options.tolerance);
        let rows = Rows::new(Bytes::plain(input), inspector)?;
        Ok(Self::from_rows(rows, options))
    }

    fn from_rows(rows: Rows, options: &TickOptions) -> Self {
        Self {
            rows,
            grid: options.grid,
            check: EventCheck::new(options.max_gap_nanos),
            book: (options.build_book || options.price_factor.is_some())
                .then(|| Box::new(BookCheck::new(options.grid.tick, options.price_factor))),
            finds_crossings: options.build_book,
            event: Event::NONE,
            ahead: Ahead::default(),
        }
    }

    /// Continues with another file of the same recording: times go on where this one ended, and the
    /// report covers both.
    pub fn continue_with(self, path: &Path) -> Result<Self> {
        let mut rows = Rows::open(path, self.rows.inspector.tolerance)?;
        rows.inspector.report = self.rows.inspector.report;
        Ok(Self { rows, ..self })
    }

    /// What else than an event with its time a row is. Returns the number of the row that is the current event then, if one
    /// is, and whether its times are its own.
    #[cold]
    fn other_row(
        &mut self,
        number: u64,
        row: &Row,
        read: std::result::Result<Read, row::Fault>,
    ) -> Result<Option<(u64, bool)>> {
        let inspector = &mut self.rows.inspector;
        match read {
            Ok(Read::Event(event)) => {
                self.ahead.first = Some((number, event));
                return Ok(self.next_ahead());
            }
            Ok(Read::Untimed(mut event)) => {
                inspector.report.untimed += 1;
                if let Some((exchange, local)) = self.check.newest() {
                    (event.exchange_time, event.local_time) = (exchange, local);
                    self.event = event;
                    return Ok(Some((number, false)));
                }
                if self.ahead.rows.len() >= UNTIMED_MAX {
                    let what = format!("more than {UNTIMED_MAX} rows without a time");
                    return inspector.format(what);
                }
                self.ahead.rows.push_back((number, event));
            }
            Ok(Read::BestPrice) => inspector.report.best_prices += 1,
            Ok(Read::Ignored) => inspector.report.ignored += 1,
            Err(fault) => {
                let defect = row.defect(fault, self.grid);
                inspector.defect(Place::Row(number), defect)?;
            }
        }
        Ok(None)
    }

    /// Makes the next of the rows that waited for a time the current event, and returns its number, and whether it is the
    /// one with the time.
    #[cold]
    fn next_ahead(&mut self) -> Option<(u64, bool)> {
        let (number, event) = self.ahead.next()?;
        self.event = event;
        Some((number, self.ahead.first.is_none()))
    }

    #[inline]
    fn advance(&mut self) -> Result<bool> {
        loop {
            let row = if self.ahead.first.is_some() {
                self.next_ahead()
            } else {
                let Some((number, row)) = self.rows.next()? else {
                    break;
                };
                let report = &mut self.rows.inspector.report;
                report.rows += 1;
                match row.event(self.grid) {
                    Ok(Read::Event(event)) if self.ahead.rows.is_empty() => {
                        if event.exchange_time == self.event.exchange_time && event == self.event {
                            report.repeated += 1;
                        }
                        self.event = event;
                        Some((number, true))
                    }
                    read => self.other_row(number, &row, read)?,
                }
            };
            let Some((number, is_timed)) = row else {
                continue;
            };
            let inspector = &mut self.rows.inspector;
            match self.check.check(&self.event) {
                EventCheckResult::Good => {}
                EventCheckResult::Keep(defect) => {
                    inspector.defect(Place::Row(number), defect)?;
                    if let Some(book) = &mut self.book {
                        book.forget();
                    }
                }
                EventCheckResult::Drop(defect) => {
                    inspector.defect(Place::Row(number), defect)?;
                    continue;
                }
            }
            if let Some(book) = &mut self.book {
                let settled = book.begin(&self.event);
                let implausible = book.implausible(&self.event);
                settle(inspector, settled, self.finds_crossings)?;
                if let Some(defect) = implausible {
                    inspector.defect(Place::Row(number), defect)?;
                    continue;
                }
                book.apply(&self.event, number);
            }
            if is_timed {
                inspector.report.events(std::slice::from_ref(&self.event));
            } else {
                inspector.report.untimed_event(&self.event);
            }
            inspector.report.keep(self.event.exchange_time);
            return Ok(true);
        }
        if let Some(book) = &mut self.book {
            let settled = book.end();
            settle(&mut self.rows.inspector, settled, self.finds_crossings)?;
        }
        Ok(false)
    }
}

/// Judges what the end of a message showed.
#[inline]
fn settle(
    inspector: &mut Inspector,
    [crossed, moved]: [Settled; 2],
    finds_crossings: bool,
) -> Result<()> {
    for (row, defect) in crossed.filter(|_| finds_crossings).into_iter().chain(moved) {
        inspector.defect(Place::Row(row), defect)?;
    }
    Ok(())
}

impl Current for TickReader {
    type Row = Event;

    #[inline]
    fn step(&mut self) -> Result<bool> {
        let more = self.advance();
        if more.is_err() {
            self.rows.stop();
        }
        more
    }

    fn current(&self) -> &Event {
        &self.event
    }

    fn steps(&self) -> Grid {
        self.grid
    }

    fn account(&self) -> &Report {
        &self.rows.inspector.report
    }
}

impl EventSource for TickReader {
    #[inline]
    fn next_event(&mut self) -> Result<Option<&Event>> {
        let more = self.step()?;
        Ok(more.then_some(&self.event))
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        &self.rows.inspector.report
    }
}

impl Iterator for TickReader {
    type Item = Result<Event>;

    #[inline]
    fn next(&mut self) -> Option<Result<Event>> {
        self.next_event().map(Option::<&Event>::copied).transpose()
    }
}

/// Finds tick and lot of a recording: the largest steps that divide all prices and quantities of its first `rows` rows.
/// `None` if they do not determine them. Reading verifies every row.
pub fn find_grid(path: &Path, rows: u64) -> Result<Option<Grid>> {
    let mut reader = Rows::open(path, Tolerance::NONE)?;
    let (mut tick, mut lot) = (StepFinder::default(), StepFinder::default());
    for _ in 0..rows {
        let Some((_, row)) = reader.next()? else {
            break;
        };
        if let Some((price, quantity)) = row.price_and_quantity() {
            tick.float(price);
            lot.float(quantity);
        }
    }
    let steps = tick.step().zip(lot.step());
    Ok(steps.map(|(tick, lot)| Grid { tick, lot }))
}

/// The undecoded rows of a file.
#[derive(Debug)]
struct Rows {
    input: Bytes,
    inspector: Inspector,
    layout: Layout,
    /// Rows in the header that were not returned yet.
    left: u64,
    block: Box<[u8]>,
    /// Offset of the next row in the block.
    at: usize,
    /// Bytes of complete rows in the block.
    filled: usize,
}

impl Rows {
    fn open(path: &Path, tolerance: Tolerance) -> Result<Self> {
        let inspector = Inspector::new(path.display().to_string(), tolerance);
        let file = open_file(path).map_err(|error| inspector.error(Place::File, error))?;
        match Bytes::of_file(file) {
            Ok(input) => Self::new(input, inspector),
            Err(defect) => Err(inspector.error(Place::File, defect)),
        }
    }

    fn new(mut input: Bytes, inspector: Inspector) -> Result<Self> {
        let layout = match header::read(&mut input) {
            Ok(layout) => layout,
            Err(defect) => return Err(inspector.error(Place::File, defect)),
        };
        let block_rows = (BLOCK_BYTES / layout.row_bytes).max(1);
        Ok(Self {
            left: layout.rows,
            block: vec![0; block_rows * layout.row_bytes].into_boxed_slice(),
            at: 0,
            filled: 0,
            input,
            inspector,
            layout,
        })
    }

    /// The next row with its number.
    #[inline]
    fn next(&mut self) -> Result<Option<(u64, Row)>> {
        if self.at == self.filled && !self.fill()? {
            return Ok(None);
        }
        let number = self.layout.rows - self.left;
        let row = Row::read(&self.block[self.at..], &self.layout);
        self.at += self.layout.row_bytes;
        self.left -= 1;
        Ok(Some((number, row)))
    }

    /// Reads the next block; `false` at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        let row_bytes = self.layout.row_bytes;
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX);
        let wanted = rows.saturating_mul(row_bytes).min(self.block.len());
        (self.at, self.filled) = (0, 0);
        if wanted == 0 {
            return self.end().map(|()| false);
        }
        let mut got = 0;
        let mut failed = None;
        while got < wanted {
            match self.input.read(&mut self.block[got..wanted]) {
                Ok(0) => break,
                Ok(bytes) => got += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let whole = got / row_bytes;
        self.filled = whole * row_bytes;
        if got < wanted {
            let missing = self.layout.rows - self.left + whole as u64;
            let defect = match failed {
                Some(error) => Bytes::defect(error),
                None => Defect::Truncated {
                    what: format!("its header announces {} rows", self.layout.rows),
                },
            };
            self.input = Bytes::plain(io::empty());
            self.inspector.defect(Place::Row(missing), defect)?;
            // As if the header had the actual number.
            self.layout.rows = missing;
            self.left = whole as u64;
        }
        Ok(self.filled > 0)
    }

    /// Ends the reading.
    fn stop(&mut self) {
        self.input = Bytes::plain(io::empty());
        self.left = 0;
        self.filled = self.at;
    }

    /// No bytes may follow the last row, and the archive's checksum must match.
    fn end(&mut self) -> Result<()> {
        let mut more = [0; 1];
        let defect = match self.input.read(&mut more) {
            Ok(0) => return Ok(()),
            Ok(_) => Defect::Damaged {
                what: format!("bytes follow the {} rows of its header", self.layout.rows),
            },
            Err(error) => Bytes::defect(error),
        };
        self.input = Bytes::plain(io::empty());
        self.inspector.defect(Place::Row(self.layout.rows), defect)
    }
}
