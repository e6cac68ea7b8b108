//! Pool arithmetic: swaps, arbitrage to a price, what a circuit accepts, layer-2 floats.

use cambist_quant::pool::arbitrage::{ToPrice, to_price};
use cambist_quant::pool::{Amount, Convention, Fee, Swap};
use cambist_quant::{Exact, Number};
use cambist_signing::floats::{FLOAT16, FLOAT24};
use cambist_signing::vectors::VectorError;
use num_bigint::BigInt;

use crate::compare::{Member, member};
use crate::input::Input;
use crate::{Computed, Context, Family};

pub(super) const SWAP: Family = Family {
    name: "cpmm_swap",
    notes: &[],
    compute: compute_swap,
};

pub(super) const TO_PRICE: Family = Family {
    name: "cpmm_arb_price",
    notes: &[],
    compute: compute_to_price,
};

pub(super) const FILL_RULE: Family = Family {
    name: "amm_fill_rule",
    notes: &[],
    compute: compute_fill_rule,
};

pub(super) const FLOAT: Family = Family {
    name: "rollup_float",
    notes: &[],
    compute: compute_float,
};

/// An amount as an exact number.
pub(super) fn whole(amount: &Amount) -> Exact {
    Exact::from_integer(BigInt::from(amount.clone()))
}

/// The fee, as parts of a whole.
fn fee(input: &Input<'_>) -> Result<Fee, VectorError> {
    let (parts, of) = (
        input.whole("fee_numerator")?,
        input.whole("fee_denominator")?,
    );
    Fee::new(parts, of).map_err(|_| match input.get("fee_numerator") {
        Ok(node) => node.malformed("a fee below the whole"),
        Err(error) => error,
    })
}

fn positive(input: &Input<'_>, name: &'static str) -> Result<Amount, VectorError> {
    let amount = input.amount(name)?;
    if amount == Amount::ZERO {
        return Err(input.get(name)?.malformed("a number above 0"));
    }
    Ok(amount)
}

fn compute_swap(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let convention = match input.text("convention")? {
        "uniswap_v2" => Convention::Floor,
        "layer2_circuit" => Convention::Circuit,
        _ => {
            let node = input.get("convention")?;
            return Err(node.malformed("uniswap_v2 or layer2_circuit"));
        }
    };
    let amount = positive(input, "amount_in")?;
    let reserves = (
        positive(input, "reserve_in")?,
        positive(input, "reserve_out")?,
    );
    let fee = fee(input)?;
    let swap = Swap::new(reserves.0.clone(), reserves.1.clone(), fee, convention)
        .map_err(|error| input.refused(error))?;
    let out = swap.out(&amount);
    let (more, less) = (&reserves.0 + &amount, &reserves.1 - &out);
    let mut members = vec![
        member("amount_out", &out),
        member("exact_out", swap.exact_out(&amount)),
        member("reserve_in_after", &more),
        member("reserve_out_after", &less),
        member("spot_out_per_in_before", swap.spot()),
        member("marginal_out_per_in_before", swap.marginal()),
        member(
            "marginal_out_per_in_after",
            whole(&less) / whole(&more) * fee.left(),
        ),
        member("exec_out_per_in", whole(&out) / whole(&amount)),
        member("price_impact", swap.price_impact(&amount, &out)),
        member("k_before", &(&reserves.0 * &reserves.1)),
        member("k_after", &(&more * &less)),
    ];
    if out > Amount::ZERO {
        let back = match convention {
            Convention::Floor => swap.formula_input(&out),
            Convention::Circuit => swap.least_input(&out),
        };
        members.extend(back.map(|back| member("amount_in_for_that_out", &back)));
    }
    let published: Vec<Member> = members.iter().cloned().map(Member::optional).collect();
    Ok(Computed::new(members).published(published))
}

/// The swap of a case that names reserves, fee and outside price.
pub(super) fn to_outside_price(input: &Input<'_>) -> Result<(ToPrice, [Amount; 2]), VectorError> {
    let prices = [
        positive(input, "true_price_a")?,
        positive(input, "true_price_b")?,
    ];
    let reserves = [positive(input, "reserve_a")?, positive(input, "reserve_b")?];
    let made = to_price(reserves, fee(input)?, &prices).map_err(|error| input.refused(error))?;
    Ok((made, prices))
}

fn compute_to_price(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let (made, prices) = to_outside_price(input)?;
    let (inward, outward) = if made.first_in { (0, 1) } else { (1, 0) };
    let worth = whole(&made.amount_out) * whole(&prices[inward]) / whole(&prices[outward]);
    let members = vec![
        member("a_to_b", made.first_in),
        member("amount_in", &made.amount_in),
        member("amount_out", &made.amount_out),
        member("reserve_a_after", &made.reserves[0]),
        member("reserve_b_after", &made.reserves[1]),
        member("profit_in_input_token", worth - whole(&made.amount_in)),
    ];
    let published: Vec<Member> = members.iter().cloned().map(Member::optional).collect();
    Ok(Computed::new(members).published(published))
}

fn compute_fill_rule(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let is_pool = input.flag("amm")?;
    let order_fee: u64 = input.whole("order_fee_bips")?;
    let (balance_in, balance_out) = (input.amount("balance_in")?, input.amount("balance_out")?);
    let fee = Fee::bips(input.whole("pool_fee_bips")?).map_err(|error| input.refused(error))?;
    let (amount_in, amount_out) = (input.amount("amount_in")?, input.amount("amount_out")?);
    let swap = Swap::new(balance_in, balance_out, fee, Convention::Circuit);
    let satisfied = !is_pool
        || (order_fee == 0 && swap.is_ok_and(|swap| swap.accepts(&amount_in, &amount_out)));
    Ok(Computed::new(vec![member("satisfied", satisfied)]).published(satisfied))
}

fn compute_float(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let (mantissa, exponent): (u32, u32) =
        (input.whole("mantissa_bits")?, input.whole("exponent_bits")?);
    let encoding = match (mantissa, exponent) {
        (19, 5) => FLOAT24,
        (11, 5) => FLOAT16,
        _ => {
            let node = input.get("mantissa_bits")?;
            return Err(node.malformed("19 and 5, or 11 and 5 bits"));
        }
    };
    let value: u128 = input.whole("value")?;
    let encoded = encoding
        .encode(value)
        .map_err(|error| input.refused(error))?;
    let rounded = encoding
        .decode(encoded)
        .map_err(|error| input.refused(error))?;
    let lost = whole(&Amount::from(value - rounded));
    let loss = if value == 0 {
        Exact::whole(0)
    } else {
        lost / whole(&Amount::from(value))
    };
    Ok(Computed::new(vec![
        member("encoded", i64::from(encoded)),
        member("rounded", &Amount::from(rounded)),
        member("relative_loss", loss),
    ]))
}
