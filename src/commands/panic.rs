//! `cambist panic`: cancels all orders of the account, with or without a daemon, and proves it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_client::Client;
use cambist_core::{Amount, TokenId, VenueTime};

use super::{print_json, print_text};
use crate::cli::PanicArgs;
use crate::exit::Exit;
use crate::panic::report;
use crate::panic::report::{Bound, Came};
use crate::panic::{Plan, Sweep, Swept};
use cambist_config::money;
use cambist_daemon::config::Daemon;
use cambist_daemon::live::latch::Latch;
use cambist_daemon::telemetry;
use cambist_daemon::venues::exchange::access::AccountAccess;
use cambist_host::clock::Clock;
use cambist_store::view::{self, Open};

/// Time for requests, in addition to the time to live and the grace.
const WORK_S: u64 = 60;

/// Exit 0 only if it is proven that nothing rests; 80 with what may still be alive, and until when.
pub fn run(args: &PanicArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load_unpinned(&args.config)?;
    if !args.yes {
        confirm(&daemon)?;
    }
    telemetry::log::start(daemon.log);
    let latch = raise(&daemon, &args.reason);
    let AccountAccess { client, .. } = AccountAccess::of(&daemon, daemon.request_timeout_ms)?;
    let clock = Clock::new();
    let ttl_s = args.ttl.unwrap_or(0).max(daemon.orders.ttl_s);
    let within_s = args
        .within
        .unwrap_or(ttl_s + daemon.orders.grace_s + WORK_S);
    let remembered = remembered(&daemon.store.dir);
    let plan = Plan {
        own_only: args.own_only,
        page: daemon.engine.poll.orders_page,
        with_moves: daemon.markets.iter().any(|market| market.pool.is_some())
            || remembered.iter().any(|one| one.is_move),
        within: Duration::from_secs(within_s),
    };
    let grace = Duration::from_secs(daemon.orders.grace_s);
    let venue = client.clone().into();
    let mut sweep = Sweep::new(&venue, &clock, plan, Duration::from_secs(ttl_s), grace);
    for one in &remembered {
        // What was accepted before is listed, and cancelled if it rests.
        sweep.expires(one.accepted_until_s);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut shown = String::new();
    let begun_s = clock.unix_micros() / 1_000_000;
    let swept = runtime.block_on(sweep.run(|swept| {
        let line = report::progress(swept);
        if line != shown {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            shown = line;
        }
    }));
    let bound = runtime.block_on(bound(&client, &swept));
    // If the venue never sent its time, the system clock is used.
    let last_expiry_s = remembered.iter().map(|one| one.accepted_until_s).max();
    let dead_s = swept.dead_at.map_or_else(
        || (begun_s + ttl_s).max(last_expiry_s.unwrap_or(0).into()) + daemon.orders.grace_s,
        VenueTime::as_s,
    );
    let came = Came {
        swept: &swept,
        bound,
        dead_s,
        took_s: Duration::from_micros(clock.now().0).as_secs_f64(),
    };
    if json {
        print_json(&came.shape(latch.as_ref().err()))?;
    } else {
        print_text(&came.text(&daemon.source.path, latch.as_ref().err()))?;
    }
    if let Err(error) = &latch {
        let what = format!("the latch was not set, so a daemon may continue to trade: {error:#}");
        crate::exit::print_error(&what);
    }
    if swept.proven && latch.is_ok() {
        let kept = Latch::of(&daemon.store.dir).keep_proof(clock.unix_micros() / 1_000_000);
        if let Err(error) = kept {
            crate::exit::print_error(&format!(
                "the proof could not be stored for status: {error}"
            ));
        }
    }
    // Without the latch a daemon may place orders again, which ends the proof.
    Ok(if swept.proven && latch.is_ok() {
        Exit::Done
    } else {
        Exit::PanicNotProven
    })
}

/// Locked funds, by token symbol if the venue sends them.
async fn bound(client: &Client, swept: &Swept) -> Option<Vec<Bound>> {
    let bound = swept.bound.as_ref()?;
    let listed = if bound.is_empty() {
        Vec::new()
    } else {
        client.tokens().await.unwrap_or_default()
    };
    let one = |(id, units): (&TokenId, &Amount)| {
        let token = listed.iter().find(|token| token.token_id == *id);
        Bound {
            token: token.map_or_else(|| format!("token {}", id.0), |token| token.symbol.clone()),
            units: *units,
            whole: token.map(|token| money::whole(*units, token.decimals)),
        }
    };
    Some(bound.iter().map(one).collect())
}

/// Asks for confirmation; without a terminal the answer is no.
fn confirm(daemon: &Daemon) -> anyhow::Result<()> {
    let account = daemon.venue.account_id;
    let venue = &daemon.venue.base_url.value;
    let question = format!("stop trading and cancel every order of account {account} at {venue}?");
    super::confirm(&question, false)
}

/// Sets the latch first: a running daemon ends, a starting one is refused.
fn raise(daemon: &Daemon, reason: &str) -> anyhow::Result<()> {
    let latch = Latch::of(&daemon.store.dir);
    latch
        .raise(&format!("panic: {reason}"))
        .with_context(|| latch.file().display().to_string())
}

/// Open intents in the store. A missing or unreadable store is ignored.
fn remembered(dir: &Path) -> Vec<Open> {
    view::without_end(dir).unwrap_or_else(|error| {
        tracing::debug!(%error, "the store cannot be read; continuing without it");
        Vec::new()
    })
}
