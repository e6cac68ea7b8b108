//! From arguments to a plan and the header of its results.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_market_data::{DefectKind, Recording, Timestamp};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::journal::{DataFile, Header};
use super::plan::Plan;
use super::space::Space;
use super::windows::{Span, Window, span, windows};
use crate::backtest::inputs::Inputs;
use crate::backtest::prepare::{check_options, recordings, scenario_of, tape_of};
use crate::backtest::{scenario, simulated};
use crate::exit::{Exit, Failure};
use crate::revision::VERSION;
use crate::revision::program_hash;
use cambist_daemon::config::Daemon;

/// Most runs of one sweep: their rows are kept in memory, a few kilobytes each.
const RUNS_MAX: u64 = 100_000;

/// A sweep that is ready to go.
pub struct Prepared {
    /// What every run is.
    pub plan: Plan,
    /// The first line of its results, without a shard.
    pub header: Header,
    /// The data's first and last time, where windows needed them.
    pub span: Option<Span>,
}

/// Reads the files, opens the data, and hashes them.
pub fn prepare(inputs: &Inputs, sweep: &Path) -> anyhow::Result<Prepared> {
    let space = Space::load(sweep)?;
    let daemon = Daemon::load_for_data(&inputs.config)?;
    let bound = simulated::bound(&daemon)?;
    let (mut data, _) = recordings(inputs, &bound.markets)?;
    check_options(inputs, &data)?;
    if space.return_interval_s.saturating_mul(1_000) % inputs.sample != 0 {
        let what = format!(
            "return_interval is {} s, which is no multiple of --sample {} ms",
            space.return_interval_s, inputs.sample
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    check_interval(&space, inputs)?;
    let snapshots = data
        .iter()
        .any(|data| !matches!(data, Recording::Events(_)));
    let (windows, span) = windows_of(&space, inputs, &mut data)?;
    let config = daemon.source.text.clone();
    let assumptions = inputs.assumptions(&daemon)?;
    let kinds = DefectKind::ALL
        .into_iter()
        .filter(|kind| inputs.skip.allows(*kind));
    let skipped: Vec<_> = kinds.map(DefectKind::name).collect();
    let settings = json!({
        "assumptions": assumptions,
        "assumed": assumptions.sentences(
            snapshots,
            daemon.venue.fee_in(),
            bound.engine.poll.depth_ms,
        ),
        "from": inputs.from.map(|at| at.to_string()),
        "to": inputs.to.map(|at| at.to_string()),
        "balances": inputs.balance,
        "tick": inputs.tick.map(|step| step.to_string()),
        "lot": inputs.lot.map(|step| step.to_string()),
        "skip": skipped,
        "max_gap_us": inputs.max_gap,
        "price_factor": inputs.price_factor.0,
        "ignored_columns": inputs.ignore_column,
        "sample_ms": inputs.sample,
        "windows_of": span.map(|(first, last)| [
            inputs.from.map_or(first, |from| from.max(first)).to_string(),
            inputs.to.map_or(last, |to| to.min(last)).to_string(),
        ]),
        "scenario_s": inputs.data.iter().any(|file| scenario_of(&file.path).is_some()).then_some(inputs.scenario_duration),
    });
    let plan = Plan::new(space, daemon, inputs.clone(), windows)?;
    plan.check_paths()?;
    let runs = plan.runs();
    if runs > RUNS_MAX {
        let what = format!(
            "the sweep has {runs} runs, {} trials on {} windows; at most {RUNS_MAX} are taken: try fewer values, or fewer windows",
            plan.space.trials(),
            plan.windows.len()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let times =
        |window: &Window| [window.train.0, window.train.1, window.test.1].map(|at| at.to_string());
    let header = Header {
        format: Header::FORMAT,
        program: VERSION.to_owned(),
        build: program_hash()?,
        config,
        sweep: plan.space.source.text.clone(),
        data: hashed(inputs)?,
        settings,
        windows: plan.windows.iter().map(times).collect(),
        runs,
        shard: None,
    };
    Ok(Prepared { plan, header, span })
}

/// Refuses an interval of returns of which no part of the data that are asked for has enough for a ratio.
fn check_interval(space: &Space, inputs: &Inputs) -> Result<(), Failure> {
    let interval_s = space.return_interval_s;
    let asked = inputs.from.zip(inputs.to);
    let asked = asked.and_then(|(from, to)| u64::try_from(to.nanos_since(from)).ok());
    let (part, seconds) = match (space.walk_forward, asked) {
        (Some(walk), _) => ("a train window", walk.train_s),
        (None, Some(nanos)) => ("the time from --from to --to", nanos / 1_000_000_000),
        (None, None) => return Ok(()),
    };
    if seconds >= interval_s.saturating_mul(2) {
        return Ok(());
    }
    let path = space.source.path.display();
    let what = format!(
        "{path}: return_interval is {interval_s} s, but {part} has {seconds} s: a Sharpe ratio needs two returns at least"
    );
    Err(Failure::new(Exit::Usage, what))
}

fn windows_of(
    space: &Space,
    inputs: &Inputs,
    data: &mut [Recording],
) -> anyhow::Result<(Vec<Window>, Option<Span>)> {
    let Some(walk) = &space.walk_forward else {
        return Ok((Vec::new(), None));
    };
    let refuse = |what: String| anyhow::Error::new(Failure::new(Exit::Usage, what));
    let Some((first, last)) = span(data)? else {
        return Err(refuse(
            "the data hold nothing that windows could be made of".to_owned(),
        ));
    };
    let from = inputs.from.map_or(first, |from| from.max(first));
    let to = inputs.to.map_or(last, |to| to.min(last));
    let found = windows(walk, (from, to));
    if found.is_empty() {
        let path = space.source.path.display();
        return Err(refuse(format!(
            "{path}: no window of {} s train and {} s test fits into the data, {from} to {to} ({} s)",
            walk.train_s,
            walk.test_s,
            to.nanos_since(from) / 1_000_000_000
        )));
    }
    Ok((found, Some((first, last))))
}

/// What the data are, by content.
pub fn hashed(inputs: &Inputs) -> anyhow::Result<Vec<DataFile>> {
    let mut found = Vec::new();
    for file in &inputs.data {
        if let Some(name) = scenario_of(&file.path) {
            let text = scenario::source(name)?.text;
            let (bytes, sha256) = hash(text.as_bytes())?;
            found.push(DataFile {
                market: file.market.clone(),
                name: format!("scenario:{name}"),
                bytes,
                sha256,
            });
            continue;
        }
        for path in files(tape_of(&file.path).unwrap_or(&file.path))? {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let read = File::open(&path).and_then(hash);
            let (bytes, sha256) = read.with_context(|| path.display().to_string())?;
            found.push(DataFile {
                market: file.market.clone(),
                name,
                bytes,
                sha256,
            });
        }
    }
    Ok(found)
}

/// A file, or all files of a folder by their names.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).with_context(|| path.display().to_string())? {
        let path = entry?.path();
        // The recorder's lock holds no data.
        if path.is_file() && path.file_name() != Some(OsStr::new("lock")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn hash(mut file: impl Read) -> std::io::Result<(u64, String)> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        digest.update(&buffer[..read]);
    }
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Ok((bytes, digest.finalize().iter().fold(String::new(), hex)))
}

/// How long a run takes beside others: everything before its end is read.
#[expect(clippy::cast_precision_loss, reason = "for an estimate")]
pub fn weight(prepared: &Prepared, run: u64) -> f64 {
    let to: Option<Timestamp> = prepared.plan.spec(run).to;
    match (prepared.span, to) {
        (Some((first, _)), Some(to)) => to.nanos_since(first).max(1) as f64,
        _ => 1.0,
    }
}
