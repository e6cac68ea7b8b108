//! Which token the fee of a trade is taken in, and what bounds it.

use serde::{Deserialize, Serialize};

use crate::market::Side;
use crate::token::Amount;

const WHOLE_BPS: Amount = 10_000;

/// Which token the fee of a trade is taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FeeToken {
    /// What is bought: the fee reduces what is received.
    #[default]
    Bought,
    /// Always the quote token: a purchase pays it on top of its price.
    Quote,
}

impl FeeToken {
    /// Whether the fee of a trade on this side is base; otherwise it is quote.
    pub const fn is_base(self, side: Side) -> bool {
        match self {
            Self::Bought => matches!(side, Side::Buy),
            Self::Quote => false,
        }
    }

    /// Whether the fee comes on top of what the order sells, so that more than that has to be free.
    pub const fn is_on_top(self, side: Side) -> bool {
        match side {
            Side::Buy => !self.is_base(side),
            Side::Sell => self.is_base(side),
        }
    }

    /// The most that fees take of the sold token on top of what is sold, rounded up; 0 where they are taken from what
    /// is bought.
    pub fn on_top(self, side: Side, sold: Amount, max_fee_bips: u8) -> Amount {
        if self.is_on_top(side) {
            sold.saturating_mul(max_fee_bips.into()).div_ceil(WHOLE_BPS)
        } else {
            0
        }
    }
}

/// What bounds the fee of an order: it states the highest that it accepts, and the venue never takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeRule {
    /// The highest that an order can state, in ten-thousandths.
    pub stated_max_bips: u8,
}

impl FeeRule {
    /// What an order states where at most so much is accepted.
    pub fn of_order(self, max_fee_bips: u8) -> u8 {
        max_fee_bips.min(self.stated_max_bips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fee_reduces_what_is_received_or_comes_on_top_of_what_is_paid() {
        let of =
            |token: FeeToken| Side::BOTH.map(|side| (token.is_base(side), token.is_on_top(side)));
        assert_eq!(of(FeeToken::Bought), [(true, false), (false, false)]);
        assert_eq!(of(FeeToken::Quote), [(false, true), (false, false)]);
    }

    #[test]
    fn fees_on_top_are_rounded_up() {
        let tops = [10_000, 10_001, 0].map(|sold| FeeToken::Quote.on_top(Side::Buy, sold, 20));
        assert_eq!(tops, [20, 21, 0]);
        assert_eq!(FeeToken::Quote.on_top(Side::Sell, 10_000, 20), 0);
        assert_eq!(FeeToken::Bought.on_top(Side::Buy, 10_000, 20), 0);
    }

    #[test]
    fn no_order_states_a_higher_fee_than_the_venue_reads() {
        let rule = FeeRule {
            stated_max_bips: 63,
        };
        assert_eq!([20, 63, 64].map(|bips| rule.of_order(bips)), [20, 63, 63]);
    }
}
