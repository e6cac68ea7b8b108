//! The experiment of Avellaneda and Stoikov 2008, section 3.3: one asset, quotes that fill with
//! probability `A·e^(−kδ)·dt` a step, a mid that moves by `±σ√dt`. Exact moments and sampled paths.
//!
//! Conventions that follow from the paper's numbers: a quote may lie beyond the mid and is paid as
//! quoted; a probability above 1 counts as 1; both sides may fill in one step; then the mid moves.

mod moments;
mod paths;
mod random;

pub use moments::{Moments, moments};
pub use paths::{Sampled, sample};
pub use random::Random;

use crate::avellaneda_stoikov::intensity_spread;
use crate::error::{Error, Result, finite, non_negative, positive, require};

/// Most steps of an experiment.
const STEPS_MAX: usize = 2_000;

/// The quoting rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quoting {
    /// With the inventory, as published in 2008.
    Published2008,
    /// With the inventory and the preprint's constant spread.
    Preprint2006,
    /// Half of a constant spread (price) on both sides of the mid, whatever the inventory.
    Symmetric {
        /// Ask − bid, price.
        spread: f64,
    },
}

/// An experiment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Experiment {
    /// The quoting rule.
    pub quoting: Quoting,
    /// Risk aversion γ of the quotes, 1/price for each lot.
    pub risk_aversion: f64,
    /// Volatility, price/√s.
    pub sigma: f64,
    /// Decay k of the intensity, 1/price.
    pub decay: f64,
    /// Scale A of the intensity, 1/s.
    pub intensity: f64,
    /// Length T, s.
    pub horizon: f64,
    /// One step, s.
    pub step: f64,
    /// Mid at the start.
    pub mid: f64,
    /// Lots at the start.
    pub inventory: i32,
    /// Cash at the start.
    pub cash: f64,
}

/// Distances and fill probabilities of one side.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Side {
    distance: f64,
    probability: f64,
}

/// Both sides at a step and an inventory.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Cell {
    bid: Side,
    ask: Side,
}

/// A checked experiment.
#[derive(Clone, Copy, Debug)]
struct Checked {
    of: Experiment,
    steps: usize,
    spread: f64,
    /// How far the mid moves in a step.
    jump: f64,
}

impl Checked {
    fn new(of: &Experiment) -> Result<Self> {
        positive("intensity", of.intensity)?;
        non_negative("sigma", of.sigma)?;
        finite("mid", of.mid)?;
        finite("cash", of.cash)?;
        let ratio = libm::round(positive("horizon", of.horizon)? / positive("step", of.step)?);
        require(ratio >= 1.0, "step", "at most the horizon")?;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked"
        )]
        let steps = if ratio <= STEPS_MAX as f64 {
            ratio as usize
        } else {
            return Err(Error::TooMuchWork { name: "step" });
        };
        require(
            of.inventory.unsigned_abs() as usize <= STEPS_MAX,
            "inventory",
            "some thousands of lots at most",
        )?;
        let mut spread = intensity_spread(of.risk_aversion, of.decay)?;
        if let Quoting::Symmetric { spread: stated } = of.quoting {
            spread = finite("spread", stated)? / 2.0;
        }
        Ok(Self {
            of: *of,
            steps,
            spread,
            jump: of.sigma * libm::sqrt(of.step),
        })
    }

    /// `γσ²(T−t)` at a step: how far a lot moves the reservation price.
    fn skew(&self, step: usize) -> f64 {
        let of = &self.of;
        let time_left = of.horizon - step as f64 * of.step;
        match of.quoting {
            Quoting::Symmetric { .. } => 0.0,
            _ => of.risk_aversion * of.sigma * of.sigma * time_left,
        }
    }

    fn half_spread(&self, step: usize) -> f64 {
        match self.of.quoting {
            Quoting::Published2008 => self.skew(step) / 2.0 + self.spread,
            _ => self.spread,
        }
    }

    fn cell(&self, step: usize, inventory: i32) -> Cell {
        let half = self.half_spread(step);
        let shift = f64::from(inventory) * self.skew(step);
        let side = |distance: f64| Side {
            distance,
            probability: (self.of.intensity * libm::exp(-self.of.decay * distance) * self.of.step)
                .min(1.0),
        };
        Cell {
            bid: side(half + shift),
            ask: side(half - shift),
        }
    }

    /// The mean over the steps of ask − bid.
    fn mean_spread(&self) -> f64 {
        let total: f64 = (0..self.steps).map(|step| self.half_spread(step)).sum();
        2.0 * total / self.steps as f64
    }

    /// Lots that can be reached: every step fills at most one on each side.
    fn inventory_max(&self) -> usize {
        self.steps + self.of.inventory.unsigned_abs() as usize
    }
}

#[cfg(test)]
mod tests;
