//! Vectors of transfers and withdrawals, and the two requests as the interface writes them.

use super::order::shown;
use super::{Case, Node, Shape, VectorError, eddsa, first_has, keys};
use crate::messages::{ExtraData, TransferMessage, WithdrawalMessage};
use crate::text;

pub(super) const TRANSFERS: Shape = Shape {
    name: "transfers",
    recognises: |json| first_has(json, &["request.payerId", "hash_inputs"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate_transfer),
};

pub(super) const WITHDRAWALS: Shape = Shape {
    name: "withdrawals",
    recognises: |json| first_has(json, &["request.minGas", "hash_inputs"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate_withdrawal),
};

fn evaluate_transfer(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let transfer = transfer(&node.get("request")?)?;
    case.list(node, "hash_inputs", &shown(&transfer.inputs()))?;
    case.member(node, "hash", &transfer.hash().to_hex())?;
    eddsa::signed(
        node,
        case,
        &keys::secret(&node.get("secretKey")?)?,
        &transfer.hash().message(),
    )
}

/// The main values are those of the client that hashes the text of the extra data; `canonical_raw_bytes` has the rest.
fn evaluate_withdrawal(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let withdrawal = withdrawal(&node.get("request")?)?;
    let key = keys::secret(&node.get("secretKey")?)?;
    let text = withdrawal.extra_data.text().as_bytes();
    case.member(
        node,
        "onchainDataHash",
        &text::hex_0x(&withdrawal.onchain_data_hash_of_text()),
    )?;
    case.list(node, "hash_inputs", &shown(&withdrawal.inputs(text)))?;
    case.member(node, "hash", &withdrawal.hash_of_text().to_hex())?;
    eddsa::signed(node, case, &key, &withdrawal.hash_of_text().message())?;

    if let Some(raw) = node.optional("canonical_raw_bytes") {
        case.member(
            &raw,
            "onchainDataHash",
            &text::hex_0x(&withdrawal.onchain_data_hash()),
        )?;
        case.list(
            &raw,
            "hash_inputs",
            &shown(&withdrawal.inputs(withdrawal.extra_data.bytes())),
        )?;
        case.member(&raw, "hash", &withdrawal.hash().to_hex())?;
        let signature = eddsa::sign(&raw, case, &key, &withdrawal.hash().message())?;
        case.member(&raw, "eddsaSignature", &signature.to_hex())?;
    }
    Ok(())
}

/// A transfer as requests write it.
pub(super) fn transfer(node: &Node<'_>) -> Result<TransferMessage, VectorError> {
    let (token, fee) = (node.get("token")?, node.get("maxFee")?);
    Ok(TransferMessage {
        exchange: node.get("exchange")?.address()?,
        payer_id: node.get("payerId")?.integer()?,
        payer: node.get("payerAddr")?.address()?,
        payee_id: node.get("payeeId")?.integer()?,
        payee: node.get("payeeAddr")?.address()?,
        token: token.get("tokenId")?.integer()?,
        amount: token.get("volume")?.integer()?,
        fee_token: fee.get("tokenId")?.integer()?,
        max_fee: fee.get("volume")?.integer()?,
        valid_until: node.get("validUntil")?.integer()?,
        storage_id: node.get("storageId")?.integer()?,
    })
}

/// A withdrawal as requests write it.
pub(super) fn withdrawal(node: &Node<'_>) -> Result<WithdrawalMessage, VectorError> {
    let (token, fee) = (node.get("token")?, node.get("maxFee")?);
    let extra_data = match node.optional("extraData") {
        None => ExtraData::default(),
        Some(data) => ExtraData::parse(data.text()?).map_err(|_| data.malformed("extra data"))?,
    };
    Ok(WithdrawalMessage {
        exchange: node.get("exchange")?.address()?,
        account_id: node.get("accountId")?.integer()?,
        owner: node.get("owner")?.address()?,
        token: token.get("tokenId")?.integer()?,
        amount: token.get("volume")?.integer()?,
        fee_token: fee.get("tokenId")?.integer()?,
        max_fee: fee.get("volume")?.integer()?,
        to: node.get("to")?.address()?,
        extra_data,
        min_gas: node.get("minGas")?.integer()?,
        valid_until: node.get("validUntil")?.integer()?,
        storage_id: node.get("storageId")?.integer()?,
    })
}
