//! `cambist venue admin`: operator requests to a running exchange, through its operator listener.
//!
//! The subcommands are generated from the exchange's table of requests. Secrets are not accepted as arguments: the
//! token is read from its file. The request is written by hand, because the buffer with the token is wiped; HTTP
//! libraries keep copies of headers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use cambist_protocol::wire::Failure as Refused;
use cambist_server::admin::{Field, FieldKind, OPERATOR_REQUESTS, OperatorRequest, PREFIX, find};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Subcommand};
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
    /// Address of the exchange's operator listener: IP:PORT or localhost:PORT
    #[arg(long, value_name = "ADDRESS", value_parser = listener_address)]
    address: Option<SocketAddr>,
    /// File with the token, mode 0600
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// A running exchange's operator listener.
pub struct Operator {
    address: SocketAddr,
    token: Zeroizing<String>,
    /// The beginning of a command to the same exchange, for messages.
    command: String,
}

/// A request that got no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(String),
    /// The request may have arrived, so that it may have been carried out.
    #[error("{0}")]
    Lost(String),
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
    let command = Command::new(request.name)
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
        }));
    if !request.changes_what_is_given() {
        return command;
    }
    let changed = ArgGroup::new("changed").required(true).multiple(true);
    command.group(changed.args(request.optional_fields().map(|field| field.name)))
}

/// Tables of amounts that are not amounts of a listed token: fees of the chain, which are only displayed.
const WITHOUT_SYMBOL: &str = "onchain";

/// Parses the address of a listener. The listener is on this machine, so that `localhost` is its usual address.
fn listener_address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| {
        "expected an IP address or localhost, and a port, such as 127.0.0.1:8788".to_owned()
    })
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
    // In the configuration file the same digits are whole tokens.
    let is_ambiguous = amount.bytes().all(|byte| byte.is_ascii_digit()) && amount != "0";
    if is_ambiguous && field.name != WITHOUT_SYMBOL {
        let what = format!(
            "{value:?} could be base units or whole tokens: write the amount with its symbol, \"{name}={amount} {name}\"\n"
        );
        return Err(clap::Error::raw(ErrorKind::ValueValidation, what));
    }
    let table = body.entry(field.name.to_owned()).or_insert(json!({}));
    table[name] = json!(amount);
    Ok(())
}

/// Sends a request to a running exchange and prints the answer; exit 1 if it is refused, or not known to be executed.
pub fn run(args: &AdminArgs, json: bool) -> anyhow::Result<Exit> {
    let exchange = args.operator.exchange()?;
    let answer = Operator::of(&args.operator, exchange.as_ref())?.ask(&args.asked)?;
    if json {
        print_json(&answer)?;
    } else {
        print_text(&json_text::lines(&answer))?;
    }
    Ok(Exit::Done)
}

impl OperatorArgs {
    /// The exchange's file, if one is named.
    pub fn exchange(&self) -> anyhow::Result<Option<Exchange>> {
        Ok(self.config.as_deref().map(Exchange::load).transpose()?)
    }

    /// The beginning of a command to the same exchange.
    fn command(&self) -> String {
        let shown = |path: &Path| path.display().to_string();
        let given = [
            ("--config", self.config.as_deref().map(shown)),
            ("--address", self.address.map(|address| address.to_string())),
            ("--token-file", self.token_file.as_deref().map(shown)),
        ];
        let mut words = vec!["cambist venue admin".to_owned()];
        for (option, value) in given {
            words.extend(value.map(|value| format!("{option} {value}")));
        }
        words.join(" ")
    }
}

impl Operator {
    /// Finds the listener and reads the token.
    pub fn of(args: &OperatorArgs, exchange: Option<&Exchange>) -> anyhow::Result<Self> {
        let admin = exchange.and_then(|exchange| exchange.admin.as_ref());
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
        let address = match (args.address, exchange) {
            (Some(address), _) => address,
            (None, Some(exchange)) => listening(exchange)?.ok_or_else(off)?,
            (None, None) => return Err(off().into()),
        };
        let token = secrets::read(token_file, false)?;
        Ok(Self {
            address,
            token,
            command: args.command(),
        })
    }

