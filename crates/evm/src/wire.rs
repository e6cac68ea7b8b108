//! Text forms of JSON-RPC: quantities (`0x` and digits without leading zeros) and data (`0x` and two digits a byte).
//! Source: execution-apis, "Hex encoding". Digits of either case are read, lower case is written.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::{Address, Hash32, Malformed, U256};

/// Reads a quantity.
///
/// # Errors
/// [`Malformed::Hex`] without `0x`, without digits, with a leading zero, or with more than 64 digits.
pub fn quantity(text: &str) -> Result<U256, Malformed> {
    let digits = digits(text)?;
    match digits.as_bytes() {
        [] => return Err(Malformed::Hex("a quantity without digits")),
        [b'0', _, ..] => return Err(Malformed::Hex("a quantity with a leading zero")),
        long if long.len() > 64 => return Err(Malformed::Range),
        _ => {}
    }
    let mut bytes = [0_u8; 32];
    let padded = format!("{digits:0>64}");
    hex::decode_to_slice(padded, &mut bytes).map_err(|_| Malformed::Hex("not digits"))?;
    Ok(U256::from_be_bytes(bytes))
}

/// Reads a quantity of at most 64 bits.
///
/// # Errors
/// As [`quantity`], and [`Malformed::Range`].
pub fn quantity_u64(text: &str) -> Result<u64, Malformed> {
    u64::try_from(quantity(text)?).map_err(|_| Malformed::Range)
}

/// Writes a quantity.
pub fn to_quantity(value: U256) -> String {
    format!("0x{value:x}")
}

/// Reads data.
///
/// # Errors
/// [`Malformed::Hex`] without `0x` or with an odd number of digits.
pub fn data(text: &str) -> Result<Vec<u8>, Malformed> {
    hex::decode(digits(text)?).map_err(|_| Malformed::Hex("not an even number of digits"))
}

/// Writes data.
pub fn to_data(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

/// Reads data of exactly `N` bytes.
///
/// # Errors
/// [`Malformed::Hex`].
pub fn fixed<const N: usize>(text: &str) -> Result<[u8; N], Malformed> {
    let mut bytes = [0; N];
    let exact = hex::decode_to_slice(digits(text)?, &mut bytes);
    exact.map_err(|_| Malformed::Hex("not the expected number of digits"))?;
    Ok(bytes)
}

fn digits(text: &str) -> Result<&str, Malformed> {
    text.strip_prefix("0x")
        .ok_or(Malformed::Hex("0x is missing"))
}

/// A quantity of 256 bits in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(pub U256);

/// A quantity of 64 bits in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity64(pub u64);

/// Data in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

/// A hash in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashText(pub Hash32);

/// An address in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressText(pub Address);

macro_rules! from_text {
    ($($name:ident $read:expr;)*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                $read(&text).map($name).map_err(D::Error::custom)
            }
        }
    )*};
}

from_text! {
    Quantity quantity;
    Quantity64 quantity_u64;
    Data data;
    HashText |text| fixed(text).map(Hash32);
    AddressText |text| fixed(text).map(Address);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn quantities_have_one_form() {
        for (text, value) in [("0x0", 0), ("0x41", 65), ("0x400", 1_024), ("0xAb", 171)] {
            assert_eq!(quantity(text), Ok(U256::from(value)), "{text}");
            assert_eq!(to_quantity(U256::from(value)), text.to_lowercase());
        }
        for bad in [
            "", "0x", "0x00", "0x0400", "ff", "0X1", "0xg", "0x-1", "0x é",
        ] {
            assert!(quantity(bad).is_err(), "{bad}");
        }
        let most = format!("0x{}", "f".repeat(64));
        assert_eq!(quantity(&most), Ok(U256::MAX));
        assert_eq!(to_quantity(U256::MAX), most);
        assert_eq!(
            quantity(&format!("0x{}", "f".repeat(65))),
            Err(Malformed::Range)
        );
        assert_eq!(quantity_u64("0xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(quantity_u64("0x10000000000000000"), Err(Malformed::Range));
    }

    #[test]
    fn data_has_two_digits_a_byte() {
        assert_eq!(data("0x"), Ok(vec![]));
        assert_eq!(data("0x004200"), Ok(vec![0, 0x42, 0]));
        assert_eq!(to_data(&[0, 0x42]), "0x0042");
        for bad in ["0xf0f0f", "004200", "0xé", "0x0g"] {
            assert!(data(bad).is_err(), "{bad}");
        }
        assert_eq!(fixed::<2>("0x0102"), Ok([1, 2]));
        assert!(fixed::<2>("0x01").is_err() && fixed::<2>("0x010203").is_err());
    }

    #[test]
    fn answers_hold_text_not_numbers() {
        let read = |json: &str| serde_json::from_str::<Quantity64>(json).map(|of| of.0);
        assert_eq!(read("\"0x7\"").unwrap(), 7);
        for bad in ["7", "null", "[\"0x7\"]", "\"7\""] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let address: Result<AddressText, _> = serde_json::from_str("\"0x01\"");
        assert!(address.is_err());
    }
}
