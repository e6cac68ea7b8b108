//! Commands to a running daemon: status, pause, kill, drain, reload. The daemon is found by the state folder in its
//! configuration.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::{json_text, print_json, print_text};
use crate::exit::{Exit, Failure};
use cambist_core::event::TradingState;
use cambist_daemon::config::{ConfigError, Daemon, Located, Mode, feasible};
use cambist_daemon::live::control_client;
use cambist_daemon::live::control_client::AskError;
use cambist_daemon::live::control_requests::{RequestJson, ScopeJson};
use cambist_daemon::live::latch::Latch;
use cambist_daemon::live::reload;
use cambist_daemon::telemetry;
use cambist_daemon::telemetry::parameters;
use cambist_host::times;
use cambist_store::{StoreError, view};

/// Identifies the daemon.
#[derive(Debug, Args)]
pub struct Which {
    /// Configuration file of the daemon
    #[arg(long, value_name = "FILE")]
    pub config: std::path::PathBuf,
}

/// A part of the quoting; absent fields mean all.
#[derive(Clone, Debug, Args)]
pub struct PartArgs {
    /// Only this market
    #[arg(long, value_name = "NAME")]
    pub market: Option<String>,
    /// Only this side: buy or sell
    #[arg(long, value_name = "SIDE", value_parser = ["buy", "sell"])]
    pub side: Option<String>,
    /// Only this strategy
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<String>,
}

