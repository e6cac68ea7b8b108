//! `cambist account open`: from a wallet with an account at an exchange to both keys of a trader.

use std::path::PathBuf;

use anyhow::Context;
use cambist_host::secrets;
use cambist_signing::ecdsa::EthKey;
use clap::Args;
use serde_json::json;

use super::{print_json, print_text};
use crate::account::open;
use crate::account::session::runtime;
use crate::exit::{Exit, Failure};

/// Arguments of `account open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Base URL of the exchange: https, or http on the same machine
    #[arg(long, value_name = "URL")]
    venue: String,
    /// File with the key of the owner's wallet, mode 0600; read for one signature
    #[arg(long, value_name = "FILE")]
    owner_key: PathBuf,
    /// Folder of the key files; created with mode 0700 if necessary
    #[arg(long, value_name = "DIR", default_value = "keys")]
    out: PathBuf,
}

/// Makes and registers the keys, and prints what a configuration needs.
pub fn run(args: &OpenArgs, json: bool) -> anyhow::Result<Exit> {
    let text = secrets::read(&args.owner_key, false)?;
    let wallet = EthKey::from_hex(&text).map_err(|_| {
        let file = args.owner_key.display();
        let what =
            format!("{file} does not hold the key of a wallet (0x and 64 hexadecimal digits)");
        Failure::new(Exit::Refused, what)
    })?;
    drop(text);
    let opened = runtime()?.block_on(open::open(&args.venue, &wallet, &args.out))?;
    drop(wallet);
    let folder = args
        .out
        .canonicalize()
        .with_context(|| args.out.display().to_string())?;
    let (api, eddsa) = (folder.join("api_key"), folder.join("eddsa_key"));
    if json {
        print_json(&json!({
            "account_id": opened.account_id,
            "owner": opened.owner.to_string(),
            "chain_id": opened.info.chain_id,
            "exchange": opened.info.exchange_address.to_string(),
            "public_x": opened.public_key.x.to_string(),
            "public_y": opened.public_key.y.to_string(),
            "api_key_file": api,
            "eddsa_key_file": eddsa,
        }))?;
    } else {
        print_text(&format!(
            "account {} is ready; for the configuration (cambist init writes a whole one):\n\n\
             [venue]\nbase_url = {:?}\naccount_id = {}\nowner = \"{}\"\nchain_id = {}\nexchange = \"{}\"\n\n\
             [keys]\napi_key_file = {:?}\neddsa_key_file = {:?}\n",
            opened.account_id,
            args.venue,
            opened.account_id,
            opened.owner,
            opened.info.chain_id,
            opened.info.exchange_address,
            api.display().to_string(),
            eddsa.display().to_string(),
        ))?;
    }
    Ok(Exit::Done)
}
