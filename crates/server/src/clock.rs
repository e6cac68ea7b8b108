//! The only file of the server that reads clocks.
//!
//! The venue's time is the wall clock, made monotonic: orders expire by it, and the `Date` header shows it, so that
//! clients see one clock. While the wall clock is behind it (the wall clock was wrong, was set back, or the data folder
//! was written under a wrong one), the venue's time advances with the monotonic clock, slower by 500 parts in a
//! million, so that the wall clock catches up at 43 s a day. Rate limits use the monotonic clock. Tests set both.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cambist_core::VenueTime;

/// While the venue's time is ahead, it advances slower by one part in this many. 500 ppm is the largest slew rate of
/// NTP.
const SLEW: u64 = 2_000;

/// The server's clock; clones share it.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// Set by tests, in milliseconds.
    Hand(Arc<AtomicU64>),
    /// The system's clocks.
    Machine {
        /// Origin of the monotonic time.
        origin: Instant,
        advance: Arc<Mutex<Advance>>,
    },
}

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The venue's time.
    pub now: VenueTime,
    /// Milliseconds by which it is ahead of the wall clock.
    pub ahead_ms: u64,
    /// Monotonic time in milliseconds.
    pub monotonic_ms: u64,
}

impl Clock {
    /// The system's clocks.
    #[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
    pub fn system() -> Self {
        Self(Source::Machine {
            origin: Instant::now(),
            advance: Arc::default(),
        })
    }

    /// A clock that does not advance until [`Clock::set`] or [`Clock::pass_ms`] moves it.
    pub fn by_hand(now: VenueTime) -> Self {
        Self(Source::Hand(Arc::new(AtomicU64::new(now.0))))
    }

    /// The venue's time.
    pub fn now(&self) -> VenueTime {
        self.reading().now
    }

    /// The venue's time and its lead over the wall clock; a manual clock has no lead.
    pub fn reading(&self) -> Reading {
        match &self.0 {
            Source::Hand(latest_ms) => {
                let now = latest_ms.load(Ordering::Acquire);
                Reading {
                    now: VenueTime(now),
                    ahead_ms: 0,
                    monotonic_ms: now,
                }
            }
            Source::Machine { origin, advance } => {
                let mut advance = advance.lock().unwrap_or_else(PoisonError::into_inner);
                // Both are read under the lock, so that readings are in order.
                let (wall_us, monotonic_us) = (wall_us(), monotonic_us(*origin));
                let now_us = advance.at(wall_us, monotonic_us);
                Reading {
                    now: VenueTime(now_us / 1_000),
                    ahead_ms: (now_us - wall_us) / 1_000,
                    monotonic_ms: monotonic_us / 1_000,
                }
            }
        }
    }

    /// Monotonic milliseconds with an arbitrary origin.
    pub fn monotonic_ms(&self) -> u64 {
        match &self.0 {
            Source::Hand(latest_ms) => latest_ms.load(Ordering::Acquire),
            Source::Machine { origin, .. } => monotonic_us(*origin) / 1_000,
        }
    }

    /// Sets a manual clock. No effect on a real clock, and never backwards.
    pub fn set(&self, now: VenueTime) {
        if let Source::Hand(latest_ms) = &self.0 {
            latest_ms.fetch_max(now.0, Ordering::AcqRel);
        }
    }

    /// Raises the venue's time to at least `time`, whatever the system clock shows.
    pub(crate) fn not_before(&self, time: VenueTime) {
        match &self.0 {
            Source::Hand(latest_ms) => {
                latest_ms.fetch_max(time.0, Ordering::AcqRel);
            }
            Source::Machine { origin, advance } => {
                let mut advance = advance.lock().unwrap_or_else(PoisonError::into_inner);
                let time_us = time.0.saturating_mul(1_000);
                advance.at(time_us, monotonic_us(*origin));
            }
        }
    }

    /// Advances a manual clock.
    pub fn pass_ms(&self, ms: u64) {
        self.set(self.now().plus_ms(ms));
    }
}

#[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

fn monotonic_us(origin: Instant) -> u64 {
    u64::try_from(origin.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The latest reading at which the wall clock was not behind; the venue's time advances from it with the monotonic
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Advance {
    venue_us: u64,
    monotonic_us: u64,
}

impl Advance {
    /// The venue's time at these readings; never before an earlier result.
    fn at(&mut self, wall_us: u64, monotonic_us: u64) -> u64 {
        let passed_us = monotonic_us.saturating_sub(self.monotonic_us);
        let counted_us = self.venue_us.saturating_add(passed_us - passed_us / SLEW);
        if wall_us < counted_us {
            return counted_us;
        }
        *self = Self {
            venue_us: wall_us,
            monotonic_us,
        };
        wall_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;
    const HOUR: u64 = 3_600 * S;

    #[test]
    fn time_never_runs_backwards_and_only_a_manual_clock_can_be_set() {
        let clock = Clock::by_hand(VenueTime(1_000));
        clock.pass_ms(5);
        clock.set(VenueTime(3));
        assert_eq!(clock.now(), VenueTime(1_005));
        assert_eq!(clock.clone().monotonic_ms(), 1_005);
        assert_eq!(clock.reading().ahead_ms, 0);

        let real = Clock::system();
        let first = real.now();
        real.set(VenueTime(u64::MAX));
        assert!(real.now() >= first && real.now() < VenueTime(u64::MAX));
        // A folder with a time far ahead: time continues from there, and the lead is reported.
        real.not_before(first.plus_ms(1_000_000));
        let ahead = real.reading();
        assert!(ahead.now >= first.plus_ms(1_000_000));
        assert!((900_000..=1_000_000).contains(&ahead.ahead_ms), "{ahead:?}");
        real.not_before(VenueTime(u64::MAX));
        let _ = real.reading();
    }

    #[test]
    fn an_hour_ahead_for_a_second_stops_nothing_and_is_given_back() {
        let (begin, mut advance) = (1_000 * HOUR, Advance::default());
        assert_eq!(advance.at(begin, 0), begin);
        assert_eq!(advance.at(begin + HOUR, S), begin + HOUR);
        // The wall clock is right again: the venue's time advances slower by the slew rate.
        let mut before = begin + HOUR;
        for second in 2..10_000 {
            let now = advance.at(begin + second * S, second * S);
            let step = now - before;
            assert!((S - 501..=S - 499).contains(&step), "{second}: {step}");
            before = now;
        }
        // At 500 ppm an hour takes 2,000 hours; then the wall clock applies again.
        assert!(advance.at(begin + 1_999 * HOUR, 1_999 * HOUR) > begin + 1_999 * HOUR);
        assert_eq!(
            advance.at(begin + 2_001 * HOUR, 2_001 * HOUR),
            begin + 2_001 * HOUR
        );
    }

    #[test]
    fn however_the_wall_clock_jumps_the_venues_time_goes_on() {
        let (mut advance, mut monotonic, mut before) = (Advance::default(), 0, 0);
        let walls = [5 * HOUR, HOUR, 0, 7 * HOUR, 7 * HOUR - 1, 6 * HOUR];
        for wall in walls.into_iter().cycle().take(60) {
            for _ in 0..3 {
                monotonic += 10 * S;
                let now = advance.at(wall, monotonic);
                assert!(
                    now >= wall && (before == 0 || now > before),
                    "{now} {before}"
                );
                before = now;
            }
        }
    }
}
