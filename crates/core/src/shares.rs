//! Arithmetic of pool shares: their cost, what they yield, and their value.
//!
//! Exact integers; every rounding is against our own side, so that no limit is exceeded by it. `None` for an empty
//! pool, and on overflow.

use crate::market::MarketSpec;
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::pool::PoolBalances;
use crate::token::Amount;

const WHOLE: Amount = 10_000;

/// Limits of a join (largest payments, smallest number of shares minted) or an exit (smallest receipts, shares burned).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of each pooled token, in the pool's order.
    pub amounts: [Amount; 2],
    /// Shares.
    pub lp: Amount,
}

/// A join for `shares`: pays at most their cost at the current balances, rounded up, and mints at least the fraction of
/// them that `slippage_bps` leaves, rounded up.
pub fn join(pool: &PoolBalances, shares: Amount, slippage_bps: u32) -> Option<Limits> {
    let cost = |at: usize| mul_div_ceil(pool.pooled[at], shares, pool.supply);
    Some(Limits {
        amounts: [cost(0)?, cost(1)?],
        lp: least(shares, slippage_bps)?,
    })
}

/// An exit of `shares`: burns them and receives at least the fraction of the amounts due that `slippage_bps` leaves,
/// rounded up.
pub fn exit(pool: &PoolBalances, shares: Amount, slippage_bps: u32) -> Option<Limits> {
    let [first, second] = due(pool, shares)?;
    Some(Limits {
        amounts: [least(first, slippage_bps)?, least(second, slippage_bps)?],
        lp: shares,
    })
}

/// Amount of each pooled token due to `shares`, in the pool's order, rounded down.
pub fn due(pool: &PoolBalances, shares: Amount) -> Option<[Amount; 2]> {
    let of = |at: usize| mul_div_floor(pool.pooled[at], shares, pool.supply);
    Some([of(0)?, of(1)?])
}

/// Value of `base` at `mid` (half ticks) in quote units, rounded down.
pub fn quote_value(market: &MarketSpec, base: Amount, mid: u64) -> Option<Amount> {
    let per_two_lots = market.quote_per_lot_tick.checked_mul(Amount::from(mid))?;
    mul_div_floor(base, per_two_lots, market.lot.checked_mul(2)?)
}

/// Distance of a pool's price above the mid, in ten-thousandths of the mid, rounded away from zero.
pub fn divergence_bps(market: &MarketSpec, base: Amount, quote: Amount, mid: u64) -> Option<i64> {
    let fair = quote_value(market, base, mid)?;
    let away = mul_div_ceil(quote.abs_diff(fair), WHOLE, fair)?;
    let away = i64::try_from(away).unwrap_or(i64::MAX);
    Some(if quote < fair { -away } else { away })
}

fn least(amount: Amount, slippage_bps: u32) -> Option<Amount> {
    mul_div_ceil(amount, WHOLE.saturating_sub(slippage_bps.into()), WHOLE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::MarketId;
    use crate::token::tests::token;

    const POOL: PoolBalances = PoolBalances::constant_product([1_000, 3_001], 100);

    fn market() -> MarketSpec {
        MarketSpec::new(MarketId(0), "A-B", token(0), token(1), 2, true).unwrap()
    }

    #[test]
    fn limits_round_against_our_side() {
        let join = join(&POOL, 7, 100).unwrap();
        assert_eq!(
            join.amounts,
            [70, 211],
            "3001 · 7 / 100 = 210.07, paid in full"
        );
        assert_eq!(join.lp, 7, "at least 6.93 shares are 7");
        let exit = exit(&POOL, 50, 100).unwrap();
        assert_eq!(exit.amounts, [495, 1_485], "500 and 1500 less one per cent");
        assert_eq!(exit.lp, 50);
    }

    #[test]
    fn a_join_at_unchanged_balances_mints_its_target() {
        for shares in 1..200 {
            let paid = join(&POOL, shares, 0).unwrap().amounts;
            let minted = (0..2)
                .map(|at| paid[at] * POOL.supply / POOL.pooled[at])
                .min()
                .unwrap();
            assert!(minted >= shares, "{shares}: {minted}");
        }
    }

    #[test]
    fn an_empty_pool_and_overflow_give_none() {
        let empty = PoolBalances::constant_product([0, 0], 0);
        assert_eq!(join(&empty, 1, 0), None);
        assert_eq!(due(&empty, 1), None);
        let huge = PoolBalances::constant_product([u128::MAX, 1], 1);
        assert_eq!(join(&huge, 2, 0), None);
    }

    #[test]
    fn divergence_has_a_sign_and_rounds_away_from_zero() {
        let market = market();
        // A mid of 20,000 half ticks is 100.00 quote a base.
        let of = |quote| divergence_bps(&market, 1_000_000, quote, 20_000);
        assert_eq!(of(100_000_000), Some(0));
        assert_eq!(of(101_000_000), Some(100));
        assert_eq!(of(101_000_001), Some(101));
        assert_eq!(of(99_000_000), Some(-100));
        assert_eq!(divergence_bps(&market, 0, 1, 20_000), None);
        assert_eq!(quote_value(&market, 1_000_000, 20_000), Some(100_000_000));
    }
}
