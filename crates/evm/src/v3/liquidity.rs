//! Amounts due to liquidity in a range, and liquidity for amounts: exact integers, each with the rounding of the
//! contracts.
//!
//! Sources: `SqrtPriceMath.sol` (v3-core 1.0.1), `LiquidityAmounts.sol` (v3-periphery 1.4.4).

use ruint::UintTryFrom;

use super::tick::Tick;
use crate::{Malformed, U256, U512};

/// Which way a quotient is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// What a pool pays out.
    Down,
    /// What a pool takes.
    Up,
}

/// The prices between which liquidity is provided: the lower tick is below the upper one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    lower: Tick,
    upper: Tick,
}

impl Range {
    /// A range.
    ///
    /// # Errors
    /// [`Malformed::Range`] if the lower tick is not below the upper one.
    pub fn new(lower: Tick, upper: Tick) -> Result<Self, Malformed> {
        if lower >= upper {
            return Err(Malformed::Range);
        }
        Ok(Self { lower, upper })
    }

    /// The lower tick.
    pub const fn lower(&self) -> Tick {
        self.lower
    }

    /// The upper tick.
    pub const fn upper(&self) -> Tick {
        self.upper
    }

    /// Roots of the prices at both ends.
    pub fn ends(&self) -> [U256; 2] {
        [self.lower.sqrt_price(), self.upper.sqrt_price()]
    }

    /// Base units of token 0 and token 1 that `liquidity` in this range is due, or costs, where the pool's root of the
    /// price is this one. Below the range all of it is token 0, above it token 1.
    ///
    /// # Errors
    /// [`Malformed::Range`] on overflow, and for a price of 0.
    pub fn amounts(
        &self,
        sqrt_price: U256,
        liquidity: u128,
        rounding: Rounding,
    ) -> Result<[U256; 2], Malformed> {
        let [lower, upper] = self.ends();
        let within = sqrt_price.clamp(lower, upper);
        Ok([
            amount0([within, upper], liquidity, rounding)?,
            amount1([lower, within], liquidity, rounding)?,
        ])
    }

    /// The liquidity that the position manager mints for at most these amounts of token 0 and token 1.
    ///
    /// # Errors
    /// [`Malformed::Range`] if it does not fit into 128 bits, with which the contract reverts.
    pub fn liquidity(&self, sqrt_price: U256, amounts: [U256; 2]) -> Result<u128, Malformed> {
        let [lower, upper] = self.ends();
        if sqrt_price <= lower {
            return liquidity0([lower, upper], amounts[0]);
        }
        if sqrt_price >= upper {
            return liquidity1([lower, upper], amounts[1]);
        }
        let of_both = [
            liquidity0([sqrt_price, upper], amounts[0])?,
            liquidity1([lower, sqrt_price], amounts[1])?,
        ];
        Ok(of_both[0].min(of_both[1]))
    }
}

/// `a · b / divisor` in 512 bits.
///
/// # Errors
/// [`Malformed::Range`] if the divisor is 0 or the quotient has more than 256 bits.
pub fn mul_div(a: U256, b: U256, divisor: U256, rounding: Rounding) -> Result<U256, Malformed> {
    if divisor == U256::ZERO {
        return Err(Malformed::Range);
    }
    let product = wide(a) * wide(b);
    let quotient = match rounding {
        Rounding::Down => product / wide(divisor),
        Rounding::Up => product.div_ceil(wide(divisor)),
    };
    U256::uint_try_from(quotient).map_err(|_| Malformed::Range)
}

fn wide(number: U256) -> U512 {
    U512::from(number)
}

fn quotient(number: U256, divisor: U256, rounding: Rounding) -> U256 {
    match rounding {
        Rounding::Down => number / divisor,
        Rounding::Up => number.div_ceil(divisor),
    }
}

/// Token 0 between two roots of prices, the lower one first: `liquidity · (upper − lower) / (upper · lower)`.
///
/// # Errors
/// [`Malformed::Range`] on overflow, for a lower root of 0, and if the first is above the second.
pub fn amount0(
    [lower, upper]: [U256; 2],
    liquidity: u128,
    rounding: Rounding,
) -> Result<U256, Malformed> {
    let width = upper.checked_sub(lower).ok_or(Malformed::Range)?;
    if lower == U256::ZERO {
        return Err(Malformed::Range);
    }
    let shifted = U256::from(liquidity) << 96;
    let by_upper = mul_div(shifted, width, upper, rounding)?;
    Ok(quotient(by_upper, lower, rounding))
}

