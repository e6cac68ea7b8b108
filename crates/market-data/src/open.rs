//! Opens recordings of any format, by file name.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::check::{DEFAULT_MAX_GAP_NANOS, DEFAULT_PRICE_FACTOR};
use crate::csv::{CsvOptions, CsvReader};
use crate::defect::{Defect, Error, Result};
use crate::event::Event;
use crate::file;
use crate::first_bytes::unread;
use crate::grid::Grid;
use crate::npy::{TickOptions, TickReader};
#[cfg(feature = "parquet")]
use crate::parquet::{ParquetOptions, ParquetReader};
use crate::report::{Inspector, Report, Tolerance};
use crate::segment::{self, Content, EventSegments, ReadOptions, SnapshotSegments};
use crate::snapshot::Snapshot;
use crate::source::{EventSource, LiveSource, SnapshotSource};
use crate::time::Timestamp;
use crate::units::Units;

/// A recording.
pub enum Recording {
    /// Single events.
    Events(Box<dyn EventSource>),
    /// Depth snapshots.
    Snapshots(Box<dyn SnapshotSource>),
    /// Depth snapshots as they arrive.
    Live(Box<dyn LiveSource>),
}

impl Recording {
    /// Tick and lot of its prices and quantities.
    pub fn grid(&self) -> Grid {
        match self {
            Self::Events(source) => source.grid(),
            Self::Snapshots(source) => source.grid(),
            Self::Live(source) => source.grid(),
        }
    }

    /// What was read and skipped so far.
    pub fn report(&self) -> &Report {
        match self {
            Self::Events(source) => source.report(),
            Self::Snapshots(source) => source.report(),
            Self::Live(source) => source.report(),
        }
    }
}

/// Options for opening recordings.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Units that files do not state.
    pub units: Units,
    /// Tick and lot of files that do not state them. Every row is verified against them.
    pub default_grid: Option<Grid>,
    /// Columns of tables to ignore.
    pub ignored_columns: Vec<String>,
    /// Defects that are skipped instead of ending the reading.
    pub tolerance: Tolerance,
    /// Longest time between two rows, in nanoseconds.
    pub max_gap_nanos: i64,
    /// See [`TickOptions::price_factor`], [`CsvOptions::price_factor`] and [`ReadOptions::price_factor`].
    pub price_factor: Option<u32>,
    /// Whether Parquet is read. A build of this crate may have it because another program of the same build asked for it.
    pub parquet: bool,
}

impl Default for OpenOptions {
    /// Files state all units; nothing is skipped; gaps up to a minute; prices up to twice or half of the book, or of the snapshot
    /// before.
    fn default() -> Self {
        Self {
            units: Units::default(),
            default_grid: None,
            ignored_columns: Vec::new(),
            tolerance: Tolerance::NONE,
            max_gap_nanos: DEFAULT_MAX_GAP_NANOS,
            price_factor: Some(DEFAULT_PRICE_FACTOR),
            parquet: cfg!(feature = "parquet"),
        }
    }
}

/// A format of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Ticks,
    Csv,
    Parquet,
    Segments,
}

fn format(path: &Path) -> Option<Format> {
    if path.is_dir() {
        return Some(Format::Segments);
    }
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "npy" | "npz" => Format::Ticks,
        "csv" => Format::Csv,
        "parquet" => Format::Parquet,
        "mkt" => Format::Segments,
        _ => return None,
    })
}

