//! The comparison as text and as JSON.

use std::fmt::Write as _;

use cambist::commands::columns;
use cambist_sim::tournament::{Estimate, Ranking};
use serde_json::{Value, json};

use crate::tournament::comparison::{Measure, Row};
use crate::tournament::contestants::REFERENCE;
use crate::tournament::plan::Plan;
use crate::tournament::setting::{NETWORK_TEXT, OPENING_ETH, OPENING_USDC, START_MS};

/// What is written before the tables.
pub struct Head<'a> {
    /// The command.
    pub command: &'a str,
    /// Version and commit.
    pub version: &'a str,
    /// Hash of the program file.
    pub build: &'a str,
    /// Length of a game.
    pub minutes: u64,
}

/// The whole text.
pub fn text(head: &Head<'_>, plan: &Plan, rows: &[Row]) -> String {
    let games: usize = rows.iter().map(|row| row.games).sum();
    let mut text = format!(
        "command  {}\nprogram  {}, build {}\ngames    {games}: {} contestants, {} scenarios, seeds {} to {}, {} simulated minutes each (the maker starts after {} s)\naccount  {OPENING_ETH} ETH and {OPENING_USDC} USDC\nnetwork  {NETWORK_TEXT}\n",
        head.command,
        head.version,
        head.build,
        plan.contestants.len(),
        plan.markets.len(),
        plan.first,
        plan.first + plan.seeds - 1,
        head.minutes,
        START_MS / 1_000,
    );
    text.push_str(EXPLAINED);
    for (index, market) in plan.markets.iter().enumerate() {
        let here: Vec<_> = rows.iter().filter(|row| row.market == index).collect();
        let _ = write!(text, "\n{}: {}\n\n", market.name, market.about);
        text.push_str(&money(plan, &here));
        text.push('\n');
        text.push_str(&quoting(plan, &here));
    }
    text.push_str(&losses(plan, rows));
    text
}

const EXPLAINED: &str = "
Every contestant plays the same seeds. Estimates are means with their 95 % confidence intervals (normal); a
difference is the mean of the differences from the reference's game of the same seed, with its interval. A ranking
is given where the interval of the difference leaves out 0, from 30 seeds on; of the tails, where their intervals do
not overlap. In one comparison of twenty without a difference it is wrong by chance.
  profit               equity at the end less that of the unchanged opening balances, both at the fair price that the
                       simulated traders know, in ten-thousandths of the first equity
  1 % tail             the 1 % quantile of the profit, with the distribution-free interval of order statistics
  both sides           per cent of the time with own orders on both sides at the exchange
  seconds per request  seconds with own orders on both sides for each request of any kind
  orphans              orders that rest at the end unknown to their maker, or filled when it did not know them
";

fn name<'a>(plan: &'a Plan, row: &Row) -> &'a str {
    plan.contestants[row.contestant].name
}

/// An estimate with its interval, as `12.30 ± 0.21`.
fn interval(estimate: Option<&Estimate>, digits: usize, signed: bool) -> String {
    let Some(estimate) = estimate else {
        return "-".to_owned();
    };
    let value = if signed {
        format!("{:+.digits$}", estimate.value)
    } else {
        format!("{:.digits$}", estimate.value)
    };
    let error = estimate.high.map(|high| high - estimate.value);
    error.map_or_else(
        || value.clone(),
        |error| format!("{value} ± {error:.digits$}"),
    )
}

/// A tail with its bounds, as `-12.3 [-15.0, -10.1]`.
fn bounds(estimate: &Estimate) -> String {
    let bound = |bound: Option<f64>| bound.map_or_else(|| "none".to_owned(), |b| format!("{b:.2}"));
    format!(
        "{:.2} [{}, {}]",
        estimate.value,
        bound(estimate.low),
        bound(estimate.high)
    )
}

fn compared(row: &Row, measure: Measure, digits: usize) -> [String; 2] {
    row.differences.get(&measure).map_or_else(
        || ["-".to_owned(), "-".to_owned()],
        |difference| {
            let shown = interval(Some(&difference.estimate), digits, true);
            [shown, difference.ranking.name().to_owned()]
        },
    )
}

