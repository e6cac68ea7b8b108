//! Maximum likelihood from our own fills: the only method where a venue publishes no trades.

use super::Intensity;
use crate::error::{Error, Result, require, solved};

/// Fills and exposure at one distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Distance from the fair price.
    pub distance: f64,
    /// Orders filled there.
    pub fills: f64,
    /// Seconds that an order rested there, above 0 where there are fills.
    pub exposure_s: f64,
}

/// The most likely intensity and its errors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// The intensity.
    pub intensity: Intensity,
    /// Standard error of A.
    pub scale_error: f64,
    /// Standard error of k.
    pub decay_error: f64,
    /// Covariance of both.
    pub covariance: f64,
    /// `Σ n·ln λ − Σ T·λ` (without the terms that do not depend on A and k).
    pub log_likelihood: f64,
}

/// A normal prior of k.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belief {
    pub decay: f64,
    pub sd: f64,
}

impl Belief {
    /// What the prior adds to the information about k.
    fn precision(self) -> f64 {
        1.0 / (self.sd * self.sd)
    }
}

/// `Σ T·e^(−kd)` and its first moments in d, scaled by `e^(k·least)` against overflow.
fn weighted(observations: &[Observation], decay: f64, least: f64) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for seen in observations {
        let weight = seen.exposure_s * libm::exp(-decay * (seen.distance - least));
        let d = seen.distance;
        for (sum, term) in sums.iter_mut().zip([weight, weight * d, weight * d * d]) {
            *sum += term;
        }
    }
    sums
}

/// The Poisson likelihood's maximum: k solves `Σnd/Σn = ΣTd·e^(−kd)/ΣT·e^(−kd)`, `A =
/// Σn/ΣT·e^(−kd)`; errors from the inverse of the information `[[N/A², −S1], [−S1, A·S2]]`, `S_i =
/// ΣT·d^i·e^(−kd)`.
///
/// Textbook maximum likelihood of Poisson counts (McCullagh & Nelder, "Generalized Linear Models",
/// chapter 6). There is no solution if all fills are at one end of the distances.
pub fn fit(observations: &[Observation]) -> Result<Fit> {
    posterior(observations, None)
}

/// The same with a normal prior of k; then there is always a solution.
pub(super) fn posterior(observations: &[Observation], belief: Option<Belief>) -> Result<Fit> {
    let sound = |seen: &Observation| {
        seen.distance.is_finite()
            && (0.0..1e18).contains(&seen.fills)
            && (0.0..1e18).contains(&seen.exposure_s)
            && (seen.exposure_s > 0.0 || seen.fills == 0.0)
    };
    require(
        observations.iter().all(sound),
        "observations",
        "finite numbers from 0, with exposure where there are fills",
    )?;
    let tried: Vec<Observation> = observations
        .iter()
        .copied()
        .filter(|seen| seen.exposure_s > 0.0)
        .collect();
    let fills: f64 = tried.iter().map(|seen| seen.fills).sum();
    if fills == 0.0 {
        return Err(Error::TooFew {
            name: "fills",
            needed: 1,
            given: 0,
        });
    }
    let distances = tried.iter().map(|seen| seen.distance);
    let least = distances.clone().fold(f64::INFINITY, f64::min);
    let most = distances.fold(f64::NEG_INFINITY, f64::max);
    let mean = tried
        .iter()
        .map(|seen| seen.fills * seen.distance)
        .sum::<f64>()
        / fills;
    if belief.is_none() && !(least < mean && mean < most) {
        return Err(Error::NoSolution { name: "decay" });
    }
    // The contribution of the prior, for each fill.
    let pull = |decay: f64| {
        belief.map_or((0.0, 0.0), |belief| {
            let precision = belief.precision() / fills;
            ((decay - belief.decay) * precision, precision)
        })
    };
    let excess = |decay: f64| {
        let anchor = if decay >= 0.0 { least } else { most };
        let [s0, s1, s2] = weighted(&tried, decay, anchor);
        let expected = s1 / s0;
        let (pull, precision) = pull(decay);
        (
            expected - mean - pull,
            s2 / s0 - expected * expected + precision,
        )
    };
    let unit = match belief {
        Some(belief) => belief.decay.abs() + belief.sd,
        None => 1.0 / (most - least),
    };
    let decay = root(excess, unit)?;
    let precision = belief.map_or(0.0, Belief::precision);
    finish(&tried, fills, mean, decay, precision)
}

/// The k at which the expected mean distance equals the observed one. `excess` returns its value,
/// which decreases in k, and its derivative.
fn root(excess: impl Fn(f64) -> (f64, f64), unit: f64) -> Result<f64> {
    let (mut low, mut high) = (-unit, unit);
    for bound in [&mut low, &mut high] {
        let sign = bound.signum();
        while excess(*bound).0 * sign > 0.0 {
            *bound *= 2.0;
            if bound.abs() > 1e6 * unit {
                return Err(Error::NoSolution { name: "decay" });
            }
        }
    }
    // Newton's steps within a shrinking bracket.
    let mut decay = 0.0;
    for _ in 0..200 {
        let (off, slope) = excess(decay);
        if off > 0.0 {
            low = decay;
        } else {
            high = decay;
        }
        let mut next = decay + off / slope;
        if !(next > low && next < high) {
            next = low + (high - low) / 2.0;
        }
        let step = (next - decay).abs();
        decay = next;
        if step <= 1e-16 * (decay.abs() + 1e-9 * unit) {
            break;
        }
    }
    solved("decay", decay)
}

fn finish(tried: &[Observation], fills: f64, mean: f64, decay: f64, precision: f64) -> Result<Fit> {
    let [s0, s1, s2] = weighted(tried, decay, 0.0);
    let scale = solved("scale", fills / s0)?;
    let about_decay = scale * s2 + precision;
    let determinant = fills / (scale * scale) * about_decay - s1 * s1;
    let log_likelihood = fills * (libm::log(scale) - decay * mean) - scale * s0;
    Ok(Fit {
        intensity: Intensity { scale, decay },
        scale_error: solved("scale", libm::sqrt(about_decay / determinant))?,
        decay_error: solved("decay", libm::sqrt(fills / (scale * scale) / determinant))?,
        covariance: solved("decay", s1 / determinant)?,
        log_likelihood: solved("likelihood", log_likelihood)?,
    })
}
