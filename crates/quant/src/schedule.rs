//! Trading an amount over time, in whole units. The target at a time is a function of the clock
//! alone, so that a restart changes nothing and the total is exact.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::error::{Result, require};

/// The part of `total` that should be traded by `now`, evenly over `start` to `end` in `slices`: 0
/// before the start, all of it from the end on, whole slices in between. Times in any one unit,
/// amounts in base units.
///
/// Time-weighted execution as venues and brokers define TWAP; rounding is down, and the last slice
/// takes the rest.
pub fn twap_target(total: u128, start: u64, end: u64, slices: u32, now: u64) -> Result<u128> {
    require(start < end, "end", "after the start")?;
    require(slices > 0, "slices", "at least 1")?;
    if now >= end {
        return Ok(total);
    }
    let passed = u128::from(now.saturating_sub(start)) * u128::from(slices);
    let slice = passed / u128::from(end - start);
    let target = BigUint::from(total) * slice / slices;
    Ok(target.to_u128().unwrap_or(total))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn the_target_rises_in_slices_to_exactly_the_total() {
        let at = |now| twap_target(1_000_000_007, 100, 400, 7, now).unwrap();
        let mut last = 0;
        let mut steps = 0;
        for now in 0..500 {
            let target = at(now);
            assert!(target >= last);
            steps += usize::from(target > last);
            last = target;
        }
        assert_eq!((last, steps), (1_000_000_007, 7));
        assert_eq!((at(0), at(142), at(143)), (0, 0, 142_857_143));
        assert_eq!(
            twap_target(u128::MAX, 0, u64::MAX, u32::MAX, u64::MAX).unwrap(),
            u128::MAX
        );
        let nearly = twap_target(u128::MAX, 0, u64::MAX, u32::MAX, u64::MAX - 1).unwrap();
        assert!(nearly < u128::MAX && nearly > u128::MAX / 2);
    }

    #[test]
    fn bad_schedules_are_refused() {
        assert!(twap_target(1, 5, 5, 1, 5).is_err());
        assert!(twap_target(1, 5, 6, 0, 5).is_err());
    }
}
