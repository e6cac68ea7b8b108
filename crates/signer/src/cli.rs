//! The program `cambist-signer`: its command line.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cambist_host::clock::Clock;
use cambist_host::exit::{Exit, Failure};
use cambist_signing::SignerError;
use clap::{Args, CommandFactory, Parser, Subcommand};
use nix::sys::signal::{SigSet, Signal};

use crate::client::RemoteSigner;
use crate::config::{self, Config};
use crate::journal::{self, Journal, JournalError};
use crate::server::Socket;
use crate::service::Service;

/// Holds the signing key of an account, and signs orders, pool transactions and cancels within limits of its own
#[derive(Debug, Parser)]
#[command(
    name = "cambist-signer",
    version,
    about,
    after_help = "\
Examples:
  cambist signer-config --config cambist.toml > signer.toml   a file to begin with
  cambist-signer check --config signer.toml
  cambist-signer init --config signer.toml                    once
  cambist-signer run --config signer.toml

Exit codes: 0 done, 1 a check failed, 2 usage, 75 another instance runs,
77 configuration, key or state refused."
)]
struct Cli {
    /// The command.
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer on the socket until SIGTERM
    #[command(after_help = "Example:\n  cambist-signer run --config /etc/cambist/eth.signer.toml")]
    Run(File),
    /// Check the file and the key; print the limits
    #[command(
        after_help = "Examples:\n  cambist-signer check --config signer.toml\n  cambist-signer check --no-secrets --config signer.toml"
    )]
    Check(CheckArgs),
    /// Create the record of what was signed, once, before the first start
    #[command(
        after_help = "Example:\n  sudo -u cambist-signer cambist-signer init --config /etc/cambist/eth.signer.toml"
    )]
    Init(InitArgs),
    /// Print the limits of a running signer and how much of each is used
    #[command(
        after_help = "Examples:\n  cambist-signer status --config signer.toml\n  cambist-signer status --config signer.toml --json"
    )]
    Status(StatusArgs),
    /// Print shell completions
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Args)]
struct File {
    /// The signer's configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    file: File,
    /// Do not read the key
    #[arg(long)]
    no_secrets: bool,
}

#[derive(Debug, Args)]
struct InitArgs {
    #[command(flatten)]
    file: File,
    /// Forget what was signed: every limit is unused afterwards
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
struct StatusArgs {
    #[command(flatten)]
    file: File,
    /// Print one JSON value
    #[arg(long)]
    json: bool,
}

/// Runs the command line; returns the exit code.
pub fn main() -> std::process::ExitCode {
    run(std::env::args_os()).into()
}

fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let is_help = !error.use_stderr();
            let _ = error.print();
            return if is_help { Exit::Done } else { Exit::Usage };
        }
    };
    if let Err(error) = cambist_host::memory::protect() {
        eprintln!("error: cannot protect the process memory from core files: {error}");
        return Exit::CheckFailed;
    }
    match execute(cli.command) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit
        }
    }
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(file) => serve(&load(&file)?),
        Command::Check(args) => check(&args),
        Command::Init(args) => {
            let config = load(&args.file)?;
            let made = journal::init(&config.state_dir, args.replace, unix_s(&Clock::new()));
            let path = made.map_err(|error| refused_state(&error))?;
            print(&format!("{} counts what is signed\n", path.display()))
        }
        Command::Status(args) => status(&args),
        Command::Completions { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "cambist-signer", &mut out);
            print(&String::from_utf8_lossy(&out))
        }
        Command::Man => {
            let mut out = Vec::new();
            let rendered = clap_mangen::Man::new(Cli::command()).render(&mut out);
            rendered.map_err(|error| failed(error.to_string()))?;
            print(&String::from_utf8_lossy(&out))
        }
    }
}

fn load(file: &File) -> Result<Config, Failure> {
    config::load(&file.config).map_err(|error| refused(error.to_string()))
}

fn refused(what: String) -> Failure {
    Failure::new(Exit::Refused, what)
}

fn failed(what: String) -> Failure {
    Failure::new(Exit::CheckFailed, what)
}

fn refused_state(error: &JournalError) -> Failure {
    let exit = match error {
        JournalError::Folder(cambist_host::folder::FolderError::InUse(_)) => Exit::AnotherInstance,
        JournalError::Io { .. } => Exit::CheckFailed,
        _ => Exit::Refused,
    };
    Failure::new(exit, error.to_string())
}

fn unix_s(clock: &Clock) -> u64 {
    clock.unix_micros() / 1_000_000
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| failed(error.to_string()))
}

