//! Estimators from bars of open, high, low and close: standard deviations of log returns, one bar.
//!
//! Sources: Parkinson 1980; Garman & Klass 1980; Rogers & Satchell 1991; Yang & Zhang 2000; Haug 2007;
//! RiskMetrics 1996.

use core::f64::consts::LN_2;

use super::{enough, mean, variance};
use crate::error::{Result, require, solved};

/// One bar; all prices are above 0, low ≤ open, close ≤ high.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bar {
    /// First price, if known.
    pub open: Option<f64>,
    /// Highest price.
    pub high: f64,
    /// Lowest price.
    pub low: f64,
    /// Last price.
    pub close: f64,
}

/// Checked bars in the order of time.
#[derive(Clone, Debug)]
pub struct Bars<'a>(&'a [Bar]);

/// The estimate of Yang and Zhang with its components.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct YangZhang {
    /// The standard deviation.
    pub sd: f64,
    /// The weight k of the variance from open to close.
    pub weight: f64,
    /// Bars that have a preceding bar.
    pub bars: usize,
}

impl<'a> Bars<'a> {
    /// An error if a bar's prices are not consistent.
    pub fn new(bars: &'a [Bar]) -> Result<Self> {
        let sound = |bar: &Bar| {
            let inside = |price: f64| price >= bar.low && price <= bar.high;
            bar.low > 0.0
                && bar.high.is_finite()
                && inside(bar.close)
                && bar.open.is_none_or(inside)
        };
        require(
            bars.iter().all(sound),
            "bars",
            "finite prices above 0 with open and close between low and high",
        )?;
        Ok(Self(bars))
    }

    /// Sample standard deviation of close-to-close returns.
    pub fn close_to_close(&self) -> Result<f64> {
        let returns = self.returns(2)?;
        solved("volatility", libm::sqrt(variance(&returns)))
    }

    /// Root mean square of close-to-close returns (their mean taken as 0).
    pub fn close_to_close_rms(&self) -> Result<f64> {
        let returns = self.returns(1)?;
        let squares: Vec<f64> = returns.iter().map(|r| r * r).collect();
        solved("volatility", libm::sqrt(mean(&squares)))
    }

    /// Exponentially weighted: `s² ← λs² + (1−λ)r²`, from the first return's square (RiskMetrics 1996).
    pub fn exponentially_weighted(&self, lambda: f64) -> Result<f64> {
        let lambda = crate::error::fraction("lambda", lambda)?;
        let returns = self.returns(1)?;
        let first = returns[0] * returns[0];
        let variance = returns[1..]
            .iter()
            .fold(first, |s, r| lambda * s + (1.0 - lambda) * r * r);
        solved("volatility", libm::sqrt(variance))
    }

    /// `√(mean ln(H/L)²/(4 ln 2))` (Parkinson 1980).
    pub fn parkinson(&self) -> Result<f64> {
        let ranges = self.ranges()?;
        let squares: Vec<f64> = ranges.iter().map(|range| range * range).collect();
        solved("volatility", libm::sqrt(mean(&squares) / (4.0 * LN_2)))
    }

    /// `mean ln(H/L)/(2√ln 2)`: Parkinson's estimate as given by Haug ("The Complete Guide to
    /// Option Pricing Formulas"), from the mean of the ranges.
    pub fn parkinson_of_means(&self) -> Result<f64> {
        let ranges = self.ranges()?;
        solved("volatility", mean(&ranges) / (2.0 * libm::sqrt(LN_2)))
    }

    /// `√(mean ½ln(H/L)² − mean (2 ln 2 − 1)·ln(C/C₋₁)²)` over bars with a preceding bar: Garman
    /// and Klass without opens, as given by Haug.
    pub fn high_low_close(&self) -> Result<f64> {
        let returns = self.returns(1)?;
        let ranges = self.ranges()?;
        let terms: Vec<f64> = ranges[1..]
            .iter()
            .zip(&returns)
            .map(|(range, r)| range * range / 2.0 - (2.0 * LN_2 - 1.0) * r * r)
            .collect();
        solved("volatility", libm::sqrt(mean(&terms)))
    }

    /// `√(mean ½ln(H/L)² − (2 ln 2 − 1)·ln(C/O)²)` (Garman & Klass 1980).
    pub fn garman_klass(&self) -> Result<f64> {
        let terms: Result<Vec<f64>> = self
            .0
            .iter()
            .map(|bar| {
                let range = libm::log(bar.high / bar.low);
                let body = libm::log(bar.close / open(bar)?);
                Ok(range * range / 2.0 - (2.0 * LN_2 - 1.0) * body * body)
            })
            .collect();
        let terms = terms?;
        enough("bars", terms.len(), 1)?;
        solved("volatility", libm::sqrt(mean(&terms)))
    }

    /// `√(mean ln(H/C)·ln(H/O) + ln(L/C)·ln(L/O))` (Rogers & Satchell 1991).
    pub fn rogers_satchell(&self) -> Result<f64> {
        let terms = self.rogers_satchell_terms(0)?;
        enough("bars", terms.len(), 1)?;
        solved("volatility", libm::sqrt(mean(&terms)))
    }

