//! The permutation exactly as specified, one round after the other.
//!
//! Slow on purpose: it is what the fast form is checked against, and what evaluates unusual round counts.

use ark_ff::{AdditiveGroup, Field as _};

use crate::field::Fq;

/// A permutation of `width` cells with its constants.
pub(crate) struct Reference {
    pub(crate) rounds_full: usize,
    pub(crate) rounds_partial: usize,
    pub(crate) constants: Vec<Fq>,
    pub(crate) mds: Vec<Vec<Fq>>,
}

impl Reference {
    pub(crate) fn new(width: usize, rounds_full: usize, rounds_partial: usize) -> Self {
        Self {
            rounds_full,
            rounds_partial,
            constants: super::constants::round_constants(rounds_full + rounds_partial),
            mds: super::constants::mds(width),
        }
    }

    /// Number of cells.
    pub(crate) fn width(&self) -> usize {
        self.mds.len()
    }

    /// Permutes `state`, which has [`Self::width`] cells.
    pub(crate) fn permute(&self, state: &mut [Fq]) {
        let half = self.rounds_full / 2;
        for (round, constant) in self.constants.iter().enumerate() {
            for cell in state.iter_mut() {
                *cell += constant;
            }
            let full = round < half || round >= half + self.rounds_partial;
            let through_sbox = if full { state.len() } else { 1 };
            for cell in &mut state[..through_sbox] {
                *cell = fifth_power(*cell);
            }
            let mixed: Vec<Fq> = self
                .mds
                .iter()
                .map(|row| {
                    row.iter()
                        .zip(state.iter())
                        .fold(Fq::ZERO, |sum, (m, cell)| sum + *m * cell)
                })
                .collect();
            state.copy_from_slice(&mixed);
        }
    }
}

/// x⁵.
#[inline]
pub(crate) fn fifth_power(x: Fq) -> Fq {
    let square = x.square();
    square.square() * x
}
