//! The swap that takes most from a pool at an outside price.

use cambist_signing::vectors::{Node, VectorError};
use num_bigint::{BigInt, Sign};

use super::compare::Computed;
use super::exact::{fraction, positive};
use super::swap::Curve;

/// The swap, and the reserves that it leaves.
pub(super) struct Arbitrage {
    a_to_b: bool,
    amount_in: BigInt,
    amount_out: BigInt,
    /// Reserves of both tokens afterwards.
    pub after: [BigInt; 2],
    prices: [BigInt; 2],
}

/// `true_price_a` units of A are worth `true_price_b` units of B.
pub(super) fn arbitrage(input: &Node<'_>) -> Result<Arbitrage, VectorError> {
    let read = |name| positive(&input.get(name)?);
    let prices = [read("true_price_a")?, read("true_price_b")?];
    let reserves = [read("reserve_a")?, read("reserve_b")?];
    let a_to_b = &reserves[0] * &prices[1] / &reserves[1] < prices[0];
    let (inward, outward) = if a_to_b { (0, 1) } else { (1, 0) };
    let curve = Curve::new(input, reserves[inward].clone(), reserves[outward].clone())?;
    let product = &reserves[0] * &reserves[1] * &curve.of * &prices[inward];
    let target = (product / (&prices[outward] * &curve.kept)).sqrt();
    let present = &reserves[inward] * &curve.of / &curve.kept;
    let amount_in: BigInt = (target - present).max(BigInt::ZERO);
    let amount_out = curve.floor(&amount_in);
    let mut after = reserves;
    after[inward] += &amount_in;
    after[outward] -= &amount_out;
    Ok(Arbitrage {
        a_to_b,
        amount_in,
        amount_out,
        after,
        prices,
    })
}

pub(super) fn evaluate(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let made = arbitrage(input)?;
    let (inward, outward) = if made.a_to_b { (0, 1) } else { (1, 0) };
    let (worth, price) = (&made.prices[inward], &made.prices[outward]);
    let profit = &made.amount_out * worth - &made.amount_in * price;
    debug_assert!(price.sign() == Sign::Plus, "prices are positive");
    Ok(vec![
        Computed::flag("a_to_b", made.a_to_b),
        Computed::whole("amount_in", &made.amount_in),
        Computed::whole("amount_out", &made.amount_out),
        Computed::whole("reserve_a_after", &made.after[0]),
        Computed::whole("reserve_b_after", &made.after[1]),
        Computed::text("profit_in_input_token", fraction(&profit, price)),
    ])
}
