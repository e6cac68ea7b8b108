//! Volatility of polled mids, one at a time: irregular intervals, bounded memory, a state that can be
//! stored.
//!
//! Sources: RiskMetrics 1996; Zhang, Mykland & Aït-Sahalia 2005; Lee & Mykland 2008.

use std::collections::VecDeque;

use super::samples::Samples;
use crate::error::{Result, finite, positive, require};

/// Exponentially weighted variance of a mid that is observed at irregular times.
///
/// Each change counts as `change²/dt` with weight `1 − e^(−dt/τ)`, `τ = half-life/ln 2`, so that one
/// long interval weighs as much as the short ones it replaces (RiskMetrics 1996, there for equal
/// intervals).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Weighted {
    half_life_s: f64,
    last: Option<f64>,
    /// Sum of weights so far: 1 − the weight that the start would still have.
    weight: f64,
    /// Weighted sum of squared changes for each second.
    sum: f64,
    /// Seconds observed.
    seconds: f64,
}

impl Weighted {
    /// Observations lose half of their weight in `half_life_s` seconds.
    pub fn new(half_life_s: f64) -> Result<Self> {
        Ok(Self {
            half_life_s: positive("half-life", half_life_s)?,
            last: None,
            weight: 0.0,
            sum: 0.0,
            seconds: 0.0,
        })
    }

    /// Adds a mid, `seconds` (above 0) after the last one; the first one only sets the starting
    /// point.
    pub fn push(&mut self, mid: f64, seconds: f64) -> Result<()> {
        let mid = finite("mid", mid)?;
        if let Some(last) = self.last {
            let dt = positive("seconds since the last mid", seconds)?;
            let keep = libm::exp2(-dt / self.half_life_s);
            let change = mid - last;
            self.sum = keep * self.sum + (1.0 - keep) * (change * change / dt);
            self.weight = keep * self.weight + (1.0 - keep);
            self.seconds += dt;
        }
        self.last = Some(mid);
        Ok(())
    }

    /// Starts again from the next mid and keeps the estimate, as after a gap in the data.
    pub fn interrupt(&mut self) {
        self.last = None;
    }

    /// Volatility, price/√s; `None` until a quarter of the half-life was observed, and while the
    /// mid has never moved.
    pub fn sigma(&self) -> Option<f64> {
        let known = self.seconds >= self.half_life_s / 4.0 && self.weight > 0.0;
        let sigma = libm::sqrt(self.sum / self.weight);
        (known && sigma > 0.0 && sigma.is_finite()).then_some(sigma)
    }
}

/// The last mids at equal intervals, for estimates without microstructure noise.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Window {
    interval_s: f64,
    length: usize,
    mids: VecDeque<f64>,
    /// Seconds since the last mid that was kept.
    since: f64,
}

impl Window {
    /// Keeps `length` mids (10 to 100,000), one every `interval_s` seconds.
    pub fn new(interval_s: f64, length: usize) -> Result<Self> {
        require(
            (10..=100_000).contains(&length),
            "length",
            "from 10 to 100000 mids",
        )?;
        Ok(Self {
            interval_s: positive("interval", interval_s)?,
            length,
            mids: VecDeque::new(),
            since: 0.0,
        })
    }

    /// Adds a mid, `seconds` after the last one added. It is kept for every interval that has
    /// passed. A gap of more than ten intervals empties the window.
    pub fn push(&mut self, mid: f64, seconds: f64) -> Result<()> {
        let mid = finite("mid", mid)?;
        if self.mids.is_empty() {
            self.mids.push_back(mid);
            self.since = 0.0;
            return Ok(());
        }
        self.since += positive("seconds since the last mid", seconds)?;
        if self.since > 10.0 * self.interval_s {
            self.mids.clear();
            self.mids.push_back(mid);
            self.since = 0.0;
            return Ok(());
        }
        while self.since >= self.interval_s {
            self.since -= self.interval_s;
            self.mids.push_back(mid);
            if self.mids.len() > self.length {
                self.mids.pop_front();
            }
        }
        Ok(())
    }

