//! Vectors of account updates, and the request as the interface writes it.

use super::order::shown;
use super::{Case, Node, Shape, VectorError, eddsa, first_has, keys};
use crate::field::Field;
use crate::messages::AccountUpdateMessage;
use crate::public_key::PublicKey;

pub(super) const SHAPE: Shape = Shape {
    name: "account updates",
    recognises: |json| first_has(json, &["request.nonce", "hash_inputs"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let update = update(&node.get("request")?)?;
    case.member(
        node,
        "packed_public_key",
        &update.public_key.packed().to_hex(),
    )?;
    case.list(node, "hash_inputs", &shown(&update.inputs()))?;
    case.member(node, "hash", &update.hash().to_hex())?;
    eddsa::signed(
        node,
        case,
        &keys::secret(&node.get("secretKey")?)?,
        &update.hash().message(),
    )
}

/// An account update as requests write it.
pub(super) fn update(node: &Node<'_>) -> Result<AccountUpdateMessage, VectorError> {
    let (key, fee) = (node.get("publicKey")?, node.get("maxFee")?);
    Ok(AccountUpdateMessage {
        exchange: node.get("exchange")?.address()?,
        account_id: node.get("accountId")?.integer()?,
        owner: node.get("owner")?.address()?,
        fee_token: fee.get("tokenId")?.integer()?,
        max_fee: fee.get("volume")?.integer()?,
        public_key: PublicKey {
            x: key.get("x")?.hex()?,
            y: key.get("y")?.hex()?,
        },
        valid_until: node.get("validUntil")?.integer()?,
        nonce: node.get("nonce")?.integer()?,
    })
}

/// Typed data has one bit of x only; that x belongs to y is checked on the curve. Zeros stand for no key.
pub(super) fn usable_key(node: &Node<'_>, case: &mut Case, key: &PublicKey) {
    let usable = key.check().is_ok() || (key.x, key.y) == (Field::ZERO, Field::ZERO);
    case.require(usable, node, || {
        "the new key is not a point of the curve".to_owned()
    });
}
