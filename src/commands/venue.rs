//! `cambist venue`.

use crate::cli::ConfigArgs;
use crate::exit::{Exit, Failure};

/// Runs the exchange alone.
pub fn run(_args: &ConfigArgs, _json: bool) -> anyhow::Result<Exit> {
    Err(Failure::new(Exit::CheckFailed, "venue is not wired yet").into())
}
