//! The ramp: starting below full size, and stepping up after healthy time.

use serde::{Deserialize, Serialize};

use crate::config::RampConfig;
use crate::market::Qty;
use crate::time::Time;

const FULL_BPS: u32 = 10_000;

/// State of the ramp.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ramp {
    /// Start of the first step; `None` until quoting begins.
    begun: Option<Time>,
}

impl Ramp {
    /// Quoting is allowed: the first step starts.
    pub(crate) fn begin(&mut self, now: Time) {
        self.begun.get_or_insert(now);
    }

    /// A fault occurred: the ramp restarts.
    pub(crate) fn restart(&mut self, now: Time) {
        if self.begun.is_some() {
            self.begun = Some(now);
        }
    }

    /// The share of full size in ten-thousandths.
    pub(crate) fn share_bps(&self, now: Time, config: &RampConfig) -> u32 {
        let healthy_ms = self.begun.map_or(0, |begun| now.ms_since(begun));
        let steps = u32::try_from(healthy_ms / config.step_ms.max(1)).unwrap_or(u32::MAX);
        let gained = steps.saturating_mul(config.step_bps);
        config.start_bps.saturating_add(gained).min(FULL_BPS)
    }

    /// When the share increases next.
    pub(crate) fn grows_at(&self, now: Time, config: &RampConfig) -> Option<Time> {
        let begun = self.begun?;
        if self.share_bps(now, config) >= FULL_BPS || config.step_bps == 0 {
            return None;
        }
        let step_ms = config.step_ms.max(1);
        let steps = now.ms_since(begun) / step_ms + 1;
        Some(begun.plus_ms(steps.saturating_mul(step_ms)))
    }
}

/// A quantity at a share of full size, rounded down.
pub(crate) fn scaled(qty: Qty, share_bps: u32) -> Qty {
    if share_bps >= FULL_BPS {
        return qty;
    }
    let part = u128::from(qty.0) * u128::from(share_bps) / u128::from(FULL_BPS);
    Qty(u64::try_from(part).unwrap_or(qty.0))
}

/// The smallest full size that is scaled to `qty` at this share.
pub(crate) fn full_size(qty: Qty, share_bps: u32) -> Qty {
    if share_bps >= FULL_BPS {
        return qty;
    }
    let whole = u128::from(qty.0) * u128::from(FULL_BPS);
    let full = whole.div_ceil(u128::from(share_bps.max(1)));
    Qty(u64::try_from(full).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RampConfig = RampConfig {
        start_bps: 2_500,
        step_bps: 2_500,
        step_ms: 1_000,
    };

    #[test]
    fn the_share_steps_up_with_healthy_time_and_restarts() {
        let mut ramp = Ramp::default();
        assert_eq!(ramp.share_bps(Time::from_ms(9_000), &CONFIG), 2_500);
        ramp.begin(Time::from_ms(9_000));
        assert_eq!(ramp.share_bps(Time::from_ms(9_999), &CONFIG), 2_500);
        assert_eq!(
            ramp.grows_at(Time::from_ms(9_999), &CONFIG),
            Some(Time::from_ms(10_000))
        );
        assert_eq!(ramp.share_bps(Time::from_ms(10_000), &CONFIG), 5_000);
        assert_eq!(ramp.share_bps(Time::from_ms(99_000), &CONFIG), 10_000);
        assert_eq!(ramp.grows_at(Time::from_ms(99_000), &CONFIG), None);
        ramp.restart(Time::from_ms(99_000));
        assert_eq!(ramp.share_bps(Time::from_ms(99_000), &CONFIG), 2_500);
        assert_eq!(scaled(Qty(101), 2_500), Qty(25));
    }

    #[test]
    fn scaling_the_full_size_returns_the_quantity() {
        for share_bps in 1..=FULL_BPS {
            for qty in [0, 1, 2, 3, 7, 99, 12_345, 1 << 40] {
                let full = full_size(Qty(qty), share_bps);
                assert_eq!(scaled(full, share_bps), Qty(qty), "{qty} at {share_bps}");
                assert!(full.0 == 0 || scaled(Qty(full.0 - 1), share_bps).0 < qty);
            }
        }
    }

    #[test]
    fn a_step_without_a_length_takes_a_millisecond() {
        let config = RampConfig {
            step_ms: 0,
            ..CONFIG
        };
        let mut ramp = Ramp::default();
        ramp.begin(Time::from_ms(5));
        assert_eq!(ramp.share_bps(Time::from_ms(5), &config), 2_500);
        assert_eq!(
            ramp.grows_at(Time::from_ms(5), &config),
            Some(Time::from_ms(6))
        );
        assert_eq!(ramp.share_bps(Time::from_ms(6), &config), 5_000);
    }
}
