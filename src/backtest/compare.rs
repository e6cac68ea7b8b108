//! Results of several backtests read back, beside each other.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use cambist_backtest::compare::{Chart, Comparison, Curve, Table};
use cambist_backtest::{EndState, Pauses, after_stop, share_before, share_text};
use cambist_market_data::first_bytes::{BYTE_ORDER_MARK, unread};
use cambist_market_data::{Timestamp, open_file};
use cambist_quant::performance::running::RunningMoments;
use serde_json::{Map, Value, json};

use crate::backtest::flat::each_value;
use crate::backtest::results::REPORT;
use crate::commands::columns;
use crate::revision::VERSION;

/// Points kept of a curve at most.
const POINTS_MAX: usize = 1_024;
/// Between two returns of the Sharpe ratio.
const INTERVAL_NANOS: i64 = 60_000_000_000;
/// Seconds of a year.
const YEAR_S: f64 = 31_536_000.0;
/// Returns below which a Sharpe ratio is little evidence.
const RETURNS_FEW: u64 = 100;

/// A cell without a value.
const NONE: &str = "–";

/// What [`NONE`] means.
const LEGEND: &str = "–: the run has no such value. Nothing was counted from which it follows (no fill, no mid, no whole minute), its quote token is another one, its configuration or data have no such entry, or an earlier program wrote its report without it.";

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
    /// How it ended; none of a report without a trading state.
    end: Option<EndState>,
    /// Its pauses; none of a report that an earlier program wrote.
    pauses: Option<Pauses>,
    config: String,
    /// The keys of its configuration; none of a file that an earlier program wrote.
    keys: BTreeMap<String, String>,
    program: String,
    curve: Vec<(Timestamp, Option<f64>)>,
    returns: Returns,
}

