//! The time of a run on live data, and steps of the wall clock meanwhile.
//!
//! As in a daemon that trades, time is that of the monotonic clock: a wall clock that is set invents no hour, and takes
//! none away. Times of day count from what the wall clock read at the beginning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambist_core::Time;
use cambist_host::clock::Clock;
use cambist_market_data::Timestamp;

/// A wall clock that differs by more than this from what the monotonic clock explains was set. Clocks that are adjusted
/// slowly are adjusted together.
const STEP_MIN_US: u64 = 2_000_000;
/// Readings of both clocks that are farther apart are not compared.
const READ_MAX_US: u64 = 100_000;

/// The time of a run. Copies share the steps.
#[derive(Clone, Debug)]
pub struct RunTime {
    clock: Clock,
    /// What the wall clock read at the beginning, and what the monotonic one did.
    begun: (Timestamp, Time),
    steps: Arc<Mutex<Steps>>,
}

/// Steps of the wall clock so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockSteps {
    /// How many.
    pub count: u64,
    /// Time of the run at which the first one was noticed.
    pub first: Option<Timestamp>,
    /// The largest one in microseconds; negative if the clock was set back.
    pub largest_us: i64,
    /// All of them together.
    pub sum_us: i64,
}

#[derive(Debug, Default)]
struct Steps {
    /// By how much the wall clock was ahead of the time of the run after the last step, in microseconds.
    ahead_us: i64,
    so_far: ClockSteps,
}

impl RunTime {
    /// A run that begins now.
    pub fn begin(clock: Clock) -> Self {
        Self {
            clock,
            begun: (wall(clock), clock.now()),
            steps: Arc::default(),
        }
    }

    /// The clock of the run.
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// The time of the run at a time of its monotonic clock.
    pub const fn at(&self, time: Time) -> Timestamp {
        let (begun, since) = self.begun;
        begun.plus_nanos(nanos(time.micros_since(since)))
    }

    /// The time of the run.
    pub fn now(&self) -> Timestamp {
        self.at(self.clock.now())
    }

    /// Compares the wall clock with the time of the run, and logs a step.
    pub fn compare(&self) {
        let before = self.clock.now();
        let wall = wall(self.clock);
        if self.clock.now().micros_since(before) > READ_MAX_US {
            // The program was suspended between both readings: the next comparison is as good.
            return;
        }
        let now = self.at(before);
        let ahead_us = wall.nanos_since(now) / 1_000;
        if let Some(step_us) = self.steps().compare(now, ahead_us) {
            tracing::warn!(
                step_s = step_us / 1_000_000,
                "the wall clock of this host was set (see timedatectl); durations of the run go by its monotonic clock"
            );
        }
    }

    /// The steps of the wall clock up to now.
    pub fn clock_steps(&self) -> ClockSteps {
        self.compare();
        self.steps().so_far
    }

    /// A panic ends the process, so a poisoned lock occurs in tests only.
    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steps {
    /// Takes in by how much the wall clock is ahead; returns the step since the last one, if it is one.
    fn compare(&mut self, now: Timestamp, ahead_us: i64) -> Option<i64> {
        let step_us = ahead_us.saturating_sub(self.ahead_us);
        if step_us.unsigned_abs() <= STEP_MIN_US {
            return None;
        }
        self.ahead_us = ahead_us;
        let steps = &mut self.so_far;
        steps.count += 1;
        steps.first.get_or_insert(now);
        steps.sum_us = steps.sum_us.saturating_add(step_us);
        if step_us.unsigned_abs() > steps.largest_us.unsigned_abs() {
            steps.largest_us = step_us;
        }
        Some(step_us)
    }
}

/// Current time of the wall clock.
pub fn wall(clock: Clock) -> Timestamp {
    Timestamp(nanos(clock.unix_micros()))
}

const fn nanos(micros: u64) -> i64 {
    let nanos = micros.saturating_mul(1_000);
    if nanos > i64::MAX.unsigned_abs() {
        return i64::MAX;
    }
    nanos.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_789_300_000_000_000_000);
    const LIMIT: i64 = 2_000_000;

    #[test]
    fn more_than_two_seconds_is_a_step() {
        let mut steps = Steps::default();
        assert_eq!(steps.compare(NOW, LIMIT), None);
        assert_eq!(steps.compare(NOW, -LIMIT), None);
        assert_eq!(steps.compare(NOW, LIMIT + 1), Some(LIMIT + 1));
        // It is counted once, and the next one from there.
        assert_eq!(steps.compare(NOW, LIMIT + 1), None);
        assert_eq!(steps.compare(NOW, 1), None);
        assert_eq!(steps.compare(NOW, 0), Some(-LIMIT - 1));
        assert_eq!(steps.so_far.count, 2);
    }

    #[test]
    fn steps_there_and_back_are_two_and_cancel_out() {
        let mut steps = Steps::default();
        let hour = 3_600_000_000;
        assert_eq!(steps.compare(NOW, hour), Some(hour));
        let later = NOW.plus_nanos(1);
        assert_eq!(steps.compare(later, 0), Some(-hour));
        let expected = ClockSteps {
            count: 2,
            first: Some(NOW),
            largest_us: hour,
            sum_us: 0,
        };
        assert_eq!(steps.so_far, expected);
        assert_eq!(steps.compare(later, i64::MIN), Some(i64::MIN));
        assert_eq!(steps.so_far.largest_us, i64::MIN);
        assert_eq!(steps.compare(later, i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn the_time_of_a_run_is_that_of_its_beginning_and_what_passed() {
        let run = RunTime::begin(Clock::new());
        let (begun, since) = run.begun;
        assert_eq!(run.at(since), begun);
        assert_eq!(
            run.at(since.plus_ms(1_500)),
            begun.plus_nanos(1_500_000_000)
        );
        assert_eq!(run.at(Time(0)), begun, "before the beginning");
        assert_eq!(run.at(Time(u64::MAX)), Timestamp(i64::MAX));
        assert!(run.now() >= begun);
        assert_eq!(run.clock_steps(), ClockSteps::default());
    }
}
