//! Commands with the file of a portfolio: `run` runs all of its venues in one process, the others do the same for the
//! file of each venue.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use anyhow::{Context, anyhow};
use cambist_core::elsewhere;
use clap::{Arg, ArgMatches};
use serde_json::{Map, Value};

use super::daemon_control::warn_of;
use super::run::Reported;
use super::{panic, portfolio_check, print_json, print_text, run};
use crate::cli::{self, RunArgs};
use crate::exit::{self, Exit, Failure};
use cambist_daemon::config::{Daemon, Located};
use cambist_daemon::portfolio::{self, MemberEnd, PortfolioFile, VenueFile, is_portfolio};
use cambist_daemon::telemetry;

/// Commands that are executed for every venue of a portfolio.
const FOR_EACH: [&str; 10] = [
    "check", "doctor", "drain", "kill", "panic", "pause", "reload", "report", "resume", "status",
];

/// The argument that selects a venue.
const VENUE: &str = "venue_of_portfolio";

/// Runs all venues until all of them have ended.
pub fn run_all(args: &RunArgs, json: bool) -> anyhow::Result<Exit> {
    if args.mode.is_some() || args.limit_s.is_some() || args.beside.is_some() {
        let what = "a portfolio trades: --mode, --for and --beside apply to the file of one venue";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let file = PortfolioFile::load(&args.service.config)?;
    let daemons = file.daemons()?;
    // One process has one log: that of the first venue's file.
    if let Some(first) = daemons.first() {
        telemetry::log::start(first.log);
    }
    let names: Vec<_> = file
        .venues
        .iter()
        .map(|venue| venue.names.venue.clone())
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let until = args.service.until_stdin_closes;
    let configs = daemons.clone();
    let mut ends = runtime.block_on(portfolio::run(file, daemons, until));
    runtime.shutdown_background();
    let mut worst = Exit::Done;
    let mut all = Map::new();
    for (name, config) in names.into_iter().zip(&configs) {
        let Some(at) = ends.iter().position(|end| end.name == name) else {
            continue;
        };
        let MemberEnd { run: ended, .. } = ends.swap_remove(at);
        if !json {
            print_text(&format!("\n== {name}\n"))?;
        }
        let _named = portfolio::span(&name).entered();
        let Reported { shape, exit } =
            match ended.and_then(|ended| run::report(config, ended, json)) {
                Ok(reported) => reported,
                Err(error) => {
                    exit::print_all_errors(&error);
                    Reported {
                        shape: Some(exit::as_json(&error)),
                        exit: exit::of(&error),
                    }
                }
            };
        all.extend(shape.map(|shape| (name, shape)));
        worst = worst.max(exit);
    }
    if json {
        print_json(&Value::Object(all))?;
    }
    Ok(worst)
}

/// A command with the file of a portfolio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    path: PathBuf,
    /// Whether it is one that is executed for every venue.
    is_for_each: bool,
    selected: Selected,
}

/// What a command selects of a portfolio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Selected {
    /// `--venue`, or the venue of `--market VENUE:MARKET`.
    venue: Option<String>,
    /// The market's own name.
    market: Option<String>,
}

impl Selected {
    fn of(venue: Option<&String>, market: Option<&String>) -> Result<Self, Failure> {
        let named = market.map(|market| {
            let split = elsewhere::split(market);
            split.map_or((None, market.as_str()), |(venue, own)| (Some(venue), own))
        });
        let (beside, market) = named.unzip();
        let beside = beside.flatten();
        if let (Some(venue), Some(beside)) = (venue, beside)
            && venue != beside
        {
            let what = format!("--venue {venue} and --market {beside}:... name different venues");
            return Err(Failure::new(Exit::Usage, what));
        }
        Ok(Self {
            venue: venue.map(String::as_str).or(beside).map(str::to_owned),
            market: market.map(str::to_owned),
        })
    }

