//! How exact the amounts of fills are.

use serde::{Deserialize, Serialize};

use crate::market::Side;
use crate::token::Amount;

/// By how much rounding may move the amounts of an order's fills beyond what was signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AmountRule {
    /// Quote units that an order may pay beyond its amount and its highest fee, over all of its fills, because the venue
    /// rounds the price and the fee of each to a whole unit; 0 where amounts are exact. Base amounts are exact always.
    pub quote_rounding: Amount,
}

impl AmountRule {
    /// Units of the sold token that rounding may take on top of an order.
    pub const fn on_top(self, side: Side) -> Amount {
        match side {
            Side::Buy => self.quote_rounding,
            Side::Sell => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_pays_quote_can_pay_more_by_rounding() {
        let rule = AmountRule { quote_rounding: 7 };
        assert_eq!(Side::BOTH.map(|side| rule.on_top(side)), [7, 0]);
        let exact = AmountRule::default();
        assert_eq!(Side::BOTH.map(|side| exact.on_top(side)), [0, 0]);
    }
}
