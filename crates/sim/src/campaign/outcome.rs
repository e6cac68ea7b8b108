//! One run from beginning to end, and what came of it.

use cambist_core::Time;
use cambist_core::notification::Notification;
use cambist_report::{Closing, Summary};
use serde::Serialize;

use crate::config::{WorldConfig, WorldError};
use crate::invariants::checks::Violation;
use crate::invariants::stated_loss::Losses;
use crate::trace::TraceHash;
use crate::world::World;

/// What is counted over all starts of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Orders sent, first transmissions.
    pub orders: u64,
    /// Further transmissions.
    pub resent: u64,
    /// Orders the venue took.
    pub taken: u64,
    /// Fill increments booked.
    pub fills: u64,
    /// Trades of ours at the venue.
    pub traded: u64,
    /// Requests of every kind.
    pub requests: u64,
    /// Wakes of the engine that led to nothing.
    pub idle_wakes: u64,
    /// Answers that proved nothing.
    pub unknown: u64,
    /// Faults injected.
    pub faults: u64,
    /// Crashes.
    pub crashes: u64,
    /// Looks at own orders at the venue, from the first one taken to the end of market making.
    pub samples: u64,
    /// Looks that found them on both sides of every market.
    pub samples_both: u64,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The world's seed.
    pub seed: u64,
    /// Time of the world at the end.
    pub simulated_ms: u64,
    /// Things that happened.
    pub steps: u64,
    /// Orders sent.
    pub orders: u64,
    /// Fill increments booked.
    pub fills: u64,
    /// Share of time with own orders on both sides at the venue, downtime and faults included.
    pub quoted_ratio: f64,
    /// Everything counted.
    pub counts: Counts,
    /// What losses of control cost, beside what is stated.
    pub losses: Losses,
    /// Whether the ending proved that no own order rests.
    pub proven: bool,
    /// Promises that were not kept.
    pub violations: Vec<Violation>,
    /// Violations beyond those that are kept.
    pub violations_dropped: u64,
    /// The hash of everything the engine heard and did.
    pub trace_hash: TraceHash,
    /// The session, as the program tells it.
    pub summary: Summary,
}

/// Makes a market for the configured time with faults; ends all faults and waits until quotes rest
/// again; drains.
pub fn run(config: WorldConfig) -> Result<Outcome, WorldError> {
    let mut world = World::new(config)?;
    let proven = world.play();
    Ok(world.outcome(proven))
}

impl Counts {
    /// Counts what the engine tells.
    pub(crate) fn observe(&mut self, note: &Notification) {
        self.orders += u64::from(matches!(note, Notification::Submitted { .. }));
        self.resent += u64::from(matches!(note, Notification::Resent { .. }));
        self.unknown += u64::from(matches!(note, Notification::Unknown { .. }));
        self.fills += u64::from(matches!(note, Notification::Filled(_)));
    }

    /// Share of time with own orders on both sides at the venue, downtime and faults included.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of counts for people")]
    pub fn quoted_ratio(&self) -> f64 {
        self.samples_both as f64 / self.samples.max(1) as f64
    }
}

impl World {
    /// The whole play of [`run`]; false when the end was not proven.
    pub fn play(&mut self) -> bool {
        self.run_until(Time::from_ms(self.config().duration_ms));
        self.calm();
        self.recover();
        self.end()
    }

    /// What came of everything so far.
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
