//! `cambist account update-key` and `rotate-api-key`: new keys in place of those in the files of a stopped daemon.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::daemon_control::Which;
use super::{confirm, print_json, print_text};
use crate::account::keys::{self, KeyUpdate, Step};
use crate::account::session::{runtime, trading, wallet};
use crate::exit::Exit;

/// Arguments of `account update-key`.
#[derive(Debug, Args)]
pub struct UpdateKeyArgs {
    #[command(flatten)]
    which: Which,
    /// File with the key of the owner's wallet, mode 0600; read for one signature. Not needed for --dry-run
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    owner_key: Option<PathBuf>,
    /// Show what would be done; nothing is signed or sent
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Arguments of `account rotate-api-key`.
#[derive(Debug, Args)]
pub struct RotateArgs {
    #[command(flatten)]
    which: Which,
    /// Show what would be done; nothing is sent
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Replaces the signing key.
pub fn update_key(args: &UpdateKeyArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = trading(&args.which.config)?;
    daemon.venue.exchange("a new signing key")?;
    let [_, file] = crate::account::key_files::of(&daemon)?;
    let shown = file.display().to_string();
    let store = if args.dry_run {
        None
    } else {
        Some(keys::stopped(&daemon)?)
    };
    let done = runtime()?.block_on(async {
        let mut update = KeyUpdate::open(&daemon).await?;
        let step = update.step()?;
        let about = match step {
            Step::Register => format!(
                "replace the signing key of {} in {shown}, fee {}; open orders of the old key are cancelled",
                daemon.venue.account(),
                update.fee_text()
            ),
            Step::Install => format!("install the key that is registered already in {shown}"),
        };
        let (Some(file), false) = (&args.owner_key, args.dry_run) else {
            return anyhow::Ok(about);
        };
        let owner = daemon.venue.exchange("a new signing key")?.owner.parse()?;
        let wallet = wallet(file, owner)?;
        confirm(&format!("{about}?"), args.yes)?;
        match step {
            Step::Register => update.register(&wallet).await?,
            Step::Install => update.install()?,
        }
        Ok(format!("the signing key in {shown} is new, and registered"))
    })?;
    drop(store);
    answered(&done, args.dry_run, json)
}

/// Replaces the API key.
pub fn rotate_api_key(args: &RotateArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = trading(&args.which.config)?;
    daemon.venue.exchange("a new API key")?;
    let [file, _] = crate::account::key_files::of(&daemon)?;
    let shown = file.display().to_string();
    let about = format!(
        "replace the API key of {} in {shown}",
        daemon.venue.account()
    );
    if args.dry_run {
        return answered(&about, true, json);
    }
    let store = keys::stopped(&daemon)?;
    confirm(&format!("{about}?"), args.yes)?;
    let was_replaced = runtime()?.block_on(keys::rotate_api_key(&daemon))?;
    drop(store);
    let done = if was_replaced {
        format!("{shown} holds the key that the venue has now, read with the signing key")
    } else {
        format!("the API key in {shown} is new; the old one is void")
    };
    answered(&done, false, json)
}

fn answered(text: &str, dry_run: bool, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(&json!({"done": !dry_run, "dry_run": dry_run, "detail": text}))?;
    } else if dry_run {
        print_text(&format!("{text}\nnothing was signed or sent\n"))?;
    } else {
        print_text(&format!("{text}\n"))?;
    }
    Ok(Exit::Done)
}
