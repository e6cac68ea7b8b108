//! `cambist panic`: cancels all orders of the account, with or without a daemon, and proves it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_core::venue::Resting;
use cambist_core::{Amount, TokenId, VenueTime};

use super::daemon_control::warn_of;
use super::{print_json, print_text};
use crate::cli::PanicArgs;
use crate::exit::Exit;
use crate::panic::report;
use crate::panic::report::{Bound, Came};
use crate::panic::{Plan, PoolTransactions, Sweep, Swept};
use cambist_config::money;
use cambist_daemon::config::{Daemon, OfAccount};
use cambist_daemon::live::latch::Latch;
use cambist_daemon::telemetry;
use cambist_daemon::venues::{Access, AccountReader};
use cambist_host::clock::Clock;
use cambist_store::view::{self, Open};

/// Pause between two attempts to read what the venue lists.
const AGAIN: Duration = Duration::from_secs(1);

/// Time for requests, in addition to the time to live and the grace.
const WORK_S: u64 = 60;

/// Time for everything if the file does not state how long orders live. Everything that rests is cancelled within it.
const UNKNOWN_S: u64 = 240;

/// The account of a file, which may have errors elsewhere.
pub(super) fn of_account(config: &Path) -> anyhow::Result<OfAccount> {
    let found = OfAccount::load(config).map_err(|errors| {
        let what = format!(
            "{} does not state venue, keys and state folder without errors, so that nothing was done. cambist kill needs store.dir only; without the file, SIGUSR1 to the daemon cancels everything and submits nothing new, SIGTERM drains it, and a file named latch in its state folder halts it",
            config.display()
        );
        anyhow::Error::new(errors).context(what)
    })?;
    warn_of(found.errors.as_ref());
    if !found.lifetimes_known {
        crate::exit::print_warning(&format!(
            "the errors may concern orders.ttl_s and orders.grace_s: everything is cancelled, and orders that are not listed count as alive for the longest time possible, {} s",
            found.daemon.orders.ttl_s + found.daemon.orders.grace_s
        ));
    }
    Ok(found)
}

/// Exit 0 only if it is proven that nothing rests; 80 with what may still be alive, and until when.
pub fn run(args: &PanicArgs, json: bool) -> anyhow::Result<Exit> {
    let OfAccount {
        daemon,
        lifetimes_known,
        errors: _,
    } = of_account(&args.config)?;
    if !args.yes {
        confirm(&daemon)?;
    }
    telemetry::log::start(daemon.log);
    let latch = raise(&daemon, &args.reason);
    let access = Access::of_panic(&daemon, daemon.request_timeout_ms)?;
    let clock = Clock::new();
    let lifetime = daemon.venue.rules().lifetime;
    let ttl_s = daemon.orders.ttl_s;
    let accepted_s = lifetime.accepted_max_ms.map(|ms| ms.div_ceil(1_000));
    let ttl_s = accepted_s.map_or(ttl_s, |accepted_s| accepted_s.min(ttl_s));
    let ttl_s = args.ttl.unwrap_or(0).max(ttl_s);
    let usual_s = if lifetimes_known {
        ttl_s + daemon.orders.grace_s + WORK_S
    } else {
        UNKNOWN_S
    };
    let within_s = args.within.unwrap_or(usual_s);
    let remembered = remembered(&daemon.store.dir);
    let within = Duration::from_secs(within_s);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let begun_s = clock.unix_micros() / 1_000_000;
    let times = Times {
        ttl_s,
        within,
        clock: &clock,
    };
    let (swept, bound) = runtime.block_on(async {
        let mut begun = Swept::default();
        let until_s = dead_s(&daemon, &begun, &remembered, [begun_s, ttl_s]);
        let reader = readable(access, &daemon, (args.own_only, until_s), times, &mut begun);
        match reader.await {
            Some(reader) => {
                sweep(&daemon, args.own_only, &reader, (&remembered, begun), times).await
            }
            // Nothing is known, and the report states until when orders may be alive.
            None => (begun, None),
        }
    });
    let dead_s = dead_s(&daemon, &swept, &remembered, [begun_s, ttl_s]);
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

/// When everything signed before has ended, in seconds since the Unix epoch. Bytes that were being sealed at `begun_s` are
/// accepted for `ttl_s`.
fn dead_s(daemon: &Daemon, swept: &Swept, remembered: &[Open], [begun_s, ttl_s]: [u64; 2]) -> u64 {
    let grace_s = daemon.orders.grace_s;
    // If the venue never sent its time, the system clock is used.
    let lapsed_s = remembered.iter().map(|one| one.accepted_until_s).max();
    let lapsed_s = (begun_s + ttl_s).max(lapsed_s.unwrap_or(0).into()) + grace_s;
    let dead_s = swept.dead_at.map_or(lapsed_s, VenueTime::as_s);
    if swept.lists > 0 {
        return dead_s;
    }
    // Without a list orders may rest whose bytes are not accepted any more.
    let rests_s = remembered.iter().filter_map(|one| one.rests_until_s).max();
    let rests_s = u64::from(rests_s.unwrap_or(0)).max(begun_s + daemon.orders.ttl_s);
    dead_s.max(rests_s + grace_s)
}

/// How long a sweep takes, and what was signed before it.
#[derive(Clone, Copy)]
struct Times<'a> {
    ttl_s: u64,
    within: Duration,
    clock: &'a Clock,
}

