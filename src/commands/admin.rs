//! `cambist venue admin`: operator requests to a running exchange, through its operator listener.
//!
//! The subcommands are generated from the exchange's table of requests. Secrets are not accepted as arguments: the
//! token is read from its file. The request is written by hand, because the buffer with the token is wiped; HTTP
//! libraries keep copies of headers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use cambist_protocol::wire::Failure as Refused;
use cambist_server::admin::{Field, FieldKind, OPERATOR_REQUESTS, OperatorRequest, PREFIX, find};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value, json};

use super::{print_json, print_text};
use crate::commands::json_text;
use crate::exit::{Exit, Failure};
use cambist_exchange::config::Exchange;
use cambist_host::secrets;
use zeroize::Zeroizing;

/// Timeout of a request.
const WAIT: Duration = Duration::from_secs(30);

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Arguments of `venue admin`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  cambist venue admin --config config/venue.toml status\n  cambist venue admin --config config/venue.toml deposit --account 10000 --token ETH --amount \"1.5 ETH\"\n  cambist venue admin --address 127.0.0.1:8788 --token-file admin_token set-mode --mode cancel-only\n\nAmounts are whole tokens with their symbol, or base units. Each command has its own --help with an example."
)]
pub struct AdminArgs {
    #[command(flatten)]
    operator: OperatorArgs,
    /// The request.
    #[command(subcommand)]
    asked: Asked,
}

/// Where the operator's listener is, and its token.
#[derive(Debug, Args)]
pub struct OperatorArgs {
    /// Configuration file of the exchange, with the listener's address and the token file
    #[arg(long, value_name = "FILE", required_unless_present_all = ["address", "token_file"])]
    config: Option<PathBuf>,
    /// Address of the exchange's operator listener
    #[arg(long, value_name = "ADDRESS")]
    address: Option<SocketAddr>,
    /// File with the token, mode 0600
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// A running exchange's operator listener.
pub struct Operator {
    address: SocketAddr,
    token: Zeroizing<String>,
}

/// One request as given.
#[derive(Debug)]
struct Asked {
    request: &'static OperatorRequest,
    body: Map<String, Value>,
}

impl FromArgMatches for Asked {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::raw(ErrorKind::MissingSubcommand, "a request is missing\n");
        let (name, given) = matches.subcommand().ok_or_else(missing)?;
        let request = find(name).ok_or_else(missing)?;
        let mut body = Map::new();
        for field in request.fields.iter().filter(|field| is_offered(field)) {
            let Some(values) = given.get_many::<String>(field.name) else {
                continue;
            };
            for value in values {
                add(&mut body, field, value)?;
            }
        }
        Ok(Self { request, body })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Asked {
    fn augment_subcommands(command: Command) -> Command {
        command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(OPERATOR_REQUESTS.iter().map(subcommand))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some()
    }
}

fn subcommand(request: &'static OperatorRequest) -> Command {
    let example = format!(
        "Example:\n  cambist venue admin --config config/venue.toml {}",
        request.example
    );
    let fields = request.fields.iter().filter(|field| is_offered(field));
    Command::new(request.name)
        .about(request.about)
        .after_help(example)
        .args(fields.map(|field| {
            let arg = Arg::new(field.name)
                .long(dashed(field.name))
                .help(field.about)
                .required(field.required)
                .value_name(value_name(field.kind));
            match field.kind {
                FieldKind::Amounts => arg.action(ArgAction::Append),
                FieldKind::Word(words) => arg.value_parser(words.to_vec()),
                _ => arg,
            }
        }))
}

/// Converts a name to an option name. Names live as long as the program, as the table does.
fn dashed(name: &'static str) -> &'static str {
    if name.contains('_') {
        Box::leak(name.replace('_', "-").into_boxed_str())
    } else {
        name
    }
}

const fn is_offered(field: &Field) -> bool {
    !matches!(field.kind, FieldKind::Secret)
}

const fn value_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Number => "NUMBER",
        FieldKind::Token => "TOKEN",
        FieldKind::Amount => "AMOUNT",
        FieldKind::Address => "ADDRESS",
        FieldKind::Hash => "HEX",
        FieldKind::Text | FieldKind::Secret => "TEXT",
        FieldKind::Flag => "true|false",
        FieldKind::Word(_) => "WORD",
        FieldKind::Amounts => "NAME=AMOUNT",
    }
}

/// All values are sent as strings; the exchange validates them.
fn add(body: &mut Map<String, Value>, field: &Field, value: &str) -> Result<(), clap::Error> {
    if field.kind != FieldKind::Amounts {
        body.insert(field.name.to_owned(), json!(value));
        return Ok(());
    }
    let Some((name, amount)) = value.split_once('=') else {
        let what = format!("{value:?} is not NAME=AMOUNT\n");
        return Err(clap::Error::raw(ErrorKind::ValueValidation, what));
    };
    let table = body.entry(field.name.to_owned()).or_insert(json!({}));
    table[name] = json!(amount);
    Ok(())
}

/// Sends a request to a running exchange and prints the answer; exit 1 if it is refused.
pub fn run(args: &AdminArgs, json: bool) -> anyhow::Result<Exit> {
    let answer = Operator::of(&args.operator)?.ask(&args.asked)?;
    if json {
        print_json(&answer)?;
    } else {
        print_text(&json_text::lines(&answer))?;
    }
    Ok(Exit::Done)
}

impl Operator {
    /// Finds the listener and reads the token.
    pub fn of(args: &OperatorArgs) -> anyhow::Result<Self> {
        let exchange = args.config.as_deref().map(Exchange::load).transpose()?;
        let admin = exchange
            .as_ref()
            .and_then(|exchange| exchange.admin.as_ref());
        let off = || {
            Failure::new(
                Exit::Refused,
                "the configuration has no [admin] token_file, so the exchange has no operator listener",
            )
        };
        let token_file = args
            .token_file
            .as_ref()
            .or(admin.map(|admin| &admin.token_file))
            .ok_or_else(off)?;
        let address = match (args.address, &exchange) {
            (Some(address), _) => address,
            (None, Some(exchange)) => running(exchange).ok_or_else(|| {
                Failure::new(
                    Exit::CheckFailed,
                    "the exchange is not running, or has no operator listener",
                )
            })?,
            (None, None) => return Err(off().into()),
        };
        Self::at(address, token_file)
    }

