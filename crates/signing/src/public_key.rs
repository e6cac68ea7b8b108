//! Public keys of layer 2 and the verification of signatures.
//!
//! Everything here is public, so time may depend on the values.

use core::fmt;

use ark_ff::PrimeField;

use crate::curve::table::{BASE_TABLE, Table};
use crate::curve::{Affine, Point};
use crate::error::SignError;
use crate::field::{Field, Fl};
use crate::poseidon;
use crate::signature::Signature;

/// A public key: the two coordinates as they travel.
///
/// The fields may hold anything (an account update may even carry zeros). [`PublicKey::from_hex`] and
/// [`PublicKey::check`] require a usable point; verification with an unusable key always fails. (Clause: keys.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PublicKey {
    /// x coordinate.
    pub x: Field,
    /// y coordinate.
    pub y: Field,
}

impl PublicKey {
    /// Parses two coordinates, each `0x` and 1 to 64 hexadecimal digits, and checks the point.
    ///
    /// # Errors
    /// [`SignError::MalformedInteger`] or [`SignError::InvalidPublicKey`].
    pub fn from_hex(x: &str, y: &str) -> Result<Self, SignError> {
        let key = Self {
            x: Field::from_hex(x)?,
            y: Field::from_hex(y)?,
        };
        key.check()?;
        Ok(key)
    }

    /// Whether this is a point of the curve in canonical form and not the identity.
    ///
    /// # Errors
    /// [`SignError::InvalidPublicKey`] if not.
    pub fn check(&self) -> Result<(), SignError> {
        self.point().map(|_| ()).ok_or(SignError::InvalidPublicKey)
    }

    /// Whether this key may be registered: a usable point of prime order, as the key of every secret is. For a key of
    /// low order anyone can find a signature within a few tries.
    ///
    /// Verification does not repeat this check, which costs as much as the signature.
    ///
    /// # Errors
    /// [`SignError::InvalidPublicKey`] or [`SignError::LowOrderPublicKey`] if not.
    pub fn check_registrable(&self) -> Result<(), SignError> {
        let point = self.point().ok_or(SignError::InvalidPublicKey)?;
        let multiple = Point::from_affine(&point).times_public(&Fl::MODULUS.0);
        if multiple.to_affine().is_identity() {
            Ok(())
        } else {
            Err(SignError::LowOrderPublicKey)
        }
    }

    /// Whether `signature` is this key's signature of `message`.
    ///
    /// The equation is checked exactly, without multiplying by the cofactor, for any S below the field modulus.
    pub fn verify(&self, message: &Field, signature: &Signature) -> bool {
        let Some(a) = self.point() else { return false };
        holds(&a, message, signature, |t| {
            Point::from_affine(&a).negated().times_public(t)
        })
    }

    /// Precomputes a table (78 KiB, about half a millisecond) that makes verifying several times faster.
    ///
    /// An unusable key gives a prepared key that accepts nothing.
    #[must_use]
    pub fn prepare(&self) -> PreparedKey {
        let table = self
            .point()
            .map(|a| (a, Table::new(&Affine { x: -a.x, y: a.y })));
        PreparedKey { key: *self, table }
    }

    /// The key as one 256-bit number, used only inside the typed data of an account update: y, with the highest bit set
    /// when x is above (p − 1)/2. The key (0, 0) packs to zero.
    pub fn packed(&self) -> Field {
        let mut bytes = self.y.to_be_bytes();
        if self.x > half_modulus() {
            bytes[0] |= 0x80;
        }
        Field::from_be_bytes(bytes)
    }

    /// The key that packs to this number. A packed key contains y and selects one of two x, so that there is one key or
    /// none; zero means no key and is refused, as is everything that is not a usable point.
    ///
    /// # Errors
    /// [`SignError::InvalidPublicKey`] if no usable key packs to this number.
    pub fn from_packed(packed: Field) -> Result<Self, SignError> {
        let mut y = packed.to_be_bytes();
        let negative = y[0] & 0x80 != 0;
        y[0] &= 0x7f;
        let y = Field::from_be_bytes(y);
        let key = y
            .canonical()
            .and_then(|y| crate::curve::x_of(&y))
            .map(|x| {
                let x = if (Field::from(x) > half_modulus()) == negative {
                    x
                } else {
                    -x
                };
                Self { x: x.into(), y }
            })
            .ok_or(SignError::InvalidPublicKey)?;
        key.check()?;
        if key.packed() == packed {
            Ok(key)
        } else {
            Err(SignError::InvalidPublicKey)
        }
    }

    fn point(&self) -> Option<Affine> {
        let point = Affine {
            x: self.x.canonical()?,
            y: self.y.canonical()?,
        };
        (point.is_on_curve() && !point.is_identity()).then_some(point)
    }
}

impl From<Affine> for PublicKey {
    fn from(point: Affine) -> Self {
        Self {
            x: point.x.into(),
            y: point.y.into(),
        }
    }
}

/// A public key with its table of multiples, for keys that verify often.
pub struct PreparedKey {
    key: PublicKey,
    table: Option<(Affine, Table)>,
}

impl PreparedKey {
    /// The key this was prepared from.
    pub const fn key(&self) -> &PublicKey {
        &self.key
    }

