//! The only file that reads clocks, apart from the exchange's own (`crates/server/src/clock.rs`). Elsewhere time is an
//! argument.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cambist_core::Time;
use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock that includes the time for which the host was suspended, so that old data counts as old
/// afterwards. Systems other than Linux have a clock that may stand still; the engine then detects it from the venue's
/// time.
#[cfg(target_os = "linux")]
const MONOTONIC: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const MONOTONIC: ClockId = ClockId::Monotonic;

/// What the clock of an engine reads at its creation. Times before the start can then be stated: data that was drawn up
/// before it has its whole age, and is not as young as the process. Longer than the highest limit of an age.
const ENGINE_BEGINS: Time = Time(24 * 3_600 * 1_000_000);

/// A monotonic clock, and the wall clock for display and metrics only.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Reading of the host's monotonic clock at creation.
    created: Duration,
    /// What it read then.
    begins: Time,
}

impl Clock {
    /// Creates a clock that starts at zero.
    #[expect(
        clippy::new_without_default,
        reason = "a default value should not read a clock"
    )]
    pub fn new() -> Self {
        Self {
            created: monotonic(),
            begins: Time(0),
        }
    }

    /// Creates the clock of an engine, which starts a day after zero.
    pub fn of_engine() -> Self {
        Self {
            begins: ENGINE_BEGINS,
            ..Self::new()
        }
    }

    /// Monotonic time: the engine's time.
    pub fn now(&self) -> Time {
        Time(self.begins.0.saturating_add(self.elapsed().0))
    }

    /// What it read at its creation.
    pub const fn begins(&self) -> Time {
        self.begins
    }

    /// Monotonic time since creation.
    pub fn elapsed(&self) -> Time {
        let since = monotonic().saturating_sub(self.created);
        Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    /// Time since the host started: what processes that run one after the other can compare.
    pub fn since_boot(&self) -> Duration {
        monotonic()
    }

    /// Microseconds of the wall clock since the Unix epoch. No decision may depend on them.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one file of the program that reads clocks"
    )]
    pub fn unix_micros(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
            })
    }

    /// Seconds of the wall clock since the Unix epoch, for metrics.
    #[expect(
        clippy::cast_precision_loss,
        reason = "microseconds fit 53 bits until the year 2255"
    )]
    pub fn unix_s(&self) -> f64 {
        self.unix_micros() as f64 / 1e6
    }
}

fn monotonic() -> Duration {
    // The clock counts from the start of the host and is never negative.
    Duration::try_from(clock_gettime(MONOTONIC)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_zero_and_counts_microseconds() {
        let clock = Clock::new();
        let first = clock.now();
        std::thread::yield_now();
        assert!(clock.now() >= first);
        assert!(
            clock.now() < Time(3_600_000_000),
            "an hour at most has passed"
        );
    }

    #[test]
    fn an_engine_can_state_times_before_its_start() {
        let clock = Clock::of_engine();
        let now = clock.now();
        let day_before = now.minus_ms(24 * 3_600 * 1_000);
        assert_eq!(now.ms_since(day_before), 24 * 3_600 * 1_000);
        assert!(clock.elapsed() < Time(3_600_000_000));
    }

    /// On a host that was never suspended the two clocks agree.
    #[test]
    #[cfg(target_os = "linux")]
    fn it_goes_on_while_the_host_sleeps() {
        let awake = clock_gettime(ClockId::Monotonic).tv_sec;
        let all = i64::try_from(monotonic().as_secs());
        assert!(all.is_ok_and(|all| all >= awake && all > 0));
    }
}
