//! `cambist check`: validates a configuration and shows its risk in money and its load in requests.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use cambist_host::folder::{FolderError, PrivateFolder};
use serde::Serialize;
use serde_json::{Value, json};

use super::check_gas::Gas;
use super::check_limits::{self, InForce};
use super::check_online::{self, Online};
use super::check_pin;
use super::signer_limits::compare;
use super::{check_exchange, columns, print_json, print_text};
use crate::backtest::prepare::{bound_if_stated, bound_without_venue};
use crate::backtest::simulated;
use crate::cli::CheckArgs;
use crate::commands::stated_loss::{Losses, losses};
use crate::exit::{self, Exit, Failure};
use crate::paper;
use cambist_config::{ConfigError, Kind};
use cambist_daemon::config::exposure;
use cambist_daemon::config::exposure::{Load, Risk, WORST_CASE};
use cambist_daemon::config::venue::VenueKind;
use cambist_daemon::config::{Daemon, Mode, process};
use cambist_daemon::portfolio::Observed;
use cambist_daemon::venues::Access;
use cambist_daemon::venues::exchange::access::AccountAccess;
use cambist_exchange::config::Exchange;
use cambist_host::secrets::{self, SecretError};
use cambist_store::StoreError;

#[derive(Serialize)]
struct Meaning {
    ok: bool,
    file: String,
    dead_after_s: u64,
    worst_case_formula: &'static str,
    markets: Vec<Risk>,
    load: Load,
    /// Possible losses; needs the decimals in the file.
    losses: Option<Losses>,
    /// What gas may cost on a chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    gas: Option<Gas>,
    /// All limits; needs the decimals in the file.
    limits: Vec<InForce>,
    /// Allowed settings that are probably mistakes; needs the decimals in the file.
    warnings: Vec<String>,
    /// Whether amounts and strategies were checked exactly; needs the decimals in the file.
    exact: bool,
    secrets_checked: bool,
    /// The socket of the process that holds the signing key.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    /// Result of the queries at the venue.
    #[serde(skip_serializing_if = "Option::is_none")]
    online: Option<Online>,
}

