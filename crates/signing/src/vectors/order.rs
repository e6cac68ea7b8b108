//! Vectors of orders: the order, the numbers hashed, the hash and its signature.

use super::{Case, Node, Shape, VectorError, eddsa, first_has, keys};
use crate::address::Address;
use crate::field::{Field, Fq};
use crate::messages::OrderMessage;

pub(super) const SHAPE: Shape = Shape {
    name: "orders",
    recognises: |json| first_has(json, &["order", "hash", "secretKey"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let order = order(&node.get("order")?)?;
    let hash = order.hash();
    case.list(node, "hash_inputs", &shown(&order.inputs()))?;
    case.member(node, "hash", &hash.to_hex())?;
    if node.optional("hash_sdk_string").is_some() {
        case.number(node, "hash_sdk_string", hash.message())?;
    }
    eddsa::signed(
        node,
        case,
        &keys::secret(&node.get("secretKey")?)?,
        &hash.message(),
    )
}

/// The order as requests write it.
pub(super) fn order(node: &Node<'_>) -> Result<OrderMessage, VectorError> {
    let (sell, buy) = (node.get("sellToken")?, node.get("buyToken")?);
    Ok(OrderMessage {
        exchange: node.get("exchange")?.address()?,
        storage_id: node.get("storageId")?.integer()?,
        account_id: node.get("accountId")?.integer()?,
        sell_token: sell.get("tokenId")?.integer()?,
        buy_token: buy.get("tokenId")?.integer()?,
        sell_amount: sell.get("volume")?.integer()?,
        buy_amount: buy.get("volume")?.integer()?,
        valid_until: node.get("validUntil")?.integer()?,
        max_fee_bips: node.get("maxFeeBips")?.integer()?,
        fill_by_buy: node.get("fillAmountBOrS")?.flag()?,
        taker: node
            .optional("taker")
            .map_or(Ok(Address::ZERO), |taker| taker.address())?,
    })
}

/// Hash inputs in decimal.
pub(super) fn shown(inputs: &[Fq]) -> Vec<String> {
    inputs
        .iter()
        .map(|input| Field::from(*input).to_decimal())
        .collect()
}
