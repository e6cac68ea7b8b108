//! `cambist replay`: a recording through the engine, every action compared.

use crate::cli::ReplayArgs;
use crate::exit::{Exit, Failure};

/// Replays a tape.
pub fn run(args: &ReplayArgs, _json: bool) -> anyhow::Result<Exit> {
    let message = format!("{}: tapes cannot be replayed yet", args.tape.display());
    Err(Failure::new(Exit::CheckFailed, message).into())
}
