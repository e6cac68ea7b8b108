//! Volatility estimators: from bars ([`bars`]), from sampled mids with noise ([`samples`]), and one
//! value at a time as polls bring them ([`live`]).
//!
//! Bars give standard deviations of log returns for one bar; samples give price units. A mid that is
//! noisy (quotes bounce, ticks are coarse) inflates everything that squares its changes: quote from
//! the two-scale estimate, never from the naive one.

pub mod bars;
pub mod live;
pub mod samples;

use crate::error::{Error, Result};

/// `Err` below the number of observations that gives a result.
fn enough(name: &'static str, given: usize, needed: usize) -> Result<()> {
    if given < needed {
        Err(Error::TooFew {
            name,
            needed,
            given,
        })
    } else {
        Ok(())
    }
}

/// Mean of values, of which there is one at least.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance (n − 1) of two values or more.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    squares / (values.len() - 1) as f64
}
