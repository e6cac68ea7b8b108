//! Results of several backtests read back, beside each other.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use cambist_backtest::compare::{Chart, Comparison, Curve, Table};
use cambist_market_data::Timestamp;
use cambist_quant::performance::running::RunningMoments;
use serde_json::{Map, Value, json};

use crate::backtest::results::REPORT;
use crate::revision::VERSION;

/// Points kept of a curve at most.
const POINTS_MAX: usize = 1_024;
/// Between two returns of the Sharpe ratio.
const INTERVAL_NANOS: i64 = 60_000_000_000;
/// Seconds of a year.
const YEAR_S: f64 = 31_536_000.0;
/// Returns below which a Sharpe ratio is little evidence.
const RETURNS_FEW: u64 = 100;

/// A folder of results with the name it is shown by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// Reads `DIR` or `NAME=DIR`; a folder's name is its last part.
pub fn named(text: &str) -> Result<Named, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.contains('/') => (Some(name.to_owned()), path),
        _ => (None, text),
    };
    let folder = PathBuf::from(path);
    let last = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.or(last).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("{text:?}: name it, as NAME={text}"))?;
    Ok(Named { name, folder })
}

/// A run that was read back.
pub struct RunResults {
    name: String,
    report: Value,
    config: String,
    program: String,
    curve: Vec<(Timestamp, Option<f64>)>,
    returns: RunningMoments,
}

impl RunResults {
    /// Reads `report.json` and `equity.csv` of a folder.
    pub fn read(named: &Named) -> anyhow::Result<Self> {
        let path = named.folder.join(REPORT);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "{}: there are no complete results of a backtest",
                path.display()
            )
        })?;
        let file: Value =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let report = file["report"].clone();
        if !report.is_object() {
            bail!("{}: it has no report", path.display());
        }
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        let (curve, returns) = equity(&named.folder.join("equity.csv"))?;
        Ok(Self {
            name: named.name.clone(),
            config: text("config"),
            program: text("program"),
            report,
            curve,
            returns,
        })
    }

    fn text(&self, path: &str) -> String {
        match self.report.pointer(path) {
            None | Some(Value::Null) => "–".to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    fn sharpe(&self) -> Option<f64> {
        let moments = self.returns.moments().ok()?;
        #[expect(clippy::cast_precision_loss, reason = "a minute")]
        let interval_s = INTERVAL_NANOS as f64 / 1e9;
        Some(moments.sharpe() * (YEAR_S / interval_s).sqrt())
    }

    fn markout(&self) -> Option<f64> {
        let all = self.report["markouts"].as_array()?;
        let found = all
            .iter()
            .find(|m| m["horizon_s"] == 10 && m["side"] == "all")?;
        found["mean_bps"].as_f64()
    }

    /// Its figures by their names, in the order of the table.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let ratio = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let percent = self.report["quoted_both_sides_ratio"]
            .as_f64()
            .map(|share| share * 100.0);
        let hours = self.report["duration_s"]
            .as_f64()
            .map(|seconds| seconds / 3_600.0);
        vec![
            ("hours", ratio(hours, 1)),
            ("net", self.text("/pnl/total")),
            ("spread", self.text("/pnl/spread")),
            ("holdings", self.text("/pnl/holdings")),
            ("fees", self.text("/pnl/fees")),
            ("Sharpe a year", ratio(self.sharpe(), 2)),
            ("drawdown", self.text("/equity/drawdown_max")),
            ("fills", self.text("/fills")),
            ("markout 10 s, bps", ratio(self.markout(), 2)),
            ("orders", self.text("/orders/submitted")),
            ("both sides quoted, %", ratio(percent, 1)),
        ]
    }
}

/// Moments and the change of equity since the beginning; `None` where it could not be counted.
type Equity = Vec<(Timestamp, Option<f64>)>;