    /// The listener at this address, with the token of a file.
    pub fn at(address: SocketAddr, token_file: &Path) -> anyhow::Result<Self> {
        let token = secrets::read(token_file, false)?;
        Ok(Self { address, token })
    }

    /// Sends a request of the table by its name.
    pub fn send(&self, name: &str, body: Map<String, Value>) -> anyhow::Result<Value> {
        let request = find(name).context("no such request")?;
        self.ask(&Asked { request, body })
    }

    fn ask(&self, asked: &Asked) -> anyhow::Result<Value> {
        let (status, text) = ask(self.address, &self.token, asked)
            .with_context(|| format!("sending the request to the exchange at {}", self.address))?;
        if status == 200 {
            return serde_json::from_str(&text).context("reading the exchange's answer");
        }
        let refused = Refused::read(text.as_bytes());
        Err(Failure::new(Exit::CheckFailed, refused.message).into())
    }
}

/// Address of the operator listener of a running exchange.
fn running(exchange: &Exchange) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(exchange.admin_address_file()).ok()?;
    text.strip_suffix('\n')?.parse().ok()
}

fn ask(address: SocketAddr, token: &str, asked: &Asked) -> anyhow::Result<(u16, String)> {
    let body = Value::Object(asked.body.clone()).to_string();
    let (method, target, body) = if asked.request.is_read {
        let pairs = asked
            .body
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
        let query: Vec<_> = pairs.collect();
        let target = format!("{PREFIX}{}?{}", asked.request.name, query.join("&"));
        ("GET", target, String::new())
    } else {
        ("POST", format!("{PREFIX}{}", asked.request.name), body)
    };
    if target.bytes().any(|byte| !byte.is_ascii_graphic()) {
        anyhow::bail!("an argument has characters that cannot be sent");
    }
    let mut stream = TcpStream::connect_timeout(&address, WAIT)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    let head = zeroize::Zeroizing::new(format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    ));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer)?;
    let (head, text) = answer
        .split_once("\r\n\r\n")
        .context("the answer is not HTTP")?;
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Ok((status.context("the answer is not HTTP")?, text.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use clap::Parser;

    fn parsed(line: &str) -> Result<Asked, clap::Error> {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            args: AdminArgs,
        }
        // Quoted words are one word, as in a shell.
        let parts = line.split('"').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        let line = ["admin", "--config", "x.toml"].into_iter().chain(words);
        Only::try_parse_from(line).map(|only| only.args.asked)
    }

    #[test]
    fn every_example_of_the_table_is_a_command_line() {
        for request in &OPERATOR_REQUESTS {
            let asked = parsed(request.example).unwrap();
            assert_eq!(asked.request.name, request.name);
        }
    }

    #[test]
    fn words_tables_and_what_is_missing() {
        let asked = parsed("set-service-fees --transfer A=1 --transfer B=2").unwrap();
        assert_eq!(asked.body["transfer"], json!({"A": "1", "B": "2"}));
        for wrong in [
            "deposit --account 1",
            "set-mode --mode shut",
            "set-service-fees --transfer A",
            "nothing",
            "create-account --owner 0x1 --api-key secret",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
