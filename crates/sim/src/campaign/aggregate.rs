//! Sums over runs. Only integer sums and maxima, so that parts of a campaign that run anywhere, in any order, add up to
//! the same.

use serde::{Deserialize, Serialize};

use crate::campaign::outcome::Outcome;

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Number of runs.
    pub seeds: u64,
    /// Runs with a violation.
    pub seeds_failed: u64,
    /// Simulated time, milliseconds.
    pub simulated_ms: u64,
    /// Events processed.
    pub steps: u64,
    /// Faults injected, crashes included.
    pub faults: u64,
    /// Crashes, each before another action.
    pub crash_points: u64,
    /// Orders sent.
    pub orders: u64,
    /// Further transmissions of the same bytes.
    pub resent: u64,
    /// Fills booked.
    pub fills: u64,
    /// Requests, orders and cancels that reached a venue with counters, copies that the network made among them.
    #[serde(default)]
    pub rate_counted: u64,
    /// Those of them that it refused because there were too many.
    #[serde(default)]
    pub rate_refused: u64,
    /// Violations.
    pub violations: u64,
    /// Samples of own orders in healthy time.
    #[serde(rename = "looks")]
    pub samples: u64,
    /// Samples with own orders on both sides of every market.
    #[serde(rename = "looks_both")]
    pub samples_both: u64,
    /// Control losses that were measured, each market separately.
    #[serde(default)]
    pub loss_spans: u64,
    /// Largest loss at a loss of control, relative to the stated bound, parts per million.
    #[serde(default)]
    pub loss_ratio_ppm: u64,
    /// Its seed; 0 if nothing was lost.
    #[serde(default)]
    pub loss_ratio_seed: u64,
    /// Largest loss relative to the stated bound for a venue that keeps ended orders, parts per million.
    #[serde(default)]
    pub kept_ratio_ppm: u64,
    /// The lowest seed with that loss.
    #[serde(default)]
    pub kept_ratio_seed: u64,
}

impl Aggregate {
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
            rate_counted: counts.rate_counted,
            rate_refused: counts.rate_refused,
            violations,
            samples: counts.samples,
            samples_both: counts.samples_both,
            loss_spans: outcome.losses.spans,
            loss_ratio_ppm: outcome.losses.ratio_ppm,
            loss_ratio_seed: match outcome.losses.ratio_ppm {
                0 => 0,
                _ => outcome.seed,
            },
            kept_ratio_ppm: outcome.losses.kept_ratio_ppm,
            kept_ratio_seed: match outcome.losses.kept_ratio_ppm {
                0 => 0,
                _ => outcome.seed,
            },
        });
    }

    /// Adds another aggregate.
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
        self.rate_counted += other.rate_counted;
        self.rate_refused += other.rate_refused;
        self.violations += other.violations;
        self.samples += other.samples;
        self.samples_both += other.samples_both;
        self.loss_spans += other.loss_spans;
        let ours = (self.loss_ratio_ppm, self.loss_ratio_seed);
        let worst = worse(ours, (other.loss_ratio_ppm, other.loss_ratio_seed));
        (self.loss_ratio_ppm, self.loss_ratio_seed) = worst;
        let ours = (self.kept_ratio_ppm, self.kept_ratio_seed);
        let worst = worse(ours, (other.kept_ratio_ppm, other.kept_ratio_seed));
        (self.kept_ratio_ppm, self.kept_ratio_seed) = worst;
    }

    /// Simulated time in hours.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    pub fn simulated_hours(&self) -> f64 {
        self.simulated_ms as f64 / 3_600_000.0
    }

    /// Largest loss at a loss of control, relative to what `check` states for it; `None` if none was measured.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.loss_spans > 0).then(|| self.loss_ratio_ppm as f64 / 1e6)
    }

    /// The same for a venue that keeps every signed order until its expiry.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    pub fn kept_ratio(&self) -> Option<f64> {
        (self.loss_spans > 0).then(|| self.kept_ratio_ppm as f64 / 1e6)
    }

    /// Share of healthy time with own orders on both sides of every market; `None` if there was none.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    pub fn quoted_ratio(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.samples_both as f64 / self.samples as f64)
    }
}

/// The greater of two ratios with its seed; of equal ones the lowest seed, so that the order of additions does not
/// matter.
const fn worse(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    if other.0 > one.0 || other.0 == one.0 && other.1 < one.1 {
        other
    } else {
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_parts_is_the_maximum_of_all_in_any_order() {
        let part = |loss_ratio_ppm, loss_ratio_seed| Aggregate {
            loss_spans: 1,
            loss_ratio_ppm,
            loss_ratio_seed,
            kept_ratio_ppm: 2 * loss_ratio_ppm,
            kept_ratio_seed: loss_ratio_seed,
            ..Aggregate::default()
        };
        let parts = [part(5, 9), part(7, 4), part(7, 2), part(0, 0)];
        for first in 0..parts.len() {
            let mut tally = Aggregate::default();
            for step in 0..parts.len() {
                tally.merge(&parts[(first + step) % parts.len()]);
            }
            assert_eq!((tally.loss_ratio_ppm, tally.loss_ratio_seed), (7, 2));
            assert_eq!((tally.kept_ratio_ppm, tally.kept_ratio_seed), (14, 2));
            assert_eq!(tally.loss_spans, 4);
        }
        assert_eq!(Aggregate::default().loss_ratio(), None);
    }
}
