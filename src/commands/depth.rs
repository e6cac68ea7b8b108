//! `cambist depth`: the depth of a market on recordings as a table that other programs read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::{Side, VenueTime};
use cambist_host::clock::Clock;
use cambist_host::times::{self, PeriodEnd};
#[cfg(feature = "parquet")]
use cambist_market_data::parquet::SnapshotWriter;
use cambist_market_data::segment::ReadOptions;
use cambist_market_data::{Grid, LiveRow, OpenOptions, Recording, Snapshot, Timestamp, Tolerance};
use clap::Args;
use serde_json::json;

use super::{print_json, print_text};
use crate::backtest::arguments::tolerance;
use crate::backtest::tape;
use crate::exit::{Exit, Failure};
use crate::replay::iso_ms;

/// Time between two lines of progress.
const PROGRESS_MS: u64 = 10_000;
/// Nanoseconds of a millisecond.
const MS: i64 = 1_000_000;

/// Arguments of `depth`.
#[derive(Debug, Args)]
pub struct DepthArgs {
    /// A tape or a folder of them, the state folder of a daemon, a folder of `mode = "observe"`, or a table
    #[arg(value_name = "TAPE|DIR")]
    recordings: PathBuf,
    /// The market of a tape; may be left out if it has one
    #[arg(long, value_name = "NAME")]
    market: Option<String>,
    /// The new file: comma-separated values if it ends with .csv, Parquet if it ends with .parquet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,
    /// Levels per side, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    levels: u16,
    /// Kinds of defects to skip and count instead of ending with an error, such as truncated
    #[arg(long, value_name = "KIND,…", default_value = "", value_parser = tolerance)]
    skip: Tolerance,
    /// Start: a day, a time (2026-01-31T12:00Z), or an age (24h, 7d). UTC
    #[arg(long, value_name = "MOMENT")]
    from: Option<String>,
    /// End, exclusive; a day includes all its hours
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    rows: u64,
    period: Option<(Timestamp, Timestamp)>,
    /// First and last row of what was read, whether it was asked for or not.
    read: Option<(Timestamp, Timestamp)>,
    /// Times that the exchange's versions of the book began again.
    restarts: u64,
}

/// Writes the table; on any failure there is no file.
pub fn run(args: &DepthArgs, json: bool) -> anyhow::Result<Exit> {
    let format = Format::of(&args.out)?;
    if args.out.exists() && !args.overwrite {
        let message = format!(
            "{} exists: name another file with --out, or replace it with --overwrite",
            args.out.display()
        );
        return Err(Failure::new(Exit::Usage, message).into());
    }
    let period = period(args)?;
    let mut recording = open(args)?;
    // Under its name a table is whole.
    let partial = partial(&args.out);
    let creating = || format!("creating {}", partial.display());
    let file = File::create(&partial).with_context(creating)?;
    let table = Table::begin(format, file, recording.grid(), usize::from(args.levels));
    let written = table.and_then(|table| copy(&mut recording, table, period));
    let whole = written.and_then(|written| {
        if written.rows == 0 {
            let what = written.read.map_or_else(
                || "no depth was recorded".to_owned(),
                |(first, last)| {
                    let (first, last) = (shown(first), shown(last));
                    format!("no depth was recorded in this period; what was read is from {first} to {last}")
                },
            );
            return Err(Failure::new(Exit::CheckFailed, what).into());
        }
        let naming = || format!("naming {}", args.out.display());
        std::fs::rename(&partial, &args.out).with_context(naming)?;
        Ok(written)
    });
    if whole.is_err() {
        drop(std::fs::remove_file(&partial));
    }
    report(args, &recording, whole?, json)
}

/// The time without depth is what was recorded, and no defect.
fn open(args: &DepthArgs) -> anyhow::Result<Recording> {
    std::fs::metadata(&args.recordings).with_context(|| args.recordings.display().to_string())?;
    let path = &tape::below(&args.recordings);
    let usage = |message: &str| {
        let message = format!("{}: {message}", path.display());
        Err(Failure::new(Exit::Usage, message).into())
    };
    // A table has what was recorded; what reads it judges how far prices moved.
    let read = ReadOptions {
        tolerance: args.skip,
        max_gap_nanos: i64::MAX,
        price_factor: None,
    };
    if tape::is_tape(path) {
        let market = chosen(path, &tape::markets(path)?, args.market.as_deref())?;
        return tape::open(path, &market, read, None);
    }
    if args.market.is_some() {
        return usage("this is no tape but the depth of one market: leave --market out");
    }
    let options = OpenOptions {
        max_gap_nanos: read.max_gap_nanos,
        tolerance: read.tolerance,
        price_factor: read.price_factor,
        parquet: cfg!(feature = "parquet"),
        ..OpenOptions::default()
    };
    let paths = std::slice::from_ref(path);
    match cambist_market_data::open(paths, &options)? {
        Recording::Events(_) => usage("ticks are no depth snapshots"),
        recording => Ok(recording),
    }
}

