//! Vectors of bare signatures, and the check of a signature that other files share.

use num_bigint::BigUint;

use super::{Case, Node, Shape, VectorError, first_has, keys};
use crate::field::Field;
use crate::public_key::PublicKey;
use crate::secret_key::SecretKey;
use crate::signature::Signature;

pub(super) const SHAPE: Shape = Shape {
    name: "eddsa",
    recognises: |json| first_has(json, &["secretKey", "message", "S"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

/// The order of the base point.
const ORDER: &[u8] =
    b"2736030358979909402780800718157159386076813972158567259200215660948447373041";

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let key = keys::secret(&node.get("secretKey")?)?;
    let message = node.get("message")?.decimal()?;
    keys::public(node, case, &key)?;
    case.member(node, "message_hex", &message.to_hex())?;
    case.member(node, "nonce_r", &key.nonce_number(&message).to_decimal())?;
    let signature = sign(node, case, &key, &message)?;
    case.member(
        node,
        "challenge_t",
        &signature.challenge(&key.public(), &message).to_decimal(),
    )?;
    case.signature_parts(node, &signature)?;
    case.member(node, "signature", &signature.to_hex())?;

    let (quotient, remainder) = divided_by_order(signature.s());
    case.flag(node, "S_ge_L", quotient != "0")?;
    case.member(node, "S_div_L", &quotient)?;
    case.member(node, "S_reduced_mod_L", &remainder.to_hex())?;
    let reduced = Signature::new(signature.rx(), signature.ry(), remainder);
    let accepted = reduced.is_ok_and(|reduced| key.public().verify(&message, &reduced));
    case.require(accepted, node, || {
        "the signature with S reduced was refused".to_owned()
    });
    Ok(())
}

/// S as quotient and remainder by the order of the base point.
pub(super) fn divided_by_order(s: Field) -> (String, Field) {
    let s = BigUint::from_bytes_be(&s.to_be_bytes());
    let order = BigUint::parse_bytes(ORDER, 10).unwrap_or_default();
    let remainder = Field::from_decimal(&(&s % &order).to_string()).unwrap_or_default();
    ((s / order).to_string(), remainder)
}

/// Signs, and requires that plain and prepared verification accept the result.
pub(super) fn sign(
    node: &Node<'_>,
    case: &mut Case,
    key: &SecretKey,
    message: &Field,
) -> Result<Signature, VectorError> {
    let signature = key
        .sign(message)
        .map_err(|_| node.malformed("a message that can be signed"))?;
    let accepted =
        key.public().verify(message, &signature) && key.prepared().verify(message, &signature);
    case.require(accepted, node, || {
        "the own signature does not verify".to_owned()
    });
    Ok(signature)
}

/// The members that all signed requests share: the key, the signature and its parts.
pub(super) fn signed(
    node: &Node<'_>,
    case: &mut Case,
    key: &SecretKey,
    message: &Field,
) -> Result<(), VectorError> {
    keys::public(node, case, key)?;
    let signature = sign(node, case, key, message)?;
    case.member(node, "eddsaSignature", &signature.to_hex())?;
    case.signature_parts(node, &signature)
}

/// The result of verifying the text as a signature of `message` by the key in the file.
pub(super) fn check_signature(
    node: &Node<'_>,
    signature: &str,
    messages: &[Field],
) -> Result<SignatureCheck, VectorError> {
    let key = PublicKey {
        x: node.get("publicKeyX")?.hex()?,
        y: node.get("publicKeyY")?.hex()?,
    };
    let Ok(signature) = Signature::from_hex(signature) else {
        return Ok(SignatureCheck::Malformed);
    };
    let plain = messages
        .iter()
        .any(|message| key.verify(message, &signature));
    let prepared = key.prepare();
    let fast = messages
        .iter()
        .any(|message| prepared.verify(message, &signature));
    Ok(match (plain, fast) {
        (true, true) => SignatureCheck::Accepted,
        (false, false) => SignatureCheck::Refused,
        _ => SignatureCheck::Disagreement,
    })
}

/// Result of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SignatureCheck {
    /// Valid.
    Accepted,
    /// Well formed but not valid.
    Refused,
    /// Not well formed, or not canonical.
    Malformed,
    /// Plain and prepared verification differ, which is a bug.
    Disagreement,
}
