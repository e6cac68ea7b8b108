//! The curve of a pool as a depth: what can be traded with it down to each price, its fee included.
//!
//! A pool has no orders. What it trades at once until its effective price is `p` is a level at `p`, so that the middle of
//! the book is the pool's price and half the spread its fee. Rounded against the trader: a level holds no more than
//! the pool trades at its price.

use cambist_core::math::{mul_div_ceil, mul_div_floor, root_of_product};
use cambist_core::request::DepthLevel;
use cambist_core::{Amount, MarketSpec, Price, Side};
use cambist_evm::U256;

const WHOLE: Amount = 10_000;
/// Levels of each side.
const LEVELS: u64 = 20;
/// Distance between levels, in ten-thousandths of the price.
const STEP_BPS: u64 = 10;

/// The levels of both sides, best first: bids, asks. `base` and `quote` are the pool's reserves. `None` for an empty
/// pool, on overflow, and for a price below one tick.
pub fn levels(
    market: &MarketSpec,
    base: Amount,
    quote: Amount,
    fee_bips: u16,
) -> Option<(Vec<DepthLevel>, Vec<DepthLevel>)> {
    let kept = WHOLE
        .checked_sub(fee_bips.into())
        .filter(|kept| *kept > 0)?;
    // The pool's own price in ticks, as a fraction of more than 128 bits.
    let product = |a: Amount, b: Amount, c: Amount| {
        let of_two = U256::from(a).checked_mul(U256::from(b))?;
        of_two.checked_mul(U256::from(c))
    };
    let per_tick = market.quote_per_lot_tick;
    let (dearest, cheapest) = (
        product(base, per_tick, kept)?,
        product(base, per_tick, WHOLE)?,
    );
    if dearest == U256::ZERO {
        return None;
    }
    let best_ask = product(quote, market.lot, WHOLE)?.div_ceil(dearest);
    let best_bid = product(quote, market.lot, kept)? / cheapest;
    let (best_ask, best_bid) = (u64::try_from(best_ask).ok()?, u64::try_from(best_bid).ok()?);
    let side = |side: Side, best: u64| {
        let mut levels: Vec<DepthLevel> = Vec::new();
        let mut before = 0;
        for step in 0..LEVELS {
            let away = best.checked_mul(step * STEP_BPS)?.div_ceil(10_000);
            let price = match side {
                Side::Sell => best.checked_add(away)?,
                Side::Buy => best.checked_sub(away)?,
            };
            if price == 0 {
                break;
            }
            let until = until_price(market, (base, quote), kept, side, price)?;
            let size = until.saturating_sub(before);
            let is_new = levels.last().is_none_or(|last| last.price != Price(price));
            if size > 0 && is_new {
                before = until;
                let price = Price(price);
                levels.push(DepthLevel { price, size });
            }
        }
        Some(levels)
    };
    Some((side(Side::Buy, best_bid)?, side(Side::Sell, best_ask)?))
}

/// Base that the pool sells (`Side::Sell`) or buys before its effective price is worse than `price`.
///
/// The pool's base at its own price `m` is `√(base · quote / m)`. The effective price is `m / (1 − fee)` where it sells
/// and `m · (1 − fee)` where it buys.
fn until_price(
    market: &MarketSpec,
    (base, quote): (Amount, Amount),
    kept: Amount,
    side: Side,
    price: u64,
) -> Option<Amount> {
    let per_lot = market.quote_per_lot_tick.checked_mul(price.into())?;
    match side {
        Side::Sell => {
            // Rounded up: it keeps no less.
            let at_price = mul_div_ceil(quote, market.lot, per_lot)?;
            let at_own_price = mul_div_ceil(at_price, WHOLE, kept)?;
            let left = root_of_product(base, at_own_price).checked_add(1)?;
            Some(base.saturating_sub(left))
        }
        Side::Buy => {
            let at_price = mul_div_floor(quote, market.lot, per_lot)?;
            let at_own_price = mul_div_floor(at_price, kept, WHOLE)?;
            Some(root_of_product(base, at_own_price).saturating_sub(base))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::chain::tests::{FIRST, SECOND, token};
    use cambist_core::{MarketId, TokenSpec, swap};

    const ONE: Amount = 1_000_000_000_000_000_000;

    fn market() -> MarketSpec {
        let quote = TokenSpec {
            decimals: 6,
            precision: 6,
            ..token(SECOND)
        };
        let base = TokenSpec {
            precision: 4,
            ..token(FIRST)
        };
        MarketSpec::new(MarketId(0), "T1-T2", base, quote, 2, true).unwrap()
    }

    /// What a level offers is traded at its price or better by the pool's own arithmetic, and the next unit of price
    /// would offer more.
    #[test]
    fn the_pool_trades_what_its_levels_offer() {
        let market = market();
        let (base, quote) = (1_000 * ONE, 2_500_000_000_000);
        let (bids, asks) = levels(&market, base, quote, 30).unwrap();
        // At the pool's own price and its fee it offers nothing, and a part of a tick behind it.
        assert!(bids.len().min(asks.len()) >= 19);
        let mid = 250_000;
        assert!(bids.iter().all(|bid| bid.price.0 < mid));
        assert!(asks.iter().all(|ask| ask.price.0 > mid));
        assert!(bids.windows(2).all(|pair| pair[0].price > pair[1].price));
        assert!(asks.windows(2).all(|pair| pair[0].price < pair[1].price));
        let value = |price: Price, base: Amount| {
            mul_div_floor(
                base,
                market.quote_per_lot_tick * Amount::from(price.0),
                market.lot,
            )
            .unwrap()
        };
        let mut sold: Amount = 0;
        for ask in &asks {
            // The pool's marginal price at the end of the level, its fee on top, is at most that of the level: buying
            // a hundredth of a token more before it costs no more than the level states.
            sold += ask.size;
            let piece = sold.min(ONE / 100);
            let cost = |base_out| swap::cost_of(base_out, quote, base, 30).unwrap();
            let last = cost(sold) - cost(sold - piece);
            assert!(last <= value(ask.price, piece) + 1, "{ask:?}: {last}");
            let next = cost(sold + piece) - cost(sold);
            assert!(next + 10 >= value(ask.price, piece), "{ask:?}: {next}");
        }
        let mut bought: Amount = 0;
        for bid in &bids {
            bought += bid.size;
            let piece = bought.min(ONE / 100);
            let paid = |base_in| swap::paid_for(base_in, base, quote, 30).unwrap();
            let last = paid(bought) - paid(bought - piece);
            assert!(last + 1 >= value(bid.price, piece), "{bid:?}: {last}");
        }
    }

    #[test]
    fn a_pool_without_a_price_has_no_depth() {
        let market = market();
        assert_eq!(levels(&market, 0, 1, 30), None);
        assert_eq!(levels(&market, u128::MAX, u128::MAX, 30), None);
        assert_eq!(levels(&market, ONE, ONE, 10_000), None, "all fee");
        // Eighteen decimals on both sides, and a pool of millions.
        let wide = MarketSpec::new(MarketId(0), "T1-T2", token(FIRST), token(SECOND), 2, true);
        let wide = levels(&wide.unwrap(), 10_000 * ONE, 25_000_000 * ONE, 30).unwrap();
        assert!(wide.0[0].price < wide.1[0].price);
        let (bids, _) = levels(&market, 1_000 * ONE, 1, 30).unwrap();
        assert!(bids.is_empty(), "a price below one tick");
    }
}
