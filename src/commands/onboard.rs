//! `cambist venue onboard`: an operator's side of a new trader in one command, an account with its first deposits. The
//! trader's keys stay with the trader (`cambist account open`).

use anyhow::Context;
use cambist_client::{BaseUrl, Client, ClientConfig};
use cambist_core::token::AMOUNT_MAX;
use cambist_exchange::config::Exchange;
use cambist_protocol::number;
use cambist_protocol::query::AccountQuery;
use cambist_signing::Address;
use clap::Args;
use serde_json::{Map, Value, json};

use super::admin::{Operator, OperatorArgs};
use super::{print_json, print_text};
use crate::account::session::runtime;
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
    /// Address of the exchange as the trader reaches it, for the printed command; by default listen.public_url of the
    /// file, or the address that it listens on
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// Address of an exchange whose file is not given.
const USUAL_URL: &str = "http://127.0.0.1:8787";

/// Opens the account and books the deposits, after all of them were checked. What was done before a failure is stated,
/// because nothing undoes it.
pub fn run(args: &OnboardArgs, json: bool) -> anyhow::Result<Exit> {
    let exchange = args.operator.exchange()?;
    if let Some(url) = &args.url {
        BaseUrl::parse(url).map_err(|error| usage(error.to_string()))?;
    }
    let (local, public) = urls(args.url.as_deref(), exchange.as_ref());
    let deposits = by_symbol(&args.deposit)?;
    let operator = Operator::of(&args.operator, exchange.as_ref())?;
    if !deposits.is_empty() {
        let listed = operator.send("tokens", Map::new())?;
        for (symbol, amount) in &deposits {
            check(&listed, symbol, amount)?;
        }
    }
    let account = opened(&operator, &args.owner, &local)?;
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
                "account {account} is open, {done}; the deposit of {amount} is not known to be booked: {}",
                continued(&operator, &account)
            );
            return Err(error.context(what));
        }
        booked.push(amount);
    }
    let next = format!("cambist account open --venue {public} --owner-key FILE");
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

fn usage(what: String) -> Failure {
    Failure::new(Exit::Usage, what)
}

/// Deposits with their symbols, each symbol once.
fn by_symbol(deposits: &[String]) -> Result<Vec<(&str, &str)>, Failure> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for text in deposits {
        let symbol = text.split_once(' ').map(|(_, symbol)| symbol);
        let symbol = symbol.ok_or_else(|| {
            usage(format!(
                "--deposit {text:?} is not an amount with a symbol, such as \"2 ETH\""
            ))
        })?;
        if found.iter().any(|(known, _)| *known == symbol) {
            return Err(usage(format!("--deposit names {symbol} twice")));
        }
        found.push((symbol, text));
    }
    Ok(found)
}

/// Checks a deposit against the listed tokens, so that a mistake leaves no account without its funds behind.
fn check(listed: &Value, symbol: &str, amount: &str) -> Result<(), Failure> {
    let wrong = |what: &str| usage(format!("--deposit {amount:?}: {what}; nothing was changed"));
    let tokens = listed.as_array().map_or(&[][..], Vec::as_slice);
    let token = tokens.iter().find(|token| token["symbol"] == symbol);
    let token = token.ok_or_else(|| wrong("this exchange lists no such token"))?;
    let decimals = token["decimals"]
        .as_u64()
        .and_then(|d| u8::try_from(d).ok());
    let decimals = decimals.ok_or_else(|| wrong("the exchange does not name its decimals"))?;
    let number = amount.strip_suffix(symbol).map(str::trim_end);
    match number::scaled(number.unwrap_or_default(), decimals) {
        Ok(0) => Err(wrong("the amount is 0")),
        Ok(units) if units > AMOUNT_MAX => Err(wrong("the amount is too large")),
        Ok(_) => Ok(()),
        Err(_) => Err(wrong(&format!(
            "not a number with at most {decimals} decimals"
        ))),
    }
}

