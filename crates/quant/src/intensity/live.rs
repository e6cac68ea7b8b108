//! The intensity of our own quotes, estimated while they trade: bins of distance with exponential
//! decay, a prior for the time before there are fills, and bounds on every estimate.
//!
//! Sources: the likelihood is that of [`super::likelihood`]; a gamma prior on a Poisson rate and a normal
//! one on its exponent (Gelman et al., "Bayesian Data Analysis", chapter 2).

use super::Intensity;
use super::likelihood::{Belief, Observation, posterior};
use crate::error::{Result, finite, non_negative, positive, require};

/// Most bins.
const BINS_MAX: usize = 1_000;

/// The prior of an estimate and its weight.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Prior {
    /// A, 1/s, above 0.
    pub scale: f64,
    /// k, 1/distance, above 0.
    pub decay: f64,
    /// Weight of A: as after this many fills at the mid (a gamma distribution).
    pub fills: f64,
    /// Uncertainty of k: its standard deviation, 1/distance.
    pub decay_sd: f64,
}

/// Bounds of an estimate, whatever the data.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Bounds {
    /// Least and most A, 1/s.
    pub scale: (f64, f64),
    /// Least and most k, 1/distance.
    pub decay: (f64, f64),
}

/// The data an estimate is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// From the prior alone: nothing has filled yet.
    Prior,
    /// From fills and the prior.
    Fitted,
    /// From fills and prior, moved to a bound.
    Bounded,
}

/// An estimate to quote by: both numbers are above 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The intensity.
    pub intensity: Intensity,
    /// The data it is made from.
    pub source: Source,
    /// Standard error of k.
    pub decay_error: f64,
}

/// One bin.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Bin {
    fills: f64,
    exposure_s: f64,
    /// Exposure times distance: its mean is the distance of the bin.
    moment: f64,
}

/// Fills and exposure by distance, which lose weight with a half-life.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Calibration {
    width: f64,
    half_life_s: f64,
    bins: Vec<Bin>,
}

impl Calibration {
    /// `bins` bins (2 to 1,000) of distance, each `width` wide, the first at the mid; observations
    /// lose half of their weight in `half_life_s` seconds.
    pub fn new(width: f64, bins: usize, half_life_s: f64) -> Result<Self> {
        require((2..=BINS_MAX).contains(&bins), "bins", "from 2 to 1000")?;
        Ok(Self {
            width: positive("width", width)?,
            half_life_s: positive("half-life", half_life_s)?,
            bins: vec![Bin::default(); bins],
        })
    }

    /// Reduces the weight of all observations by the decay of `seconds`.
    pub fn decay_by(&mut self, seconds: f64) -> Result<()> {
        let keep = libm::exp2(-non_negative("seconds", seconds)? / self.half_life_s);
        for bin in &mut self.bins {
            bin.fills *= keep;
            bin.exposure_s *= keep;
            bin.moment *= keep;
        }
        Ok(())
    }

    /// Records that an order rested for `seconds` at a distance from the fair price. Distances
    /// below 0 count in the first bin, those beyond the last bin in none.
    pub fn rested(&mut self, distance: f64, seconds: f64) -> Result<()> {
        let seconds = non_negative("seconds", seconds)?;
        if let Some(bin) = self.bin(distance)? {
            bin.exposure_s += seconds;
            bin.moment += seconds * distance;
        }
        Ok(())
    }

    /// Records the fill of an order quoted at a distance from the fair price of that time; once for
    /// each order.
    pub fn filled(&mut self, distance: f64) -> Result<()> {
        if let Some(bin) = self.bin(distance)? {
            bin.fills += 1.0;
        }
        Ok(())
    }

    fn bin(&mut self, distance: f64) -> Result<Option<&mut Bin>> {
        let place = libm::floor(finite("distance", distance)?.max(0.0) / self.width);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0, below 1000"
        )]
        let index = (place < self.bins.len() as f64).then_some(place as usize);
        Ok(index.and_then(|index| self.bins.get_mut(index)))
    }

    /// The most likely intensity given observations and prior, within bounds.
    ///
    /// The maximum of the likelihood of [`super::likelihood::fit`] times the prior. Without
    /// observations it is the prior. As long as nothing fills, A falls, so that quotes move out,
    /// while k stays near its prior.
    pub fn estimate(&self, prior: &Prior, bounds: &Bounds) -> Result<Estimate> {
        check(prior, bounds)?;
        let mut seen = vec![Observation {
            distance: 0.0,
            fills: prior.fills,
            exposure_s: prior.fills / prior.scale,
        }];
        let mut fills = 0.0;
        for (index, bin) in self.bins.iter().enumerate() {
            let middle = (index as f64 + 0.5) * self.width;
            // A fill whose exposure was too short to be observed still has some.
            let exposure_s = bin.exposure_s.max(bin.fills * 1e-3);
            if exposure_s > 0.0 {
                fills += bin.fills;
                seen.push(Observation {
                    distance: if bin.exposure_s > 0.0 {
                        bin.moment / bin.exposure_s
                    } else {
                        middle
                    },
                    fills: bin.fills,
                    exposure_s,
                });
            }
        }
        let belief = Belief {
            decay: prior.decay,
            sd: prior.decay_sd,
        };
        let fitted = posterior(&seen, Some(belief))?;
        let within = |value: f64, (least, most): (f64, f64)| value.max(least).min(most);
        let intensity = Intensity {
            scale: within(fitted.intensity.scale, bounds.scale),
            decay: within(fitted.intensity.decay, bounds.decay),
        };
        let source = if intensity != fitted.intensity {
            Source::Bounded
        } else if fills > 0.0 {
            Source::Fitted
        } else {
            Source::Prior
        };
        Ok(Estimate {
            intensity,
            source,
            decay_error: fitted.decay_error,
        })
    }
}

fn check(prior: &Prior, bounds: &Bounds) -> Result<()> {
    positive("prior intensity", prior.scale)?;
    positive("prior decay", prior.decay)?;
    positive("fills of the prior", prior.fills)?;
    positive("deviation of the prior decay", prior.decay_sd)?;
    for (name, (least, most)) in [
        ("bounds of the intensity", bounds.scale),
        ("bounds of the decay", bounds.decay),
    ] {
        require(
            least > 0.0 && least <= most && most.is_finite(),
            name,
            "above 0, the lesser first",
        )?;
    }
    Ok(())
}
