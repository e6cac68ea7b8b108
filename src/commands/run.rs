//! `cambist run`: the daemon.

use std::sync::Arc;

use anyhow::Context;
use cambist_core::event::{Event, RecoveredOrder};
use cambist_core::intent::RecoveredMove;
use cambist_core::{Engine, Reason, Time};
use cambist_report::{Closing, Session, text};
use tokio::sync::mpsc;

use super::{print_json, print_text};
use crate::cli::ServiceArgs;
use crate::clock::Clock;
use crate::config::Daemon;
use crate::config::market::Market;
use crate::exit::{self, Exit, Failure};
use crate::live::desk::{Desk, Ended};
use crate::live::door::Door;
use crate::live::gateway::Gateway;
use crate::live::keeper::Keeper;
use crate::live::latch::Latch;
use crate::live::people::{People, WISHES_MAX};
use crate::live::recorder::Recorder;
use crate::live::reload::Reload;
use crate::live::signals::Signals;
use crate::live::wishes::Names;
use crate::live::{INBOX, start, verdict};
use crate::revision::REVISION;
use crate::telemetry::http::Pages;
use crate::telemetry::{About, Telemetry};
use crate::{address, recording, telemetry};

/// Runs until told to stop; exit 0 only when it is proven that nothing of ours rests.
pub fn run(args: &ServiceArgs, json: bool) -> anyhow::Result<Exit> {
    let daemon = Daemon::load(&args.config)?;
    telemetry::log::start(daemon.log);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let traded = runtime.block_on(trade(&daemon, args.until_stdin_closes));
    // A read of standard input may be under way and can only be left behind.
    runtime.shutdown_background();
    let (ended, session, clock) = traded?;
    let closing = Closing {
        duration_s: seconds(clock.now()),
        resting_after: ended.proven.then_some(0),
        residual_units: session.residual(),
        ..Closing::default()
    };
    let summary = session.summary(clock.now(), &closing, code);
    let failures = verdict::failures(&ended, &session, &daemon);
    if json {
        let mut shape = serde_json::to_value(&summary)?;
        if let Some(left) = ended.left {
            shape["left"] = serde_json::json!({
                "orders": left.orders,
                "unknown": left.unknown,
                "until_s": left.until.as_s(),
            });
        }
        print_json(&exit::with_failures(shape, &failures))?;
    } else {
        print_text(&text::summary(&summary))?;
        if ended.proven {
            print_text("\nProven: nothing of ours rests at the venue.\n")?;
        }
        if let Some(left) = ended.left {
            print_text(&format!("\nLeft: {}.\n", verdict::left(left)))?;
        }
    }
    for failure in &failures {
        exit::tell(failure);
    }
    Ok(failures.first().map_or(Exit::Done, |failure| failure.exit))
}

async fn trade(
    daemon: &Daemon,
    until_stdin_closes: bool,
) -> anyhow::Result<(Ended, Session, Clock)> {
    let clock = Clock::new();
    let mut signals = Signals::listen(until_stdin_closes).context("listening to signals")?;
    let seed = getrandom::u64().context("random number of the system")?;
    let started = tokio::select! {
        started = start::start(daemon, seed) => started?,
        () = signals.end() => {
            let what = "told to stop before the start was over; nothing was sent";
            return Err(Failure::new(Exit::CheckFailed, what).into());
        }
    };
    signals.watch(Latch::of(&daemon.store.dir));
    let door = Door::open(&daemon.store.dir)?;
    let (wish, wishes) = mpsc::channel(WISHES_MAX);
    tokio::spawn(door.serve(Names::of(&started.bound), wish));
    let reload = Reload::new(daemon, &started.bound.markets);
    let config_hash = daemon.source.hash();
    let header = recording::header(
        &started.bound,
        daemon.source.text.clone(),
        config_hash.clone(),
    );
    let recorder = Recorder::begin(daemon.tape.as_ref(), header, &started.bound.markets)?;
    let engine = Engine::new(recording::strategies(&started.bound)?);
    let telemetry = Arc::new(Telemetry::new(
        About {
            revision: REVISION.to_owned(),
            config_hash,
            config: daemon.source.path.display().to_string(),
            markets: started.bound.markets.clone(),
            pools: started.bound.pools.clone(),
            tokens: started.bound.tokens.clone(),
            depth_age_max_ms: daemon.poll.depth_age_max_ms,
            tick_age_max_ms: 5_000,
        },
        clock,
    )?);
    let listener = telemetry::http::Listener::bind(daemon.metrics, descriptors_reserved(daemon))?;
    address::write(&daemon.metrics_address_file(), listener.address())?;
    let names = started.bound.markets.iter().map(|spec| spec.name.as_str());
    tracing::info!(
        "trading {} at {} as account {}; http://{}/metrics",
        names.collect::<Vec<_>>().join(", "),
        daemon.venue.base_url.value,
        daemon.venue.account_id,
        listener.address()
    );
    listener.spawn(Arc::new(Pages::new(Arc::clone(&telemetry))))?;
    let (heard, inbox) = mpsc::channel(INBOX);
    let keeper = Keeper::start(
        started.store,
        started.signer,
        &started.filled,
        daemon.store.keep_days,
        Arc::clone(&telemetry),
        heard.clone(),
    )?;
    let mut session = Session::new(&started.bound.markets).with_pools(&started.bound.pools);
    for RecoveredOrder {
        order, base_filled, ..
    } in &started.start.open
    {
        session.found(order.client_id, order.valid_until_s, *base_filled > 0);
    }
    for RecoveredMove { wanted, .. } in &started.start.open_moves {
        session.found_move(wanted.client_id, wanted.valid_until_s);
    }
    let desk = Desk {
        engine,
        clock,
        gateway: Gateway::new(
            started.client,
            &started.bound.markets,
            Arc::clone(&telemetry),
            heard,
        ),
        keeper,
        recorder,
        telemetry,
        session,
        bodies: started.bodies.into_iter().collect(),
        under_way: std::collections::BTreeMap::new(),
        drain: std::time::Duration::from_millis(daemon.drain_deadline_ms),
        inbox,
        people: People::new(signals, wishes, reload),
        ended: Ended {
            proven: false,
            level: started.start.levels.level,
            invariant_failed: false,
            store_lost: false,
            left: None,
        },
        next: std::collections::VecDeque::new(),
        pruned: Time(0),
    };
    let (ended, session) = desk.run(Event::Start(Box::new(started.start))).await;
    Ok((ended, session, clock))
}

/// Descriptors that connections to our pages must leave: for requests (of every order that may be alive a
/// submit and a cancel, and of every market its polls), the store, the tape, the control socket, the log.
fn descriptors_reserved(daemon: &Daemon) -> u64 {
    const FILES: u64 = 64;
    const POLLS: u64 = 16;
    let of_market = |market: &Market| POLLS + 4 * u64::from(market.open_orders_max);
    FILES + daemon.markets.iter().map(of_market).sum::<u64>()
}

/// A refusal as the venue numbers it.
pub(super) fn code(reason: Reason) -> String {
    match reason {
        Reason::RateLimited => "429".to_owned(),
        other => cambist_protocol::code::number(other).to_string(),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a run fit 53 bits for 285 years"
)]
fn seconds(time: Time) -> f64 {
    time.0 as f64 / 1e6
}