impl RunResults {
    /// Reads `report.json` and `equity.csv` of a folder.
    pub fn read(named: &Named) -> anyhow::Result<Self> {
        let path = named.folder.join(REPORT);
        refuse_unread(&path)?;
        let text = open_file(&path)
            .and_then(std::io::read_to_string)
            .with_context(|| {
                format!(
                    "{}: there are no complete results of a backtest",
                    path.display()
                )
            })?;
        let file: Value = serde_json::from_str(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text))
            .with_context(|| path.display().to_string())?;
        let report = file["report"].clone();
        if !report.is_object() {
            bail!("{}: it has no report", path.display());
        }
        let text = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        let samples = named.folder.join("equity.csv");
        let (curve, returns, closing) = equity(&samples)?;
        let reported = report["equity"]["closing"].as_str();
        let reported: Option<f64> = reported.and_then(|text| text.parse().ok());
        if closing != reported {
            let shown = |value: Option<f64>| {
                value.map_or_else(
                    || "without an equity".to_owned(),
                    |value| format!("at {value}"),
                )
            };
            bail!(
                "{}: it ends {}, and the report beside it {}: one of them is incomplete or of another run",
                samples.display(),
                shown(closing),
                shown(reported)
            );
        }
        Ok(Self {
            name: named.name.clone(),
            end: end(&report),
            pauses: serde_json::from_value(report["pauses"].clone()).ok(),
            config: text("config"),
            keys: keys(&text("config_text")),
            program: text("program"),
            report,
            curve,
            returns,
        })
    }

    fn text(&self, path: &str) -> String {
        short(self.report.pointer(path))
    }

    /// The Sharpe ratio of the excess over holding, a year.
    fn sharpe(&self) -> Option<f64> {
        let moments = self.returns.moments.moments().ok()?;
        Some(annual(moments.sharpe()))
    }

    /// Its standard error with skewness and kurtosis, a year, as sweeps have it.
    fn sharpe_error(&self) -> Option<f64> {
        let moments = self.returns.moments.moments().ok()?;
        moments.sharpe_error_with_tails().ok().map(annual)
    }

    /// Why the signs of its profit and of its Sharpe ratio differ, if they do.
    fn sign(&self) -> Option<String> {
        let number = |path: &str| self.text(path).parse::<f64>().ok();
        let (net, excess, sharpe) = (
            number("/pnl/total")?,
            number("/excess_over_holding")?,
            self.sharpe(),
        );
        let name = &self.name;
        if self.report["fills"] == 0 {
            return Some(format!(
                "{name} never traded: its profit and loss is the price change of the initial balances."
            ));
        }
        let sharpe = sharpe?;
        if excess * sharpe < 0.0 {
            return Some(format!(
                "{name} has a Sharpe ratio of {sharpe:.2} and an excess over holding of {excess}: what happened after the last whole minute, or around times without equity, is in the amount and not in the ratio."
            ));
        }
        (net * sharpe < 0.0).then(|| {
            format!(
                "{name} has a Sharpe ratio of {sharpe:.2} and a profit and loss of {net}: the ratio is that of the excess over holding the initial balances, {excess}."
            )
        })
    }

    /// The share of the run before trading stopped, if it did.
    fn stopped_after(&self) -> Option<f64> {
        let at = self.end.as_ref()?.stopped_at()?;
        share_before(&self.text("/from"), self.report["duration_s"].as_f64()?, at)
    }

    /// That trading stopped before the end, if it did.
    fn stopped(&self) -> Option<String> {
        let end = self.end.as_ref().filter(|end| end.is_stopped())?;
        let after = self.stopped_after().map_or_else(String::new, |share| {
            format!(" after {} of its time", share_text(share))
        });
        Some(format!(
            "{}: trading stopped{after}, {}: {}. Its figures include the time without quotes.",
            self.name,
            end.text(),
            after_stop(self.report["fills_after_stop"].as_u64())
        ))
    }

    /// That quoting was paused for more than a tenth of the time, if it was.
    fn paused(&self) -> Option<String> {
        let pauses = self.pauses.as_ref().filter(|pauses| pauses.is_long())?;
        Some(format!(
            "{}: quoting was {}. Its figures include this time.",
            self.name,
            pauses.text()?
        ))
    }

    /// What must be known before its figures: that trading stopped, or was paused for long.
    fn warnings(&self) -> impl Iterator<Item = String> {
        self.stopped().into_iter().chain(self.paused())
    }

    /// The trading state at the end, with pauses.
    fn state(&self) -> String {
        let state = self.end.as_ref();
        let state = state.map_or_else(|| NONE.to_owned(), EndState::text);
        match self.pauses.as_ref().and_then(Pauses::text) {
            Some(paused) => format!("{state}; {paused}"),
            None => state,
        }
    }

    fn markout(&self) -> Option<f64> {
        let all = self.report["markouts"].as_array()?;
        let found = all
            .iter()
            .find(|m| m["horizon_s"] == 10 && m["side"] == "all")?;
        found["mean_bps"].as_f64()
    }

    /// Its figures by their names, in the order of the table. Every name has one unit: amounts have a column for each
    /// quote token of the runs.
    fn figures(&self, quotes: &[String]) -> Vec<(String, String)> {
        let ratio = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.decimals$}"))
        };
        let own = self.text("/quote");
        let amount = |name: &str, path: &str| {
            let each = quotes.iter().map(|quote| {
                let known = (*quote == own).then(|| self.text(path));
                (
                    format!("{name}, {quote}"),
                    known.unwrap_or_else(|| NONE.to_owned()),
                )
            });
            each.collect::<Vec<_>>()
        };
        let one = |name: &str, value: String| vec![(name.to_owned(), value)];
        let percent = self.report["quoted_both_sides_ratio"]
            .as_f64()
            .map(|share| share * 100.0);
        let hours = self.report["duration_s"]
            .as_f64()
            .map(|seconds| seconds / 3_600.0);
        [
            one("hours", ratio(hours, 1)),
            amount("net", "/pnl/total"),
            amount("holding", "/holding"),
            amount("excess over holding", "/excess_over_holding"),
            amount("spread", "/pnl/spread"),
            amount("holdings", "/pnl/holdings"),
            amount("fees", "/pnl/fees"),
            one("Sharpe of the excess a year", ratio(self.sharpe(), 2)),
            one("its standard error", ratio(self.sharpe_error(), 2)),
            one("returns", self.returns.moments.count.to_string()),
            amount("drawdown", "/equity/drawdown_max"),
            one("fills", self.text("/fills")),
            one("markout 10 s, bps", ratio(self.markout(), 2)),
            one("orders", self.text("/orders/submitted")),
            one("both sides quoted, %", ratio(percent, 1)),
            one("state at the end", self.state()),
        ]
        .concat()
    }
}

