//! `cambist panic`: cancels everything of the account, with or without a daemon, and proves it.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_client::{Client, ClientConfig, Credentials, SecretString};
use cambist_core::VenueTime;
use cambist_signing::SecretKey;
use serde_json::{Value, json};

use super::{print_json, print_text};
use crate::cli::PanicArgs;
use crate::clock::Clock;
use crate::config::Daemon;
use crate::exit::{Exit, Failure};
use crate::live::latch::Latch;
use crate::panic::{Plan, Sweep, Swept};
use crate::store::view;
use crate::{secrets, telemetry};

/// Beside ttl and grace, this long for asking and cancelling.
const WORK_S: u64 = 60;

/// Exit 0 only when it is proven that nothing rests; 80 with what may still live, and until when.
pub fn run(args: &PanicArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load(&args.config)?;
    if !args.yes {
        confirm(&daemon)?;
    }
    telemetry::log::start(daemon.log);
    let latch = raise(&daemon, &args.reason);
    let client = client(&daemon)?;
    let clock = Clock::new();
    let ttl_s = args.ttl.unwrap_or(0).max(daemon.orders.ttl_s);
    let within_s = args
        .within
        .unwrap_or(ttl_s + daemon.orders.grace_s + WORK_S);
    let plan = Plan {
        own_only: args.own_only,
        page: daemon.poll.orders_page,
        within: Duration::from_secs(within_s),
    };
    let grace = Duration::from_secs(daemon.orders.grace_s);
    let mut sweep = Sweep::new(&client, &clock, plan, Duration::from_secs(ttl_s), grace);
    let remembered = remembered(&daemon.store.dir);
    for expiry in &remembered {
        sweep.expires(*expiry);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut shown = String::new();
    let begun_s = clock.unix_micros() / 1_000_000;
    let swept = runtime.block_on(sweep.run(|swept| {
        let line = progress(swept);
        if line != shown {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            shown = line;
        }
    }));
    // A venue that never told its time: our own clock is the best there is.
    let last_expiry_s = remembered.iter().max().copied().unwrap_or(0);
    let dead_s = swept.dead_at.map_or_else(
        || (begun_s + ttl_s).max(last_expiry_s.into()) + daemon.orders.grace_s,
        VenueTime::as_s,
    );
    let took_s = Duration::from_micros(clock.now().0).as_secs_f64();
    if json {
        print_json(&shape(&swept, latch.as_ref().err(), dead_s, took_s))?;
    } else {
        print_text(&text(&swept, dead_s, &daemon, took_s))?;
    }
    if let Err(error) = &latch {
        let what = format!("the latch was not raised, a daemon may go on: {error}");
        crate::exit::tell(&what);
    }
    Ok(if swept.proven {
        Exit::Done
    } else {
        Exit::PanicNotProven
    })
}

/// Asks a person; nobody there means no.
fn confirm(daemon: &Daemon) -> anyhow::Result<()> {
    let account = daemon.venue.account_id;
    let venue = &daemon.venue.base_url.value;
    let refused = |what: &str| Failure::new(Exit::Usage, what.to_owned()).into();
    if !std::io::stdin().is_terminal() {
        return Err(refused(
            "nobody is there to ask: say --yes to cancel everything",
        ));
    }
    let question =
        format!("stop trading and cancel every order of account {account} at {venue}? [y/N] ");
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(question.as_bytes())?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        Ok(())
    } else {
        Err(refused("nothing was done"))
    }
}

/// Raises the latch before anything else: a daemon that runs ends, one that starts is refused.
fn raise(daemon: &Daemon, reason: &str) -> anyhow::Result<()> {
    let latch = Latch::of(&daemon.store.dir);
    latch
        .raise(&format!("panic: {reason}"))
        .with_context(|| latch.file().display().to_string())
}

fn client(daemon: &Daemon) -> anyhow::Result<Client> {
    let secrets = secrets::load(&daemon.keys)?;
    let key = SecretKey::from_hex(&secrets.eddsa_key).map_err(|_| {
        let what = "the EdDSA key file does not hold a secret key in hexadecimal";
        Failure::new(Exit::Refused, what)
    })?;
    let owner = crate::live::start::parse_owner(daemon)?;
    let api_key = SecretString::from(secrets.api_key.as_str());
    let credentials = Credentials::new(daemon.venue.account_id, Some(owner), Some(api_key), key);
    let config = ClientConfig {
        timeout_ms: daemon.request_timeout_ms,
        ..ClientConfig::new(&daemon.venue.base_url.value)
    };
    Client::new(&config, Some(credentials))
        .map_err(|error| Failure::new(Exit::Refused, error.to_string()).into())
}

