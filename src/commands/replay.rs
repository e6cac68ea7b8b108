//! `cambist replay`: replays recordings through the engine and compares every action, or shows the engine at one
//! moment.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cambist_core::VenueTime;
use cambist_market_data::Timestamp;
use clap::Args;
use serde_json::json;

use super::{columns, print_json, print_text};
use crate::backtest::arguments::moment as moment_of;
use crate::exit::{Exit, Failure};
use crate::replay::whole::{self, Whole};
use crate::replay::{
    difference_page, is_own, left_out, list, moment, page, refuse_folder, refuse_mode, text,
};
use cambist_daemon::config::Daemon;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A recording, or a folder of recordings
    #[arg(value_name = "TAPE|DIR", required_unless_present = "config")]
    pub tape: Option<PathBuf>,
    /// Use the recordings of the daemon with this configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "tape")]
    pub config: Option<PathBuf>,
    /// Show the engine at this time of the exchange, such as 2026-11-22T08:15:30.5Z, or so long ago, such as 5m: view,
    /// targets, own orders, reasons for missing quotes, used limits
    #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
    pub at: Option<Timestamp>,
}

/// Replays recordings; exit 1 at the first difference from what this build recorded.
pub fn run(args: &ReplayArgs, json: bool) -> anyhow::Result<Exit> {
    let path = path(args.config.as_deref(), args.tape.as_deref())?;
    if let Some(at) = args.at {
        let at = VenueTime(u64::try_from(at.0).unwrap_or(0) / 1_000_000);
        let moment = moment::at(&path, at)?;
        if json {
            print_json(&page(&moment))?;
        } else {
            print_text(&text(&moment))?;
        }
        return Ok(Exit::Done);
    }
    let whole = whole::replay(list(&path)?)?;
    // Another build may decide differently.
    let is_failure = |(_, program, _): &(_, String, _)| is_own(program);
    let failed = whole.difference.as_ref().is_some_and(is_failure);
    if json {
        print_json(&whole_page(&path.display().to_string(), &whole))?;
    } else {
        print_text(&whole_text(&whole))?;
    }
    Ok(if failed {
        Exit::CheckFailed
    } else {
        Exit::Done
    })
}

/// The recordings of a daemon, or the named ones.
pub(super) fn path(config: Option<&Path>, tape: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(config) = config else {
        return Ok(tape.map(Path::to_owned).unwrap_or_default());
    };
    let daemon = Daemon::load_unpinned(config)?;
    refuse_mode(&daemon)?;
    let tape = daemon.tape.map(|tape| tape.dir);
    if tape.as_ref().is_some_and(|dir| !dir.exists()) {
        // The file of another mode, with which `cambist record` was run.
        refuse_folder(&daemon.store.dir)?;
    }
    let missing = || {
        let what = format!(
            "{}: tape.enabled = false, so there are no recordings",
            config.display()
        );
        Failure::new(Exit::CheckFailed, what)
    };
    Ok(tape.ok_or_else(missing)?)
}

fn whole_page(name: &str, whole: &Whole) -> serde_json::Value {
    let found = whole.difference.as_ref();
    let torn = whole.torn.first();
    let ends = |files: &[(PathBuf, u64)]| {
        let end = |(file, offset): &(PathBuf, u64)| json!({"recording": file.display().to_string(), "at": offset});
        files.iter().map(end).collect::<Vec<_>>()
    };
    json!({
        "tape": name,
        "recordings": whole.recordings,
        "equal": found.is_none(),
        "events": whole.events,
        "actions": whole.actions,
        "torn_at": torn.map(|(_, offset)| offset),
        "torn": ends(&whole.torn),
        "empty": ends(&whole.empty),
        "first_difference": found.map(|(_, _, found)| difference_page(found)),
        "different_recording": found.map(|(file, ..)| file.display().to_string()),
        "recorded_by": found.map(|(_, program, _)| program),
        "same_build": found.map(|(_, program, _)| is_own(program)),
    })
}

fn whole_text(whole: &Whole) -> String {
    let result = match whole.difference {
        None => "equal",
        Some(_) => "different",
    };
    let mut text = columns(&[
        vec!["replay".to_owned(), result.to_owned()],
        vec!["recordings".to_owned(), whole.recordings.to_string()],
        vec!["events".to_owned(), whole.events.to_string()],
        vec!["actions".to_owned(), whole.actions.to_string()],
    ]);
    for (file, offset) in &whole.torn {
        let file = file.display();
        _ = writeln!(text, "{file} ends within a record at byte {offset}");
    }
    for (file, offset) in &whole.empty {
        _ = writeln!(text, "{}", left_out(file, *offset));
    }
    if let Some((file, program, found)) = &whole.difference {
        _ = writeln!(text, "\n{}\n{found}", file.display());
        if !is_own(program) {
            _ = writeln!(
                text,
                "\nRecorded by {program}, replayed by {}: a difference between builds is no failure.",
                cambist_host::program::build().name
            );
        }
    }
    text
}
