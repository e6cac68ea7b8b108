//! The lower bound of the venue's clock.
//!
//! Only the venue's own answers move it, and between them only the local monotonic clock advances it, slightly slow on
//! purpose: fences may be late, never early. The wall clock is not used.
//!
//! A single wrong answer may have moved it a few seconds too far ahead. For fences, grace covers that, and the bound
//! stays; but beside it all correct data would look old for hours. Ages are therefore computed without the part that
//! the account's own answers agree to be wrong. Several wrong answers may have moved it further than grace covers: then the
//! bound goes back by what correct ones agree on, so that fences are late again and deadlines are those of the file.

use serde::{Deserialize, Serialize};

use crate::time::{Time, VenueTime};
use crate::venue::ClockRule;

/// A single answer may not move the bound further ahead than this; two that agree may. Between answers the local clock
/// advances the bound, so that correct answers need no more than their delay and rounding. A wrong one can advance a
/// fence by at most this, which a usual grace covers.
pub(crate) const LEAP_MS: u64 = 5_000;
/// How far two answers may disagree about a leap.
const AGREEMENT_MS: u64 = 5_000;

/// Consecutive answers show that the bound is ahead: over at least this time,
const DOUBTED_MS: u64 = 10_000;
/// that agree within this,
const DOUBTS_APART_MS: u64 = 2_000;
/// by as much as this many of them show, whatever a wrong one among them shows.
const DOUBTS_MIN: usize = 3;

/// A lower bound of the venue's clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct VenueClock {
    bound: VenueTime,
    answered_at: Time,
    /// A leap in one answer that no second one has confirmed.
    unconfirmed_leap: Option<(VenueTime, Time)>,
    /// Consecutive answers whose time the bound had passed before they were requested.
    doubt: Option<Doubt>,
    /// By how much the bound was shown to be ahead, for ages.
    ahead_ms: u64,
}

/// Evidence from consecutive answers: the bound is ahead by at least this.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Doubt {
    since: Time,
    least_ms: u64,
    /// The highest, falling.
    most_ms: [u64; DOUBTS_MIN],
}

impl VenueClock {
    /// Starts with a time in an answer from before `now`.
    pub(crate) fn new(now: Time, venue_time: VenueTime) -> Self {
        Self {
            bound: venue_time,
            answered_at: now,
            unconfirmed_leap: None,
            doubt: None,
            ahead_ms: 0,
        }
    }

    /// Whether an answer contradicts the bound: it may be ahead.
    pub(crate) const fn is_doubted(&self) -> bool {
        self.doubt.is_some() || self.ahead_ms > 0
    }

    /// The venue's clock for computing ages: rather ahead than behind.
    pub(crate) fn for_ages(&self, now: Time) -> VenueTime {
        self.at_least(now).minus_ms(self.ahead_ms)
    }

    /// Uses the time of an answer that no cache can have given: it was generated after `sent`. If the bound had already
    /// passed it then, a wrong answer has moved the bound. Returns by how many milliseconds the bound went back.
    pub(crate) fn compare(
        &mut self,
        now: Time,
        sent: Time,
        venue_time: VenueTime,
        rule: ClockRule,
    ) -> u64 {
        let latest = venue_time.plus_ms(rule.resolution_ms + now.ms_since(sent));
        let ahead_ms = self.at_least(now).ms_since(latest);
        if ahead_ms == 0 {
            self.doubt = None;
            return 0;
        }
        let known = self.doubt.take().filter(|known| known.agrees(ahead_ms));
        let mut doubt = known.unwrap_or(Doubt {
            since: now,
            least_ms: ahead_ms,
            most_ms: [0; DOUBTS_MIN],
        });
        doubt.least_ms = doubt.least_ms.min(ahead_ms);
        let lowest = &mut doubt.most_ms[DOUBTS_MIN - 1];
        *lowest = ahead_ms.max(*lowest);
        doubt.most_ms.sort_unstable_by(|a, b| b.cmp(a));
        if now.ms_since(doubt.since) < DOUBTED_MS {
            self.doubt = Some(doubt);
            return 0;
        }
        // The next sequence starts again: the bound is advanced slowly, so that it is not ahead for long.
        let ahead_ms = doubt.most_ms[DOUBTS_MIN - 1];
        if ahead_ms <= LEAP_MS {
            self.ahead_ms = ahead_ms;
            return 0;
        }
        self.bound = self.at_least(now).minus_ms(ahead_ms);
        (self.answered_at, self.unconfirmed_leap, self.ahead_ms) = (now, None, 0);
        ahead_ms
    }