/// The change of equity since the beginning, thinned out, and its returns a minute apart.
fn equity(path: &Path) -> anyhow::Result<(Equity, RunningMoments)> {
    let name = || path.display().to_string();
    let file = File::open(path).with_context(name)?;
    let mut lines = BufReader::new(file).lines();
    let head = lines
        .next()
        .transpose()
        .with_context(name)?
        .unwrap_or_default();
    let columns: Vec<_> = head.split(',').collect();
    let column = |name: &str| {
        let found = columns.iter().position(|column| *column == name);
        found.ok_or_else(|| anyhow!("{}: line 1: it has no column {name}", path.display()))
    };
    let (time, market, value) = (column("time_ns")?, column("market")?, column("equity")?);
    let (mut points, mut returns) = (Vec::new(), RunningMoments::default());
    let mut first: Option<(String, Timestamp, Option<f64>)> = None;
    let (mut before, mut every, mut lines_read) = (None, 1_u64, 0_u64);
    for (number, line) in (2_u64..).zip(lines) {
        let at = || format!("{}: line {number}", path.display());
        let line = line.with_context(at)?;
        let cells: Vec<_> = line.split(',').collect();
        if cells.len() != columns.len() {
            bail!(
                "{}: {} cells instead of {}",
                at(),
                cells.len(),
                columns.len()
            );
        }
        let nanos = cells[time]
            .parse()
            .map_err(|_| anyhow!("{}: time_ns is no number", at()))?;
        let equity = match cells[value] {
            "" => None,
            text => {
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                Some(number.ok_or_else(|| anyhow!("{}: equity {text:?} is no number", at()))?)
            }
        };
        let (own, begin, opening) =
            first.get_or_insert_with(|| (cells[market].to_owned(), Timestamp(nanos), equity));
        // Equity is the account's; every market repeats it.
        if cells[market] != *own {
            continue;
        }
        *opening = opening.or(equity);
        let change = equity
            .zip(*opening)
            .map(|(equity, opening)| equity - opening);
        if Timestamp(nanos).nanos_since(*begin) % INTERVAL_NANOS == 0
            && let Some(now) = change
        {
            if let Some(before) = before {
                returns
                    .add(now - before)
                    .map_err(|error| anyhow!("{}: {error}", at()))?;
            }
            before = Some(now);
        }
        if lines_read % every == 0 {
            if points.len() == POINTS_MAX {
                let mut index = 0;
                points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                every *= 2;
            }
            if lines_read % every == 0 {
                points.push((Timestamp(nanos), change));
            }
        }
        lines_read += 1;
    }
    Ok((points, returns))
}

/// The page of several runs.
pub fn page(runs: &[RunResults]) -> String {
    let quotes: Vec<_> = runs.iter().map(|run| run.text("/quote")).collect();
    let quote = quotes.first().cloned().unwrap_or_default();
    let mut comparison = Comparison {
        title: format!("{} runs compared", runs.len()),
        subtitle: format!("{}cambist {VERSION}", same_span(runs)),
        statements: statements(runs, &quotes),
        ..Comparison::default()
    };
    comparison.charts.push(Chart {
        title: format!("Equity, change in {quote}"),
        curves: runs
            .iter()
            .map(|run| Curve {
                name: run.name.clone(),
                points: run.curve.clone(),
            })
            .collect(),
    });
    let figures: Vec<_> = runs.iter().map(RunResults::figures).collect();
    let names = figures
        .first()
        .into_iter()
        .flatten()
        .map(|(name, _)| (*name).to_owned());
    comparison.tables.push(Table {
        title: format!("Figures, amounts in {quote}"),
        head: std::iter::once("run".to_owned()).chain(names).collect(),
        rows: runs
            .iter()
            .zip(&figures)
            .map(|(run, figures)| {
                let cells = figures.iter().map(|(_, value)| value.clone());
                std::iter::once(run.name.clone()).chain(cells).collect()
            })
            .collect(),
    });
    comparison.tables.push(Table {
        title: "What differs between them".to_owned(),
        head: std::iter::once(String::new())
            .chain(runs.iter().map(|run| run.name.clone()))
            .collect(),
        rows: differences(runs),
    });
    comparison.html()
}

