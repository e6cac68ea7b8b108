//! The world's one queue: what happens next, and what follows from it.
//!
//! Everything that the program's shell does with sockets, files and timers is a function here. Nothing
//! about prices, orders or balances is decided in this file.

mod ending;
mod look;
mod shell;
mod start;
mod store;
mod wire;

use cambist_core::action::Action;
use cambist_core::event::{Command, Event};
use cambist_core::market::MarketSpec;
use cambist_core::request::{Outcome, RequestId};
use cambist_core::{Time, VenueTime};
use cambist_report::Session;
use cambist_venue::{Random, Request};

use crate::checks::Checks;
use crate::config::{WorldConfig, WorldError};
use crate::daemon::Daemon;
use crate::disk::Disk;
use crate::exchange::Exchange;
use crate::network::Network;
use crate::outcome::Counts;
use crate::queue::Queue;
use crate::sealer::Sealer;
use crate::trace::Trace;
use crate::truth::Truth;

use start::{specs, strategies};

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
    pub(super) fn sample(&mut self) {
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

    pub(super) fn is_alive(&self, incarnation: u32) -> bool {
        self.daemon
            .as_ref()
            .is_some_and(|daemon| daemon.incarnation == incarnation)
    }

    pub(super) fn plan_trade(&mut self) {
        if let Some(next) = self.exchange.next_trade() {
            self.queue.plan(next.max(self.now), Happening::Trade);
        }
    }

    /// Plans the next crash, unless faults have ended.
    pub(super) fn plan_doom(&mut self) {
        let mean_us = self.config.crash.mean_ms * 1_000;
        if mean_us > 0 && !self.calmed {
            let at = Time(self.now.0 + self.chance.between(1, 2 * mean_us));
            self.queue.plan(at, Happening::Doom);
        }
    }
}