/// Checks a file; exit 77 with all errors if it is invalid.
pub fn run(args: &CheckArgs, json: bool) -> anyhow::Result<Exit> {
    if args.pin {
        return check_pin::run(&Daemon::load_unpinned(&args.config)?, json);
    }
    match check(args) {
        Ok(Checked::Daemon(meaning)) => {
            if json {
                print_json(&meaning)?;
            }
            shown(args, *meaning, json).map(|(exit, _)| exit)
        }
        Ok(Checked::Exchange(exchange)) => {
            let file = args.config.display().to_string();
            if json {
                print_json(&check_exchange::shown(&file, &exchange))?;
            } else {
                print_text(&check_exchange::text(&file, &exchange))?;
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            if json {
                print_json(&refusal(args, &error))?;
            }
            Err(error)
        }
    }
}

/// Prints the meaning of a file, unless it was printed as JSON: the exit code, and what the account holds if the venue was
/// asked.
fn shown(
    args: &CheckArgs,
    meaning: Meaning,
    json: bool,
) -> anyhow::Result<(Exit, Option<Observed>)> {
    if !json {
        print_text(&table(&meaning))?;
        if args.limits {
            print_text(&check_limits::text(&meaning.limits))?;
        }
    }
    let quotes = meaning.online.as_ref().is_none_or(|online| online.ok);
    let exit = if quotes {
        Exit::Done
    } else {
        Exit::CheckFailed
    };
    Ok((exit, meaning.online.map(|online| online.observed)))
}

/// As [`run`], for a venue of a portfolio: the exit code, the JSON, and what the account holds if the venue was asked.
pub(super) fn of_venue(
    args: &CheckArgs,
    json: bool,
) -> anyhow::Result<(Exit, Value, Option<Observed>)> {
    match check(args) {
        Ok(Checked::Daemon(meaning)) => {
            let shape = serde_json::to_value(&meaning)?;
            let (exit, observed) = shown(args, *meaning, json)?;
            Ok((exit, shape, observed))
        }
        // The portfolio was read, so that it is the file of a daemon.
        Ok(Checked::Exchange(_)) => Ok((Exit::Refused, Value::Null, None)),
        Err(error) => {
            exit::print_all_errors(&error);
            Ok((exit::of(&error), refusal(args, &error), None))
        }
    }
}

enum Checked {
    Daemon(Box<Meaning>),
    Exchange(Box<Exchange>),
}

fn check(args: &CheckArgs) -> anyhow::Result<Checked> {
    let source = cambist_config::reader::Source::read(&args.config)?;
    if source.kind() == Some(Kind::Exchange) {
        let exchange = Exchange::load(&args.config)?;
        return Ok(Checked::Exchange(Box::new(exchange)));
    }
    let daemon = match Daemon::parse(&source) {
        Ok(daemon) => daemon,
        Err(error) => {
            Daemon::refuse_for_data(&source)?;
            return Err(error.into());
        }
    };
    let bound = if daemon.mode.trades() {
        bound_if_stated(&daemon)?
    } else {
        Some(bound_without_venue(&daemon)?)
    };
    let load = if let Some(bound) = &bound {
        if daemon.mode.simulates() {
            simulated::check(&daemon)?;
        }
        if daemon.mode == Mode::Paper {
            paper::balances(&daemon, bound)?;
        }
        bound.load
    } else {
        let load = exposure::load(&daemon, None);
        let problems = exposure::overload(&daemon, &load);
        if !problems.is_empty() {
            return Err(daemon.source.invalid(problems).into());
        }
        load
    };
    // A mode that does not trade has no secrets.
    let with_secrets = !args.no_secrets && daemon.mode.trades();
    if with_secrets {
        match daemon.venue.kind() {
            VenueKind::Exchange => {
                let secrets = secrets::load(&daemon.keys).map_err(absent)?;
                let access = AccountAccess::with(&daemon, &secrets, daemon.request_timeout_ms)?;
                access.check_signer(&daemon)?;
            }
            VenueKind::Kraken | VenueKind::EvmPools => Access::check_keys(&daemon)?,
        }
        state_folder(&daemon.store.dir)?;
    }
    let mut warnings = bound.as_ref().map(|bound| bound.warnings.clone());
    let signer = with_secrets.then(|| compare(&daemon, bound.as_ref()));
    let signer = signer.flatten();
    if let Some(compared) = &signer {
        let refuses = |what: &String| format!("the signer would refuse orders: {what}");
        let found = match &compared.problems {
            Ok(problems) => problems.iter().map(refuses).collect(),
            Err(what) => vec![what.clone()],
        };
        warnings.get_or_insert_default().extend(found);
    }
    let of_processes = process::warnings(&daemon);
    if !of_processes.is_empty() {
        warnings.get_or_insert_default().extend(of_processes);
    }
    let online = args
        .online
        .then(|| check_online::ask(&daemon))
        .transpose()?;
    Ok(Checked::Daemon(Box::new(Meaning {
        ok: true,
        file: args.config.display().to_string(),
        dead_after_s: daemon.dead_after_s(),
        worst_case_formula: WORST_CASE,
        markets: daemon.markets.iter().map(exposure::risk).collect(),
        load,
        losses: bound.as_ref().map(losses),
        gas: daemon.venue.evm().map(Gas::of),
        limits: bound
            .as_ref()
            .map(check_limits::in_force)
            .unwrap_or_default(),
        exact: bound.is_some(),
        warnings: warnings.unwrap_or_default(),
        signer: signer.map(|compared| compared.socket),
        secrets_checked: with_secrets,
        online,
    })))
}

/// Refuses a state folder that a start would refuse; a missing one is created by the first start.
fn state_folder(dir: &Path) -> Result<(), StoreError> {
    match PrivateFolder::visit(dir) {
        Err(FolderError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
        found => Ok(found.map(|_| ())?),
    }
}

/// The error for missing keys, with a hint where they come from.
fn absent(error: SecretError) -> anyhow::Error {
    if !matches!(error, SecretError::Missing(_)) {
        return error.into();
    }
    let what = format!("{error} (the first start of cambist venue writes it; or use --no-secrets)");
    Failure::new(Exit::Refused, what).into()
}

fn refusal(args: &CheckArgs, error: &anyhow::Error) -> serde_json::Value {
    let problems = match error.downcast_ref::<ConfigError>() {
        Some(ConfigError::Invalid { problems, .. }) => problems
            .iter()
            .map(|problem| {
                json!({"line": problem.at.line, "column": problem.at.column, "what": problem.what})
            })
            .collect(),
        Some(ConfigError::Unreadable { what, .. }) => vec![json!({"what": what})],
        None => vec![json!({"what": error.to_string()})],
    };
    json!({"ok": false, "file": args.config.display().to_string(), "problems": problems})
}

fn table(meaning: &Meaning) -> String {
    let cell = |text: &str| text.to_owned();
    let mut text = format!("{} is right.\n", meaning.file);
    for risk in &meaning.markets {
        let Risk { base, quote, .. } = risk;
        let worst = risk.worst_case.map_or_else(
            || "too large to compute".to_owned(),
            |worst| format!("{worst} {quote}"),
        );
        let _ = writeln!(
            text,
            "\n{} with {}",
            risk.market,
            risk.strategies.join(", ")
        );
        let pool = risk.pool_worst_case.map(|worst| {
            let row = format!("{worst} {quote}: all that may be in the pool");
            vec![cell("  worst in the pool"), row]
        });
        let mut rows = Vec::new();
        if !risk.order_value_max.is_zero() {
            let largest = format!("{} {quote}", risk.order_value_max);
            rows.push(vec![cell("  largest order"), largest]);
        }
        rows.extend([
            vec![
                cell("  inventory"),
                format!("{} to {} {base}", risk.inventory_min, risk.inventory_max),
            ],
            vec![
                cell("  price band"),
                format!("{} to {} {quote}", risk.price_floor, risk.price_ceiling),
            ],
            vec![
                cell("  still fillable"),
                format!(
                    "{} {base} within ttl + grace = {} s",
                    risk.fillable, meaning.dead_after_s
                ),
            ],
            vec![cell("  down to the floor"), worst],
        ]);
        rows.extend(pool);
        text.push_str(&columns(&rows));
    }
    let load = &meaning.load;
    let _ = writeln!(text, "\ndown to the floor = {}", meaning.worst_case_formula);
    if let Some(losses) = &meaning.losses {
        text.push_str(&losses.text());
    }
    if let Some(gas) = &meaning.gas {
        text.push_str(&gas.text());
    }
    text.push_str("\nrequests\n");
    text.push_str(&requests(load));
    for warning in &meaning.warnings {
        let _ = writeln!(text, "\nwarning: {warning}");
    }
    if let Some(online) = &meaning.online {
        text.push_str(&online.text());
    }
    if !meaning.exact {
        text.push_str("\nNOT CHECKED: amounts in the units of the tokens, the sizes of strategies, and the stated loss need the\nvenue's decimals. A start checks them, and so does cambist check --online now. cambist check --pin\nprints base_decimals, quote_decimals and price_decimals of every [[market]], for a check without the venue.\n");
    }
    if let Some(socket) = &meaning.signer {
        let _ = writeln!(text, "\nThe signing key is held by the signer at {socket}.");
    }
    if !meaning.secrets_checked {
        text.push_str("\nThe files with the secrets were not read.\n");
    }
    text
}

/// The load in requests, in rows.
fn requests(load: &Load) -> String {
    let cell = |text: &str| text.to_owned();
    let mut rows = vec![
        vec![
            cell("  polling"),
            format!(
                "{} per second",
                exposure::thousandths(load.polls_milli_per_s)
            ),
        ],
        vec![
            cell("  refreshing"),
            format!(
                "{} per second for {} orders, {} of the order budget",
                exposure::thousandths(load.refresh_milli_per_s),
                load.orders_refreshed,
                exposure::percent(load.refresh_share_bps)
            ),
        ],
        vec![
            cell("  total"),
            format!(
                "{} per second, {} of the budget",
                exposure::thousandths(load.total_milli_per_s),
                exposure::percent(load.budget_share_bps)
            ),
        ],
    ];
    if let Some(trading) = &load.trading {
        rows.push(vec![
            cell("  trading counter"),
            format!(
                "refreshing adds {} per second, {} of the {} that the venue forgets for each market; replacing an order that is just placed adds {} of {}",
                exposure::thousandths(trading.added_milli_per_s),
                exposure::percent(trading.share_bps),
                exposure::thousandths(trading.forgotten_milli_per_s),
                exposure::thousandths(trading.replacement_milli),
                exposure::thousandths(trading.most_milli),
            ),
        ]);
    }
    columns(&rows)
}
