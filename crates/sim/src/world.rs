//! The world's one queue: what happens next, and what follows from it.
//!
//! Everything that the program's shell does with sockets, files and timers is a function here. Nothing
//! about prices, orders or balances is decided in this file.

use std::collections::BTreeMap;

use cambist_core::action::Action;
use cambist_core::event::{Command, Event, Level, Start};
use cambist_core::market::{MarketError, MarketSpec};
use cambist_core::note::Note;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Outcome, RequestId, UnknownCause};
use cambist_core::strategy::Strategy;
use cambist_core::{Amount, ClientOrderId, Engine, Hash, StrategyId, Time, TokenId, VenueTime};
use cambist_report::Session;
use cambist_venue::{Random, Request, Response};

use crate::adapter;
use crate::checks::{Checks, Violation};
use crate::config::{WorldConfig, WorldError};
use crate::daemon::{Daemon, Monotonic};
use crate::defect::Defect;
use crate::disk::{Disk, Write};
use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::network::{Inbound, Network, Outbound};
use crate::outcome::Counts;
use crate::queue::Queue;
use crate::sealer::Sealer;
use crate::trace::{Trace, TraceHash};
use crate::truth::Truth;

/// The installation's number in every world.
const INSTANCE: u32 = 0x00ca_b157;

/// Time for polls, passes and proofs after a fault, on top of what the fence needs.
const RECOVERY_MS: u64 = 30_000;

/// Between two looks at own orders at the venue.
const SAMPLE_MS: u64 = 200;

/// Somebody who watches every step of the engine: time of the engine, event, actions.
pub type Tap = Box<dyn FnMut(Time, &Event, &[Action])>;

/// One thing that will happen.
enum Happening {
    /// The daemon starts.
    Start,
    /// The daemon is to die soon.
    Doom,
    /// An operator speaks.
    Operator(Command),
    /// The engine wanted to be woken.
    Wake { incarnation: u32 },
    /// A request reaches the venue. Copies go unanswered.
    Arrival {
        from: (u32, RequestId),
        request: Box<Request>,
        copy: bool,
    },
    /// A request of the daemon ends.
    Answer {
        to: (u32, RequestId),
        outcome: Box<Outcome>,
        venue_time: Option<VenueTime>,
    },
    /// A sync ends; the event is what the engine is told.
    Synced {
        incarnation: u32,
        upto: u64,
        event: Option<Box<Event>>,
    },
    /// Background traders want to act.
    Trade,
}

/// Engine and venue with everything between them.
pub struct World {
    config: WorldConfig,
    now: Time,
    queue: Queue<Happening>,
    specs: Vec<MarketSpec>,
    exchange: Exchange,
    network: Network,
    disk: Disk,
    /// When the last sync ends: one follows the other.
    disk_busy: Time,
    flushing: bool,
    sealer: Sealer,
    /// Chance of store and restarts.
    random: Random,
    daemon: Option<Daemon>,
    starts: u32,
    /// Chance of crashes.
    chance: Random,
    /// Faults have ended.
    calmed: bool,
    /// Market making has ended.
    ending: bool,
    /// When own orders at the venue are looked at next.
    sample_at: Time,
    /// Crash after so many further actions.
    crash_after: Option<u64>,
    finished: Option<bool>,
    /// The newest time that the engine's clock showed.
    shown: Time,
    session: Session,
    truth: Truth,
    checks: Checks,
    trace: Trace,
    counts: Counts,
    tap: Option<Tap>,
    actions: Vec<Action>,
}

