//! The report of a period as one HTML page, by the renderer of backtests: profit and loss over the days, and the tables of
//! the text.

use std::collections::BTreeMap;

use cambist_backtest::compare::{CURVES_MAX, Chart, Comparison, Curve, Table};
use cambist_core::TokenId;
use cambist_host::times;
use cambist_market_data::Timestamp;
use cambist_store::results::period::{DayRow, PeriodReport};

use super::{balances, by_day, by_strategy, charges, equity, pool, rounded, symbol};

const DAY_S: u64 = 86_400;

/// The page.
pub(super) fn html(report: &PeriodReport) -> String {
    let period = report
        .attributed_us
        .map(|both| both.map(|us| times::iso(us / 1_000_000)));
    let subtitle = period.map_or_else(
        || "Nothing to report.".to_owned(),
        |[from, to]| format!("{from} to {to}. cambist {}", env!("CARGO_PKG_VERSION")),
    );
    let mut statements = report.notes.clone();
    statements.push(if report.differs {
        "The books do not agree with these results: see what is unattributed and unexplained.".to_owned()
    } else {
        "Profit and loss and flows add up to the change of equity, and trades, flows and charges to that of every balance."
            .to_owned()
    });
    statements.extend(charges(report));
    let quotes = report.quotes.iter();
    let mut tables = vec![
        with_head("Profit and loss by day", by_day(report)),
        with_head("By market and strategy", by_strategy(report)),
    ];
    tables.extend(quotes.map(|row| Table {
        title: format!("Equity in {}", symbol(report, row.quote)),
        head: vec![String::new(); 2],
        rows: equity(report, row),
    }));
    tables.push(with_head("Balances", balances(report)));
    Comparison {
        title: "Profit and loss".to_owned(),
        subtitle,
        tiles: tiles(report),
        statements,
        charts: charts(report),
        tables,
        ..Comparison::default()
    }
    .html()
}

/// A table whose first row is its head.
fn with_head(title: &str, mut rows: Vec<Vec<String>>) -> Table {
    let head = rows.remove(0);
    Table {
        title: title.to_owned(),
        head,
        rows,
    }
}

fn tiles(report: &PeriodReport) -> Vec<(String, String)> {
    let mut tiles = Vec::new();
    for row in &report.quotes {
        let name = symbol(report, row.quote);
        let Some(pnl) = row.pnl else { continue };
        tiles.push((
            "profit and loss".to_owned(),
            format!("{} {name}", rounded(pnl.total)),
        ));
        for (cause, amount) in [
            ("spread", pnl.spread),
            ("holdings", pnl.holdings),
            ("fees", pnl.fees),
        ] {
            tiles.push((cause.to_owned(), rounded(amount)));
        }
        tiles.extend(pool(pnl).map(|amount| ("pool".to_owned(), rounded(amount))));
    }
    let fills: u64 = report.days.iter().map(|row| row.fills).sum();
    tiles.push(("fills".to_owned(), fills.to_string()));
    tiles
}

/// For each quote token: profit and loss since the beginning of the period at the end of each day, by market and
/// strategy, and their sum.
fn charts(report: &PeriodReport) -> Vec<Chart> {
    let mut quotes: Vec<TokenId> = report.days.iter().map(|row| row.quote).collect();
    quotes.sort_unstable();
    quotes.dedup();
    quotes
        .into_iter()
        .map(|quote| chart(report, quote))
        .collect()
}

fn chart(report: &PeriodReport, quote: TokenId) -> Chart {
    let rows: Vec<&DayRow> = report
        .days
        .iter()
        .filter(|row| row.quote == quote)
        .collect();
    let mut names: Vec<String> = rows.iter().map(|row| name(row)).collect();
    names.sort();
    names.dedup();
    let of = |name_of: Option<&str>| {
        let rows = rows
            .iter()
            .filter(|row| name_of.is_none_or(|wanted| name(row) == wanted));
        accumulated(rows.copied())
    };
    let mut curves = Vec::new();
    if names.len() > 1 {
        curves.push(Curve {
            name: "all".to_owned(),
            points: of(None),
        });
    }
    curves.extend(names.iter().take(CURVES_MAX).map(|name| Curve {
        name: name.clone(),
        points: of(Some(name)),
    }));
    Chart {
        title: format!(
            "Profit and loss since the beginning, {}",
            symbol(report, quote)
        ),
        curves,
    }
}

fn name(row: &DayRow) -> String {
    format!("{}, {}", row.market, row.strategy)
}

/// The sum up to the end of each day, from zero at the beginning of the first; for display.
fn accumulated<'r>(rows: impl Iterator<Item = &'r DayRow>) -> Vec<(Timestamp, Option<f64>)> {
    let mut days: BTreeMap<u64, f64> = BTreeMap::new();
    for row in rows {
        *days.entry(row.day).or_default() += row.pnl.total.to_f64();
    }
    let at = |day: u64| {
        let nanos = day.saturating_mul(DAY_S).saturating_mul(1_000_000_000);
        Timestamp(i64::try_from(nanos).unwrap_or(i64::MAX))
    };
    let first = days.keys().next().map(|day| (at(*day), Some(0.0)));
    let mut sum = 0.0;
    let each = days.iter().map(|(day, total)| {
        sum += total;
        (at(day.saturating_add(1)), Some(sum))
    });
    first.into_iter().chain(each).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_report::money::Money;
    use cambist_report::pnl::Attribution;

    use super::*;

    fn row(day: u64, strategy: &str, total: i128) -> DayRow {
        let money = |numerator| Money {
            numerator,
            denominator: 1,
            decimals: 2,
        };
        DayRow {
            day,
            market: "ETH-USDC".to_owned(),
            strategy: strategy.to_owned(),
            quote: TokenId(1),
            pnl: Attribution {
                spread: money(total),
                holdings: money(0),
                fees: money(0),
                pool: None,
                total: money(total),
            },
            fills: 3,
            base_volume: 0,
            quote_volume: 0,
        }
    }

    #[test]
    fn a_curve_begins_at_zero_and_ends_at_the_sum_of_its_days() {
        let report = PeriodReport {
            days: vec![row(10, "a", 150), row(10, "b", 25), row(12, "a", -50)],
            ..PeriodReport::default()
        };
        let [chart] = &charts(&report)[..] else {
            panic!("one quote token")
        };
        let curve = |name: &str| {
            let found = chart
                .curves
                .iter()
                .find(|curve| curve.name == name)
                .unwrap();
            let days = |at: &Timestamp| at.0 / (86_400 * 1_000_000_000);
            let points = found
                .points
                .iter()
                .map(|(at, sum)| (days(at), sum.unwrap()));
            points.collect::<Vec<_>>()
        };
        assert_eq!(curve("ETH-USDC, a"), [(10, 0.0), (11, 1.5), (13, 1.0)]);
        assert_eq!(curve("ETH-USDC, b"), [(10, 0.0), (11, 0.25)]);
        assert_eq!(curve("all"), [(10, 0.0), (11, 1.75), (13, 1.25)]);
        assert_eq!(tiles(&report), [("fills".to_owned(), "9".to_owned())]);
    }

    #[test]
    fn an_empty_period_has_a_page_and_no_chart() {
        let page = html(&PeriodReport::default());
        assert!(
            page.contains("Nothing to report.") && !page.contains("<svg"),
            "{page}"
        );
    }
}
