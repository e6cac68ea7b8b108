//! Vectors of pool arithmetic: lists `swap` and `lp`. (Clause: AMM.)
//!
//! The formulas here are those of contracts and public clients, for comparison; the venue has its own.

use num_bigint::BigUint;

use super::{Case, Cases, Json, Node, Shape, VectorError};

pub(super) const SHAPE: Shape = Shape {
    name: "pool arithmetic",
    recognises: |json: &Json| json.get("swap").is_some() || json.get("lp").is_some(),
    evaluate: |file, cases| {
        list(file, "swap", cases, swap)?;
        list(file, "lp", cases, shares)
    },
};

fn list(
    file: &Node<'_>,
    name: &str,
    cases: &mut Cases,
    evaluate: fn(&Node<'_>, &mut Case) -> Result<(), VectorError>,
) -> Result<(), VectorError> {
    file.optional(name)
        .map_or(Ok(()), |list| list.each(cases, evaluate))
}

fn swap(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let fee_node = node.get("feeBips")?;
    let fee: u32 = fee_node.integer()?;
    let whole = BigUint::from(10_000_u32);
    if fee >= 10_000 {
        return Err(fee_node.malformed("a fee below 10000"));
    }
    let kept = &whole - fee;
    let (v_in, v_out) = (
        positive(&node.get("reserveIn")?)?,
        positive(&node.get("reserveOut")?)?,
    );

    let amount = number(&node.get("amountIn")?)?;
    let paid = &amount * &kept;
    let out = &v_out * &paid / (&v_in * &whole + &paid);
    case.member(node, "out_sdk_rounded_down", &out.to_string())?;
    case.member(
        node,
        "out_sdk_rounded_up_as_sdk_shows",
        &(&out + 1_u32).to_string(),
    )?;

    let unit = BigUint::from(10_u32).pow(18);
    let taken = &amount * fee / &whole;
    let y = &v_in * &unit / (&v_in + &amount - taken);
    let most = if y <= unit {
        &v_out * (&unit - y) / &unit
    } else {
        BigUint::ZERO
    };
    case.member(node, "out_protocol_circuit_max", &most.to_string())?;

    let wanted_node = node.get("amountOutWanted")?;
    let wanted = number(&wanted_node)?;
    if wanted >= v_out {
        return Err(wanted_node.malformed("less than the reserve"));
    }
    let needed = &v_in * &wanted * &whole / ((&v_out - &wanted) * &kept) + 2_u32;
    case.member(node, "amountIn_sdk_rounded_up", &needed.to_string())
}

fn shares(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let unit = BigUint::from(10_u32).pow(10);
    let supply = positive(&node.get("lpSupply")?)?;
    let pool: Vec<BigUint> = node
        .get("pool")?
        .items()?
        .iter()
        .map(positive)
        .collect::<Result<_, _>>()?;
    let offers = node.get("joinAmounts")?;
    let offered: Vec<BigUint> = offers
        .items()?
        .iter()
        .map(number)
        .collect::<Result<_, _>>()?;
    if offered.len() != pool.len() {
        return Err(offers.malformed("one amount per pooled token"));
    }
    let minted = offered
        .iter()
        .zip(&pool)
        .map(|(offer, balance)| offer * &supply / balance)
        .min()
        .unwrap_or_default();
    case.member(node, "minted", &minted.to_string())?;
    let parts = |ratio: &BigUint| -> Vec<String> {
        pool.iter()
            .map(|balance| (ratio * balance / &unit).to_string())
            .collect()
    };
    let ratio = &unit * &minted / &supply;
    case.member(node, "ratio_1e10", &ratio.to_string())?;
    case.list(node, "amountsTaken", &parts(&ratio))?;

    let ratio = &unit * number(&node.get("burn")?)? / &supply;
    case.member(node, "exit_ratio_1e10", &ratio.to_string())?;
    case.list(node, "amountsReturned_before_fee", &parts(&ratio))
}

fn number(node: &Node<'_>) -> Result<BigUint, VectorError> {
    Ok(BigUint::from_bytes_be(&node.decimal()?.to_be_bytes()))
}

fn positive(node: &Node<'_>) -> Result<BigUint, VectorError> {
    let value = number(node)?;
    if value == BigUint::ZERO {
        Err(node.malformed("a positive number"))
    } else {
        Ok(value)
    }
}
