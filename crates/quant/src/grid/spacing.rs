//! Distances and sizes of the levels of a ladder.

use super::LEVELS_MAX;
use crate::error::{Result, finite, non_negative, positive, require, solved};

/// How distances grow from level to level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distances {
    /// `first + i · step`.
    Even {
        /// Distance of the best level.
        first: f64,
        /// Difference between levels, above 0.
        step: f64,
    },
    /// `first · ratio^i`.
    Geometric {
        /// Distance of the best level, above 0.
        first: f64,
        /// Ratio between levels, above 1.
        ratio: f64,
    },
}

/// Distances of levels 0 to `levels − 1` from the mid, rising, in the unit of the first.
///
/// The order-level spreads of hummingbot's pure market making; the geometric ladder of passivbot.
pub fn distances(rule: Distances, levels: usize) -> Result<Vec<f64>> {
    require(levels <= LEVELS_MAX, "levels", "at most 10000")?;
    match rule {
        Distances::Even { first, step } => {
            non_negative("first distance", first)?;
            positive("step", step)?;
        }
        Distances::Geometric { first, ratio } => {
            positive("first distance", first)?;
            require(ratio.is_finite() && ratio > 1.0, "ratio", "above 1")?;
        }
    }
    let distance = |level: f64| match rule {
        Distances::Even { first, step } => first + level * step,
        Distances::Geometric { first, ratio } => first * libm::pow(ratio, level),
    };
    (0..levels)
        .map(|level| solved("distance", distance(level as f64)))
        .collect()
}

/// How sizes grow from level to level: `first · (1 + i · growth)`, and how inventory shrinks them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sizes {
    /// Size of the best level, above 0.
    pub first: f64,
    /// Added at each level, as a fraction of the first; 0 or above.
    pub growth: f64,
    /// Sizes on the side that would add to the inventory are multiplied by `e^(−damping · |q|)`;
    /// 1/lot, 0 or above.
    pub damping: f64,
}

/// Sizes of levels 0 to `levels − 1` on one side; `adding` is the inventory (lots) that this side
/// would add to, 0 or below where it would reduce it.
///
/// The level rule of hummingbot's order amounts; the damping η of Fushimi, González Rojas & Herman,
/// "Optimal high-frequency market making" (2018).
pub fn sizes(rule: &Sizes, adding: f64, levels: usize) -> Result<Vec<f64>> {
    require(levels <= LEVELS_MAX, "levels", "at most 10000")?;
    let first = positive("first size", rule.first)?;
    let growth = non_negative("growth", rule.growth)?;
    let damping = non_negative("damping", rule.damping)?;
    let factor = libm::exp(-damping * finite("inventory", adding)?.max(0.0));
    (0..levels)
        .map(|level| solved("size", first * (1.0 + level as f64 * growth) * factor))
        .collect()
}

/// How many of the best levels fit when filling all of them may add at most `room` to the
/// inventory. Integer units, so that nothing is rounded.
///
/// Sizes of a side sum to at most the inventory bound. The bound is that of [`crate::glft`].
pub fn total_within(sizes: &[u64], room: u64) -> usize {
    let mut left = room;
    let fits = sizes.iter().take_while(|size| {
        let rest = left.checked_sub(**size);
        left = rest.unwrap_or(0);
        rest.is_some()
    });
    fits.count()
}
