//! The most profitable swap with a pool at one outside price.

use num_traits::Zero;

use super::{Amount, Convention, Fee, Swap};
use crate::error::{Result, require};

/// The swap and the reserves after it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToPrice {
    /// Whether the first token is paid in.
    pub first_in: bool,
    /// Paid in; 0 where the fee is more than the difference of the prices.
    pub amount_in: Amount,
    /// Paid out.
    pub amount_out: Amount,
    /// Reserves of both tokens afterwards.
    pub reserves: [Amount; 2],
}

/// The most profitable swap when `prices[0]` units of the first token are worth `prices[1]` of the
/// second: `in = ⌊√⌊x·y·d·p_in/(p_out·(d − f))⌋⌋ − ⌊x_in·d/(d − f)⌋`. All above 0.
///
/// Uniswap v2-periphery, `UniswapV2LiquidityMathLibrary.computeProfitMaximizingTrade`.
pub fn to_price(reserves: [Amount; 2], fee: Fee, prices: &[Amount; 2]) -> Result<ToPrice> {
    require(
        prices.iter().all(|price| !price.is_zero()),
        "prices",
        "above 0",
    )?;
    let [first, second] = &reserves;
    require(!first.is_zero() && !second.is_zero(), "reserves", "above 0")?;
    let first_in = first * &prices[1] / second < prices[0];
    let (inward, outward) = if first_in { (0, 1) } else { (1, 0) };
    let product = first * second * fee.of() * &prices[inward];
    let target = (product / (&prices[outward] * fee.kept())).sqrt();
    let present = &reserves[inward] * fee.of() / fee.kept();
    let amount_in = if target > present {
        target - present
    } else {
        Amount::zero()
    };
    let swap = Swap::new(
        reserves[inward].clone(),
        reserves[outward].clone(),
        fee,
        Convention::Floor,
    )?;
    let amount_out = swap.out(&amount_in);
    let mut after = reserves;
    after[inward] += &amount_in;
    after[outward] -= &amount_out;
    Ok(ToPrice {
        first_in,
        amount_in,
        amount_out,
        reserves: after,
    })
}
