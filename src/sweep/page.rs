//! The page of a sweep: the evidence first, then curves, maps and tables.

use cambist_backtest::compare::{CURVES_MAX, Chart, Comparison, Curve, Table};
use cambist_market_data::Timestamp;
use serde_json::{Map, Value};

use super::heat::heat_maps;
use super::journal::{Header, Rows};
use super::outputs::best_rows;
use super::pauses;
use super::plan::Phase;
use super::run::Row;
use super::space::Space;
use super::statements::{MISSING, compared, lasting, overlap, percent, percent_number, ratio};
use super::stops;
use super::summary::{self, Chosen, Group, Measure, Score, Summary, annual};
use super::values::text;

/// Curves drawn over one another.
const CURVES: usize = 8;
/// Rows of the table.
const ROWS: usize = 50;

/// The page of a complete sweep.
pub fn page(header: &Header, space: &Space, rows: &Rows, summary: &Summary) -> String {
    let names: Vec<_> = space
        .parameters
        .iter()
        .map(|p| p.name.value.as_str())
        .collect();
    let mut page = Comparison {
        title: format!("Sweep over {}", names.join(", ")),
        subtitle: subtitle(header, rows, summary),
        warnings: [stops::warnings(summary), pauses::warnings(summary)].concat(),
        statements: summary.statements.clone(),
        assumed: assumed(header),
        details: vec![
            ("Sweep file".to_owned(), header.sweep.clone()),
            ("Configuration".to_owned(), header.config.clone()),
            (
                "Data and assumptions".to_owned(),
                serde_json::to_string_pretty(&header.settings).unwrap_or_default(),
            ),
        ],
        ..Comparison::default()
    };
    if header.windows.is_empty() {
        whole(&mut page, space, rows, summary);
    } else {
        walk_forward(&mut page, space, rows, summary);
    }
    page.html()
}

/// When the first run begins, and when the last one ends.
fn period(rows: &Rows) -> Option<(Timestamp, Timestamp)> {
    let figures = || rows.values().filter_map(Row::figures);
    let from = figures().filter_map(|figures| Timestamp::from_rfc3339(&figures.from));
    let to = figures().filter_map(|figures| Timestamp::from_rfc3339(&figures.to));
    from.min().zip(to.max())
}

fn subtitle(header: &Header, rows: &Rows, summary: &Summary) -> String {
    let period = period(rows).map_or_else(String::new, |(from, to)| format!(", {from} to {to}"));
    let files: Vec<_> = header.data.iter().map(|file| file.name.as_str()).collect();
    let counted = match (compared(summary), summary.refused) {
        (0, _) => "all refused, no trial compared".to_owned(),
        (trials, 0) => format!("{trials} trials compared"),
        (trials, refused) => format!("{refused} refused, {trials} trials compared"),
    };
    let before = match summary.trials_before {
        n if n > 0 && compared(summary) > 0 => format!(" and {n} of earlier sweeps"),
        _ => String::new(),
    };
    format!(
        "{} runs, {counted}{before} on {}{period}. cambist {}",
        summary.runs,
        files.join(", "),
        header.program
    )
}

fn assumed(header: &Header) -> Vec<String> {
    let sentences = header.settings.get("assumed").and_then(Value::as_array);
    let sentences = sentences.into_iter().flatten().filter_map(Value::as_str);
    sentences.map(str::to_owned).collect()
}

