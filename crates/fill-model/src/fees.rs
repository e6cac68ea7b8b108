//! Fees of fills, computed exactly without rounding.

use cambist_core::{Price, Qty, Side};
use serde::{Deserialize, Serialize};

use crate::order::Liquidity;

/// A fraction of the traded amount, in units of 10^−8: 10,000 are a basis point. Negative: a rebate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeRate(pub i32);

impl FeeRate {
    /// A rate in basis points.
    pub const fn from_bips(bips: i32) -> Self {
        Self(bips * 10_000)
    }
}

/// The token a fee is paid in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeeAsset {
    /// Always in quote.
    #[default]
    Quote,
    /// The received token: base for a buyer, quote for a seller.
    Received,
}

/// The fees of a market.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Rate for orders that rested.
    pub maker: FeeRate,
    /// Rate for orders that took.
    pub taker: FeeRate,
    /// Token that fees are paid in.
    pub paid_in: FeeAsset,
}

/// The fee of a fill. Its unit is the smallest possible, so that it is exact; callers that book it in token amounts
/// round up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fee {
    /// In 10^−8 of the quote that one lot costs at one tick.
    Quote(i128),
    /// In 10^−8 of a lot of base.
    Base(i128),
}

impl Fees {
    /// The fee of a fill.
    pub fn of(&self, side: Side, price: Price, qty: Qty, liquidity: Liquidity) -> Fee {
        let rate = match liquidity {
            Liquidity::Maker => self.maker,
            Liquidity::Taker => self.taker,
        };
        let rate = i128::from(rate.0);
        if self.paid_in == FeeAsset::Received && side == Side::Buy {
            return Fee::Base(i128::from(qty.0) * rate);
        }
        // At most 2^127. Three factors of 64, 64 and 31 bits could exceed that, but those of real markets do not.
        let value = i128::from(price.0).saturating_mul(i128::from(qty.0));
        Fee::Quote(value.saturating_mul(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_exact_in_the_asset_they_are_paid_in() {
        let mut fees = Fees {
            maker: FeeRate(-50),
            taker: FeeRate::from_bips(5),
            paid_in: FeeAsset::Quote,
        };
        let fee = |fees: &Fees, side, liquidity| fees.of(side, Price(268_449), Qty(7), liquidity);
        assert_eq!(
            fee(&fees, Side::Buy, Liquidity::Maker),
            Fee::Quote(-50 * 268_449 * 7)
        );
        assert_eq!(
            fee(&fees, Side::Sell, Liquidity::Taker),
            Fee::Quote(50_000 * 268_449 * 7)
        );
        fees.paid_in = FeeAsset::Received;
        assert_eq!(
            fee(&fees, Side::Buy, Liquidity::Taker),
            Fee::Base(50_000 * 7)
        );
        assert_eq!(
            fee(&fees, Side::Sell, Liquidity::Taker),
            Fee::Quote(50_000 * 268_449 * 7)
        );
    }
}
