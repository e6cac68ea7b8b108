//! Sliding windows: extremes within a window, and counts within a minute. Memory is bounded by steps, however often
//! values are added.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Most steps of a window; each keeps its extremes.
const STEPS: u64 = 64;

/// One step of a window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Step {
    begun: Time,
    low: i128,
    high: i128,
}

/// Lowest and highest of a number within a window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Extremes {
    steps: VecDeque<Step>,
    /// Lowest and highest of all steps, unless one that had either has left since they were last looked for.
    #[serde(skip)]
    found: Option<(i128, i128)>,
}

impl Extremes {
    /// Adds a number. Returns the lowest and the highest of the window; values that left it less than a step ago may
    /// still count.
    pub(crate) fn take(&mut self, now: Time, seen: i128, window_ms: u64) -> (i128, i128) {
        let width_ms = (window_ms / STEPS).max(1);
        let oldest = now.minus_ms(window_ms.saturating_add(width_ms));
        while let Some(gone) = self.steps.pop_front_if(|step| step.begun < oldest) {
            self.found = self
                .found
                .filter(|(low, high)| gone.low != *low && gone.high != *high);
        }
        match self.steps.back_mut() {
            Some(step) if now.ms_since(step.begun) < width_ms => {
                (step.low, step.high) = (step.low.min(seen), step.high.max(seen));
            }
            Some(_) | None => self.steps.push_back(Step {
                begun: now,
                low: seen,
                high: seen,
            }),
        }
        let found = match self.found {
            Some((low, high)) => (low.min(seen), high.max(seen)),
            None => self.look(seen),
        };
        debug_assert_eq!(found, self.look(seen), "a step changed unnoticed");
        self.found = Some(found);
        found
    }

    /// The lowest and the highest of all steps and a number.
    fn look(&self, seen: i128) -> (i128, i128) {
        let steps = self.steps.iter();
        steps.fold((seen, seen), |(low, high), step| {
            (low.min(step.low), high.max(step.high))
        })
    }

    /// Start and highest value of every step, oldest first.
    pub(crate) fn highs(&self) -> impl DoubleEndedIterator<Item = (Time, i128)> + '_ {
        self.steps.iter().map(|step| (step.begun, step.high))
    }

    /// Shifts all values.
    pub(crate) fn shift(&mut self, by: i128) {
        self.found = None;
        for step in &mut self.steps {
            step.low = step.low.saturating_add(by);
            step.high = step.high.saturating_add(by);
        }
    }

    /// Removes all values.
    pub(crate) fn clear(&mut self) {
        self.found = None;
        self.steps.clear();
    }
}

/// Number of occurrences within the last minute, by the second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PerMinute {
    seconds: VecDeque<(u64, u32)>,
    /// The sum of all counts, once it was needed.
    #[serde(skip)]
    total: Option<u64>,
}

impl PerMinute {
    /// Counts one occurrence.
    pub(crate) fn add(&mut self, now: Time) {
        let second = now.as_ms() / 1_000;
        let mut total = self.total();
        while let Some((_, gone)) = self.seconds.pop_front_if(|(at, _)| *at + 60 <= second) {
            total -= u64::from(gone);
        }
        match self.seconds.back_mut() {
            Some((at, count)) if *at == second => {
                let before = *count;
                *count = count.saturating_add(1);
                total += u64::from(*count - before);
            }
            Some(_) | None => {
                self.seconds.push_back((second, 1));
                total += 1;
            }
        }
        self.total = Some(total);
    }

    fn total(&self) -> u64 {
        let sum = || {
            self.seconds
                .iter()
                .map(|(_, count)| u64::from(*count))
                .sum()
        };
        self.total.unwrap_or_else(sum)
    }

