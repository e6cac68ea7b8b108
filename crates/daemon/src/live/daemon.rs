//! The life of a daemon: opening of resources, start, and assembly of the event loop.

use std::sync::Arc;

use anyhow::Context;
use cambist_core::Engine;
use cambist_core::event::{Event, RecoveredOrder};
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::portfolio::VenueEngine;
use cambist_report::Session;
use cambist_store::SetParameter;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::latch::Latch;
use super::recorder::Recorder;
use super::reload::Reload;
use super::signals::Signals;
use super::start::{Started, StateFolder};
use super::{INBOX, reference_feeds, start, start_service};
use crate::config::market::Market;
use crate::config::{Daemon, process};
use crate::live::control_requests::Names;
use crate::live::control_socket::{Connections, ControlSocket};
use crate::live::earlier_runs::EarlierRuns;
use crate::live::event_loop::{Ended, EventLoop, Routine};
use crate::live::exit_report;
use crate::live::memories::Memories;
use crate::live::operator_commands::{OperatorCommands, REQUESTS_MAX, Request};
use crate::live::pending_replies::send_reply;
use crate::live::processes::Processes;
use crate::live::request_folder;
use crate::live::request_workers::RequestWorkers;
use crate::live::seal_worker::SealWorker;
use crate::live::start_retry::StartRetry;
use crate::live::start_service::{Queried, StartService};
use crate::live::store_loss::StoreLoss;
use crate::notify::Notifier;
use crate::portfolio::Membership;
use crate::telemetry::http::{Listener, Pages, Shown};
use crate::telemetry::starting::Starting;
use crate::telemetry::{About, Telemetry};
use crate::venues::{Access, Trading};
use crate::{address, recording};
use cambist_host::clock::Clock;
use cambist_host::exit::{Exit, Failure};

/// Result of a run.
pub enum Run {
    /// The daemon traded, or started to.
    Traded(Ended, Box<Session>, Clock),
    /// It was stopped before the venue answered.
    Stopped(EarlierRuns),
}

/// The interfaces of a daemon, available from its start on.
struct Listeners {
    signals: Signals,
    requests: mpsc::Receiver<Request>,
    callers: Connections,
    /// Takes the result of the run, for those who ask after it.
    end: watch::Sender<Option<Value>>,
    pages: Pages,
    starting: Arc<Starting>,
    about: About,
    metrics: std::net::SocketAddr,
    notifier: Notifier,
}

/// Runs a daemon until its end.
/// `member` is its part in a portfolio of venues, if it has one.
pub async fn run(
    daemon: &Daemon,
    member: Option<Membership>,
    until_stdin_closes: bool,
) -> anyhow::Result<Run> {
    let clock = member
        .as_ref()
        .map_or_else(Clock::of_engine, Membership::clock);
    let mut signals = Signals::listen(until_stdin_closes).context("installing signal handlers")?;
    let seed = getrandom::u64().context("random number generator of the system")?;
    let forbidden = process::problems(daemon);
    if !forbidden.is_empty() {
        return Err(daemon.source.invalid(forbidden).into());
    }
    let state = start::take(daemon)?;
    let (file, set) = (daemon, state.recovered.parameters.clone());
    let daemon = &start::with_set(file, &set)?;
    signals.watch(Latch::of(&daemon.store.dir));
    let access = Access::of(daemon, daemon.request_timeout_ms)?;
    let earlier = EarlierRuns::of(&state.recovered, daemon);
    let notifier = member
        .as_ref()
        .map_or_else(Notifier::alone, Membership::notifier);
    let venue = member.as_ref().map(Membership::name);
    let venue = venue.map_or_else(|| daemon.venue.address(), str::to_owned);
    let listeners = Listeners::open(daemon, venue, clock, signals, earlier, notifier)?;
    let (callers, end) = (listeners.callers.clone(), listeners.end.clone());
    // The process, and with it socket and pages, goes on for the other venues of a portfolio.
    let pages = member.as_ref().map(|_| listeners.pages.clone());
    let opened = Opened {
        file,
        set,
        seed,
        clock,
        earlier,
        state,
        access,
        listeners,
    };
    let run = Box::pin(opened.run(daemon, member)).await;
    if let Err(error) = &run {
        end.send_replace(Some(exit_report::failed(error)));
    }
    if let (Some(pages), Some(reply)) = (pages, end.borrow().as_ref()) {
        pages.end(exit_report::status_of_end(reply));
    }
    callers.answered().await;
    run
}