    /// The same result as [`PublicKey::verify`], faster.
    pub fn verify(&self, message: &Field, signature: &Signature) -> bool {
        let Some((a, table)) = &self.table else {
            return false;
        };
        holds(a, message, signature, |t| {
            table.add_public(Point::IDENTITY, t)
        })
    }
}

impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PreparedKey").field(&self.key).finish()
    }
}

/// t = hash(Rx, Ry, Ax, Ay, message), as an integer below p.
pub(crate) fn challenge(r: &Affine, a: &Affine, message: &Field) -> [u64; 4] {
    let t = poseidon::CHALLENGE.hash(&[r.x, r.y, a.x, a.y, message.element()]);
    Field::from(t).limbs()
}

/// Checks S·B − t·A = R; the caller supplies the computation of −t·A.
#[expect(clippy::many_single_char_names, reason = "the letters of the equation")]
fn holds(
    a: &Affine,
    message: &Field,
    signature: &Signature,
    minus_t_a: impl FnOnce(&[u64; 4]) -> Point,
) -> bool {
    let (Some(x), Some(y)) = (signature.rx().canonical(), signature.ry().canonical()) else {
        return false;
    };
    let r = Affine { x, y };
    if !r.is_on_curve() {
        return false;
    }
    let t = challenge(&r, a, message);
    BASE_TABLE
        .add_public(minus_t_a(&t), &signature.s().limbs())
        .equals(&r)
}

/// (p − 1)/2.
fn half_modulus() -> Field {
    Field::from(crate::field::Fq::MODULUS_MINUS_ONE_DIV_TWO)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::secret_key::SecretKey;

    /// Every point of the curve whose order divides the cofactor, eight with the identity.
    fn points_of_low_order() -> Vec<Point> {
        let generator = (2_u64..1_000)
            .filter_map(|y| {
                let y = crate::field::Fq::from(y);
                let x = crate::curve::x_of(&y)?;
                Some(Point::from_affine(&Affine { x, y }).times_public(&Fl::MODULUS.0))
            })
            .find(|point| !point.times_public(&[4, 0, 0, 0]).to_affine().is_identity())
            .unwrap();
        let multiple = |k| generator.times_public(&[k, 0, 0, 0]);
        (0..8).map(multiple).collect()
    }

    #[test]
    fn a_key_with_a_part_of_low_order_is_not_registered() {
        let honest = SecretKey::from_hex("0x1234").unwrap().public();
        assert_eq!(honest.check_registrable(), Ok(()));
        let honest_point = Point::from_affine(&honest.point().unwrap());
        let low = points_of_low_order();
        assert!(low[0].to_affine().is_identity());
        for (order, point) in low.iter().enumerate().skip(1) {
            let key = PublicKey::from(point.to_affine());
            assert_eq!(key.check(), Ok(()), "{order}: a point like any other");
            assert_eq!(key.check_registrable(), Err(SignError::LowOrderPublicKey));
            let mixed = PublicKey::from(honest_point.plus(point).to_affine());
            assert_eq!(mixed.check_registrable(), Err(SignError::LowOrderPublicKey));
        }
        let none = PublicKey {
            x: Field::ZERO,
            y: Field::from(1),
        };
        assert_eq!(none.check_registrable(), Err(SignError::InvalidPublicKey));
    }

    /// Why such keys are refused: without any secret a signature can be found.
    #[test]
    fn anyone_can_sign_for_a_key_of_low_order() {
        let low = points_of_low_order()[1];
        let key = PublicKey::from(low.to_affine());
        let message = Field::from(7);
        let forged = (1_u64..200).any(|s| {
            (0..8).any(|multiple| {
                let s_limbs = [s, 0, 0, 0];
                let r = BASE_TABLE
                    .add_public(low.times_public(&[multiple, 0, 0, 0]), &s_limbs)
                    .to_affine();
                let s = Field::from(u128::from(s));
                Signature::new(r.x.into(), r.y.into(), s)
                    .is_ok_and(|signature| key.verify(&message, &signature))
            })
        });
        assert!(forged);
    }

    #[test]
    fn a_packed_key_unpacks_to_itself_and_nothing_else_unpacks() {
        for number in 1..40 {
            let key = SecretKey::from_hex(&format!("0x{number:x}"))
                .unwrap()
                .public();
            assert_eq!(PublicKey::from_packed(key.packed()), Ok(key));
        }
        let mut refused = 0;
        for number in [0, 1, 2, 3, 4, 5, 6, 7_u64] {
            let packed = Field::from(u128::from(number));
            match PublicKey::from_packed(packed) {
                Ok(key) => assert_eq!(key.packed(), packed),
                Err(_) => refused += 1,
            }
        }
        assert!(refused >= 2, "zero and the identity at least");
        // The modulus itself, and the sign bit on a key with x = 0.
        assert!(PublicKey::from_packed(Field::from_be_bytes([0xff; 32])).is_err());
        let mut identity = [0; 32];
        (identity[0], identity[31]) = (0x80, 1);
        assert!(PublicKey::from_packed(Field::from_be_bytes(identity)).is_err());
    }
}
