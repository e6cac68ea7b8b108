//! `cambist venue kraken-key`: makes an API key of Kraken's interface.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cambist_exchange::config::Exchange;
use cambist_exchange::kraken_keys::{self, NewKey};
use cambist_server::Permission;
use cambist_venue::AccountId;
use clap::Args;
use serde_json::json;

use super::{print_json, print_text};
use crate::exit::{Exit, Failure};

/// Arguments of `venue kraken-key`.
#[derive(Debug, Args)]
#[command(
    after_help = "The exchange reads it when it starts. Its clients are given the files api_key and secret; neither is printed.\n\nExamples:\n  cambist venue kraken-key --config config/venue.toml bot\n  cambist venue kraken-key --config config/venue.toml watcher --account 20001 --permission funds-query --permission orders-query-open"
)]
pub struct KrakenKeyArgs {
    /// Configuration file of the exchange, with exchange.dialect = "kraken"
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Name of the key, which is that of its folder
    name: String,
    /// Account of the key; the maker's by default. Another one has to exist in the data folder, and the exchange has to be stopped
    #[arg(long, value_name = "ID")]
    account: Option<u32>,
    /// What it may do, once for each: funds-query, funds-withdraw, orders-query-open, orders-query-closed,
    /// orders-modify, orders-cancel, ledger-query; everything but funds-withdraw by default
    #[arg(long, value_name = "NAME")]
    permission: Vec<String>,
    /// By how much a nonce may be behind the highest one; above 0 a repeated request can count twice
    #[arg(long, value_name = "N", default_value_t = 0)]
    nonce_window: u64,
}

/// Writes the folder of a new key.
pub fn run(args: &KrakenKeyArgs, json: bool) -> anyhow::Result<Exit> {
    let exchange = Exchange::load(&args.config)?;
    let Some(settings) = &exchange.kraken else {
        let what = format!(
            "{} does not serve Kraken's interface; add dialect = \"kraken\" to its section [exchange]",
            args.config.display()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    };
    let account = AccountId(args.account.unwrap_or(exchange.maker.account_id));
    kraken_keys::check_account(&exchange, account)?;
    let mut new = NewKey::for_trading(&args.name, account);
    new.nonce_window = args.nonce_window;
    if !args.permission.is_empty() {
        let mut permissions = BTreeSet::new();
        for name in &args.permission {
            let permission = Permission::parse(name).ok_or_else(|| {
                let known = kraken_keys::names();
                let what = format!("--permission {name:?} is not one of {known}");
                Failure::new(Exit::Usage, what)
            })?;
            permissions.insert(permission);
        }
        new.permissions = permissions;
    }
    let folder = kraken_keys::make(settings, &new)?;
    if json {
        print_json(&json!({"folder": folder.display().to_string(), "account_id": account.0}))?;
    } else {
        print_text(&format!(
            "key of account {} in {} (api_key, secret)\nthe exchange reads it when it starts\n",
            account.0,
            folder.display()
        ))?;
    }
    Ok(Exit::Done)
}
