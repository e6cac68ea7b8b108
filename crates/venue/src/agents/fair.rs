//! The fair price: a diffusion with occasional jumps, known to the traders and to nobody else.
//!
//! A model, so it may use floating point; through `libm`, so that platforms agree to the bit.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Longest stretch of time that one step may cover: after a pause the price does not leap.
const STEP_MAX_S: f64 = 5.0;

/// How far from its start the price may wander, as a factor.
const RANGE: f64 = 8.0;

/// The process and its generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fair {
    /// In ticks, not rounded.
    pub price: f64,
    start: f64,
    volatility_bps_per_sqrt_s: f64,
    jumps_per_hour: f64,
    jump_bps: f64,
    random: Random,
}

impl Fair {
    pub fn new(
        start: f64,
        volatility_bps_per_sqrt_s: f64,
        jumps_per_hour: f64,
        jump_bps: f64,
        random: Random,
    ) -> Self {
        Self {
            price: start,
            start,
            volatility_bps_per_sqrt_s,
            jumps_per_hour,
            jump_bps,
            random,
        }
    }

    /// Lets `seconds` pass.
    pub fn advance(&mut self, seconds: f64) {
        let seconds = seconds.clamp(0.0, STEP_MAX_S);
        let mut move_bps =
            self.volatility_bps_per_sqrt_s * libm::sqrt(seconds) * gauss(&mut self.random);
        if self.random.unit() < self.jumps_per_hour * seconds / 3_600.0 {
            let size = self.jump_bps * (0.5 + self.random.unit());
            move_bps += if self.random.chance(1, 2) {
                size
            } else {
                -size
            };
        }
        self.price = (self.price * libm::exp(move_bps / 10_000.0))
            .clamp(self.start / RANGE, self.start * RANGE);
    }
}

/// A standard normal number (Box and Muller).
pub(super) fn gauss(random: &mut Random) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(random.unit()));
    radius * libm::cos(std::f64::consts::TAU * random.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_moves_is_the_volatility_asked_for() {
        let mut sum = 0.0;
        for seed in 0..400 {
            let mut fair = Fair::new(1e6, 3.0, 0.0, 0.0, Random::new(seed));
            for _ in 0..100 {
                fair.advance(0.25);
            }
            let moved = libm::log(fair.price / 1e6) * 10_000.0;
            sum += moved * moved;
        }
        let deviation = libm::sqrt(sum / 400.0);
        assert!((13.0..17.0).contains(&deviation), "{deviation} for 15");
    }

    #[test]
    fn jumps_come_as_often_as_asked_and_the_range_holds() {
        let mut fair = Fair::new(1e6, 0.0, 360.0, 100.0, Random::new(3));
        let mut jumps = 0;
        for _ in 0..36_000 {
            let before = fair.price;
            fair.advance(0.1);
            jumps += u32::from((fair.price - before).abs() > 1.0);
        }
        assert!((280..440).contains(&jumps), "{jumps} for 360");
        let mut wild = Fair::new(1e6, 1_000.0, 0.0, 0.0, Random::new(3));
        for _ in 0..10_000 {
            wild.advance(1.0);
            assert!((1e6 / RANGE..=1e6 * RANGE).contains(&wild.price));
        }
    }
}