fn heading(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn indented(rows: &[Vec<String>]) -> String {
    columns(rows).lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}

fn money(plan: &Plan, rows: &[&Row]) -> String {
    let mut table = vec![heading(&[
        "",
        "games",
        "profit, bps",
        "less the reference",
        "ranking",
        "1 % tail, bps",
        "ranking",
        "fills",
    ])];
    for row in rows {
        let [difference, ranking] = compared(row, Measure::Profit, 3);
        let tail_ranking = row.tail_ranking.map_or("-", Ranking::name);
        table.push(vec![
            name(plan, row).to_owned(),
            row.games.to_string(),
            interval(row.means.get(&Measure::Profit), 3, false),
            difference,
            ranking,
            bounds(&row.tail),
            tail_ranking.to_owned(),
            interval(row.means.get(&Measure::Fills), 1, false),
        ]);
    }
    indented(&table)
}

fn quoting(plan: &Plan, rows: &[&Row]) -> String {
    let mut table = vec![heading(&[
        "",
        "both sides, %",
        "less the reference",
        "ranking",
        "seconds per request",
        "less the reference",
        "ranking",
        "orphans a game",
        "less the reference",
        "ranking",
        "requests",
    ])];
    for row in rows {
        let mut cells = vec![name(plan, row).to_owned()];
        for (measure, digits) in [
            (Measure::BothSides, 2),
            (Measure::PerRequest, 3),
            (Measure::Orphans, 3),
        ] {
            cells.push(interval(row.means.get(&measure), digits, false));
            cells.extend(compared(row, measure, digits));
        }
        cells.push(interval(row.means.get(&Measure::Requests), 1, false));
        table.push(cells);
    }
    indented(&table)
}

/// Where a strategy of ours is worse than the reference, and how often it is better.
fn losses(plan: &Plan, rows: &[Row]) -> String {
    let mut lines = Vec::new();
    let mut counts = [0_u32; 3];
    let reference = |row: &Row| {
        rows.iter()
            .find(|one| one.market == row.market && one.contestant == 0)
    };
    for row in rows.iter().filter(|row| is_ours(plan, row)) {
        let rankings = row.differences.iter().map(|(measure, difference)| {
            let value = |row: &Row| row.means.get(measure).map_or(f64::NAN, |mean| mean.value);
            (
                measure.name(),
                difference.ranking,
                value(row),
                reference(row).map_or(f64::NAN, value),
            )
        });
        let theirs = reference(row).map_or(f64::NAN, |one| one.tail.value);
        let tails = row
            .tail_ranking
            .map(|ranking| ("1 % tail", ranking, row.tail.value, theirs));
        for (measure, ranking, ours, theirs) in rankings.chain(tails) {
            counts[ranking as usize] += 1;
            if ranking == Ranking::Worse {
                let market = &plan.markets[row.market].name;
                lines.push(vec![
                    market.clone(),
                    name(plan, row).to_owned(),
                    measure.to_owned(),
                    format!("{ours:.3} against {theirs:.3}"),
                ]);
            }
        }
    }
    let [better, worse, undecided] = counts;
    let violations: u64 = rows.iter().map(|row| row.violations).sum();
    let orphans: u64 = rows
        .iter()
        .filter(|row| is_ours(plan, row))
        .map(|row| row.orphans)
        .sum();
    format!(
        "\nThe engine's strategies against the reference: better in {better} comparisons, worse in {worse}, not decided in {undecided}.\nOrphans of the engine's strategies in all games: {orphans}. Violated invariants: {violations}.\n\nWhere they are worse\n{}",
        if lines.is_empty() {
            "  nowhere\n".to_owned()
        } else {
            indented(&lines)
        }
    )
}

fn is_ours(plan: &Plan, row: &Row) -> bool {
    !name(plan, row).starts_with(REFERENCE)
}

/// The same as one value.
pub fn json(head: &Head<'_>, plan: &Plan, rows: &[Row]) -> Value {
    let estimate = |one: &Estimate| json!({"value": one.value, "low": one.low, "high": one.high});
    let row = |row: &Row| {
        let means: serde_json::Map<_, _> = row
            .means
            .iter()
            .map(|(measure, mean)| (measure.key().to_owned(), estimate(mean)))
            .collect();
        let differences: serde_json::Map<_, _> = row
            .differences
            .iter()
            .map(|(measure, one)| {
                let mut value = estimate(&one.estimate);
                value["ranking"] = one.ranking.name().into();
                (measure.key().to_owned(), value)
            })
            .collect();
        json!({
            "scenario": plan.markets[row.market].name,
            "contestant": name(plan, row),
            "games": row.games,
            "means": means,
            "less_the_reference": differences,
            "profit_tail_bps": estimate(&row.tail),
            "tail_ranking": row.tail_ranking.map(Ranking::name),
            "orphans": row.orphans,
            "violations": row.violations,
        })
    };
    json!({
        "command": head.command,
        "version": head.version,
        "build": head.build,
        "minutes": head.minutes,
        "first_seed": plan.first,
        "seeds": plan.seeds,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
