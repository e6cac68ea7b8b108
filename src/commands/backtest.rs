//! `cambist backtest`: the engine on recorded market data.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use cambist_backtest::{Backtest, DataFile, DataReport, Progress, RefusedAnswers};
use clap::Args;

use super::print_text;
use crate::backtest::inputs::Inputs;
use crate::backtest::prepare::prepare_with;
use crate::backtest::recorded_run;
use crate::backtest::results::{Results, Unfinished, Written};
use crate::backtest::table::check_parquet;
use crate::exit::Exit;
use crate::sweep::prepare::hashed;
use cambist_daemon::config::Daemon;
use cambist_host::clock::Clock;

/// Shortest time between two lines of progress, milliseconds.
const PROGRESS_MS: u64 = 1_000;

/// Arguments of `backtest`.
#[derive(Debug, Args)]
pub struct BacktestArgs {
    /// What runs on what.
    #[command(flatten)]
    pub inputs: Inputs,
    /// Folder for report.html, report.json, report.csv, report.txt, fills.csv and equity.csv.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace existing results
    #[arg(long)]
    pub overwrite: bool,
    /// Also write fills and equity as Parquet; needs a build with the feature `parquet`
    #[arg(long)]
    pub parquet: bool,
}

/// Runs a backtest; exit 79 if an invariant of the engine failed.
pub fn run(args: &BacktestArgs, json: bool) -> anyhow::Result<Exit> {
    check_parquet(args.parquet)?;
    let clock = Clock::new();
    let daemon = Daemon::load_for_data(&args.inputs.config)?;
    let (setup, recorded) = prepare_with(&args.inputs, &daemon)?;
    let markets = setup.markets.clone();
    let backtest = Backtest::new(setup)?;
    let mut results = Results::begin(
        &args.out,
        args.overwrite,
        args.parquet,
        &markets,
        Unfinished::Removed,
        progress(clock),
    )?;
    let mut finished = backtest.run(&mut results)?;
    name_files(&mut finished.report.data, &args.inputs)?;
    let report = &finished.report;
    if std::io::stderr().is_terminal() {
        // Clears the line of progress.
        _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let Written {
        json: file,
        text,
        files,
    } = results.conclude(
        "Backtest",
        &finished,
        &daemon.source,
        recorded_run::beside(&recorded, &finished).as_ref(),
    )?;
    let rows: u64 = report.data.iter().map(|data| data.report.rows).sum();
    if json {
        print_text(&file)?;
    } else {
        print_text(&text)?;
    }
    files?;
    for one in &finished.refused {
        crate::exit::print_warning(&refused(one, &daemon));
    }
    let ms = clock.now().as_ms();
    _ = writeln!(
        std::io::stderr(),
        "{rows} rows read in {:.1} s; results in {}",
        seconds(ms),
        args.out.display()
    );
    Ok(if report.invariants.is_empty() {
        Exit::Done
    } else {
        Exit::Invariant
    })
}

/// Answers of a process that were no targets, in a sentence: nothing of them was quoted.
fn refused(answers: &RefusedAnswers, daemon: &Daemon) -> String {
    let RefusedAnswers {
        strategy,
        count,
        why,
    } = answers;
    let mut choices = daemon.markets.iter().flat_map(|market| &market.strategies);
    let name = choices.nth(strategy.0.into());
    let name = name.map_or("", |choice| &choice.name.value);
    format!("strategy {name}: {count} answers of its process were no targets; the last one: {why}")
}

/// Names what was read, by content.
fn name_files(data: &mut [DataReport], inputs: &Inputs) -> anyhow::Result<()> {
    for file in hashed(inputs)? {
        let of = |report: &&mut DataReport| {
            let market = file.market.as_ref();
            market.is_none_or(|market| *market == report.market)
        };
        if let Some(report) = data.iter_mut().find(of) {
            report.files.push(DataFile {
                name: file.name,
                bytes: file.bytes,
                sha256: file.sha256,
            });
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// A line of progress on a terminal, at most once a second.
fn progress(clock: Clock) -> Box<dyn FnMut(Progress)> {
    let mut reported_ms = 0;
    let is_terminal = std::io::stderr().is_terminal();
    Box::new(move |progress| {
        let now = clock.now().as_ms();
        if !is_terminal || now < reported_ms + PROGRESS_MS {
            return;
        }
        reported_ms = now;
        _ = write!(
            std::io::stderr(),
            "\r\x1b[K{} rows, {}, {} fills",
            progress.rows,
            progress.time,
            progress.fills
        );
    })
}
