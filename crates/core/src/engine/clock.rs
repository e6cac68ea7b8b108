//! The lower bound of the venue's clock.
//!
//! Only the venue's own answers move it, and between them only our monotonic clock carries it, a
//! little slow on purpose: fences may be late, never early. The wall clock plays no part.

use serde::{Deserialize, Serialize};

use crate::planted::{self, Defect};
use crate::time::{Time, VenueTime};

/// A single answer may not move the bound further ahead than this; two that agree may. Between answers
/// our own clock carries the bound, so that honest ones need no more than their delay and rounding; a
/// wrong one can bring a fence forward by no more than this, which a usual grace covers.
pub(crate) const LEAP_MS: u64 = 5_000;
/// How far two answers may disagree about a leap.
const AGREEMENT_MS: u64 = 5_000;

/// A time that the venue's clock has certainly passed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VenueClock {
    bound: VenueTime,
    heard: Time,
    /// A leap that one answer claimed and no second one has confirmed.
    leap: Option<(VenueTime, Time)>,
}

impl VenueClock {
    /// Begins with a time heard before `now`.
    pub(crate) fn new(now: Time, heard: VenueTime) -> Self {
        Self {
            bound: heard,
            heard: now,
            leap: None,
        }
    }

    /// The venue's clock shows at least this now. One part in a thousand is given up to drift.
    pub(crate) fn at_least(&self, now: Time) -> VenueTime {
        let carried = now.ms_since(self.heard);
        let fast_ms = if planted::armed(Defect::WallClock) {
            30_000
        } else {
            0
        };
        self.bound
            .plus_ms(carried - carried.div_ceil(1_000) + fast_ms)
    }

    /// Takes in a time read from an answer that arrived at `now`.
    pub(crate) fn hear(&mut self, now: Time, told: VenueTime) {
        let known = self.at_least(now);
        if told <= known {
            self.leap = None;
            return;
        }
        if told.ms_since(known) <= LEAP_MS || planted::armed(Defect::LeapBelieved) {
            (self.bound, self.heard, self.leap) = (told, now, None);
            return;
        }
        // A host that slept sees every answer far ahead; a corrupt answer is alone with its claim.
        let confirmed = self.leap.is_some_and(|(before, at)| {
            let passed = now.ms_since(at);
            passed >= 1_000
                && told >= before
                && told.ms_since(before).abs_diff(passed) <= AGREEMENT_MS
        });
        if confirmed {
            (self.bound, self.heard, self.leap) = (told, now, None);
        } else if self.leap.is_none_or(|(_, at)| now.ms_since(at) >= 1_000) {
            self.leap = Some((told, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: VenueTime = VenueTime(1_700_000_000_000);

    #[test]
    fn the_bound_is_carried_slowly_and_never_goes_back() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        assert_eq!(clock.at_least(Time::from_ms(10_000)), ORIGIN.plus_ms(9_990));
        clock.hear(Time::from_ms(10_000), ORIGIN.plus_ms(4_000));
        assert_eq!(clock.at_least(Time::from_ms(10_000)), ORIGIN.plus_ms(9_990));
        clock.hear(Time::from_ms(10_000), ORIGIN.plus_ms(10_500));
        assert_eq!(
            clock.at_least(Time::from_ms(10_000)),
            ORIGIN.plus_ms(10_500)
        );
    }

    #[test]
    fn one_answer_cannot_leap_but_two_can() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        let hour = 3_600_000;
        clock.hear(Time::from_ms(1_000), ORIGIN.plus_ms(hour));
        assert!(
            clock.at_least(Time::from_ms(1_000)) < ORIGIN.plus_ms(2_000),
            "alone"
        );
        clock.hear(Time::from_ms(1_100), ORIGIN.plus_ms(hour + 100));
        assert!(
            clock.at_least(Time::from_ms(1_100)) < ORIGIN.plus_ms(2_000),
            "too soon after"
        );
        clock.hear(Time::from_ms(2_100), ORIGIN.plus_ms(hour + 1_100));
        assert_eq!(
            clock.at_least(Time::from_ms(2_100)),
            ORIGIN.plus_ms(hour + 1_100)
        );
    }

    #[test]
    fn an_ordinary_answer_ends_a_claimed_leap() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        clock.hear(Time::from_ms(1_000), ORIGIN.plus_ms(3_600_000));
        clock.hear(Time::from_ms(1_500), ORIGIN.plus_ms(900));
        clock.hear(Time::from_ms(2_500), ORIGIN.plus_ms(3_601_500));
        assert!(clock.at_least(Time::from_ms(2_500)) < ORIGIN.plus_ms(3_000));
    }
}
