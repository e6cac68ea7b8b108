//! The lowest state of a symmetric tridiagonal matrix with one negative coupling: its eigenvalue,
//! and the ratios of neighbouring elements, each with a small relative error.
//!
//! A general eigensolver gives every element with an error relative to the largest one, which is
//! inaccurate in the tails. Ratios computed inwards from both ends, where the recursion damps
//! errors, are accurate everywhere; the two recursions meet where the diagonal is least.

use crate::error::{Error, Result, finite, positive};

/// The lowest state.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// The smallest eigenvalue.
    pub eigenvalue: f64,
    /// `ln(f_i / f_(i+1))` for every neighbouring pair.
    pub log_ratios: Vec<f64>,
    /// How far the next eigenvalue is above the smallest.
    pub gap: f64,
}

/// The lowest state of the matrix with this diagonal and `−coupling` on both sides of it.
pub(crate) fn ground(diagonal: &[f64], coupling: f64) -> Result<Ground> {
    let e = positive("fill intensity", coupling)?;
    let split = lowest(diagonal)?;
    let floor = diagonal[split] - 2.0 * e;
    finite("potential", floor)?;
    let eigenvalue = bisect(floor, diagonal[split], |trial| {
        above_all(diagonal, e, split, trial)
    });
    let next = bisect(eigenvalue, diagonal[split] + 8.0 * e, |trial| {
        count_below(diagonal, e, trial) < 2
    });
    let mut log_ratios = vec![0.0; diagonal.len() - 1];
    // Pivots t_i = d_i − E − e²/t_(i±1) are e times the ratio to the inner neighbour.
    let mut pivot = f64::INFINITY;
    for i in (split + 1..diagonal.len()).rev() {
        pivot = diagonal[i] - eigenvalue - e * e / pivot;
        log_ratios[i - 1] = libm::log(pivot / e);
    }
    pivot = f64::INFINITY;
    for i in 0..split {
        pivot = diagonal[i] - eigenvalue - e * e / pivot;
        log_ratios[i] = -libm::log(pivot / e);
    }
    if log_ratios.iter().all(|ratio| ratio.is_finite()) {
        Ok(Ground {
            eigenvalue,
            log_ratios,
            gap: next - eigenvalue,
        })
    } else {
        Err(Error::NoSolution { name: "quotes" })
    }
}

/// The index of the smallest element of the diagonal.
fn lowest(diagonal: &[f64]) -> Result<usize> {
    let mut least = 0;
    for (i, value) in diagonal.iter().enumerate() {
        finite("potential", *value)?;
        if *value < diagonal[least] {
            least = i;
        }
    }
    if diagonal.is_empty() {
        return Err(Error::TooFew {
            name: "inventories",
            needed: 1,
            given: 0,
        });
    }
    Ok(least)
}

/// The last float between `low` and `high` at which `holds`, which holds from `low` up to some point.
fn bisect(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return low;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Whether the whole spectrum is above `trial`: all pivots, eliminated towards `split`, are positive.
fn above_all(diagonal: &[f64], e: f64, split: usize, trial: f64) -> bool {
    let eliminate = |pivot: f64, d: &f64| {
        let next = d - trial - e * e / pivot;
        (next > 0.0).then_some(next)
    };
    let left = diagonal[..split].iter().try_fold(f64::INFINITY, eliminate);
    let mut inward = diagonal[split + 1..].iter().rev();
    let right = inward.try_fold(f64::INFINITY, eliminate);
    match (left, right) {
        (Some(left), Some(right)) => diagonal[split] - trial - e * e / left - e * e / right > 0.0,
        _ => false,
    }
}

/// The number of eigenvalues below `trial` (Sturm's sequence).
fn count_below(diagonal: &[f64], e: f64, trial: f64) -> usize {
    let mut pivot = f64::INFINITY;
    let negative = diagonal.iter().filter(|d| {
        pivot = **d - trial - e * e / pivot;
        if pivot == 0.0 {
            pivot = -f64::MIN_POSITIVE;
        }
        pivot < 0.0
    });
    negative.count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn a_chain_without_potential_has_the_known_spectrum() {
        // Eigenvalues −2e·cos(jπ/(n+1)), elements sin(iπ/(n+1)).
        let n = 9_u32;
        let ground = ground(&[0.0; 9], 0.5).unwrap();
        let angle = core::f64::consts::PI / f64::from(n + 1);
        assert!((ground.eigenvalue + libm::cos(angle)).abs() < 1e-15);
        assert!((ground.gap - (libm::cos(angle) - libm::cos(2.0 * angle))).abs() < 1e-14);
        for (i, ratio) in (1_u32..).zip(&ground.log_ratios) {
            let exact =
                libm::log(libm::sin(f64::from(i) * angle) / libm::sin(f64::from(i + 1) * angle));
            assert!((ratio - exact).abs() < 1e-13, "{ratio} {exact}");
        }
    }

    #[test]
    fn one_state_and_none() {
        assert!((ground(&[3.0], 1.0).unwrap().eigenvalue - 3.0).abs() < 1e-15);
        assert!(ground(&[], 1.0).is_err());
        assert!(ground(&[f64::NAN, 0.0], 1.0).is_err());
        assert!(ground(&[1.0, 0.0], 0.0).is_err());
    }
}
