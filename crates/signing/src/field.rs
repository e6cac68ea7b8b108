//! The two prime fields of the signature scheme, and 256-bit integers in wire form.
//!
//! Arithmetic is `ark-ff`'s; this file defines the moduli and the conversions.

use core::fmt;

use ark_ff::{BigInt, BigInteger, Fp256, MontBackend, PrimeField};

use crate::error::SignError;
use crate::text;

mod moduli {
    #![allow(
        unexpected_cfgs,
        reason = "the derive asks for a feature that only its own crate has"
    )]

    use ark_ff::MontConfig;

    /// Montgomery parameters of the field all hashes live in (the scalar field of BN254).
    #[derive(MontConfig)]
    #[modulus = "21888242871839275222246405745257275088548364400416034343698204186575808495617"]
    #[generator = "5"]
    pub struct BaseConfig;

    /// Montgomery parameters of the integers modulo the order of the base point.
    #[derive(MontConfig)]
    #[modulus = "2736030358979909402780800718157159386076813972158567259200215660948447373041"]
    #[generator = "31"]
    pub struct OrderConfig;
}

pub(crate) use moduli::BaseConfig;
use moduli::OrderConfig;

/// An element of the field the curve and all hashes are defined over.
pub(crate) type Fq = Fp256<MontBackend<BaseConfig, 4>>;
/// An integer modulo L, the order of the base point.
pub(crate) type Fl = Fp256<MontBackend<OrderConfig, 4>>;

/// An unsigned 256-bit integer: a coordinate, a hash, or a message to be signed.
///
/// It is kept exactly as given. Values at or above the field modulus p are legal as *messages* (they are reduced
/// inside the hash, but the nonce of a signature depends on all 256 bits); they are never legal as coordinates.
/// Clause: keys, signature and request canonicalisation as sent by the interface's public clients.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Field([u8; 32]);

impl Field {
    /// Zero.
    pub const ZERO: Self = Self([0; 32]);

    /// The integer with these big-endian bytes.
    pub const fn from_be_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 big-endian bytes.
    pub const fn to_be_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The 32 little-endian bytes.
    pub fn to_le_bytes(self) -> [u8; 32] {
        let mut bytes = self.0;
        bytes.reverse();
        bytes
    }

    /// Parses `0x` and 1 to 64 hexadecimal digits of either case.
    ///
    /// # Errors
    /// [`SignError::MalformedInteger`] for anything else.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        text::integer_from_hex(text)
            .map(Self)
            .ok_or(SignError::MalformedInteger)
    }

    /// Parses a plain decimal number below 2^256.
    ///
    /// # Errors
    /// [`SignError::MalformedInteger`] for an empty text, other characters, or a larger number.
    pub fn from_decimal(text: &str) -> Result<Self, SignError> {
        text::integer_from_decimal(text)
            .map(Self)
            .ok_or(SignError::MalformedInteger)
    }

    /// `0x` and exactly 64 lower-case hexadecimal digits.
    pub fn to_hex(self) -> String {
        text::hex_0x(&self.0)
    }

    /// The decimal digits without leading zeros.
    pub fn to_decimal(self) -> String {
        num_bigint::BigUint::from_bytes_be(&self.0).to_string()
    }

    /// Whether the value is below the field modulus p.
    pub fn is_canonical(self) -> bool {
        limbs(&self.0) < Fq::MODULUS
    }

    /// The value modulo p.
    #[must_use]
    pub fn reduced(self) -> Self {
        Self::from(self.element())
    }

    /// The field element of this integer: its value modulo p.
    pub(crate) fn element(self) -> Fq {
        reduce(limbs(&self.0))
    }

    /// The field element, if the integer is below p.
    pub(crate) fn canonical(self) -> Option<Fq> {
        Fq::from_bigint(limbs(&self.0))
    }

    /// The four 64-bit limbs, least significant first.
    pub(crate) fn limbs(self) -> [u64; 4] {
        limbs(&self.0).0
    }
}

impl From<Fq> for Field {
    fn from(value: Fq) -> Self {
        Self(bytes_be(&value.into_bigint()))
    }
}

impl From<u128> for Field {
    fn from(value: u128) -> Self {
        let mut bytes = [0; 32];
        bytes[16..].copy_from_slice(&value.to_be_bytes());
        Self(bytes)
    }
}

impl From<BigInt<4>> for Field {
    fn from(value: BigInt<4>) -> Self {
        Self(bytes_be(&value))
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// Big-endian bytes to limbs, least significant limb first.
pub(crate) fn limbs(bytes: &[u8; 32]) -> BigInt<4> {
    let mut out = [0_u64; 4];
    for (limb, chunk) in out.iter_mut().zip(bytes.rchunks_exact(8)) {
        *limb = chunk
            .iter()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte));
    }
    BigInt(out)
}

/// Limbs to big-endian bytes.
pub(crate) fn bytes_be(value: &BigInt<4>) -> [u8; 32] {
    let mut out = [0_u8; 32];
    for (limb, chunk) in value.0.iter().zip(out.rchunks_exact_mut(8)) {
        chunk.copy_from_slice(&limb.to_be_bytes());
    }
    out
}

/// Any 256-bit integer modulo p. 2^256 is below 6p, so a few subtractions are enough.
pub(crate) fn reduce(mut value: BigInt<4>) -> Fq {
    while value >= Fq::MODULUS {
        value.sub_with_borrow(&Fq::MODULUS);
    }
    // The loop leaves a value below the modulus, for which the conversion is total.
    Fq::from_bigint(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn conversions_agree() {
        let value = Field::from_decimal(
            "14397397413755236225575615486459253198602422701513067526754101844196324375522",
        )
        .unwrap();
        assert_eq!(Field::from_hex(&value.to_hex()).unwrap(), value);
        assert_eq!(Field::from_decimal(&value.to_decimal()).unwrap(), value);
        assert_eq!(Field::from(value.element()), value);
        assert_eq!(Field::from(7_u128).to_decimal(), "7");
    }

    #[test]
    fn values_above_the_modulus_are_kept_and_reduced_on_use() {
        let modulus = Field::from(Fq::MODULUS);
        assert!(!modulus.is_canonical());
        assert_eq!(modulus.reduced(), Field::ZERO);
        assert!(modulus.canonical().is_none());
        let max = Field::from_be_bytes([0xff; 32]);
        assert_eq!(max.element(), Fq::from_be_bytes_mod_order(&[0xff; 32]));
    }

    #[test]
    fn malformed_integers_are_refused() {
        for bad in [
            "",
            "0x",
            "12",
            "0xg",
            "0x1 ",
            &format!("0x1{}", "0".repeat(64)),
        ] {
            assert!(Field::from_hex(bad).is_err(), "{bad}");
        }
        let too_large =
            "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        for bad in ["", "-1", "+1", " 1", "1e3", too_large] {
            assert!(Field::from_decimal(bad).is_err(), "{bad}");
        }
    }
}
