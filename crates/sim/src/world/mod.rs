//! The world's event queue: the next event, and its effects.
//!
//! The program's shell with its sockets, files and timers is a set of functions here. Nothing about prices, orders or
//! balances is decided in this file.

pub(crate) mod answer_faults;
mod chain;
mod contest;
pub(crate) mod control_loss;
pub(crate) mod driver;
mod ending;
pub(crate) mod events;
pub(crate) mod fault_schedule;
pub(crate) mod faults;
pub(crate) mod inspection;
pub(crate) mod late_arrivals;
mod limits;
pub(crate) mod list_faults;
pub(crate) mod operator;
mod portfolio;
pub(crate) mod processes;
pub(crate) mod quoting_uptime;
mod references;
mod reloads;
pub(crate) mod resting_bounds;
pub(crate) mod sealing;
pub(crate) mod snapshot_replica;
mod start;
mod wire;

use std::collections::BTreeMap;

use cambist_core::action::Action;
use cambist_core::event::{Command, Event};
use cambist_core::market::MarketSpec;
use cambist_core::pool::PoolSpec;
use cambist_core::{Amount, Hash, Time, TokenId};
use cambist_profit_check::Profit;
use cambist_report::Session;
use cambist_venue::Random;

use crate::campaign::outcome::Counts;
use crate::chain::link::Link;
use crate::config::{WorldConfig, WorldError};
use crate::daemon::Daemon;
use crate::exchange::Exchange;
use crate::faults::active::ActiveFaults;
use crate::faults::disk::Disk;
use crate::faults::network::Network;
use crate::invariants::books::Ledger;
use crate::invariants::checks::Checks;
use crate::invariants::ground_truth::GroundTruth;
use crate::invariants::limits::Limits;
use crate::invariants::sending::SendingRules;
use crate::invariants::stated_loss::Meter;
use crate::invariants::table::Invariant;
use crate::invariants::unquoted::Unquoted;
use crate::portfolio::Part;
use crate::queue::Queue;
use crate::remote::{Connection, Remote};
use crate::sealer::Sealer;
use crate::trace::Trace;

use crate::world::events::WorldEvent;
pub(crate) use crate::world::snapshot_replica::SnapshotReplica;
use portfolio::OtherVenues;
use processes::Processes;
use references::References;
use reloads::Reloads;
pub(crate) use start::specs;
use start::strategies;
pub(crate) use wire::turned;

/// An observer of every step of the engine: engine time, event, actions.
pub type Tap = Box<dyn FnMut(Time, &Event, &[Action])>;

/// Engine, venue and everything between them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not states of one thing"
)]
pub struct World {
    config: WorldConfig,
    now: Time,
    queue: Queue<WorldEvent>,
    specs: Vec<MarketSpec>,
    pools: Vec<PoolSpec>,
    exchange: Exchange,
    connection: Option<Connection>,
    /// The chain, where that is the venue.
    chain: Option<Link>,
    network: Network,
    active_faults: ActiveFaults,
    disk: Disk,
    /// End of the last planned sync: syncs are sequential.
    disk_busy: Time,
    flushing: bool,
    sealer: Sealer,
    /// Random stream of store and restarts.
    random: Random,
    daemon: Option<Daemon>,
    starts: u32,
    /// Random stream of crashes.
    chance: Random,
    /// Whether faults have ended.
    calmed: bool,
    /// Whether market making has ended.
    ending: bool,
    /// Commands of the operator about the books that the daemon has not executed yet.
    explanations: u32,
    /// What the command that is executed now explains.
    adopted: Option<(TokenId, i128)>,
    /// Time of the next sample of own orders at the venue.
    sample_at: Time,
    /// Time of the next check for orders that rest although they should not.
    linger_at: Time,
    /// Crash after this many further actions.
    crash_after: Option<u64>,
    finished: Option<bool>,
    /// The last time of the engine's clock.
    shown: Time,
    session: Session,
    profit: Profit,
    ground_truth: GroundTruth,
    checks: Checks,
    sending_rules: SendingRules,
    limits: Option<Limits>,
    ledger: Option<Ledger>,
    reloads: Reloads,
    processes: Processes,
    references: References,
    others: OtherVenues,
    /// The part in a portfolio of worlds.
    part: Option<Part>,
    trace: Trace,
    counts: Counts,
    loss: Meter,
    unquoted: Unquoted,
    /// Number of losses of control, and until when the last one keeps the daemon down.
    fallen: u64,
    dead_until: Time,
    /// Orders that the exchange had when the daemon no longer did, and what they had filled, base units.
    forgotten: BTreeMap<Hash, Amount>,
    tap: Option<Tap>,
    /// Whether the first violation ends the observation.
    tap_ends: bool,
    actions: Vec<Action>,
}

impl World {
    /// A world before its first event.
    pub fn new(config: WorldConfig) -> Result<Self, WorldError> {
        Self::connected(config, None)
    }

    /// A world whose engine gets the answers of another exchange. That exchange begins with the listed tokens and
    /// markets and nothing else.
    pub fn beside(config: WorldConfig, remote: Box<dyn Remote>) -> Result<Self, WorldError> {
        Self::connected(config, Some(Connection::new(remote)))
    }