impl PartArgs {
    /// The scope in its JSON form.
    pub(super) fn part(&self) -> ScopeJson {
        ScopeJson {
            market: self.market.clone(),
            side: self.side.clone(),
            strategy: self.strategy.clone(),
        }
    }
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
pub struct PauseArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    part: PartArgs,
    /// Reason; stored in the store
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Arguments of `kill`.
#[derive(Debug, Args)]
pub struct KillArgs {
    #[command(flatten)]
    which: Which,
    /// Cancel everything and place no orders, but keep the daemon running
    #[arg(long)]
    cancel_only: bool,
    /// Reason; stored in the store
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Arguments of `drain`.
#[derive(Debug, Args)]
pub struct DrainArgs {
    #[command(flatten)]
    which: Which,
    /// Cancel nothing: resting orders expire on their own
    #[arg(long)]
    leave: bool,
    /// Wait for the end: exit 0 if it is proven that nothing rests, or with --leave
    #[arg(long)]
    wait: bool,
}

/// Arguments of `reload`.
#[derive(Debug, Args)]
pub struct ReloadArgs {
    #[command(flatten)]
    which: Which,
    /// Allow looser limits
    #[arg(long)]
    allow_loosening: bool,
}

/// Where the daemon of a file is. Errors in parts of the file that this does not need are printed as a warning: they must
/// not keep an operator from a daemon that runs.
pub(super) fn located(config: &Path) -> anyhow::Result<Located> {
    let located = Located::load(config).map_err(|errors| {
        let what = format!(
            "{} does not state where the daemon's state folder is (store.dir), so that nothing was done. Without the file: SIGUSR1 to the daemon cancels everything and submits nothing new, SIGTERM drains it, and a file named latch in its state folder halts it",
            config.display()
        );
        anyhow::Error::new(errors).context(what)
    })?;
    warn_of(located.errors.as_ref());
    Ok(located)
}

/// Prints the errors of a file in parts that a command does not need.
pub(super) fn warn_of(errors: Option<&ConfigError>) {
    if let Some(errors) = errors {
        crate::exit::print_warning(&format!(
            "the file has errors that this command does not need:\n{errors}"
        ));
    }
}

/// Prints the state: exit 0 if a daemon answers, 1 if none runs, it does not answer, or its part in a portfolio has ended,
/// with the state folder's content.
pub fn status(which: &Which, json: bool) -> anyhow::Result<Exit> {
    let daemon = located(&which.config)?;
    let (exit, page) = status_page(&daemon)?;
    if json {
        print_json(&page)?;
    } else {
        print_text(&json_text::status(page))?;
    }
    Ok(exit)
}

/// What `status` shows, and whether a daemon answered.
pub fn status_page(daemon: &Located) -> anyhow::Result<(Exit, Value)> {
    let dir = &daemon.dir;
    let (exit, mut page) = match control_client::ask(dir, &RequestJson::Status) {
        // The process goes on for other venues of a portfolio.
        Ok(Some(page)) if page["state"] == "ended" => (Exit::CheckFailed, ended(daemon, page)),
        Ok(Some(page)) => (Exit::Done, page),
        Ok(None) if !daemon.mode.trades() => {
            let mode = daemon.mode.name();
            let page = json!({"state": "stopped", "mode": mode, "sends_orders": false});
            (Exit::CheckFailed, page)
        }
        Ok(None) => (Exit::CheckFailed, stopped(daemon)?),
        Err(error @ AskError::Silent { .. }) => (Exit::CheckFailed, silent(daemon, &error)),
        Err(error) => return Err(error.into()),
    };
    page["latch"] = json!(Latch::of(dir).raised());
    Ok((exit, page))
}

/// The end of a venue's part in a portfolio, with the content of its state folder.
fn ended(daemon: &Located, mut end: Value) -> Value {
    let mut page = stopped(daemon).unwrap_or_else(|_| json!({}));
    if let (Some(page), Some(end)) = (page.as_object_mut(), end.as_object_mut()) {
        page.append(end);
    }
    page
}

/// The state of a daemon that does not answer.
fn silent(daemon: &Located, error: &AskError) -> Value {
    let config = daemon.source.path.display();
    let mut page = stopped(daemon).unwrap_or_else(|_| json!({}));
    page["state"] = json!("silent");
    page["error"] = json!(error.to_string());
    page["advice"] = json!(format!(
        "cambist kill --config {config} --reason TEXT sets the latch; cambist panic --config {config} cancels all orders without the daemon and proves it"
    ));
    page
}

/// Pauses a part.
pub fn pause(args: &PauseArgs, json: bool) -> anyhow::Result<Exit> {
    let part = args.part.part();
    let reason = args.reason.trim().to_owned();
    if reason.is_empty() {
        let what = "--reason must say why this part is paused";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    send_request(&args.which, &RequestJson::Pause { part, reason }, json)
}

/// Stops trading: sets the latch first, then sends the command to the daemon. With `--cancel-only` changes only the
/// trading state of a running daemon.
pub fn kill(args: &KillArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = located(&args.which.config)?;
    let dir = &daemon.dir;
    let request = RequestJson::Kill {
        cancel_only: args.cancel_only,
        reason: args.reason.clone(),
    };
    if args.cancel_only {
        let answer = control_client::ask(dir, &request)?.ok_or_else(|| no_daemon(dir))?;
        return shown(&answer, json);
    }
    refuse_without_trading((daemon.mode, dir), "kill")?;
    let latch = Latch::of(dir);
    let raised = latch
        .raise(&args.reason)
        .with_context(|| format!("the latch {} was not set", latch.file().display()));
    let mut answer = match (control_client::ask(dir, &request), &raised) {
        (Ok(Some(answer)), _) if answer["done"] == true => answer,
        // It has seen the latch and is ending, or has ended.
        (Ok(Some(answer)), Ok(())) if answer["ending"] == true => {
            let detail =
                "the daemon is ending; the latch is set, so none starts until 'cambist resume'";
            json!({"done": true, "detail": detail, "durable": true})
        }
        (Ok(Some(answer)), _) => answer,
        (Ok(None) | Err(AskError::Gone), Ok(())) => {
            let detail = "no daemon runs; the latch is set, so none starts until 'cambist resume'";
            json!({"done": true, "detail": detail, "durable": true})
        }
        (Ok(None), Err(_)) => return raised.map(|()| Exit::Done),
        (Err(error), _) => return Err(unheard(&daemon, error, raised.is_ok())),
    };
    answer["latch"] = json!(raised.is_ok());
    if raised.is_ok() && answer["done"] == true && answer["durable"].is_null() {
        // The daemon stored nothing, because it had seen the latch before. The latch is on disk.
        answer["durable"] = json!(true);
    }
    let exit = shown(&answer, json)?;
    match raised {
        Ok(()) => Ok(exit),
        // The command is in the daemon's store; the next start finds it there.
        Err(error) => {
            crate::exit::print_error(&format!("{error:#}"));
            Ok(Exit::CheckFailed)
        }
    }
}

/// Refuses a command in the folder of a run that trades nothing: a store there would make it that of a daemon that trades.
/// A folder with a store is such a daemon's, whatever mode the file states now.
pub(super) fn refuse_without_trading(
    (mode, dir): (Mode, &Path),
    command: &str,
) -> anyhow::Result<()> {
    if mode.trades() || dir.join(cambist_store::FILE).exists() {
        return Ok(());
    }
    let what = format!(
        "a run with mode = \"{}\" trades nothing, so that there is nothing to {command}; a run ends with SIGTERM or Ctrl-C",
        mode.name()
    );
    Err(Failure::new(Exit::Refused, what).into())
}

/// The error of a kill without an answer: what is certain, and what to do.
fn unheard(daemon: &Located, error: AskError, latched: bool) -> anyhow::Error {
    let latch = if latched {
        "the latch is set: the daemon ends with exit code 78 as soon as it continues, and none starts"
    } else {
        "the latch could not be set either"
    };
    let config = daemon.source.path.display();
    let what = format!(
        "{error}; {latch}. Resting orders may fill until they expire: cambist panic --config {config} cancels them without the daemon and proves it"
    );
    match error {
        AskError::Folder(error) => anyhow::Error::new(error).context(what),
        AskError::Silent { .. } | AskError::Gone | AskError::Io(_) => {
            Failure::new(Exit::CheckFailed, what).into()
        }
    }
}

/// Cancels everything, proves it, ends; or ends and leaves resting orders.
pub fn drain(args: &DrainArgs, json: bool) -> anyhow::Result<Exit> {
    let wait = args.wait;
    let request = if args.leave {
        RequestJson::Leave { wait }
    } else {
        RequestJson::Drain { wait }
    };
    if !wait {
        return send_request(&args.which, &request, json);
    }
    let daemon = located(&args.which.config)?;
    let dir = &daemon.dir;
    let mut last = String::new();
    let answer = control_client::ask_and_wait(dir, &request, |shown| {
        let line = match shown {
            Ok(page) => draining(page),
            Err(error) => Some(error.to_string()),
        };
        // What is not reported any more is no step back: the daemon ends.
        let unreported = || {
            let nothing = "draining: the daemon has not yet reported which orders may be alive";
            last.is_empty().then(|| nothing.to_owned())
        };
        if let Some(line) = line.or_else(unreported)
            && line != last
        {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            last = line;
        }
    })?;
    shown(&answer.ok_or_else(|| no_daemon(dir))?, json)
}

/// A line about a drain in progress. A status from before it counts the orders of that moment, at a start none.
fn draining(page: &Value) -> Option<String> {
    if let Some(text) = page["drain"]["text"].as_str() {
        return Some(text.to_owned());
    }
    let markets = page["markets"].as_array();
    let markets = markets.filter(|_| page["draining"] == true)?;
    let keys = [
        "live_buy",
        "live_sell",
        "in_flight",
        "unknown",
        "cancelling",
    ];
    let of = |market: &Value| {
        keys.map(|key| market[key].as_u64().unwrap_or(0))
            .iter()
            .sum::<u64>()
    };
    let orders: u64 = markets.iter().map(of).sum();
    Some(match orders {
        0 => "draining: no order may be alive; a complete list has to prove it, and balances read after that are compared with the books".to_owned(),
        _ => format!("draining: {orders} orders may be alive"),
    })
}

/// Reloads the configuration. The file identifies the daemon, and must be the one that it runs with.
pub fn reload(args: &ReloadArgs, json: bool) -> anyhow::Result<Exit> {
    let named = &args.which.config;
    let request = RequestJson::Reload {
        // If the file does not exist, reading it reports its name.
        file: named.canonicalize().unwrap_or_else(|_| named.clone()),
        allow_loosening: args.allow_loosening,
    };
    let daemon = Daemon::load_unpinned(named).map_err(|error| {
        // A reload of an invalid file is refused, and the daemon cannot be identified.
        let what = "nothing was reloaded; the daemon keeps its configuration";
        anyhow::Error::new(error).context(what)
    })?;
    let dir = &daemon.store.dir;
    let answer = ask_daemon(dir, &request)?.ok_or_else(|| no_daemon(dir))?;
    shown(&with_warnings(answer, &daemon), json)
}

/// An answer to new parameters or limits, with what they keep from ever being quoted. It is tried here and not in the
/// daemon, whose event loop does not wait for it.
pub(super) fn with_warnings(mut answer: Value, file: &Daemon) -> Value {
    if answer["done"] != true {
        return answer;
    }
    let Ok(set) = cambist_store::parameters::set(&file.store.dir) else {
        return answer;
    };
    let daemon = file.with_set(&set);
    // The daemon has accepted what is in force; without decimals in the file there is nothing to try.
    let Some(Ok(bound)) = daemon.bind_expected() else {
        return answer;
    };
    let never = feasible::never_quoted(&daemon, &bound);
    if !never.is_empty() {
        answer["warnings"] = never.into_iter().map(|problem| problem.what).collect();
    }
    answer
}

/// Sends a command to a running daemon and prints the answer: exit 1 if it is refused.
pub fn send_request(which: &Which, request: &RequestJson, json: bool) -> anyhow::Result<Exit> {
    let daemon = located(&which.config)?;
    let dir = &daemon.dir;
    let answer = ask_daemon(dir, request)?.ok_or_else(|| no_daemon(dir))?;
    shown(&answer, json)
}

/// Sends a request to a running daemon; `None` if none runs.
pub(super) fn ask_daemon(dir: &Path, request: &RequestJson) -> anyhow::Result<Option<Value>> {
    Ok(control_client::ask(dir, request)?)
}

pub(super) fn no_daemon(dir: &Path) -> anyhow::Error {
    let what = format!("no daemon runs on the state folder {}", dir.display());
    Failure::new(Exit::CheckFailed, what).into()
}

/// Prints an answer: exit 1 if it is a refusal.
pub(super) fn shown(answer: &Value, json: bool) -> anyhow::Result<Exit> {
    if json {
        print_json(answer)?;
    }
    if answer["done"] == true {
        if !json {
            let stored = match answer["durable"].as_bool() {
                Some(true) => " (stored)",
                Some(false) => " (IN FORCE, BUT NOT STORED: the store could not be written)",
                None => "",
            };
            let detail = answer["detail"].as_str().unwrap_or_default();
            print_text(&format!("{detail}{stored}\n"))?;
        }
        let warnings = answer["warnings"].as_array();
        for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
            crate::exit::print_warning(&warning);
        }
        // It applies until the daemon ends, and not after: the exit code must say so.
        let lost = answer["durable"] == false;
        return Ok(if lost { Exit::CheckFailed } else { Exit::Done });
    }
    let why = answer["error"].as_str().unwrap_or("no reason was given");
    // A drain that was waited for has an exit code of its own.
    let Some(exit) = answer["exit"].as_u64() else {
        crate::exit::print_error(&format!("the daemon refused: {why}"));
        return Ok(Exit::CheckFailed);
    };
    crate::exit::print_error(&why);
    let known = Exit::ALL
        .into_iter()
        .find(|known| u64::from(known.code()) == exit);
    Ok(known.unwrap_or(Exit::CheckFailed))
}

/// The content of a stopped daemon's state folder.
fn stopped(daemon: &Located) -> anyhow::Result<Value> {
    let (dir, config) = (&daemon.dir, &daemon.source.path);
    let mut page = json!({"state": "stopped"});
    match view::without_end(dir) {
        Ok(open) => {
            page["not_proven_gone"] = json!(open.len());
            if let Some(proven_s) = Latch::of(dir).proof() {
                let proven = times::iso(proven_s);
                let text = format!(
                    "panic proved at {proven} that none of them is alive; the store does not have the ends of {} orders yet: the next start reads them from the exchange",
                    open.len()
                );
                page["not_proven_gone"] = json!(0);
                page["panic"] = json!({
                    "proven_at": proven,
                    "proven_at_s": proven_s,
                    "without_end": open.len(),
                    "text": text,
                });
            }
            // None if one of them has no end of its own.
            let ends = open.iter().map(|one| {
                let rests_until_s = one.rests_until_s?;
                Some(rests_until_s.max(one.accepted_until_s))
            });
            let ends: Option<Vec<u32>> = ends.collect();
            let last_s = ends.and_then(|ends| ends.into_iter().max());
            page["last_expiry"] = json!(last_s.map(|last_s| times::iso(last_s.into())));
            page["last_expiry_s"] = json!(last_s);
            let (level, cause) = view::level(dir)?;
            page["level"] = json!(level.name());
            page["level_cause"] = json!((level > TradingState::Active).then_some(cause));
            let set = cambist_store::parameters::set(dir)?;
            if let Some(file) = &daemon.daemon {
                page["parameters"] = parameters::page(&reload::differences(file, &set));
            }
            if let Some((books, listing)) = view::books(dir)? {
                page["books"] = telemetry::stopped_books(&books, listing, config);
            }
        }
        Err(StoreError::Database { .. }) if !dir.join(cambist_store::FILE).exists() => {
            page["state"] = json!("never started");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_restriction_that_could_not_be_stored_is_not_done() {
        let exit = |durable: Value| {
            let answer = json!({"done": true, "detail": "paused", "durable": durable});
            shown(&answer, false).unwrap()
        };
        assert_eq!(exit(json!(true)), Exit::Done);
        assert_eq!(exit(Value::Null), Exit::Done);
        assert_eq!(exit(json!(false)), Exit::CheckFailed);
    }
}
