//! Estimators from mids sampled at equal intervals, in the unit of the prices.
//!
//! Sums are generic over [`Number`], so that they can be computed exactly.
//!
//! Sources: Zhang, Mykland & Aït-Sahalia 2005; Roll 1984; RiskMetrics 1996.

use super::enough;
use crate::error::{Result, positive, require, solved};
use crate::number::{Number, sum};

/// Changes of a sampled price.
#[derive(Clone, Debug)]
pub struct Samples<N> {
    prices: Vec<N>,
    changes: Vec<N>,
}

/// Realised variance on two scales.
#[derive(Clone, PartialEq, Debug)]
pub struct TwoScale<N> {
    /// The mean over the offsets of the realised variance of every K-th price.
    pub subsampled: N,
    /// `subsampled − n̄/n · RV`, `n̄ = (n − K + 1)/K`; may be negative in short windows.
    pub raw: N,
    /// `raw/(1 − n̄/n)`: corrected for small samples.
    pub adjusted: N,
}

impl<N: Number> Samples<N> {
    /// Prices in the order of time, at least two.
    pub fn new(prices: &[N]) -> Result<Self> {
        enough("prices", prices.len(), 2)?;
        require(
            prices.iter().all(Number::is_finite),
            "prices",
            "finite numbers",
        )?;
        let changes = prices.windows(2);
        Ok(Self {
            prices: prices.to_vec(),
            changes: changes
                .map(|pair| pair[1].clone() - pair[0].clone())
                .collect(),
        })
    }

    /// Number of changes n.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// The realised variance: the sum of squared changes.
    pub fn realised_variance(&self) -> N {
        squares(&self.changes)
    }

    /// `RV/(2n)`: the variance of the noise, where noise dominates (Zhang, Mykland & Aït-Sahalia 2005).
    pub fn noise_variance(&self) -> N {
        self.realised_variance() / whole::<N>(2 * self.changes.len())
    }

    /// Mean product of neighbouring changes; `None` with fewer than two changes.
    pub fn autocovariance(&self) -> Option<N> {
        let pairs = self.changes.len().checked_sub(1).filter(|n| *n > 0)?;
        let products = self.changes.windows(2);
        Some(sum(products.map(|pair| pair[0].clone() * pair[1].clone())) / whole(pairs))
    }

    /// Minus the autocovariance, where it is negative, else 0: the variance of a bouncing price (Roll
    /// 1984).
    pub fn roll_noise_variance(&self) -> Option<N> {
        let covariance = self.autocovariance()?;
        Some(if covariance < N::zero() {
            -covariance
        } else {
            N::zero()
        })
    }

    /// Two-scale realised variance over `every`-th prices (Zhang, Mykland & Aït-Sahalia 2005).
    pub fn two_scale(&self, every: usize) -> Result<TwoScale<N>> {
        require(every >= 2, "subsampling", "at least 2")?;
        let n = self.changes.len();
        enough("changes", n, every + 1)?;
        let grid = |offset: usize| {
            let kept: Vec<&N> = self.prices[offset..].iter().step_by(every).collect();
            sum(kept.windows(2).map(|pair| {
                let change = pair[1].clone() - pair[0].clone();
                change.clone() * change
            }))
        };
        let subsampled = sum((0..every).map(grid)) / whole(every);
        // n̄/n = (n − K + 1)/(K·n).
        let share = whole::<N>(n + 1 - every) / whole(every * n);
        let raw = subsampled.clone() - share.clone() * self.realised_variance();
        Ok(TwoScale {
            adjusted: raw.clone() / (N::one() - share),
            subsampled,
            raw,
        })
    }

    /// `√(RV/(n·dt))`: volatility for each √s, noise included.
    pub fn naive(&self, seconds: f64) -> Result<f64> {
        let length = positive("sample interval", seconds)? * self.changes.len() as f64;
        solved(
            "volatility",
            libm::sqrt(self.realised_variance().to_f64() / length),
        )
    }