/// A ratio of returns of a minute as one for a year.
#[expect(clippy::cast_precision_loss, reason = "a minute")]
fn annual(ratio: f64) -> f64 {
    ratio * (YEAR_S / (INTERVAL_NANOS as f64 / 1e9)).sqrt()
}

/// The quote tokens of the runs, each once.
fn quotes(runs: &[RunResults]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for quote in runs.iter().map(|run| run.text("/quote")) {
        if !found.contains(&quote) {
            found.push(quote);
        }
    }
    found
}

/// The trading state at the end of a report, also of one that an earlier program wrote.
fn end(report: &Value) -> Option<EndState> {
    let levels: Vec<_> = serde_json::from_value(report["levels"].clone()).unwrap_or_default();
    Some(EndState::new(report["level"].as_str()?, &levels))
}

/// Keys of a configuration with their values, as `market.0.strategy.0.params.skew`.
fn keys(text: &str) -> BTreeMap<String, String> {
    let table = text.parse::<toml::Table>().ok();
    let value = table.and_then(|table| serde_json::to_value(table).ok());
    let mut found = BTreeMap::new();
    if let Some(value) = value {
        each_value(&value, &mut |path, content| {
            found.insert(path.to_owned(), content.to_owned());
        });
    }
    found
}

/// Moments and the change of equity since the beginning; `None` where it could not be counted.
type Equity = Vec<(Timestamp, Option<f64>)>;

/// Changes of the excess over holding within a minute. One over a time without equity is none: it would be of another
/// length than the others.
#[derive(Default)]
struct Returns {
    /// Whether the rows have the value of the initial balances; those of earlier programs do not.
    is_measured: bool,
    moments: RunningMoments,
    /// The first row with equity.
    begin: Option<Timestamp>,
    /// The row before.
    last: Option<Timestamp>,
    /// Between the first two rows.
    distance_nanos: Option<i64>,
    /// The excess at a whole minute, and which minute that was.
    before: Option<(i64, f64)>,
}

impl Returns {
    /// Adds the row of a time, in order of time.
    fn add(&mut self, time: Timestamp, excess: Option<f64>) -> Result<(), String> {
        let earlier = self.last.replace(time);
        if let Some(earlier) = earlier {
            let passed = time.nanos_since(earlier);
            self.distance_nanos.get_or_insert(passed);
        }
        let Some(now) = excess else {
            return Ok(());
        };
        // Minutes begin with the first equity, as intervals of a sweep do.
        let passed = time.nanos_since(*self.begin.get_or_insert(time));
        if passed % INTERVAL_NANOS != 0 {
            return Ok(());
        }
        let minute = passed / INTERVAL_NANOS;
        if let Some((earlier, before)) = self.before
            && earlier + 1 == minute
        {
            let added = self.moments.add(now - before);
            added.map_err(|error| error.to_string())?;
        }
        self.before = Some((minute, now));
        Ok(())
    }

    /// Why there is no Sharpe ratio, if there is none.
    fn missing(&self) -> Option<String> {
        let constant = || {
            let is_constant = self.moments.count > 1 && self.moments.moments().is_err();
            is_constant.then(|| "its returns do not vary".to_owned())
        };
        self.unfit().or_else(constant)
    }

    /// Why the rows give no returns of a minute, if they do not.
    fn unfit(&self) -> Option<String> {
        if !self.is_measured {
            let what = "an earlier program wrote its rows without the value of the initial balances (holding): run it again";
            return Some(what.to_owned());
        }
        let distance = self.distance_nanos?;
        (INTERVAL_NANOS % distance != 0).then(|| {
            #[expect(clippy::cast_precision_loss, reason = "for display")]
            let seconds = distance as f64 / 1e9;
            format!(
                "its rows are {seconds} s apart, which does not divide a minute (backtest --sample)"
            )
        })
    }
}

/// An amount of a cell; `None` of an empty one.
fn amount(text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number
        .map(Some)
        .ok_or_else(|| format!("{text:?} is no number"))
}

/// Refuses results that were compressed, or written again in another encoding.
fn refuse_unread(path: &Path) -> anyhow::Result<()> {
    unread(path).map_or(Ok(()), |what| bail!("{}: {what}", path.display()))
}

