//! Files of results: fills and samples while the run goes on, the report at its end.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_backtest::compare::Beside;
use cambist_backtest::{FillRow, Finished, Progress, SampleRow, Sink};
use cambist_config::reader::Source;
use cambist_core::{Amount, MarketSpec, Price};
use cambist_fill_model::Liquidity;
use cambist_report::money::decimal_text;

use serde_json::{Value, json};

use crate::backtest::flat::csv;
use crate::backtest::table::{Cell, Kind, Table};
use crate::backtest::text::text;
use crate::exit::{Exit, Failure};
use crate::revision::VERSION;

/// The report as JSON: written last, so that a folder with it is complete.
pub const REPORT: &str = "report.json";
/// Names of everything that is written.
const FILES: [&str; 8] = [
    REPORT,
    "report.csv",
    "report.html",
    "report.txt",
    "fills.csv",
    "fills.parquet",
    "equity.csv",
    "equity.parquet",
];

const FILL_COLUMNS: [(&str, Kind); 11] = [
    ("time", Kind::Time),
    ("market", Kind::Text),
    ("order", Kind::Whole),
    ("side", Kind::Text),
    ("price", Kind::Decimal),
    ("base", Kind::Decimal),
    ("quote", Kind::Decimal),
    ("fee", Kind::Decimal),
    ("fee_token", Kind::Text),
    ("liquidity", Kind::Text),
    ("mid", Kind::Decimal),
];

const SAMPLE_COLUMNS: [(&str, Kind); 9] = [
    ("time", Kind::Time),
    ("market", Kind::Text),
    ("mid", Kind::Decimal),
    ("bid", Kind::Decimal),
    ("ask", Kind::Decimal),
    ("base", Kind::Decimal),
    ("quote", Kind::Decimal),
    ("equity", Kind::Decimal),
    ("holding", Kind::Decimal),
];

/// The report as it was written.
pub struct Written {
    /// `report.json`.
    pub json: String,
    /// `report.txt`.
    pub text: String,
    /// Why the files are not complete, if they are not. The report is printed nevertheless.
    pub files: anyhow::Result<()>,
}

/// Below the folder of results while others are there: those are replaced when the new ones are whole.
const UNFINISHED: &str = ".cambist-unfinished";

/// The folder that a run writes to until its results are whole. Removed with what a failed run left in it.
struct Staging {
    path: PathBuf,
    /// The folder of the results, which no other run has meanwhile.
    _lock: File,
}

impl Staging {
    fn begin(folder: &Path) -> anyhow::Result<Self> {
        let name = || folder.display().to_string();
        fs::create_dir_all(folder).with_context(name)?;
        let lock = File::open(folder).with_context(name)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let what = format!(
                    "{}: another run writes its results there: name another folder with --out",
                    folder.display()
                );
                return Err(Failure::new(Exit::Usage, what).into());
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(name),
        }
        let path = folder.join(UNFINISHED);
        if path.exists() {
            fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
        }
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // What is left is in the way of no run: the next one removes it first.
        _ = fs::remove_dir_all(&self.path);
    }
}

/// What is left of a run that does not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing: it can be repeated.
    Removed,
    /// The rows so far.
    Kept,
}

/// Writes results into a folder.
pub struct Results {
    folder: PathBuf,
    staging: Option<Staging>,
    fills: Table,
    samples: Table,
    markets: Vec<MarketSpec>,
    progress: Box<dyn FnMut(Progress)>,
}

impl Results {
    /// Begins in a folder, which is made if it does not exist. Results that are there are replaced only if
    /// asked.
    pub fn begin(
        folder: &Path,
        overwrite: bool,
        parquet: bool,
        markets: &[MarketSpec],
        unfinished: Unfinished,
        progress: Box<dyn FnMut(Progress)>,
    ) -> anyhow::Result<Self> {
        let there = FILES.iter().find(|name| folder.join(name).exists());
        if let Some(name) = there.filter(|_| !overwrite) {
            let what = format!(
                "{} is there already: name another folder with --out, or replace it with --overwrite",
                folder.join(name).display()
            );
            return Err(Failure::new(Exit::Usage, what).into());
        }
        let is_staged = there.is_some() || unfinished == Unfinished::Removed;
        let staging = is_staged.then(|| Staging::begin(folder)).transpose()?;
        let written_to = staging.as_ref().map_or(folder, |staging| &staging.path);
        let written_to = written_to.to_owned();
        fs::create_dir_all(&written_to).with_context(|| written_to.display().to_string())?;
        Ok(Self {
            folder: folder.to_owned(),
            staging,
            fills: Table::begin(&written_to, "fills", &FILL_COLUMNS, parquet)?,
            samples: Table::begin(&written_to, "equity", &SAMPLE_COLUMNS, parquet)?,
            markets: markets.to_vec(),
            progress,
        })
    }