impl World {
    /// A world at its beginning.
    pub fn new(config: WorldConfig) -> Result<Self, WorldError> {
        let mut random = Random::new(config.seed);
        let exchange = Exchange::new(&config, random.next_u64())?;
        let network = Network::new(config.network.clone(), random.fork());
        let specs = specs(&config, &exchange)?;
        let outside = |market: usize| market >= specs.len();
        if specs.len() != config.engine.markets.len()
            || config
                .seats
                .iter()
                .any(|seat| outside(seat.market.0.into()))
        {
            return Err(WorldError::Markets {
                markets: specs.len(),
                limits: config.engine.markets.len(),
            });
        }
        strategies(&config, &specs)?;
        let mut world = Self {
            now: Time(0),
            queue: Queue::new(),
            session: Session::new(&specs),
            specs,
            exchange,
            network,
            disk: Disk::default(),
            disk_busy: Time(0),
            flushing: false,
            sealer: Sealer::default(),
            chance: random.fork(),
            calmed: false,
            ending: false,
            sample_at: Time(0),
            random,
            daemon: None,
            starts: 0,
            crash_after: None,
            finished: None,
            shown: Time(0),
            truth: Truth::default(),
            checks: Checks::new(config.seed),
            trace: Trace::default(),
            counts: Counts::default(),
            tap: None,
            actions: Vec::new(),
            config,
        };
        world.plan_trade();
        world.plan_doom();
        let start = Time::from_ms(world.config.start_ms);
        world.queue.plan(start, Happening::Start);
        Ok(world)
    }