    /// `√(var ln(O/C₋₁) + k·var ln(C/O) + (1−k)·mean RS)` over the n bars with a preceding bar,
    /// variances with n − 1, `k = 0.34/(1.34 + (n+1)/(n−1))` (Yang & Zhang 2000).
    pub fn yang_zhang(&self) -> Result<YangZhang> {
        enough("bars", self.0.len(), 3)?;
        let opens: Result<Vec<f64>> = self.0.iter().map(open).collect();
        let opens = opens?;
        let overnight: Vec<f64> = self
            .0
            .iter()
            .zip(&opens[1..])
            .map(|(before, open)| libm::log(open / before.close))
            .collect();
        let bodies: Vec<f64> = self.0[1..]
            .iter()
            .zip(&opens[1..])
            .map(|(bar, open)| libm::log(bar.close / open))
            .collect();
        let n = overnight.len() as f64;
        let weight = 0.34 / (1.34 + (n + 1.0) / (n - 1.0));
        let drifts = mean(&self.rogers_satchell_terms(1)?);
        let total = variance(&overnight) + weight * variance(&bodies) + (1.0 - weight) * drifts;
        Ok(YangZhang {
            sd: solved("volatility", libm::sqrt(total))?,
            weight,
            bars: overnight.len(),
        })
    }

    fn rogers_satchell_terms(&self, from: usize) -> Result<Vec<f64>> {
        let term = |bar: &Bar| {
            let open = open(bar)?;
            let side = |extreme: f64| libm::log(extreme / bar.close) * libm::log(extreme / open);
            Ok(side(bar.high) + side(bar.low))
        };
        self.0[from.min(self.0.len())..].iter().map(term).collect()
    }

    /// Log returns from close to close; an error if there are fewer than `needed`.
    fn returns(&self, needed: usize) -> Result<Vec<f64>> {
        enough("bars", self.0.len(), needed + 1)?;
        let pairs = self.0.windows(2);
        Ok(pairs
            .map(|pair| libm::log(pair[1].close / pair[0].close))
            .collect())
    }

    fn ranges(&self) -> Result<Vec<f64>> {
        enough("bars", self.0.len(), 1)?;
        let ranges = self.0.iter().map(|bar| libm::log(bar.high / bar.low));
        Ok(ranges.collect())
    }
}

fn open(bar: &Bar) -> Result<f64> {
    require(bar.open.is_some(), "bars", "with opens for this estimate")?;
    Ok(bar.open.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use crate::simulation::Random;

    /// Bars of a random walk with a standard deviation of 1 % a bar.
    fn bars(n: usize, gap: f64) -> Vec<Bar> {
        let mut random = Random::new(7);
        let mut price = 100.0_f64;
        let mut made = Vec::new();
        for _ in 0..n {
            price *= libm::exp(gap * random.normal());
            let open = price;
            let (mut high, mut low) = (price, price);
            for _ in 0..400 {
                price *= libm::exp(0.01 / 20.0 * random.normal());
                (high, low) = (high.max(price), low.min(price));
            }
            let bar = Bar {
                open: Some(open),
                high,
                low,
                close: price,
            };
            made.push(bar);
        }
        made
    }

    #[test]
    fn all_estimate_the_volatility_of_a_random_walk() {
        let bars = bars(1_500, 0.0);
        let bars = Bars::new(&bars).unwrap();
        // The extremes of 400 steps are a few percent inside those of a continuous path.
        for (estimate, bound) in [
            (bars.close_to_close().unwrap(), 0.05),
            (bars.close_to_close_rms().unwrap(), 0.05),
            (bars.parkinson().unwrap(), 0.06),
            (bars.garman_klass().unwrap(), 0.08),
            (bars.rogers_satchell().unwrap(), 0.08),
            (bars.yang_zhang().unwrap().sd, 0.08),
            (bars.high_low_close().unwrap(), 0.08),
        ] {
            assert!((estimate / 0.01 - 1.0).abs() < bound, "{estimate}");
        }
        let weighted = bars.exponentially_weighted(0.98).unwrap();
        assert!((weighted / 0.01 - 1.0).abs() < 0.3, "{weighted}");
    }

    #[test]
    fn gaps_between_bars_count_in_the_estimators_that_use_closes() {
        let bars = bars(1_500, 0.01);
        let bars = Bars::new(&bars).unwrap();
        let both = 0.01 * libm::sqrt(2.0);
        assert!((bars.yang_zhang().unwrap().sd / both - 1.0).abs() < 0.08);
        assert!((bars.garman_klass().unwrap() / 0.01 - 1.0).abs() < 0.08);
    }

    #[test]
    fn too_few_and_bad_bars_are_refused() {
        let bar = Bar {
            open: Some(1.0),
            high: 1.2,
            low: 0.9,
            close: 1.1,
        };
        for bad in [
            Bar { low: 0.0, ..bar },
            Bar {
                high: f64::NAN,
                ..bar
            },
            Bar { close: 1.3, ..bar },
            Bar {
                open: Some(0.5),
                ..bar
            },
            Bar {
                close: f64::NAN,
                ..bar
            },
        ] {
            assert!(Bars::new(&[bad]).is_err(), "{bad:?}");
        }
        let one = Bars::new(std::slice::from_ref(&bar)).unwrap();
        assert!(one.close_to_close_rms().is_err() && one.yang_zhang().is_err());
        assert!(one.parkinson().is_ok());
        let blind = [Bar { open: None, ..bar }; 3];
        let blind = Bars::new(&blind).unwrap();
        assert!(blind.garman_klass().is_err() && blind.yang_zhang().is_err());
        assert!(blind.high_low_close().is_ok());
        assert!(blind.exponentially_weighted(1.0).is_err());
        assert!(Bars::new(&[]).unwrap().parkinson().is_err());
    }
}
