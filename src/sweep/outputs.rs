//! The files of a complete sweep, all of them made of `runs.jsonl` alone.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use cambist_backtest::EndState;
use cambist_config::Source;
use serde_json::json;

use super::journal::{Header, Rows};
use super::page::{WINDOWS, page, run_title};
use super::pauses;
use super::plan::Phase;
use super::run::{Outcome, Row};
use super::space::Space;
use super::stops;
use super::summary::{self, Group, Score, Summary, annual, parameters};
use super::values::text;
use crate::backtest::table::{Cell, Kind, Table};
use crate::commands::columns;
use crate::exit::Exit;

/// Everything in one file: written last, so that a folder with it is complete.
pub const REPORT: &str = "sweep.json";
/// The page.
pub const PAGE: &str = "sweep.html";
/// Rows of the table in the text.
const ROWS: usize = 10;
/// The main figures, as printed.
pub const TEXT: &str = "sweep.txt";

/// The results as they were written.
pub struct Written {
    /// What they came to.
    pub summary: Summary,
    /// `sweep.json`.
    pub json: String,
    /// `sweep.txt`.
    pub text: String,
}

/// Writes all files of a complete sweep into a folder.
pub fn write(
    folder: &Path,
    header: &Header,
    rows: &Rows,
    parquet: bool,
) -> anyhow::Result<Written> {
    let space = Space::parse(&Source {
        path: "sweep.toml".into(),
        text: header.sweep.clone(),
    })?;
    let summary = summary::summary(header, &space, rows);
    runs(folder, header, &space, rows, parquet)?;
    let json = format!(
        "{}\n",
        serde_json::to_string_pretty(&report(header, &space, rows, &summary))?
    );
    let text = in_words(header, &space, rows, &summary);
    let page = page(header, &space, rows, &summary);
    for (name, content) in [(TEXT, &text), (PAGE, &page), (REPORT, &json)] {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(Written {
        summary,
        json,
        text,
    })
}

/// Groups of rows that are compared with each other, in their order.
fn groups(header: &Header, space: &Space) -> Vec<(Option<u64>, Phase)> {
    _ = space;
    if header.windows.is_empty() {
        return vec![(None, Phase::All)];
    }
    let windows = 0..header.windows.len() as u64;
    windows
        .flat_map(|window| [(Some(window), Phase::Train), (Some(window), Phase::Test)])
        .collect()
}

fn decimal(value: Option<f64>) -> Cell {
    Cell::decimal(value.map(|value| value.to_string()))
}

/// Columns of `runs.csv` before those of the parameters.
const BEFORE: [(&str, Kind); 4] = [
    ("run", Kind::Whole),
    ("trial", Kind::Whole),
    ("window", Kind::Whole),
    ("phase", Kind::Text),
];

/// The same behind them.
const AFTER: [(&str, Kind); 29] = [
    ("status", Kind::Text),
    ("from", Kind::Text),
    ("to", Kind::Text),
    ("net_pnl", Kind::Decimal),
    ("spread", Kind::Decimal),
    ("holdings", Kind::Decimal),
    ("fees", Kind::Decimal),
    ("holding", Kind::Decimal),
    ("excess_over_holding", Kind::Decimal),
    ("drawdown_max", Kind::Decimal),
    ("sharpe", Kind::Decimal),
    ("sharpe_error", Kind::Decimal),
    ("deflated_sharpe", Kind::Decimal),
    ("trials", Kind::Whole),
    ("returns", Kind::Whole),
    ("fills", Kind::Whole),
    ("maker_fills", Kind::Whole),
    ("orders", Kind::Whole),
    ("cancelled", Kind::Whole),
    ("uptime", Kind::Decimal),
    ("markout_10s_bps", Kind::Decimal),
    ("quote", Kind::Text),
    ("refused", Kind::Text),
    ("trading_state", Kind::Text),
    ("stopped_at", Kind::Text),
    ("stopped_by", Kind::Text),
    ("paused_s", Kind::Decimal),
    ("paused_at_end", Kind::Text),
    ("paused_by", Kind::Text),
];

/// Whether `runs.csv` has a column of this name beside those of the parameters.
pub fn is_run_column(name: &str) -> bool {
    let mut all = BEFORE.iter().chain(&AFTER);
    all.any(|(own, _)| *own == name)
}

/// `runs.csv`, and `runs.parquet` if asked.
fn runs(
    folder: &Path,
    header: &Header,
    space: &Space,
    rows: &Rows,
    parquet: bool,
) -> anyhow::Result<()> {
    let mut names = BEFORE.to_vec();
    for (index, parameter) in space.parameters.iter().enumerate() {
        let numeric = |row: &Row| row.values[index].is_integer() || row.values[index].is_float();
        let kind = if rows.values().all(numeric) {
            Kind::Decimal
        } else {
            Kind::Text
        };
        names.push((&parameter.name.value, kind));
    }
    names.extend(AFTER);
    let mut table = Table::begin(folder, "runs", &names, parquet)?;
    for (window, phase) in groups(header, space) {
        let group = summary::group(rows, space, window, phase);
        let mut scores = group.scores.iter().peekable();
        let own = rows
            .values()
            .filter(|row| row.window == window && row.phase == phase);
        for row in own {
            let score = scores.next_if(|score| score.row.run == row.run);
            table.write(&cells(&names, space, &group, row, score))?;
        }
    }
    table.finish()?;
    Ok(())
}

fn cells(
    names: &[(&str, Kind)],
    space: &Space,
    group: &Group<'_>,
    row: &Row,
    score: Option<&Score<'_>>,
) -> Vec<Cell> {
    let mut cells = vec![
        Cell::Whole(row.run),
        Cell::Whole(row.trial),
        row.window.map_or(Cell::Missing, Cell::Whole),
        Cell::Text(row.phase.name().to_owned()),
    ];
    cells.extend(
        row.values
            .iter()
            .zip(&names[4..])
            .map(|(value, (_, kind))| match kind {
                Kind::Decimal => Cell::Decimal(text(value)),
                _ => Cell::Text(text(value)),
            }),
    );
    let figures = row.figures();
    let status = match &row.outcome {
        Outcome::Refused(_) => "refused",
        Outcome::Done(figures) if figures.invariants > 0 => "invariant_failed",
        Outcome::Done(_) => "done",
    };
    let text_cell = |text: Option<&String>| text.cloned().map_or(Cell::Missing, Cell::Text);
    let amount = |text: Option<&String>| Cell::decimal(text.cloned());
    let whole = |number: Option<u64>| number.map_or(Cell::Missing, Cell::Whole);
    cells.push(Cell::Text(status.to_owned()));
    cells.push(text_cell(figures.map(|f| &f.from)));
    cells.push(text_cell(figures.map(|f| &f.to)));
    cells.push(amount(figures.and_then(|f| f.net_pnl.as_ref())));
    cells.push(amount(figures.and_then(|f| f.spread.as_ref())));
    cells.push(amount(figures.and_then(|f| f.holdings.as_ref())));
    cells.push(amount(figures.and_then(|f| f.fees.as_ref())));
    cells.push(amount(figures.and_then(|f| f.holding.as_ref())));
    cells.push(amount(figures.and_then(|f| f.excess_over_holding.as_ref())));
    cells.push(amount(figures.map(|f| &f.drawdown_max)));
    let interval_s = space.return_interval_s;
    let moments = score.and_then(|score| score.moments);
    let error = moments.and_then(|moments| moments.sharpe_error_with_tails().ok());
    let deflated = score.and_then(|score| group.deflated(score, interval_s));
    cells.push(decimal(
        moments.map(|moments| annual(moments.sharpe(), interval_s)),
    ));
    cells.push(decimal(error.map(|error| annual(error, interval_s))));
    cells.push(decimal(deflated.and_then(|deflated| deflated.probability)));
    cells.push(Cell::Whole(group.trials));
    for number in [
        figures.map(|f| f.returns.count),
        figures.map(|f| f.fills),
        figures.map(|f| f.maker_fills),
        figures.map(|f| f.orders),
        figures.map(|f| f.cancelled),
    ] {
        cells.push(whole(number));
    }
    cells.push(decimal(figures.map(|f| f.uptime)));
    cells.push(decimal(figures.and_then(|f| f.markout_10s_bps)));
    cells.push(text_cell(figures.map(|f| &f.quote)));
    cells.push(match &row.outcome {
        Outcome::Refused(why) => Cell::Text(why.replace(['\n', '\r'], " ")),
        Outcome::Done(_) => Cell::Missing,
    });
    let state = figures.and_then(|f| f.trading_state.as_ref());
    let text_cell = |text: Option<&str>| text.map_or(Cell::Missing, |t| Cell::Text(t.to_owned()));
    cells.push(text_cell(state.map(|state| state.state.as_str())));
    let ended = figures.and_then(|f| f.engine_ended.as_deref());
    cells.push(text_cell(state.and_then(EndState::stopped_at).or(ended)));
    cells.push(text_cell(state.and_then(EndState::stopped_by)));
    let pauses = figures.and_then(|f| f.pauses.as_ref());
    cells.push(decimal(pauses.map(|pauses| pauses.seconds)));
    let yes_no = |is: bool| if is { "yes" } else { "no" };
    cells.push(text_cell(pauses.map(|pauses| yes_no(pauses.at_end))));
    let causes = pauses.map(|pauses| pauses.causes.keys().cloned().collect::<Vec<_>>());
    let causes = causes.filter(|causes| !causes.is_empty());
    cells.push(text_cell(causes.map(|causes| causes.join(" ")).as_deref()));
    cells
}

/// `sweep.json`.
fn report(header: &Header, space: &Space, rows: &Rows, summary: &Summary) -> serde_json::Value {
    let mut runs = Vec::new();
    for (window, phase) in groups(header, space) {
        let group = summary::group(rows, space, window, phase);
        let mut scores = group.scores.iter().peekable();
        for row in rows
            .values()
            .filter(|row| row.window == window && row.phase == phase)
        {
            let score = scores.next_if(|score| score.row.run == row.run);
            let moments = score.and_then(|score| score.moments);
            let deflated = score.and_then(|score| group.deflated(score, space.return_interval_s));
            let (refused, mut figures) = match &row.outcome {
                Outcome::Refused(why) => (Some(why), None),
                Outcome::Done(figures) => (None, serde_json::to_value(figures).ok()),
            };
            // Curves are in runs.jsonl.
            if let Some(figures) = figures.as_mut().and_then(serde_json::Value::as_object_mut) {
                figures.remove("curve");
            }
            runs.push(json!({
                "run": row.run,
                "trial": row.trial,
                "window": row.window,
                "phase": row.phase,
                "parameters": parameters(space, row),
                "refused": refused,
                "sharpe": moments.map(|moments| annual(moments.sharpe(), space.return_interval_s)),
                "deflated_sharpe": deflated.and_then(|deflated| deflated.probability),
                "figures": figures,
            }));
        }
    }
    json!({
        "program": header.program,
        "build": header.build,
        "data": header.data,
        "settings": header.settings,
        "summary": summary,
        "runs": runs,
    })
}

/// The first rows of the ranking by the metric.
pub fn best_rows<'a>(group: &'a Group<'a>, space: &Space, most: usize) -> Vec<&'a Score<'a>> {
    let mut scores: Vec<_> = group.scores.iter().collect();
    scores.sort_by(|a, b| a.ranked(b, space.metric));
    scores.truncate(most);
    scores
}

/// `sweep.txt`.
fn in_words(header: &Header, space: &Space, rows: &Rows, summary: &Summary) -> String {
    let mut text = String::new();
    for warning in [stops::warnings(summary), pauses::warnings(summary)].concat() {
        _ = writeln!(text, "{warning}\n");
    }
    if header.windows.is_empty() {
        let group = summary::group(rows, space, None, Phase::All);
        if !group.scores.is_empty() {
            _ = writeln!(text, "{}", run_title(space, &group, ROWS));
            let table = super::page::run_table(space, &group, ROWS, &summary.quote);
            text.push_str(&columns(&table));
        }
    } else {
        _ = writeln!(text, "{WINDOWS}");
        text.push_str(&columns(&super::page::window_table(space, summary)));
    }
    text.push('\n');
    for sentence in &summary.statements {
        text.push_str(sentence);
        text.push('\n');
    }
    text
}

/// How a complete sweep ends the program.
pub const fn exit(summary: &Summary) -> Exit {
    if summary.invariants > 0 {
        Exit::Invariant
    } else if summary.refused == summary.runs {
        Exit::Refused
    } else {
        Exit::Done
    }
}
