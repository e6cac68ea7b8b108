//! The one file of the program that reads clocks. Everybody else is told the time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cambist_core::Time;

/// A monotonic clock with its origin at creation, and the wall clock for people and metrics only.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins at zero now.
    #[expect(
        clippy::new_without_default,
        reason = "a default value should not read a clock"
    )]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one file of the program that reads clocks"
    )]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Monotonic time since the origin: the engine's time.
    pub fn now(&self) -> Time {
        Time(u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Microseconds of the wall clock since the Unix epoch. No decision may depend on it.
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
