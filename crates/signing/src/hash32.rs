//! A 32-byte hash and its text form.

use core::fmt;

use crate::error::SignError;
use crate::field::Field;
use crate::text;

/// A hash of 32 bytes, most significant byte first: an order hash, a digest, a struct hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash32(pub [u8; 32]);

impl Hash32 {
    /// Parses exactly `0x` and 64 hexadecimal digits of either case.
    ///
    /// # Errors
    /// [`SignError::MalformedHash`] for anything else.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        text::fixed_from_hex(text)
            .map(Self)
            .ok_or(SignError::MalformedHash)
    }

    /// `0x` and 64 lower-case digits.
    pub fn to_hex(&self) -> String {
        text::hex_0x(&self.0)
    }

    /// The hash as the message to sign.
    pub const fn message(&self) -> Field {
        Field::from_be_bytes(self.0)
    }
}

impl From<Field> for Hash32 {
    fn from(value: Field) -> Self {
        Self(value.to_be_bytes())
    }
}

impl fmt::Debug for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Display for Hash32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}
