//! The numbers that a rule can be evaluated in: floats for live use, exact rationals where every
//! digit counts (accounts, test vectors).

use core::ops::{Add, Div, Mul, Neg, Sub};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// An exact rational number of any size.
pub type Exact = BigRational;

/// The operations that the functions of this crate need.
pub trait Number:
    Clone
    + PartialOrd
    + Zero
    + One
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The number with this value.
    fn whole(value: i64) -> Self;

    /// False for NaN and infinity.
    fn is_finite(&self) -> bool;

    /// The nearest float.
    fn to_f64(&self) -> f64;

    /// The largest whole number not above it, if it fits.
    fn floor_to_i64(&self) -> Option<i64>;

    /// The smallest whole number not below it, if it fits.
    fn ceil_to_i64(&self) -> Option<i64> {
        (-self.clone()).floor_to_i64()?.checked_neg()
    }

    /// The nearest whole number; halves go to the even one, as IEEE 754 and Python round.
    fn round_half_even(&self) -> Option<i64> {
        let floor = self.floor_to_i64()?;
        let twice = (self.clone() - Self::whole(floor)) * Self::whole(2);
        let up = twice > Self::one() || (twice == Self::one() && floor % 2 != 0);
        floor.checked_add(i64::from(up))
    }
}

impl Number for f64 {
    #[allow(
        clippy::cast_precision_loss,
        reason = "the nearest float is what is meant"
    )]
    fn whole(value: i64) -> Self {
        value as Self
    }

    fn is_finite(&self) -> bool {
        Self::is_finite(*self)
    }

    fn to_f64(&self) -> f64 {
        *self
    }

    #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn floor_to_i64(&self) -> Option<i64> {
        // Above 2^53 a float has no fractional part.
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let floor = libm::floor(*self);
        (floor.abs() <= LARGEST).then_some(floor as i64)
    }
}

impl Number for Exact {
    fn whole(value: i64) -> Self {
        Self::from_integer(BigInt::from(value))
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn to_f64(&self) -> f64 {
        ToPrimitive::to_f64(self).unwrap_or(f64::NAN)
    }

    fn floor_to_i64(&self) -> Option<i64> {
        self.floor().to_integer().to_i64()
    }
}

/// The lesser of two.
pub(crate) fn least<N: Number>(a: N, b: N) -> N {
    if b < a { b } else { a }
}

/// The greater of two.
pub(crate) fn most<N: Number>(a: N, b: N) -> N {
    if b > a { b } else { a }
}

/// The sum.
pub(crate) fn sum<N: Number>(values: impl IntoIterator<Item = N>) -> N {
    values
        .into_iter()
        .fold(N::zero(), |total, value| total + value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(numerator: i64, denominator: i64) -> Exact {
        Exact::new(numerator.into(), denominator.into())
    }

    #[test]
    fn halves_go_to_the_even_number_and_the_rest_to_the_nearest() {
        for (numerator, rounded) in [(31, 16), (33, 16), (-31, -16), (-33, -16), (29, 14), (1, 0)] {
            assert_eq!(exact(numerator, 2).round_half_even(), Some(rounded));
            let float = f64::whole(numerator) / 2.0;
            assert_eq!(float.round_half_even(), Some(rounded));
        }
        assert_eq!(exact(-7, 3).floor_to_i64(), Some(-3));
        assert_eq!(exact(-7, 3).ceil_to_i64(), Some(-2));
        assert_eq!((2.000_000_1_f64).ceil_to_i64(), Some(3));
    }

    #[test]
    fn non_numbers_have_no_integer_part() {
        for value in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(value.floor_to_i64(), None);
            assert_eq!(value.round_half_even(), None);
        }
        assert_eq!(exact(i64::MAX, 1).ceil_to_i64(), Some(i64::MAX));
        assert_eq!((exact(i64::MAX, 1) * exact(2, 1)).floor_to_i64(), None);
    }
}
