//! `cambist report`: profit and loss of a period by day, market, strategy and cause, compared with the change
//! of equity and of every balance.

mod page;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use cambist_core::TokenId;
use cambist_report::money::{Money, decimal_text};
use cambist_report::pnl::{Attribution, PoolAttribution};
use clap::Args;
use serde_json::{Value, json};

use super::{columns, print_json, print_text};
use crate::commands::daemon_control::Which;
use crate::exit::{Exit, Failure};
use cambist_daemon::config::Daemon;
use cambist_host::clock::Clock;
use cambist_host::times::{self, PeriodEnd};
use cambist_store::results::period::{self, DayRow, Hours, PeriodReport, QuoteRow};

/// Milliseconds of an hour.
const HOUR_MS: u64 = 3_600_000;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    which: Which,
    /// Start hour: a day, a time (2026-01-31T12:00Z), or an age (24h, 7d). UTC. Default: the beginning
    #[arg(long, value_name = "MOMENT")]
    from: Option<String>,
    /// End hour, exclusive; a day includes all its hours. Default: now
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
    /// Print comma-separated values, one line per day, market and strategy
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Also write one self-contained HTML page with charts, which opens offline
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Replace a page that is there
    #[arg(long, requires = "html")]
    overwrite: bool,
}

/// Prints the profit and loss of a period. Exit 1 if the books do not agree with it.
pub fn run(args: &ReportArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load_unpinned(&args.which.config)?;
    with_store(&daemon)?;
    if let Some(file) = args
        .html
        .as_ref()
        .filter(|file| file.exists() && !args.overwrite)
    {
        let what = format!(
            "{} is there already: name another file with --html, or replace it with --overwrite",
            file.display()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let report = period::read(&daemon.store.dir, hours(args)?)?;
    if let Some(file) = &args.html {
        std::fs::write(file, page::html(&report)).with_context(|| file.display().to_string())?;
        eprintln!("page: {}", file.display());
    }
    if json {
        print_json(&as_json(&report))?;
    } else if args.csv {
        print_text(&as_csv(&report))?;
    } else {
        print_text(&as_text(&report))?;
    }
    if !json {
        for note in &report.notes {
            eprintln!("not attributed: {note}");
        }
    }
    if report.differs {
        eprintln!(
            "the books do not agree with the results; see \"unattributed\" and \"unexplained\""
        );
        return Ok(Exit::CheckFailed);
    }
    Ok(Exit::Done)
}

/// Refuses a file whose mode keeps no store, and names where its results are.
pub fn with_store(daemon: &Daemon) -> Result<(), Failure> {
    // A folder in which a daemon traded before has a store, whatever the file's mode is now.
    if daemon.mode.trades() || daemon.store.dir.join(cambist_store::FILE).exists() {
        return Ok(());
    }
    let (file, mode) = (daemon.source.path.display(), daemon.mode.name());
    let dir = daemon.store.dir.display();
    let what = if daemon.mode.simulates() {
        format!(
            "{file}: mode {mode:?} has no store: every run writes report.html, report.json and fills.csv into a folder of its own in {dir}, and `cambist compare` reads those"
        )
    } else {
        format!(
            "{file}: mode {mode:?} has no store: it records depth in {dir}, which `cambist depth` reads"
        )
    };
    Err(Failure::new(Exit::Usage, what))
}

/// Whole hours, because balances and prices are stored by the hour.
fn hours(args: &ReportArgs) -> Result<Hours, Failure> {
    let now_ms = Clock::new().unix_micros() / 1_000;
    let hour = |flag: &str, text: &Option<String>, end| {
        let hour = text.as_ref().map(|text| hour_of(text, end, now_ms));
        let named = |what| Failure::new(Exit::Usage, format!("{flag} {what}"));
        hour.transpose().map_err(named)
    };
    let hours = Hours {
        from: hour("--from", &args.from, PeriodEnd::From)?,
        to: hour("--to", &args.to, PeriodEnd::To)?,
    };
    match (hours.from, hours.to) {
        (Some(from), Some(to)) if to <= from => Err(Failure::new(
            Exit::Usage,
            "--to is not after --from".to_owned(),
        )),
        _ => Ok(hours),
    }
}

/// The hour of a moment. A time has to be a whole hour; an age has to be of whole hours, and is the hour in which that
/// moment was.
fn hour_of(text: &str, end: PeriodEnd, now_ms: u64) -> Result<u64, String> {
    let at_ms = times::moment_ms(text, end, now_ms)?;
    let is_date = text.contains(['T', '-']);
    let beyond_ms = if is_date { at_ms } else { now_ms - at_ms };
    // An age from before 1970 is everything.
    if at_ms > 0 && beyond_ms % HOUR_MS != 0 {
        return Err(format!(
            "{text}: results are stored by the hour; use a whole hour (2026-01-31T12:00Z) or an age of whole hours (24h)"
        ));
    }
    Ok(at_ms / HOUR_MS)
}

fn day(days: u64) -> String {
    let mut text = times::iso(days.saturating_mul(86_400));
    text.truncate(10);
    text
}

fn symbol(report: &PeriodReport, id: TokenId) -> String {
    let shares = report.listing.pools.iter().map(|pool| &pool.lp);
    let found = report
        .token(id)
        .or_else(|| shares.clone().find(|lp| lp.id == id));
    found.map_or_else(|| format!("token {}", id.0), |token| token.symbol.clone())
}

fn units(report: &PeriodReport, id: TokenId, units: i128) -> String {
    let mut shares = report.listing.pools.iter().map(|pool| &pool.lp);
    let found = report.token(id).or_else(|| shares.find(|lp| lp.id == id));
    let decimals = found.map_or(0, |token| usize::from(token.decimals));
    let sign = if units < 0 { "-" } else { "" };
    format!(
        "{sign}{}",
        decimal_text(units.unsigned_abs(), decimals, decimals)
    )
}

fn pool(pnl: Attribution) -> Option<Money> {
    pnl.pool.and_then(PoolAttribution::total)
}

fn causes(pnl: Attribution) -> Value {
    json!({
        "spread": pnl.spread.to_string(),
        "holdings": pnl.holdings.to_string(),
        "fees": pnl.fees.to_string(),
        "pool": pool(pnl).map(|pool| pool.to_string()),
        "pool_fee_income": pnl.pool.map(|pool| pool.fee_income.to_string()),
        "pool_impermanent_loss": pnl.pool.map(|pool| pool.impermanent_loss.to_string()),
        "pool_costs": pnl.pool.map(|pool| pool.move_costs.to_string()),
        "total": pnl.total.to_string(),
    })
}

fn as_json(report: &PeriodReport) -> Value {
    let row = |row: &DayRow| {
        json!({
            "day": day(row.day),
            "market": row.market,
            "strategy": row.strategy,
            "quote": symbol(report, row.quote),
            "pnl": causes(row.pnl),
            "fills": row.fills,
            "quote_volume": units(report, row.quote, i128::try_from(row.quote_volume).unwrap_or(i128::MAX)),
        })
    };
    let quote = |row: &QuoteRow| {
        json!({
            "quote": symbol(report, row.quote),
            "equity_start": row.equity.map(|[start, _]| start.to_string()),
            "equity_end": row.equity.map(|[_, end]| end.to_string()),
            "flows": row.flows.to_string(),
            "pnl": row.pnl.map(causes),
            "unattributed": row.unattributed.map(|rest| rest.to_string()),
            "charges": row.charges.map(|charges| charges.to_string()),
            "pnl_after_charges": after_charges(report, row).map(|pnl| pnl.to_string()),
        })
    };
    let tokens = report.tokens.iter().map(|(id, row)| {
        let text = |amount| units(report, *id, amount);
        let [start, end] = row.units;
        json!({
            "token": symbol(report, *id),
            "start": text(start),
            "traded": text(row.traded),
            "flows": text(row.flows),
            "charges": text(row.charges),
            "end": text(end),
            "unexplained": text(row.unexplained()),
        })
    });
    let [from, to] = report.attributed_us.map_or([None, None], |at| {
        at.map(|us| Some(times::iso(us / 1_000_000)))
    });
    json!({
        "from": from,
        "to": to,
        "reconciled": !report.differs && report.attributed_us.is_some(),
        "notes": report.notes,
        "quotes": report.quotes.iter().map(quote).collect::<Vec<_>>(),
        "tokens": tokens.collect::<Vec<_>>(),
        "days": report.days.iter().map(row).collect::<Vec<_>>(),
    })
}

fn as_csv(report: &PeriodReport) -> String {
    let mut text =
        "day,market,strategy,quote,spread,holdings,fees,pool,total,fills,quote_volume\n".to_owned();
    for row in &report.days {
        let pnl = row.pnl;
        let pool = pool(pnl).map_or_else(String::new, |pool| pool.to_string());
        let volume = units(
            report,
            row.quote,
            i128::try_from(row.quote_volume).unwrap_or(i128::MAX),
        );
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{pool},{},{},{volume}",
            day(row.day),
            row.market,
            row.strategy,
            symbol(report, row.quote),
            pnl.spread,
            pnl.holdings,
            pnl.fees,
            pnl.total,
            row.fills,
        );
    }
    text
}

/// Rounded for display; `--json` has all digits.
fn rounded(money: Money) -> String {
    let places = if money.decimals <= 6 { 2 } else { 6 };
    let text = format!("{:+.places$}", money.to_f64());
    let is_zero = text
        .bytes()
        .all(|byte| matches!(byte, b'+' | b'-' | b'0' | b'.'));
    if is_zero {
        text.replace(['+', '-'], "")
    } else {
        text
    }
}

/// The sum of rows, in the columns of a table.
#[derive(Clone, Copy)]
struct Sum {
    pnl: Attribution,
    fills: u64,
}

/// Sums of the rows by a key and their quote token, below a head.
fn sums(report: &PeriodReport, head: &str, key: impl Fn(&DayRow) -> String) -> Vec<Vec<String>> {
    let mut sums: BTreeMap<(TokenId, String), Option<Sum>> = BTreeMap::new();
    for row in &report.days {
        let add = Sum {
            pnl: row.pnl,
            fills: row.fills,
        };
        sums.entry((row.quote, key(row)))
            .and_modify(|sum| {
                *sum = sum.and_then(|sum| {
                    let pnl = sum.pnl.checked_add(add.pnl)?;
                    Some(Sum {
                        pnl,
                        fills: sum.fills + add.fills,
                    })
                });
            })
            .or_insert(Some(add));
    }
    let mut rows = vec![
        [
            head, "quote", "spread", "holdings", "fees", "pool", "total", "fills",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for ((quote, key), sum) in sums {
        let mut row = vec![key, symbol(report, quote)];
        match sum {
            Some(Sum { pnl, fills }) => {
                row.extend([pnl.spread, pnl.holdings, pnl.fees].map(rounded));
                row.push(pool(pnl).map_or_else(|| "-".to_owned(), rounded));
                row.push(rounded(pnl.total));
                row.push(fills.to_string());
            }
            None => row.push("too large".to_owned()),
        }
        rows.push(row);
    }
    rows
}

/// Equity, flows and profit of a quote token, with their names.
fn equity(report: &PeriodReport, row: &QuoteRow) -> Vec<Vec<String>> {
    let name = symbol(report, row.quote);
    let known = |money: Option<Money>| money.map_or_else(|| "unknown".to_owned(), rounded);
    let mut lines = vec![
        (
            "equity at the start",
            known(row.equity.map(|[start, _]| start)),
        ),
        ("deposits and withdrawals", rounded(row.flows)),
        ("profit and loss", known(row.pnl.map(|pnl| pnl.total))),
        ("unattributed", known(row.unattributed)),
        ("equity at the end", known(row.equity.map(|[_, end]| end))),
    ];
    if let Some(charges) = row.charges {
        lines.push(("charges such as gas", rounded(charges)));
        lines.push((
            "profit and loss after charges",
            known(after_charges(report, row)),
        ));
    }
    let each = lines.into_iter();
    each.map(|(what, amount)| vec![what.to_owned(), format!("{amount} {name}")])
        .collect()
}

/// Profit and loss less what charges were worth; `None` if either is unknown. Where nothing was traded there is none.
fn after_charges(report: &PeriodReport, row: &QuoteRow) -> Option<Money> {
    let charges = row.charges?;
    let is_traded = report.days.iter().any(|day| day.quote == row.quote);
    match row.pnl {
        Some(pnl) => pnl.total.checked_add(charges),
        None => (!is_traded).then_some(charges),
    }
}

/// What the venue took for requests, by token, and what it was worth if it counts as a token of a market. It is in no
/// equity, and therefore in no profit and loss.
fn charges(report: &PeriodReport) -> Vec<String> {
    let charged = report.tokens.iter().filter(|(_, row)| row.charges != 0);
    let each = charged.map(|(id, row)| {
        let name = symbol(report, *id);
        let amount = units(report, *id, row.charges.saturating_neg());
        let counts = report.listing.charged_as.is_some_and(|counted| counted.charged == *id);
        let priced = report.quotes.iter().filter_map(|row| Some((row.quote, row.charges?)));
        let worth: Vec<_> = priced
            .filter(|_| counts)
            .map(|(quote, worth)| format!("{} {}", rounded(worth), symbol(report, quote)))
            .collect();
        let what = format!("charges of the venue such as gas: {amount} {name}");
        match (worth.is_empty(), counts) {
            (false, _) => format!(
                "{what}, worth {} at the mids of their hours; deducted in the profit and loss after charges only",
                worth.join(", ")
            ),
            (true, true) => format!("{what}, in no profit and loss above: there was no mid in an hour of them"),
            (true, false) => format!("{what}, in no profit and loss above"),
        }
    });
    each.collect()
}

/// Balances of every token in exact units, below a head.
fn balances(report: &PeriodReport) -> Vec<Vec<String>> {
    let head = [
        "token",
        "start",
        "traded",
        "flows",
        "charges",
        "end",
        "unexplained",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (id, row) in &report.tokens {
        let [start, end] = row.units;
        let amounts = [
            start,
            row.traded,
            row.flows,
            row.charges,
            end,
            row.unexplained(),
        ];
        let amounts = amounts.map(|amount| units(report, *id, amount));
        rows.push([vec![symbol(report, *id)], amounts.to_vec()].concat());
    }
    rows
}

fn as_text(report: &PeriodReport) -> String {
    let Some([from, to]) = report.attributed_us else {
        return "nothing to report\n".to_owned();
    };
    let at = |us: u64| times::iso(us / 1_000_000);
    let mut text = format!("profit and loss from {} to {}\n\n", at(from), at(to));
    text.push_str(&columns(&by_day(report)));
    text.push('\n');
    text.push_str(&columns(&by_strategy(report)));
    for row in &report.quotes {
        text.push('\n');
        text.push_str(&columns(&equity(report, row)));
    }
    text.push('\n');
    text.push_str(&columns(&balances(report)));
    for charged in charges(report) {
        let _ = write!(text, "\n{charged}\n");
    }
    text
}

fn by_day(report: &PeriodReport) -> Vec<Vec<String>> {
    sums(report, "day", |row| day(row.day))
}

fn by_strategy(report: &PeriodReport) -> Vec<Vec<String>> {
    sums(report, "market, strategy", |row| {
        format!("{}, {}", row.market, row.strategy)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn periods_are_of_whole_hours() {
        // 20 minutes past noon of 2026-01-31.
        let now_ms = 1_769_860_800_000 + 20 * 60_000;
        let noon = 1_769_860_800_000 / HOUR_MS;
        let from = |text| hour_of(text, PeriodEnd::From, now_ms);
        assert_eq!(from("2026-01-31T12:00Z"), Ok(noon));
        assert_eq!(from("0h"), Ok(noon));
        assert_eq!(from("2h"), Ok(noon - 2));
        assert_eq!(from("7d"), Ok(noon - 7 * 24));
        assert_eq!(from("2026-01-31"), Ok(noon - 12));
        assert_eq!(hour_of("2026-01-31", PeriodEnd::To, now_ms), Ok(noon + 12));
        for text in ["2026-01-31T12:01Z", "5m", "90m", "1h 1s", "1ms"] {
            let refused = from(text).unwrap_err();
            assert!(refused.contains("by the hour"), "{text}: {refused}");
        }
        assert!(from("soon").unwrap_err().contains("is not a time"));
    }
}
