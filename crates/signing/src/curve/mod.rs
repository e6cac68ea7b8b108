//! The twisted Edwards curve 168700·x² + y² = 1 + 168696·x²·y² and its points.
//!
//! Computations use the isomorphic form −x'² + y² = 1 + d'·x'²·y², x' = s·x with s² = −168700, in which an addition
//! costs eight multiplications. −1 is a square and d' is not, so the formulas hold for all pairs of points. Only
//! [`Affine`] leaves this module, always in the wire's form.

pub(crate) mod table;

use ark_ff::{AdditiveGroup, Field as _, MontFp};
use subtle::{Choice, ConditionallySelectable};

use crate::field::Fq;

const A: Fq = MontFp!("168700");
const D: Fq = MontFp!("168696");
/// s, a square root of −A.
const SCALE: Fq =
    MontFp!("6360561867910373094066688120553762416144456282423235903351243436111059670888");
/// 1 / s.
const UNSCALE: Fq =
    MontFp!("19976260017534050147865154401153945156910754191401137453807035910720341838527");
/// 2·d' = −2·D/A.
const TWICE_D: Fq =
    MontFp!("2475045175004185027501911298141836274980133961483913877536377848625489762075");
/// The base point, of prime order.
pub(crate) const BASE: Affine = Affine {
    x: MontFp!("16540640123574156134436876038791482806971768689494387082833631921987005038935"),
    y: MontFp!("20819045374670962167435360035096875258406992893633759881276124905556507972311"),
};

/// A point in the wire's coordinates. Not necessarily on the curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Affine {
    pub(crate) x: Fq,
    pub(crate) y: Fq,
}

impl Affine {
    pub(crate) fn is_on_curve(&self) -> bool {
        let (xx, yy) = (self.x.square(), self.y.square());
        A * xx + yy == Fq::ONE + D * xx * yy
    }

    pub(crate) fn is_identity(&self) -> bool {
        self.x == Fq::ZERO && self.y == Fq::ONE
    }
}

/// One of the two x coordinates for this y on the curve, if there are any.
pub(crate) fn x_of(y: &Fq) -> Option<Fq> {
    let yy = y.square();
    // a is a square and d is not, so that no y makes the divisor zero.
    let divisor = (A - D * yy).inverse()?;
    ((Fq::ONE - yy) * divisor).sqrt()
}

/// A point in extended coordinates of the a = −1 form: x' = X/Z, y = Y/Z, T = X·Y/Z.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    x: Fq,
    y: Fq,
    z: Fq,
    t: Fq,
}

/// The right-hand operand of an addition, prepared from a point with Z = 1.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    y_minus_x: Fq,
    y_plus_x: Fq,
    t_twice_d: Fq,
}

impl Point {
    pub(crate) const IDENTITY: Self = Self {
        x: Fq::ZERO,
        y: Fq::ONE,
        z: Fq::ONE,
        t: Fq::ZERO,
    };

    /// The caller has checked that the point is on the curve.
    pub(crate) fn from_affine(point: &Affine) -> Self {
        let x = point.x * SCALE;
        Self {
            x,
            y: point.y,
            z: Fq::ONE,
            t: x * point.y,
        }
    }

    /// The wire's coordinates. The inversion takes the same steps for every value.
    pub(crate) fn to_affine(self) -> Affine {
        let inverse = invert_steadily(self.z);
        Affine {
            x: self.x * inverse * UNSCALE,
            y: self.y * inverse,
        }
    }

    /// Whether this is the given point, compared without an inversion.
    pub(crate) fn equals(&self, point: &Affine) -> bool {
        self.x == point.x * SCALE * self.z && self.y == point.y * self.z
    }

    pub(crate) fn negated(&self) -> Self {
        Self {
            x: -self.x,
            t: -self.t,
            ..*self
        }
    }

    #[expect(
        clippy::many_single_char_names,
        reason = "the letters of the published formulas"
    )]
    pub(crate) fn doubled(&self) -> Self {
        let a = self.x.square();
        let b = self.y.square();
        let c = self.z.square().double();
        let e = (self.x + self.y).square() - a - b;
        let g = b - a;
        let f = g - c;
        let h = -a - b;
        Self {
            x: e * f,
            y: g * h,
            z: f * g,
            t: e * h,
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let a = (self.y - self.x) * (other.y - other.x);
        let b = (self.y + self.x) * (other.y + other.x);
        let c = self.t * TWICE_D * other.t;
        let d = (self.z * other.z).double();
        Self::from_parts(a, b, c, d)
    }

    pub(crate) fn plus_operand(&self, other: &Operand) -> Self {
        let a = (self.y - self.x) * other.y_minus_x;
        let b = (self.y + self.x) * other.y_plus_x;
        let c = self.t * other.t_twice_d;
        let d = self.z.double();
        Self::from_parts(a, b, c, d)
    }

    #[expect(
        clippy::many_single_char_names,
        reason = "the letters of the published formulas"
    )]
    fn from_parts(a: Fq, b: Fq, c: Fq, d: Fq) -> Self {
        let (e, f, g, h) = (b - a, d - c, d + c, b + a);
        Self {
            x: e * f,
            y: g * h,
            z: f * g,
            t: e * h,
        }
    }

    /// k·self for any 256-bit k, in time that depends on k: for public values only.
    pub(crate) fn times_public(&self, k: &[u64; 4]) -> Self {
        let twice = self.doubled();
        let mut odd = [*self; 8];
        for i in 1..odd.len() {
            odd[i] = odd[i - 1].plus(&twice);
        }
        let mut result = Self::IDENTITY;
        for digit in table::wnaf(k).iter().rev() {
            result = result.doubled();
            let entry = &odd[usize::from(digit.unsigned_abs() / 2)];
            match digit.signum() {
                1 => result = result.plus(entry),
                -1 => result = result.plus(&entry.negated()),
                _ => {}
            }
        }
        result
    }
}