    /// Number of mids kept.
    pub fn len(&self) -> usize {
        self.mids.len()
    }

    /// Whether no mid is kept.
    pub fn is_empty(&self) -> bool {
        self.mids.is_empty()
    }

    /// Two-scale volatility, price/√s, from every `every`-th mid; `None` before the window is half
    /// full, and where the estimate without noise is not above 0.
    ///
    /// Zhang, Mykland & Aït-Sahalia 2005, as [`Samples::without_noise`].
    pub fn sigma(&self, every: usize) -> Result<Option<f64>> {
        if self.mids.len() < self.length / 2 {
            return Ok(None);
        }
        let mids: Vec<f64> = self.mids.iter().copied().collect();
        Samples::new(&mids)?.without_noise(every, self.interval_s)
    }
}

/// Whether a move of the mid is a jump: larger than `m` standard deviations `σ√seconds`, plus one
/// tick. Quotes should be cancelled then: the next moves are no diffusion.
///
/// Lee & Mykland, "Jumps in financial markets" (2008), with a fixed threshold.
pub fn is_jump(change: f64, seconds: f64, sigma: f64, m: f64, tick: f64) -> Result<bool> {
    let size = positive("sigma", sigma)? * libm::sqrt(positive("seconds", seconds)?);
    let allowed = positive("threshold", m)? * size + positive("tick", tick)?;
    Ok(finite("change", change)?.abs() > allowed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use crate::simulation::Random;

    #[test]
    fn irregular_polls_give_the_same_volatility() {
        let mut random = Random::new(5);
        let mut weighted = Weighted::new(2_000.0).unwrap();
        let mut price = 100.0;
        weighted.push(price, 0.0).unwrap();
        assert_eq!(weighted.sigma(), None);
        for _ in 0..20_000 {
            let dt = 0.2 + 3.0 * random.unit();
            price += 0.3 * libm::sqrt(dt) * random.normal();
            weighted.push(price, dt).unwrap();
        }
        let sigma = weighted.sigma().unwrap();
        assert!((sigma / 0.3 - 1.0).abs() < 0.08, "{sigma}");
        weighted.interrupt();
        weighted.push(500.0, 0.0).unwrap();
        assert_eq!(weighted.sigma(), Some(sigma), "a gap is no move");
    }

    #[test]
    fn a_window_keeps_its_length_and_restarts_after_a_gap() {
        let mut window = Window::new(1.0, 20).unwrap();
        for i in 0..100 {
            window.push(f64::from(i), 0.5).unwrap();
        }
        assert_eq!(window.len(), 20);
        assert!(window.sigma(2).unwrap().is_some());
        window.push(3.0, 11.0).unwrap();
        assert_eq!((window.len(), window.sigma(2).unwrap()), (1, None));
        window.push(4.0, 3.0).unwrap();
        assert_eq!(window.len(), 4, "a mid counts for the intervals it covered");
    }

    #[test]
    fn a_constant_mid_has_no_volatility() {
        let mut weighted = Weighted::new(10.0).unwrap();
        for _ in 0..100 {
            weighted.push(5.0, 1.0).unwrap();
        }
        assert_eq!(weighted.sigma(), None);
    }

    #[test]
    fn jumps_and_bad_input() {
        assert!(is_jump(1.0, 0.01, 0.5, 6.0, 0.1).unwrap());
        assert!(!is_jump(0.39, 0.01, 0.5, 6.0, 0.1).unwrap());
        assert!(is_jump(f64::NAN, 1.0, 1.0, 1.0, 1.0).is_err());
        assert!(Weighted::new(0.0).is_err() && Window::new(1.0, 9).is_err());
        let mut weighted = Weighted::new(1.0).unwrap();
        weighted.push(1.0, 0.0).unwrap();
        for (mid, dt) in [(f64::NAN, 1.0), (1.0, 0.0), (1.0, f64::INFINITY)] {
            assert!(weighted.push(mid, dt).is_err());
        }
    }
}