    /// Lower bound of the venue's clock now. One part in a thousand is subtracted for drift.
    pub(crate) fn at_least(&self, now: Time) -> VenueTime {
        let carried = now.ms_since(self.answered_at);
        self.bound.plus_ms(carried - carried.div_ceil(1_000))
    }

    /// Uses a time in an answer that arrived at `now`.
    pub(crate) fn observe(&mut self, now: Time, venue_time: VenueTime) {
        let known = self.at_least(now);
        // The clock for ages is never behind the time of an answer.
        self.ahead_ms = self.ahead_ms.min(known.ms_since(venue_time));
        if venue_time <= known {
            self.unconfirmed_leap = None;
            return;
        }
        if venue_time.ms_since(known) <= LEAP_MS {
            (self.bound, self.answered_at, self.unconfirmed_leap) = (venue_time, now, None);
            return;
        }
        // A suspended host sees every answer far ahead; a corrupt answer is the only one.
        let confirmed = self.unconfirmed_leap.is_some_and(|(before, at)| {
            let passed = now.ms_since(at);
            passed >= 1_000
                && venue_time >= before
                && venue_time.ms_since(before).abs_diff(passed) <= AGREEMENT_MS
        });
        if confirmed {
            (self.bound, self.answered_at, self.unconfirmed_leap) = (venue_time, now, None);
        } else if self
            .unconfirmed_leap
            .is_none_or(|(_, at)| now.ms_since(at) >= 1_000)
        {
            self.unconfirmed_leap = Some((venue_time, now));
        }
    }
}

impl Doubt {
    fn agrees(&self, ahead_ms: u64) -> bool {
        self.most_ms[0].max(ahead_ms) - self.least_ms.min(ahead_ms) <= DOUBTS_APART_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: ClockRule = ClockRule {
        resolution_ms: 1_000,
    };

    const ORIGIN: VenueTime = VenueTime(1_700_000_000_000);

    #[test]
    fn the_bound_is_carried_slowly_and_no_answer_takes_it_back() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        assert_eq!(clock.at_least(Time::from_ms(10_000)), ORIGIN.plus_ms(9_990));
        clock.observe(Time::from_ms(10_000), ORIGIN.plus_ms(4_000));
        assert_eq!(clock.at_least(Time::from_ms(10_000)), ORIGIN.plus_ms(9_990));
        clock.observe(Time::from_ms(10_000), ORIGIN.plus_ms(10_500));
        assert_eq!(
            clock.at_least(Time::from_ms(10_000)),
            ORIGIN.plus_ms(10_500)
        );
    }

