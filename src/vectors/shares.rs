//! Shares of a pool: joins and exits by the contract's ratio of ten decimals, and what a share is
//! worth after arbitrage.

use cambist_signing::floats::FLOAT24;
use cambist_signing::vectors::{Node, VectorError};
use num_bigint::{BigInt, Sign};

use super::arbitrage::arbitrage;
use super::compare::Computed;
use super::exact::{fraction, list, positive, whole};

pub(super) fn evaluate(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let operation = input.get("op")?;
    match operation.text()? {
        "l2_join" => join(input),
        "l2_exit" => exit(input),
        "uniswap_value_after_arbitrage" => value(input),
        _ => Err(operation.malformed("l2_join, l2_exit or uniswap_value_after_arbitrage")),
    }
}

/// The ratio's unit, and the LP units of a first join.
fn unit() -> BigInt {
    BigInt::from(10_000_000_000_u64)
}

/// As the chain stores it.
fn stored(node: &Node<'_>, amount: &BigInt) -> Result<String, VectorError> {
    u128::try_from(amount)
        .ok()
        .and_then(|amount| FLOAT24.decode(FLOAT24.encode(amount).ok()?).ok())
        .map(|amount| amount.to_string())
        .ok_or_else(|| node.malformed("an amount that a float of 24 bits can hold"))
}

fn texts(numbers: &[BigInt]) -> Vec<String> {
    numbers.iter().map(BigInt::to_string).collect()
}

/// What a ratio of ten decimals takes from each balance.
fn parts(balances: &[BigInt], lp: &BigInt, supply: &BigInt) -> (BigInt, Vec<BigInt>) {
    let ratio = unit() * lp / supply;
    let parts = balances.iter().map(|balance| &ratio * balance / unit());
    let parts = parts.collect();
    (ratio, parts)
}

fn join(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let join_node = input.get("join")?;
    let offered = list(&join_node, whole)?;
    let supply = whole(&input.get("lp_supply")?)?;
    let minimum = whole(&input.get("minimum_lp")?)?;
    let balances = input.get("balances")?;
    let (mint, deposited) = if supply.sign() == Sign::NoSign {
        (unit(), offered.clone())
    } else {
        let balances = list(&balances, positive)?;
        if balances.len() != offered.len() {
            return Err(join_node.malformed("one amount per pooled token"));
        }
        let shares = offered.iter().zip(&balances);
        let mint = shares
            .map(|(offered, balance)| offered * &supply / balance)
            .min()
            .unwrap_or_default();
        let (_, deposited) = parts(&balances, &mint, &supply);
        (mint, deposited)
    };
    let pairs = offered.iter().zip(&deposited);
    let not_used: Vec<BigInt> = pairs.map(|(offered, taken)| offered - taken).collect();
    let stored_parts: Result<Vec<_>, _> = deposited
        .iter()
        .map(|part| stored(&join_node, part))
        .collect();
    let accepted = mint >= minimum;
    let computed = [
        Computed::whole("mint", &mint),
        Computed::list("deposited", texts(&deposited)),
        Computed::list("not_used", texts(&not_used)),
        Computed::list("deposited_after_float24", stored_parts?),
        Computed::text("mint_after_float24", stored(&join_node, &mint)?),
    ];
    Ok(with_verdict(accepted, computed))
}

fn exit(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let burn = whole(&input.get("burn")?)?;
    let supply = positive(&input.get("lp_supply")?)?;
    let balances = list(&input.get("balances")?, whole)?;
    let minimum_node = input.get("minimum")?;
    let minimum = list(&minimum_node, whole)?;
    if minimum.len() != balances.len() {
        return Err(minimum_node.malformed("one amount per pooled token"));
    }
    let (ratio, received) = parts(&balances, &burn, &supply);
    let accepted = received
        .iter()
        .zip(&minimum)
        .all(|(paid, least)| paid >= least);
    let exact = balances
        .iter()
        .map(|balance| fraction(&(balance * &burn), &supply));
    let lost = balances.iter().zip(&received);
    let lost = lost.map(|(balance, paid)| fraction(&(balance * &burn - paid * &supply), &supply));
    let computed = [
        Computed::list("received", texts(&received)),
        Computed::whole("ratio_1e10", &ratio),
        Computed::list("exact_share", exact.collect()),
        Computed::list("lost_to_rounding", lost.collect()),
    ];
    Ok(with_verdict(accepted, computed))
}

/// What is refused need not say what it would have been.
fn with_verdict<const N: usize>(accepted: bool, computed: [Computed; N]) -> Vec<Computed> {
    let mut all = vec![Computed::flag("accepted", accepted)];
    all.extend(computed.map(|value| if accepted { value } else { value.optional() }));
    all
}

fn value(input: &Node<'_>) -> Result<Vec<Computed>, VectorError> {
    let after = arbitrage(input)?.after;
    let supply = positive(&input.get("lp_supply")?)?;
    let held = whole(&input.get("lp")?)?;
    let share = |reserve: &BigInt| reserve * &held / &supply;
    Ok(vec![
        Computed::whole("token_a", &share(&after[0])),
        Computed::whole("token_b", &share(&after[1])),
    ])
}
