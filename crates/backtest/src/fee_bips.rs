//! Fees of a simulated exchange: basis points with two decimals, as exchanges publish them (0.018 % is 1.8).

use std::fmt;
use std::str::FromStr;

use cambist_core::Amount;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Hundredths in a basis point.
const PER_BIP: u32 = 100;
/// The highest rate, in basis points: the whole amount.
const BIPS_MAX: u32 = 10_000;

/// A share of the traded amount, in hundredths of a basis point, at most the whole amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeeBips(u32);

impl FeeBips {
    /// So many basis points, at most the whole amount.
    pub fn from_bips(bips: u16) -> Self {
        Self(u32::from(bips).min(BIPS_MAX) * PER_BIP)
    }

    /// The rate in whole basis points, rounded up.
    pub fn bips_at_least(self) -> u16 {
        u16::try_from(self.0.div_ceil(PER_BIP)).unwrap_or(u16::MAX)
    }

    /// The fee of an amount, rounded down like that of the embedded exchange.
    pub fn of(self, amount: Amount) -> Amount {
        let whole = Amount::from(BIPS_MAX * PER_BIP);
        let rate = Amount::from(self.0);
        amount / whole * rate + amount % whole * rate / whole
    }
}

impl fmt::Display for FeeBips {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.0 / PER_BIP, self.0 % PER_BIP);
        match hundredths {
            0 => write!(out, "{whole}"),
            tenths if tenths % 10 == 0 => write!(out, "{whole}.{}", tenths / 10),
            hundredths => write!(out, "{whole}.{hundredths:02}"),
        }
    }
}

impl FromStr for FeeBips {
    type Err = String;

    /// Reads a decimal number of basis points with at most two places, such as `1.8`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no fee: write basis points from 0 to {BIPS_MAX} with at most two decimals, such as 1.8 for 0.018 % (rebates are not simulated)"
            )
        };
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(places) || places.len() > 2 {
            return Err(wrong());
        }
        let whole: u32 = whole.parse().map_err(|_| wrong())?;
        let hundredths: u32 = format!("{places:0<2}").parse().map_err(|_| wrong())?;
        let rate = whole.checked_mul(PER_BIP);
        let rate = rate.and_then(|rate| rate.checked_add(hundredths));
        let rate = rate.filter(|rate| *rate <= BIPS_MAX * PER_BIP);
        rate.map(Self).ok_or_else(wrong)
    }
}

impl Serialize for FeeBips {
    /// Basis points, as an integer where there are no decimals.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(PER_BIP) {
            return serializer.serialize_u32(self.0 / PER_BIP);
        }
        serializer.serialize_f64(f64::from(self.0) / f64::from(PER_BIP))
    }
}

impl<'de> Deserialize<'de> for FeeBips {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The shortest text of the number is the one that was written.
        let bips = f64::deserialize(deserializer)?;
        bips.to_string().parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn rate(text: &str) -> FeeBips {
        text.parse().unwrap()
    }

    #[test]
    fn basis_points_have_two_decimals() {
        for text in ["0", "1.8", "0.75", "4.05", "63", "10000"] {
            assert_eq!(rate(text).to_string(), text);
            let json = serde_json::to_string(&rate(text)).unwrap();
            assert_eq!(json, text);
            assert_eq!(serde_json::from_str::<FeeBips>(&json).unwrap(), rate(text));
        }
        assert_eq!(rate("2.50").to_string(), "2.5");
        for bad in [
            "", ".", "1.", ".5", "-0.5", "+1", "1.805", "10000.01", "10001", "1e2", "2%", "nan",
        ] {
            assert!(bad.parse::<FeeBips>().is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<FeeBips>("-0.5").is_err());
    }

    #[test]
    fn fees_are_exact_and_whole_basis_points_are_enough() {
        assert_eq!(rate("1.8").of(1_000_000), 180);
        assert_eq!(rate("1.8").of(5_555), 0);
        assert_eq!(rate("1.8").of(5_556), 1);
        assert_eq!(rate("0.01").of(u128::MAX), u128::MAX / 1_000_000);
        assert_eq!(rate("10000").of(u128::MAX), u128::MAX);
        assert_eq!(
            (rate("1.8").bips_at_least(), rate("2").bips_at_least()),
            (2, 2)
        );
        assert_eq!(FeeBips::from_bips(63), rate("63"));
        assert_eq!(FeeBips::from_bips(10_001), rate("10000"));
    }
}
