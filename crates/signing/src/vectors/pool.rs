//! Vectors of pool joins and exits, and the two requests as the interface writes them.

use super::{Case, Node, Shape, VectorError, eddsa, first_has, keys};
use crate::eip712::Domain;
use crate::field::Field;
use crate::hash32::Hash32;
use crate::messages::{PoolExitMessage, PoolJoinMessage};

pub(super) const JOINS: Shape = Shape {
    name: "pool joins",
    recognises: |json| first_has(json, &["request.joinTokens", "signed_message"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate_join),
};

pub(super) const EXITS: Shape = Shape {
    name: "pool exits",
    recognises: |json| first_has(json, &["request.exitTokens", "signed_message"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate_exit),
};

fn evaluate_join(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let domain = pool_domain(node, case)?;
    let key = keys::secret(&node.get("patch")?.get("eddsaKey")?)?;
    let mut join = join(&node.get("request")?)?;
    typed_data(
        node,
        case,
        join.type_string(),
        &join.struct_hash(),
        &join.digest(&domain),
    )?;
    case.member(node, "signed_message", &join.message(&domain).to_decimal())?;
    eddsa::signed(node, case, &key, &join.message(&domain))?;

    if let Some(earlier) = node.optional("without_fee_field") {
        join.fee = None;
        typed_data(
            &earlier,
            case,
            join.type_string(),
            &join.struct_hash(),
            &join.digest(&domain),
        )?;
        let message: Field = join.message(&domain);
        case.member(&earlier, "signed_message", &message.to_decimal())?;
        let signature = eddsa::sign(&earlier, case, &key, &message)?;
        case.member(&earlier, "eddsaSignature", &signature.to_hex())?;
    }
    Ok(())
}

fn evaluate_exit(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let domain = pool_domain(node, case)?;
    let key = keys::secret(&node.get("patch")?.get("eddsaKey")?)?;
    let exit = exit(&node.get("request")?)?;
    typed_data(
        node,
        case,
        PoolExitMessage::TYPE,
        &exit.struct_hash(),
        &exit.digest(&domain),
    )?;
    case.member(node, "signed_message", &exit.message(&domain).to_decimal())?;
    eddsa::signed(node, case, &key, &exit.message(&domain))
}

/// The domain that `patch` gives, checked against `domain`, `domainSeparator` and the request.
pub(super) fn pool_domain(node: &Node<'_>, case: &mut Case) -> Result<Domain, VectorError> {
    let computed = patch_domain(node)?;
    let request = node.get("request")?;
    case.same_address(&request, "poolAddress", &computed.verifying_contract)?;
    domain(node, case, &computed)?;
    Ok(computed)
}

/// The domain that `patch` gives.
pub(super) fn patch_domain(node: &Node<'_>) -> Result<Domain, VectorError> {
    let patch = node.get("patch")?;
    let chain_id = patch.get("chainId")?.integer()?;
    Ok(Domain::pool(
        chain_id,
        patch.get("ammName")?.text()?,
        patch.get("poolAddress")?.address()?,
    ))
}

/// The members `domain` and `domainSeparator`.
pub(super) fn domain(
    node: &Node<'_>,
    case: &mut Case,
    computed: &Domain,
) -> Result<(), VectorError> {
    let stated = node.get("domain")?;
    case.member(&stated, "name", &computed.name)?;
    case.member(&stated, "version", &computed.version)?;
    case.member(&stated, "chainId", &computed.chain_id.to_string())?;
    case.same_address(&stated, "verifyingContract", &computed.verifying_contract)?;
    case.member(node, "domainSeparator", &computed.separator().to_hex())
}

/// The members `typeString`, `structHash` and `eip712_digest`.
pub(super) fn typed_data(
    node: &Node<'_>,
    case: &mut Case,
    type_string: &str,
    struct_hash: &Hash32,
    digest: &Hash32,
) -> Result<(), VectorError> {
    case.member(node, "typeString", type_string)?;
    case.member(node, "structHash", &struct_hash.to_hex())?;
    case.member(node, "eip712_digest", &digest.to_hex())
}

/// A pool join as requests write it.
pub(super) fn join(node: &Node<'_>) -> Result<PoolJoinMessage, VectorError> {
    let tokens = node.get("joinTokens")?;
    let ids = node.get("storageIds")?.items()?;
    Ok(PoolJoinMessage {
        owner: node.get("owner")?.address()?,
        join_amounts: volumes(&tokens.get("pooled")?)?,
        join_storage_ids: ids.iter().map(Node::integer).collect::<Result<_, _>>()?,
        mint_min_amount: tokens.get("minimumLp")?.get("volume")?.integer()?,
        fee: node.optional("fee").map(|fee| fee.integer()).transpose()?,
        valid_until: node.get("validUntil")?.integer()?,
    })
}

/// A pool exit as requests write it.
pub(super) fn exit(node: &Node<'_>) -> Result<PoolExitMessage, VectorError> {
    let tokens = node.get("exitTokens")?;
    Ok(PoolExitMessage {
        owner: node.get("owner")?.address()?,
        burn_amount: tokens.get("burned")?.get("volume")?.integer()?,
        burn_storage_id: node.get("storageId")?.integer()?,
        exit_min_amounts: volumes(&tokens.get("unPooled")?)?,
        fee: node.get("maxFee")?.integer()?,
        valid_until: node.get("validUntil")?.integer()?,
    })
}

fn volumes(list: &Node<'_>) -> Result<Vec<u128>, VectorError> {
    list.items()?
        .iter()
        .map(|item| item.get("volume")?.integer())
        .collect()
}
