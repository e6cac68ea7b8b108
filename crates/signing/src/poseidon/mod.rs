//! The Poseidon hash with the interface's own parameter set (clause: hashes and signatures).
//!
//! S-box x⁵, three full rounds before and after the partial ones, no capacity cell: the inputs fill the state from cell
//! 0, the rest is zero, and cell 0 is the output.

pub(crate) mod constants;
pub(crate) mod fast;
mod matrix;
pub(crate) mod reference;

use std::sync::LazyLock;

use ark_ff::AdditiveGroup;

use crate::field::Fq;
use fast::{Fast, MAX_WIDTH};
use reference::Reference;

/// Full rounds, half of them before the partial ones.
pub(crate) const ROUNDS_FULL: usize = 6;

/// One parameter set: the width of the state and the number of partial rounds.
pub(crate) struct Poseidon {
    reference: Reference,
    fast: Option<Fast>,
}

/// Five inputs: the challenge of a signature.
pub(crate) static CHALLENGE: LazyLock<Poseidon> =
    LazyLock::new(|| Poseidon::new(6, ROUNDS_FULL, 52));
/// Eight inputs: account update.
pub(crate) static ACCOUNT_UPDATE: LazyLock<Poseidon> =
    LazyLock::new(|| Poseidon::new(9, ROUNDS_FULL, 53));
/// Nine inputs: withdrawal.
pub(crate) static WITHDRAWAL: LazyLock<Poseidon> =
    LazyLock::new(|| Poseidon::new(10, ROUNDS_FULL, 53));
/// Eleven inputs: order.
pub(crate) static ORDER: LazyLock<Poseidon> = LazyLock::new(|| Poseidon::new(12, ROUNDS_FULL, 53));
/// Twelve inputs: transfer.
pub(crate) static TRANSFER: LazyLock<Poseidon> =
    LazyLock::new(|| Poseidon::new(13, ROUNDS_FULL, 53));

impl Poseidon {
    pub(crate) fn new(width: usize, rounds_full: usize, rounds_partial: usize) -> Self {
        let reference = Reference::new(width, rounds_full, rounds_partial);
        let fast = Fast::new(&reference);
        Self { reference, fast }
    }

    /// Hashes at most as many inputs as the state has cells; further ones are ignored.
    pub(crate) fn hash(&self, inputs: &[Fq]) -> Fq {
        debug_assert!(inputs.len() <= self.reference.width());
        match &self.fast {
            Some(fast) => {
                let mut state = [Fq::ZERO; MAX_WIDTH];
                let state = &mut state[..self.reference.width()];
                fill(state, inputs);
                fast.first_cell(state)
            }
            None => self.hash_by_reference(inputs),
        }
    }

    /// The same hash, round by round as specified.
    pub(crate) fn hash_by_reference(&self, inputs: &[Fq]) -> Fq {
        let mut state = vec![Fq::ZERO; self.reference.width()];
        fill(&mut state, inputs);
        self.reference.permute(&mut state);
        state.first().copied().unwrap_or_default()
    }
}

fn fill(state: &mut [Fq], inputs: &[Fq]) {
    for (cell, input) in state.iter_mut().zip(inputs) {
        *cell = *input;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Samples;

    #[test]
    fn every_use_is_fast_and_right() {
        let uses = [
            (&CHALLENGE, 5),
            (&ACCOUNT_UPDATE, 8),
            (&WITHDRAWAL, 9),
            (&ORDER, 11),
            (&TRANSFER, 12),
        ];
        let mut samples = Samples::new(2);
        for (hash, count) in uses {
            assert!(hash.fast.is_some());
            let inputs: Vec<Fq> = (0..count).map(|_| samples.element()).collect();
            assert_eq!(hash.hash(&inputs), hash.hash_by_reference(&inputs));
        }
    }
}
