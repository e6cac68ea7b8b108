//! Exact conversion between ticks, base units and quote units, with all roundings.
//!
//! A price of `p` ticks is `p · numerator / denominator` quote units for one base unit; one of the two is always 1.

use cambist_core::{Amount, Price, Side};
use serde::{Deserialize, Serialize};

use crate::math::{gcd, mul_div_ceil, mul_div_floor};

/// Ticks to quote units per base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    numerator: u128,
    denominator: u128,
}

impl Scale {
    /// The scale of a market. `None` if the decimals are too large.
    pub fn new(base_decimals: u8, quote_decimals: u8, price_decimals: u8) -> Option<Self> {
        let down = u32::from(base_decimals) + u32::from(price_decimals);
        let up = u32::from(quote_decimals);
        Some(Self {
            numerator: 10u128.checked_pow(up.saturating_sub(down))?,
            denominator: 10u128.checked_pow(down.saturating_sub(up))?,
        })
    }

    /// The level of an order: its ratio rounded to a tick towards the passive side, so that trading at the level
    /// respects the order's limit. `None` if there is no such level (a bid below one tick, or a price above 64 bits).
    pub fn level(&self, side: Side, base: Amount, quote: Amount) -> Option<Price> {
        let ticks = match side {
            Side::Buy if self.denominator > 1 => mul_div_floor(quote, self.denominator, base)?,
            Side::Buy => (quote / self.numerator).checked_div(base)?,
            Side::Sell if self.denominator > 1 => mul_div_ceil(quote, self.denominator, base)?,
            Side::Sell if base == 0 => return None,
            Side::Sell => quote.div_ceil(self.numerator).div_ceil(base),
        };
        u64::try_from(ticks)
            .ok()
            .filter(|ticks| *ticks > 0)
            .map(Price)
    }

    /// Quote units for one base unit at `price`, as a fraction. `None` on overflow.
    pub(crate) fn ratio(&self, price: Price) -> Option<(u128, u128)> {
        Some((self.per_unit(price)?, self.denominator))
    }

    /// Quote units for `base` at `price`, rounded down.
    pub fn quote_floor(&self, base: Amount, price: Price) -> Option<Amount> {
        if self.denominator > 1 {
            mul_div_floor(base, Amount::from(price.0), self.denominator)
        } else {
            self.per_unit(price)?.checked_mul(base)
        }
    }

    /// Quote units for `base` at `price`, rounded up.
    pub fn quote_ceil(&self, base: Amount, price: Price) -> Option<Amount> {
        if self.denominator > 1 {
            mul_div_ceil(base, Amount::from(price.0), self.denominator)
        } else {
            self.per_unit(price)?.checked_mul(base)
        }
    }

    /// Most base units whose value at `price` is at most `quote`; saturates.
    pub fn base_floor(&self, quote: Amount, price: Price) -> Amount {
        if self.denominator > 1 {
            mul_div_floor(quote, self.denominator, Amount::from(price.0)).unwrap_or(Amount::MAX)
        } else {
            self.per_unit(price)
                .and_then(|per_unit| quote.checked_div(per_unit))
                .unwrap_or(0)
        }
    }

    /// The smallest base quantity whose value at `price` is a whole number of quote units.
    pub fn exact_lot(&self, price: Price) -> Amount {
        self.denominator / gcd(self.denominator, Amount::from(price.0))
    }

    fn per_unit(&self, price: Price) -> Option<Amount> {
        self.numerator.checked_mul(Amount::from(price.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 18 decimals of base, 6 of quote, prices in cents: one base unit costs `p / 10^14` quote units.
    fn fine() -> Scale {
        Scale::new(18, 6, 2).unwrap_or(Scale {
            numerator: 0,
            denominator: 0,
        })
    }

    /// No decimals of base, 6 of quote, 2 of price: one base unit costs `p · 10^4` quote units.
    fn coarse() -> Scale {
        Scale::new(0, 6, 2).unwrap_or(Scale {
            numerator: 0,
            denominator: 0,
        })
    }

    /// R-PRC-01
    #[test]
    fn a_level_is_rounded_towards_the_passive_side() {
        let base = 10u128.pow(18);
        assert_eq!(
            fine().level(Side::Buy, base, 2_500_009_999),
            Some(Price(250_000))
        );
        assert_eq!(
            fine().level(Side::Sell, base, 2_500_000_001),
            Some(Price(250_001))
        );
        assert_eq!(
            fine().level(Side::Sell, base, 2_500_000_000),
            Some(Price(250_000))
        );
        assert_eq!(coarse().level(Side::Buy, 3, 59_999), Some(Price(1)));
        assert_eq!(coarse().level(Side::Sell, 3, 60_001), Some(Price(3)));
        assert_eq!(coarse().level(Side::Sell, 3, 60_000), Some(Price(2)));
    }

    /// R-PRC-02
    #[test]
    fn a_bid_below_one_tick_has_no_level_and_an_ask_has_the_first() {
        let base = 10u128.pow(18);
        assert_eq!(fine().level(Side::Buy, base, 9_999), None);
        assert_eq!(fine().level(Side::Buy, base, 10_000), Some(Price(1)));
        assert_eq!(fine().level(Side::Sell, base, 1), Some(Price(1)));
        assert_eq!(fine().level(Side::Sell, 0, 1), None);
        assert_eq!(coarse().level(Side::Sell, 0, 1), None);
        assert_eq!(fine().level(Side::Buy, 1, 1 << 95), None, "beyond 64 bits");
    }

    #[test]
    fn values_round_both_ways_and_back() {
        let price = Price(250_001);
        assert_eq!(fine().quote_floor(10u128.pow(12) + 1, price), Some(2_500));
        assert_eq!(fine().quote_ceil(10u128.pow(12) + 1, price), Some(2_501));
        assert_eq!(fine().exact_lot(price), 10u128.pow(14));
        assert_eq!(fine().exact_lot(Price(250_000)), 4 * 10u128.pow(8));
        assert_eq!(fine().base_floor(1, Price(250_000)), 4 * 10u128.pow(8));
        assert_eq!(coarse().quote_ceil(3, Price(2)), Some(60_000));
        assert_eq!(coarse().base_floor(59_999, Price(2)), 2);
        assert_eq!(coarse().exact_lot(Price(2)), 1);
    }
}