/// The market that is asked for, or the only one of a tape.
fn chosen(path: &Path, markets: &[String], asked: Option<&str>) -> Result<String, Failure> {
    let (shown, listed) = (path.display(), markets.join(", "));
    match (asked, markets) {
        // A tape that has no markets yet is read, which reports why.
        (Some(name), _) if markets.is_empty() || markets.iter().any(|found| found == name) => {
            Ok(name.to_owned())
        }
        (Some(name), _) => {
            let what = format!("{shown}: no depth of {name} was recorded; the tape has {listed}");
            Err(Failure::new(Exit::CheckFailed, what))
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => {
            let what = format!("{shown}: name the market with --market; the tape has {listed}");
            Err(Failure::new(Exit::Usage, what))
        }
    }
}

fn report(
    args: &DepthArgs,
    recording: &Recording,
    written: Written,
    json: bool,
) -> anyhow::Result<Exit> {
    let (grid, skipped) = (recording.grid(), &recording.report().skipped);
    let unfinished = recording.report().unfinished;
    let (first, last) = written.period.unwrap_or_default();
    let (rows, file) = (written.rows, args.out.display());
    let (first, last) = (shown(first), shown(last));
    if json {
        print_json(&json!({
            "file": file.to_string(),
            "market": args.market,
            "rows": rows,
            "restarts": written.restarts,
            "skipped": skipped,
            "unfinished": unfinished,
            "first": first,
            "last": last,
            "levels": args.levels,
            "tick": grid.tick.to_string(),
            "lot": grid.lot.to_string(),
        }))?;
    } else {
        print_text(&format!("{rows} rows from {first} to {last} in {file}\n"))?;
        for skipped in skipped {
            let (count, kind, first) = (skipped.count, skipped.kind.name(), &skipped.first);
            eprintln!("left out: {count} {kind}, first: {first}");
        }
        if unfinished > 0 {
            eprintln!(
                "{unfinished} files end within a record: the daemon was killed then, or a file was cut off. What follows in a file is not known"
            );
        }
        if written.restarts > 0 {
            eprintln!(
                "the exchange's versions of the book began again {} times: the column sequence goes on from the last one before",
                written.restarts
            );
        }
    }
    Ok(Exit::Done)
}

/// How the table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    Parquet,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("parquet") if cfg!(feature = "parquet") => Ok(Self::Parquet),
            Some("parquet") => Err(crate::backtest::table::no_parquet()),
            _ => {
                let message = format!("{}: --out ends with .csv or .parquet", path.display());
                Err(Failure::new(Exit::Usage, message))
            }
        }
    }
}

/// The name of a table that is not whole.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// The period in nanoseconds, its end exclusive.
fn period(args: &DepthArgs) -> anyhow::Result<std::ops::Range<i64>> {
    let now_ms = Clock::new().unix_micros() / 1_000;
    let moment = |text: &Option<String>, end, default| match text {
        None => Ok(default),
        Some(text) => {
            let at_ms = times::moment_ms(text, end, now_ms);
            let at_ms = at_ms.map_err(|message| Failure::new(Exit::Usage, message))?;
            let at_ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
            Ok::<_, Failure>(at_ms.saturating_mul(MS))
        }
    };
    let from = moment(&args.from, PeriodEnd::From, i64::MIN)?;
    let to = moment(&args.to, PeriodEnd::To, i64::MAX)?;
    if from >= to {
        let message = "--from is not before --to".to_owned();
        return Err(Failure::new(Exit::Usage, message).into());
    }
    Ok(from..to)
}

fn shown(time: Timestamp) -> String {
    iso_ms(VenueTime(u64::try_from(time.0 / MS).unwrap_or(0)))
}

/// Versions of the book that only rise, as readers of tables expect: after a restart of the exchange its versions go on
/// from the last one before.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    added: u64,
    last: u64,
    restarts: u64,
}

impl Sequence {
    fn continued(&mut self, version: u64) -> u64 {
        if version.saturating_add(self.added) < self.last {
            self.restarts += 1;
            self.added = self.last.saturating_add(1).saturating_sub(version);
        }
        self.last = version.saturating_add(self.added);
        self.last
    }
}

