//! The world's one queue: what happens next, and what follows from it.
//!
//! Everything that the program's shell does with sockets, files and timers is a function here. Nothing
//! about prices, orders or balances is decided in this file.

mod answers;
mod ending;
mod look;
mod shell;
mod start;
mod store;
mod troubles;
mod wire;

use cambist_core::action::Action;
use cambist_core::config::MarketConfig;
use cambist_core::event::{Command, Event};
use cambist_core::market::MarketSpec;
use cambist_core::pool::PoolSpec;
use cambist_core::request::{Outcome, RequestId};
use cambist_core::{Amount, Time, VenueTime};
use cambist_report::Session;
use cambist_venue::{Random, Request};

use crate::checks::Checks;
use crate::conduct::Conduct;
use crate::config::{WorldConfig, WorldError};
use crate::daemon::Daemon;
use crate::disk::Disk;
use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::network::Network;
use crate::outcome::Counts;
use crate::queue::Queue;
use crate::sealer::Sealer;
use crate::storms::Storms;
use crate::trace::Trace;
use crate::trouble::Trouble;
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
    /// A storm begins or ends.
    Weather,
    /// A trouble may begin.
    Trouble,
    /// A trouble ends.
    Relief(Trouble),
    /// The person looks after the daemon.
    Care,
}

/// Engine and venue with everything between them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not states of one thing"
)]
pub struct World {
    config: WorldConfig,
    now: Time,
    queue: Queue<Happening>,
    specs: Vec<MarketSpec>,
    pools: Vec<PoolSpec>,
    exchange: Exchange,
    network: Network,
    storms: Storms,
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
    conduct: Conduct,
    trace: Trace,
    counts: Counts,
    tap: Option<Tap>,
    /// The first broken promise ends the watching.
    tap_ends: bool,
    actions: Vec<Action>,
}

impl World {
    /// A world at its beginning.
    pub fn new(config: WorldConfig) -> Result<Self, WorldError> {
        let mut random = Random::new(config.seed);
        let exchange = Exchange::new(&config, random.next_u64())?;
        let network = Network::new(config.network.clone(), random.fork());
        let specs = specs(&config, &exchange)?;
        let pools = crate::pool::specs(&specs, exchange.venue());
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
            session: Session::new(&specs).with_pools(&pools),
            specs,
            pools,
            exchange,
            network,
            disk: Disk::default(),
            disk_busy: Time(0),
            flushing: false,
            sealer: config.sealer,
            chance: random.fork(),
            storms: Storms::new(random.fork()),
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
            conduct: Conduct::default(),
            trace: Trace::default(),
            counts: Counts::default(),
            tap: None,
            tap_ends: false,
            actions: Vec::new(),
            config,
        };
        world.plan_trade();
        world.plan_doom();
        world.plan_storms();
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
        let faults = self.network.faults();
        self.happen(what);
        self.take_trades();
        if self.network.faults() > faults {
            let felt_ms = self.config.engine.request_timeout_ms + self.longest_ms();
            self.storms.disturb(at.plus_ms(felt_ms));
        }
        self.sample();
        if self.tap_ends && !self.checks.violations().is_empty() {
            self.tap = None;
        }
        let every = self.config.audit_steps;
        if every > 0 && self.checks.steps().is_multiple_of(every) {
            self.checks.audit(self.exchange.venue());
        }
        true
    }

    /// Writes down what was traded since the last look.
    pub(super) fn take_trades(&mut self) {
        for executed in self.exchange.executed() {
            self.truth.trade(&executed);
        }
    }

    /// Looks now and then whether own orders rest on both sides of every market, in healthy time.
    pub(super) fn sample(&mut self) {
        if self.now < self.sample_at || self.ending || self.truth.count() == 0 {
            return;
        }
        self.sample_at = self.now.plus_ms(SAMPLE_MS);
        if !self.is_healthy() {
            return;
        }
        self.exchange.advance(self.now);
        self.take_trades();
        self.truth.prune(self.exchange.venue());
        self.counts.samples += 1;
        let both = self
            .specs
            .iter()
            .all(|spec| self.truth.rests_on_both(spec.id));
        self.counts.samples_both += u64::from(both);
    }

    /// No fault within ttl and grace, and enough of both tokens of every market for an order of every
    /// strategy on both sides, within the band.
    fn is_healthy(&self) -> bool {
        let engine = &self.config.engine;
        let felt = self
            .storms
            .disturbed
            .plus_ms(engine.ttl_ms + engine.grace_ms);
        self.now > felt
            && self.daemon.is_some()
            && self
                .specs
                .iter()
                .zip(&engine.markets)
                .all(|(spec, limits)| self.has_both(spec, limits))
    }

    fn has_both(&self, spec: &MarketSpec, limits: &MarketConfig) -> bool {
        let Some(own) = self.exchange.venue().account(OWN_ACCOUNT) else {
            return false;
        };
        let wanted = self
            .config
            .seats
            .iter()
            .filter(|seat| usize::from(seat.market.0) == usize::from(spec.id.0))
            .map(|seat| seat.order_base)
            .sum::<Amount>();
        let Some(quote) = spec.quote_amount(limits.price_max, spec.lots_floor(wanted)) else {
            return false;
        };
        let (base_held, quote_held) = (
            own.balance(spec.base.id).total,
            own.balance(spec.quote.id).total,
        );
        base_held >= limits.inventory_min + wanted
            && base_held + wanted <= limits.inventory_max
            && quote_held >= quote
    }

    /// An operator speaks now.
    pub fn command(&mut self, command: Command) {
        self.queue.plan(self.now, Happening::Operator(command));
    }

    /// The daemon dies now and starts again later from what is durable.
    pub fn crash(&mut self) {
        if self.daemon.is_none() {
            return;
        }
        self.stop();
        self.counts.crashes += 1;
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.storms.disturb(again);
        self.queue.plan(again, Happening::Start);
    }

    /// The daemon is gone, with everything that was not durable.
    fn stop(&mut self) {
        self.daemon = None;
        self.crash_after = None;
        self.disk.crash(&mut self.random);
        self.disk_busy = self.now;
        self.flushing = false;
        self.checks.crashed(self.disk.durable());
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
        self.relieve_all();
    }

    /// Whether it is the daemon's to hear: a host that sleeps hears nothing.
    const fn is_heard(what: &Happening) -> bool {
        match what {
            Happening::Start
            | Happening::Operator(_)
            | Happening::Wake { .. }
            | Happening::Answer { .. }
            | Happening::Synced { .. } => true,
            Happening::Doom
            | Happening::Arrival { .. }
            | Happening::Trade
            | Happening::Weather
            | Happening::Trouble
            | Happening::Relief(_)
            | Happening::Care => false,
        }
    }

    fn happen(&mut self, what: Happening) {
        let until = self.storms.held_until;
        if self.now < until && Self::is_heard(&what) {
            if let (Happening::Wake { incarnation }, Some(daemon)) = (&what, &mut self.daemon)
                && *incarnation == daemon.incarnation
                && daemon.wake == Some(self.now)
            {
                daemon.wake = Some(until);
            }
            self.queue.plan(until, what);
            return;
        }
        match what {
            Happening::Start if self.daemon.is_some() => {}
            Happening::Start => self.start(),
            Happening::Doom if self.calmed => {}
            Happening::Doom if !self.storms.stormy => self.plan_doom(),
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
                self.exchange.trade(self.now);
                self.plan_trade();
            }
            Happening::Weather => self.turn(),
            Happening::Trouble => self.trouble(),
            Happening::Relief(kind) => self.relieve(kind),
            Happening::Care => self.look_after(),
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
