//! Volatility estimators: from bars ([`bars`]), from sampled mids with noise ([`samples`]), and one
//! value at a time, as they are polled ([`live`]).
//!
//! Bars give standard deviations of log returns for one bar; samples give price units. A noisy mid
//! (bid-ask bounce, coarse ticks) inflates every sum of squared changes: quote by the two-scale
//! estimate, never by the naive one.

pub mod bars;
pub mod live;
pub mod samples;

use crate::error::{Error, Result};

/// An error if there are fewer observations than needed.
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

/// Mean of at least one value.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance (n − 1) of two values or more.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    squares / (values.len() - 1) as f64
}