/// Values of a trial in a few words.
fn named(parameters: &Map<String, Value>) -> String {
    let each = parameters.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn tiles_of(best: &Chosen, measure: Measure, quote: &str) -> Vec<(String, String)> {
    let known = |amount: Option<&String>| {
        amount.map_or_else(
            || "not known".to_owned(),
            |amount| format!("{amount} {quote}"),
        )
    };
    let state = best.trading_state.as_ref();
    let is_paused = best.pauses.as_ref().is_some_and(|pauses| pauses.at_end);
    let state = match state {
        Some(end) if is_paused => format!("{}, paused", end.state),
        Some(end) => end.state.clone(),
        None => "not known".to_owned(),
    };
    let mut tiles = vec![
        ("best trial".to_owned(), best.trial.to_string()),
        ("its trading state at the end".to_owned(), state),
        (
            "its net profit and loss".to_owned(),
            known(best.net_pnl.as_ref()),
        ),
    ];
    if measure == Measure::ExcessOverHolding {
        let excess = best.excess_over_holding.as_ref();
        tiles.push(("of it excess over holding".to_owned(), known(excess)));
    }
    tiles.push((format!("{} a year", measure.sharpe()), ratio(best.sharpe)));
    if let Some(deflated) = best.deflated {
        tiles.push((
            format!("expected best of {} without skill", deflated.trials),
            ratio(Some(deflated.expected_best)),
        ));
        let probability = deflated
            .probability
            .map_or_else(|| MISSING.to_owned(), percent);
        tiles.push((
            "deflated Sharpe ratio (probability)".to_owned(),
            probability,
        ));
    }
    tiles.push((
        "largest drawdown".to_owned(),
        format!("{} {quote}", best.drawdown_max),
    ));
    tiles.push(("fills".to_owned(), best.fills.to_string()));
    tiles.push((
        "both sides quoted".to_owned(),
        format!("{:.1} %", best.uptime * 100.0),
    ));
    tiles
}

/// How many runs were stopped.
fn stopped_tile(summary: &Summary) -> (String, String) {
    let stopped = summary.stopped.runs;
    let shown = format!("{stopped} of {} runs", summary.runs);
    ("trading stopped".to_owned(), shown)
}

/// All trials on all of the data.
fn whole(page: &mut Comparison, space: &Space, rows: &Rows, summary: &Summary) {
    let group = summary::group(rows, space, None, Phase::All);
    if let Some(best) = &summary.best {
        page.tiles = tiles_of(best, summary.measure, &summary.quote);
        page.tiles.push(stopped_tile(summary));
    }
    let curves = best_rows(&group, space, CURVES).into_iter().map(|score| {
        let values = summary::parameters(space, score.row);
        curve(
            format!("{}: {}", score.row.trial, named(&values)),
            score.row,
        )
    });
    page.charts.push(Chart {
        title: format!(
            "The best trials, {} in {}",
            summary.measure.title(),
            summary.quote
        ),
        curves: curves.collect(),
    });
    page.heat_maps = heat_maps(space, &group, summary.measure, &summary.quote);
    let mut table = run_table(space, &group, ROWS, &summary.quote);
    let head = table.remove(0);
    page.tables.push(Table {
        title: run_title(space, &group, ROWS),
        head,
        rows: table,
    });
}

/// What was chosen in every window.
fn walk_forward(page: &mut Comparison, space: &Space, rows: &Rows, summary: &Summary) {
    let Some(walk) = &summary.walk_forward else {
        return;
    };
    let quote = &summary.quote;
    let measure = summary.measure.title();
    let came_to = |excess: f64, seconds: f64| {
        if seconds > 0.0 {
            format!("{excess:.2} {quote}")
        } else {
            MISSING.to_owned()
        }
    };
    page.tiles = vec![
        ("windows".to_owned(), walk.windows.len().to_string()),
        (
            format!(
                "chosen: {measure} in {} of train{}",
                lasting(walk.train_s),
                overlap(walk)
            ),
            came_to(walk.train_excess, walk.train_s),
        ),
        (
            format!("chosen: {measure} in {} of test", lasting(walk.test_s)),
            came_to(walk.test_excess, walk.test_s),
        ),
        (
            format!("{} a year on test", summary.measure.sharpe()),
            ratio(walk.test_sharpe),
        ),
        (
            "probability that it is above 0".to_owned(),
            walk.test_probability
                .map_or_else(|| MISSING.to_owned(), percent),
        ),
        (
            "better half of trials on test".to_owned(),
            format!("{} of {}", walk.better_half, walk.windows.len()),
        ),
        stopped_tile(summary),
    ];
    // One line through all test windows: each goes on where the one before ended.
    let mut points = Vec::new();
    let mut carried = 0.0;
    for window in &walk.windows {
        let Some(row) = window.test.as_ref().and_then(|test| rows.get(&test.run)) else {
            continue;
        };
        let own = curve(String::new(), row).points;
        let end = own
            .iter()
            .filter_map(|point| point.1)
            .next_back()
            .unwrap_or(0.0);
        points.extend(
            own.into_iter()
                .map(|(time, value)| (time, value.map(|value| carried + value))),
        );
        carried += end;
    }
    let tests = walk
        .windows
        .iter()
        .filter_map(|window| window.test.as_ref());
    let best_of_test = tests
        .filter_map(|test| rows.get(&test.run))
        .take(CURVES_MAX);
    let each =
        best_of_test.map(|row| curve(format!("window {}", row.window.unwrap_or_default()), row));
    page.charts.push(Chart {
        title: format!("Chosen on train, on all test windows: {measure} in {quote}"),
        curves: vec![Curve {
            name: "chosen on train".to_owned(),
            points,
        }],
    });
    page.charts.push(Chart {
        title: format!("Each test window by itself: {measure} in {quote}"),
        curves: each.collect(),
    });
    let mut table = window_table(space, summary);
    let head = table.remove(0);
    page.tables.push(Table {
        title: WINDOWS.to_owned(),
        head,
        rows: table,
    });
}

/// The curve of a run, from its beginning at zero.
fn curve(name: String, row: &Row) -> Curve {
    let points = row.figures().and_then(|figures| {
        let from = Timestamp::from_rfc3339(&figures.from)?;
        let at = |ms: u64| {
            from.plus_nanos(i64::try_from(ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX))
        };
        Some(
            figures
                .curve
                .iter()
                .map(|(ms, value)| (at(*ms), Some(*value)))
                .collect(),
        )
    });
    Curve {
        name,
        points: points.unwrap_or_default(),
    }
}

/// What a table of trials has.
pub fn run_title(space: &Space, group: &Group<'_>, most: usize) -> String {
    let all = group.scores.len();
    let what = if all > most {
        format!("The best {most} of {all} trials (all are in runs.csv)")
    } else {
        "Trials, the best first".to_owned()
    };
    let excess = if group.has_ranked_by_excess(space.metric) {
        "; trials without a positive Sharpe ratio by excess"
    } else {
        ""
    };
    let is_stopped = |score: &Score<'_>| score.figures.is_stopped();
    let last = if group.scores.iter().any(is_stopped) {
        "; trials whose trading stopped behind the others"
    } else {
        ""
    };
    format!("{what}{excess}{last}")
}

/// What a table of windows has.
pub const WINDOWS: &str = "Windows";

/// The best trials with their values and figures; the first row names the columns with their units.
pub fn run_table(space: &Space, group: &Group<'_>, most: usize, quote: &str) -> Vec<Vec<String>> {
    let mut head = vec!["trial".to_owned()];
    head.extend(
        space
            .parameters
            .iter()
            .map(|parameter| parameter.name.value.clone()),
    );
    head.extend([
        format!("net, {quote}"),
        format!("holding, {quote}"),
        format!("excess, {quote}"),
        format!("spread, {quote}"),
        format!("holdings, {quote}"),
        format!("fees, {quote}"),
        "Sharpe a year".to_owned(),
        "deflated, %".to_owned(),
        format!("drawdown, {quote}"),
        "fills".to_owned(),
        "both sides quoted, %".to_owned(),
        "state at the end".to_owned(),
    ]);
    let mut table = vec![head];
    for score in best_rows(group, space, most) {
        table.push(run_cells(space, group, score));
    }
    table
}

/// Decimals of an amount in a table; all of them are in `runs.csv`.
const PLACES: usize = 4;

/// An amount in a table: its nearest value with few decimals, so that all columns fit on a page.
pub fn short(amount: &str) -> String {
    let decimals = amount.split_once('.').map_or(0, |(_, part)| part.len());
    match amount.parse::<f64>() {
        Ok(value) if decimals > PLACES => format!("{value:.PLACES$}"),
        _ => amount.to_owned(),
    }
}

fn run_cells(space: &Space, group: &Group<'_>, score: &Score<'_>) -> Vec<String> {
    let figures = score.figures;
    let amount =
        |value: &Option<String>| value.as_deref().map_or_else(|| MISSING.to_owned(), short);
    let sharpe = score
        .moments
        .map(|moments| annual(moments.sharpe(), space.return_interval_s));
    let deflated = group.deflated(score, space.return_interval_s);
    let deflated = deflated.and_then(|deflated| deflated.probability);
    let mut cells = vec![score.row.trial.to_string()];
    cells.extend(score.row.values.iter().map(text));
    cells.extend([
        amount(&figures.net_pnl),
        amount(&figures.holding),
        amount(&figures.excess_over_holding),
        amount(&figures.spread),
        amount(&figures.holdings),
        amount(&figures.fees),
        ratio(sharpe),
        deflated.map_or_else(|| MISSING.to_owned(), percent_number),
        short(&figures.drawdown_max),
        figures.fills.to_string(),
        format!("{:.1}", figures.uptime * 100.0),
        pauses::with(stops::marked(figures), figures.pauses.as_ref()),
    ]);
    cells
}

/// Windows with what was chosen in them, what followed on test first; the first row names the columns with their units.
pub fn window_table(space: &Space, summary: &Summary) -> Vec<Vec<String>> {
    let parameters = space
        .parameters
        .iter()
        .map(|parameter| &parameter.name.value);
    let mut head = vec!["window".to_owned(), "trial".to_owned()];
    head.extend(parameters.clone().cloned());
    let quote = &summary.quote;
    head.extend([
        format!("test net, {quote}"),
        format!("test excess, {quote}"),
        "test Sharpe a year".to_owned(),
        "test rank".to_owned(),
        "test fills".to_owned(),
        format!("train net, {quote}"),
        format!("train excess, {quote}"),
        "train Sharpe a year".to_owned(),
        "deflated, %".to_owned(),
        "train fills".to_owned(),
        "train from".to_owned(),
        "test from".to_owned(),
        "to".to_owned(),
        "test state at the end".to_owned(),
        "train state at the end".to_owned(),
    ]);
    let mut table = vec![head];
    let windows = summary.walk_forward.iter().flat_map(|walk| &walk.windows);
    for window in windows {
        let none = || MISSING.to_owned();
        let (train, test) = (window.train.as_ref(), window.test.as_ref());
        let mut cells = vec![
            window.window.to_string(),
            train.map_or_else(none, |train| train.trial.to_string()),
        ];
        cells.extend(parameters.clone().map(|name| {
            let value = train.and_then(|train| train.parameters.get(name));
            value.map_or_else(none, |value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        }));
        let of = |chosen: Option<&Chosen>| {
            let net = chosen.and_then(|c| c.net_pnl.as_deref());
            let excess = chosen.and_then(|c| c.excess_over_holding.as_deref());
            [
                net.map_or_else(none, short),
                excess.map_or_else(none, short),
                ratio(chosen.and_then(|c| c.sharpe)),
            ]
        };
        let fills = |chosen: Option<&Chosen>| chosen.map_or_else(none, |c| c.fills.to_string());
        cells.extend(of(test));
        cells.push(match (window.test_rank, window.test_trials) {
            (Some(rank), Some(of)) => format!("{rank} of {of}"),
            _ => none(),
        });
        cells.push(fills(test));
        cells.extend(of(train));
        let deflated = train.and_then(|train| train.deflated?.probability);
        cells.push(deflated.map_or_else(none, percent_number));
        cells.push(fills(train));
        cells.extend(window.times.iter().cloned());
        cells
            .extend([test, train].map(|chosen| chosen.map_or_else(none, Chosen::state_and_pauses)));
        table.push(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn amounts_of_tables_have_few_decimals() {
        for (amount, shown) in [
            ("-252.764", "-252.764"),
            ("-252.76412345", "-252.7641"),
            ("0.00005", "0.0001"),
            ("12", "12"),
            ("uncounted", "uncounted"),
        ] {
            assert_eq!(short(amount), shown, "{amount}");
        }
    }
}