    /// The listener at this address, with the token of a file.
    pub fn at(address: SocketAddr, token_file: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            address,
            token: secrets::read(token_file, false)?,
            command: format!(
                "cambist venue admin --address {address} --token-file {}",
                token_file.display()
            ),
        })
    }

    /// Sends a request of the table by its name.
    pub fn send(&self, name: &str, body: Map<String, Value>) -> anyhow::Result<Value> {
        let request = find(name).context("no such request")?;
        self.ask(&Asked { request, body })
    }

    /// A command to this exchange, for messages.
    pub fn command(&self, request: &str) -> String {
        format!("{} {request}", self.command)
    }

    fn ask(&self, asked: &Asked) -> anyhow::Result<Value> {
        let (status, text) = match ask(self.address, &self.token, asked) {
            Ok(answer) => answer,
            Err(NoAnswer::NotSent(why)) => {
                return Err(Failure::new(Exit::CheckFailed, why).into());
            }
            Err(NoAnswer::Lost(why)) => return Err(self.unknown(asked, &why).into()),
        };
        if status == 200 {
            return serde_json::from_str(&text).map_err(|error| {
                self.unknown(asked, &format!("an invalid answer ({error})"))
                    .into()
            });
        }
        let refused = Refused::read(text.as_bytes());
        let why = if refused.reason.is_some() {
            refused.message
        } else {
            // Not the form of an exchange; the text may be empty.
            format!(
                "HTTP status {status} {:?} from {}, which may not be the operator listener of an exchange",
                refused.message, self.address
            )
        };
        if status >= 500 {
            // It failed in the middle, or its record could not be written.
            return Err(self.unknown(asked, &why).into());
        }
        Err(Failure::new(Exit::CheckFailed, why).into())
    }

    /// The error of a request whose effect is not known.
    fn unknown(&self, asked: &Asked, why: &str) -> Failure {
        let (address, name) = (self.address, asked.request.name);
        let what = if asked.request.is_read {
            format!("no answer to {name} from the exchange at {address}: {why}")
        } else {
            format!(
                "{name} may have been carried out, now or later, because the exchange at {address} did not answer: {why}; before repeating it, see: {}",
                self.command(&shown_by(asked))
            )
        };
        Failure::new(Exit::CheckFailed, what)
    }
}

/// The request that shows whether another one was carried out.
fn shown_by(asked: &Asked) -> String {
    let given = |name| asked.body.get(name).and_then(Value::as_str);
    match asked.request.name {
        "deposit" | "withdraw" | "announce-deposit" | "confirm-deposit" | "freeze" | "thaw" => {
            let account = given("account").unwrap_or("N");
            format!("account --account {account}")
        }
        "list-token" | "delist-token" | "open-token" | "close-token" => "tokens".to_owned(),
        "list-pool" | "delist-pool" | "set-pool" => "pools".to_owned(),
        "set-mode" => "status".to_owned(),
        _ => "log --limit 5".to_owned(),
    }
}

/// Address of the operator listener of an exchange that was started from this file; `None` if it has none.
///
/// Only a free port has to be read from the address file. Several exchanges may have one folder of keys, such as a copy
/// that is tried on other ports, and the file has the address of the one that was started last.
fn listening(exchange: &Exchange) -> anyhow::Result<Option<SocketAddr>> {
    let Some(admin) = &exchange.admin else {
        return Ok(None);
    };
    if admin.listen.port() != 0 {
        return Ok(Some(admin.listen));
    }
    let file = exchange.admin_address_file();
    let text = std::fs::read_to_string(&file).ok();
    let address = text.and_then(|text| text.strip_suffix('\n')?.parse().ok());
    address.map(Some).ok_or_else(|| {
        let what = format!(
            "the exchange is not running: it writes the address of its operator listener to {}, which does not have one",
            file.display()
        );
        Failure::new(Exit::CheckFailed, what).into()
    })
}