/// Opens a recording: ticks (`.npy`, `.npz`), snapshots (`.csv`, `.parquet`), or a folder of segments or a single one
/// (`.mkt`). Several files of one format are read in succession.
pub fn open(paths: &[PathBuf], options: &OpenOptions) -> Result<Recording> {
    let (first, rest) = match paths {
        [] => return Inspector::new("data", Tolerance::NONE).format("no file was given"),
        [first, rest @ ..] => (first, rest),
    };
    let refuse = |path: &Path, what: &str| {
        Inspector::new(path.display().to_string(), Tolerance::NONE).format(what)
    };
    for path in paths {
        if let Some(what) = file::refused(path).or_else(|| unread(path)) {
            return refuse(path, &what);
        }
    }
    let Some(kind) = format(first) else {
        if !first.exists() {
            return refuse(first, "there is no such file or folder");
        }
        return refuse(
            first,
            "its format cannot be determined from its name: .npy and .npz are ticks, .csv and .parquet depth \
             snapshots, a folder or .mkt a recording of our own",
        );
    };
    if let Some(other) = rest.iter().find(|path| format(path) != Some(kind)) {
        return refuse(other, "files of one recording must be of one format");
    }
    let (tolerance, max_gap_nanos) = (options.tolerance, options.max_gap_nanos);
    match kind {
        Format::Ticks => {
            let default = options.default_grid;
            let tick = options.units.tick.or(default.map(|grid| grid.tick));
            let lot = options.units.lot.or(default.map(|grid| grid.lot));
            let Some((tick, lot)) = tick.zip(lot) else {
                return refuse(
                    first,
                    "tick and lot are not known: set them with --tick and --lot",
                );
            };
            let options = TickOptions {
                tolerance,
                max_gap_nanos,
                price_factor: options.price_factor,
                ..TickOptions::new(Grid { tick, lot })
            };
            let reader = TickReader::open(first, &options)?;
            Ok(events(reader, first, rest, TickReader::continue_with))
        }
        Format::Csv => {
            let options = CsvOptions {
                units: options.units,
                default_grid: options.default_grid,
                ignored_columns: options.ignored_columns.clone(),
                tolerance,
                max_gap_nanos,
                price_factor: options.price_factor,
            };
            let reader = CsvReader::open(first, &options)?;
            let resume = move |reader: CsvReader, path: &Path| reader.continue_with(path, &options);
            Ok(snapshots(reader, first, rest, resume))
        }
        #[cfg(feature = "parquet")]
        Format::Parquet if options.parquet => {
            let options = ParquetOptions {
                units: options.units,
                default_grid: options.default_grid,
                ignored_columns: options.ignored_columns.clone(),
                tolerance,
                max_gap_nanos,
                price_factor: options.price_factor,
            };
            let reader = ParquetReader::open(first, &options)?;
            let resume =
                move |reader: ParquetReader, path: &Path| reader.continue_with(path, &options);
            Ok(snapshots(reader, first, rest, resume))
        }
        Format::Parquet => Err(Box::new(Error {
            file: first.display().to_string(),
            place: crate::Place::File,
            defect: Defect::NoParquet,
        })),
        Format::Segments if !rest.is_empty() => {
            refuse(&rest[0], "a recording of segments must be a single folder")
        }
        Format::Segments => {
            let options = ReadOptions {
                tolerance,
                max_gap_nanos,
                price_factor: options.price_factor,
            };
            Ok(match segment::content(first)? {
                Content::Events => {
                    Recording::Events(Box::new(EventSegments::open(first, options)?))
                }
                Content::Snapshots => {
                    Recording::Snapshots(Box::new(SnapshotSegments::open(first, options)?))
                }
            })
        }
    }
}

/// A reader that keeps its last row.
pub(crate) trait Current {
    /// Type of the rows.
    type Row;
    /// Moves to the next row; `false` at the end.
    fn step(&mut self) -> Result<bool>;
    /// The row read last.
    fn current(&self) -> &Self::Row;
    /// Tick and lot.
    fn steps(&self) -> Grid;
    /// Rows read and skipped.
    fn account(&self) -> &Report;
}

/// Continues with another file.
type Resume<R> = Box<dyn Fn(R, &Path) -> Result<R>>;

