//! Statistics of an equity curve, as hftbacktest computes them (`hftbacktest/stats/metrics.py`),
//! and how much of a Sharpe ratio is chance ([`sharpe`]).

pub mod running;
pub mod sharpe;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result, finite, positive, require, solved};

/// Nanoseconds of a day.
const DAY_NS: f64 = 86_400e9;

/// Equity at equal intervals.
#[derive(Clone, Debug)]
pub struct Equity {
    values: Vec<f64>,
    changes: Vec<f64>,
    samples_per_day: f64,
    days: f64,
}

impl Equity {
    /// Equity after fees at rising times, all as far apart as the first two.
    pub fn new(times_ns: &[i64], values: &[f64]) -> Result<Self> {
        require(
            times_ns.len() == values.len(),
            "times",
            "one for each value",
        )?;
        if values.len() < 3 {
            return Err(Error::TooFew {
                name: "values",
                needed: 3,
                given: values.len(),
            });
        }
        for value in values {
            finite("equity", *value)?;
        }
        let interval = times_ns[1].checked_sub(times_ns[0]).filter(|dt| *dt > 0);
        let even = |pair: &[i64]| pair[1].checked_sub(pair[0]) == interval;
        require(
            interval.is_some() && times_ns.windows(2).all(even),
            "times",
            "rising at equal intervals",
        )?;
        let changes = values.windows(2).map(|pair| pair[1] - pair[0]);
        let length = times_ns[times_ns.len() - 1].saturating_sub(times_ns[0]);
        Ok(Self {
            changes: changes.collect(),
            values: values.to_vec(),
            samples_per_day: DAY_NS / interval.unwrap_or(i64::MAX) as f64,
            days: length as f64 / DAY_NS,
        })
    }

    /// Last value − first, in the unit of the equity.
    pub fn total_return(&self) -> f64 {
        self.values[self.values.len() - 1] - self.values[0]
    }

    /// Samples in a day.
    pub fn samples_per_day(&self) -> f64 {
        self.samples_per_day
    }

    /// Days from first to last value.
    pub fn days(&self) -> f64 {
        self.days
    }

    /// Changes from value to value.
    pub fn changes(&self) -> &[f64] {
        &self.changes
    }

    /// `mean/sd · √(samples a day · days a year)`, the sample standard deviation. An error if all
    /// changes are equal.
    pub fn sharpe(&self, days_a_year: f64) -> Result<f64> {
        let per_sample = sharpe::Moments::new(&self.changes)?.sharpe();
        solved("Sharpe ratio", per_sample * self.annual(days_a_year)?)
    }

    /// As [`Equity::sharpe`] with `√(mean min(0, change)²)` below (Sortino & Price 1994). An error
    /// if no change is negative.
    pub fn sortino(&self, days_a_year: f64) -> Result<f64> {
        let n = self.changes.len() as f64;
        let mean = self.changes.iter().sum::<f64>() / n;
        let squares: f64 = self.changes.iter().map(|x| x.min(0.0) * x.min(0.0)).sum();
        let ratio = mean / libm::sqrt(squares / n);
        solved("Sortino ratio", ratio * self.annual(days_a_year)?)
    }

    fn annual(&self, days_a_year: f64) -> Result<f64> {
        let days = positive("days a year", days_a_year)?;
        Ok(libm::sqrt(self.samples_per_day * days))
    }

    /// Total return for each day, times days a year.
    pub fn annual_return(&self, days_a_year: f64) -> Result<f64> {
        let days = positive("days a year", days_a_year)?;
        solved("return", self.total_return() / self.days * days)
    }

    /// The largest fall from a maximum, 0 or above.
    pub fn max_drawdown(&self) -> f64 {
        let mut peak = f64::MIN;
        let falls = self.values.iter().map(|value| {
            peak = peak.max(*value);
            peak - value
        });
        falls.fold(0.0, f64::max)
    }

    /// Total return for each unit of the largest fall. An error if the equity never falls.
    pub fn return_over_drawdown(&self) -> Result<f64> {
        solved(
            "return over drawdown",
            self.total_return() / self.max_drawdown(),
        )
    }
}