    /// Lets someone watch every step of the engine.
    pub fn watch(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// The world's time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Steps so far.
    pub const fn steps(&self) -> u64 {
        self.checks.steps()
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        Counts {
            faults: self.network.faults(),
            taken: self.truth.count(),
            traded: self.truth.fills(),
            ..self.counts
        }
    }

    /// The session of the present or last start.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The markets as the engine trades them.
    pub fn specs(&self) -> &[MarketSpec] {
        &self.specs
    }

    /// The exchange.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The store.
    pub const fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Promises that were not kept.
    pub fn violations(&self) -> &[Violation] {
        self.checks.violations()
    }

    /// Violations beyond those that are kept.
    pub const fn violations_dropped(&self) -> u64 {
        self.checks.dropped()
    }

    /// The hash of everything the engine heard and did.
    pub fn trace_hash(&self) -> TraceHash {
        self.trace.hash()
    }

    /// Whether the daemon has ended, and with what proof.
    pub const fn finished(&self) -> Option<bool> {
        self.finished
    }

    /// Own orders open at the venue.
    pub(crate) fn resting(&self) -> u64 {
        let own = self.exchange.venue().account(OWN_ACCOUNT);
        own.map_or(0, |account| u64::from(account.open_orders()))
    }

    /// The engine's books less the venue's, by token.
    pub(crate) fn residual(&self) -> BTreeMap<TokenId, i128> {
        let ledger = &self.session.status().ledger;
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        self.exchange
            .held(&self.specs)
            .into_iter()
            // A start that ended before its opening has no books to compare.
            .filter(|_| !ledger.is_empty())
            .map(|(token, held)| {
                let ours = ledger.get(&token).copied().unwrap_or(0);
                (token, signed(ours).saturating_sub(signed(held)))
            })
            .collect()
    }

    /// The newest time that the engine's clock showed.
    pub(crate) const fn shown(&self) -> Time {
        self.shown
    }

    /// The configuration.
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// Runs until the world's time is `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.queue.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Lets the next thing happen; false when nothing is planned.
    pub fn step(&mut self) -> bool {
        let Some((at, what)) = self.queue.pop() else {
            return false;
        };
        self.now = at;
        self.checks.begin(at);
        self.happen(what);
        self.sample();
        let every = self.config.audit_steps;
        if every > 0 && self.checks.steps().is_multiple_of(every) {
            self.checks.audit(self.exchange.venue());
        }
        true
    }

    /// Looks now and then whether own orders rest on both sides of every market.
    fn sample(&mut self) {
        if self.now < self.sample_at || self.ending || self.truth.count() == 0 {
            return;
        }
        self.sample_at = self.now.plus_ms(SAMPLE_MS);
        self.exchange.advance(self.now);
        self.truth.prune(self.exchange.venue());
        self.counts.samples += 1;
        let both = self
            .specs
            .iter()
            .all(|spec| self.truth.rests_on_both(spec.id));
        self.counts.samples_both += u64::from(both);
    }

    /// An operator speaks now.
    pub fn command(&mut self, command: Command) {
        self.queue.plan(self.now, Happening::Operator(command));
    }

    /// The daemon dies now and starts again later from what is durable.
    pub fn crash(&mut self) {
        if self.daemon.take().is_none() {
            return;
        }
        self.crash_after = None;
        self.counts.crashes += 1;
        self.disk.crash(&mut self.random);
        self.disk_busy = self.now;
        self.flushing = false;
        self.checks.crashed(self.disk.durable());
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.queue.plan(again, Happening::Start);
    }

    /// The daemon dies before it performs its `actions`-th further action, which may lie in the middle
    /// of a step.
    pub const fn crash_after(&mut self, actions: u64) {
        self.crash_after = Some(actions);
    }

    /// Whether a planned crash has not come yet.
    pub const fn crash_is_planned(&self) -> bool {
        self.crash_after.is_some()
    }

    /// Ends all faults.
    pub fn calm(&mut self) {
        self.calmed = true;
        self.network.calm();
        self.crash_after = None;
    }

    /// Waits, once faults have ended, until an own order rests that was made after them. By then every
    /// order in doubt has had time to expire, so that taking longer is a violation.
    pub fn recover(&mut self) {
        let engine = &self.config.engine;
        let under_way = 3 * self.longest_ms() + 2 * engine.request_timeout_ms;
        let bound = under_way
            + self.config.store.restart_ms
            + engine.ttl_ms
            + engine.grace_ms
            + RECOVERY_MS;
        let limit = self.now.plus_ms(bound);
        let before = self.truth.count();
        while self.truth.count() == before && self.queue.next_at().is_some_and(|at| at <= limit) {
            self.step();
        }
        if self.truth.count() == before {
            let detail = format!("no order for {bound} ms after the last fault");
            self.checks.fail("not_quoting", detail);
        }
    }

    const fn longest_ms(&self) -> u64 {
        self.config.network.latency_max_ms + self.config.network.reorder_ms
    }

    /// Ends market making: drains, waits until the daemon has finished and until no copy of a request
    /// is under way, and compares the books. False when it did not finish with proof.
    pub fn end(&mut self) -> bool {
        self.command(Command::Drain);
        self.ending = true;
        let engine = &self.config.engine;
        let limit = self.now.plus_ms(
            self.config.store.restart_ms + engine.drain_deadline_ms + 2 * engine.request_timeout_ms,
        );
        while self.finished.is_none() && self.queue.next_at().is_some_and(|at| at <= limit) {
            self.step();
        }
        let proven = self.finished == Some(true);
        if !proven {
            let detail = format!("draining ended with {:?}", self.finished);
            self.checks.fail("not_proven", detail);
        }
        self.settle(proven);
        proven
    }

    /// Lets what is under way arrive, then compares everything.
    fn settle(&mut self, proven: bool) {
        self.run_until(self.now.plus_ms(3 * self.longest_ms()));
        self.exchange.advance(self.now);
        if proven {
            let held = self.exchange.held(&self.specs);
            let ledger = self.session.status().ledger.clone();
            self.checks
                .at_the_end(&self.truth, &self.exchange, &ledger, &held);
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Start => self.start(),
            Happening::Doom if self.calmed => {}
            Happening::Doom => {
                let actions = self.chance.below(self.config.crash.actions_max);
                self.crash_after.get_or_insert(actions);
                self.plan_doom();
            }
            Happening::Operator(command) => {
                if self.daemon.is_some() {
                    self.hear(&Event::Operator(command));
                } else if self.finished.is_none() {
                    // Said again once somebody listens.
                    let again = self.now.plus_ms(100);
                    self.queue.plan(again, Happening::Operator(command));
                }
            }
            Happening::Wake { incarnation } => {
                let now = self.now;
                if self.is_alive(incarnation)
                    && self.daemon.as_ref().is_some_and(|d| d.wake == Some(now))
                {
                    self.hear(&Event::Wake);
                }
            }
            Happening::Arrival {
                from,
                request,
                copy,
            } => self.arrive(from, &request, copy),
            Happening::Answer {
                to,
                outcome,
                venue_time,
            } => self.answer(to, *outcome, venue_time),
            Happening::Synced {
                incarnation,
                upto,
                event,
            } => self.synced(incarnation, upto, event),
            Happening::Trade => {
                let truth = &mut self.truth;
                self.exchange
                    .trade(self.now, |trade| truth.trade(trade, None));
                self.plan_trade();
            }
        }
    }

    fn is_alive(&self, incarnation: u32) -> bool {
        self.daemon
            .as_ref()
            .is_some_and(|daemon| daemon.incarnation == incarnation)
    }

    fn plan_trade(&mut self) {
        if let Some(next) = self.exchange.next_trade() {
            self.queue.plan(next.max(self.now), Happening::Trade);
        }
    }

    /// Plans the next crash, unless faults have ended.
    fn plan_doom(&mut self) {
        let mean_us = self.config.crash.mean_ms * 1_000;
        if mean_us > 0 && !self.calmed {
            let at = Time(self.now.0 + self.chance.between(1, 2 * mean_us));
            self.queue.plan(at, Happening::Doom);
        }
    }

    /// The daemon starts from what is durable.
    fn start(&mut self) {
        self.starts += 1;
        let engine =
            strategies(&self.config, &self.specs).expect("checked when the world was made");
        let origin = Time(self.config.clock.engine_origin_us + self.random.below(1 << 40));
        let clock = Monotonic::new(self.now, origin, self.config.clock.engine_drift_ppm);
        let start = Event::Start(Box::new(self.start_event()));
        let durable = self.disk.durable();
        self.daemon = Some(Daemon {
            engine: Engine::new(engine),
            incarnation: self.starts,
            waiting: std::collections::BTreeSet::new(),
            sealed: durable
                .open()
                .into_iter()
                .map(|open| (open.order.client_id, (open.order, open.hash)))
                .collect(),
            wake: None,
            clock,
        });
        self.session = Session::new(&self.specs);
        self.hear(&start);
    }

    fn start_event(&mut self) -> Start {
        let durable = self.disk.durable();
        let restarted = |defect| self.config.defect == Some(defect) && self.starts > 1;
        let forgotten = restarted(Defect::CountersForgotten);
        let mut open = durable.open();
        if restarted(Defect::IntentsForgotten) {
            open.clear();
        }
        let fees = self.config.markets.iter().filter_map(|name| {
            let mut listed = self.config.venue.markets.iter();
            listed.find(|market| market.name == *name)
        });
        let [maker, taker] = fees.fold([0, 0], |[maker, taker], market| {
            [
                market.maker_fee_bips.max(maker),
                market.taker_fee_bips.max(taker),
            ]
        });
        Start {
            config: self.config.engine.clone(),
            markets: self.specs.clone(),
            strategies: (0..)
                .zip(&self.config.seats)
                .map(|(id, seat)| (StrategyId(id), seat.market))
                .collect(),
            seed: self.config.seed,
            instance: INSTANCE,
            next_number: if forgotten {
                1
            } else {
                durable.next_number.max(1)
            },
            next_storage: durable.next_storage.clone(),
            open,
            level: durable.level,
            venue_time: header_time(self.exchange.clock(self.now)),
            maker_fee_bips: u16::from(maker),
            taker_fee_bips: u16::from(taker),
        }
    }

    /// The engine hears an event, and what it wants is done.
    fn hear(&mut self, event: &Event) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        let shown = daemon.clock.at(self.now);
        self.shown = shown;
        daemon.engine.on_event(shown, event, &mut actions);
        self.trace.take(self.now, event, &actions);
        if let Some(tap) = &mut self.tap {
            tap(shown, event, &actions);
        }
        for action in actions.drain(..) {
            match &mut self.crash_after {
                Some(0) => {
                    self.crash();
                    break;
                }
                Some(left) => *left -= 1,
                None => {}
            }
            self.perform(shown, action);
        }
        actions.clear();
        self.actions = actions;
        self.plan_wake();
    }

