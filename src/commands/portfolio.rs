//! Commands with the file of a portfolio: `run` runs all of its venues in one process, the others do the same for the
//! file of each venue.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde_json::{Map, Value};

use super::run::Reported;
use super::{print_json, print_text, run};
use crate::cli::RunArgs;
use crate::exit::{self, Exit, Failure};
use cambist_daemon::portfolio::{self, MemberEnd, PortfolioFile, is_portfolio};
use cambist_daemon::telemetry;

/// Commands that are executed for every venue of a portfolio.
const FOR_EACH: [&str; 10] = [
    "check", "doctor", "drain", "kill", "panic", "pause", "reload", "report", "resume", "status",
];

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
    let names: Vec<_> = file.venues.iter().map(|venue| venue.name.clone()).collect();
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

/// The portfolio that a command names, if it is one that is executed for every venue.
pub fn named<'a>(command: &str, config: Option<&'a PathBuf>) -> Option<&'a Path> {
    let path = config.filter(|_| FOR_EACH.contains(&command))?;
    is_portfolio(path).then_some(path.as_path())
}

/// Executes this command for every venue: each by a process of its own, with the venue's file in place of the
/// portfolio's.
pub fn for_each(path: &Path, json: bool) -> anyhow::Result<Exit> {
    let file = PortfolioFile::load(path)?;
    file.daemons()?;
    let program = std::env::current_exe().context("finding this program")?;
    let mut worst = Exit::Done;
    let mut all = Map::new();
    for venue in &file.venues {
        let mut command = Command::new(&program);
        command.args(arguments(std::env::args_os().skip(1), &venue.path));
        if !json {
            print_text(&format!("== {}\n", venue.name))?;
        }
        let out = if json {
            Stdio::piped()
        } else {
            Stdio::inherit()
        };
        let output = command.stdout(out).stderr(Stdio::inherit()).output();
        let output = output.context("starting this program for a venue")?;
        if json {
            let value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
            all.insert(venue.name.clone(), value);
        }
        let code = output.status.code();
        let mut known = Exit::ALL.into_iter();
        let exit = known.find(|exit| code == Some(exit.code().into()));
        if code != Some(0) {
            let ended = code.map_or("was ended by a signal".to_owned(), |code| {
                format!("exit code {code}")
            });
            eprintln!("venue {}: {ended}", venue.name);
        }
        // A signal ended it.
        worst = worst.max(exit.unwrap_or(Exit::Bug));
    }
    if json {
        print_json(&Value::Object(all))?;
    }
    Ok(worst)
}

/// The same arguments with another configuration.
fn arguments(
    given: impl Iterator<Item = std::ffi::OsString>,
    config: &Path,
) -> Vec<std::ffi::OsString> {
    let mut arguments = Vec::new();
    let mut given = given;
    while let Some(argument) = given.next() {
        if argument == "--config" {
            given.next();
        } else if !argument.as_encoded_bytes().starts_with(b"--config=") {
            arguments.push(argument);
        }
    }
    arguments.push("--config".into());
    arguments.push(config.into());
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_configuration_is_replaced() {
        let given = |texts: &[&str]| {
            let texts = texts.iter().map(std::ffi::OsString::from);
            let changed = arguments(texts.collect::<Vec<_>>().into_iter(), Path::new("/v.toml"));
            changed.join(std::ffi::OsStr::new(" "))
        };
        let changed = given(&["status", "--config", "p.toml", "--json"]);
        assert_eq!(changed, "status --json --config /v.toml");
        assert_eq!(
            given(&["drain", "--config=p.toml"]),
            "drain --config /v.toml"
        );
        assert_eq!(given(&["status"]), "status --config /v.toml");
    }
}