    #[test]
    fn one_answer_cannot_leap_but_two_can() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        let hour = 3_600_000;
        clock.observe(Time::from_ms(1_000), ORIGIN.plus_ms(hour));
        assert!(
            clock.at_least(Time::from_ms(1_000)) < ORIGIN.plus_ms(2_000),
            "alone"
        );
        clock.observe(Time::from_ms(1_100), ORIGIN.plus_ms(hour + 100));
        assert!(
            clock.at_least(Time::from_ms(1_100)) < ORIGIN.plus_ms(2_000),
            "too soon after"
        );
        clock.observe(Time::from_ms(2_100), ORIGIN.plus_ms(hour + 1_100));
        assert_eq!(
            clock.at_least(Time::from_ms(2_100)),
            ORIGIN.plus_ms(hour + 1_100)
        );
    }

    #[test]
    fn an_ordinary_answer_ends_a_claimed_leap() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        clock.observe(Time::from_ms(1_000), ORIGIN.plus_ms(3_600_000));
        clock.observe(Time::from_ms(1_500), ORIGIN.plus_ms(900));
        clock.observe(Time::from_ms(2_500), ORIGIN.plus_ms(3_601_500));
        assert!(clock.at_least(Time::from_ms(2_500)) < ORIGIN.plus_ms(3_000));
    }

    /// A clock that one wrong answer has moved 4.5 s ahead, and correct answers of `private` requests, one every four
    /// seconds, each 100 ms in transit and truncated to the second.
    fn misled(answers: u64) -> (VenueClock, Time) {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        clock.observe(Time::from_ms(1_000), ORIGIN.plus_ms(5_500));
        let mut now = Time::from_ms(1_000);
        for n in 1..=answers {
            now = Time::from_ms(1_000 + n * 4_100);
            let venue_time = VenueTime(ORIGIN.plus_ms(now.as_ms() - 50).0 / 1_000 * 1_000);
            clock.observe(now, venue_time);
            clock.compare(now, now.minus_ms(100), venue_time, RULE);
        }
        (clock, now)
    }

    #[test]
    fn ages_leave_out_a_wrong_time_that_correct_answers_contradict_and_fences_do_not() {
        let (clock, now) = misled(6);
        let true_now = ORIGIN.plus_ms(now.as_ms());
        assert!(clock.for_ages(now) >= true_now, "nothing looks younger");
        assert!(clock.for_ages(now) <= true_now.plus_ms(1_100));
        assert!(clock.at_least(now) >= true_now.plus_ms(4_400), "stays");
        let (few, now) = misled(3);
        assert_eq!(few.for_ages(now), few.at_least(now), "too early to say");
    }

    #[test]
    fn a_correction_shrinks_as_the_bound_falls_behind() {
        // Of the 4.5 s by which it was ahead, one part in a thousand of the passing time is lost.
        for answers in [100, 300, 600] {
            let (clock, now) = misled(answers);
            let true_now = ORIGIN.plus_ms(now.as_ms());
            let drift_ms = 2 * DOUBTED_MS / 1_000 + 20;
            assert!(
                clock.for_ages(now) >= true_now.minus_ms(drift_ms),
                "{answers}"
            );
            assert!(clock.for_ages(now) <= true_now.plus_ms(1_100), "{answers}");
        }
    }

    #[test]
    fn answers_that_fit_or_disagree_do_not_correct_the_bound() {
        let mut clock = VenueClock::new(Time(0), ORIGIN.plus_ms(10_000));
        for n in 1..=20_u64 {
            let now = Time::from_ms(n * 1_000);
            let honest = ORIGIN.plus_ms(10_000 + n * 1_000);
            // A private answer that was delayed by a minute proves nothing; every third is correct.
            let (sent, venue_time) = match n % 3 {
                0 => (now, honest),
                1 => (now.minus_ms(0), honest.minus_ms(30_000 + n * 5_000)),
                _ => (now.minus_ms(900), honest.minus_ms(1_800)),
            };
            clock.observe(now, venue_time);
            clock.compare(now, sent, venue_time, RULE);
            assert_eq!(clock.for_ages(now), clock.at_least(now));
        }
    }

    #[test]
    fn a_later_answer_removes_the_correction() {
        let (mut clock, now) = misled(6);
        let later = clock.at_least(now);
        clock.observe(now, later);
        assert_eq!(clock.for_ages(now), later);
    }

    #[test]
    fn one_answer_moves_the_bound_by_five_seconds_and_no_further() {
        for (ahead_ms, moves) in [(1, true), (5_000, true), (5_001, false), (20_000, false)] {
            let mut clock = VenueClock::new(Time(0), ORIGIN);
            clock.observe(Time(0), ORIGIN.plus_ms(ahead_ms));
            let moved = clock.at_least(Time(0)) == ORIGIN.plus_ms(ahead_ms);
            assert_eq!(moved, moves, "{ahead_ms}");
        }
    }

    /// A second answer confirms a leap at least a second later, if it is no more than five seconds off; one that
    /// came too soon does not take the place of the first.
    #[test]
    fn a_leap_is_confirmed_within_its_limits() {
        let hour = ORIGIN.plus_ms(3_600_000);
        for (after_ms, venue_after_ms, confirmed) in [
            (999, 999, false),
            (1_000, 1_000, true),
            (10_000, 15_000, true),
            (10_000, 15_001, false),
            (10_000, 5_000, true),
            (10_000, 4_999, false),
        ] {
            let mut clock = VenueClock::new(Time(0), ORIGIN);
            clock.observe(Time(0), hour);
            let (now, venue_time) = (Time::from_ms(after_ms), hour.plus_ms(venue_after_ms));
            clock.observe(now, venue_time);
            let moved = clock.at_least(now) == venue_time;
            assert_eq!(moved, confirmed, "{after_ms} {venue_after_ms}");
        }
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        clock.observe(Time(0), hour.plus_ms(10_000));
        clock.observe(Time(0), hour);
        clock.observe(Time::from_ms(2_000), hour.plus_ms(12_000));
        assert_eq!(clock.at_least(Time::from_ms(2_000)), hour.plus_ms(12_000));
    }

    /// A row of answers that are behind the bound by these times, one every four seconds.
    fn corrected_by(behind_ms: &[u64]) -> u64 {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        let mut now = Time(0);
        for (n, behind_ms) in (0..).zip(behind_ms) {
            now = Time::from_ms(n * 4_000);
            let venue_time = clock.at_least(now).minus_ms(behind_ms + RULE.resolution_ms);
            clock.compare(now, now, venue_time, RULE);
        }
        clock.at_least(now).ms_since(clock.for_ages(now))
    }

    #[test]
    fn ages_are_corrected_by_what_three_answers_of_a_row_say() {
        assert_eq!(corrected_by(&[3_000, 4_800, 3_200, 3_100]), 3_100);
        assert_eq!(corrected_by(&[4_800, 3_200, 3_000, 3_100]), 3_100);
        assert_eq!(corrected_by(&[3_000, 5_000, 5_000, 5_000]), 5_000);
        assert_eq!(
            corrected_by(&[3_000, 3_000, 3_000]),
            0,
            "for eight seconds only"
        );
        assert_eq!(
            corrected_by(&[3_000, 5_001, 5_001, 5_001]),
            0,
            "they disagree"
        );
        assert_eq!(
            corrected_by(&[3_000, 3_000, 0, 3_000, 3_000]),
            0,
            "one fits"
        );
    }

    /// Two wrong answers moved the bound by a minute. Correct ones, for ten seconds, take it back; what a single answer may
    /// do is left to grace.
    #[test]
    fn what_grace_does_not_cover_is_taken_back() {
        for (ahead_ms, goes_back) in [(LEAP_MS, false), (LEAP_MS + 20, true), (60_000, true)] {
            let mut clock = VenueClock::new(Time(0), ORIGIN.plus_ms(ahead_ms));
            let honest = |now: Time| ORIGIN.plus_ms(now.as_ms()).minus_ms(RULE.resolution_ms);
            for n in 0..4 {
                let now = Time::from_ms(n * 3_000);
                assert_eq!(clock.compare(now, now, honest(now), RULE), 0, "{n}");
                assert!(clock.at_least(now) >= ORIGIN.plus_ms(now.as_ms() + ahead_ms - 20));
            }
            let now = Time::from_ms(12_000);
            let back_ms = clock.compare(now, now, honest(now), RULE);
            assert_eq!(back_ms > 0, goes_back, "{ahead_ms}");
            let true_now = ORIGIN.plus_ms(now.as_ms());
            assert!(clock.for_ages(now) >= true_now.minus_ms(20), "{ahead_ms}");
            let is_right = clock.at_least(now) <= true_now;
            assert_eq!(is_right, goes_back, "{ahead_ms}");
        }
    }

    #[test]
    fn an_answer_that_is_not_ahead_of_the_bound_moves_nothing() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        let bounds = |clock: &VenueClock| -> Vec<_> {
            let times = (1_500..4_500).map(Time::from_ms);
            times.map(|now| clock.at_least(now)).collect()
        };
        let (now, before) = (Time::from_ms(1_500), bounds(&clock));
        for behind_ms in [0, 1, 1_000] {
            clock.observe(now, clock.at_least(now).minus_ms(behind_ms));
            assert_eq!(bounds(&clock), before, "{behind_ms} ms behind");
        }
    }

    /// Small contradictions count like large ones, and one answer that fits ends every row of them.
    #[test]
    fn one_answer_that_fits_ends_a_row_and_one_that_is_off_by_a_millisecond_does_not() {
        assert_eq!(corrected_by(&[1_500, 1_500, 0, 1_500, 1_500]), 0);
        assert_eq!(corrected_by(&[1_500, 1_500, 1, 1_500, 1_500]), 1_500);
        assert_eq!(corrected_by(&[1, 1, 1, 1]), 1);
    }

    #[test]
    fn two_answers_correct_nothing_however_far_apart_they_are() {
        let mut clock = VenueClock::new(Time(0), ORIGIN);
        for seconds in [0, 60] {
            let now = Time::from_ms(1_000 * seconds);
            let venue_time = clock.at_least(now).minus_ms(3_000 + RULE.resolution_ms);
            clock.compare(now, now, venue_time, RULE);
            assert_eq!(clock.for_ages(now), clock.at_least(now), "{seconds}");
        }
    }
}
