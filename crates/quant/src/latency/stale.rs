//! A stale quote: what the mid may do before the quote is changed.
//!
//! Sources: the normal law of Brownian motion and its reflection principle (Karatzas & Shreve 1991,
//! section 2.6); the loss of a stale quote is the value of a call (Bachelier 1900).

use core::f64::consts::PI;

use crate::error::{Result, finite, positive, solved};
use crate::special::{normal_excess, normal_tail};

/// A quote `distance` from the mid when it was made, `seconds` ago.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stale {
    sigma: f64,
    seconds: f64,
    distance: f64,
}

impl Stale {
    /// `sigma` in price/√s; all above 0, the distance may be below.
    pub fn new(sigma: f64, seconds: f64, distance: f64) -> Result<Self> {
        let made = Self {
            sigma: positive("sigma", sigma)?,
            seconds: positive("seconds", seconds)?,
            distance: finite("distance", distance)?,
        };
        positive("sigma over the time", made.deviation())?;
        Ok(made)
    }

    /// Standard deviation of the move.
    fn deviation(&self) -> f64 {
        self.sigma * libm::sqrt(self.seconds)
    }

    /// The distance in standard deviations.
    fn score(&self) -> f64 {
        self.distance / self.deviation()
    }

    /// Mean size of the move, `σ√(2τ/π)`; price.
    pub fn mean_move(&self) -> f64 {
        self.deviation() * libm::sqrt(2.0 / PI)
    }

    /// The probability that the mid is beyond the quote at the end.
    pub fn beyond_at_end(&self) -> f64 {
        normal_tail(self.score())
    }

    /// The mean loss to a taker who takes the quote at the end if that is profitable: `s·n(d/s) −
    /// d·N(−d/s)`, `s = σ√τ`; price.
    pub fn pick_off_at_end(&self) -> f64 {
        self.deviation() * normal_excess(self.score())
    }

    /// The probability that the mid reaches the quote at any time: `2N(−d/s)` (reflection principle).
    pub fn touched(&self) -> f64 {
        if self.distance <= 0.0 {
            1.0
        } else {
            2.0 * normal_tail(self.score())
        }
    }

    /// The mean over the time of the squared move: `σ²τ/2`; price².
    pub fn mean_square(&self) -> f64 {
        self.sigma * self.sigma * self.seconds / 2.0
    }
}

/// Half the width of the band within which a hedge is not adjusted: `(3/2·c·P·Γ²/γ)^(1/3)`, in
/// base.
///
/// Whalley & Wilmott 1997, leading order, for a proportional `cost` c, a `price` P, a `gamma` Γ of
/// the hedged position (base for each unit of price, whatever its sign) and a risk aversion γ
/// (1/quote).
pub fn hedge_band(cost: f64, price: f64, gamma: f64, risk_aversion: f64) -> Result<f64> {
    let cost = crate::error::non_negative("cost", cost)?;
    let gamma = finite("gamma", gamma)?;
    let price = positive("price", price)?;
    let risk = positive("risk aversion", risk_aversion)?;
    let cube = 1.5 * cost * price * gamma * gamma / risk;
    solved("band", libm::cbrt(cube))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn at_the_mid_four_tenths_of_a_deviation_are_lost() {
        let stale = Stale::new(2.0, 4.0, 0.0).unwrap();
        assert!((stale.pick_off_at_end() - 4.0 * 0.398_942_280_401_432_7).abs() < 1e-14);
        assert!((stale.beyond_at_end() - 0.5).abs() < 1e-15);
        assert!((stale.touched() - 1.0).abs() < 1e-15);
        assert!((stale.mean_square() - 8.0).abs() < 1e-15);
        assert!((Stale::new(2.0, 4.0, -1.0).unwrap().touched() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn far_away_the_loss_is_small_and_still_accurate() {
        let stale = Stale::new(0.553_93, 0.383_94, 7.866).unwrap();
        // Computed with fifty digits.
        let loss = 2.319_166_039_038_453_4e-118;
        assert!((stale.pick_off_at_end() / loss - 1.0).abs() < 1e-11);
    }

    #[test]
    fn bad_input_is_refused() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(Stale::new(bad, 1.0, 1.0).is_err());
            assert!(Stale::new(1.0, bad, 1.0).is_err());
            assert!(Stale::new(1.0, 1.0, bad).is_err());
            assert!(hedge_band(bad, 1.0, 1.0, 1.0).is_err());
        }
        assert!(Stale::new(0.0, 1.0, 1.0).is_err() && Stale::new(1.0, 0.0, 1.0).is_err());
        assert!(hedge_band(0.1, 1.0, 1.0, 0.0).is_err());
        assert!((hedge_band(0.0, 1.0, 1.0, 1.0).unwrap()).abs() < 1e-300);
    }
}
