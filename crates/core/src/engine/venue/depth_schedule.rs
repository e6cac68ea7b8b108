//! How often the depth of each market is polled: what `poll.depth_ms` allows for all markets together is divided so
//! that a market whose mid moves more is polled more often.
//!
//! What a resting quote loses between two polls grows with the variance of the mid over that time, so polls at interval
//! `T` cost `σ²·T/2` a second. With the sum of `1/T` given, the sum of the costs is least at intervals that are
//! inversely proportional to `σ` (Lagrange: `σᵢ²·Tᵢ²` is equal for all markets). A part of the polls is divided evenly,
//! because an estimate of a market that is rarely looked at is late.

use serde::{Deserialize, Serialize};

use crate::time::Time;

const WHOLE: u128 = 10_000;
/// Polls that are divided evenly, of all, in ten-thousandths.
const EVEN_MIN: u128 = 2_500;
/// Time over which the estimate forgets.
const MEMORY_MS: u128 = 60_000;
/// An estimate over less time is none.
const SPAN_MIN_MS: u128 = 20_000;
/// Moves are measured over at least this time: a mid that changes with every order and returns moves by as much within
/// a second as within a minute, and no quote loses by it.
const MOVE_MS: u64 = 5_000;
/// A mid's move that counts at most, in millionths.
const MOVE_MAX_PPM: u128 = 1_000_000;

/// How much a mid moves: squared relative moves, over the time that they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Movement {
    /// The mid in half ticks that the next move is measured from, and when it was polled.
    last: Option<(Time, u64)>,
    /// Sum of squared moves, in squared millionths.
    squares: u128,
    /// The time that they took.
    span_ms: u128,
}

impl Movement {
    /// Adds a mid in half ticks. A mid of zero is none.
    pub(crate) fn add(&mut self, now: Time, mid: u64) {
        if mid == 0 {
            return;
        }
        let (then, before) = *self.last.get_or_insert((now, mid));
        let took_ms = u128::from(now.ms_since(then));
        if took_ms < u128::from(MOVE_MS) {
            return;
        }
        self.last = Some((now, mid));
        let moved = u128::from(mid.abs_diff(before)) * 1_000_000 / u128::from(before);
        let moved = moved.min(MOVE_MAX_PPM);
        let kept = |sum: u128| sum * MEMORY_MS / (MEMORY_MS + took_ms);
        self.squares = kept(self.squares) + moved * moved;
        self.span_ms = kept(self.span_ms) + took_ms;
    }

    /// Millionths per square root of a second; `None` before it was observed for long enough.
    fn deviation_ppm(&self) -> Option<u128> {
        let known = self.span_ms >= SPAN_MIN_MS;
        known.then(|| (self.squares * 1_000 / self.span_ms).isqrt())
    }
}