/// What a run has before it asks its venue.
struct Opened<'a> {
    /// The daemon of the file alone.
    file: &'a Daemon,
    /// What operators set.
    set: Vec<SetParameter>,
    seed: u64,
    clock: Clock,
    earlier: EarlierRuns,
    state: StateFolder,
    access: Access,
    listeners: Listeners,
}

impl Opened<'_> {
    /// Asks the venue and trades until the end, whose result is stated to those who ask for it.
    async fn run(self, daemon: &Daemon, member: Option<Membership>) -> anyhow::Result<Run> {
        let Self {
            file,
            set,
            seed,
            clock,
            earlier,
            mut state,
            access,
            mut listeners,
        } = self;
        let stored = &state.recovered;
        let telemetry = &listeners.starting.telemetry;
        telemetry.restricted_before(stored.restrictions.state, &stored.cause);
        if let Some(member) = &member {
            member.wait_for_venue(daemon, &state.recovered);
        }
        let queried = Box::pin(listeners.ask(daemon, access, &mut state, member.as_ref())).await;
        if let Some(member) = &member {
            member.end_wait();
        }
        let venue = match queried.map_err(|error| start::beside_set(error, &set))? {
            Queried::Everything(venue) => venue,
            Queried::Stopped => {
                let reply = start_service::stopped(earlier, true);
                listeners.end.send_replace(Some(reply));
                return Ok(Run::Stopped(earlier));
            }
        };
        let restricted = (
            state.recovered.restrictions.state,
            state.recovered.cause.clone(),
        );
        let mut started = start::begin(daemon, state, venue, seed)?;
        let mut switch = started.trading.switch.take();
        let refused = |what| Failure::new(Exit::Refused, what);
        if member.is_none() {
            started.bound.without_elsewhere().map_err(refused)?;
        }
        let begun = member.map(|member| member.begin(&started.bound));
        let member = begun.transpose().map_err(refused)?;
        let end = listeners.end.clone();
        let reload = Reload::new(file, set, &started.bound.markets)
            .beside(member.as_ref().map(|member| member.file().clone()));
        let parts = (listeners, member);
        let (event_loop, first) = event_loop(daemon, reload, clock, parts, started)?;
        let (restriction, cause) = restricted;
        event_loop.telemetry.restricted_before(restriction, &cause);
        if let Some(switch) = &mut switch {
            switch.keep(Arc::clone(&event_loop.telemetry));
        }
        let (ended, session, waiting) = Box::pin(event_loop.run(first)).await;
        if let Some(switch) = switch {
            // Orders that the operator left to rest are to stay until they expire.
            switch.end(ended.proven || ended.left.is_some()).await;
        }
        let reply = exit_report::reply(&ended, &session, daemon);
        for answer in waiting {
            send_reply(Some(answer), reply.clone());
        }
        end.send_replace(Some(reply));
        Ok(Run::Traded(ended, Box::new(session), clock))
    }
}

impl Listeners {
    /// Opens the control socket and the pages of a start.
    fn open(
        daemon: &Daemon,
        venue: String,
        clock: Clock,
        signals: Signals,
        earlier: EarlierRuns,
        notifier: Notifier,
    ) -> anyhow::Result<Self> {
        let listener = Listener::bind(daemon.metrics, descriptors_reserved(daemon))?;
        let metrics = listener.address();
        let mut socket = ControlSocket::open(&daemon.store.dir)?;
        let end = socket.end();
        let callers = socket.callers();
        let (sender, requests) = mpsc::channel(REQUESTS_MAX);
        tokio::spawn(socket.serve(sender));
        let about = About {
            revision: cambist_host::program::build().revision.to_owned(),
            venue,
            mode: daemon.mode,
            config_hash: daemon.source.hash(),
            config: daemon.source.path.display().to_string(),
            markets: Vec::new(),
            pools: Vec::new(),
            tokens: Vec::new(),
            strategies: Vec::new(),
            depth_age_max_ms: daemon.engine.poll.depth_age_max_ms,
            tick_age_max_ms: 5_000,
            bursts: [daemon.budget.burst, daemon.budget.endpoint_burst],
            request_unit: daemon.venue.budget_unit(),
            ttl_ms: daemon.orders.ttl_s.saturating_mul(1_000),
            grace_s: daemon.orders.grace_s,
        };
        let starting = Arc::new(Starting::new(
            about.clone(),
            clock,
            earlier,
            notifier.clone(),
        )?);
        let pages = Pages::new(Shown::Starting(Arc::clone(&starting)));
        listener.spawn(pages.clone())?;
        address::write(&daemon.metrics_address_file(), metrics)?;
        if let Some(earlier) = earlier.text() {
            tracing::warn!("{earlier}");
        }
        Ok(Self {
            signals,
            requests,
            callers,
            end,
            pages,
            starting,
            about,
            metrics,
            notifier,
        })
    }

