//! Values published as answers or requests of a real service, by `kind`. Optional members are checked when present.

use super::eddsa::{SignatureCheck, check_signature, divided_by_order};
use super::{Case, Node, Shape, VectorError, account, api_sig, first_kind_is, order, request};
use crate::ecdsa::verify_owner;
use crate::field::Field;
use crate::hash32::Hash32;
use crate::messages::WithdrawalMessage;
use crate::request_signature::message;
use crate::signature::Signature;

const KINDS: [&str; 5] = [
    "order_hash",
    "transfer",
    "withdrawal",
    "account_update_ecdsa",
    "x_api_sig",
];

pub(super) const SHAPE: Shape = Shape {
    name: "real service",
    recognises: |json| first_kind_is(json, &KINDS),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let kind = node.get("kind")?;
    match kind.text()? {
        "order_hash" => {
            let hash = order::order(&node.get("order")?)?.hash();
            case.member(node, "hash", &hash.to_hex())?;
            eddsa_if_present(node, case, &[hash.message()])
        }
        "transfer" => {
            let transfer = request::transfer(&node.get("request")?)?;
            case.member(node, "hash", &transfer.hash().to_hex())?;
            eddsa_if_present(node, case, &[transfer.hash().message()])?;
            ecdsa(node, case, &transfer.digest(chain_id(node)?))
        }
        "withdrawal" => {
            let withdrawal: WithdrawalMessage = request::withdrawal(&node.get("request")?)?;
            // Either reading of the extra data is one that clients sign.
            let hash = node.get("hash")?;
            let hashes = [withdrawal.hash(), withdrawal.hash_of_text()];
            let known = hash
                .text()
                .is_ok_and(|text| hashes.iter().any(|hash| hash.to_hex() == text));
            case.require(known, &hash, || format!("computed {}", hashes[0]));
            eddsa_if_present(node, case, &hashes.map(|hash| hash.message()))?;
            ecdsa(node, case, &withdrawal.digest(chain_id(node)?))
        }
        "account_update_ecdsa" => {
            let update = account::update(&node.get("request")?)?;
            account::usable_key(node, case, &update.public_key);
            ecdsa(node, case, &update.digest(chain_id(node)?))
        }
        "x_api_sig" => {
            let texts = api_sig::Request::read(node)?.candidates();
            let messages: Vec<Field> = texts.iter().map(|text| message(text)).collect();
            let header = node.get("x_api_sig")?;
            let found = check_signature(node, header.text()?, &messages)?;
            case.require(found == SignatureCheck::Accepted, &header, || {
                format!("found {found:?}")
            });
            if let (Some(quotient), Ok(signature)) = (
                node.optional("S_div_L"),
                Signature::from_hex(header.text()?),
            ) {
                case.same(&quotient, &divided_by_order(signature.s()).0);
            }
            Ok(())
        }
        _ => Err(kind.malformed("a known kind of published value")),
    }
}

fn chain_id(node: &Node<'_>) -> Result<u64, VectorError> {
    node.get("chainId")?.integer()
}

/// `ecdsaSignature` and `signer` belong together with the digest; `eip712_digest` is checked when present.
fn ecdsa(node: &Node<'_>, case: &mut Case, digest: &Hash32) -> Result<(), VectorError> {
    if node.optional("eip712_digest").is_some() {
        case.member(node, "eip712_digest", &digest.to_hex())?;
    }
    let (signature, signer) = (node.get("ecdsaSignature")?, node.get("signer")?);
    let owned = verify_owner(digest, signature.text()?, &signer.address()?);
    case.require(owned, &signature, || {
        "another signer was recovered".to_owned()
    });
    Ok(())
}

/// A layer-2 signature with its key, where one was published.
fn eddsa_if_present(
    node: &Node<'_>,
    case: &mut Case,
    messages: &[Field],
) -> Result<(), VectorError> {
    let (Some(signature), Some(_)) = (node.optional("eddsaSignature"), node.optional("publicKeyX"))
    else {
        return Ok(());
    };
    let found = check_signature(node, signature.text()?, messages)?;
    case.require(found == SignatureCheck::Accepted, &signature, || {
        format!("found {found:?}")
    });
    Ok(())
}
