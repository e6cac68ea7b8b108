//! The same permutation with the partial rounds turned into a linear recurrence.
//!
//! In a partial round only cell 0 passes the S-box, so the other n = width − 1 cells form a linear system with one
//! input, y (the output of the S-box), and one output, x (its next input):
//!
//! ```text
//! x' = m·y + v·s        M = | m v |        (constants left aside; they are added separately)
//! s' = w·y + A·s            | w A |
//! ```
//!
//! By Cayley–Hamilton such a system obeys xⱼ₊₁ = Σ aᵢ·xⱼ₊₁₋ᵢ + Σ bᵢ·yⱼ₋ᵢ with fixed a₁…aₙ, b₀…bₙ. A partial round is
//! then a single dot product of 2n + 1 terms, against 2n multiplications *and* reductions for the factorisation into
//! sparse matrices and (n + 1)² for the plain form, and its coefficients are the same in all rounds. The first n rounds
//! start the recurrence from the state; at the end the state is recovered from the last n values of x and y.

use ark_ff::AdditiveGroup;

use super::matrix::{self, Matrix};
use super::reference::{Reference, fifth_power};
use crate::field::Fq;
use crate::wide::{dot, dot2};

/// The widest state: a recurrence step then has 31 products, below what one reduction can take.
pub(crate) const MAX_WIDTH: usize = 16;
/// More partial rounds than any parameter set of the interface has.
pub(crate) const MAX_PARTIAL: usize = 64;

/// Coefficients of the fast form. Slices in ascending time are paired with coefficients in *descending* order.
pub(crate) struct Fast {
    width: usize,
    half: usize,
    partial: usize,
    mds: Matrix,
    /// One constant per round, for the full rounds and the first partial one.
    constants: Vec<Fq>,
    /// The contribution of the constants of the partial rounds to cell 0, per round; the first is zero.
    offsets: Vec<Fq>,
    /// The contribution to the other cells after the last partial round.
    final_offsets: Vec<Fq>,
    /// Responses m, v·w, v·A·w …, descending.
    responses: Vec<Fq>,
    /// Rows v, v·A, v·A² …
    observers: Matrix,
    /// aₙ … a₁.
    of_x: Vec<Fq>,
    /// bₙ … b₀.
    of_y: Vec<Fq>,
    /// The other cells from the last n values of x …
    cells_from_x: Matrix,
    /// … and of y.
    cells_from_y: Matrix,
}