    fn plan_wake(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let wake = daemon
            .engine
            .next_wakeup()
            .map(|shown| daemon.clock.when(shown).max(self.now));
        if daemon.wake == wake && wake.is_some_and(|at| at > self.now) {
            return;
        }
        daemon.wake = wake;
        if let Some(at) = wake {
            let incarnation = daemon.incarnation;
            self.queue.plan(at, Happening::Wake { incarnation });
        }
    }

    fn perform(&mut self, shown: Time, action: Action) {
        match action {
            Action::Send { request, query } => {
                let asked = adapter::request(OWN_ACCOUNT, &self.specs, &query);
                self.send(request, asked);
            }
            Action::Seal { batch, orders } => self.seal(batch, orders),
            Action::Transmit { request, order } => self.transmit(request, order),
            Action::StoreLevel { level, .. } => self.store_level(level),
            Action::Note(note) => self.note(shown, &note),
            Action::Finished { proven } => {
                self.finished = Some(proven);
                self.daemon = None;
            }
        }
    }

    fn note(&mut self, shown: Time, note: &Note) {
        match note {
            Note::Filled(fill) => {
                self.counts.fills += 1;
                self.disk.write(Write::Filled(fill.clone()));
                self.plan_flush();
            }
            Note::Ended { order, end, .. } => {
                self.disk.write(Write::Ended(*order, *end));
                self.plan_flush();
                if let Some(daemon) = &mut self.daemon {
                    daemon.sealed.remove(order);
                }
                self.exchange.advance(self.now);
            }
            Note::Submitted { .. } => self.counts.orders += 1,
            Note::Resent { .. } => self.counts.resent += 1,
            Note::Unknown { .. } => self.counts.unknown += 1,
            _ => {}
        }
        self.session.observe(shown, note);
        let venue = self.exchange.venue();
        self.checks
            .note(note, self.disk.durable(), &self.truth, venue);
    }

