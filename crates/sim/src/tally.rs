//! What many runs add up to. Sums of integers only, so that parts of a campaign, run anywhere in any
//! order, add up to the same.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs.
    pub seeds: u64,
    /// Runs that broke a promise.
    pub seeds_failed: u64,
    /// Time of the worlds.
    pub simulated_ms: u64,
    /// Things that happened.
    pub steps: u64,
    /// Faults injected, crashes included.
    pub faults: u64,
    /// Crashes, each at an action of its own.
    pub crash_points: u64,
    /// Orders sent.
    pub orders: u64,
    /// Further transmissions of the same bytes.
    pub resent: u64,
    /// Fills booked.
    pub fills: u64,
    /// Broken promises.
    pub violations: u64,
    /// Looks at own orders in healthy time.
    pub looks: u64,
    /// Looks that found them on both sides of every market.
    pub looks_both: u64,
}

impl Tally {
    /// Adds a run.
    pub fn add(&mut self, outcome: &Outcome) {
        let counts = outcome.counts;
        let violations = outcome.violations.len() as u64 + outcome.violations_dropped;
        self.merge(&Self {
            seeds: 1,
            seeds_failed: u64::from(violations > 0),
            simulated_ms: outcome.simulated_ms,
            steps: outcome.steps,
            faults: counts.faults + counts.crashes,
            crash_points: counts.crashes,
            orders: counts.orders,
            resent: counts.resent,
            fills: counts.fills,
            violations,
            looks: counts.samples,
            looks_both: counts.samples_both,
        });
    }

    /// Adds what was added up elsewhere.
    pub const fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.seeds_failed += other.seeds_failed;
        self.simulated_ms += other.simulated_ms;
        self.steps += other.steps;
        self.faults += other.faults;
        self.crash_points += other.crash_points;
        self.orders += other.orders;
        self.resent += other.resent;
        self.fills += other.fills;
        self.violations += other.violations;
        self.looks += other.looks;
        self.looks_both += other.looks_both;
    }

    /// Time of the worlds in hours.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn simulated_hours(&self) -> f64 {
        self.simulated_ms as f64 / 3_600_000.0
    }

    /// Share of healthy time with own orders on both sides of every market; `None` if there was none.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn quoted_ratio(&self) -> Option<f64> {
        (self.looks > 0).then(|| self.looks_both as f64 / self.looks as f64)
    }
}
