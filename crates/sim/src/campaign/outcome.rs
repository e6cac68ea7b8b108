//! One complete run and its outcome.

use cambist_core::Time;
use cambist_core::notification::Notification;
use cambist_report::{Closing, Summary};
use serde::Serialize;

use crate::config::{WorldConfig, WorldError};
use crate::invariants::checks::Violation;
use crate::invariants::stated_loss::Losses;
use crate::trace::TraceHash;
use crate::world::World;

/// Counts over all starts of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Orders sent, first transmissions.
    pub orders: u64,
    /// Swaps with pools among them, and those that a pool executed.
    pub swaps: u64,
    /// As above.
    pub swapped: u64,
    /// Further transmissions.
    pub resent: u64,
    /// Orders that the venue accepted.
    pub taken: u64,
    /// Fill increments booked.
    pub fills: u64,
    /// Fills of our orders at the venue.
    pub traded: u64,
    /// Requests of every kind.
    pub requests: u64,
    /// Requests, orders and cancels that reached a venue with counters, copies that the network made among them.
    pub rate_counted: u64,
    /// Those of them that it refused because there were too many.
    pub rate_refused: u64,
    /// Wake-ups of the engine without an action.
    pub idle_wakeups: u64,
    /// Answers without a known result.
    pub unknown: u64,
    /// Faults injected.
    pub faults: u64,
    /// Crashes.
    pub crashes: u64,
    /// Samples of own orders at the venue, from the first accepted one to the end of market making.
    pub samples: u64,
    /// Samples with own orders on both sides of every market.
    pub samples_both: u64,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The world's seed.
    pub seed: u64,
    /// Simulated time at the end, milliseconds.
    pub simulated_ms: u64,
    /// Events processed.
    pub steps: u64,
    /// Orders sent.
    pub orders: u64,
    /// Fill increments booked.
    pub fills: u64,
    /// Share of time with own orders on both sides at the venue, downtime and faults included.
    pub quoted_ratio: f64,
    /// All counts.
    pub counts: Counts,
    /// Losses at losses of control, with the stated bounds.
    pub losses: Losses,
    /// Whether draining proved that no own order rests.
    pub proven: bool,
    /// Violated invariants.
    pub violations: Vec<Violation>,
    /// Violations beyond those that are kept.
    pub violations_dropped: u64,
    /// Hash of all events and actions of the engine.
    pub trace_hash: TraceHash,
    /// The session's summary.
    pub summary: Summary,
}

impl Outcome {
    /// Adds a second world of the same run. The summary stays that of the first.
    pub(crate) fn add(&mut self, other: Self) {
        self.simulated_ms = self.simulated_ms.max(other.simulated_ms);
        self.steps += other.steps;
        self.orders += other.orders;
        self.fills += other.fills;
        self.counts.add(other.counts);
        self.quoted_ratio = self.counts.quoted_ratio();
        self.losses.add(other.losses);
        self.proven &= other.proven;
        self.violations.extend(other.violations);
        self.violations_dropped += other.violations_dropped;
        self.trace_hash = self.trace_hash.with(other.trace_hash);
    }
}

/// Makes a market with faults for the configured time, ends all faults, waits until quotes rest again, and drains.
pub fn run(config: WorldConfig) -> Result<Outcome, WorldError> {
    let mut world = World::new(config)?;
    let proven = world.play();
    Ok(world.outcome(proven))
}

impl Counts {
    /// Adds those of another world.
    fn add(&mut self, other: Self) {
        self.orders += other.orders;
        self.swaps += other.swaps;
        self.swapped += other.swapped;
        self.resent += other.resent;
        self.taken += other.taken;
        self.fills += other.fills;
        self.traded += other.traded;
        self.requests += other.requests;
        self.rate_counted += other.rate_counted;
        self.rate_refused += other.rate_refused;
        self.idle_wakeups += other.idle_wakeups;
        self.unknown += other.unknown;
        self.faults += other.faults;
        self.crashes += other.crashes;
        self.samples += other.samples;
        self.samples_both += other.samples_both;
    }

    /// Counts a notification.
    pub(crate) fn observe(&mut self, notification: &Notification) {
        self.orders += u64::from(matches!(
            notification,
            Notification::Submitted { .. } | Notification::SwapSubmitted { .. }
        ));
        self.swaps += u64::from(matches!(notification, Notification::SwapSubmitted { .. }));
        self.resent += u64::from(matches!(notification, Notification::Resent { .. }));
        self.unknown += u64::from(matches!(notification, Notification::Unknown { .. }));
        self.fills += u64::from(matches!(notification, Notification::Filled(_)));
    }

    /// Share of time with own orders on both sides at the venue, downtime and faults included.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    pub fn quoted_ratio(&self) -> f64 {
        self.samples_both as f64 / self.samples.max(1) as f64
    }
}

impl World {
    /// All phases of [`run`]; false if the end was not proven.
    pub fn play(&mut self) -> bool {
        self.run_until(Time::from_ms(self.config().duration_ms));
        self.calm();
        self.recover();
        self.end()
    }

    /// The outcome so far.
    pub fn outcome(&self, proven: bool) -> Outcome {
        let counts = self.counts();
        let closing = Closing {
            seed: Some(self.config().seed),
            duration_s: std::time::Duration::from_micros(self.now().0).as_secs_f64(),
            resting_after: proven.then(|| self.resting()),
            residual_units: self.residual(),
            replay_equal: None,
        };
        Outcome {
            seed: self.config().seed,
            simulated_ms: self.now().as_ms(),
            steps: self.steps(),
            orders: counts.orders,
            fills: counts.fills,
            quoted_ratio: counts.quoted_ratio(),
            counts,
            losses: self.losses(),
            proven,
            violations: self.violations().to_vec(),
            violations_dropped: self.violations_dropped(),
            trace_hash: self.trace_hash(),
            summary: self
                .session()
                .summary(self.shown(), &closing, |reason| format!("{reason:?}")),
        }
    }
}
