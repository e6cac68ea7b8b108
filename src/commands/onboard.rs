//! `cambist venue onboard`: an operator's side of a new trader in one command, an account with its first deposits. The
//! trader's keys stay with the trader (`cambist account open`).

use anyhow::Context;
use cambist_client::BaseUrl;
use clap::Args;
use serde_json::{Map, Value, json};

use super::admin::{Operator, OperatorArgs};
use super::{print_json, print_text};
use crate::exit::{Exit, Failure};

/// Arguments of `venue onboard`.
#[derive(Debug, Args)]
#[command(
    after_help = "The trader then makes the keys with: cambist account open --venue URL --owner-key FILE\n\nExample:\n  cambist venue onboard --config config/venue.toml --owner 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --deposit \"2 ETH\" --deposit \"5000 USDC\""
)]
pub struct OnboardArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// Address of the trader's wallet, which owns the account
    #[arg(long, value_name = "ADDRESS")]
    owner: String,
    /// First deposit: whole tokens with their symbol; once for each token
    #[arg(long, value_name = "AMOUNT SYMBOL")]
    deposit: Vec<String>,
    /// Address of the exchange as the trader reaches it, for the printed command
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8787")]
    url: String,
}

/// Opens the account and books the deposits. What was done before a failure is stated, because nothing undoes it.
pub fn run(args: &OnboardArgs, json: bool) -> anyhow::Result<Exit> {
    let usage = |what: String| Failure::new(Exit::Usage, what);
    BaseUrl::parse(&args.url).map_err(|error| usage(error.to_string()))?;
    let mut deposits = Vec::new();
    for text in &args.deposit {
        let symbol = text.split_once(' ').map(|(_, symbol)| symbol);
        let symbol = symbol.ok_or_else(|| {
            usage(format!(
                "--deposit {text:?} is not an amount with a symbol, such as \"2 ETH\""
            ))
        })?;
        if deposits.iter().any(|(known, _)| *known == symbol) {
            return Err(usage(format!("--deposit names {symbol} twice")).into());
        }
        deposits.push((symbol, text.as_str()));
    }
    let operator = Operator::of(&args.operator)?;
    let opened = operator.send("create-account", fields([("owner", args.owner.as_str())]))?;
    let account = opened["accountId"].as_u64();
    let account = account
        .context("the exchange's answer has no account id")?
        .to_string();
    let mut booked: Vec<&str> = Vec::new();
    for (symbol, amount) in deposits {
        let body = fields([
            ("account", account.as_str()),
            ("token", symbol),
            ("amount", amount),
        ]);
        if let Err(error) = operator.send("deposit", body) {
            let done = if booked.is_empty() {
                "no deposit is booked".to_owned()
            } else {
                format!("booked: {}", booked.join(", "))
            };
            let what = format!(
                "account {account} is open, {done}; the deposit of {amount} is not known to be booked: see cambist venue admin account --account {account}, and book what is missing with cambist venue admin deposit"
            );
            return Err(error.context(what));
        }
        booked.push(amount);
    }
    let next = format!("cambist account open --venue {} --owner-key FILE", args.url);
    if json {
        print_json(&json!({
            "account_id": account.parse::<u64>().ok(),
            "owner": args.owner,
            "deposits": booked,
            "next": next,
        }))?;
    } else {
        let deposits = if booked.is_empty() {
            String::new()
        } else {
            format!(" with {}", booked.join(" and "))
        };
        print_text(&format!(
            "account {account} of {} is open{deposits}\nthe trader makes the keys with the key of that wallet:\n  {next}\n",
            args.owner
        ))?;
    }
    Ok(Exit::Done)
}

fn fields<const N: usize>(fields: [(&str, &str); N]) -> Map<String, Value> {
    let pairs = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    pairs.into_iter().collect()
}
