//! Vectors of key derivation, by `kind`: `sig_to_key`, `secret_to_public`, `wallet_flow`.

use sha2::{Digest, Sha256};

use super::{Case, Node, Shape, VectorError, first_kind_is};
use crate::ecdsa::EthKey;
use crate::secret_key::{SecretKey, key_message};
use crate::text;

pub(super) const SHAPE: Shape = Shape {
    name: "keys",
    recognises: |json| first_kind_is(json, &["sig_to_key", "secret_to_public", "wallet_flow"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let kind = node.get("kind")?;
    let key = match kind.text()? {
        "sig_to_key" => {
            let signature = node.get("sig")?.bytes()?;
            case.member(
                node,
                "sha256_of_sig_bytes",
                &text::hex_0x(&Sha256::digest(&signature)),
            )?;
            from_wallet(node, case, &signature)?
        }
        "secret_to_public" => secret(&node.get("secretKey_hex")?)?,
        "wallet_flow" => {
            let wallet = wallet(&node.get("eth_private_key")?)?;
            case.address(node, "eth_address", &wallet.address())?;
            let message = key_message(
                node.get("exchangeAddress")?.text()?,
                node.get("keyNonce")?.integer()?,
            );
            case.member(node, "message", &message)?;
            let signature = wallet.sign_personal(message.as_bytes());
            case.member(node, "personal_sign", &text::hex_0x(&signature))?;
            from_wallet(node, case, &signature)?
        }
        _ => return Err(kind.malformed("a known kind of key vector")),
    };
    public(node, case, &key)?;
    case.member(node, "packed", &key.public().packed().to_hex())
}

fn from_wallet(
    node: &Node<'_>,
    case: &mut Case,
    signature: &[u8],
) -> Result<SecretKey, VectorError> {
    let key = SecretKey::from_wallet_signature(signature)
        .map_err(|_| node.malformed("a signature that makes a key"))?;
    let (decimal, hex) = (node.get("secretKey_dec")?, node.get("secretKey_hex")?);
    case.require(
        decimal.decimal().is_ok_and(|value| key.is(&value)),
        &decimal,
        || "another key computed".to_owned(),
    );
    case.require(hex.hex().is_ok_and(|value| key.is(&value)), &hex, || {
        "another key computed".to_owned()
    });
    Ok(key)
}

/// A layer-2 secret key in a file.
pub(super) fn secret(node: &Node<'_>) -> Result<SecretKey, VectorError> {
    SecretKey::from_hex(node.text()?).map_err(|_| node.malformed("a secret key in range"))
}

/// A wallet's key in a file.
pub(super) fn wallet(node: &Node<'_>) -> Result<EthKey, VectorError> {
    EthKey::from_hex(node.text()?).map_err(|_| node.malformed("a secret key in range"))
}

/// The members `publicKeyX` and `publicKeyY` must be those of `key`.
pub(super) fn public(node: &Node<'_>, case: &mut Case, key: &SecretKey) -> Result<(), VectorError> {
    case.member(node, "publicKeyX", &key.public().x.to_hex())?;
    case.member(node, "publicKeyY", &key.public().y.to_hex())
}
