//! The signature of the layer-2 key: three numbers and their text form.
//!
//! Validity is decided in `public_key`.

use core::fmt;

use crate::error::SignError;
use crate::field::Field;
use crate::poseidon;
use crate::public_key::PublicKey;
use crate::text;

/// A signature (Rx, Ry, S), each below the field modulus.
///
/// S is *not* limited to the group order: the interface's clients reduce it modulo eight times the order, so about nine
/// in ten genuine signatures have a larger S. Adding the order to S gives another valid signature of the same message.
/// **Never use a signature as an identity or to detect repetition; use the hash.** (Clause: EdDSA signature.)
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signature {
    rx: Field,
    ry: Field,
    s: Field,
}

impl Signature {
    /// From its three numbers.
    ///
    /// # Errors
    /// [`SignError::NonCanonicalSignature`] if one of them is not below the field modulus.
    pub fn new(rx: Field, ry: Field, s: Field) -> Result<Self, SignError> {
        if rx.is_canonical() && ry.is_canonical() && s.is_canonical() {
            Ok(Self { rx, ry, s })
        } else {
            Err(SignError::NonCanonicalSignature)
        }
    }

    /// Parses exactly `0x` and 192 hexadecimal digits of either case: Rx, Ry, S of 64 digits each.
    ///
    /// # Errors
    /// [`SignError::MalformedSignature`] for another shape, [`SignError::NonCanonicalSignature`] if a part is not below
    /// the field modulus.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        let bytes: [u8; 96] = text::fixed_from_hex(text).ok_or(SignError::MalformedSignature)?;
        let part = |at: usize| {
            let mut part = [0; 32];
            part.copy_from_slice(&bytes[at..at + 32]);
            Field::from_be_bytes(part)
        };
        Self::new(part(0), part(32), part(64))
    }

    /// `0x` and 192 lower-case digits.
    pub fn to_hex(&self) -> String {
        let parts = [self.rx, self.ry, self.s].map(Field::to_be_bytes);
        text::hex_0x(&parts.concat())
    }

    /// The challenge t of this signature, for a key and a message. For test vectors.
    pub(crate) fn challenge(&self, key: &PublicKey, message: &Field) -> Field {
        let inputs = [self.rx, self.ry, key.x, key.y, *message].map(Field::element);
        poseidon::CHALLENGE.hash(&inputs).into()
    }

    /// The x coordinate of R.
    pub const fn rx(&self) -> Field {
        self.rx
    }

    /// The y coordinate of R.
    pub const fn ry(&self) -> Field {
        self.ry
    }

    /// The number S.
    pub const fn s(&self) -> Field {
        self.s
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}
