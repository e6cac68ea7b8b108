//! How often quotes fill: `λ(δ) = A·e^(−kδ)` of the distance δ, estimated from our own fills and how
//! long our orders rested ([`likelihood`]), live with a prior and bounds ([`live`]), or from how deep
//! trades reached, where trades are seen ([`depths`]).
//!
//! Distances are measured from the fair price when the quote was made; exposure counts only while an
//! order is known to rest; a partly filled order counts once. A and k are those of the unit of the
//! distances: half-ticks for ticks change a half-spread by a factor of two.

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
    /// k, 1/distance: not above 0 where the data say that distance does not matter.
    pub decay: f64,
}

/// Least squares of `ln(rate)` on the distance: `A = e^intercept`, `k = −slope`. Points without a rate
/// above 0 are left out, which makes A too high; [`likelihood::fit`] does not need to.
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
