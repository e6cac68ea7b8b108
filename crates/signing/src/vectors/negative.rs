//! Vectors of tampered and unusual signatures with the expected result, by `kind`.
//!
//! `expect` begins with `accept`, `reject` or `implementation choice`; the last is evaluated but only reported.

use super::eddsa::{SignatureCheck, check_signature};
use super::{Case, Node, Shape, VectorError, api_sig, first_has, order, pool, request};
use crate::ecdsa::{WireSignature, verify_owner};
use crate::field::Field;
use crate::hash32::Hash32;
use crate::request_signature;

pub(super) const SHAPE: Shape = Shape {
    name: "negative",
    recognises: |json| first_has(json, &["expect"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let expect_node = node.get("expect")?;
    let expect = expect_node.text()?;
    let found = found(node)?;
    let holds = if starts_with_words(expect, "implementation choice") {
        case.report_only();
        found != SignatureCheck::Disagreement
    } else if starts_with_words(expect, "accept") {
        found == SignatureCheck::Accepted
    } else if starts_with_words(expect, "reject (malformed)") {
        found == SignatureCheck::Malformed
    } else if starts_with_words(expect, "reject") {
        matches!(found, SignatureCheck::Refused | SignatureCheck::Malformed)
    } else {
        return Err(expect_node.malformed("accept, reject or implementation choice"));
    };
    case.require(holds, &expect_node, || {
        format!("the file has {expect}, found {found:?}")
    });
    Ok(())
}

/// Whether the text begins with these words.
fn starts_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn found(node: &Node<'_>) -> Result<SignatureCheck, VectorError> {
    let kind = node.get("kind")?;
    match kind.text()? {
        "order" => eddsa(node, &[order::order(&node.get("order")?)?.hash().message()]),
        "transfer" => eddsa(
            node,
            &[request::transfer(&node.get("request")?)?.hash().message()],
        ),
        "withdrawal" => {
            let withdrawal = request::withdrawal(&node.get("request")?)?;
            eddsa(
                node,
                &[
                    withdrawal.hash().message(),
                    withdrawal.hash_of_text().message(),
                ],
            )
        }
        "account_update" => {
            let update = super::account::update(&node.get("request")?)?;
            eddsa(node, &[update.hash().message()])
        }
        "amm_join" => eddsa(
            node,
            &[pool::join(&node.get("request")?)?.message(&pool::patch_domain(node)?)],
        ),
        "amm_exit" => eddsa(
            node,
            &[pool::exit(&node.get("request")?)?.message(&pool::patch_domain(node)?)],
        ),
        "api_sig" => {
            let texts = api_sig::Request::read(node)?.candidates();
            let messages: Vec<Field> = texts
                .iter()
                .map(|text| request_signature::message(text))
                .collect();
            check_signature(node, node.get("x_api_sig")?.text()?, &messages)
        }
        "ecdsa" => {
            let digest = node.get("eip712_digest")?;
            let digest =
                Hash32::from_hex(digest.text()?).map_err(|_| digest.malformed("a digest"))?;
            let owner = node.get("signer")?.address()?;
            let signature = node.get("ecdsaSignature")?;
            if WireSignature::from_hex(signature.text()?).is_err() {
                return Ok(SignatureCheck::Malformed);
            }
            let owned = verify_owner(&digest, signature.text()?, &owner);
            Ok(if owned {
                SignatureCheck::Accepted
            } else {
                SignatureCheck::Refused
            })
        }
        _ => Err(kind.malformed("a known kind of signature")),
    }
}

fn eddsa(node: &Node<'_>, messages: &[Field]) -> Result<SignatureCheck, VectorError> {
    check_signature(node, node.get("eddsaSignature")?.text()?, messages)
}
