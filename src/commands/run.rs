//! `cambist run`.

use crate::cli::ConfigArgs;
use crate::exit::{Exit, Failure};

/// Runs the daemon.
pub fn run(_args: &ConfigArgs, _json: bool) -> anyhow::Result<Exit> {
    Err(Failure::new(Exit::CheckFailed, "run is not wired yet").into())
}
