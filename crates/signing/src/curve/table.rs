//! Multiples of a fixed point from a table, and the digit forms of a multiplier.
//!
//! The table holds 1..16 times 32ⁱ times the point for 52 windows of five bits (78 KiB); a multiple then needs 52
//! additions and no doubling. There are two readers: one for secrets, whose memory accesses do not depend on the
//! multiplier, and one for public values, which accesses the entry directly.

use std::sync::LazyLock;

use ark_ff::fields::batch_inversion;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::{Affine, BASE, Operand, Point};
use crate::field::Fq;

const WINDOW: usize = 5;
const ENTRIES: usize = 1 << (WINDOW - 1);
/// Windows of a 256-bit number; the last one also takes the final carry.
const WINDOWS: usize = 52;

/// The table of the base point, made on first use (about half a millisecond).
pub(crate) static BASE_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(&BASE));

/// Precomputed multiples of one point.
pub(crate) struct Table(Vec<[Operand; ENTRIES]>);

impl Table {
    /// The caller has checked that the point is on the curve.
    pub(crate) fn new(point: &Affine) -> Self {
        let mut points = Vec::with_capacity(WINDOWS * ENTRIES);
        let mut unit = Point::from_affine(point);
        for _ in 0..WINDOWS {
            let mut multiple = unit;
            for _ in 0..ENTRIES {
                points.push(multiple);
                multiple = multiple.plus(&unit);
            }
            // The last multiple pushed is 16 times the unit.
            unit = points.last().map_or(Point::IDENTITY, Point::doubled);
        }
        let mut inverses: Vec<Fq> = points.iter().map(|point| point.z).collect();
        batch_inversion(&mut inverses);
        let mut windows = vec![[Operand::IDENTITY; ENTRIES]; WINDOWS];
        let entries = windows.iter_mut().flatten();
        for (entry, (point, inverse)) in entries.zip(points.iter().zip(&inverses)) {
            *entry = Operand::new(point, inverse);
        }
        Self(windows)
    }

    /// k times the point; every entry is read whatever k is.
    pub(crate) fn times_secret(&self, k: &[u64; 4]) -> Point {
        let mut result = Point::IDENTITY;
        for (window, digit) in self.0.iter().zip(digits(k)) {
            let negative = u8::from(digit < 0).into();
            let mut operand = Operand::IDENTITY;
            for (entry, index) in window.iter().zip(1_u8..) {
                operand.assign_if(entry, digit.unsigned_abs().ct_eq(&index));
            }
            let negated = operand.negated();
            operand.assign_if(&negated, negative);
            result = result.plus_operand(&operand);
        }
        result
    }

    /// start + k times the point, in time that depends on k.
    pub(crate) fn add_public(&self, start: Point, k: &[u64; 4]) -> Point {
        let mut result = start;
        for (window, digit) in self.0.iter().zip(digits(k)) {
            if digit != 0 {
                let entry = &window[usize::from(digit.unsigned_abs()) - 1];
                result = if digit < 0 {
                    result.plus_operand(&entry.negated())
                } else {
                    result.plus_operand(entry)
                };
            }
        }
        result
    }
}

/// The multiplier in base 32 with digits from −15 to 16, least significant first, computed without branches on it.
fn digits(k: &[u64; 4]) -> [i8; WINDOWS] {
    let mut out = [0; WINDOWS];
    let mut carry = 0_u8;
    for (i, digit) in out.iter_mut().enumerate() {
        let value = window_at(k, i * WINDOW) + carry;
        // Above 16 the digit becomes negative and the next window takes one more.
        let over = (16_u8.wrapping_sub(value)) >> 7;
        carry = over;
        *digit = i8::conditional_select(
            &value.cast_signed(),
            &value.wrapping_sub(32).cast_signed(),
            over.into(),
        );
    }
    out
}

/// Five bits from this position on.
fn window_at(k: &[u64; 4], position: usize) -> u8 {
    let (limb, shift) = (position / 64, position % 64);
    let low = k.get(limb).map_or(0, |limb| limb >> shift);
    let high = if shift > 64 - WINDOW {
        k.get(limb + 1).map_or(0, |limb| limb << (64 - shift))
    } else {
        0
    };
    ((low | high) & 31).to_le_bytes()[0]
}

/// Width-5 non-adjacent form, least significant digit first: odd digits from −15 to 15 with at least four zeros between.
pub(super) fn wnaf(k: &[u64; 4]) -> Vec<i8> {
    let mut out = Vec::with_capacity(257);
    let mut position = 0;
    let mut carry = 0_u8;
    while position < 257 {
        let bits = window_at(k, position);
        if (bits & 1) == carry {
            out.push(0);
            position += 1;
            continue;
        }
        let value = (bits + carry).cast_signed();
        carry = u8::from(value > 16);
        out.push(if value > 16 { value - 32 } else { value });
        out.extend([0; WINDOW - 1]);
        position += WINDOW;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, Fl};
    use crate::samples::Samples;
    use ark_ff::PrimeField;

    fn multipliers() -> Vec<[u64; 4]> {
        let mut samples = Samples::new(4);
        let mut out: Vec<[u64; 4]> = (0..40)
            .map(|_| Field::from_be_bytes(samples.bytes()).limbs())
            .collect();
        out.extend((0..70).map(|k| [k, 0, 0, 0]));
        out.extend([
            [u64::MAX; 4],
            [0, 0, 0, 1 << 63],
            Fl::MODULUS.0,
            Fq::MODULUS.0,
        ]);
        out
    }

    /// Double and add, bit by bit.
    fn slowly(k: &[u64; 4]) -> Point {
        let base = Point::from_affine(&BASE);
        (0..256).rev().fold(Point::IDENTITY, |point, bit| {
            let point = point.doubled();
            if k[bit / 64] >> (bit % 64) & 1 == 1 {
                point.plus(&base)
            } else {
                point
            }
        })
    }

    #[test]
    fn all_ways_to_multiply_agree() {
        for k in multipliers() {
            let expected = slowly(&k).to_affine();
            assert!(BASE_TABLE.times_secret(&k).equals(&expected), "{k:?}");
            assert!(
                BASE_TABLE.add_public(Point::IDENTITY, &k).equals(&expected),
                "{k:?}"
            );
            assert!(
                Point::from_affine(&BASE).times_public(&k).equals(&expected),
                "{k:?}"
            );
        }
    }

    #[test]
    fn digit_forms_keep_their_ranges() {
        for k in multipliers() {
            assert!(digits(&k).iter().all(|digit| (-15..=16).contains(digit)));
            assert!(
                wnaf(&k)
                    .iter()
                    .all(|digit| *digit == 0 || (digit % 2 != 0 && (-15..=15).contains(digit)))
            );
        }
    }
}
