//! Shares of a pool: joins and exits by the contract's ratio of ten decimals, and what a share is
//! worth after arbitrage.

use cambist_quant::pool::Amount;
use cambist_quant::pool::shares::{exit, join};
use cambist_signing::floats::FLOAT24;
use cambist_signing::vectors::{Node, VectorError};

use super::pools::{to_outside_price, whole};
use crate::compare::{Member, Value, member};
use crate::input::{Input, amount, list};
use crate::{Computed, Family};

pub(super) const SHARES: Family = Family {
    name: "cpmm_lp",
    notes: &[],
    compute: |input, _| {
        let members = match input.text("op")? {
            "l2_join" => compute_join(input)?,
            "l2_exit" => compute_exit(input)?,
            "uniswap_value_after_arbitrage" => compute_value(input)?,
            _ => {
                let node = input.get("op")?;
                return Err(node.malformed("l2_join, l2_exit or uniswap_value_after_arbitrage"));
            }
        };
        let published: Vec<Member> = members.iter().cloned().map(Member::optional).collect();
        Ok(Computed::new(members).published(published))
    },
};

/// As the chain stores it.
fn stored(node: &Node<'_>, amount: &Amount) -> Result<Value, VectorError> {
    u128::try_from(amount)
        .ok()
        .and_then(|amount| FLOAT24.decode(FLOAT24.encode(amount).ok()?).ok())
        .map(|amount| Value::from(&Amount::from(amount)))
        .ok_or_else(|| node.malformed("an amount that a float of 24 bits can hold"))
}

fn amounts(amounts: &[Amount]) -> Value {
    Value::List(amounts.iter().map(Value::from).collect())
}

fn compute_join(input: &Input<'_>) -> Result<Vec<Member>, VectorError> {
    let node = input.get("join")?;
    let offered = list(&node, amount)?;
    let supply = input.amount("lp_supply")?;
    let minimum = input.amount("minimum_lp")?;
    let balances = list(&input.get("balances")?, amount)?;
    let made = join(&balances, &supply, &offered).map_err(|error| input.refused(error))?;
    let not_used = offered.iter().zip(&made.taken);
    let not_used: Vec<Amount> = not_used.map(|(offered, taken)| offered - taken).collect();
    let stored_parts: Result<Vec<_>, _> =
        made.taken.iter().map(|part| stored(&node, part)).collect();
    let is_accepted = made.minted >= minimum;
    Ok(with_acceptance(
        is_accepted,
        [
            member("mint", &made.minted),
            member("deposited", amounts(&made.taken)),
            member("not_used", amounts(&not_used)),
            member("deposited_after_float24", Value::List(stored_parts?)),
            member("mint_after_float24", stored(&node, &made.minted)?),
        ],
    ))
}

fn compute_exit(input: &Input<'_>) -> Result<Vec<Member>, VectorError> {
    let burned = input.amount("burn")?;
    let supply = input.amount("lp_supply")?;
    let balances = list(&input.get("balances")?, amount)?;
    let minimum_node = input.get("minimum")?;
    let minimum = list(&minimum_node, amount)?;
    if minimum.len() != balances.len() {
        return Err(minimum_node.malformed("one amount per pooled token"));
    }
    let made = exit(&balances, &supply, &burned).map_err(|error| input.refused(error))?;
    let mut payments = made.paid.iter().zip(&minimum);
    let is_accepted = payments.all(|(paid, least)| paid >= least);
    let due = |balance: &Amount| whole(balance) * whole(&burned) / whole(&supply);
    let exact = balances.iter().map(due);
    let lost = balances.iter().zip(&made.paid);
    let lost = lost.map(|(balance, paid)| due(balance) - whole(paid));
    Ok(with_acceptance(
        is_accepted,
        [
            member("received", amounts(&made.paid)),
            member("ratio_1e10", &made.ratio),
            member("exact_share", exact.collect::<Vec<_>>()),
            member("lost_to_rounding", lost.collect::<Vec<_>>()),
        ],
    ))
}

/// A refused case need not state a result.
fn with_acceptance<const N: usize>(is_accepted: bool, members: [Member; N]) -> Vec<Member> {
    let members = members.into_iter().map(|member| {
        if is_accepted {
            member
        } else {
            member.optional()
        }
    });
    [member("accepted", is_accepted)]
        .into_iter()
        .chain(members)
        .collect()
}

fn compute_value(input: &Input<'_>) -> Result<Vec<Member>, VectorError> {
    let (after, _) = to_outside_price(input)?;
    let supply = input.amount("lp_supply")?;
    let held = input.amount("lp")?;
    if supply == Amount::ZERO {
        return Err(input.get("lp_supply")?.malformed("a number above 0"));
    }
    let share = |reserve: &Amount| Value::from(&(reserve * &held / &supply));
    Ok(vec![
        member("token_a", share(&after.reserves[0])),
        member("token_b", share(&after.reserves[1])),
    ])
}