    fn connected(
        mut config: WorldConfig,
        connection: Option<Connection>,
    ) -> Result<Self, WorldError> {
        let reloads = Reloads::begin(&mut config);
        let mut random = Random::new(config.seed);
        let exchange = Exchange::new(&config, random.next_u64(), connection.is_some())?;
        let network = Network::new(config.network.clone(), random.fork());
        let specs = specs(&config, &exchange)?;
        // Where no strategy uses pools, the engine is not configured for them.
        let pools = if config.engine.pools.is_empty() {
            Vec::new()
        } else {
            let pools = crate::workload::pool::specs(&specs, exchange.venue());
            chain::as_ranges(&config, pools)
        };
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
        let chain = chain::link(&config, (&specs, &pools), &exchange);
        let mut world = Self {
            now: Time(0),
            queue: Queue::new(),
            session: Session::new(&specs).with_pools(&pools),
            profit: Profit::begin(&specs, &pools),
            specs,
            pools,
            exchange,
            connection,
            chain,
            network,
            disk: Disk::default(),
            disk_busy: Time(0),
            flushing: false,
            sealer: config.sealer,
            chance: random.fork(),
            active_faults: ActiveFaults::new(random.fork()),
            calmed: false,
            ending: false,
            explanations: 0,
            adopted: None,
            sample_at: Time(0),
            linger_at: Time(0),
            random,
            daemon: None,
            starts: 0,
            crash_after: None,
            finished: None,
            shown: Time(0),
            ground_truth: GroundTruth::default(),
            checks: Checks::new(config.seed),
            sending_rules: SendingRules::default(),
            limits: None,
            ledger: None,
            reloads,
            processes: Processes::new(config.seed),
            references: References::new(config.seed, &config.references),
            others: OtherVenues::new(config.seed),
            part: None,
            trace: Trace::default(),
            counts: Counts::default(),
            loss: Meter::default(),
            unquoted: Unquoted::default(),
            fallen: 0,
            dead_until: Time(0),
            forgotten: BTreeMap::new(),
            tap: None,
            tap_ends: false,
            actions: Vec::new(),
            config,
        };
        world.forward_others();
        world.plan_trade();
        world.plan_block();
        world.plan_crash();
        world.plan_fall();
        world.plan_faults();
        let start = Time::from_ms(world.config.start_ms);
        world.queue.plan(start, WorldEvent::Start);
        Ok(world)
    }

    /// Runs until the simulated time `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.queue.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// When the next event is due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.queue.next_at()
    }

    /// Processes the next event; false if none is planned.
    pub fn step(&mut self) -> bool {
        let Some((at, what)) = self.queue.pop() else {
            return false;
        };
        self.sample_before(at);
        self.now = at;
        self.checks.begin(at);
        let faults = self.network.faults();
        self.are_configured(what);
        self.forward_others();
        self.take_trades();
        self.end_finished_span();
        let found = self.exchange.found();
        self.break_rules(found);
        if self.network.faults() > faults {
            let felt_ms = self.config.engine.request_timeout_ms + self.longest_ms();
            self.active_faults.obstruct(at.plus_ms(felt_ms));
        }
        self.check_resting();
        if self.tap_ends && !self.checks.violations().is_empty() {
            self.tap = None;
        }
        let every = self.config.audit_steps;
        if every > 0 && self.checks.steps().is_multiple_of(every) {
            self.checks.audit(self.exchange.venue());
            let found = self.exchange.oracle().audit(self.exchange.venue());
            self.break_rules(found);
        }
        true
    }

    /// The connected exchange gets what others requested.
    fn forward_others(&mut self) {
        if let Some(connection) = &mut self.connection {
            for (now, caller, request, granted) in self.exchange.take_others() {
                connection.remote.other(now, &caller, &request, granted);
            }
        }
    }

    /// Records trades since the last call.
    pub(super) fn take_trades(&mut self) {
        for executed in self.exchange.executed() {
            self.ground_truth.trade(&executed, &mut self.loss);
        }
        self.ground_truth
            .swap(self.exchange.venue(), &mut self.loss);
        if let Some(most) = self.config.open_leg_max {
            let open = self.ground_truth.base_open();
            if open.unsigned_abs() > most {
                let detail = format!("{open} base units between two legs, of {most}");
                self.checks.fail(Invariant::OpenLeg, detail);
            }
        }
    }

    /// Passes an operator's command now.
    pub fn command(&mut self, command: Command) {
        self.explanations += u32::from(operator::is_about_books(&command));
        self.queue.plan(self.now, WorldEvent::Operator(command));
    }

    /// The daemon crashes now and starts again later from the durable state.
    pub fn crash(&mut self) {
        if self.daemon.is_none() {
            return;
        }
        self.stop();
        self.counts.crashes += 1;
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.active_faults.obstruct(again);
        self.queue.plan(again, WorldEvent::Start);
    }

    /// Stops the daemon: everything that was not durable is lost.
    fn stop(&mut self) {
        self.lose_control();
        self.daemon = None;
        self.crash_after = None;
        for write in self.disk.crash(&mut self.random) {
            self.active_faults.explained_in_vain(&write);
        }
        self.explain_again();
        self.stop_on_chain();
        self.disk_busy = self.now;
        self.flushing = false;
        self.checks.crashed(self.disk.durable());
    }

    /// The daemon crashes before its `actions`-th further action, which may be within a step.
    pub const fn crash_after(&mut self, actions: u64) {
        self.crash_after = Some(actions);
    }

    /// Whether a planned crash is still to come.
    pub const fn crash_is_planned(&self) -> bool {
        self.crash_after.is_some()
    }

    /// Ends all faults.
    pub fn calm(&mut self) {
        self.calmed = true;
        self.network.calm();
        self.crash_after = None;
        self.end_all_faults();
        self.relax();
    }
}
