//! The mode shadow: a second configuration beside a daemon that trades, on the same inputs.
//!
//! It is a process of its own that reads the daemon's tape as it grows and nothing else: it has no key, no client of an
//! exchange and no connection to the daemon, which does not know of it. The engine gets the depth that the daemon polled,
//! without the daemon's orders, and fills in a simulated account that begins with the daemon's balances.

mod comparison;
mod follow;
mod growing;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::backtest::prepare::bound_without_venue;
use crate::backtest::results::Written;
use crate::commands::print_text;
use crate::exit::{Exit, Failure};
use crate::paper::{self, SimulatedRun, balances, results_folder};
use cambist_daemon::config::Daemon;
use cambist_daemon::feeds;
use cambist_daemon::live::recorder::Recorder;
use cambist_daemon::live::status_service::take_folder;
use cambist_daemon::recording;
use cambist_host::clock::Clock;
use comparison::{BesideSink, Collected};
use follow::{Followed, lock};

/// Runs until stopped or until `limit`; exit 79 if an invariant of the engine failed.
pub fn run(
    config: &Daemon,
    beside: Option<&Path>,
    until_stdin_closes: bool,
    limit: Option<Duration>,
    json: bool,
) -> anyhow::Result<Exit> {
    let clock = Clock::new();
    let bound = bound_without_venue(config)?;
    let tape = tape(config, beside)?;
    if !bound.engine.pools.is_empty() {
        let what = "mode = \"shadow\": pools are not simulated; remove market.pool and the strategies that use it";
        return Err(Failure::new(Exit::Refused, what).into());
    }
    bound
        .without_references()
        .map_err(|what| Failure::new(Exit::Refused, what))?;
    let _folder = take_folder(config)?;
    let markets = bound.markets.clone();
    let until = (until_stdin_closes, limit);
    let telemetry = paper::telemetry(config, &bound, clock)?;
    let mut pollers = feeds::start(
        Vec::new(),
        &[],
        telemetry.feeds(),
        (clock, config.request_timeout_ms),
        until,
    )?;
    let mut followed = Followed::begin(&tape, &markets, pollers.time.clone(), &pollers.stop)?;
    tracing::info!(
        "shadow of the daemon that records {}: no orders are sent; waiting for its next input",
        tape.display()
    );
    if !followed.wait_for_opening()? {
        let what = "stopped before the daemon beside this run recorded its balances";
        return Err(Failure::new(Exit::CheckFailed, what).into());
    }
    pollers.arrivals = std::mem::take(&mut followed.arrivals);
    let mut opening = lock(&followed.beside)
        .account
        .opening
        .clone()
        .unwrap_or_default();
    opening.extend(balances(config, &bound)?);
    let header = recording::header(&bound, config.source.text.clone(), config.source.hash());
    let folder = results_folder(config, clock);
    let collected = Arc::new(Mutex::new(Collected::new(&markets)));
    let run = SimulatedRun {
        config,
        opening,
        clock,
        folder: folder.clone(),
        recorder: Recorder::begin(config.tape.as_ref(), header, &markets, clock)?,
        telemetry,
        bound,
        also: Some(Box::new(BesideSink {
            beside: Arc::clone(&followed.beside),
            collected: Arc::clone(&collected),
        })),
    };
    let (results, mut finished) = run.until_stopped(pollers)?;
    let mut beside = lock(&followed.beside);
    if let Some(failure) = beside.failure.take() {
        return Err(failure);
    }
    let source = format!(
        "Depth is what the daemon polled, without its orders, read from its tape {}.",
        tape.display()
    );
    finished.report.assumed.insert(0, source);
    let collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
    let found = comparison::report(&beside.account, &collected, &finished, clock);
    let Written {
        json: file,
        text,
        files,
    } = results.conclude("Shadow", &finished, &config.source, Some(&found))?;
    print_text(if json { &file } else { &text })?;
    files?;
    // A closed stderr is not an error.
    _ = writeln!(std::io::stderr(), "results in {}", folder.display());
    Ok(if finished.report.invariants.is_empty() {
        Exit::Done
    } else {
        Exit::Invariant
    })
}

/// The tape of the daemon that trades: a folder of recordings, or a state folder that has one.
fn tape(config: &Daemon, beside: Option<&Path>) -> anyhow::Result<PathBuf> {
    let refused = |what: String| Failure::new(Exit::Refused, what);
    let named = beside.or(config.beside.as_deref()).ok_or_else(|| {
        refused(
            "mode = \"shadow\" needs the tape of the daemon beside it: shadow.tape = \"…\" or --beside DIR"
                .to_owned(),
        )
    })?;
    let inside = named.join("tape");
    let tape = if inside.is_dir() { &inside } else { named };
    if !tape.is_dir() {
        let what = format!("{}: there is no such folder", tape.display());
        return Err(refused(what).into());
    }
    if tape.join(cambist_store::FILE).is_file() {
        let what = format!(
            "{}: a state folder without recordings: the daemon beside this run records in its tape.dir; name that folder",
            tape.display()
        );
        return Err(refused(what).into());
    }
    let own = config.tape.as_ref().map(|own| own.dir.clone());
    let same = |own: PathBuf| own.canonicalize().ok() == tape.canonicalize().ok();
    if own.is_some_and(same) {
        let what = format!(
            "{} is where this run would record itself: a shadow needs a store.dir of its own",
            tape.display()
        );
        return Err(refused(what).into());
    }
    Ok(tape.to_owned())
}
