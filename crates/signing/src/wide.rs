//! Dot products of field elements with a single modular reduction at the end.
//!
//! A linear layer of width n needs n products per cell; reducing once instead of n times halves its cost. Works on the
//! Montgomery representation (limbs hold a·2^256 mod p).

use ark_ff::{BigInt, MontConfig, PrimeField};

use crate::field::{BaseConfig, Fq};

/// Products that one sum may hold: above it the final value would not be below 8p.
const MAX_TERMS: usize = 32;

const P: [u64; 4] = Fq::MODULUS.0;
const INV: u64 = <BaseConfig as MontConfig<4>>::INV;
const P2: [u64; 5] = multiple(2);
const P4: [u64; 5] = multiple(4);
const P1: [u64; 5] = multiple(1);

/// Σ aᵢ·bᵢ over the common length, which is at most [`MAX_TERMS`].
pub(crate) fn dot(a: &[Fq], b: &[Fq]) -> Fq {
    let mut sum = Sum::default();
    sum.add(a, b);
    sum.reduce()
}

/// Σ aᵢ·bᵢ + Σ cᵢ·dᵢ, at most [`MAX_TERMS`] products in all.
pub(crate) fn dot2(a: &[Fq], b: &[Fq], c: &[Fq], d: &[Fq]) -> Fq {
    let mut sum = Sum::default();
    sum.add(a, b);
    sum.add(c, d);
    sum.reduce()
}

/// An unreduced sum of products: nine limbs, least significant first.
#[derive(Default)]
struct Sum {
    limbs: [u64; 9],
    terms: usize,
}

impl Sum {
    #[inline]
    fn add(&mut self, a: &[Fq], b: &[Fq]) {
        self.terms += a.len().min(b.len());
        debug_assert!(
            self.terms <= MAX_TERMS,
            "too many products for one reduction"
        );
        for (x, y) in a.iter().zip(b) {
            self.add_product(&x.0.0, &y.0.0);
        }
    }

    #[inline]
    fn add_product(&mut self, a: &[u64; 4], b: &[u64; 4]) {
        let t = &mut self.limbs;
        let mut product = [0_u64; 8];
        for i in 0..4 {
            let mut carry = 0;
            for j in 0..4 {
                product[i + j] = multiply_add(product[i + j], a[i], b[j], &mut carry);
            }
            product[i + 4] = carry;
        }
        let mut carry = false;
        for i in 0..8 {
            let (sum, first) = t[i].overflowing_add(product[i]);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            t[i] = sum;
            carry = first | second;
        }
        t[8] += u64::from(carry);
    }

    /// Montgomery reduction. With at most 32 products the quotient is below 32·p²/2^256 + p < 8p.
    #[inline]
    fn reduce(mut self) -> Fq {
        let t = &mut self.limbs;
        for i in 0..4 {
            let m = t[i].wrapping_mul(INV);
            let mut carry = 0;
            for j in 0..4 {
                t[i + j] = multiply_add(t[i + j], m, P[j], &mut carry);
            }
            for limb in &mut t[i + 4..] {
                let (sum, overflow) = limb.overflowing_add(carry);
                *limb = sum;
                carry = u64::from(overflow);
            }
        }
        let mut high = [t[4], t[5], t[6], t[7], t[8]];
        subtract_if_not_below(&mut high, &P4);
        subtract_if_not_below(&mut high, &P2);
        subtract_if_not_below(&mut high, &P1);
        Fq::new_unchecked(BigInt([high[0], high[1], high[2], high[3]]))
    }
}

/// `base + x·y + carry`, the low limb; the high limb becomes the new carry.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves of a 128-bit number are taken on purpose"
)]
fn multiply_add(base: u64, x: u64, y: u64, carry: &mut u64) -> u64 {
    let wide = u128::from(base) + u128::from(x) * u128::from(y) + u128::from(*carry);
    *carry = (wide >> 64) as u64;
    wide as u64
}

#[inline]
fn subtract_if_not_below(value: &mut [u64; 5], modulus: &[u64; 5]) {
    let mut difference = [0_u64; 5];
    let mut borrow = false;
    for i in 0..5 {
        let (partial, first) = value[i].overflowing_sub(modulus[i]);
        let (partial, second) = partial.overflowing_sub(u64::from(borrow));
        difference[i] = partial;
        borrow = first | second;
    }
    // All ones keeps the value, all zeros takes the difference: no branch on the data.
    let keep = 0_u64.wrapping_sub(u64::from(borrow));
    for i in 0..5 {
        value[i] = (value[i] & keep) | (difference[i] & !keep);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "limbs of a small multiple")]
const fn multiple(factor: u64) -> [u64; 5] {
    let mut out = [0_u64; 5];
    let mut carry = 0_u128;
    let mut i = 0;
    while i < 4 {
        let wide = (P[i] as u128) * (factor as u128) + carry;
        out[i] = wide as u64;
        carry = wide >> 64;
        i += 1;
    }
    out[4] = carry as u64;
    out
}

#[cfg(test)]
mod tests {
    use ark_ff::{AdditiveGroup, Field as _};

    use super::*;
    use crate::samples::Samples;

    #[test]
    fn matches_the_plain_sum_of_products() {
        let mut samples = Samples::new(1);
        for terms in 0..=MAX_TERMS {
            for _ in 0..20 {
                let a: Vec<Fq> = (0..terms).map(|_| samples.element()).collect();
                let b: Vec<Fq> = (0..terms).map(|_| samples.element()).collect();
                let expected = a.iter().zip(&b).fold(Fq::ZERO, |sum, (x, y)| sum + *x * y);
                assert_eq!(dot(&a, &b), expected);
                let half = terms / 2;
                assert_eq!(
                    dot2(&a[..half], &b[..half], &a[half..], &b[half..]),
                    expected
                );
            }
        }
    }

    #[test]
    fn the_largest_operands_do_not_overflow() {
        // The largest limbs an element can have are those of p − 1 in Montgomery form.
        let mut limbs = P;
        limbs[0] -= 1;
        let largest = Fq::new_unchecked(BigInt(limbs));
        let operands = vec![largest; MAX_TERMS];
        let expected = (0..MAX_TERMS).fold(Fq::ZERO, |sum, _| sum + largest.square());
        assert_eq!(dot(&operands, &operands), expected);
    }
}
