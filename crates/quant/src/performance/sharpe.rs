//! The error of a Sharpe ratio, and the ratio of the best of many trials after deflation.
//!
//! Never annualise the ratio of a short history without its error: for five-minute samples of one
//! day the factor is above three hundred.
//!
//! Sources: Lo 2002; Mertens 2002; Bailey & López de Prado 2012 and 2014, at each function.

use crate::error::{Error, Result, finite, positive, require, solved};
use crate::special::{normal_probability, normal_quantile};

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Moments of returns in one unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moments {
    /// Number of returns.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation, above 0.
    pub sd: f64,
    /// Their skewness.
    pub skewness: f64,
    /// Their kurtosis (3 if they were normal).
    pub kurtosis: f64,
}

impl Moments {
    /// Moments of at least two returns that are not all equal.
    pub fn new(returns: &[f64]) -> Result<Self> {
        if returns.len() < 2 {
            return Err(Error::TooFew {
                name: "returns",
                needed: 2,
                given: returns.len(),
            });
        }
        for value in returns {
            finite("return", *value)?;
        }
        let n = returns.len() as f64;
        let mean = returns.iter().sum::<f64>() / n;
        let central = |power: i32| {
            let sum: f64 = returns
                .iter()
                .map(|r| libm::pow(r - mean, f64::from(power)))
                .sum();
            sum / n
        };
        let variance = central(2);
        let sd = libm::sqrt(variance * n / (n - 1.0));
        if !(sd.is_finite() && sd > 0.0) {
            return Err(Error::NoSolution {
                name: "Sharpe ratio",
            });
        }
        Ok(Self {
            count: n,
            mean,
            sd,
            skewness: central(3) / libm::pow(variance, 1.5),
            kurtosis: central(4) / (variance * variance),
        })
    }

    /// Mean/sd for one return, not annualised.
    pub fn sharpe(&self) -> f64 {
        self.mean / self.sd
    }

    /// The standard error of [`Moments::sharpe`] for independent normal returns: `√((1 + SR²/2)/n)`
    /// (Lo, "The statistics of Sharpe ratios", 2002).
    pub fn sharpe_error(&self) -> f64 {
        let ratio = self.sharpe();
        libm::sqrt((1.0 + ratio * ratio / 2.0) / self.count)
    }

    /// The standard error with skewness and kurtosis: `√((1 − γ₃SR + (γ₄ − 1)/4·SR²)/(n − 1))` (Mertens
    /// 2002; Bailey & López de Prado, "The Sharpe ratio efficient frontier", 2012).
    pub fn sharpe_error_with_tails(&self) -> Result<f64> {
        let ratio = self.sharpe();
        let spread = 1.0 - self.skewness * ratio + (self.kurtosis - 1.0) / 4.0 * ratio * ratio;
        solved("standard error", libm::sqrt(spread / (self.count - 1.0)))
    }

    /// The probability that the true ratio is above `threshold` (for one return, not annualised): the
    /// probabilistic Sharpe ratio (Bailey & López de Prado 2012).
    pub fn probability_above(&self, threshold: f64) -> Result<f64> {
        let off = self.sharpe() - finite("threshold", threshold)?;
        let error = positive("standard error", self.sharpe_error_with_tails()?)?;
        Ok(normal_probability(off / error))
    }

    /// The probability that the true ratio is above what the best of `trials` trials without any skill
    /// would show: the deflated Sharpe ratio (Bailey & López de Prado, "The deflated Sharpe ratio",
    /// 2014). `variance` is that of the trials' ratios, for one return each.
    pub fn deflated(&self, trials: u64, variance: f64) -> Result<f64> {
        self.probability_above(expected_best(trials, variance)?)
    }
}

/// The ratio that the best of `trials` independent trials without skill is expected to show:
/// `√V·((1 − γ)·Z⁻¹(1 − 1/N) + γ·Z⁻¹(1 − 1/(Ne)))`; 0 for one trial.
///
/// Bailey & López de Prado, "The deflated Sharpe ratio" (2014), equation 1.
pub fn expected_best(trials: u64, variance: f64) -> Result<f64> {
    require(trials >= 1, "trials", "at least 1")?;
    let sd = libm::sqrt(crate::error::non_negative("variance", variance)?);
    if trials == 1 {
        return Ok(0.0);
    }
    let n = trials as f64;
    // Quantiles of 1 − p computed from p, which keeps the precision of a small p.
    let quantile = |p: f64| {
        normal_quantile(p)
            .map(|x| -x)
            .ok_or(Error::NoSolution { name: "trials" })
    };
    let best =
        (1.0 - EULER) * quantile(1.0 / n)? + EULER * quantile(1.0 / (n * core::f64::consts::E))?;
    solved("expected best", sd * best)
}

/// Sample variance of the ratios of trials, for [`Moments::deflated`]; 0 for one.
///
/// Bailey & López de Prado 2014, section 2.
pub fn variance_of(ratios: &[f64]) -> Result<f64> {
    if ratios.is_empty() {
        return Err(Error::TooFew {
            name: "ratios",
            needed: 1,
            given: 0,
        });
    }
    for ratio in ratios {
        finite("ratio", *ratio)?;
    }
    if ratios.len() == 1 {
        return Ok(0.0);
    }
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let squares: f64 = ratios.iter().map(|r| (r - mean) * (r - mean)).sum();
    solved("variance", squares / (n - 1.0))
}
