//! Arithmetic of swaps with a constant-product pool: what it pays, and the limits of a wanted swap in the units of its
//! market.
//!
//! Exact integers; every rounding is against our own side, so that no limit is exceeded by it. `None` for an empty
//! pool, and on overflow.

use crate::market::{MarketSpec, Price, Qty, Side, value_at};
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::strategy::WantedSwap;
use crate::token::Amount;

const WHOLE: Amount = 10_000;

/// What a pool with these reserves of the sold and the bought token pays for `sold`, with its fee of `fee_bips`
/// ten-thousandths inside the curve:
/// `⌊bought · sold · (10⁴ − fee) / (reserve_sold · 10⁴ + sold · (10⁴ − fee))⌋`.
pub fn paid_for(
    sold: Amount,
    reserve_sold: Amount,
    reserve_bought: Amount,
    fee_bips: u16,
) -> Option<Amount> {
    if reserve_sold == 0 {
        return None;
    }
    let kept = sold.checked_mul(WHOLE.checked_sub(fee_bips.into())?)?;
    let divisor = reserve_sold.checked_mul(WHOLE)?.checked_add(kept)?;
    mul_div_floor(reserve_bought, kept, divisor)
}

/// Least of the sold token for which [`paid_for`] gives at least `bought`:
/// `⌈reserve_sold · 10⁴ · bought / ((reserve_bought − bought) · (10⁴ − fee))⌉`. `None` also if the pool holds no more
/// than `bought`.
pub fn cost_of(
    bought: Amount,
    reserve_sold: Amount,
    reserve_bought: Amount,
    fee_bips: u16,
) -> Option<Amount> {
    let left = reserve_bought.checked_sub(bought)?;
    let kept = WHOLE.checked_sub(fee_bips.into())?;
    let divisor = left.checked_mul(kept)?;
    if divisor == 0 || reserve_sold == 0 {
        return None;
    }
    mul_div_ceil(reserve_sold.checked_mul(WHOLE)?, bought, divisor)
}

/// The limits of a swap, as the gate judges them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The worst price that its amounts allow: rounded up for a buy, down for a sell.
    pub price: Price,
    /// Its base at its most, in lots, rounded up.
    pub qty: Qty,
    /// Its base at its most, base units.
    pub base: Amount,
    /// Its quote at its most, base units.
    pub quote: Amount,
    /// What the pool pays at these reserves, base units of the bought token.
    pub paid: Amount,
    /// Most of the bought token that limits reckon with: what the pool pays and `slippage_bps` more, rounded up.
    pub most: Amount,
}

/// The limits of a wanted swap with a pool of `base` and `quote`.
pub fn terms(
    market: &MarketSpec,
    wanted: &WantedSwap,
    (base, quote): (Amount, Amount),
    fee_bips: u16,
    slippage_bps: u32,
) -> Option<Terms> {
    let (sold, bought) = match wanted.side {
        Side::Buy => (quote, base),
        Side::Sell => (base, quote),
    };
    let paid = paid_for(wanted.sell, sold, bought, fee_bips)?;
    let more = WHOLE.checked_add(slippage_bps.into())?;
    let most = mul_div_ceil(paid, more, WHOLE)?.max(wanted.least);
    let (base, quote) = match wanted.side {
        Side::Buy => (most, wanted.sell),
        Side::Sell => (wanted.sell, most),
    };
    let lots = base.div_ceil(market.lot);
    Some(Terms {
        price: worst_price(market, wanted)?,
        qty: Qty(u64::try_from(lots).ok()?),
        base,
        quote,
        paid,
        most,
    })
}

/// The least that may be accepted where the pool pays `paid`, rounded up.
pub fn least(paid: Amount, slippage_bps: u32) -> Option<Amount> {
    mul_div_ceil(paid, WHOLE.saturating_sub(slippage_bps.into()), WHOLE)
}

/// The value of a swap at its most: of what it sells, or of what it receives, whichever is more.
pub(crate) fn value(market: &MarketSpec, terms: &Terms, mid: u64) -> Option<Amount> {
    Some(value_at(market, terms.base, mid)?.max(terms.quote))
}

