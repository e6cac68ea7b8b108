//! Round constants and matrices of the hash, produced by their published recipe.
//!
//! Both come from chains of BLAKE2b digests: c₀ = H(label), cᵢ₊₁ = H(cᵢ), each link 32 bytes little-endian and reduced
//! modulo p only for use. Knows nothing of rounds or states.

use ark_ff::{Field as _, PrimeField};
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};

use crate::field::Fq;

/// The first `count` round constants. One constant serves all cells of a round, whatever the width.
pub(crate) fn round_constants(count: usize) -> Vec<Fq> {
    chain(b"poseidon_constants", count)
}

/// The Cauchy matrix of this width: the cell (i, j) is 1 / (mᵢ − m_{width+j}).
pub(crate) fn mds(width: usize) -> Vec<Vec<Fq>> {
    let values = chain(b"poseidon_matrix_0000", 2 * width);
    let (rows, columns) = values.split_at(width);
    let cell = |row: &Fq, column: &Fq| (*row - column).inverse().unwrap_or_default();
    rows.iter()
        .map(|row| columns.iter().map(|column| cell(row, column)).collect())
        .collect()
}

fn chain(label: &[u8], count: usize) -> Vec<Fq> {
    let first = Blake2b::<U32>::digest(label);
    core::iter::successors(Some(first), |link| Some(Blake2b::<U32>::digest(link)))
        .take(count)
        .map(|link| Fq::from_le_bytes_mod_order(&link))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;

    #[test]
    fn the_published_values_come_out() {
        let constants = round_constants(59);
        let shown = |value: Fq| Field::from(value).to_decimal();
        assert_eq!(
            shown(constants[0]),
            "14397397413755236225575615486459253198602422701513067526754101844196324375522"
        );
        assert_eq!(
            shown(constants[58]),
            "19908645952733301583346063785055921934459499091029406575311417879963332475861"
        );
        assert_eq!(
            shown(mds(12)[0][0]),
            "8949952361235797771659501126471156178804092479420606597426318793013844305422"
        );
    }
}
