//! Estimates from the depths that trades reached, as the hftbacktest notebook "GLFT Market Making
//! Model and Grid Trading" calibrates: for venues that publish trades, and backtests on such data.

use super::{Intensity, log_linear};
use crate::error::{Result, finite, positive, require};
use crate::number::Number;

/// Most bins of a histogram.
pub const BINS_MAX: usize = 100_000;

/// Counts, by distance, of market orders that reached further than that distance.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    /// Arrivals that would have filled a quote in each bin; bin j is j + ½ units from the mid.
    pub counts: Vec<u32>,
}

/// The counting of the notebook, whose unit is half a tick: an arrival `depth` ticks from the mid
/// has the index `round(2·depth) − 1` (halves to even) and counts in all bins below it; indices
/// beyond `bins` are left out, and so are bins beyond the largest index.
pub fn half_ticks(depths: &[f64], bins: usize) -> Result<Histogram> {
    require((1..=BINS_MAX).contains(&bins), "bins", "from 1 to 100000")?;
    let mut starts = vec![0_u32; bins + 1];
    let mut longest = 0;
    for depth in depths {
        finite("depth", *depth)?;
        let index = (depth / 0.5)
            .round_half_even()
            .and_then(|index| usize::try_from(index.checked_sub(1)?).ok())
            .filter(|index| *index < bins);
        if let Some(index) = index {
            starts[index] += 1;
            longest = longest.max(index);
        }
    }
    // An arrival with index i counts in bins 0 to i − 1.
    let mut counts = vec![0_u32; longest];
    let mut deeper = starts[longest];
    for bin in (0..longest).rev() {
        counts[bin] = deeper;
        deeper += starts[bin];
    }
    Ok(Histogram { counts })
}

/// Counting in whole ticks: bin j counts arrivals that reached further than j + ½ ticks.
pub fn whole_ticks(depths: &[f64], bins: usize) -> Result<Histogram> {
    require((1..=BINS_MAX).contains(&bins), "bins", "from 1 to 100000")?;
    let mut sorted = Vec::with_capacity(depths.len());
    for depth in depths {
        sorted.push(finite("depth", *depth)?);
    }
    sorted.sort_by(f64::total_cmp);
    let counts = (0..bins).map(|bin| {
        let edge = bin as f64 + 0.5;
        let deeper = sorted.len() - sorted.partition_point(|depth| *depth <= edge);
        u32::try_from(deeper).unwrap_or(u32::MAX)
    });
    Ok(Histogram {
        counts: counts.collect(),
    })
}

impl Histogram {
    /// Log-linear least squares over the first `bins` bins of the arrivals of `window_s` seconds.
    pub fn fit(&self, bins: usize, window_s: f64) -> Result<Intensity> {
        let window = positive("window", window_s)?;
        let points = self.counts.iter().take(bins).enumerate();
        log_linear(points.map(|(bin, count)| (bin as f64 + 0.5, f64::from(*count) / window)))
    }
}
