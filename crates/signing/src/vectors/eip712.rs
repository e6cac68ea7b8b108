//! Vectors of typed data and wallet signatures, by `kind`, with the typed message written out.

use super::{Case, Node, Shape, VectorError, account, first_has, keys, pool, request};
use crate::ecdsa::{Kind, WireSignature, verify_owner};
use crate::eip712::Domain;
use crate::hash32::Hash32;
use crate::messages::{
    AccountUpdateMessage, PoolExitMessage, PoolJoinMessage, TransferMessage, WithdrawalMessage,
};
use crate::text;

pub(super) const SHAPE: Shape = Shape {
    name: "typed data",
    recognises: |json| first_has(json, &["kind", "typeString", "eth_private_key"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let kind = node.get("kind")?;
    let digest = match kind.text()? {
        "Transfer" => transfer(node, case)?,
        "Withdrawal" => withdrawal(node, case)?,
        "AccountUpdate" => account_update(node, case)?,
        "PoolJoin" => join(node, case)?,
        "PoolExit" => exit(node, case)?,
        _ => return Err(kind.malformed("a known kind of typed data")),
    };
    signatures(node, case, &digest)
}

/// The domain of the exchange on the chain that `domain` names, checked in all members.
fn exchange_domain(node: &Node<'_>, case: &mut Case) -> Result<Domain, VectorError> {
    let exchange = node.get("request")?.get("exchange")?.address()?;
    let domain = Domain::exchange(node.get("domain")?.get("chainId")?.integer()?, exchange);
    pool::domain(node, case, &domain)?;
    Ok(domain)
}

fn transfer(node: &Node<'_>, case: &mut Case) -> Result<Hash32, VectorError> {
    let domain = exchange_domain(node, case)?;
    let it = request::transfer(&node.get("request")?)?;
    let shown = node.get("message")?;
    case.same_address(&shown, "from", &it.payer)?;
    case.same_address(&shown, "to", &it.payee)?;
    case.member(&shown, "tokenID", &it.token.to_string())?;
    case.member(&shown, "amount", &it.amount.to_string())?;
    case.member(&shown, "feeTokenID", &it.fee_token.to_string())?;
    case.member(&shown, "maxFee", &it.max_fee.to_string())?;
    case.member(&shown, "validUntil", &it.valid_until.to_string())?;
    case.member(&shown, "storageID", &it.storage_id.to_string())?;
    let digest = it.digest(domain.chain_id);
    pool::typed_data(
        node,
        case,
        TransferMessage::TYPE,
        &it.struct_hash(),
        &digest,
    )?;
    Ok(digest)
}

fn withdrawal(node: &Node<'_>, case: &mut Case) -> Result<Hash32, VectorError> {
    let domain = exchange_domain(node, case)?;
    let it = request::withdrawal(&node.get("request")?)?;
    let shown = node.get("message")?;
    case.same_address(&shown, "owner", &it.owner)?;
    case.member(&shown, "accountID", &it.account_id.to_string())?;
    case.member(&shown, "tokenID", &it.token.to_string())?;
    case.member(&shown, "amount", &it.amount.to_string())?;
    case.member(&shown, "feeTokenID", &it.fee_token.to_string())?;
    case.member(&shown, "maxFee", &it.max_fee.to_string())?;
    case.same_address(&shown, "to", &it.to)?;
    case.member(&shown, "extraData", &text::hex_0x(it.extra_data.bytes()))?;
    case.member(&shown, "minGas", &it.min_gas.to_string())?;
    case.member(&shown, "validUntil", &it.valid_until.to_string())?;
    case.member(&shown, "storageID", &it.storage_id.to_string())?;
    let digest = it.digest(domain.chain_id);
    pool::typed_data(
        node,
        case,
        WithdrawalMessage::TYPE,
        &it.struct_hash(),
        &digest,
    )?;
    Ok(digest)
}

fn account_update(node: &Node<'_>, case: &mut Case) -> Result<Hash32, VectorError> {
    let domain = exchange_domain(node, case)?;
    let it = account::update(&node.get("request")?)?;
    let key = &it.public_key;
    let shown = node.get("message")?;
    case.member(node, "packed_public_key", &key.packed().to_hex())?;
    account::usable_key(node, case, key);
    case.same_address(&shown, "owner", &it.owner)?;
    case.member(&shown, "accountID", &it.account_id.to_string())?;
    case.member(&shown, "feeTokenID", &it.fee_token.to_string())?;
    case.member(&shown, "maxFee", &it.max_fee.to_string())?;
    case.number(&shown, "publicKey", key.packed())?;
    case.member(&shown, "validUntil", &it.valid_until.to_string())?;
    case.member(&shown, "nonce", &it.nonce.to_string())?;
    let digest = it.digest(domain.chain_id);
    pool::typed_data(
        node,
        case,
        AccountUpdateMessage::TYPE,
        &it.struct_hash(),
        &digest,
    )?;
    Ok(digest)
}

fn join(node: &Node<'_>, case: &mut Case) -> Result<Hash32, VectorError> {
    let domain = pool::pool_domain(node, case)?;
    let it: PoolJoinMessage = pool::join(&node.get("request")?)?;
    let shown = node.get("message")?;
    case.same_address(&shown, "owner", &it.owner)?;
    case.list(&shown, "joinAmounts", &texts(&it.join_amounts))?;
    case.list(&shown, "joinStorageIDs", &texts(&it.join_storage_ids))?;
    case.member(&shown, "mintMinAmount", &it.mint_min_amount.to_string())?;
    if let Some(fee) = it.fee {
        case.member(&shown, "fee", &fee.to_string())?;
    }
    case.member(&shown, "validUntil", &it.valid_until.to_string())?;
    let digest = it.digest(&domain);
    pool::typed_data(node, case, it.type_string(), &it.struct_hash(), &digest)?;
    Ok(digest)
}

fn exit(node: &Node<'_>, case: &mut Case) -> Result<Hash32, VectorError> {
    let domain = pool::pool_domain(node, case)?;
    let it = pool::exit(&node.get("request")?)?;
    let shown = node.get("message")?;
    case.same_address(&shown, "owner", &it.owner)?;
    case.member(&shown, "burnAmount", &it.burn_amount.to_string())?;
    case.member(&shown, "burnStorageID", &it.burn_storage_id.to_string())?;
    case.list(&shown, "exitMinAmounts", &texts(&it.exit_min_amounts))?;
    case.member(&shown, "fee", &it.fee.to_string())?;
    case.member(&shown, "validUntil", &it.valid_until.to_string())?;
    let digest = it.digest(&domain);
    pool::typed_data(
        node,
        case,
        PoolExitMessage::TYPE,
        &it.struct_hash(),
        &digest,
    )?;
    Ok(digest)
}

fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// The signer and the wire forms, made again with the wallet's key and recovered.
fn signatures(node: &Node<'_>, case: &mut Case, digest: &Hash32) -> Result<(), VectorError> {
    let wallet = keys::wallet(&node.get("eth_private_key")?)?;
    case.address(node, "signer", &wallet.address())?;
    let typed = wallet.sign_digest(digest);
    let personal = wallet.sign_personal(&digest.0);
    let forms = [
        ("sig65_eip712", typed, None),
        ("sig66_eip712_suffix02", typed, Some(Kind::TypedData)),
        ("sig65_personal", personal, None),
        ("sig66_personal_suffix03", personal, Some(Kind::Personal)),
    ];
    for (name, raw, kind) in forms {
        let form = WireSignature { raw, kind }.to_hex();
        case.member(node, name, &form)?;
        let owned = verify_owner(digest, &form, &wallet.address());
        case.require(owned, node, || {
            format!("{name}: another signer was recovered")
        });
    }
    Ok(())
}