    /// `√(adjusted/(n·dt))`: volatility for each √s without the noise. `None` where the two-scale
    /// variance is not above 0: the window is too short for it.
    pub fn without_noise(&self, every: usize, seconds: f64) -> Result<Option<f64>> {
        let length = positive("sample interval", seconds)? * self.changes.len() as f64;
        let adjusted = self.two_scale(every)?.adjusted.to_f64();
        if adjusted > 0.0 {
            solved("volatility", libm::sqrt(adjusted / length)).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Population standard deviation of the changes, for each √s, as the hftbacktest notebook on the
    /// GLFT model measures it.
    pub fn deviation(&self, seconds: f64) -> Result<f64> {
        let dt = positive("sample interval", seconds)?;
        let n = whole::<N>(self.changes.len());
        let mean = sum(self.changes.iter().cloned()) / n.clone();
        let squares = sum(self.changes.iter().map(|change| {
            let off = change.clone() - mean.clone();
            off.clone() * off
        }));
        solved("volatility", libm::sqrt((squares / n).to_f64() / dt))
    }

    /// Exponentially weighted, past changes with weight `e^(−dt/τ)`, for each √s.
    pub fn exponentially_weighted(&self, seconds: f64, tau: f64) -> Result<f64> {
        let dt = positive("sample interval", seconds)?;
        let keep = libm::exp(-dt / positive("time constant", tau)?);
        let mut squares = self.changes.iter().map(|change| {
            let change = change.to_f64();
            change * change
        });
        let first = squares.next().unwrap_or(0.0);
        let variance = squares.fold(first, |s, square| keep * s + (1.0 - keep) * square);
        solved("volatility", libm::sqrt(variance / dt))
    }

    /// `√(RV/number of prices)`, for one sample: hummingbot's instant volatility.
    pub fn instant(&self) -> Result<f64> {
        let n = self.prices.len() as f64;
        solved(
            "volatility",
            libm::sqrt(self.realised_variance().to_f64() / n),
        )
    }
}

fn squares<N: Number>(changes: &[N]) -> N {
    sum(changes.iter().map(|change| change.clone() * change.clone()))
}

fn whole<N: Number>(value: usize) -> N {
    N::whole(i64::try_from(value).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use crate::simulation::Random;

    /// A random walk with volatility 0.5 per √s, sampled every second with noise.
    fn walk(n: usize, noise: f64) -> Samples<f64> {
        let mut random = Random::new(11);
        let mut price = 1_000.0;
        let prices: Vec<f64> = (0..n)
            .map(|_| {
                price += 0.5 * random.normal();
                price + noise * random.normal()
            })
            .collect();
        Samples::new(&prices).unwrap()
    }

    #[test]
    fn noise_inflates_all_but_the_two_scale_estimate() {
        let (clean, noisy) = (walk(5_000, 0.0), walk(5_000, 2.0));
        for samples in [&clean, &noisy] {
            let estimate = samples.without_noise(20, 1.0).unwrap().unwrap();
            assert!((estimate / 0.5 - 1.0).abs() < 0.15, "{estimate}");
        }
        assert!((clean.naive(1.0).unwrap() / 0.5 - 1.0).abs() < 0.05);
        assert!(noisy.naive(1.0).unwrap() > 2.5);
        assert!((noisy.roll_noise_variance().unwrap() / 4.0 - 1.0).abs() < 0.1);
        assert!((noisy.noise_variance() / 4.0 - 1.0).abs() < 0.1);
    }

    #[test]
    fn units_are_those_of_a_root_second() {
        let samples = walk(5_000, 0.0);
        for estimate in [
            samples.naive(4.0).unwrap(),
            samples.deviation(4.0).unwrap(),
            samples.exponentially_weighted(4.0, 4_000.0).unwrap(),
        ] {
            assert!((estimate / 0.25 - 1.0).abs() < 0.1, "{estimate}");
        }
        assert!((samples.instant().unwrap() / 0.5 - 1.0).abs() < 0.05);
    }

    #[test]
    fn short_windows_and_invalid_prices_give_no_estimate() {
        let still = Samples::new(&[5.0; 30]).unwrap();
        assert_eq!(still.without_noise(3, 1.0).unwrap(), None);
        let bouncing: Vec<f64> = (0..30).map(|i| f64::from(i % 2)).collect();
        let bouncing = Samples::new(&bouncing).unwrap();
        assert_eq!(bouncing.without_noise(2, 1.0).unwrap(), None);
        assert!(Samples::new(&[1.0]).is_err());
        assert!(Samples::new(&[1.0, f64::NAN]).is_err());
        assert!(still.two_scale(1).is_err() && still.two_scale(29).is_err());
        assert!(still.naive(0.0).is_err() && still.deviation(f64::NAN).is_err());
        assert_eq!(Samples::new(&[1.0, 2.0]).unwrap().autocovariance(), None);
    }
}