/// Quote over base at the amounts that are signed, in ticks: rounded up where quote is paid, down where it is received.
fn worst_price(market: &MarketSpec, wanted: &WantedSwap) -> Option<Price> {
    let (base, quote) = match wanted.side {
        Side::Buy => (wanted.least, wanted.sell),
        Side::Sell => (wanted.sell, wanted.least),
    };
    // ticks = (quote / quote per lot and tick) / (base / base per lot)
    let per_tick = base.checked_mul(market.quote_per_lot_tick)?;
    let ticks = match wanted.side {
        Side::Buy => mul_div_ceil(quote, market.lot, per_tick)?,
        Side::Sell => mul_div_floor(quote, market.lot, per_tick)?,
    };
    u64::try_from(ticks).ok().map(Price)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::MarketId;
    use crate::token::{TokenId, TokenSpec};

    fn market() -> MarketSpec {
        let token = |id| TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 6,
            precision: 4,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        MarketSpec::new(MarketId(0), "A-B", token(0), token(1), 2, true).unwrap()
    }

    #[test]
    fn a_pool_pays_the_floor_of_its_curve() {
        // The published case: ten and a thousand tokens, 30 bips.
        let ten: Amount = 10_000_000_000_000_000_000;
        let paid = paid_for(526_682_316_179_835_569, ten, 100 * ten, 30);
        assert_eq!(paid, Some(49_890_467_170_695_440_744));
        assert_eq!(paid_for(1, 0, 10, 30), None, "an empty pool");
        assert_eq!(paid_for(u128::MAX, 1, 1, 30), None, "overflow");
        assert_eq!(paid_for(1, 1, 10, 10_001), None, "no such fee");
        assert_eq!(paid_for(5, 1_000, 1_000, 10_000), Some(0), "all fee");
    }

    #[test]
    fn the_cost_is_the_least_that_is_paid_enough_for() {
        // Every amount of a small pool, and a pool of real size.
        for fee_bips in [0, 20, 30, 9_999] {
            for bought in 1..90 {
                let cost = cost_of(bought, 1_000, 90, fee_bips).unwrap();
                let paid = |sold| paid_for(sold, 1_000, 90, fee_bips).unwrap();
                assert!(paid(cost) >= bought, "{fee_bips} {bought}");
                assert!(paid(cost - 1) < bought, "{fee_bips} {bought}");
            }
        }
        let (base, quote) = (2_000 * 10u128.pow(18), 5_000_000 * 10u128.pow(6));
        let cost = cost_of(10u128.pow(18), quote, base, 20).unwrap();
        assert!(paid_for(cost, quote, base, 20).unwrap() >= 10u128.pow(18));
        assert!(paid_for(cost - 1, quote, base, 20).unwrap() < 10u128.pow(18));
        assert_eq!(cost_of(90, 1_000, 90, 30), None, "all of it");
        assert_eq!(cost_of(91, 1_000, 90, 30), None, "more than it has");
        assert_eq!(cost_of(1, 0, 90, 30), None, "an empty pool");
        assert_eq!(cost_of(1, 1_000, 90, 10_000), None, "all fee");
        assert_eq!(cost_of(1, u128::MAX, 90, 30), None, "overflow");
    }

    #[test]
    fn terms_round_against_us() {
        let market = market();
        assert_eq!((market.lot, market.quote_per_lot_tick), (10_000, 100));
        // A pool of 100 A and 10,000 B: 100.00 B an A. The lot is 0.01 A.
        let pool = (100_000_000, 10_000_000_000);
        let sell = WantedSwap {
            side: Side::Sell,
            sell: 1_005_000,
            least: 98_999_999,
        };
        let terms_of = |wanted: &WantedSwap| terms(&market, wanted, pool, 30, 100).unwrap();
        let sold = terms_of(&sell);
        let paid = paid_for(1_005_000, pool.0, pool.1, 30).unwrap();
        assert_eq!(sold.paid, paid);
        assert_eq!(sold.most, (paid * 101).div_ceil(100));
        assert_eq!((sold.base, sold.quote), (1_005_000, sold.most));
        assert_eq!(sold.qty, Qty(101), "100.5 lots");
        assert_eq!(sold.price, Price(9_850), "98.5074… rounded down");
        let buy = WantedSwap {
            side: Side::Buy,
            sell: 100_000_000,
            least: 980_001,
        };
        let bought = terms_of(&buy);
        assert_eq!((bought.base, bought.quote), (bought.most, 100_000_000));
        assert_eq!(bought.price, Price(10_205), "102.0407… rounded up");
        // A least above what the pool pays is reckoned with: it fails, or the pool pays it.
        let hopeful = WantedSwap {
            least: 2_000_000,
            ..buy
        };
        assert_eq!(terms_of(&hopeful).most, 2_000_000);
        assert_eq!(least(10_001, 100), Some(9_901), "9900.99 rounded up");
        assert_eq!(value(&market, &sold, 20_000), Some(100_500_000));
        assert_eq!(value(&market, &sold, 2), Some(sold.most));
    }
}