fn copy(
    recording: &mut Recording,
    mut table: Table,
    period: std::ops::Range<i64>,
) -> anyhow::Result<Written> {
    let clock = Clock::new();
    let mut written = Written::default();
    let mut sequence = Sequence::default();
    let mut row = Snapshot::default();
    let mut reported_ms = clock.now().as_ms();
    loop {
        let next = match recording {
            Recording::Live(source) => match source.next_row()? {
                Some(LiveRow::Snapshot(snapshot)) => Some(snapshot),
                Some(_) => continue,
                None => None,
            },
            Recording::Snapshots(source) => source.next_snapshot()?,
            Recording::Events(_) => None,
        };
        let Some(snapshot) = next else {
            break;
        };
        let time = snapshot.local_time;
        if clock.now().as_ms() >= reported_ms + PROGRESS_MS {
            reported_ms = clock.now().as_ms();
            eprintln!("{} rows; read up to {}", written.rows, shown(time));
        }
        let first = written.read.map_or(time, |(first, _)| first);
        written.read = Some((first, time));
        if time.0 >= period.end {
            break;
        }
        if time.0 < period.start {
            continue;
        }
        row.copy_from(snapshot);
        row.sequence = sequence.continued(snapshot.sequence);
        written.restarts = sequence.restarts;
        table.write(&row)?;
        written.rows += 1;
        let first = written.period.map_or(time, |(first, _)| first);
        written.period = Some((first, time));
    }
    table.finish()?.sync_all()?;
    Ok(written)
}

/// A table in wide form ([`cambist_market_data::columns`]).
enum Table {
    /// Prices and quantities as exact decimals.
    Csv {
        out: BufWriter<File>,
        grid: Grid,
        levels: usize,
    },
    #[cfg(feature = "parquet")]
    Parquet(SnapshotWriter<BufWriter<File>>),
}

impl Table {
    fn begin(format: Format, file: File, grid: Grid, levels: usize) -> anyhow::Result<Self> {
        let mut out = BufWriter::new(file);
        match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => Ok(Self::Parquet(SnapshotWriter::new(out, grid, levels)?)),
            _ => {
                writeln!(out, "# tick={} lot={}", grid.tick, grid.lot)?;
                write!(out, "time_ns,exchange_time_ns,sequence")?;
                for side in ["bid", "ask"] {
                    for level in 1..=levels {
                        write!(out, ",{side}_px_{level},{side}_qty_{level}")?;
                    }
                }
                writeln!(out)?;
                Ok(Self::Csv { out, grid, levels })
            }
        }
    }

    fn write(&mut self, snapshot: &Snapshot) -> anyhow::Result<()> {
        match self {
            Self::Csv { out, grid, levels } => {
                let (time, exchange_time) = (snapshot.local_time.0, snapshot.exchange_time.0);
                write!(out, "{time},{exchange_time},{}", snapshot.sequence)?;
                for side in Side::BOTH {
                    for at in 0..*levels {
                        match snapshot.side(side).get(at) {
                            None => write!(out, ",,")?,
                            Some(level) => {
                                let price = grid.tick.value(level.price.0);
                                let qty = grid.lot.value(level.qty.0);
                                let (price, qty) =
                                    price.zip(qty).context("a level is too large")?;
                                write!(out, ",{price},{qty}")?;
                            }
                        }
                    }
                }
                writeln!(out)?;
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.write(snapshot)?,
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<File> {
        let out = match self {
            Self::Csv { out, .. } => out,
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.finish()?,
        };
        Ok(out.into_inner()?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn only_one_market_needs_no_name() {
        let path = Path::new("tape");
        let two = ["ETH-USDC".to_owned(), "LRC-ETH".to_owned()];
        let choose = |markets: &[String], asked| chosen(path, markets, asked);
        let refused = |markets: &[String], asked| choose(markets, asked).unwrap_err().to_string();
        assert_eq!(choose(&two[..1], None).unwrap(), "ETH-USDC");
        assert_eq!(choose(&two, Some("LRC-ETH")).unwrap(), "LRC-ETH");
        assert_eq!(choose(&[], Some("LRC-ETH")).unwrap(), "LRC-ETH");
        assert!(refused(&two, None).contains("--market; the tape has ETH-USDC, LRC-ETH"));
        assert!(refused(&two, Some("X")).contains("no depth of X was recorded; the tape has ETH"));
    }

    #[test]
    fn versions_go_on_after_a_restart() {
        let mut sequence = Sequence::default();
        let given = [5, 5, 9, 1, 2, 20, 3];
        let written = given.map(|version| sequence.continued(version));
        assert_eq!(written, [5, 5, 9, 10, 11, 29, 30]);
        assert_eq!(sequence.restarts, 2);
    }
}
