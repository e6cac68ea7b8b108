//! `cambist history`: fills, orders, pool transactions, explained flows and set parameters from the store, as a table, CSV, JSON or Parquet.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use super::{columns, print_text};
use crate::commands::daemon_control::{Which, located};
use crate::commands::report::with_store;
use crate::exit::{Exit, Failure};
use cambist_host::clock::Clock;
use cambist_host::times::{self, PeriodEnd};
use cambist_store::history::{self, Filter, RecordKind};

/// Default number of rows of a table.
const TABLE_ROWS: u64 = 50;

/// What to list.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Booked fills; kept forever
    Fills,
    /// Orders and their ends; kept for store.keep_days
    Orders,
    /// Settled joins and exits of pools; kept forever
    Pools,
    /// Explained deposits, withdrawals and other flows
    Flows,
    /// Parameters of strategies that operators set; kept forever
    Parameters,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// What to list
    #[arg(value_enum, default_value_t = Kind::Fills)]
    kind: Kind,
    #[command(flatten)]
    which: Which,
    /// Start: a day, a time (2026-01-31T12:00Z), or an age (24h, 7d). UTC
    #[arg(long, value_name = "MOMENT")]
    from: Option<String>,
    /// End, exclusive; a day includes all its hours
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
    /// Only this market
    #[arg(long, value_name = "NAME")]
    market: Option<String>,
    /// Only this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Only this side
    #[arg(long, value_name = "SIDE", value_parser = ["buy", "sell"])]
    side: Option<String>,
    /// Most rows; the newest are listed. By default 50 in a table, otherwise all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Print comma-separated values with a header
    #[arg(long)]
    csv: bool,
    /// Write a new Parquet file, with exact decimals; needs a build with the feature `parquet`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "json"])]
    parquet: Option<PathBuf>,
}

/// Lists rows, newest first.
pub fn run(args: &HistoryArgs, json: bool) -> anyhow::Result<Exit> {
    crate::backtest::table::check_parquet(args.parquet.is_some())?;
    let daemon = located(&args.which.config)?;
    if let Some(file) = &daemon.daemon {
        with_store(file)?;
    }
    let kind = match args.kind {
        Kind::Fills => RecordKind::Fills,
        Kind::Orders => RecordKind::Orders,
        Kind::Pools => RecordKind::Pools,
        Kind::Flows => RecordKind::Flows,
        Kind::Parameters => RecordKind::Parameters,
    };
    let filter = filter(args, kind, json)?;
    let dir = &daemon.dir;
    let markets = || daemon.daemon.iter().flat_map(|file| &file.markets);
    let names = markets().map(|market| market.name.value.clone()).collect();
    known(dir, kind, "--market", args.market.as_deref(), names)?;
    let choices = markets().flat_map(|market| &market.strategies);
    let names = choices.map(|choice| choice.name.value.clone()).collect();
    known(dir, kind, "--strategy", args.strategy.as_deref(), names)?;
    if let Some(path) = &args.parquet {
        as_parquet(dir, kind, &filter, path)?;
    } else if json {
        as_json(dir, kind, &filter)?;
    } else if args.csv {
        as_csv(dir, kind, &filter)?;
    } else {
        as_table(dir, kind, &filter)?;
    }
    Ok(Exit::Done)
}

/// Refuses a name that neither the file nor any row has: an empty list would look as if nothing had happened.
fn known(
    dir: &Path,
    kind: RecordKind,
    flag: &str,
    name: Option<&str>,
    configured: BTreeSet<String>,
) -> anyhow::Result<()> {
    let Some(name) = name.filter(|name| !configured.contains(*name)) else {
        return Ok(());
    };
    let of = |chosen| (flag == chosen).then(|| name.to_owned());
    let any = Filter {
        market: of("--market"),
        strategy: of("--strategy"),
        limit: Some(1),
        ..Filter::default()
    };
    if history::each::<anyhow::Error>(dir, kind, &any, |_| Ok(()))? > 0 {
        return Ok(());
    }
    let configured: Vec<_> = configured.into_iter().collect();
    let message = format!(
        "{flag} {name}: no row has this name, and the file names {}",
        configured.join(", ")
    );
    Err(Failure::new(Exit::Usage, message).into())
}

