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

/// An exit of `shares`: burns them and receives at least the fraction of the value due that `slippage_bps` leaves,
/// rounded up.
///
/// With a constant product each token is half of the value, and the fraction is that of each amount. In a range one of
/// them may be a small part of it, which a small move of the price changes by a large part of itself. What may be missing
/// is therefore reckoned from the value of both: half of it in each token, and what a token does not have, in the other.
pub fn exit(pool: &PoolBalances, shares: Amount, slippage_bps: u32) -> Option<Limits> {
    let due = due(pool, shares)?;
    let amounts = if pool.pooled == pool.reserves {
        [least(due[0], slippage_bps)?, least(due[1], slippage_bps)?]
    } else {
        least_of_value(due, pool.reserves, slippage_bps)?
    };
    let lp = shares;
    Some(Limits { amounts, lp })
}

/// Least amounts that together miss at most the fraction `slippage_bps` of the value of `due`, at the price of the
/// reserves. Rounded up.
fn least_of_value(
    due: [Amount; 2],
    reserves: [Amount; 2],
    slippage_bps: u32,
) -> Option<[Amount; 2]> {
    // Half of what may be missing, in each token. Neither misses more than its own part of a value that is split evenly.
    let half = |at: usize| {
        let other = mul_div_floor(due[1 - at], reserves[at], reserves[1 - at])?;
        let value = due[at].checked_add(other)?;
        mul_div_floor(value, slippage_bps.into(), WHOLE.checked_mul(2)?)
    };
    let halves = [half(0)?, half(1)?];
    let missing = |at: usize| {
        let other = 1 - at;
        // What the other token does not have of its half, in this one.
        let rest = halves[other].saturating_sub(due[other]);
        let rest = mul_div_floor(rest, reserves[at], reserves[other])?;
        halves[at].checked_add(rest)
    };
    Some([
        due[0].saturating_sub(missing(0)?),
        due[1].saturating_sub(missing(1)?),
    ])
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

    /// Virtual reserves of a million each, so that both tokens are worth the same.
    fn range(pooled: [Amount; 2]) -> PoolBalances {
        PoolBalances {
            pooled,
            supply: 1_000,
            reserves: [1_000_000, 1_000_000],
            owed: None,
        }
    }

    #[test]
    fn an_exit_of_a_range_misses_at_most_its_slippage_of_the_value_due() {
        let of = |pooled| exit(&range(pooled), 1_000, 100).unwrap().amounts;
        assert_eq!(of([10_000, 10_000]), [9_900, 9_900], "both by one per cent");
        assert_eq!(
            of([50, 19_950]),
            [0, 19_800],
            "150 of the value of 20,000, and 50, are all of the first"
        );
        assert_eq!(of([100, 19_900]), [0, 19_800], "exactly half");
        assert_eq!(of([101, 19_899]), [1, 19_799]);
        assert_eq!(of([19_950, 50]), [19_800, 0], "the other end");
        assert_eq!(of([20_000, 0]), [19_800, 0], "outside of the range");
        assert_eq!(of([0, 20_000]), [0, 19_800]);
        // What is missing is rounded down, so that the least is rounded up.
        assert_eq!(of([0, 99]), [0, 99]);
        assert_eq!(of([50, 49]), [50, 49]);
    }

    #[test]
    fn the_value_that_an_exit_of_a_range_may_miss_is_that_of_its_price() {
        let pool = PoolBalances {
            pooled: [10, 39_960],
            supply: 1,
            reserves: [1_000_000, 4_000_000],
            owed: None,
        };
        // The value is 40,000 of the second token: 400 may be missing, of which the first has 40.
        let limits = exit(&pool, 1, 100).unwrap();
        assert_eq!(limits.amounts, [0, 39_600]);
        assert_eq!(exit(&pool, 1, 0).unwrap().amounts, pool.pooled);
        assert_eq!(exit(&pool, 0, 100).unwrap().amounts, [0, 0]);
        let without = PoolBalances {
            reserves: [0, 1],
            ..pool
        };
        assert_eq!(exit(&without, 1, 100), None, "no price");
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
