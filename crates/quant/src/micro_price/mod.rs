//! The micro-price: Stoikov, "The micro-price: a high-frequency estimator of future prices",
//! Quantitative Finance 18(12) 2018. A Markov chain over states (spread, bucket of the imbalance)
//! whose absorption at moves of the mid gives the expected mid.

mod fit;
mod solve;
#[cfg(test)]
mod tests;

pub use fit::{Fit, Quote, fit};

use self::solve::{Matrix, invert};
use crate::error::{Error, Result, finite, positive, require};

/// Most states of a chain.
pub const STATES_MAX: usize = 256;

/// Number of moves of the mid that `sixth` covers, as in the notebook of the paper's author.
const MOVES: usize = 6;

/// Counted transitions. All have a row for each state, `spread · buckets + bucket`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counts {
    /// To each state, without a move of the mid.
    pub no_move: Vec<Vec<f64>>,
    /// Moves of the mid by each jump.
    pub jump: Vec<Vec<f64>>,
    /// To each state, with a move of the mid.
    pub moved: Vec<Vec<f64>>,
}

/// Adjustments of the mid by state: micro-price = mid + adjustment. In the unit of the jumps.
#[derive(Clone, PartialEq, Debug)]
pub struct MicroPrice {
    /// After the next move of the mid.
    pub first: Vec<f64>,
    /// After six.
    pub sixth: Vec<f64>,
    /// After all; `None` if the sum does not converge.
    pub limit: Option<Vec<f64>>,
    /// Sums of the rows of B; 1 if as many jumps as moves were counted.
    pub row_sums: Vec<f64>,
}

/// The adjustments: `G1 = (1−Q)⁻¹R1·K`, `B = (1−Q)⁻¹R2`, `G = Σ B^i·G1`, where the rows of
/// `[no_move | jump]` are normalised to `Q` and `R1`, those of `[no_move | moved]` to `R2`.
///
/// Stoikov 2018, section 3, and the author's notebook (sstoikov/microprice). A state without any
/// transition makes the chain singular, which is an error.
pub fn micro_price(counts: &Counts, jumps: &[f64]) -> Result<MicroPrice> {
    let states = check(counts, jumps)?;
    let (stay, jump) = normalised(&counts.no_move, &counts.jump)?;
    let (_, moved) = normalised(&counts.no_move, &counts.moved)?;
    let absorb = invert(&stay.one_minus())?;
    let jumps = Matrix::column(jumps);
    let first = absorb.times(&jump).times(&jumps);
    let again = absorb.times(&moved);
    let row_sums = (0..states).map(|row| again.row(row).iter().sum()).collect();
    let mut sum = first.clone();
    let mut term = first.clone();
    for _ in 1..MOVES {
        term = again.times(&term);
        sum.add(&term);
    }
    Ok(MicroPrice {
        first: all_finite(first)?,
        sixth: all_finite(sum.clone())?,
        limit: limit(sum, term, &again),
        row_sums,
    })
}

/// Adds terms until the sum does not change; `None` when terms stop shrinking.
fn limit(mut sum: Matrix, mut term: Matrix, again: &Matrix) -> Option<Vec<f64>> {
    let scale = sum.largest();
    for _ in 0..40_000 {
        term = again.times(&term);
        sum.add(&term);
        let size = term.largest();
        // Below this, rounding alone keeps terms from shrinking.
        if size <= 1e-15 * scale {
            return Some(sum.into_column());
        }
        if !(size.is_finite() && size < 1e6 * scale) {
            return None;
        }
    }
    None
}

fn check(counts: &Counts, jumps: &[f64]) -> Result<usize> {
    let states = counts.no_move.len();
    require(
        (1..=STATES_MAX).contains(&states),
        "states",
        "from 1 to 256",
    )?;
    require(!jumps.is_empty(), "jumps", "at least one")?;
    for jump in jumps {
        finite("jump", *jump)?;
    }
    for (name, rows, width) in [
        ("no-move counts", &counts.no_move, states),
        ("jump counts", &counts.jump, jumps.len()),
        ("move counts", &counts.moved, states),
    ] {
        require(
            rows.len() == states && rows.iter().all(|row| row.len() == width),
            name,
            "a row for each state, as wide as what it counts",
        )?;
        require(
            rows.iter()
                .flatten()
                .all(|count| count.is_finite() && *count >= 0.0),
            name,
            "numbers from 0",
        )?;
    }
    Ok(states)
}

/// Both tables, scaled so that their rows together sum to 1.
fn normalised(left: &[Vec<f64>], right: &[Vec<f64>]) -> Result<(Matrix, Matrix)> {
    let mut totals = Vec::with_capacity(left.len());
    for (left, right) in left.iter().zip(right) {
        let total: f64 = left.iter().chain(right).sum();
        totals.push(positive("transitions of every state", total)?);
    }
    let divided = |rows: &[Vec<f64>]| {
        let rows = rows
            .iter()
            .zip(&totals)
            .map(|(row, total)| row.iter().map(|count| count / total).collect());
        Matrix::from_rows(rows.collect())
    };
    Ok((divided(left), divided(right)))
}

fn all_finite(column: Matrix) -> Result<Vec<f64>> {
    let values = column.into_column();
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        Err(Error::NoSolution {
            name: "micro-price",
        })
    }
}
