//! Inventory skew, as in hummingbot: order sizes of the two sides shift so that the share of base in everything held
//! drifts to a target. Exact integers; no floats, no rounding before the last division.

use cambist_core::strategy::Holdings;
use cambist_core::{MarketSpec, Qty, Side};

/// Factors between 0 and 2 for the two sides, adding up to 2, with a common denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratios {
    bid: u128,
    one: u128,
}

impl Ratios {
    /// No skew: both sides as configured.
    pub const NONE: Self = Self { bid: 1, one: 1 };

    /// A quantity times the side's factor, rounded down. `None` on overflow.
    pub fn apply(self, side: Side, qty: Qty) -> Option<Qty> {
        let factor = match side {
            Side::Buy => self.bid,
            Side::Sell => self.one.checked_mul(2)?.checked_sub(self.bid)?,
        };
        let scaled = u128::from(qty.0).checked_mul(factor)? / self.one;
        u64::try_from(scaled).ok().map(Qty)
    }
}

/// The factors for given holdings.
///
/// With B the value of base, T the target's value and R the value of the range: below the target bids grow linearly
/// from 1 at T to 2 at T − R (or at 0, if that is higher); above it they shrink from 1 at T to 0 at T + R. Asks are 2
/// less the bids' factor. Values are counted in quote units times 2 (the mid is in half ticks) times 10000 (the target
/// is in ten-thousandths). `None` when nothing is held, the range is empty, or the values overflow: then there are no
/// sizes.
pub fn ratios(
    market: &MarketSpec,
    holdings: Holdings,
    mid: u64,
    target_bps: u32,
    range: Qty,
) -> Option<Ratios> {
    let value = |lots: Qty| {
        u128::from(lots.0)
            .checked_mul(market.quote_per_lot_tick)?
            .checked_mul(u128::from(mid))
    };
    let base = value(market.lots_floor(holdings.base))?;
    let total = base.checked_add(holdings.quote.checked_mul(2)?)?;
    let range = value(range)?.checked_mul(10_000)?;
    if total == 0 || range == 0 {
        return None;
    }
    let base = base.checked_mul(10_000)?;
    let target = total.checked_mul(u128::from(target_bps))?;
    if base < target {
        let left = target.saturating_sub(range);
        let one = target - left;
        // 2 at the left edge and beyond, 1 at the target.
        let bid = (2 * one).saturating_sub(base.saturating_sub(left));
        Some(Ratios { bid, one })
    } else {
        let bid = range.saturating_sub(base - target);
        Some(Ratios { bid, one: range })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::testing::market;

    type Case = (u128, u128, u64, u32, u64, Option<(u64, u64)>);

    /// Base, quote, price, target share, range; and the published factors, in millionths. The cases are those in
    /// hummingbot's documentation of its calculator.
    #[test]
    fn factors_match_hummingbots_cases() {
        // Prices in units of 0.0001 of the case's price unit; whole tokens elsewhere.
        let cases: [Case; 12] = [
            (85_000, 10_000, 36, 300, 20_000, Some((1_044_166, 955_833))),
            (8_500, 10_000, 36, 300, 20_000, Some((2_000_000, 0))),
            (200_000, 10_000, 36, 300, 20_000, Some((0, 2_000_000))),
            (1_000_000, 0, 36, 300, 20_000, Some((0, 2_000_000))),
            (95_000, 10_000, 36, 300, 20_000, Some((559_166, 1_440_833))),
            (70_000, 10_000, 36, 300, 20_000, Some((1_771_666, 228_333))),
            (0, 10_000, 36, 300, 20_000, Some((2_000_000, 0))),
            (0, 0, 36, 300, 20_000, None),
            (85_000, 10_000, 36, 300, 0, None),
            (100, 100, 10_000, 5_000, 50, Some((1_000_000, 1_000_000))),
            (120, 80, 10_000, 5_000, 50, Some((600_000, 1_400_000))),
            (80, 120, 10_000, 5_000, 50, Some((1_400_000, 600_000))),
        ];
        // A tick is 0.01, so that 10^4 times the price is 100 ticks: scale quote alike.
        let market = market();
        for (base, quote, price, target, range, expected) in cases {
            let holdings = Holdings {
                base: base * 10u128.pow(18),
                quote: quote * 1_000_000 * 10_000,
            };
            let mid = 2 * 100 * price;
            let range = market.lots_floor(u128::from(range) * 10u128.pow(18));
            let got = ratios(&market, holdings, mid, target, range).map(|ratios| {
                let million = Qty(1_000_000);
                (
                    ratios.apply(Side::Buy, million).unwrap().0,
                    ratios.apply(Side::Sell, million).unwrap().0,
                )
            });
            assert_eq!(got, expected, "{base} {quote} {price} {target}");
        }
    }
}