fn serve(config: &Config) -> Result<(), Failure> {
    // Threads inherit this: only the main thread receives these signals, when it waits for them.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let blocked = signals.thread_block();
    blocked.map_err(|error| failed(format!("signals: {error}")))?;
    let key = config
        .key
        .read()
        .map_err(|error| refused(error.to_string()))?;
    let clock = Clock::new();
    let opened = Journal::open(
        &config.state_dir,
        &config.rules,
        journal::boot_id(),
        unix_s(&clock),
    );
    let opened = opened.map_err(|error| refused_state(&error))?;
    let rules = config.rules.clone();
    let service = Service::new(key, rules, opened, Box::new(move || unix_s(&clock)));
    let service = Arc::new(service);
    let socket = Socket::bind(&config.socket).map_err(|error| {
        failed(format!(
            "signer.socket {}: {error}",
            config.socket.display()
        ))
    })?;
    let socket = Arc::new(socket);
    let (serving, users) = (Arc::clone(&service), config.users.clone());
    let listening = Arc::clone(&socket);
    let spawned = std::thread::Builder::new()
        .name("listener".to_owned())
        .spawn(move || listening.serve(&serving, &users));
    spawned.map_err(|error| failed(error.to_string()))?;
    let about = format!(
        "signing for account {} at {}",
        config.rules.account_id,
        config.socket.display()
    );
    eprintln!("{about}");
    notify(&[
        sd_notify::NotifyState::Ready,
        sd_notify::NotifyState::Status(&about),
    ]);
    let signal = signals.wait();
    notify(&[sd_notify::NotifyState::Stopping]);
    let closed = service.close();
    let _ = std::fs::remove_file(&config.socket);
    closed.map_err(|error| refused_state(&error))?;
    signal.map_err(|error| failed(format!("signals: {error}")))?;
    eprintln!("ended; what was signed is on disk");
    Ok(())
}

/// A message to the service manager, if there is one.
fn notify(states: &[sd_notify::NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        eprintln!("the service manager is not notified: {error}");
    }
}

fn check(args: &CheckArgs) -> Result<(), Failure> {
    let config = load(&args.file)?;
    let mut text = format!("{} is right.\n", args.file.config.display());
    if !args.no_secrets {
        let key = config
            .key
            .read()
            .map_err(|error| refused(error.to_string()))?;
        let public = key.public();
        let (x, y) = (public.x.to_hex(), public.y.to_hex());
        let _ = writeln!(text, "public key    {x} {y}");
        if !config.state_dir.join(journal::FILE).exists() {
            let path = args.file.config.display();
            let _ = writeln!(
                text,
                "state         none yet: cambist-signer init --config {path}"
            );
        }
    }
    text.push_str(&limits(&config));
    print(&text)
}

/// The limits in words.
fn limits(config: &Config) -> String {
    let rules = &config.rules;
    let mut text = format!(
        "account       {} of {} at {}\nvalid for     at most {} s\nfee           at most {} ten-thousandths\n",
        rules.account_id, rules.owner, rules.base_url, rules.ttl_max_s, rules.max_fee_bips
    );
    for token in &rules.tokens {
        let [unexpired, window] = [token.unexpired_max, token.window_max].map(|n| token.whole(n));
        let _ = writeln!(
            text,
            "{:13} at most {unexpired} signed and unexpired, {window} within {} s",
            token.symbol, rules.window_s
        );
    }
    for market in &rules.markets {
        let _ = writeln!(
            text,
            "{:13} sold from {}, bought up to {}",
            market.name, market.sell_min.text, market.buy_max.text
        );
    }
    for pool in &rules.pools {
        let [first, second] = &pool.exit_min;
        let [third, fourth] = &pool.join_max;
        let _ = writeln!(
            text,
            "{:13} a share burned for at least {} and {}, minted for at most {} and {}",
            pool.name, first.text, second.text, third.text, fourth.text
        );
    }
    text
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let config = load(&args.file)?;
    let text = of_running(&config.socket).map_err(|error| failed(error.to_string()))?;
    if args.json {
        return print(&format!("{text}\n"));
    }
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let of = |value: &serde_json::Value, key: &str| match &value[key] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut text = String::new();
    for token in json["tokens"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "{:8} {} of {} signed and unexpired, {} of {} within {} s",
            of(token, "symbol"),
            of(token, "signed_unexpired"),
            of(token, "signed_unexpired_max"),
            of(token, "window"),
            of(token, "window_max"),
            json["window_s"]
        );
    }
    let _ = writeln!(
        text,
        "{} signatures have not expired",
        json["signatures_unexpired"]
    );
    print(&text)
}

fn of_running(socket: &Path) -> Result<String, SignerError> {
    RemoteSigner::new(socket).limits()
}