/// Token 1 between two roots of prices, the lower one first: `liquidity · (upper − lower)`.
///
/// # Errors
/// [`Malformed::Range`] on overflow, and if the first is above the second.
pub fn amount1(
    [lower, upper]: [U256; 2],
    liquidity: u128,
    rounding: Rounding,
) -> Result<U256, Malformed> {
    let width = upper.checked_sub(lower).ok_or(Malformed::Range)?;
    mul_div(U256::from(liquidity), width, one(), rounding)
}

/// The root of the price `token1 / token0`, two amounts in base units, with 96 bits behind the point. Rounded down.
///
/// # Errors
/// [`Malformed::Range`] for no token 0, and for a root of more than 256 bits.
pub fn sqrt_price_of(token1: U256, token0: U256) -> Result<U256, Malformed> {
    if token0 == U256::ZERO {
        return Err(Malformed::Range);
    }
    let price: U512 = (wide(token1) << 192) / wide(token0);
    U256::uint_try_from(root_of(price)).map_err(|_| Malformed::Range)
}

/// The root, rounded down: Newton's method from above, in integers.
fn root_of(number: U512) -> U512 {
    if number == U512::ZERO {
        return number;
    }
    let mut root: U512 = U512::from(1) << number.bit_len().div_ceil(2);
    loop {
        let next: U512 = (root + number / root) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// The root of the price 1.
fn one() -> U256 {
    U256::from(1) << 96
}

/// `LiquidityAmounts.getLiquidityForAmount0`.
fn liquidity0([lower, upper]: [U256; 2], amount: U256) -> Result<u128, Malformed> {
    let between = mul_div(lower, upper, one(), Rounding::Down)?;
    let width = upper.checked_sub(lower).ok_or(Malformed::Range)?;
    crate::call::amount(mul_div(amount, between, width, Rounding::Down)?)
}

/// `LiquidityAmounts.getLiquidityForAmount1`.
fn liquidity1([lower, upper]: [U256; 2], amount: U256) -> Result<u128, Malformed> {
    let width = upper.checked_sub(lower).ok_or(Malformed::Range)?;
    crate::call::amount(mul_div(amount, one(), width, Rounding::Down)?)
}

/// The root of the price that a pool reaches from another one by taking `amount` of token 0:
/// `liquidity · from / (liquidity + amount · from)`, rounded up (`SqrtPriceMath.getNextSqrtPriceFromInput`).
///
/// # Errors
/// [`Malformed::Range`] without liquidity, and for a root of more than 256 bits.
pub fn price_after_amount0(from: U256, liquidity: u128, amount: u128) -> Result<U256, Malformed> {
    let shifted: U512 = U512::from(liquidity) << 96;
    let divisor: U512 = shifted + U512::from(amount) * wide(from);
    if liquidity == 0 {
        return Err(Malformed::Range);
    }
    let price = (shifted * wide(from)).div_ceil(divisor);
    U256::uint_try_from(price).map_err(|_| Malformed::Range)
}

/// The root of the price that a pool reaches from another one by taking `amount` of token 1:
/// `from + amount / liquidity`, rounded down (`SqrtPriceMath.getNextSqrtPriceFromInput`).
///
/// # Errors
/// [`Malformed::Range`] without liquidity, and for a root of more than 256 bits.
pub fn price_after_amount1(from: U256, liquidity: u128, amount: u128) -> Result<U256, Malformed> {
    let liquidity = U256::from(liquidity);
    let more = mul_div(U256::from(amount), one(), liquidity, Rounding::Down)?;
    from.checked_add(more).ok_or(Malformed::Range)
}

/// Virtual reserves of token 0 and token 1 for `liquidity` at a root of the price: `liquidity / √p` and
/// `liquidity · √p`, rounded down. Within its range liquidity trades like a pool that holds these.
///
/// # Errors
/// [`Malformed::Range`] on overflow, and for a price of 0.
pub fn virtual_reserves(sqrt_price: U256, liquidity: u128) -> Result<[U256; 2], Malformed> {
    if sqrt_price == U256::ZERO {
        return Err(Malformed::Range);
    }
    let liquidity = U256::from(liquidity);
    Ok([
        (liquidity << 96) / sqrt_price,
        mul_div(liquidity, sqrt_price, one(), Rounding::Down)?,
    ])
}

#[cfg(test)]
#[path = "liquidity_tests.rs"]
mod tests;
