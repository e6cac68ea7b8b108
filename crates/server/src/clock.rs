//! The one file of the server that reads clocks.
//!
//! The venue's time is the wall clock, never running backwards: orders expire by it, and it is what the
//! `Date` header says, so that clients see one clock. While the wall clock is behind it (it was wrong for a
//! moment, was set back, or the data folder was written under a wrong one), it advances by the monotonic clock,
//! slower by 500 parts in a million, so that the wall clock catches up: 43 s a day. Rate limits use a
//! monotonic count. Tests drive both by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cambist_core::VenueTime;

/// What is given back of the time that passes while the venue's time is ahead: one part in so many. 500 ppm is
/// the most by which NTP slews a clock.
const SLEW: u64 = 2_000;

/// Where the server takes its time from; copies share it.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// Moved by hand, in milliseconds.
    Hand(Arc<AtomicU64>),
    /// The clocks of the machine.
    Machine {
        /// Where the monotonic count begins.
        origin: Instant,
        advance: Arc<Mutex<Advance>>,
    },
}

/// How far the clocks are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The venue's time.
    pub now: VenueTime,
    /// Milliseconds by which it is ahead of the wall clock.
    pub ahead_ms: u64,
    /// The monotonic count.
    pub monotonic_ms: u64,
}

impl Clock {
    /// The clocks of the machine.
    #[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
    pub fn system() -> Self {
        Self(Source::Machine {
            origin: Instant::now(),
            advance: Arc::default(),
        })
    }

    /// A clock that stands at `now` until [`Clock::set`] or [`Clock::pass_ms`] moves it.
    pub fn by_hand(now: VenueTime) -> Self {
        Self(Source::Hand(Arc::new(AtomicU64::new(now.0))))
    }

    /// The venue's time.
    pub fn now(&self) -> VenueTime {
        self.reading().now
    }

    /// The venue's time, and how far it is ahead of the wall clock; a clock set by hand never is.
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
                // Both under the lock: what is read later is not behind what was read before.
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

    /// Milliseconds of a monotonic count with an arbitrary origin.
    pub fn monotonic_ms(&self) -> u64 {
        match &self.0 {
            Source::Hand(latest_ms) => latest_ms.load(Ordering::Acquire),
            Source::Machine { origin, .. } => monotonic_us(*origin) / 1_000,
        }
    }

    /// Moves a clock set by hand; a real one cannot be moved, and none runs backwards.
    pub fn set(&self, now: VenueTime) {
        if let Source::Hand(latest_ms) = &self.0 {
            latest_ms.fetch_max(now.0, Ordering::AcqRel);
        }
    }

    /// The venue's time is `time` at least, whatever the clock of the machine says, and goes on from there.
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

    /// Lets time pass on a clock set by hand.
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

/// The latest moment in which the wall clock was not behind: from there on the monotonic clock counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Advance {
    venue_us: u64,
    monotonic_us: u64,
}

impl Advance {
    /// The venue's time when the clocks say this; never before an earlier answer.
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
    fn time_never_runs_backwards_and_hands_move_only_their_own_clock() {
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
        // Of a folder from far ahead: it goes on from there, and says by how much.
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
        // Right again: a second is a second but for the slew.
        let mut before = begin + HOUR;
        for second in 2..10_000 {
            let now = advance.at(begin + second * S, second * S);
            let step = now - before;
            assert!((S - 501..=S - 499).contains(&step), "{second}: {step}");
            before = now;
        }
        // An hour at 500 ppm: 2,000 hours, and then the wall clock counts again.
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
