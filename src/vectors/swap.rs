//! Swaps of a constant product: what one of two conventions pays, and the prices around it.

use cambist_signing::vectors::{Node, VectorError};
use num_bigint::{BigInt, Sign};

use super::compare::Computed;
use super::exact::{fraction, positive, whole};

/// Reserves and fee, as a convention sees them.
pub(super) struct Curve {
    pub reserve_in: BigInt,
    pub reserve_out: BigInt,
    /// Fee as numerator and denominator, and what it leaves.
    pub fee: BigInt,
    pub of: BigInt,
    pub kept: BigInt,
}

impl Curve {
    /// Reads the fee; it must leave something.
    pub fn new(
        node: &Node<'_>,
        reserve_in: BigInt,
        reserve_out: BigInt,
    ) -> Result<Self, VectorError> {
        let fee_node = node.get("fee_numerator")?;
        let (fee, of) = (whole(&fee_node)?, positive(&node.get("fee_denominator")?)?);
        let kept = &of - &fee;
        if kept.sign() != Sign::Plus {
            return Err(fee_node.malformed("a fee below the whole"));
        }
        Ok(Self {
            reserve_in,
            reserve_out,
            fee,
            of,
            kept,
        })
    }

    /// The exact result as a fraction.
    fn exact(&self, amount: &BigInt) -> (BigInt, BigInt) {
        let paid = amount * &self.kept;
        (
            &paid * &self.reserve_out,
            &self.reserve_in * &self.of + paid,
        )
    }

    /// The exact result, rounded down (the contracts of the second Uniswap version).
    pub fn floor(&self, amount: &BigInt) -> BigInt {
        let (numerator, denominator) = self.exact(amount);
        numerator / denominator
    }

    /// The circuit: fee and quotient are rounded before they are used.
    fn circuit(&self, amount: &BigInt) -> BigInt {
        let unit = BigInt::from(10).pow(18);
        let fee = amount * &self.fee / &self.of;
        let rest = &self.reserve_in * &unit / (&self.reserve_in + amount - fee);
        &self.reserve_out * (&unit - rest) / &unit
    }

    /// The least input for which the contracts promise `out`.
    fn floor_input(&self, out: &BigInt) -> BigInt {
        let left = &self.reserve_out - out;
        &self.reserve_in * out * &self.of / (left * &self.kept) + 1
    }

    /// The least input for which the circuit pays `out`, known to be at most `most`.
    fn circuit_input(&self, out: &BigInt, most: &BigInt) -> BigInt {
        let (mut low, mut high) = (BigInt::ZERO, most.clone());
        while low < high {
            let middle: BigInt = (&low + &high) / 2;
            if self.circuit(&middle) >= *out {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

pub(super) fn evaluate(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let convention = input.get("convention")?;
    let circuit = match convention.text()? {
        "uniswap_v2" => false,
        "layer2_circuit" => true,
        _ => return Err(convention.malformed("uniswap_v2 or layer2_circuit")),
    };
    let amount = positive(&input.get("amount_in")?)?;
    let reserve_in = positive(&input.get("reserve_in")?)?;
    let reserve_out = positive(&input.get("reserve_out")?)?;
    let curve = Curve::new(input, reserve_in, reserve_out)?;
    let out = if circuit {
        curve.circuit(&amount)
    } else {
        curve.floor(&amount)
    };
    let (x, y) = (&curve.reserve_in, &curve.reserve_out);
    let (more, less) = (x + &amount, y - &out);
    let (numerator, denominator) = curve.exact(&amount);
    let mut computed = vec![
        Computed::whole("amount_out", &out),
        Computed::text("exact_out", fraction(&numerator, &denominator)),
        Computed::whole("reserve_in_after", &more),
        Computed::whole("reserve_out_after", &less),
        Computed::text("spot_out_per_in_before", fraction(y, x)),
        Computed::text(
            "marginal_out_per_in_before",
            fraction(&(y * &curve.kept), &(x * &curve.of)),
        ),
        Computed::text(
            "marginal_out_per_in_after",
            fraction(&(&less * &curve.kept), &(&more * &curve.of)),
        ),
        Computed::text("exec_out_per_in", fraction(&out, &amount)),
        Computed::text(
            "price_impact",
            fraction(&(&amount * y - &out * x), &(&amount * y)),
        ),
        Computed::whole("k_before", &(x * y)),
        Computed::whole("k_after", &(&more * &less)),
    ];
    if out.sign() == Sign::Plus && less.sign() == Sign::Plus {
        let back = if circuit {
            curve.circuit_input(&out, &amount)
        } else {
            curve.floor_input(&out)
        };
        computed.push(Computed::whole("amount_in_for_that_out", &back));
    }
    Ok(computed)
}
