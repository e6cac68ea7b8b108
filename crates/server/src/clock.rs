//! The one file of the server that reads clocks.
//!
//! The venue's time is the wall clock, never running backwards: orders expire by it, and it is what the
//! `Date` header says, so that clients see one clock. Rate limits use a monotonic count, which a
//! corrected wall clock cannot freeze. Tests drive both by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cambist_core::VenueTime;

/// Where the server takes its time from; copies share it.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The latest venue time told, in milliseconds; a clock set by hand is only this.
    latest_ms: Arc<AtomicU64>,
    /// Where the monotonic count of a real clock begins.
    origin: Option<Instant>,
}

impl Clock {
    /// The clocks of the machine.
    #[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
    pub fn system() -> Self {
        Self {
            latest_ms: Arc::new(AtomicU64::new(0)),
            origin: Some(Instant::now()),
        }
    }

    /// A clock that stands at `now` until [`Clock::set`] or [`Clock::pass_ms`] moves it.
    pub fn by_hand(now: VenueTime) -> Self {
        Self {
            latest_ms: Arc::new(AtomicU64::new(now.0)),
            origin: None,
        }
    }

    /// The venue's time.
    #[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
    pub fn now(&self) -> VenueTime {
        if self.origin.is_none() {
            return VenueTime(self.latest_ms.load(Ordering::Acquire));
        }
        let wall_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            });
        let before = self.latest_ms.fetch_max(wall_ms, Ordering::AcqRel);
        VenueTime(wall_ms.max(before))
    }

    /// Milliseconds of a monotonic count with an arbitrary origin.
    pub fn monotonic_ms(&self) -> u64 {
        self.origin.map_or_else(
            || self.latest_ms.load(Ordering::Acquire),
            |origin| u64::try_from(origin.elapsed().as_millis()).unwrap_or(u64::MAX),
        )
    }

    /// Moves a clock set by hand; a real one cannot be moved, and none runs backwards.
    pub fn set(&self, now: VenueTime) {
        if self.origin.is_none() {
            self.latest_ms.fetch_max(now.0, Ordering::AcqRel);
        }
    }

    /// The venue's time is `time` at least, whatever the clock of the machine says.
    pub(crate) fn not_before(&self, time: VenueTime) {
        self.latest_ms.fetch_max(time.0, Ordering::AcqRel);
    }

    /// Lets time pass on a clock set by hand.
    pub fn pass_ms(&self, ms: u64) {
        self.set(self.now().plus_ms(ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_runs_backwards_and_hands_move_only_their_own_clock() {
        let clock = Clock::by_hand(VenueTime(1_000));
        clock.pass_ms(5);
        clock.set(VenueTime(3));
        assert_eq!(clock.now(), VenueTime(1_005));
        assert_eq!(clock.clone().monotonic_ms(), 1_005);

        let real = Clock::system();
        let first = real.now();
        real.set(VenueTime(u64::MAX));
        assert!(real.now() >= first && real.now() < VenueTime(u64::MAX));
    }
}
