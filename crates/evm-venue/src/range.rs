//! A range of a V3 pool that is configured, the position in it that is the account's, and what its liquidity is due.
//!
//! The engine counts liquidity as shares. What shares are due and cost is in proportion to them, so that the amounts of
//! one fixed liquidity at the price of the pool state all of it ([`PoolRange::balances`]).

use cambist_core::Amount;
use cambist_core::pool::PoolBalances;
use cambist_evm::call::amount;
use cambist_evm::v3::liquidity::{
    Range, Rounding, amount0, amount1, price_after_amount0, price_after_amount1, virtual_reserves,
};
use cambist_evm::{Malformed, U256};

/// Bits of the larger virtual reserve of the liquidity whose amounts are stated, where the price is in the range.
const RESERVE_BITS: usize = 116;
/// Bits that both virtual reserves have at least: below that they are too coarse for a price.
///
/// 20 bits state it to two millionths. A range over all prices has them where a base unit of one token is worth from
/// 2⁻⁶⁴ to 2⁶⁴ of the other's.
const RESERVE_BITS_MIN: usize = 20;

/// Which position in a range is the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The positions of the account were not read yet.
    Unread,
    /// It has none: the first join mints one.
    Nothing,
    /// This one.
    Position(U256),
}

/// A range of a V3 pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRange {
    /// The pool's fee, in millionths of what is sold to it.
    pub fee: u32,
    /// The pool's ticks that can be ends of ranges are multiples of this.
    pub spacing: i32,
    /// The range.
    pub range: Range,
    /// The account's position.
    pub held: Held,
}

impl PoolRange {
    /// The liquidity whose amounts are stated: a power of two by the range alone, so that it does not change with the
    /// price, and so large that amounts are seldom rounded. What `n` times as much liquidity is due is rounded down by up
    /// to `n` base units: below one in narrow ranges, hundreds of thousands (of 10¹⁸) in a range over all prices.
    pub fn reference(&self) -> Amount {
        let [lower, upper] = self.range.ends();
        // Bits of the virtual reserves of 1: of token 0 at the lower end, of token 1 at the upper one.
        let one: U256 = U256::from(1) << 96;
        let largest: U256 = (one / lower).max(upper / one);
        let bits = RESERVE_BITS.saturating_sub(largest.bit_len());
        1 << bits
    }

    /// What [`reference`](Self::reference) liquidity is due at this root of the price, rounded down, and its virtual
    /// reserves.
    ///
    /// # Errors
    /// [`Malformed::Range`] where the price is so far away that an amount or a price cannot be stated.
    pub fn balances(&self, sqrt_price: U256) -> Result<PoolBalances, Malformed> {
        let supply = self.reference();
        let [first, second] = self.range.amounts(sqrt_price, supply, Rounding::Down)?;
        let reserves = virtual_reserves(sqrt_price, supply)?;
        if reserves
            .iter()
            .any(|reserve| reserve.bit_len() < RESERVE_BITS_MIN)
        {
            return Err(Malformed::Range);
        }
        Ok(PoolBalances {
            pooled: [amount(first)?, amount(second)?],
            supply,
            reserves: [amount(reserves[0])?, amount(reserves[1])?],
            owed: None,
        })
    }

    /// The least payments that a join signs which pays at most `most` and has to get at least `liquidity`.
    ///
    /// The position manager compares payments and not liquidity. Where the price has risen, all of token 1 is paid, and the
    /// higher it is the less of token 0. The least of token 0 is what the least liquidity costs at the price up to which
    /// the most of token 1 buys it; for token 1 in the same way below. Both are rounded up.
    ///
    /// # Errors
    /// [`Malformed::Range`] without liquidity, and on overflow.
    pub fn least_payments(
        &self,
        most: [Amount; 2],
        liquidity: Amount,
    ) -> Result<[U256; 2], Malformed> {
        let [lower, upper] = self.range.ends();
        let highest = price_after_amount1(lower, liquidity, most[1])?.min(upper);
        let lowest = price_after_amount0(upper, liquidity, most[0])?.max(lower);
        Ok([
            amount0([highest, upper], liquidity, Rounding::Up)?,
            amount1([lower, lowest], liquidity, Rounding::Up)?,
        ])
    }
}

#[cfg(test)]
#[path = "range_tests.rs"]
pub(crate) mod tests;
