//! `cambist demo`.

use crate::cli::DemoArgs;
use crate::exit::{Exit, Failure};

/// Makes a market on an exchange of its own.
pub fn run(_args: &DemoArgs, _json: bool) -> anyhow::Result<Exit> {
    Err(Failure::new(Exit::CheckFailed, "demo is not wired yet").into())
}