/// The address at which this machine reaches the exchange, and the one for the trader.
fn urls(given: Option<&str>, exchange: Option<&Exchange>) -> (String, String) {
    let local = exchange.map_or_else(
        || given.unwrap_or(USUAL_URL).to_owned(),
        |exchange| match exchange.listen.address.port() {
            // Only a free port has to be read from the file that the exchange writes.
            0 => std::fs::read_to_string(exchange.address_file()).map_or_else(
                |_| USUAL_URL.to_owned(),
                |at| format!("http://{}", at.trim_end()),
            ),
            port if exchange.listen.address.ip().is_unspecified() => {
                format!("http://127.0.0.1:{port}")
            }
            _ => format!("http://{}", exchange.listen.address),
        },
    );
    let public = exchange.and_then(|exchange| exchange.listen.public_url.as_deref());
    let public = given.or(public).unwrap_or(&local).to_owned();
    (local, public)
}

/// Opens the account and returns its number. An owner who has one is named with it: an earlier attempt may have been
/// interrupted.
fn opened(operator: &Operator, owner: &str, url: &str) -> anyhow::Result<String> {
    match operator.send("create-account", fields([("owner", owner)])) {
        Ok(answer) => {
            let account = answer["accountId"].as_u64();
            let account = account.context("the exchange's answer has no account id")?;
            Ok(account.to_string())
        }
        Err(error) => {
            let Some(account) = owned(url, owner) else {
                return Err(error);
            };
            let what = format!(
                "{owner} has account {account}, perhaps from an interrupted attempt; no deposit was booked now: {}",
                continued(operator, &account.to_string())
            );
            Err(Failure::new(Exit::CheckFailed, what).into())
        }
    }
}

/// The account of an owner, as the exchange's interface names it without a key.
fn owned(url: &str, owner: &str) -> Option<u32> {
    let owner = Address::from_hex(owner).ok()?;
    let client = Client::new(&ClientConfig::new(url), None).ok()?;
    let query = client.account(AccountQuery::Owner(owner));
    let account = runtime().ok()?.block_on(query).ok()?;
    Some(account.account_id)
}

/// How an interrupted attempt is completed.
fn continued(operator: &Operator, account: &str) -> String {
    format!(
        "see {}, and book what is missing with {}",
        operator.command(&format!("account --account {account}")),
        operator.command(&format!(
            "deposit --account {account} --token SYMBOL --amount \"NUMBER SYMBOL\""
        ))
    )
}

fn fields<const N: usize>(fields: [(&str, &str); N]) -> Map<String, Value> {
    let pairs = fields.map(|(name, value)| (name.to_owned(), json!(value)));
    pairs.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;
    use cambist_config::reader::Source;

    #[test]
    fn deposits_are_checked_against_the_listing() {
        let listed = json!([{"symbol": "ETH", "decimals": 18}, {"symbol": "USDC", "decimals": 6}]);
        let checked = |amount: &str| {
            let texts = [amount.to_owned()];
            let (symbol, amount) = by_symbol(&texts)?[0];
            check(&listed, symbol, amount)
        };
        for right in ["2 ETH", "0.000001 USDC"] {
            assert!(checked(right).is_ok(), "{right}");
        }
        for (wrong, why) in [
            ("2", "an amount with a symbol"),
            ("2 BTC", "no such token"),
            ("2 eth", "no such token"),
            ("0 ETH", "is 0"),
            ("0.0000001 USDC", "at most 6 decimals"),
            ("2,5 ETH", "at most 18 decimals"),
            ("-2 ETH", "at most 18 decimals"),
            ("99999999999999 ETH", "too large"),
        ] {
            let error = checked(wrong).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.message.contains(why), "{wrong}: {}", error.message);
        }
        let twice = ["1 ETH", "2 ETH"].map(str::to_owned);
        assert!(by_symbol(&twice).is_err());
    }

    #[test]
    fn the_printed_address_is_the_public_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/venue.toml");
        let mut source = Source::read(path.as_ref()).unwrap();
        let parsed = |source: &Source| Exchange::parse(source).unwrap();
        let local = parsed(&source);
        source.text = source.text.replace("# public_url", "public_url");
        let hosted = parsed(&source);
        let public = |given, exchange| urls(given, exchange).1;
        assert_eq!(public(None, None), USUAL_URL);
        assert_eq!(public(None, Some(&local)), "http://127.0.0.1:8787");
        assert_eq!(public(None, Some(&hosted)), "https://exchange.example");
        assert_eq!(
            public(Some("https://x.example"), Some(&hosted)),
            "https://x.example"
        );
        assert_eq!(urls(None, Some(&hosted)).0, "http://127.0.0.1:8787");
    }
}