fn filter(args: &HistoryArgs, kind: RecordKind, json: bool) -> anyhow::Result<Filter> {
    let has = |column| kind.columns().contains(&column);
    for (flag, value, column) in [
        ("--market", &args.market, "market"),
        ("--strategy", &args.strategy, "strategy"),
        ("--side", &args.side, "side"),
    ] {
        if value.is_some() && !has(column) {
            let kind = args.kind.to_possible_value();
            let kind = kind.map_or_else(String::new, |value| value.get_name().to_owned());
            let message = format!("{flag} does not apply to {kind}: they have no {column}");
            return Err(Failure::new(Exit::Usage, message).into());
        }
    }
    let now_ms = Clock::new().unix_micros() / 1_000;
    let moment = |text: &Option<String>, end| {
        let read = text.as_ref();
        let read = read.map(|text| times::moment_ms(text, end, now_ms));
        read.transpose()
            .map_err(|message| Failure::new(Exit::Usage, message))
    };
    let from_ms = moment(&args.from, PeriodEnd::From)?;
    let to_ms = moment(&args.to, PeriodEnd::To)?;
    if let (Some(from), Some(to)) = (from_ms, to_ms)
        && to <= from
    {
        return Err(Failure::new(Exit::Usage, "--to is not after --from").into());
    }
    let table = !json && !args.csv && args.parquet.is_none();
    Ok(Filter {
        from_ms,
        to_ms,
        market: args.market.clone(),
        strategy: args.strategy.clone(),
        side: args.side.clone(),
        limit: args.limit.or(table.then_some(TABLE_ROWS)),
    })
}

#[cfg(feature = "parquet")]
fn as_parquet(dir: &Path, kind: RecordKind, filter: &Filter, path: &Path) -> anyhow::Result<()> {
    let written = super::history_parquet::write(dir, kind, filter, path)?;
    print_text(&format!("{written} rows in {}\n", path.display()))
}

#[cfg(not(feature = "parquet"))]
fn as_parquet(_: &Path, _: RecordKind, _: &Filter, _: &Path) -> anyhow::Result<()> {
    Err(crate::backtest::table::no_parquet().into())
}

fn as_table(dir: &Path, kind: RecordKind, filter: &Filter) -> anyhow::Result<()> {
    let mut rows = vec![kind.columns().iter().map(ToString::to_string).collect()];
    let shown = history::each::<anyhow::Error>(dir, kind, filter, |row| {
        rows.push(row);
        Ok(())
    })?;
    if shown == 0 {
        return print_text("no rows match\n");
    }
    print_text(&columns(&rows))?;
    if Some(shown) == filter.limit {
        eprintln!("showing the newest {shown}; use --limit for more");
    }
    Ok(())
}

/// Rows are written as they are read: a year of them may not fit into memory.
fn as_csv(dir: &Path, kind: RecordKind, filter: &Filter) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = (|| {
        writeln!(out, "{}", kind.columns().join(","))?;
        history::each::<anyhow::Error>(dir, kind, filter, |row| {
            let cells: Vec<_> = row.iter().map(|cell| quoted(cell)).collect();
            Ok(writeln!(out, "{}", cells.join(","))?)
        })?;
        Ok(out.flush()?)
    })();
    unread_is_no_error(written)
}

fn as_json(dir: &Path, kind: RecordKind, filter: &Filter) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = (|| {
        let mut before = "[\n";
        history::each::<anyhow::Error>(dir, kind, filter, |row| {
            let names = kind.columns().iter().map(ToString::to_string);
            let object: Map<String, Value> =
                names.zip(row.into_iter().map(Value::String)).collect();
            write!(out, "{before}{}", serde_json::to_string(&object)?)?;
            before = ",\n";
            Ok(())
        })?;
        write!(out, "{}", if before == "[\n" { "[]\n" } else { "\n]\n" })?;
        Ok(out.flush()?)
    })();
    unread_is_no_error(written)
}

/// A closed stdout (`| head`) is not an error.
fn unread_is_no_error(written: anyhow::Result<()>) -> anyhow::Result<()> {
    written.or_else(|error| match error.downcast_ref::<std::io::Error>() {
        Some(gone) if gone.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// A CSV cell (RFC 4180); one that a spreadsheet would take for a formula is marked as text.
fn quoted(cell: &str) -> String {
    let number = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let guarded = if !is_number && cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if guarded.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be_and_run_nothing() {
        for (cell, written) in [
            ("plain", "plain"),
            ("-1.5", "-1.5"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("@cmd,x", "\"'@cmd,x\""),
            ("-", "'-"),
            ("", ""),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }
}