    /// Queries the venue, and handles operator requests meanwhile.
    async fn ask(
        &mut self,
        daemon: &Daemon,
        access: Access,
        state: &mut StateFolder,
        member: Option<&Membership>,
    ) -> anyhow::Result<Queried<start::Venue>> {
        let next_slots = state.recovered.next_storage.clone();
        let retry = StartRetry::new(&self.starting);
        let queries = start::ask(daemon, access, next_slots, retry);
        let startup = StartService {
            daemon,
            starting: &self.starting,
            store: &mut state.store,
            restrictions: &mut state.recovered.restrictions,
            signals: &mut self.signals,
            requests: &mut self.requests,
            member,
        };
        Box::pin(startup.wait(queries)).await
    }
}

/// The event loop and its first event.
fn event_loop(
    daemon: &Daemon,
    reload: Reload,
    clock: Clock,
    (listeners, member): (Listeners, Option<Membership>),
    started: Started,
) -> anyhow::Result<(EventLoop, Event)> {
    let bound = &started.bound;
    let about = About {
        markets: bound.markets.clone(),
        pools: bound.pools.clone(),
        tokens: bound.tokens.clone(),
        strategies: bound.strategy_names(),
        ..listeners.about
    };
    let header = recording::header(bound, daemon.source.text.clone(), about.config_hash.clone());
    let recorder = Recorder::begin(daemon.tape.as_ref(), header, &bound.markets, clock)?;
    let engine = Engine::new(recording::strategies(bound)?);
    let engine = match &member {
        Some(member) => member.start(engine),
        None => VenueEngine::alone(engine),
    };
    let telemetry = Arc::new(Telemetry::new(about, clock)?);
    listeners.pages.show(Shown::Running(Arc::clone(&telemetry)));
    let names = bound.markets.iter().map(|spec| spec.name.as_str());
    tracing::info!(
        "trading {} at {} as {}; http://{}/metrics",
        names.collect::<Vec<_>>().join(", "),
        daemon.venue.base_url.value,
        daemon.venue.account(),
        listeners.metrics
    );
    let (messages, inbox) = mpsc::channel(INBOX);
    let processes_inbox = messages.clone();
    let Trading {
        client,
        sealer,
        watch,
        ..
    } = started.trading;
    if let Some(watch) = watch {
        watch.begin(Arc::clone(&telemetry), messages.clone());
    }
    let seal_worker = SealWorker::start(
        started.store,
        sealer,
        &started.filled,
        daemon.store.keep_days,
        Arc::clone(&telemetry),
        messages.clone(),
    )?;
    let request_workers = RequestWorkers::new(
        Arc::new(client),
        &bound.markets,
        Arc::clone(&telemetry),
        messages,
    );
    let memories = Memories::begin(&daemon.store.dir, bound)?;
    let processes = Processes::start(bound, &processes_inbox)?;
    reference_feeds::start(daemon, bound, clock, &processes_inbox, telemetry.feeds())?;
    telemetry.parameters(reload.differences());
    let booked_requests = request_folder::booked(&daemon.store.dir);
    let has_ledger = started.start.books.ledger.is_some();
    let expected = request_folder::announcements(&daemon.store.dir, &booked_requests, has_ledger);
    let ended = Ended {
        proven: false,
        level: started.start.restrictions.state,
        invariant_failed: false,
        store_lost: false,
        left: None,
    };
    let event_loop = EventLoop {
        engine,
        clock,
        request_workers,
        seal_worker,
        processes,
        memories,
        recorder,
        telemetry,
        session: session(
            (&started.bound, daemon.venue.budget_unit()),
            &started.start.open,
            &started.start.open_pool_transactions,
        ),
        bodies: started.bodies.into_iter().collect(),
        in_flight: std::collections::BTreeMap::new(),
        notifier: listeners.notifier,
        drain: std::time::Duration::from_millis(daemon.drain_deadline_ms),
        inbox,
        operator_commands: OperatorCommands::new(
            listeners.signals,
            listeners.requests,
            Names::of(bound),
            reload,
            booked_requests,
        ),
        is_ready: false,
        routine: Routine::default(),
        actions: Vec::new(),
        finished: false,
        portfolio: member,
        ended,
        store_loss: StoreLoss::after(expected),
    };
    Ok((event_loop, Event::Start(Box::new(started.start))))
}