    fn sync_us(&mut self) -> Time {
        let store = &self.config.store;
        let took = self
            .random
            .between(store.seal_min_ms * 1_000, store.seal_max_ms * 1_000);
        let begins = self.disk_busy.max(self.now);
        self.disk_busy = Time(begins.0 + took);
        self.disk_busy
    }

    fn incarnation(&self) -> u32 {
        self.daemon.as_ref().map_or(0, |daemon| daemon.incarnation)
    }

    fn plan_sync(&mut self, upto: u64, event: Option<Event>) {
        let at = self.sync_us();
        let happening = Happening::Synced {
            incarnation: self.incarnation(),
            upto,
            event: event.map(Box::new),
        };
        self.queue.plan(at, happening);
    }

    fn plan_flush(&mut self) {
        if !self.flushing {
            self.flushing = true;
            let happening = Happening::Synced {
                incarnation: self.incarnation(),
                upto: u64::MAX,
                event: None,
            };
            let at = self.now.plus_ms(self.config.store.flush_ms);
            self.queue.plan(at, happening);
        }
    }

    fn synced(&mut self, incarnation: u32, upto: u64, event: Option<Box<Event>>) {
        if !self.is_alive(incarnation) && self.finished.is_none() {
            return;
        }
        self.disk.sync(upto);
        if event.is_none() {
            self.flushing = false;
        }
        if let Some(event) = event {
            self.hear(&event);
        }
    }

