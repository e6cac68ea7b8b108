//! How often quotes fill: `λ(δ) = A·e^(−kδ)` at the distance δ, estimated from our own fills and
//! the time our orders rested ([`likelihood`]), while trading with a prior and bounds ([`live`]),
//! or from the depths that trades reached, where a venue publishes trades ([`depths`]).
//!
//! Distances are measured from the fair price when the quote was made; exposure counts only while
//! an order is known to rest; a partly filled order counts once. A and k depend on the unit of the
//! distances: mistaking half-ticks for ticks changes a half-spread by a factor of two.

pub mod depths;
pub mod likelihood;
pub mod live;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result, solved};

/// An estimated intensity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Intensity {
    /// A, 1/s: fills at distance 0.
    pub scale: f64,
    /// k, 1/distance: 0 or below if the data show no decay with distance.
    pub decay: f64,
}

/// Least squares of `ln(rate)` on the distance: `A = e^intercept`, `k = −slope`. Points without a
/// rate above 0 are left out, which biases A upwards; [`likelihood::fit`] has no such bias.
///
/// The hftbacktest notebook "GLFT Market Making Model and Grid Trading"; hummingbot's trading
/// intensity.
pub fn log_linear(points: impl IntoIterator<Item = (f64, f64)>) -> Result<Intensity> {
    let mut kept = Vec::new();
    for (distance, rate) in points {
        if !(distance.is_finite() && rate.is_finite()) {
            return Err(Error::Input {
                name: "points",
                must: "finite numbers",
            });
        }
        if rate > 0.0 {
            kept.push((distance, libm::log(rate)));
        }
    }
    let given = kept.len();
    if given < 2 {
        return Err(Error::TooFew {
            name: "points with fills",
            needed: 2,
            given,
        });
    }
    let n = given as f64;
    let mean_x = kept.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = kept.iter().map(|(_, y)| y).sum::<f64>() / n;
    let covariance: f64 = kept.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = kept.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    let slope = solved("decay", covariance / variance)?;
    Ok(Intensity {
        scale: solved("scale", libm::exp(mean_y - slope * mean_x))?,
        decay: -slope,
    })
}