    /// The venues that are meant: the one that is named, or those with the named market, or all.
    fn of_file<'a>(
        &self,
        files: &'a [VenueFile],
        daemons: &[Option<Daemon>],
    ) -> Result<Vec<&'a VenueFile>, Failure> {
        let has_market = |daemon: &Option<Daemon>| {
            let mut markets = daemon.iter().flat_map(|daemon| &daemon.markets);
            self.market
                .as_ref()
                .is_none_or(|name| markets.any(|market| market.name.value == *name))
        };
        let is_meant = |venue: &VenueFile, daemon: &Option<Daemon>| match &self.venue {
            Some(name) => venue.names.venue == *name,
            None => has_market(daemon),
        };
        let venues = files.iter().zip(daemons);
        let meant: Vec<_> = venues
            .filter(|(venue, daemon)| is_meant(venue, daemon))
            .map(|(venue, _)| venue)
            .collect();
        if !meant.is_empty() {
            return Ok(meant);
        }
        let names: Vec<_> = files
            .iter()
            .map(|venue| venue.names.venue.as_str())
            .collect();
        let names = names.join(", ");
        let what = match (&self.venue, &self.market) {
            (Some(venue), _) => format!("no venue is named {venue}; the venues are {names}"),
            (None, market) => format!(
                "no venue has a market {}; the venues are {names}",
                market.as_deref().unwrap_or_default()
            ),
        };
        Err(Failure::new(Exit::Usage, what))
    }
}

/// The portfolio that a command names, if it is one that is executed for every venue, or for the one that is selected.
///
/// # Errors
/// A venue is selected, and the file is not that of a portfolio.
pub fn named(matches: &ArgMatches) -> anyhow::Result<Option<Named>> {
    let Some((command, mut arguments)) = matches.subcommand() else {
        return Ok(None);
    };
    // What a command does not define has no value.
    let config = |arguments: &ArgMatches| {
        let path = arguments.try_get_one::<PathBuf>("config");
        path.ok().flatten().cloned()
    };
    let mut path = config(arguments);
    while path.is_none()
        && let Some((_, inner)) = arguments.subcommand()
    {
        arguments = inner;
        path = config(arguments);
    }
    let text = |id: &str| arguments.try_get_one::<String>(id).ok().flatten();
    let venue = text(VENUE);
    let Some(path) = path.as_ref().filter(|path| is_portfolio(path)) else {
        return match venue.zip(path.as_ref()) {
            Some((venue, path)) => {
                let what = format!(
                    "--venue {venue} selects a venue of a portfolio, and {} is not the file of one",
                    path.display()
                );
                Err(Failure::new(Exit::Usage, what).into())
            }
            None => Ok(None),
        };
    };
    let is_for_each = FOR_EACH.contains(&command);
    let selected = if is_for_each || venue.is_some() {
        Selected::of(venue, text("market"))?
    } else {
        Selected::default()
    };
    let is_meant = is_for_each || selected.venue.is_some();
    Ok(is_meant.then(|| Named {
        path: path.clone(),
        is_for_each,
        selected,
    }))
}

/// Adds `--venue` to a command about a daemon and to its parts, where it has `--config`.
pub fn with_venue(command: clap::Command) -> clap::Command {
    let has = |command: &clap::Command, id: &str| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_id() == id)
    };
    let command = if has(&command, "config") {
        command.arg(
            Arg::new(VENUE)
                .long("venue")
                .value_name("NAME")
                .help("Only this venue, if the file is that of a portfolio"),
        )
    } else {
        command
    };
    command.mut_subcommands(with_venue)
}

impl Named {
    /// The file, and those of its venues.
    pub(super) fn load(&self) -> anyhow::Result<(PortfolioFile, Vec<Daemon>)> {
        let file = PortfolioFile::load(&self.path)?;
        let daemons = file.daemons()?;
        Ok((file, daemons))
    }

    /// The venues that are meant, with as much of their files as is usable. Errors elsewhere are printed: the process for a
    /// venue judges whether it needs those of its own file.
    pub(super) fn venues(&self) -> anyhow::Result<Vec<VenueFile>> {
        let (files, errors) = PortfolioFile::venues(&self.path)?;
        warn_of(errors.as_ref());
        let daemons = files.iter().map(|venue| Located::load(&venue.path));
        let daemons: Vec<_> = daemons
            .map(|located| located.ok().and_then(|located| located.daemon))
            .collect();
        let meant = self.selected.of_file(&files, &daemons)?;
        Ok(meant.into_iter().cloned().collect())
    }
}