impl Operand {
    const IDENTITY: Self = Self {
        y_minus_x: Fq::ONE,
        y_plus_x: Fq::ONE,
        t_twice_d: Fq::ZERO,
    };

    /// From a point whose 1/Z is known.
    fn new(point: &Point, inverse: &Fq) -> Self {
        let (x, y) = (point.x * inverse, point.y * inverse);
        Self {
            y_minus_x: y - x,
            y_plus_x: y + x,
            t_twice_d: x * y * TWICE_D,
        }
    }

    fn negated(&self) -> Self {
        Self {
            y_minus_x: self.y_plus_x,
            y_plus_x: self.y_minus_x,
            t_twice_d: -self.t_twice_d,
        }
    }

    /// Overwrites this with `other` if `choice` is set, touching the same memory either way.
    #[inline]
    fn assign_if(&mut self, other: &Self, choice: Choice) {
        assign_if(&mut self.y_minus_x, &other.y_minus_x, choice);
        assign_if(&mut self.y_plus_x, &other.y_plus_x, choice);
        assign_if(&mut self.t_twice_d, &other.t_twice_d, choice);
    }
}

#[inline]
fn assign_if(value: &mut Fq, other: &Fq, choice: Choice) {
    for (limb, new) in value.0.0.iter_mut().zip(&other.0.0) {
        limb.conditional_assign(new, choice);
    }
}

/// 1/z as z^(p−2): the sequence of multiplications is fixed, unlike that of a greatest common divisor.
fn invert_steadily(z: Fq) -> Fq {
    use ark_ff::PrimeField;
    let mut exponent = Fq::MODULUS;
    exponent.0[0] -= 2;
    z.pow(exponent)
}

#[cfg(test)]
mod tests {
    use ark_ff::PrimeField;

    use super::*;
    use crate::field::Fl;
    use crate::samples::Samples;

    #[test]
    fn the_constants_belong_together() {
        assert_eq!(SCALE.square(), -A);
        assert_eq!(SCALE * UNSCALE, Fq::ONE);
        assert_eq!(TWICE_D * A, -(D + D));
        assert!(D.legendre().is_qnr() && A.legendre().is_qr());
        assert!(BASE.is_on_curve());
    }

    /// The addition law in the wire's coordinates, straight from its definition.
    fn add(p: &Affine, q: &Affine) -> Affine {
        let product = D * p.x * q.x * p.y * q.y;
        let ratio =
            |numerator: Fq, denominator: Fq| numerator * denominator.inverse().unwrap_or_default();
        Affine {
            x: ratio(p.x * q.y + p.y * q.x, Fq::ONE + product),
            y: ratio(p.y * q.y - A * p.x * q.x, Fq::ONE - product),
        }
    }

    #[test]
    fn addition_and_doubling_follow_the_definition() {
        let mut sum = Affine {
            x: Fq::ZERO,
            y: Fq::ONE,
        };
        let mut point = Point::IDENTITY;
        let base = Point::from_affine(&BASE);
        for _ in 0..40 {
            assert_eq!(point.to_affine(), sum);
            assert!(point.equals(&sum) && sum.is_on_curve());
            assert_eq!(point.doubled().to_affine(), add(&sum, &sum));
            assert!(point.plus(&point).equals(&add(&sum, &sum)));
            assert!(point.plus(&point.negated()).to_affine().is_identity());
            point = point.plus(&base);
            sum = add(&sum, &BASE);
        }
    }

    #[test]
    fn points_of_small_order_are_added_rightly() {
        let two_torsion = Affine {
            x: Fq::ZERO,
            y: -Fq::ONE,
        };
        let point = Point::from_affine(&two_torsion);
        assert!(two_torsion.is_on_curve());
        assert!(point.doubled().to_affine().is_identity());
        assert_eq!(
            point.plus(&Point::from_affine(&BASE)).to_affine(),
            add(&two_torsion, &BASE)
        );
    }

    #[test]
    fn multiples_agree_with_repeated_addition_and_the_order() {
        let base = Point::from_affine(&BASE);
        let mut sum = Point::IDENTITY;
        for k in 0..100_u64 {
            assert!(base.times_public(&[k, 0, 0, 0]).equals(&sum.to_affine()));
            sum = sum.plus(&base);
        }
        assert!(base.times_public(&Fl::MODULUS.0).to_affine().is_identity());
        let mut samples = Samples::new(3);
        for _ in 0..20 {
            let (k, m) = (samples.element(), samples.element());
            let both = base
                .times_public(&k.into_bigint().0)
                .plus(&base.times_public(&m.into_bigint().0));
            let mut wide = k.into_bigint();
            let carried = ark_ff::BigInteger::add_with_carry(&mut wide, &m.into_bigint());
            assert!(!carried && base.times_public(&wide.0).equals(&both.to_affine()));
        }
    }
}