fn ask(address: SocketAddr, token: &str, asked: &Asked) -> Result<(u16, String), NoAnswer> {
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
        let what = "an argument has characters that cannot be sent";
        return Err(NoAnswer::NotSent(what.to_owned()));
    }
    let head = zeroize::Zeroizing::new(format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    ));
    let connected = || {
        let stream = TcpStream::connect_timeout(&address, WAIT)?;
        stream.set_read_timeout(Some(WAIT))?;
        stream.set_write_timeout(Some(WAIT))?;
        Ok(stream)
    };
    let stream = connected().map_err(|error: io::Error| {
        NoAnswer::NotSent(format!(
            "the exchange is not running, or its operator listener is not at {address}: {}",
            cause(&error)
        ))
    })?;
    let answer = exchanged(stream, &head, &body).map_err(|error| NoAnswer::Lost(cause(&error)))?;
    parsed_answer(answer)
        .ok_or_else(|| NoAnswer::Lost("the connection ended without a complete answer".to_owned()))
}

/// Sends a request and reads what comes back until the end of the connection.
fn exchanged(mut stream: TcpStream, head: &str, body: &str) -> io::Result<Vec<u8>> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// Status and body.
fn parsed_answer(answer: Vec<u8>) -> Option<(u16, String)> {
    let answer = String::from_utf8(answer).ok()?;
    let (head, text) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, text.to_owned()))
}

/// The cause of a failed connection. The system reports a timeout of a socket as a resource that is unavailable.
fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("nothing within {} s", WAIT.as_secs())
        }
        _ => error.to_string(),
    }
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
    fn what_keeps_absent_values_needs_one_of_them() {
        for request in &OPERATOR_REQUESTS {
            let keeps = request.about.ends_with("absent fields keep their values")
                || request.about.ends_with("absent tables keep their values");
            let is_known = request.changes_what_is_given();
            assert_eq!(keeps, is_known, "{}", request.name);
            if keeps {
                let pool = "0x00000000000000000000000000000000000000bb";
                let line = match request.name {
                    "set-pool" => format!("set-pool --pool {pool}"),
                    name => name.to_owned(),
                };
                let error = parsed(&line).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::MissingRequiredArgument, "{line}");
            }
        }
    }

    #[test]
    fn amounts_of_tables_have_their_symbol() {
        for right in ["USDC=5 USDC", "USDC=0", "USDC=0.5 USDC"] {
            let line = format!("set-service-fees --withdrawal \"{right}\"");
            assert!(parsed(&line).is_ok(), "{right}");
        }
        let error = parsed("set-service-fees --withdrawal USDC=5").unwrap_err();
        assert!(error.to_string().contains("\"USDC=5 USDC\""), "{error}");
        assert!(parsed("set-account-opening --fee USDC=5").is_err());
        // For display only, in the chain's own unit.
        assert!(parsed("set-service-fees --onchain deposit=5").is_ok());
    }

    #[test]
    fn a_listener_is_at_an_address_or_localhost() {
        let local = "127.0.0.1:8788".parse().unwrap();
        for text in ["127.0.0.1:8788", "localhost:8788"] {
            assert_eq!(listener_address(text), Ok(local), "{text}");
        }
        for wrong in ["localhost", "127.0.0.1", "exchange.example:8788", ""] {
            let error = listener_address(wrong).unwrap_err();
            assert!(error.contains("127.0.0.1:8788"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_timeout_is_named_as_one() {
        for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            assert_eq!(cause(&kind.into()), "nothing within 30 s");
        }
    }

    #[test]
    fn words_tables_and_what_is_missing() {
        let asked = parsed("set-service-fees --transfer \"A=1 A\" --transfer \"B=2 B\"").unwrap();
        assert_eq!(asked.body["transfer"], json!({"A": "1 A", "B": "2 B"}));
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
