//! The curve of a pool as a depth: what can be traded with it down to each price, its fee included. For pools of a
//! constant product, and for those whose liquidity is in ranges.
//!
//! A pool has no orders. What it trades at once until its effective price is `p` is a level at `p`, so that the middle of
//! the book is the pool's price and half the spread its fee. Rounded against the trader: a level holds no more than
//! the pool trades at its price.

use cambist_core::math::{mul_div_ceil, mul_div_floor, root_of_product};
use cambist_core::request::DepthLevel;
use cambist_core::{Amount, MarketSpec, Price, Side};
use cambist_evm::U256;
use cambist_evm::v3::liquidity::sqrt_price_of;

use crate::curve::Curve;

const WHOLE: Amount = 10_000;
/// Levels of each side.
const LEVELS: u64 = 20;
/// Distance between levels, in ten-thousandths of the price.
const STEP_BPS: u64 = 10;

/// Bids and asks, best first.
pub type Levels = (Vec<DepthLevel>, Vec<DepthLevel>);

/// The levels of both sides of a pool of a constant product. `base` and `quote` are its reserves. `None` for an empty
/// pool, on overflow, and for a price below one tick.
pub fn levels(market: &MarketSpec, base: Amount, quote: Amount, fee_bips: u16) -> Option<Levels> {
    let kept = kept(fee_bips)?;
    sides(best(market, (base, quote), kept)?, |side, price| {
        until_price(market, (base, quote), kept, side, price)
    })
}

/// The levels of both sides of a pool whose liquidity is in ranges. `base` and `quote` are virtual reserves, which have
/// its price, and `base_at` is the place of the base token in the pool. Without liquidity next to the price a side has no
/// levels. `None` on overflow, and for a price below one tick.
pub fn levels_of_curve(
    market: &MarketSpec,
    curve: &Curve,
    (base, quote): (Amount, Amount),
    base_at: usize,
    fee_bips: u16,
) -> Option<Levels> {
    let kept = kept(fee_bips)?;
    sides(best(market, (base, quote), kept)?, |side, price| {
        let until = root_until(market, kept, base_at, side, price)?;
        curve.traded(until, base_at).ok()
    })
}

/// What is left of 10⁴ after the fee.
fn kept(fee_bips: u16) -> Option<Amount> {
    let kept = WHOLE.checked_sub(fee_bips.into());
    kept.filter(|kept| *kept > 0)
}

/// The best bid and the best ask, in ticks.
fn best(market: &MarketSpec, (base, quote): (Amount, Amount), kept: Amount) -> Option<[u64; 2]> {
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
    Some([u64::try_from(best_bid).ok()?, u64::try_from(best_ask).ok()?])
}

/// The levels of both sides. `until` is the base that is traded before a side's price is worse than this.
fn sides(
    [best_bid, best_ask]: [u64; 2],
    until: impl Fn(Side, u64) -> Option<Amount>,
) -> Option<Levels> {
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
            let traded = until(side, price)?;
            let size = traded.saturating_sub(before);
            let is_new = levels.last().is_none_or(|last| last.price != Price(price));
            if size > 0 && is_new {
                before = traded;
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

/// The root of the pool's own price (token 1 for one token 0) at which its effective price is `price`, rounded towards
/// the pool's price now.
fn root_until(
    market: &MarketSpec,
    kept: Amount,
    base_at: usize,
    side: Side,
    price: u64,
) -> Option<U256> {
    let per_lot = market.quote_per_lot_tick.checked_mul(price.into())?;
    // Its own price is lower by the fee where it sells, and higher where it buys.
    let (more, less) = match side {
        Side::Sell => (kept, WHOLE),
        Side::Buy => (WHOLE, kept),
    };
    let quote = U256::from(per_lot).checked_mul(U256::from(more))?;
    let base = U256::from(market.lot).checked_mul(U256::from(less))?;
    let (root, rises) = if base_at == 0 {
        (sqrt_price_of(quote, base).ok()?, side == Side::Sell)
    } else {
        (sqrt_price_of(base, quote).ok()?, side == Side::Buy)
    };
    if rises {
        Some(root)
    } else {
        root.checked_add(U256::from(1))
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
        // Twenty of them, a thousandth of the best price apart.
        let [best_bid, best_ask] = best(&market, (base, quote), 9_970).unwrap();
        let away = [best_bid, best_ask].map(|best| (best * 19).div_ceil(1_000));
        let ends = [&bids, &asks].map(|side| side.last().unwrap().price.0);
        assert_eq!(ends, [best_bid - away[0], best_ask + away[1]]);
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

    /// Liquidity everywhere trades like a pool of a constant product that holds its virtual reserves.
    #[test]
    fn a_curve_without_changes_is_that_of_a_constant_product() {
        use cambist_evm::v3::call::Price as PoolPrice;
        use cambist_evm::v3::liquidity::virtual_reserves;
        use cambist_evm::v3::tick::{MAX, MIN, Tick};

        let market = market();
        let liquidity = 50_000_000_000_000_000_u128;
        // 2,500 quote of 6 decimals for one base of 18: the base is token 0, or token 1.
        for (base_at, tick) in [(0, -198_080), (1, 198_080)] {
            let tick = Tick::new(tick).unwrap();
            let price = PoolPrice {
                sqrt: tick.sqrt_price(),
                tick,
            };
            let curve = Curve::new(price, liquidity, &[].into(), [MIN, MAX]).unwrap();
            let reserves = virtual_reserves(price.sqrt, liquidity).unwrap();
            let reserves = reserves.map(|of| u128::try_from(of).unwrap());
            let (base, quote) = (reserves[base_at], reserves[1 - base_at]);
            let whole = levels(&market, base, quote, 30).unwrap();
            let of_curve = levels_of_curve(&market, &curve, (base, quote), base_at, 30).unwrap();
            for (whole, of_curve) in [(whole.0, of_curve.0), (whole.1, of_curve.1)] {
                assert_eq!(whole.len(), of_curve.len(), "{base_at}");
                for (one, other) in whole.iter().zip(&of_curve) {
                    assert_eq!(one.price, other.price);
                    // Roots with 96 bits behind the point, and amounts rounded in another place.
                    let away = one.size.abs_diff(other.size);
                    assert!(away <= one.size / 10_000, "{base_at}: {one:?} {other:?}");
                }
            }
            // A curve that ends at the price trades nothing, and states no level.
            let ends = [tick, tick];
            let short = Curve::new(price, liquidity, &[].into(), ends).unwrap();
            let short = levels_of_curve(&market, &short, (base, quote), base_at, 30);
            assert_eq!(short, Some((Vec::new(), Vec::new())));
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
