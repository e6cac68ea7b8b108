//! Moments of returns that are added one by one or in parts: only sums are kept.
//!
//! Source: Pébay, "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
//! statistical moments" (Sandia SAND2008-6212).

use super::sharpe::Moments;
use crate::error::{Error, Result, finite};

/// Smaller than this part of the mean, a deviation is rounding.
const ROUNDING: f64 = 1e-9;

/// Sums of the powers of distances from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningMoments {
    /// Number of returns.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Sum of the squares of their distances from the mean.
    pub m2: f64,
    /// Sum of the third powers.
    pub m3: f64,
    /// Sum of the fourth powers.
    pub m4: f64,
}

impl RunningMoments {
    /// Adds a return. One that is not a finite number is an error and changes nothing.
    pub fn add(&mut self, value: f64) -> Result<()> {
        finite("return", value)?;
        self.merge(&Self {
            count: 1,
            mean: value,
            ..Self::default()
        });
        Ok(())
    }

    /// Adds returns that were summed elsewhere.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let d = other.mean - self.mean;
        let dn = d / n;
        let m4 = self.m4
            + other.m4
            + d * dn * dn * dn * a * b * (a * a - a * b + b * b)
            + 6.0 * dn * dn * (a * a * other.m2 + b * b * self.m2)
            + 4.0 * dn * (a * other.m3 - b * self.m3);
        let m3 = self.m3
            + other.m3
            + d * dn * dn * a * b * (a - b)
            + 3.0 * dn * (a * other.m2 - b * self.m2);
        self.m2 += other.m2 + d * dn * a * b;
        (self.m3, self.m4) = (m3, m4);
        self.mean += dn * b;
        self.count += other.count;
    }

    /// The moments of the added returns: at least two that are not all equal.
    pub fn moments(&self) -> Result<Moments> {
        if self.count < 2 {
            return Err(Error::TooFew {
                name: "returns",
                needed: 2,
                given: usize::try_from(self.count).unwrap_or(usize::MAX),
            });
        }
        let n = self.count as f64;
        let variance = self.m2 / n;
        let sd = libm::sqrt(self.m2 / (n - 1.0));
        // What differs by rounding alone does not vary.
        if !(sd.is_finite() && sd > self.mean.abs() * ROUNDING) {
            return Err(Error::NoSolution {
                name: "Sharpe ratio",
            });
        }
        Ok(Moments {
            count: n,
            mean: self.mean,
            sd,
            skewness: self.m3 / n / libm::pow(variance, 1.5),
            kurtosis: self.m4 / n / (variance * variance),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::simulation::Random;

    fn near(a: &Moments, b: &Moments) {
        let pairs = [
            (a.count, b.count),
            (a.mean, b.mean),
            (a.sd, b.sd),
            (a.skewness, b.skewness),
            (a.kurtosis, b.kurtosis),
        ];
        for (x, y) in pairs {
            assert!((x - y).abs() <= 1e-9 * y.abs().max(1.0), "{a:?} {b:?}");
        }
    }

    /// The same moments when added one by one, in parts of any size, or at once.
    #[test]
    fn parts_are_the_whole() {
        let mut random = Random::new(5);
        // Far from zero, where sums of plain powers lose their precision, and with a tail.
        let values: Vec<f64> = (0..1_000)
            .map(|_| 1_000.0 + random.normal() + random.exponential())
            .collect();
        let whole = Moments::new(&values).unwrap();
        let (mut one, mut parts) = (RunningMoments::default(), RunningMoments::default());
        for value in &values {
            one.add(*value).unwrap();
        }
        near(&one.moments().unwrap(), &whole);
        for part in [&values[..0], &values[..1], &values[1..318], &values[318..]] {
            let mut of_part = RunningMoments::default();
            for value in part {
                of_part.add(*value).unwrap();
            }
            parts.merge(&of_part);
        }
        near(&parts.moments().unwrap(), &whole);
    }

    #[test]
    fn what_has_no_ratio_has_none() {
        let mut moments = RunningMoments::default();
        assert!(moments.moments().is_err());
        moments.add(1.0).unwrap();
        assert!(moments.moments().is_err());
        moments.add(1.0).unwrap();
        assert!(moments.moments().is_err(), "nothing varies");
        // Equal but for the last digit.
        moments.add(1.0 + 1e-15).unwrap();
        assert!(moments.moments().is_err());
        moments.add(1.0 + 1e-6).unwrap();
        assert!(moments.moments().is_ok());
        assert!(moments.add(f64::NAN).is_err());
        assert_eq!(moments.count, 4);
    }
}
