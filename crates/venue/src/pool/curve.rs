//! Arithmetic of a pool: constant product in exact integers, every rounding in the pool's favour.
//!
//! Amounts are below 2^96, so that every product fits 256 bits and every divisor 128. `None` means that the operation
//! is not possible.

use cambist_core::Amount;
use cambist_core::token::AMOUNT_MAX;

use crate::math::{mul_div_ceil, mul_div_floor};

/// LP units of the first join, whatever its amounts.
pub(crate) const FIRST_MINT: Amount = 10_000_000_000;

/// Output of a pool for `sold`: `⌊out · sold · (10000 − f) / (in · 10000 + sold · (10000 − f))⌋`.
pub(crate) fn swap(
    reserve_in: Amount,
    reserve_out: Amount,
    sold: Amount,
    fee_bips: u16,
) -> Option<Amount> {
    if reserve_in == 0 || sold > AMOUNT_MAX {
        return None;
    }
    let kept = 10_000u128.checked_sub(u128::from(fee_bips))?;
    let paid = sold.checked_mul(kept)?;
    let divisor = reserve_in.checked_mul(10_000)?.checked_add(paid)?;
    mul_div_floor(reserve_out, paid, divisor)
}

/// Result of a join: minted LP units and taken amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minted {
    pub lp: Amount,
    pub taken: [Amount; 2],
}

/// A join of at most `offered`: mints `min ⌊offered · supply / balance⌋` and takes
/// `⌈balance · minted / supply⌉` of each. The first takes all and mints a fixed number.
pub(crate) fn join(balances: [Amount; 2], supply: Amount, offered: [Amount; 2]) -> Option<Minted> {
    if offered.contains(&0) {
        return None;
    }
    if supply == 0 {
        return Some(Minted {
            lp: FIRST_MINT,
            taken: offered,
        });
    }
    let share = |i: usize| mul_div_floor(offered[i], supply, balances[i]).unwrap_or(Amount::MAX);
    let lp = share(0).min(share(1));
    if lp == 0 || lp > AMOUNT_MAX || supply + lp > AMOUNT_MAX {
        return None;
    }
    let takes = |i: usize| mul_div_ceil(balances[i], lp, supply);
    Some(Minted {
        lp,
        taken: [takes(0)?, takes(1)?],
    })
}

/// Amounts paid for `burned` of `supply` LP units: `⌊balance · burned / supply⌋` of each.
pub(crate) fn exit(balances: [Amount; 2], supply: Amount, burned: Amount) -> Option<[Amount; 2]> {
    if burned == 0 || burned > supply {
        return None;
    }
    let pays = |i: usize| mul_div_floor(balances[i], burned, supply);
    Some([pays(0)?, pays(1)?])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::math::compare_products;
    use crate::random::Random;

    /// A random number of up to `bits` bits, at least 1, with every magnitude equally likely.
    fn number(random: &mut Random, bits: u64) -> Amount {
        let wide = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
        (wide >> (128 - random.between(1, bits))).max(1)
    }

    /// R-POL-01
    #[test]
    fn a_swap_pays_the_exact_floor_and_the_product_never_falls() {
        assert_eq!(swap(100, 100, 2, 30), Some(1));
        assert_eq!(swap(1_000, 1_000, 1_000, 0), Some(500));
        assert_eq!(swap(3, 5, 7, 63), Some(3));
        assert_eq!(swap(0, 5, 7, 63), None);
        assert_eq!(swap(3, 5, AMOUNT_MAX + 1, 63), None);
        let mut random = Random::new(11);
        let mut paid = 0;
        for _ in 0..20_000 {
            let (x, y) = (number(&mut random, 95), number(&mut random, 95));
            let sold = number(&mut random, 95);
            let fee = u16::try_from(random.below(10_000)).unwrap();
            let out = swap(x, y, sold, fee).unwrap();
            paid += u32::from(out > 0);
            assert!(out < y);
            assert!(compare_products(x + sold, y - out, x, y).is_ge());
            // One more unit would violate the invariant after the fee.
            let kept = sold * (10_000 - u128::from(fee));
            if let (Some(left), Some(before)) = (x.checked_mul(10_000), x.checked_mul(10_000)) {
                let more = compare_products(left + kept, y - out - 1, before, y);
                assert!(more.is_lt(), "{x} {y} {sold} {fee}: {out} is not the most");
            }
        }
        assert!(paid > 5_000, "{paid} swaps paid anything");
    }

    /// R-POL-02, R-POL-03
    #[test]
    fn the_value_of_a_share_never_falls_by_joins_and_exits() {
        let mut random = Random::new(12);
        let (mut joins, mut exits) = (0, 0);
        for _ in 0..20_000 {
            let balances = [number(&mut random, 90), number(&mut random, 90)];
            let supply = number(&mut random, 70);
            let offered = [number(&mut random, 90), number(&mut random, 90)];
            if let Some(Minted { lp, taken }) = join(balances, supply, offered) {
                joins += 1;
                for i in 0..2 {
                    assert!(taken[i] <= offered[i]);
                    let share =
                        compare_products(balances[i] + taken[i], supply, balances[i], supply + lp);
                    assert!(share.is_ge());
                }
            }
            let burned = number(&mut random, 70);
            if let Some(paid) = exit(balances, supply, burned) {
                exits += 1;
                for i in 0..2 {
                    let share = compare_products(
                        balances[i] - paid[i],
                        supply,
                        balances[i],
                        supply - burned,
                    );
                    assert!(share.is_ge());
                    assert_eq!(balances[i] == paid[i], burned == supply);
                }
            }
        }
        assert!(
            joins > 2_000 && exits > 2_000,
            "{joins} joins, {exits} exits"
        );
        assert_eq!(
            join([0, 0], 0, [5, 7]),
            Some(Minted {
                lp: FIRST_MINT,
                taken: [5, 7]
            })
        );
        assert_eq!(join([0, 0], 0, [5, 0]), None);
        assert_eq!(join([10, 10], AMOUNT_MAX, [10, 10]), None, "beyond 96 bits");
        assert_eq!(exit([10, 10], 5, 6), None);
    }
}
