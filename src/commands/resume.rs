//! `cambist resume`: a person lowers a latched level, and says why.

use anyhow::Context;
use cambist_core::event::Level;
use serde_json::json;

use super::{print_json, print_text};
use crate::cli::ResumeArgs;
use crate::config::Daemon;
use crate::exit::{Exit, Failure};
use crate::live::latch::Latch;
use crate::store::Store;

/// Lowers the level of a stopped daemon. A running one holds the store: exit 75.
pub fn run(args: &ResumeArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load(&args.config)?;
    let reason = args.reason.trim();
    if reason.is_empty() {
        return Err(Failure::new(Exit::Usage, "--reason must say why trading may go on").into());
    }
    let mut store = Store::open(&daemon.store.dir)?;
    let (level, cause) = store.level()?;
    let latch = Latch::of(&daemon.store.dir);
    let latched = latch.raised();
    if level > Level::Trading || latched.is_some() {
        store.clear_level(reason)?;
    }
    // Last: until here whatever interrupts this leaves trading off.
    latch
        .lower()
        .with_context(|| latch.file().display().to_string())?;
    if json {
        print_json(&json!({
            "was": level.name(),
            "cause": cause,
            "latch": latched,
            "now": Level::Trading.name(),
        }))?;
        return Ok(Exit::Done);
    }
    if let Some(latched) = &latched {
        print_text(&format!("the latch was raised ({latched}); it is gone\n"))?;
    }
    if level > Level::Trading {
        print_text(&format!(
            "the level was {} ({cause}); trading is allowed again\n",
            level.name()
        ))?;
    } else if latched.is_none() {
        print_text("the level was not raised; nothing to lower\n")?;
    }
    Ok(Exit::Done)
}