/// A session with the open orders of earlier runs.
fn session(
    (bound, request_unit): (&crate::config::Bound, u32),
    open: &[RecoveredOrder],
    open_pool_transactions: &[RecoveredPoolTransaction],
) -> Session {
    let mut session = Session::new(&bound.markets)
        .with_pools(&bound.pools)
        .with_request_unit(request_unit);
    for token in &bound.tokens {
        session = session.with_token(token);
    }
    for RecoveredOrder {
        order, base_filled, ..
    } in open
    {
        session.recovered(order.client_id, order.last_effect_s(), *base_filled > 0);
    }
    for RecoveredPoolTransaction { transaction, .. } in open_pool_transactions {
        session.recovered_pool_transaction(transaction.client_id, transaction.valid_until_s);
    }
    session
}

/// File descriptors reserved for everything except connections to our pages: requests (a submit and a cancel for every
/// order that may be alive, and the polls of every market), store, tape, control socket, log.
fn descriptors_reserved(daemon: &Daemon) -> u64 {
    const FILES: u64 = 64;
    const POLLS: u64 = 16;
    let of_market = |market: &Market| POLLS + 4 * u64::from(market.limits.open_orders_max);
    FILES + daemon.markets.iter().map(of_market).sum::<u64>()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use super::*;

    fn recovered(number: u64, base_filled: u128) -> RecoveredOrder {
        use cambist_core::order::{FillBy, UnsignedOrder};
        use cambist_core::{
            ClientOrderId, Hash, MarketId, OrderKind, Price, Qty, Side, StrategyId, TokenId,
            VenueTime,
        };
        let order = UnsignedOrder {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number,
            },
            market: MarketId(0),
            side: Side::Buy,
            price: Price(1),
            qty: Qty(1),
            kind: OrderKind::Limit,
            sell_token: TokenId(1),
            sell_amount: 1,
            buy_token: TokenId(0),
            buy_amount: 1,
            fill_by: FillBy::Buy,
            slot: 0,
            accepted_until_s: 100,
            rests_until_s: Some(100),
            max_fee_bips: 1,
            swap: None,
            made_at: VenueTime(1),
        };
        RecoveredOrder {
            order,
            hash: Hash([1; 32]),
            base_filled,
            quote_filled: 0,
            fee: 0,
        }
    }

    /// Orders of earlier runs, those that were filled in part among them.
    #[test]
    fn a_session_begins_with_the_orders_of_earlier_runs() {
        use cambist_core::notification::{End, Notification};
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let daemon = Daemon::load(Path::new(example)).unwrap();
        let bound = daemon.bind_expected().unwrap().unwrap();
        let open = [recovered(1, 0), recovered(2, 1), recovered(3, 7)];
        let mut session = session((&bound, 1), &open, &[]);
        assert_eq!(session.last_expiry_s(), Some(100));
        for one in &open {
            let order = one.order.client_id;
            let end = End::Cancelled;
            session.observe(
                cambist_core::Time(1),
                &Notification::Ended {
                    order,
                    market: cambist_core::MarketId(0),
                    end,
                    cancel_micros: None,
                },
            );
        }
        let closing = cambist_report::Closing::default();
        let summary = session.summary(cambist_core::Time(2), &closing, |_| String::new());
        let ends = summary.ends;
        assert_eq!(
            (ends.recovered, ends.cancelled, ends.partly_filled),
            (3, 3, 2)
        );
    }

    /// Files, the polls of every market, and four for each order that may be alive.
    #[test]
    fn file_descriptors_are_reserved_for_every_order() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let mut daemon = Daemon::load(Path::new(example)).unwrap();
        daemon.markets[0].limits.open_orders_max = 7;
        assert_eq!(descriptors_reserved(&daemon), 64 + 16 + 28);
        daemon.markets[0].limits.open_orders_max = 8;
        assert_eq!(descriptors_reserved(&daemon), 64 + 16 + 32);
        let second = daemon.markets[0].clone();
        daemon.markets.push(second);
        assert_eq!(descriptors_reserved(&daemon), 64 + 32 + 64);
    }
}