    fn seal(&mut self, batch: cambist_core::event::BatchId, orders: Vec<UnsignedOrder>) {
        let sealer = self.sealer;
        let sealed: Vec<_> = orders
            .into_iter()
            .map(|order| {
                let hash = sealer.hash(&order);
                (order, hash)
            })
            .collect();
        for (order, hash) in &sealed {
            self.checks.sealing(order, self.disk.durable());
            if let Some(daemon) = &mut self.daemon {
                daemon
                    .sealed
                    .insert(order.client_id, (order.clone(), *hash));
            }
        }
        let hashes = sealed
            .iter()
            .map(|(order, hash)| (order.client_id, *hash))
            .collect();
        let event = Event::Sealed { batch, hashes };
        let upto = if self.config.defect == Some(Defect::SyncSkipped) {
            0
        } else {
            self.disk.write(Write::Intents(sealed))
        };
        self.plan_sync(upto, Some(event));
    }

    fn store_level(&mut self, level: Level) {
        let upto = self.disk.write(Write::Level(level));
        self.plan_sync(upto, Some(Event::LevelStored(level)));
    }

    fn transmit(&mut self, request: RequestId, id: ClientOrderId) {
        let sealed = self
            .daemon
            .as_ref()
            .and_then(|d| d.sealed.get(&id).cloned());
        let Some((mut order, mut hash)) = sealed else {
            return self.checks.fail(
                "not_sealed",
                format!("{id} is to leave and was never sealed"),
            );
        };
        let again = self.checks.has_left(id);
        if again && self.config.defect == Some(Defect::IdsRenewed) {
            order.client_id.number += 1_000_000;
            order.storage_id += 1_000;
            hash = self.sealer.hash(&order);
        }
        self.checks
            .leaving(order.client_id, hash, self.disk.durable());
        let exchange = self.config.venue.exchange;
        self.send(
            request,
            adapter::submit(OWN_ACCOUNT, exchange, &order, hash),
        );
    }