/// Files in succession.
struct Sequence<R> {
    /// `None` after a file that could not be opened.
    reader: Option<R>,
    rest: VecDeque<PathBuf>,
    resume: Resume<R>,
    grid: Grid,
    /// The file that is read.
    path: PathBuf,
    /// Time of its first row; `None` before that.
    begin: Option<Timestamp>,
    /// The file before it that has rows, and the time of its first row.
    before: Option<(PathBuf, Timestamp)>,
    /// Time of the last row of the files before.
    ended: Option<Timestamp>,
    /// Reports of finished readers.
    report: Report,
}

impl<R: Current> Sequence<R> {
    fn new(reader: R, first: &Path, rest: &[PathBuf], resume: Resume<R>) -> Self {
        Self {
            grid: reader.steps(),
            path: first.to_owned(),
            begin: None,
            before: None,
            ended: None,
            reader: Some(reader),
            rest: rest.iter().cloned().collect(),
            resume,
            report: Report::default(),
        }
    }

    fn step(&mut self) -> Result<bool> {
        loop {
            let Some(reader) = &mut self.reader else {
                return Ok(false);
            };
            match reader.step() {
                Ok(false) => {}
                Ok(true) => {
                    if self.begin.is_none() {
                        // Rows of a snapshot without a time have that of the file before.
                        self.begin = reader.account().last.filter(|at| Some(*at) != self.ended);
                    }
                    return Ok(true);
                }
                Err(mut error) => {
                    // Nothing is read after an error.
                    self.rest.clear();
                    self.name_order(&mut error);
                    return Err(error);
                }
            }
            let Some(path) = self.rest.pop_front() else {
                return Ok(false);
            };
            self.report = reader.account().clone();
            let before = self.reader.take();
            self.reader = before
                .map(|before| (self.resume)(before, &path))
                .transpose()?;
            self.ended = self.report.last;
            let read = std::mem::replace(&mut self.path, path);
            if let Some(begin) = self.begin.take() {
                self.before = Some((read, begin));
            }
        }
    }

    /// Where a file's first row is before the first row of the file before it, not that row is wrong but the order of
    /// the files: the error then states that.
    fn name_order(&self, error: &mut Error) {
        if let (None, Some((before, begin)), Defect::BackwardTime { time, .. }) =
            (self.begin, &self.before, &error.defect)
            && time < begin
        {
            error.defect = Defect::FileOrder {
                time: *time,
                before: before.display().to_string(),
                begin: *begin,
            };
        }
    }

    fn account(&self) -> &Report {
        self.reader.as_ref().map_or(&self.report, R::account)
    }
}

impl<R: Current<Row = Event>> EventSource for Sequence<R> {
    fn next_event(&mut self) -> Result<Option<&Event>> {
        let more = self.step()?;
        Ok(self.reader.as_ref().filter(|_| more).map(R::current))
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        self.account()
    }
}

impl<R: Current<Row = Snapshot>> SnapshotSource for Sequence<R> {
    fn next_snapshot(&mut self) -> Result<Option<&Snapshot>> {
        let more = self.step()?;
        Ok(self.reader.as_ref().filter(|_| more).map(R::current))
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &Report {
        self.account()
    }
}

fn events<R: Current<Row = Event> + EventSource + 'static>(
    reader: R,
    first: &Path,
    rest: &[PathBuf],
    resume: impl Fn(R, &Path) -> Result<R> + 'static,
) -> Recording {
    if rest.is_empty() {
        return Recording::Events(Box::new(reader));
    }
    Recording::Events(Box::new(Sequence::new(
        reader,
        first,
        rest,
        Box::new(resume),
    )))
}

fn snapshots<R: Current<Row = Snapshot> + SnapshotSource + 'static>(
    reader: R,
    first: &Path,
    rest: &[PathBuf],
    resume: impl Fn(R, &Path) -> Result<R> + 'static,
) -> Recording {
    if rest.is_empty() {
        return Recording::Snapshots(Box::new(reader));
    }
    Recording::Snapshots(Box::new(Sequence::new(
        reader,
        first,
        rest,
        Box::new(resume),
    )))
}