impl Fast {
    /// Prepares the fast form; `None` if it does not apply (sizes out of range, or an unobservable matrix).
    #[expect(
        clippy::many_single_char_names,
        reason = "the letters of the system above"
    )]
    pub(crate) fn new(reference: &Reference) -> Option<Self> {
        let (width, partial, half) = (
            reference.width(),
            reference.rounds_partial,
            reference.rounds_full / 2,
        );
        let n = width.checked_sub(1)?;
        if n == 0 || width > MAX_WIDTH || partial > MAX_PARTIAL || partial <= n || half == 0 {
            return None;
        }
        let m = reference.mds[0][0];
        let v = reference.mds[0][1..].to_vec();
        let w: Vec<Fq> = reference.mds[1..].iter().map(|row| row[0]).collect();
        let a: Matrix = reference.mds[1..]
            .iter()
            .map(|row| row[1..].to_vec())
            .collect();

        let mut observers = vec![v.clone()];
        for k in 1..=n {
            observers.push(matrix::row_times(&observers[k - 1], &a));
        }
        let beyond = observers.pop()?;
        let unobserve = matrix::inverse(&observers)?;
        let of_x = matrix::row_times(&beyond, &unobserve);

        // responses[k] = what y adds to x, k rounds after its own.
        let mut driven = w.clone();
        let mut responses = vec![m];
        let mut driven_columns = Vec::new();
        for _ in 0..n {
            responses.push(dot(&v, &driven));
            let next = matrix::times_column(&a, &driven);
            driven_columns.push(core::mem::replace(&mut driven, next));
        }
        let mut of_y: Vec<Fq> = (0..=n)
            .map(|k| (1..=k).fold(responses[k], |sum, i| sum - of_x[n - i] * responses[k - i]))
            .collect();
        of_y.reverse();

        // x = O·s + T·y over the last n rounds, and s at the end = Aⁿ·s + W·y; eliminate s.
        let power = (0..n).fold(identity(n), |power, _| matrix::product(&power, &a));
        let cells_from_x = matrix::product(&power, &unobserve);
        let response_matrix: Matrix = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| if j <= i { responses[i - j] } else { Fq::ZERO })
                    .collect()
            })
            .collect();
        let seen = matrix::product(&cells_from_x, &response_matrix);
        let cells_from_y: Matrix = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| driven_columns[n - 1 - j][i] - seen[i][j])
                    .collect()
            })
            .collect();

        let mut offsets = vec![Fq::ZERO];
        let mut carried = vec![Fq::ZERO; width];
        for constant in &reference.constants[half + 1..=half + partial] {
            carried[0] = Fq::ZERO;
            carried = matrix::times_column(&reference.mds, &carried);
            add_to_all(&mut carried, constant);
            offsets.push(carried[0]);
        }

        responses.truncate(n);
        responses.reverse();
        Some(Self {
            width,
            half,
            partial,
            mds: reference.mds.clone(),
            constants: reference.constants.clone(),
            offsets,
            final_offsets: carried.split_off(1),
            responses,
            observers,
            of_x,
            of_y,
            cells_from_x,
            cells_from_y,
        })
    }

    /// Permutes `state`, which has the width of this permutation.
    #[cfg(test)]
    pub(crate) fn permute(&self, state: &mut [Fq]) {
        self.up_to_last_layer(state);
        self.mix(state);
    }

    /// Cell 0 of the permuted state.
    pub(crate) fn first_cell(&self, state: &mut [Fq]) -> Fq {
        self.up_to_last_layer(state);
        dot(&self.mds[0], state)
    }

    /// All rounds but the last multiplication by the matrix.
    fn up_to_last_layer(&self, state: &mut [Fq]) {
        debug_assert_eq!(state.len(), self.width);
        for constant in &self.constants[..self.half] {
            add_to_all(state, constant);
            sbox_all(state);
            self.mix(state);
        }
        add_to_all(state, &self.constants[self.half]);
        self.partial_rounds(state);
        // The constant of the first of these rounds is already in the offsets.
        sbox_all(state);
        for constant in &self.constants[self.half + self.partial + 1..] {
            self.mix(state);
            add_to_all(state, constant);
            sbox_all(state);
        }
    }

    fn partial_rounds(&self, state: &mut [Fq]) {
        let n = self.width - 1;
        let mut x = [Fq::ZERO; MAX_PARTIAL + 1];
        let mut y = [Fq::ZERO; MAX_PARTIAL];
        x[0] = state[0];
        for k in 0..self.partial {
            y[k] = fifth_power(x[k] + self.offsets[k]);
            x[k + 1] = if k < n {
                dot2(
                    &self.responses[n - 1 - k..],
                    &y[..=k],
                    &self.observers[k],
                    &state[1..],
                )
            } else {
                dot2(&self.of_x, &x[k + 1 - n..=k], &self.of_y, &y[k - n..=k])
            };
        }
        let (last_x, last_y) = (
            &x[self.partial + 1 - n..=self.partial],
            &y[self.partial - n..self.partial],
        );
        state[0] = x[self.partial] + self.offsets[self.partial];
        let rows = self
            .cells_from_x
            .iter()
            .zip(&self.cells_from_y)
            .zip(&self.final_offsets);
        for (cell, ((from_x, from_y), offset)) in state[1..].iter_mut().zip(rows) {
            *cell = dot2(from_x, last_x, from_y, last_y) + offset;
        }
    }

    fn mix(&self, state: &mut [Fq]) {
        let mut mixed = [Fq::ZERO; MAX_WIDTH];
        for (cell, row) in mixed.iter_mut().zip(&self.mds) {
            *cell = dot(row, state);
        }
        state.copy_from_slice(&mixed[..self.width]);
    }
}

fn add_to_all(state: &mut [Fq], constant: &Fq) {
    for cell in state {
        *cell += constant;
    }
}

fn sbox_all(state: &mut [Fq]) {
    for cell in state {
        *cell = fifth_power(*cell);
    }
}

fn identity(n: usize) -> Matrix {
    (0..n)
        .map(|i| (0..n).map(|j| Fq::from(u64::from(i == j))).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::samples::Samples;

    fn agree(width: usize, rounds_full: usize, rounds_partial: usize) {
        let reference = Reference::new(width, rounds_full, rounds_partial);
        let fast = Fast::new(&reference).unwrap();
        let mut samples = Samples::new(u64::try_from(width * 1000 + rounds_partial).unwrap());
        let mut inputs = vec![vec![Fq::ZERO; width], vec![-Fq::from(1_u64); width]];
        inputs.extend((0..25).map(|_| (0..width).map(|_| samples.element()).collect()));
        for input in inputs {
            let (mut slow, mut quick, mut short) = (input.clone(), input.clone(), input);
            reference.permute(&mut slow);
            fast.permute(&mut quick);
            assert_eq!(
                slow, quick,
                "width {width}, {rounds_full} + {rounds_partial} rounds"
            );
            assert_eq!(fast.first_cell(&mut short), slow[0]);
        }
    }

    #[test]
    fn equals_the_reference_for_every_width() {
        for width in 2..=MAX_WIDTH {
            agree(width, 6, 52);
            agree(width, 6, 53);
        }
    }

    #[test]
    fn equals_the_reference_at_the_edges_of_the_recurrence() {
        for width in [2, 3, 5, 6] {
            agree(width, 2, width);
            agree(width, 4, width + 1);
            agree(width, 8, MAX_PARTIAL);
        }
    }

    #[test]
    fn declines_what_it_cannot_do() {
        assert!(Fast::new(&Reference::new(1, 6, 52)).is_none());
        assert!(Fast::new(&Reference::new(6, 6, 5)).is_none());
        assert!(Fast::new(&Reference::new(3, 6, MAX_PARTIAL + 1)).is_none());
        assert!(Fast::new(&Reference::new(MAX_WIDTH + 1, 6, 52)).is_none());
    }
}