/// From when to when, if that is the same of all runs.
fn same_span(runs: &[RunResults]) -> String {
    let span = |run: &RunResults| format!("{} to {}. ", run.text("/from"), run.text("/to"));
    let first = runs.first().map(span).unwrap_or_default();
    if runs.iter().all(|run| span(run) == first) {
        first
    } else {
        String::new()
    }
}

/// A value in a few words.
fn short(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(members)) => {
            let each = members
                .iter()
                .map(|(name, value)| format!("{name} {}", short(Some(value))));
            each.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
    }
}

/// What a reader must know before a run is called the better one.
fn statements(runs: &[RunResults], quotes: &[String]) -> Vec<String> {
    let mut sentences = Vec::new();
    let spans: Vec<_> = runs
        .iter()
        .map(|run| (run.text("/from"), run.text("/to")))
        .collect();
    if spans.iter().any(|span| *span != spans[0]) {
        sentences.push(
            "The runs are not of the same time: their profit is of different markets.".to_owned(),
        );
    }
    if quotes.iter().any(|quote| *quote != quotes[0]) {
        sentences.push(
            "The runs have different quote tokens: their amounts cannot be compared.".to_owned(),
        );
    }
    if runs.iter().any(|run| run.returns.count < RETURNS_FEW) {
        sentences.push(format!(
            "A run has fewer than {RETURNS_FEW} returns of a minute: its Sharpe ratio is little evidence."
        ));
    }
    if runs.iter().any(|run| {
        run.report["invariants"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
    }) {
        sentences.push("In a run an invariant of the engine failed, which is a defect of the program: see its report.".to_owned());
    }
    sentences
}

/// Assumptions, files and programs that are not the same in all runs.
fn differences(runs: &[RunResults]) -> Vec<Vec<String>> {
    let empty = Map::new();
    let assumptions = |run: &RunResults| {
        run.report["assumptions"]
            .as_object()
            .unwrap_or(&empty)
            .clone()
    };
    let mut rows = Vec::new();
    let mut add = |name: &str, values: Vec<String>| {
        if values.iter().any(|value| *value != values[0]) {
            rows.push(std::iter::once(name.to_owned()).chain(values).collect());
        }
    };
    add(
        "configuration",
        runs.iter().map(|run| run.config.clone()).collect(),
    );
    add(
        "program",
        runs.iter().map(|run| run.program.clone()).collect(),
    );
    add("from", runs.iter().map(|run| run.text("/from")).collect());
    add("to", runs.iter().map(|run| run.text("/to")).collect());
    let all: Vec<_> = runs.iter().map(assumptions).collect();
    let mut keys: Vec<_> = all.iter().flat_map(Map::keys).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let values = all.iter().map(|one| short(one.get(key)));
        add(key, values.collect());
    }
    let opening = runs.iter().map(|run| short(run.report.get("opening")));
    add("opening", opening.collect());
    rows
}

/// The figures for scripts.
pub fn json(runs: &[RunResults]) -> Value {
    let each = runs.iter().map(|run| {
        json!({
            "name": run.name,
            "from": run.report["from"],
            "to": run.report["to"],
            "quote": run.report["quote"],
            "pnl": run.report["pnl"],
            "drawdown_max": run.report["equity"]["drawdown_max"],
            "sharpe": run.sharpe(),
            "returns": run.returns.count,
            "fills": run.report["fills"],
            "quoted_both_sides_ratio": run.report["quoted_both_sides_ratio"],
            "markout_10s_bps": run.markout(),
        })
    });
    json!({"runs": each.collect::<Vec<_>>()})
}

/// The figures as a table of text.
pub fn table(runs: &[RunResults]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for run in runs {
        let figures = run.figures();
        if rows.is_empty() {
            let names = figures.iter().map(|(name, _)| (*name).to_owned());
            rows.push(std::iter::once("run".to_owned()).chain(names).collect());
        }
        let cells = figures.into_iter().map(|(_, value)| value);
        rows.push(std::iter::once(run.name.clone()).chain(cells).collect());
    }
    rows
}