/// Expiries of orders that a store remembers without an end. No store, or one that cannot be read, is no
/// obstacle.
fn remembered(dir: &Path) -> Vec<u32> {
    match view::remembered(dir) {
        Ok(all) => all
            .into_values()
            .filter(|one| one.end.is_none())
            .map(|one| one.valid_until_s)
            .collect(),
        Err(error) => {
            tracing::debug!(%error, "no store to look into");
            Vec::new()
        }
    }
}

fn progress(swept: &Swept) -> String {
    let seen = match (swept.lists, &swept.trouble) {
        (0, Some(trouble)) => return format!("no complete list yet: {trouble}"),
        (0, None) => return "reading the list of orders".to_owned(),
        _ if swept.left.is_empty() => "nothing is open".to_owned(),
        _ => format!("{} open", swept.left.len()),
    };
    let proof = match swept.dead_at {
        _ if swept.proven => "proven".to_owned(),
        Some(at) => format!("proof possible after {} UTC", time_of_day(at.as_s())),
        None => "the venue tells no time".to_owned(),
    };
    let found = swept.found.len();
    format!(
        "{seen}; {found} were found, {} cancels sent; {proof}",
        swept.cancels
    )
}

fn text(swept: &Swept, dead_s: u64, daemon: &Daemon, took_s: f64) -> String {
    let (found, cancels) = (swept.found.len(), swept.cancels);
    let mut lines = vec![format!(
        "{found} orders were open, {cancels} cancels were sent"
    )];
    if swept.left_alone > 0 {
        let count = swept.left_alone;
        lines.push(format!("{count} open orders of others were left alone"));
    }
    let until = time_of_day(dead_s);
    lines.push(match (swept.lists, swept.left.len()) {
        _ if swept.proven => format!(
            "proven after {took_s:.1} s: nothing rests, and nothing signed before can appear"
        ),
        (0, _) => format!(
            "NOT PROVEN: no complete list could be read; anything may be alive until {until} UTC"
        ),
        (_, 0) => format!(
            "NOT PROVEN: nothing is shown open, but an order signed before may appear until {until} UTC"
        ),
        (_, left) => format!("NOT PROVEN: {left} orders are open, the last until {until} UTC:"),
    });
    for order in swept.left.values() {
        let expiry = time_of_day(order.valid_until_s.into());
        let (hash, market, side) = (order.hash, &order.market, order.side.name());
        lines.push(format!("  {hash} {market} {side} until {expiry} UTC"));
    }
    if let Some(trouble) = swept.trouble.as_ref().filter(|_| !swept.proven) {
        let count = swept.troubles;
        lines.push(format!(
            "{count} requests brought nothing, the last: {trouble}"
        ));
    }
    let config = daemon.source.path.display();
    lines.push(format!(
        "trading stays off until: cambist resume --config {config} --reason TEXT\n"
    ));
    lines.join("\n")
}

fn shape(swept: &Swept, latch: Option<&anyhow::Error>, dead_s: u64, took_s: f64) -> Value {
    let left: Vec<_> = swept
        .left
        .values()
        .map(|order| {
            json!({
                "hash": order.hash.to_string(),
                "client_order_id": order.client_id.map(|id| id.to_string()),
                "market": order.market,
                "side": order.side.name(),
                "valid_until_s": order.valid_until_s,
            })
        })
        .collect();
    json!({
        "proven": swept.proven,
        "latch": latch.map_or_else(|| "raised".to_owned(), |error| format!("{error:#}")),
        "found": swept.found.len(),
        "cancels": swept.cancels,
        "lists": swept.lists,
        "left": left,
        "left_alone": swept.left_alone,
        "dead_at_s": dead_s,
        "took_s": took_s,
        "troubles": swept.troubles,
        "trouble": swept.trouble,
    })
}

/// Time of day of seconds since the Unix epoch.
fn time_of_day(unix_s: u64) -> String {
    let (hours, minutes) = (unix_s / 3_600 % 24, unix_s / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", unix_s % 60)
}