/// The change of equity since the beginning, thinned out, and its returns a minute apart.
fn equity(path: &Path) -> anyhow::Result<(Equity, Returns, Option<f64>)> {
    let name = || path.display().to_string();
    refuse_unread(path)?;
    let file = open_file(path).with_context(name)?;
    let mut lines = BufReader::new(file).lines();
    let head = lines
        .next()
        .transpose()
        .with_context(name)?
        .unwrap_or_default();
    let plain = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
    let columns: Vec<_> = plain.split(',').collect();
    let column = |name: &str| {
        let found = columns.iter().position(|column| *column == name);
        found.ok_or_else(|| anyhow!("{}: line 1: it has no column {name}", path.display()))
    };
    let (time_at, market, value) = (column("time_ns")?, column("market")?, column("equity")?);
    let holding_at = column("holding").ok();
    let mut returns = Returns {
        is_measured: holding_at.is_some(),
        ..Returns::default()
    };
    let mut points = Vec::new();
    let mut first: Option<(String, Option<f64>)> = None;
    let (mut every, mut lines_read) = (1_u64, 0_u64);
    let (mut last, mut closing) = (None, None);
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
        let nanos = cells[time_at]
            .parse()
            .map_err(|_| anyhow!("{}: time_ns is no number", at()))?;
        let amount = |name: &str, text: &str| {
            amount(text).map_err(|what| anyhow!("{}: {name} {what}", at()))
        };
        let equity = amount("equity", cells[value])?;
        let holding = amount("holding", holding_at.map_or("", |column| cells[column]))?;
        let time = Timestamp(nanos);
        let (own, opening) = first.get_or_insert_with(|| (cells[market].to_owned(), equity));
        // Equity is the account's; every market repeats it. Programs before this one wrote the last row twice.
        if cells[market] != *own {
            continue;
        }
        closing = equity.or(closing);
        if last == Some(time) {
            continue;
        }
        last = Some(time);
        *opening = opening.or(equity);
        let change = equity
            .zip(*opening)
            .map(|(equity, opening)| equity - opening);
        let excess = equity.zip(holding);
        let added = returns.add(time, excess.map(|(equity, holding)| equity - holding));
        added.map_err(|error| anyhow!("{}: {error}", at()))?;
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
                points.push((time, change));
            }
        }
        lines_read += 1;
    }
    Ok((points, returns, closing))
}