    /// Passes all rows so far to the system: they survive a run that is killed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.fills.flush()?;
        self.samples.flush()
    }

    /// Writes the reports of a run with a configuration; `kind` is what it was (`Backtest`), `beside` how it
    /// compares with another run, as JSON and for the page.
    pub fn conclude(
        self,
        kind: &str,
        finished: &Finished,
        config: &Source,
        beside: Option<&(Value, Beside)>,
    ) -> anyhow::Result<Written> {
        let report = &finished.report;
        let mut value = json!({
            "program": VERSION,
            "config": config.path.display().to_string(),
            "config_hash": config.hash(),
            "config_text": config.text,
            "report": report,
        });
        if let Some((page, _)) = beside {
            value["beside"] = page.clone();
        }
        let json = format!("{}\n", serde_json::to_string_pretty(&value)?);
        let mut text = text(report);
        if let Some((_, section)) = beside {
            text.push_str(&section.text());
        }
        let program = format!("cambist {VERSION}");
        let page = finished.html(
            kind,
            &config.text,
            &program,
            beside.map(|(_, section)| section),
        );
        let folder = self.folder.display().to_string();
        let files = self.finish(&[
            ("report.txt", &text),
            ("report.html", &page),
            ("report.csv", &csv(&value["report"])),
            (REPORT, &json),
        ]);
        let files = files.with_context(|| format!("the results in {folder} are not complete"));
        Ok(Written { json, text, files })
    }

    /// Writes the reports in their order.
    fn finish(self, reports: &[(&str, &str)]) -> anyhow::Result<()> {
        self.fills.finish().context("fills")?;
        self.samples.finish().context("equity")?;
        let written_to = match &self.staging {
            Some(staging) => &staging.path,
            None => &self.folder,
        };
        for (name, content) in reports {
            let path = written_to.join(name);
            fs::write(&path, content).with_context(|| path.display().to_string())?;
        }
        if let Some(staging) = &self.staging {
            replace(&self.folder, &staging.path)?;
        }
        Ok(())
    }

    fn market(&self, id: cambist_core::MarketId) -> io::Result<&MarketSpec> {
        let found = self.markets.get(usize::from(id.0));
        found.ok_or_else(|| io::Error::other("a row of a market that is not known"))
    }
}

/// Replaces the results of a folder. The old report goes first and the new one comes last, so that no report is beside
/// rows of another run.
fn replace(folder: &Path, new: &Path) -> anyhow::Result<()> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    for name in FILES {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            Ok(()) | Err(_) => {}
        }
    }
    for name in FILES.iter().rev() {
        let path = folder.join(name);
        match fs::rename(new.join(name), &path) {
            Err(error) if !is_missing(&error) => {
                return Err(error).with_context(|| path.display().to_string());
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn price(spec: &MarketSpec, price: Price) -> String {
    decimal_text(u128::from(price.0), usize::from(spec.price_decimals), 30)
}

/// Half ticks as a price.
fn mid_price(spec: &MarketSpec, mid: u64) -> String {
    let decimals = usize::from(spec.price_decimals) + 1;
    decimal_text(u128::from(mid) * 5, decimals, 30)
}

fn amount(units: Amount, decimals: u8) -> Cell {
    Cell::Decimal(decimal_text(units, usize::from(decimals), 30))
}

impl Sink for Results {
    fn fill(&mut self, row: &FillRow) -> io::Result<()> {
        let spec = self.market(row.market)?;
        let charged = spec.fee_token(row.side);
        let liquidity = match row.liquidity {
            Liquidity::Maker => "maker",
            Liquidity::Taker => "taker",
        };
        let cells = [
            Cell::Time(row.time),
            Cell::Text(spec.name.clone()),
            Cell::Whole(row.order),
            Cell::Text(row.side.name().to_owned()),
            Cell::Decimal(price(spec, row.price)),
            amount(row.base, spec.base.decimals),
            amount(row.quote, spec.quote.decimals),
            amount(row.fee, charged.decimals),
            Cell::Text(charged.symbol.clone()),
            Cell::Text(liquidity.to_owned()),
            Cell::decimal(row.mid.map(|mid| mid_price(spec, mid))),
        ];
        self.fills.write(&cells)
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        let spec = self.market(row.market)?;
        let quotes = row
            .quotes
            .map(|at| Cell::decimal(at.map(|at| price(spec, at))));
        let [bid, ask] = quotes;
        let value = |units: Option<Amount>| {
            units.map_or(Cell::Missing, |units| amount(units, spec.quote.decimals))
        };
        let cells = [
            Cell::Time(row.time),
            Cell::Text(spec.name.clone()),
            Cell::decimal(row.mid.map(|mid| mid_price(spec, mid))),
            bid,
            ask,
            amount(row.base, spec.base.decimals),
            amount(row.quote, spec.quote.decimals),
            value(row.equity),
            value(row.holding),
        ];
        self.samples.write(&cells)
    }

    fn progress(&mut self, progress: Progress) {
        (self.progress)(progress);
    }
}
