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

    /// Adds another aggregate of worlds of this process.
    pub fn merge(&mut self, other: &Self) {
        let mut other = *other;
        for ((_, sum), (_, more)) in self.sums().into_iter().zip(other.sums()) {
            *sum += *more;
        }
        self.keep_worse(&other);
    }

    /// Adds another aggregate that was read from a file, whose numbers may be any.
    ///
    /// # Errors
    /// The name of the number whose sum is too large. Nothing is added then.
    pub fn checked_merge(&mut self, other: &Self) -> Result<(), &'static str> {
        let (mut all, mut other) = (*self, *other);
        for ((name, sum), (_, more)) in all.sums().into_iter().zip(other.sums()) {
            *sum = sum.checked_add(*more).ok_or(name)?;
        }
        all.keep_worse(&other);
        *self = all;
        Ok(())
    }

    /// Every number that is a sum, by its name in files.
    const fn sums(&mut self) -> [(&'static str, &mut u64); 15] {
        [
            ("seeds", &mut self.seeds),
            ("seeds_failed", &mut self.seeds_failed),
            ("simulated_ms", &mut self.simulated_ms),
            ("steps", &mut self.steps),
            ("faults", &mut self.faults),
            ("crash_points", &mut self.crash_points),
            ("orders", &mut self.orders),
            ("resent", &mut self.resent),
            ("fills", &mut self.fills),
            ("rate_counted", &mut self.rate_counted),
            ("rate_refused", &mut self.rate_refused),
            ("violations", &mut self.violations),
            ("looks", &mut self.samples),
            ("looks_both", &mut self.samples_both),
            ("loss_spans", &mut self.loss_spans),
        ]
    }

    const fn keep_worse(&mut self, other: &Self) {
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

    /// A file may have any numbers.
    #[test]
    fn a_sum_that_is_too_large_is_named_and_nothing_is_added() {
        let few = Aggregate {
            seeds: 1,
            orders: 2,
            loss_ratio_ppm: 3,
            loss_ratio_seed: 4,
            ..Aggregate::default()
        };
        let mut tally = few;
        assert_eq!(tally.checked_merge(&few), Ok(()));
        let mut merged = few;
        merged.merge(&few);
        assert_eq!(tally, merged);
        for at in 0..Aggregate::default().sums().len() {
            let mut many = few;
            let mut own = few;
            let (name, sum) = many
                .sums()
                .into_iter()
                .nth(at)
                .unwrap_or_else(|| unreachable!());
            *sum = u64::MAX;
            *own.sums()[at].1 = 1;
            let before = own;
            assert_eq!(own.checked_merge(&many), Err(name));
            assert_eq!(own, before);
        }
    }
}
