//! Ethereum addresses: 20 bytes, their text forms and their checksum.

use core::fmt;

use crate::error::SignError;
use crate::field::Fq;
use crate::keccak::keccak256;
use crate::text;

/// An address of 20 bytes. Shown with its checksum; parsed from any case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// The zero address, which means no particular one.
    pub const ZERO: Self = Self([0; 20]);

    /// Parses exactly `0x` and 40 hexadecimal digits of any case, checksum or not.
    ///
    /// # Errors
    /// [`SignError::MalformedAddress`] for anything else.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        text::fixed_from_hex(text)
            .map(Self)
            .ok_or(SignError::MalformedAddress)
    }

    /// Parses an address typed by a user: digits of mixed case must match the checksum.
    ///
    /// # Errors
    /// [`SignError::MalformedAddress`], or [`SignError::AddressChecksum`] for mixed case that does not match.
    pub fn from_checked_hex(text: &str) -> Result<Self, SignError> {
        let address = Self::from_hex(text)?;
        let digits = text.get(2..).unwrap_or_default();
        let lower = digits.bytes().any(|digit| digit.is_ascii_lowercase());
        let upper = digits.bytes().any(|digit| digit.is_ascii_uppercase());
        if lower && upper && address.to_checksum() != text {
            return Err(SignError::AddressChecksum);
        }
        Ok(address)
    }

    /// `0x` and 40 lower-case digits.
    pub fn to_hex(&self) -> String {
        text::hex_0x(&self.0)
    }

    /// `0x` and 40 digits whose case carries the checksum of EIP-55.
    pub fn to_checksum(&self) -> String {
        let digits = hex::encode(self.0);
        let hash = keccak256(&[digits.as_bytes()]);
        let shown = digits.chars().enumerate().map(|(i, digit)| {
            let nibble = hash[i / 2] >> (4 * (1 - i % 2)) & 0xf;
            if nibble >= 8 {
                digit.to_ascii_uppercase()
            } else {
                digit
            }
        });
        "0x".chars().chain(shown).collect()
    }

    /// The address as a number, as hashes use it.
    pub(crate) fn element(&self) -> Fq {
        use ark_ff::PrimeField;
        Fq::from_be_bytes_mod_order(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_checksum())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_checksum())
    }
}

impl core::str::FromStr for Address {
    type Err = SignError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_hex(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn checksums_are_written_and_checked() {
        for known in [
            "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b",
            "0x0BABA1Ad5bE3a5C0a66E7ac838a129Bf948f1eA4",
        ] {
            let address = Address::from_checked_hex(known).unwrap();
            assert_eq!(address.to_checksum(), known);
            assert_eq!(Address::from_hex(&known.to_lowercase()).unwrap(), address);
            assert_eq!(
                Address::from_checked_hex(&address.to_hex()).unwrap(),
                address
            );
        }
        let wrong = "0xc07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b";
        assert_eq!(
            Address::from_checked_hex(wrong),
            Err(SignError::AddressChecksum)
        );
        assert!(Address::from_hex(wrong).is_ok());
        for bad in [
            "",
            "0x",
            "C07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b",
            &format!("0x{}é", "0".repeat(38)),
        ] {
            assert_eq!(
                Address::from_checked_hex(bad),
                Err(SignError::MalformedAddress)
            );
        }
    }
}
