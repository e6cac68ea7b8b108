//! Recordings of depth alone, as `cambist record` and `mode = "observe"` make them: there is no engine in them that could
//! be replayed.

use std::path::{Path, PathBuf};

use cambist_daemon::config::Daemon;
use cambist_market_data::shell::word;

use crate::exit::{Exit, Failure};

/// The ending of a segment of recorded depth.
const ENDING: &str = "mkt";

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The folders of recorded depth that a path is, or that are in it, one for each market.
fn folders(path: &Path) -> Vec<PathBuf> {
    let has_segments = |folder: &Path| entries(folder).iter().any(|path| is_segment(path));
    if has_segments(path) {
        return vec![path.to_owned()];
    }
    let inner = entries(path).into_iter();
    inner.filter(|inner| has_segments(inner)).collect()
}

/// What is read instead of a replay.
fn instead(data: &Path) -> String {
    let data = word(&data.display().to_string());
    format!(
        "it has no inputs of an engine, so that there is nothing to replay. `cambist depth {data} --out depth.csv` makes a table of it, and `cambist backtest` and `cambist sweep` read it with --data {data}"
    )
}

/// Refuses a segment of recorded depth.
///
/// # Errors
/// [`Failure`], exit 1, with the commands that read it.
pub(super) fn refuse_segment(path: &Path) -> Result<(), Failure> {
    if !is_segment(path) || !path.is_file() {
        return Ok(());
    }
    let what = format!(
        "{}: this is depth that `cambist record` recorded: {}",
        path.display(),
        instead(path)
    );
    Err(Failure::new(Exit::CheckFailed, what))
}

/// Refuses a folder of recorded depth, and one that has such folders.
///
/// # Errors
/// [`Failure`], exit 1, with the commands that read it.
pub fn refuse_folder(path: &Path) -> Result<(), Failure> {
    let found = folders(path);
    let Some(first) = found.first() else {
        return Ok(());
    };
    let others = match found.len() {
        1 => String::new(),
        count => format!(" (it has a folder for each of {count} markets)"),
    };
    let what = format!(
        "{}: this is a folder of depth that `cambist record` recorded{others}: {}",
        path.display(),
        instead(first)
    );
    Err(Failure::new(Exit::CheckFailed, what))
}

/// Refuses the configuration of a mode that records depth alone.
///
/// # Errors
/// [`Failure`], exit 1, with the commands that read what it records.
pub fn refuse_mode(daemon: &Daemon) -> Result<(), Failure> {
    if daemon.mode.has_engine() {
        return Ok(());
    }
    let dir = &daemon.store.dir;
    let market = daemon.markets.first();
    let data = market.map_or_else(|| dir.clone(), |market| dir.join(&market.name.value));
    let what = format!(
        "{}: mode = \"{}\" records depth alone, a folder for each market in {}: {}",
        daemon.source.path.display(),
        daemon.mode.name(),
        dir.display(),
        instead(&data)
    );
    Err(Failure::new(Exit::CheckFailed, what))
}
