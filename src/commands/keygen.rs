//! `cambist keygen`: generates a signing key in a file, and prints its public key.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_exchange::keys;

/// Arguments of `keygen`.
#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// Folder of the key file; created with mode 0700 if necessary
    #[arg(long, value_name = "DIR", default_value = "keys")]
    out: PathBuf,
}

/// Creates `eddsa_key` in a folder, mode 0600, and prints its public key. Never overwrites.
pub fn run(args: &KeygenArgs, json: bool) -> anyhow::Result<Exit> {
    let file = args.out.join("eddsa_key");
    if file.symlink_metadata().is_ok() {
        let message = format!(
            "{} already exists and was not changed; use another folder with --out, or move the file",
            file.display()
        );
        return Err(Failure::new(Exit::CheckFailed, message).into());
    }
    keys::make_folder(&args.out)?;
    let public = keys::make_signing_key(&file)?;
    let [x, y] = [public.x.to_string(), public.y.to_string()];
    if json {
        print_json(&json!({"file": file, "public_x": x, "public_y": y}))?;
    } else {
        print_text(&format!(
            "signing key in {} (mode 0600; keep a backup, it cannot be recovered)\n\n\
             Register the public key at the exchange when you open the account or change its key:\n  \
             publicX  {x}\n  publicY  {y}\n\n\
             The exchange returns an account id and an API key. Write the API key to {}\n\
             (one line, chmod 600), and the account id into the configuration (venue.account_id).\n",
            file.display(),
            args.out.join("api_key").display()
        ))?;
    }
    Ok(Exit::Done)
}
