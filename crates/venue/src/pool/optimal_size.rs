//! The optimal amount to sell to a pool if its output has a price elsewhere: the exact integer optimum.
//!
//! At the optimum the pool's marginal price, its fee included, equals the outside price. Only the pool's own fee is
//! considered.

use cambist_core::Amount;

use crate::math::compare_triples;

/// Units to sell so that the last one just pays, if a unit of the pool's output is worth `worth.0 / worth.1` units of
/// its input: `⌊√(in · out · 10⁴ · worth / (10⁴ − f))⌋ − ⌊in · 10⁴ / (10⁴ − f)⌋`; 0 if not even the first pays. `None`
/// on overflow.
///
/// The formula is that of public arbitrage contracts: the profit is maximal where the derivative of the curve equals
/// the outside price.
pub(crate) fn best_input(
    reserve_in: Amount,
    reserve_out: Amount,
    fee_bips: u16,
    worth: (u128, u128),
) -> Option<Amount> {
    let kept = 10_000u128.checked_sub(u128::from(fee_bips))?;
    let (gain, cost) = (
        worth.0.checked_mul(10_000)?,
        worth.1.checked_mul(kept).filter(|cost| *cost > 0)?,
    );
    let present = reserve_in.checked_mul(10_000)? / kept;
    // The greatest root with root² · cost ≤ in · out · gain, bit by bit.
    let mut root = 0u128;
    for bit in (0..128).rev() {
        let tried = root | (1 << bit);
        if compare_triples([tried, tried, cost], [reserve_in, reserve_out, gain]).is_le() {
            root = tried;
        }
    }
    Some(root.saturating_sub(present))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::pool::curve;
    use crate::random::Random;

    const A: u128 = 10_000_000_000_000_000_000;
    const B: u128 = 100 * A;

    /// Profit of selling `sold`, in units of the input, times `worth.1`.
    fn earned(reserves: [u128; 2], fee: u16, worth: (u128, u128), sold: u128) -> i128 {
        let paid = curve::swap(reserves[0], reserves[1], sold, fee).unwrap();
        i128::try_from(paid * worth.0).unwrap() - i128::try_from(sold * worth.1).unwrap()
    }

    /// R-AGT-09
    #[test]
    fn the_published_cases_are_exact_to_the_unit() {
        // Reserves of ten and a thousand tokens, a fee of 30 bips, output worth 90, 110 and 400.
        let sold = best_input(A, B, 30, (1, 90)).unwrap();
        assert_eq!(sold, 526_682_316_179_835_569);
        assert_eq!(
            curve::swap(A, B, sold, 30),
            Some(49_890_467_170_695_440_744)
        );
        let sold = best_input(B, A, 30, (110, 1)).unwrap();
        assert_eq!(sold, 47_376_582_963_642_643_588);
        assert_eq!(curve::swap(B, A, sold, 30), Some(451_039_908_682_851_138));
        let sold = best_input(B, A, 30, (400, 1)).unwrap();
        assert_eq!(B + sold, 1_999_997_739_838_173_075_192);
        assert_eq!(best_input(A, B, 30, (1, 100)), Some(0), "inside the fee");
        assert_eq!(best_input(B, A, 30, (100, 1)), Some(0), "inside the fee");
    }

    /// R-AGT-09
    #[test]
    fn no_other_amount_earns_more_beyond_rounding() {
        let mut random = Random::new(5);
        let mut traded = 0;
        for _ in 0..400 {
            let reserves = [0, 1].map(|_| u128::from(random.between(50, 400)));
            let fee = u16::try_from(random.below(200)).unwrap();
            let worth = (
                u128::from(random.between(1, 40)),
                u128::from(random.between(1, 40)),
            );
            let sold = best_input(reserves[0], reserves[1], fee, worth).unwrap();
            traded += u32::from(sold > 0);
            let best = (0..2_000)
                .map(|other| earned(reserves, fee, worth, other))
                .max()
                .unwrap();
            let reached = earned(reserves, fee, worth, sold);
            // The pool pays whole units: the formula differs from the best amount by at most one of them.
            let one = i128::try_from(worth.0 + worth.1).unwrap();
            assert!(
                reached >= best - one,
                "{reserves:?} {fee} {worth:?}: {sold} earns {reached}, the best {best}"
            );
        }
        assert!(traded > 100, "{traded} traded");
    }
}