/// Executes this command for the venues that are meant.
pub fn execute(named: &Named, command: &cli::Command, json: bool) -> anyhow::Result<Exit> {
    match command {
        cli::Command::Check(args) if !args.pin => portfolio_check::check(named, args, json),
        cli::Command::Doctor(_) => portfolio_check::doctor(named, json),
        cli::Command::Panic(args) if !args.yes => {
            for venue in named.venues()? {
                panic::confirm(&panic::of_account(&venue.path)?.daemon)?;
            }
            by_processes(named, true, json)
        }
        _ => by_processes(named, false, json),
    }
}

/// Executes this command by a process for each venue, with the venue's file in place of the portfolio's. All run at
/// once: a venue that does not answer must not keep the others trading.
fn by_processes(named: &Named, agreed: bool, json: bool) -> anyhow::Result<Exit> {
    let venues = named.venues()?;
    let program = std::env::current_exe().context("finding this program")?;
    let command = |venue: &VenueFile| {
        let mut command = Command::new(&program);
        let market = named.selected.market.as_deref();
        command.args(arguments(std::env::args_os().skip(1), &venue.path, market));
        if agreed {
            command.arg("--yes");
        }
        command
    };
    if let (false, [venue]) = (named.is_for_each, venues.as_slice()) {
        // As with the venue's file: no other venue is meant.
        let status = command(venue).status();
        return Ok(exit_of(venue, status.context("starting this program")?));
    }
    let mut children = Vec::new();
    for venue in &venues {
        let child = command(venue)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        // Those that were started go on: they may be stopping their venues.
        children.push((venue, child.context("starting this program for a venue")));
    }
    let mut worst = Exit::Done;
    let mut all = Map::new();
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let running = children.into_iter().map(|(venue, child)| {
            let end = scope.spawn(move || followed(venue, child?));
            (venue, end)
        });
        // In the order of the file, each as soon as those before it have ended.
        for (venue, end) in running.collect::<Vec<_>>() {
            let output = end.join().map_err(|_| anyhow!("a thread failed"));
            let output = match output.and_then(|output| output) {
                Ok(output) => output,
                Err(error) => {
                    exit::print_all_errors(&error);
                    worst = worst.max(Exit::Bug);
                    continue;
                }
            };
            if json {
                let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
                all.insert(venue.names.venue.clone(), value);
            } else {
                let text = String::from_utf8_lossy(&output.stdout);
                print_text(&format!("== {}\n{text}", venue.names.venue))?;
            }
            worst = worst.max(exit_of(venue, output.status));
        }
        Ok(())
    })?;
    if json {
        print_json(&Value::Object(all))?;
    }
    Ok(worst)
}

/// What the process for a venue prints, with its messages on stderr as they come, after the venue's name.
fn followed(venue: &VenueFile, mut child: Child) -> anyhow::Result<Output> {
    let messages = child.stderr.take();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let lines = messages.map(BufReader::new).into_iter();
            for line in lines.flat_map(|lines| lines.split(b'\n').map_while(Result::ok)) {
                eprintln!("{}: {}", venue.names.venue, String::from_utf8_lossy(&line));
            }
        });
        child.wait_with_output().context("waiting for a venue")
    })
}

/// How the process for a venue ended; one that did not end with 0 is named.
fn exit_of(venue: &VenueFile, status: ExitStatus) -> Exit {
    let code = status.code();
    let mut known = Exit::ALL.into_iter();
    let exit = known.find(|exit| code == Some(exit.code().into()));
    if code != Some(0) {
        let ended = code.map_or("was ended by a signal".to_owned(), |code| {
            format!("exit code {code}")
        });
        eprintln!("venue {}: {ended}", venue.names.venue);
    }
    // A signal ended it.
    exit.unwrap_or(Exit::Bug)
}

