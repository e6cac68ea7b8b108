//! Tokens, and amounts in base units, which are the only internal form of money.

use serde::{Deserialize, Serialize};

use crate::math::decimal;

/// Numeric token id, 16 bits on this interface (ids from 32768 up are not fungible tokens).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TokenId(pub u16);

/// A quantity of one token in its base units. Order amounts are limited to 96 bits by the interface; balances and sums
/// use all 128 bits.
pub type Amount = u128;

/// The largest amount an order, transfer or join may carry: 96 bits.
pub const AMOUNT_MAX: Amount = (1 << 96) - 1;

/// What the venue publishes about a token (interface, "Token configuration").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSpec {
    /// Numeric id.
    pub id: TokenId,
    /// Symbol, for text only.
    pub symbol: String,
    /// Decimals of the base unit: one whole token is 10^decimals base units.
    pub decimals: u8,
    /// Most decimals the venue uses; smaller digits count as zero.
    pub precision: u8,
    /// Smallest order amount in base units.
    pub minimum: Amount,
    /// Largest order amount in base units.
    pub maximum: Amount,
    /// A remainder below this counts as filled, in base units.
    pub dust: Amount,
    /// Whether the token may be traded, deposited and withdrawn.
    pub enabled: bool,
}

impl TokenSpec {
    /// An amount as text: whole tokens, exact, with sign and symbol, such as `-1.5 ETH`.
    pub fn show(&self, units: i128) -> String {
        let sign = if units < 0 { "-" } else { "" };
        format!("{sign}{}", self.text(units.unsigned_abs()))
    }

    /// Base units in one whole token. `None` if it does not fit an amount.
    pub fn one(&self) -> Option<Amount> {
        10u128.checked_pow(u32::from(self.decimals))
    }

    /// An amount as text: `1.5 ETH`.
    pub fn text(&self, units: Amount) -> String {
        format!("{} {}", decimal(units, self.decimals), self.symbol)
    }

    /// The smallest step of the venue: 10^(decimals − precision) base units.
    pub fn step(&self) -> Option<Amount> {
        10u128.checked_pow(u32::from(self.decimals.saturating_sub(self.precision)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A token of six decimals with a number.
    pub(crate) fn token(id: u16) -> TokenSpec {
        TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 6,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        }
    }

    #[test]
    fn steps_are_those_of_the_venues_precision() {
        let of = |decimals, precision| TokenSpec {
            decimals,
            precision,
            ..token(0)
        };
        assert_eq!(of(6, 4).step(), Some(100));
        assert_eq!(of(6, 6).step(), Some(1));
        assert_eq!(of(6, 8).step(), Some(1), "never finer than a unit");
        assert_eq!(of(39, 0).step(), None, "above an amount");
        assert_eq!(of(6, 4).one(), Some(1_000_000));
    }
}