/// The page of several runs.
pub fn page(runs: &[RunResults]) -> String {
    let mut comparison = Comparison {
        title: format!("{} runs compared", runs.len()),
        subtitle: format!("{}cambist {VERSION}", same_span(runs)),
        warnings: runs.iter().flat_map(RunResults::warnings).collect(),
        statements: statements(runs),
        ..Comparison::default()
    };
    // Amounts of different tokens have no common scale.
    for quote in quotes(runs) {
        let of_quote = runs.iter().filter(|run| run.text("/quote") == quote);
        let curves = of_quote.map(|run| Curve {
            name: run.name.clone(),
            points: run.curve.clone(),
        });
        comparison.charts.push(Chart {
            title: format!("Equity, change in {quote}"),
            curves: curves.collect(),
        });
    }
    let mut rows = table(runs);
    comparison.tables.push(Table {
        title: "Figures".to_owned(),
        head: rows.remove(0),
        rows,
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

/// A value in a few words; never blank.
fn short(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => NONE.to_owned(),
        Some(Value::String(text)) => cell(text),
        Some(Value::Array(all)) if all.is_empty() => NONE.to_owned(),
        Some(Value::Object(members)) if members.is_empty() => NONE.to_owned(),
        Some(Value::Object(members)) => {
            let each = members
                .iter()
                .map(|(name, value)| format!("{name} {}", short(Some(value))));
            each.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
    }
}

/// A text in a cell; one that is empty is no value.
fn cell(text: &str) -> String {
    let shown = if text.trim().is_empty() { NONE } else { text };
    shown.to_owned()
}

/// What a reader must know before a run is called the better one.
pub fn statements(runs: &[RunResults]) -> Vec<String> {
    let quotes: Vec<_> = runs.iter().map(|run| run.text("/quote")).collect();
    let mut sentences: Vec<_> = runs.iter().flat_map(RunResults::warnings).collect();
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
    for run in runs {
        if let Some(why) = run.returns.missing() {
            sentences.push(format!("{} has no Sharpe ratio: {why}.", run.name));
        }
    }
    sentences.extend(runs.iter().filter_map(RunResults::sign));
    let few =
        |run: &RunResults| run.returns.unfit().is_none() && run.returns.moments.count < RETURNS_FEW;
    if runs.iter().any(few) {
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
    let mut cells = table(runs).into_iter().chain(differences(runs)).flatten();
    if cells.any(|cell| cell.split("; ").any(|part| part == NONE)) {
        sentences.push(LEGEND.to_owned());
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
        let values: Vec<_> = values.iter().map(|value| cell(value)).collect();
        if values.iter().any(|value| *value != values[0]) {
            rows.push(std::iter::once(name.to_owned()).chain(values).collect());
        }
    };
    add(
        "configuration",
        runs.iter().map(|run| run.config.clone()).collect(),
    );
    let mut keys: Vec<_> = runs.iter().flat_map(|run| run.keys.keys()).collect();
    keys.sort();
    keys.dedup();
    // Without its keys every key of the others would seem to differ.
    let known = runs.iter().all(|run| !run.keys.is_empty());
    for key in keys.into_iter().filter(|_| known) {
        let values = runs.iter().map(|run| {
            let value = run.keys.get(key);
            value.cloned().unwrap_or_else(|| NONE.to_owned())
        });
        add(key, values.collect());
    }
    let mut markets: Vec<_> = runs.iter().flat_map(data).map(|(name, _)| name).collect();
    markets.sort();
    markets.dedup();
    for market in markets {
        let values = runs.iter().map(|run| {
            let found = data(run).into_iter().find(|(name, _)| *name == market);
            found.map_or_else(|| NONE.to_owned(), |(_, files)| files)
        });
        add(&format!("data of {market}"), values.collect());
    }
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

/// Markets with the files that their data were read from, by name and content.
fn data(run: &RunResults) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let each = run.report["data"].as_array().into_iter().flatten();
    each.map(|market| {
        let files = market["files"].as_array().into_iter().flatten();
        let files: Vec<_> = files
            .map(|file| {
                let sha256: String = text(&file["sha256"]).chars().take(12).collect();
                format!("{} (sha256 {sha256})", text(&file["name"]))
            })
            .collect();
        (text(&market["market"]), files.join(", "))
    })
    .collect()
}

/// What differs and what must be known, as text below the table of figures.
pub fn notes(runs: &[RunResults]) -> String {
    let mut text = String::new();
    let rows = differences(runs);
    if !rows.is_empty() {
        let names = runs.iter().map(|run| run.name.clone());
        let head: Vec<_> = std::iter::once("differs".to_owned()).chain(names).collect();
        let all: Vec<_> = std::iter::once(head).chain(rows).collect();
        _ = write!(text, "\n{}", columns(&all));
    }
    let statements = statements(runs);
    if !statements.is_empty() {
        text.push('\n');
    }
    for statement in statements {
        _ = writeln!(text, "{statement}");
    }
    text
}

/// The figures for scripts.
pub fn json(runs: &[RunResults]) -> Value {
    let each = runs.iter().map(|run| {
        json!({
            "name": run.name,
            "trading_state": run.end,
            "stopped_after": run.stopped_after(),
            "pauses": run.pauses,
            "engine_ended": run.report["engine_ended"],
            "from": run.report["from"],
            "to": run.report["to"],
            "quote": run.report["quote"],
            "pnl": run.report["pnl"],
            "holding": run.report["holding"],
            "excess_over_holding": run.report["excess_over_holding"],
            "drawdown_max": run.report["equity"]["drawdown_max"],
            "sharpe": run.sharpe(),
            "sharpe_error": run.sharpe_error(),
            "returns": run.returns.moments.count,
            "sharpe_missing": run.returns.missing(),
            "fills": run.report["fills"],
            "quoted_both_sides_ratio": run.report["quoted_both_sides_ratio"],
            "markout_10s_bps": run.markout(),
        })
    });
    let differences = differences(runs).into_iter().map(|mut row| {
        let what = row.remove(0);
        json!({"what": what, "values": row})
    });
    json!({
        "runs": each.collect::<Vec<_>>(),
        "differences": differences.collect::<Vec<_>>(),
        "statements": statements(runs),
    })
}

/// The figures as a table of text.
pub fn table(runs: &[RunResults]) -> Vec<Vec<String>> {
    let quotes = quotes(runs);
    let mut rows = Vec::new();
    for run in runs {
        let figures = run.figures(&quotes);
        if rows.is_empty() {
            let names = figures.iter().map(|(name, _)| name.clone());
            rows.push(std::iter::once("run".to_owned()).chain(names).collect());
        }
        let cells = figures.into_iter().map(|(_, value)| value);
        rows.push(std::iter::once(run.name.clone()).chain(cells).collect());
    }
    rows
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn returns(rows: &[(i64, Option<f64>)]) -> Returns {
        let mut returns = Returns {
            is_measured: true,
            ..Returns::default()
        };
        for (second, change) in rows {
            let time = Timestamp(1_723_161_256_000_000_000 + second * 1_000_000_000);
            returns.add(time, *change).unwrap();
        }
        returns
    }

    #[test]
    fn a_return_is_of_one_minute() {
        let whole = returns(&[(0, Some(0.0)), (60, Some(1.0)), (120, Some(3.0))]);
        assert_eq!((whole.moments.count, whole.unfit()), (2, None));
        // Over a minute without equity there is none.
        let gap = returns(&[
            (0, Some(0.0)),
            (60, None),
            (120, Some(3.0)),
            (180, Some(4.0)),
        ]);
        assert_eq!((gap.moments.count, gap.moments.mean), (1, 1.0));
        // Minutes begin with the first equity.
        let late = returns(&[(0, None), (30, Some(0.0)), (60, Some(7.0)), (90, Some(1.0))]);
        assert_eq!((late.moments.count, late.moments.mean), (1, 1.0));
        assert_eq!(late.unfit(), None);
        // A row every seven seconds is at a whole minute every seven minutes.
        let rows: Vec<_> = (0..200).map(|n| (7 * n, Some(1.0))).collect();
        let seven = returns(&rows);
        assert_eq!(seven.moments.count, 0);
        assert!(seven.unfit().unwrap().contains("7 s apart"));
    }

    #[test]
    fn keys_of_a_configuration_have_their_paths() {
        let keys = keys("a = 1\n[[market]]\nname = 'x'\n[market.b]\nc = [1, 2]\n");
        let all: Vec<_> = keys
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        assert_eq!(
            all,
            [
                "a=1",
                "market.0.b.c.0=1",
                "market.0.b.c.1=2",
                "market.0.name=x"
            ]
        );
    }

    fn of(name: &str, report: Value) -> RunResults {
        RunResults {
            name: name.to_owned(),
            end: end(&report),
            pauses: None,
            config: String::new(),
            keys: BTreeMap::new(),
            program: "p".to_owned(),
            report,
            curve: vec![
                (Timestamp(0), Some(0.0)),
                (Timestamp(60_000_000_000), Some(1.0)),
            ],
            returns: Returns::default(),
        }
    }

    /// A column has one unit, and where a run has no value its cell states so.
    #[test]
    fn no_cell_is_blank_and_amounts_of_two_tokens_have_columns_of_their_own() {
        let report = |quote: &str, net: Value| {
            json!({
                "quote": quote, "pnl": {"total": net, "spread": ""}, "holding": null,
                "data": [{"market": "ETH", "files": []}], "assumptions": {"note": "", "list": []},
            })
        };
        let mut runs = [
            of("one", report("USDC", "5".into())),
            of("two", report("USDC", "7".into())),
        ];
        runs[1].config = "my.toml".to_owned();
        let rows = table(&runs);
        assert_eq!(rows[0][..4], ["run", "hours", "net, USDC", "holding, USDC"]);
        assert_eq!(rows[1][..4], ["one", "–", "5", "–"]);
        let differs = differences(&runs);
        assert_eq!(differs, [["configuration", "–", "my.toml"]]);
        assert!(
            rows.iter()
                .chain(&differs)
                .flatten()
                .all(|cell| !cell.trim().is_empty())
        );
        assert_eq!(statements(&runs).last().unwrap(), LEGEND);
        assert!(notes(&runs).contains(LEGEND) && page(&runs).contains("–: the run has no such"));

        runs[1].report["quote"] = "BTC".into();
        let rows = table(&runs);
        let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
        let (usdc, btc) = (column("net, USDC"), column("net, BTC"));
        let of = |row: usize| (rows[row][usdc].as_str(), rows[row][btc].as_str());
        assert_eq!((of(1), of(2)), (("5", "–"), ("–", "7")));
        let page = page(&runs);
        for title in ["Equity, change in USDC", "Equity, change in BTC"] {
            assert!(page.contains(title), "{title}");
        }
    }
}
