//! `cambist set`: parameters of strategies of a running daemon; and the file's values again, also for a stopped one.

use cambist_daemon::config::Daemon;
use cambist_daemon::live::control_requests::{RequestJson, ValueJson};
use cambist_host::clock::Clock;
use cambist_store::{SetParameter, Store, parameters};
use clap::Args;
use serde_json::{Value, json};

use super::daemon_control::{Which, ask_daemon, no_daemon, shown, with_warnings};
use crate::exit::{Exit, Failure};

/// Arguments of `set`.
#[derive(Debug, Args)]
pub struct SetArgs {
    #[command(flatten)]
    which: Which,
    /// Market of the strategies; needed if several have them
    #[arg(long, value_name = "NAME")]
    market: Option<String>,
    /// Restore the file's values of the named parameters
    #[arg(long)]
    reset: bool,
    /// Allow values that bear more risk
    #[arg(long)]
    allow_loosening: bool,
    /// Reason; stored in the store
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// STRATEGY.PARAMETER=VALUE; with --reset without a value
    #[arg(required = true, value_name = "STRATEGY.PARAMETER=VALUE")]
    values: Vec<String>,
}

/// Sets parameters, or restores the file's.
pub fn run(args: &SetArgs, json: bool) -> anyhow::Result<Exit> {
    let values = args.values.iter().map(|text| parse(text, args));
    let values: Vec<_> = values.collect::<Result<_, _>>()?;
    let daemon = Daemon::load_unpinned(&args.which.config)?;
    let request = RequestJson::Set {
        values: values.clone(),
        reason: args.reason.clone(),
        allow_loosening: args.allow_loosening,
    };
    match ask_daemon(&daemon.store.dir, &request)? {
        Some(answer) => shown(&with_warnings(answer, &daemon), json),
        None if args.reset => shown(&reset_stopped(&daemon, args, &values)?, json),
        None => Err(no_daemon(&daemon.store.dir)
            .context("without a daemon, change the parameters in the file")),
    }
}

fn parse(text: &str, args: &SetArgs) -> Result<ValueJson, Failure> {
    let wrong = |what: &str| Failure::new(Exit::Usage, format!("{text:?}: {what}"));
    let (name, value) = match (text.split_once('='), args.reset) {
        (Some((name, value)), false) => (name, Some(value.trim().to_owned())),
        (None, true) => (text, None),
        (None, false) => {
            return Err(wrong(
                "write STRATEGY.PARAMETER=VALUE, such as ladder.bid_spread_bps=25",
            ));
        }
        (Some(_), true) => return Err(wrong("--reset takes names without values")),
    };
    if value.as_deref() == Some("") {
        return Err(wrong(
            "the value is missing; --reset restores the file's value",
        ));
    }
    let (strategy, path) = name
        .trim()
        .split_once('.')
        .ok_or_else(|| wrong("the name begins with the strategy, such as ladder.bid_spread_bps"))?;
    Ok(ValueJson {
        market: args.market.clone(),
        strategy: strategy.to_owned(),
        path: path.to_owned(),
        value,
    })
}

/// Restores the file's values for the next start of a daemon that does not run.
fn reset_stopped(daemon: &Daemon, args: &SetArgs, values: &[ValueJson]) -> anyhow::Result<Value> {
    let dir = &daemon.store.dir;
    if !dir.join(cambist_store::FILE).exists() {
        return Err(no_daemon(dir));
    }
    let mut store = Store::open(dir)?;
    let set = parameters::set(dir)?;
    let clock = Clock::new();
    let mut rows = Vec::new();
    for value in values {
        let is_named = |one: &&SetParameter| {
            let market = value.market.as_ref();
            market.is_none_or(|market| *market == one.market)
                && (&one.strategy, &one.key) == (&value.strategy, &value.path)
        };
        let named: Vec<_> = set.iter().filter(is_named).collect();
        let name = format!("{}.{}", value.strategy, value.path);
        let one = match named[..] {
            [one] => one,
            [] => {
                let what = format!("{name} was not set: the file's value applies already");
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
            [..] => {
                let what = format!("{name} was set at several markets; add --market");
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
        };
        rows.push(SetParameter {
            value: None,
            operator: "the command line, without a daemon".to_owned(),
            reason: args.reason.clone(),
            at_us: clock.unix_micros(),
            ..one.clone()
        });
    }
    store.set_parameters(&rows)?;
    let detail = "no daemon runs; the next start uses the file's values";
    Ok(json!({"done": true, "detail": detail, "durable": true}))
}