    /// The count of the last sixty seconds, this one included.
    pub(crate) fn count(&self, now: Time) -> u32 {
        let second = now.as_ms() / 1_000;
        // Seconds rise, so that those that have left are the first ones.
        let gone = self.seconds.iter().take_while(|(at, _)| at + 60 <= second);
        let gone: u64 = gone.map(|(_, count)| u64::from(*count)).sum();
        u32::try_from(self.total() - gone).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_those_of_the_window() {
        let mut seen = Extremes::default();
        assert_eq!(seen.take(Time::from_ms(0), 200, 60_000), (200, 200));
        assert_eq!(seen.take(Time::from_ms(30_000), 204, 60_000), (200, 204));
        assert_eq!(seen.take(Time::from_ms(59_000), 201, 60_000), (200, 204));
        assert_eq!(seen.take(Time::from_ms(92_000), 201, 60_000), (201, 201));
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_values() {
        let mut seen = Extremes::default();
        let mut counted = PerMinute::default();
        for at in 0..600_000 {
            seen.take(Time::from_ms(at), i128::from(at % 7), 60_000);
            counted.add(Time::from_ms(at));
        }
        assert!(seen.steps.len() <= 66, "{}", seen.steps.len());
        assert_eq!(counted.seconds.len(), 60);
        assert_eq!(counted.count(Time::from_ms(599_999)), 60_000);
        assert_eq!(counted.count(Time::from_ms(659_000)), 0);
    }

    /// Beside every number that was ever seen: what is within the window counts, and nothing older than the window
    /// and a step.
    #[test]
    fn extremes_are_those_of_the_window_to_a_step() {
        let mut drawn = 1_u64;
        let mut next = |below: u64| {
            drawn = drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (drawn >> 33) % below
        };
        for window_ms in [1, 64, 1_000, 60_000] {
            let (mut extremes, mut all) = (Extremes::default(), Vec::new());
            let mut at_ms = 1_000_000;
            for _ in 0..3_000 {
                at_ms += next(window_ms / 40 + 2);
                let (now, number) = (Time::from_ms(at_ms), i128::from(next(1_000_000)));
                all.push((at_ms, number));
                let (low, high) = extremes.take(now, number, window_ms);
                let since = |ms: u64| {
                    let recent = all.iter().rev().take_while(move |(at, _)| at + ms >= at_ms);
                    let numbers = recent.map(|(_, number)| *number);
                    numbers.fold((i128::MAX, i128::MIN), |(low, high), n| {
                        (low.min(n), high.max(n))
                    })
                };
                let within = since(window_ms);
                let older = since(window_ms + (window_ms / STEPS).max(1));
                assert!(older.0 <= low && low <= within.0, "{window_ms} at {at_ms}");
                assert!(
                    within.1 <= high && high <= older.1,
                    "{window_ms} at {at_ms}"
                );
            }
        }
    }

    /// Beside every occurrence, and beside a copy that has to sum up first.
    #[test]
    fn a_count_is_the_sum_of_what_is_within_a_minute() {
        let (mut counted, mut all) = (PerMinute::default(), Vec::new());
        let mut at_ms = 0;
        for step in 0..2_000_u64 {
            at_ms += step * 7_919 % 9_000 * (step % 3);
            counted.add(Time::from_ms(at_ms));
            all.push(at_ms / 1_000);
            for later_ms in [0, 999, 30_000, 61_000] {
                let now_ms = at_ms + later_ms;
                let since = |at: &&u64| **at + 60 > now_ms / 1_000;
                let expected = all.iter().filter(since).count();
                let restored = PerMinute {
                    total: None,
                    ..counted.clone()
                };
                for counted in [&counted, &restored] {
                    let count = counted.count(Time::from_ms(now_ms));
                    assert_eq!(count as usize, expected, "{step} {later_ms}");
                }
            }
        }
    }

    #[test]
    fn a_count_is_that_of_sixty_seconds() {
        let mut counted = PerMinute::default();
        counted.add(Time::from_ms(10_999));
        counted.add(Time::from_ms(11_000));
        assert_eq!(counted.count(Time::from_ms(11_000)), 2);
        assert_eq!(counted.count(Time::from_ms(69_999)), 2);
        assert_eq!(counted.count(Time::from_ms(70_000)), 1);
        assert_eq!(counted.count(Time::from_ms(71_000)), 0);
        counted.add(Time::from_ms(70_500));
        assert_eq!(counted.seconds.len(), 2, "the oldest is forgotten");
    }

    #[test]
    fn what_is_moved_is_moved_everywhere() {
        let mut extremes = Extremes::default();
        extremes.take(Time::from_ms(0), 5, 1_000);
        extremes.take(Time::from_ms(500), 9, 1_000);
        extremes.shift(-2);
        assert_eq!(extremes.take(Time::from_ms(600), 4, 1_000), (3, 7));
        let highs: Vec<_> = extremes.highs().collect();
        let begun = [0, 500, 600].map(Time::from_ms);
        assert_eq!(highs, [(begun[0], 3), (begun[1], 7), (begun[2], 4)]);
        extremes.clear();
        assert_eq!(extremes.take(Time::from_ms(700), 1, 1_000), (1, 1));
    }
}
