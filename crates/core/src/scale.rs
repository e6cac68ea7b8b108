//! Amounts of one token in units of another one that is worth as much and has other decimals.

use serde::{Deserialize, Serialize};

use crate::math::{mul_div_ceil, mul_div_floor};
use crate::token::Amount;

/// A factor `up / down` of amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Multiplies.
    pub(crate) up: Amount,
    /// Divides; not 0.
    pub(crate) down: Amount,
}

impl Scale {
    /// From units with so many decimals to units with other ones. `None` for a difference that no amount has.
    pub fn new(from: u8, to: u8) -> Option<Self> {
        let power = |decimals: u8| Amount::from(10_u8).checked_pow(decimals.into());
        Some(Self {
            up: power(to.saturating_sub(from))?,
            down: power(from.saturating_sub(to))?,
        })
    }

    /// An amount, rounded down; the highest one on overflow.
    pub fn floor(self, amount: Amount) -> Amount {
        mul_div_floor(amount, self.up, self.down).unwrap_or(Amount::MAX)
    }

    /// An amount, rounded up; the highest one on overflow.
    pub fn ceil(self, amount: Amount) -> Amount {
        mul_div_ceil(amount, self.up, self.down).unwrap_or(Amount::MAX)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn amounts_are_rounded_to_either_side() {
        let coarser = Scale::new(18, 6).unwrap();
        let amount = 5_000_000_000_001;
        assert_eq!((coarser.floor(amount), coarser.ceil(amount)), (5, 6));
        let finer = Scale::new(6, 18).unwrap();
        assert_eq!(finer.floor(5), 5_000_000_000_000);
        assert_eq!(finer.ceil(5), 5_000_000_000_000);
        assert_eq!(finer.ceil(Amount::MAX), Amount::MAX);
        assert_eq!(Scale::new(0, 39), None);
    }
}
