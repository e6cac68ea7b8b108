//! Whether a pool pays, from observations one at a time: fee income against the loss to rebalancing, with a state
//! that can be stored.
//!
//! Fee income is the growth of `√(xy)/supply`, which trades without a fee, joins and exits leave unchanged. The loss
//! to rebalancing is `σ²/8` of the value per unit of time: Milionis, Moallemi, Roughgarden & Zhang, "Automated market
//! making and loss-versus-rebalancing", arXiv 2208.06046, example 1 (constant product). Both are averages whose
//! observations lose half of their weight in the same time.

use crate::error::{Error, Result, positive};
use crate::volatility::live::Weighted;

/// The estimator and its observations.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Income {
    half_life_s: f64,
    /// Of the logarithm of the mid.
    volatility: Weighted,
    /// The logarithm of the last root per share.
    root: Option<f64>,
    /// Weighted sum of the growth, 1/s, and the sum of its weights.
    growth: f64,
    weight: f64,
    /// Seconds observed.
    seconds: f64,
}

/// One observation of a pool beside a market; base units, and the mid in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Base in the pool, above 0.
    pub base: f64,
    /// Quote in the pool, above 0.
    pub quote: f64,
    /// Shares in circulation, above 0.
    pub supply: f64,
    /// The mid of the order book, above 0; `None` if a side was empty.
    pub mid: Option<f64>,
}

impl Income {
    /// An estimator without observations.
    pub fn new(half_life_s: f64) -> Result<Self> {
        Ok(Self {
            half_life_s: positive("half-life", half_life_s)?,
            volatility: Weighted::new(half_life_s)?,
            root: None,
            growth: 0.0,
            weight: 0.0,
            seconds: 0.0,
        })
    }

    /// Seconds in which observations lose half of their weight.
    pub const fn half_life_s(&self) -> f64 {
        self.half_life_s
    }

    /// Adds an observation, `seconds` (above 0) after the last one; the first one only sets the starting point.
    pub fn push(&mut self, observed: &Observed, seconds: f64) -> Result<()> {
        let base = libm::log(positive("base", observed.base)?);
        let quote = libm::log(positive("quote", observed.quote)?);
        let root = f64::midpoint(base, quote) - libm::log(positive("supply", observed.supply)?);
        let mid = observed.mid.map(|mid| positive("mid", mid)).transpose()?;
        if let Some(before) = self.root {
            let dt = positive("seconds since the last observation", seconds)?;
            let keep = libm::exp2(-dt / self.half_life_s);
            self.growth = keep * self.growth + (1.0 - keep) * ((root - before) / dt);
            self.weight = keep * self.weight + (1.0 - keep);
            self.seconds += dt;
        }
        self.root = Some(root);
        let Some(mid) = mid else {
            self.volatility.interrupt();
            return Ok(());
        };
        self.volatility.push(libm::log(mid), seconds)
    }

    /// Starts again from the next observation and keeps the estimates, as after a gap in the data.
    pub fn interrupt(&mut self) {
        self.root = None;
        self.volatility.interrupt();
    }

    /// Fee income less loss to rebalancing, as a fraction of the value per second. `None` until a half-life was
    /// observed, and while the mid has never changed.
    pub fn net_rate(&self) -> Result<Option<f64>> {
        let known = self.seconds >= self.half_life_s && self.weight > 0.0;
        let Some(sigma) = self.volatility.sigma().filter(|_| known) else {
            return Ok(None);
        };
        let net = self.growth / self.weight - sigma * sigma / 8.0;
        if net.is_finite() {
            Ok(Some(net))
        } else {
            Err(Error::NoSolution { name: "net rate" })
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    /// A pool whose root per share grows by `growth` a second, beside a mid that changes by the factors `e^±sigma`
    /// each second, for `seconds`.
    fn after(seconds: u32, growth: f64, sigma: f64) -> Income {
        let mut income = Income::new(100.0).unwrap();
        for second in 0..=seconds {
            let grown = libm::exp(growth * f64::from(second));
            let up = second % 2 == 1;
            let mid = 2_500.0 * if up { libm::exp(sigma) } else { 1.0 };
            // Shares double every ten seconds, as after joins.
            let shares = libm::exp2(f64::from(second / 10));
            let observed = Observed {
                base: 100.0 * grown * shares,
                quote: 250_000.0 * grown * shares,
                supply: 1_000.0 * shares,
                mid: Some(mid),
            };
            income.push(&observed, 1.0).unwrap();
        }
        income
    }

    #[test]
    fn fees_are_the_growth_and_the_loss_is_an_eighth_of_the_variance() {
        let (growth, sigma) = (3e-6, 2e-3);
        let net = after(300, growth, sigma).net_rate().unwrap().unwrap();
        let expected = growth - sigma * sigma / 8.0;
        assert!((net - expected).abs() < 1e-12, "{net} {expected}");
        // With twice the volatility the same fees do not pay.
        let net = after(300, growth, 3.0 * sigma).net_rate().unwrap().unwrap();
        assert!(net < 0.0, "{net}");
    }

    #[test]
    fn nothing_is_known_before_a_half_life_or_without_a_moving_mid() {
        assert_eq!(after(99, 1e-6, 1e-3).net_rate(), Ok(None));
        assert!(after(100, 1e-6, 1e-3).net_rate().unwrap().is_some());
        assert_eq!(after(300, 1e-6, 0.0).net_rate(), Ok(None));
    }

    #[test]
    fn a_gap_adds_no_growth_and_bad_inputs_are_refused() {
        let mut income = after(300, 1e-6, 1e-3);
        let before = income.net_rate().unwrap();
        income.interrupt();
        let mut observed = Observed {
            base: 1_000.0,
            quote: 9e6,
            supply: 1.0,
            mid: None,
        };
        income.push(&observed, 1.0).unwrap();
        assert_eq!(income.net_rate().unwrap(), before);
        observed.supply = 0.0;
        assert!(income.push(&observed, 1.0).is_err());
        observed.supply = 1.0;
        assert!(income.push(&observed, 0.0).is_err());
        assert!(Income::new(0.0).is_err());
    }
}