/// The interval until the next poll of a market. All markets together are polled at most as often as if each was polled
/// every `depth_ms`. Without an estimate a market counts as moving like the mean of the others.
///
/// No interval is longer than half of `depth_age_max_ms`, after which a poll is due in any case.
pub(crate) fn interval_ms(
    movements: &[Movement],
    index: usize,
    depth_ms: u64,
    depth_age_max_ms: u64,
) -> u64 {
    let own = movements.get(index).and_then(Movement::deviation_ppm);
    let known: Vec<u128> = movements
        .iter()
        .filter_map(Movement::deviation_ppm)
        .collect();
    let (sum, count) = (known.iter().sum::<u128>(), known.len() as u128);
    let Some(own) = own.filter(|_| sum > 0) else {
        return depth_ms;
    };
    let aged = (2 * u128::from(depth_ms) * WHOLE).div_ceil(u128::from(depth_age_max_ms.max(1)));
    let even = EVEN_MIN.max(aged).min(WHOLE);
    let share = even + (WHOLE - even) * count * own / sum;
    let interval = (u128::from(depth_ms) * WHOLE).div_ceil(share);
    u64::try_from(interval).unwrap_or(depth_ms)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const DEPTH_MS: u64 = 1_000;

    /// A mid that moves by so many millionths every 5 s, up and down, for `seconds`, polled every second.
    fn moving(ppm: u64, seconds: u64) -> Movement {
        let mut movement = Movement::default();
        for second in 0..=seconds {
            let mid = 1_000_000 + ppm * (second / 5 % 2);
            movement.add(Time::from_ms(second * 1_000), mid);
        }
        movement
    }

    fn intervals(movements: &[Movement], age_max_ms: u64) -> Vec<u64> {
        let each = 0..movements.len();
        each.map(|index| interval_ms(movements, index, DEPTH_MS, age_max_ms))
            .collect()
    }

    #[test]
    fn the_deviation_of_moves_is_that_per_second_however_often_it_is_polled() {
        let often = moving(2_236, 120).deviation_ppm().unwrap();
        assert!((980..=1_010).contains(&often), "{often}");
        // Twice the move in four times the time is the same deviation.
        let mut rarely = Movement::default();
        for poll in 0..60_u64 {
            rarely.add(Time::from_ms(poll * 20_000), 1_000_000 + 4_472 * (poll % 2));
        }
        let rarely = rarely.deviation_ppm().unwrap();
        assert!((980..=1_010).contains(&rarely), "{rarely}");
    }

    #[test]
    fn a_mid_that_moves_and_returns_within_seconds_does_not_count() {
        let mut bouncing = Movement::default();
        for half in 0..240_u64 {
            bouncing.add(Time::from_ms(half * 500), 1_000_000 + 1_000 * (half % 2));
        }
        assert_eq!(bouncing.deviation_ppm(), Some(0));
    }

    #[test]
    fn one_market_is_polled_every_depth_ms() {
        assert_eq!(intervals(&[moving(100, 60)], 60_000), [DEPTH_MS]);
        assert_eq!(intervals(&[], 60_000), [0_u64; 0]);
        assert_eq!(interval_ms(&[], 0, DEPTH_MS, 60_000), DEPTH_MS);
    }

    #[test]
    fn a_market_that_moves_more_is_polled_more_often_and_all_together_as_often_as_evenly() {
        let found = intervals(&[moving(3_000, 60), moving(1_000, 60)], 60_000);
        // 25 % evenly, and of the other 75 % three quarters and one quarter of two markets' polls.
        assert_eq!(found, [728, 1_601]);
        for count in 1..=8 {
            let each = (0..count).map(|at| moving(170 * (at * at + 1), 60));
            let each: Vec<_> = each.collect();
            let per_s: f64 = intervals(&each, 60_000)
                .iter()
                .map(|ms| 1_000.0 / f64::from(u32::try_from(*ms).unwrap()))
                .sum();
            let evenly = f64::from(u32::try_from(count).unwrap());
            assert!(per_s <= evenly && per_s > 0.99 * evenly, "{per_s}");
        }
    }

    #[test]
    fn no_interval_is_longer_than_four_times_nor_than_half_the_age() {
        let each = [moving(10_000, 60), moving(0, 60)];
        assert_eq!(intervals(&each, 60_000)[1], 4_000);
        assert_eq!(intervals(&each, 5_000)[1], 2_500);
        assert_eq!(intervals(&each, 2_000), [DEPTH_MS; 2], "no room");
        assert_eq!(intervals(&each, 100), [DEPTH_MS; 2]);
    }

    /// Ages that do not divide evenly: shares are rounded up, so that intervals are never rounded above the bound.
    #[test]
    fn rounding_makes_no_interval_longer_than_half_the_age() {
        let each = [moving(10_000, 60), moving(0, 60)];
        for age_max_ms in 2_001..6_000 {
            let still = intervals(&each, age_max_ms)[1];
            assert!(2 * still <= age_max_ms + 1, "{still} of {age_max_ms}");
        }
    }

    #[test]
    fn a_market_without_an_estimate_and_markets_without_moves_are_polled_evenly() {
        let short = moving(1_000, 20);
        assert_eq!(short.deviation_ppm(), None);
        assert!(moving(1_000, 25).deviation_ppm().is_some());
        let found = intervals(&[moving(3_000, 60), short, moving(1_000, 60)], 60_000);
        assert_eq!(found, [728, DEPTH_MS, 1_601]);
        assert_eq!(
            intervals(&[moving(0, 60), moving(0, 60)], 60_000),
            [DEPTH_MS; 2]
        );
        let mut zero = moving(1_000, 60);
        zero.add(Time::from_ms(70_000), 0);
        assert_eq!(zero, moving(1_000, 60), "nothing is no mid");
    }

    #[test]
    fn the_estimate_forgets_and_no_mid_overflows_it() {
        let mut calmed = moving(1_000, 600);
        let before = calmed.deviation_ppm().unwrap();
        for second in 601..=1_200 {
            calmed.add(Time::from_ms(second * 1_000), 1_000_000);
        }
        assert!(calmed.deviation_ppm().unwrap() < before / 8);
        let mut wild = Movement::default();
        for step in 0..10_000_u64 {
            let mid = if step % 2 == 0 { 1 } else { u64::MAX };
            wild.add(Time::from_ms(step * MOVE_MS), mid);
        }
        // But for rounding.
        assert!(wild.deviation_ppm().unwrap() <= MOVE_MAX_PPM * 101 / 100);
    }
}