    /// A request leaves, or does not.
    fn send(&mut self, request: RequestId, asked: Request) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        daemon.waiting.insert(request);
        self.counts.requests += 1;
        let from = (daemon.incarnation, request);
        let timeout = self.now.plus_ms(self.config.engine.request_timeout_ms);
        let ends = |at, outcome| {
            (
                at,
                Happening::Answer {
                    to: from,
                    outcome: Box::new(outcome),
                    venue_time: None,
                },
            )
        };
        let after = |us| Time(self.now.0 + us);
        let (at, end) = match self.network.outbound() {
            Outbound::NotSent { after_us } => ends(after(after_us), Outcome::NotSent),
            Outbound::Lost {
                broken_us: Some(us),
            } => ends(after(us), Outcome::Unknown(UnknownCause::Transport)),
            Outbound::Lost { broken_us: None } => {
                ends(timeout, Outcome::Unknown(UnknownCause::Timeout))
            }
            Outbound::Arrives { after_us, copy_us } => {
                let first = after(after_us);
                let copies = copy_us.map(after);
                if let Some(at) = copies {
                    let copy = Happening::Arrival {
                        from,
                        request: Box::new(asked.clone()),
                        copy: true,
                    };
                    self.queue.plan(at, copy);
                }
                let arrival = Happening::Arrival {
                    from,
                    request: Box::new(asked),
                    copy: false,
                };
                self.queue.plan(first, arrival);
                ends(timeout, Outcome::Unknown(UnknownCause::Timeout))
            }
        };
        self.queue.plan(at, end);
    }

    /// A request reaches the venue.
    fn arrive(&mut self, from: (u32, RequestId), request: &Request, copy: bool) {
        let answer = self.exchange.ask(self.now, request);
        if let (Request::Submit(order), Ok(Response::Submitted(submitted))) = (request, &answer) {
            self.taken(order.hash, submitted);
        }
        if copy {
            return;
        }
        let mut outcome = adapter::outcome(&self.specs, &answer);
        if let Some(defect) = self.config.defect {
            defect.distort(&mut outcome);
        }
        let venue_time = Some(header_time(self.exchange.clock(self.now)));
        let (after_us, outcome, venue_time) = match self.network.inbound() {
            Inbound::Lost { broken_us: None } => return,
            Inbound::Lost {
                broken_us: Some(us),
            } => (us, Outcome::Unknown(UnknownCause::Transport), None),
            Inbound::Garbled { after_us } => (
                after_us,
                Outcome::Unknown(UnknownCause::Undecodable),
                venue_time,
            ),
            Inbound::Arrives { after_us } => (after_us, outcome, venue_time),
        };
        let happening = Happening::Answer {
            to: from,
            outcome: Box::new(outcome),
            venue_time,
        };
        self.queue.plan(Time(self.now.0 + after_us), happening);
    }

    /// The venue took an order of ours.
    fn taken(&mut self, hash: Hash, submitted: &cambist_venue::Submitted) {
        let durable = self.disk.durable();
        let id: Option<ClientOrderId> = submitted.client_id.parse().ok();
        let intent = id.and_then(|id| durable.intents.get(&id));
        let before = self.truth.get(&hash).is_some();
        let order = intent
            .filter(|intent| intent.hash == hash)
            .map(|intent| (&intent.order, before));
        self.checks.taken(order, hash, durable);
        if let Some((order, _)) = order {
            self.truth.take(hash, order);
        }
        for trade in &submitted.trades {
            self.truth.trade(trade, Some(hash));
        }
        let venue = self.exchange.venue();
        self.truth.prune(venue);
        self.checks
            .book(&self.truth, &self.specs, &self.config.engine.markets, venue);
    }

    /// A request of the daemon ends, if it has not ended before.
    fn answer(
        &mut self,
        (incarnation, request): (u32, RequestId),
        outcome: Outcome,
        venue_time: Option<VenueTime>,
    ) {
        let waits = self
            .daemon
            .as_mut()
            .filter(|daemon| daemon.incarnation == incarnation)
            .is_some_and(|daemon| daemon.waiting.remove(&request));
        if waits {
            self.hear(&Event::Answer {
                request,
                outcome,
                venue_time,
            });
        }
    }
}

/// A clock as a Date header shows it: whole seconds.
const fn header_time(clock: VenueTime) -> VenueTime {
    VenueTime::from_s(clock.as_s())
}

fn specs(config: &WorldConfig, exchange: &Exchange) -> Result<Vec<MarketSpec>, WorldError> {
    let venue = exchange.venue();
    (0..)
        .zip(&config.markets)
        .map(|(id, name)| {
            let unlisted = || WorldError::Unlisted(name.clone());
            let listed = venue
                .market_id(name)
                .and_then(|id| venue.market(id))
                .ok_or_else(unlisted)?;
            let token = |id| venue.token(id).map(|token| token.spec.clone());
            let (base, quote) = token(listed.base)
                .zip(token(listed.quote))
                .ok_or_else(unlisted)?;
            let id = cambist_core::MarketId(id);
            let spec =
                MarketSpec::new(id, name, base, quote, listed.price_decimals, listed.enabled);
            spec.map_err(|error: MarketError| error.into())
        })
        .collect()
}

fn strategies(
    config: &WorldConfig,
    specs: &[MarketSpec],
) -> Result<Vec<Box<dyn Strategy>>, WorldError> {
    config
        .seats
        .iter()
        .map(|seat| {
            let name = || seat.strategy.clone();
            let info = cambist_strategies::find(&seat.strategy)
                .ok_or_else(|| WorldError::Strategy(name()))?;
            let table: toml::Table =
                seat.parameters
                    .parse()
                    .map_err(|error: toml::de::Error| WorldError::Table {
                        name: name(),
                        problem: error.to_string(),
                    })?;
            info.build_from(&table, &specs[usize::from(seat.market.0)])
                .map_err(|problem| WorldError::Parameters {
                    name: name(),
                    problem,
                })
        })
        .collect()
}