/// Cancels until nothing is left, and what is locked then.
async fn sweep(
    daemon: &Daemon,
    own_only: bool,
    reader: &AccountReader,
    (remembered, begun): (&[Open], Swept),
    times: Times<'_>,
) -> (Swept, Option<Vec<Bound>>) {
    let with_moves = daemon.markets.iter().any(|market| market.pool.is_some())
        || remembered.iter().any(|one| one.is_move);
    let plan = Plan {
        own_only,
        page: daemon.engine.poll.orders_page,
        list: reader.resting,
        pool_transactions: match (reader.has_pools, with_moves) {
            (false, _) => PoolTransactions::Absent,
            (true, true) => PoolTransactions::Required,
            (true, false) => PoolTransactions::IfListed,
        },
        pace: reader.pace,
        accepted_until_expiry: daemon.venue.rules().lifetime.resting == Resting::WhileAccepted,
        within: times.within,
    };
    let grace = Duration::from_secs(daemon.orders.grace_s);
    let ttl = Duration::from_secs(times.ttl_s);
    let mut sweep = Sweep::new(&reader.client, times.clock, plan, (ttl, grace), begun);
    for one in remembered {
        // What was accepted before is listed, and cancelled if it rests.
        sweep.expires(one.accepted_until_s);
    }
    let mut shown = String::new();
    let swept = sweep.run(|swept| {
        let line = report::progress(swept);
        if line != shown {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            shown = line;
        }
    });
    let swept = swept.await;
    let bound = bound(reader, &swept).await;
    (swept, bound)
}

/// The account as it can be read and cancelled, tried until the time is over. Where one request cancels everything, it goes
/// before each attempt: it needs nothing that has to be read first.
async fn readable(
    access: Access,
    daemon: &Daemon,
    (own_only, until_s): (bool, u64),
    times: Times<'_>,
    begun: &mut Swept,
) -> Option<AccountReader> {
    let mut access = access;
    let mut shown = String::new();
    loop {
        if !own_only && let Some(answer) = access.cancel_all().await {
            begun.cancelled_at_once(answer);
        }
        let error = match access.reader(daemon).await {
            Ok(reader) => return Some(reader),
            Err(error) => format!("the venue's listing: {error:#}"),
        };
        let until = cambist_host::times::iso(until_s);
        let progress = report::unlisted(begun);
        let line =
            format!("{error}; {progress}; without a list anything may be alive until {until}");
        if line != shown {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
            shown = line;
        }
        begun.record_failure(error);
        if Duration::from_micros(times.clock.now().0) >= times.within {
            return None;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Locked funds, by token symbol if the venue sends them.
async fn bound(reader: &AccountReader, swept: &Swept) -> Option<Vec<Bound>> {
    let bound = swept.bound.as_ref()?;
    let listed = if bound.is_empty() {
        Vec::new()
    } else {
        reader.tokens().await.unwrap_or_default()
    };
    let one = |(id, units): (&TokenId, &Amount)| {
        let token = listed.iter().find(|token| token.id == *id);
        Bound {
            token: token.map_or_else(|| format!("token {}", id.0), |token| token.symbol.clone()),
            units: *units,
            whole: token.map(|token| money::whole(*units, token.decimals)),
        }
    };
    Some(bound.iter().map(one).collect())
}

/// Asks whether the account is to be stopped.
pub(super) fn confirm(daemon: &Daemon) -> anyhow::Result<()> {
    let account = daemon.venue.account();
    let venue = &daemon.venue.base_url.value;
    let question = format!("stop trading and cancel every order of {account} at {venue}?");
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