/// The same arguments with another configuration, without a selected venue, and with the market's own name.
fn arguments(
    given: impl Iterator<Item = std::ffi::OsString>,
    config: &Path,
    market: Option<&str>,
) -> Vec<std::ffi::OsString> {
    let mut arguments = Vec::new();
    let mut given = given;
    while let Some(argument) = given.next() {
        let bytes = argument.as_encoded_bytes();
        let is = |name: &str| bytes == name.as_bytes();
        let begins = |name: &str| bytes.starts_with(name.as_bytes());
        if is("--config") || is("--venue") {
            given.next();
        } else if let Some(market) = market
            && is("--market")
        {
            given.next();
            arguments.extend(["--market".into(), market.into()]);
        } else if let Some(market) = market
            && begins("--market=")
        {
            arguments.push(format!("--market={market}").into());
        } else if !begins("--config=") && !begins("--venue=") {
            arguments.push(argument);
        }
    }
    arguments.push("--config".into());
    arguments.push(config.into());
    arguments
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn configuration_and_selection_are_replaced() {
        let given = |texts: &[&str], market| {
            let texts = texts.iter().map(std::ffi::OsString::from);
            let texts: Vec<_> = texts.collect();
            let changed = arguments(texts.into_iter(), Path::new("/v.toml"), market);
            changed.join(std::ffi::OsStr::new(" "))
        };
        let changed = given(&["status", "--config", "p.toml", "--json"], None);
        assert_eq!(changed, "status --json --config /v.toml");
        let changed = given(&["drain", "--config=p.toml", "--venue=a"], None);
        assert_eq!(changed, "drain --config /v.toml");
        assert_eq!(given(&["status"], None), "status --config /v.toml");
        let line = [
            "pause", "--venue", "a", "--market", "a:X-Y", "--reason", "r",
        ];
        let changed = given(&line, Some("X-Y"));
        assert_eq!(changed, "pause --market X-Y --reason r --config /v.toml");
        let changed = given(&["pause", "--market=a:X-Y"], Some("X-Y"));
        assert_eq!(changed, "pause --market=X-Y --config /v.toml");
    }

    #[test]
    fn a_venue_is_selected_by_its_name_or_by_that_of_a_market() {
        let own = |text: &str| text.to_owned();
        let of = |venue: Option<&str>, market: Option<&str>| {
            let [venue, market] = [venue, market].map(|text| text.map(own));
            Selected::of(venue.as_ref(), market.as_ref())
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/portfolio.toml");
        let file = PortfolioFile::load(Path::new(path)).unwrap();
        let daemons: Vec<_> = file.daemons().unwrap().into_iter().map(Some).collect();
        let meant = |selected: Selected| -> Result<Vec<String>, String> {
            let venues = selected.of_file(&file.venues, &daemons);
            let venues = venues.map_err(|error| error.to_string())?;
            Ok(venues
                .iter()
                .map(|venue| venue.names.venue.clone())
                .collect())
        };
        let all = Ok(vec![own("kraken"), own("mainnet")]);
        assert_eq!(meant(of(None, None).unwrap()), all);
        let one = Ok(vec![own("mainnet")]);
        assert_eq!(meant(of(Some("mainnet"), None).unwrap()), one);
        assert_eq!(meant(of(None, Some("WETH-USDC")).unwrap()), one);
        let selected = of(None, Some("mainnet:WETH-USDC")).unwrap();
        assert_eq!(selected.market.as_deref(), Some("WETH-USDC"));
        assert_eq!(meant(selected), one);
        assert!(of(Some("mainnet"), Some("mainnet:WETH-USDC")).is_ok());
        let two = of(Some("kraken"), Some("mainnet:WETH-USDC")).unwrap_err();
        assert!(two.to_string().contains("different venues"), "{two}");
        let none = meant(of(Some("base"), None).unwrap()).unwrap_err();
        assert!(none.contains("the venues are kraken, mainnet"), "{none}");
        let none = meant(of(None, Some("A-B")).unwrap()).unwrap_err();
        assert!(none.contains("no venue has a market A-B"), "{none}");
    }
}
