//! Signatures of private requests: `API-Sign` is HMAC-SHA-512 of the path and of SHA-256 of nonce and body, with the
//! decoded secret as key, in Base64 (specification, "Authentication").

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bytes of a secret that are accepted. Kraken's have 64.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 32..=128;

/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 64;

/// The secret half of an API key. Wiped on drop, never shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The text is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the private key of an API key: 32 to 128 bytes in Base64 are expected")]
pub struct InvalidSecret;

impl Secret {
    /// Reads the Base64 text that the exchange shows once, when the key is made.
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| InvalidSecret)?;
        Self::from_bytes(bytes)
    }

    /// A secret of these bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, InvalidSecret> {
        let bytes = Zeroizing::new(bytes);
        if SECRET_BYTES.contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(InvalidSecret)
        }
    }

    /// Its text, for a file of its holder.
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0.as_slice()))
    }

    /// `API-Sign` of a request: `path` with its leading slash and without host and query, `nonce` as written in the
    /// body, `body` as sent.
    pub fn sign(&self, path: &str, nonce: &str, body: &[u8]) -> String {
        STANDARD.encode(self.mac(path, nonce, body))
    }

    /// Whether a signature is that of the request. Takes the same time wherever it differs.
    pub fn verify(&self, path: &str, nonce: &str, body: &[u8], signature: &str) -> bool {
        let Ok(signature) = STANDARD.decode(signature) else {
            return false;
        };
        self.mac(path, nonce, body).ct_eq(&signature).into()
    }

    fn mac(&self, path: &str, nonce: &str, body: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let inner = Sha256::new()
            .chain_update(nonce.as_bytes())
            .chain_update(body)
            .finalize();
        // Every length is a valid key of an HMAC.
        let Ok(mac) = Hmac::<Sha512>::new_from_slice(&self.0) else {
            unreachable!("an HMAC takes keys of every length");
        };
        mac.chain_update(path.as_bytes())
            .chain_update(inner)
            .finalize()
            .into_bytes()
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str =
        "kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg==";
    const BODY: &[u8] =
        b"nonce=1616492376594&ordertype=limit&pair=XBTUSD&price=37500&type=buy&volume=1.25";
    const SIGNATURE: &str =
        "4/dpxb3iT4tp/ZCVEwSnEsLxx0bqyhLpdfOpc6fn7OR8+UClSV5n9E6aSS8MPtnRfp32bAb0nmbRn6H8ndwLUQ==";

    /// The documented example.
    #[test]
    fn the_published_example_is_signed_and_verified() -> Result<(), InvalidSecret> {
        let secret = Secret::parse(SECRET)?;
        let (path, nonce) = ("/0/private/AddOrder", "1616492376594");
        assert_eq!(secret.sign(path, nonce, BODY), SIGNATURE);
        assert!(secret.verify(path, nonce, BODY, SIGNATURE));
        assert!(!secret.verify("/0/private/AddOrders", nonce, BODY, SIGNATURE));
        assert!(!secret.verify(path, "1616492376595", BODY, SIGNATURE));
        assert!(!secret.verify(path, nonce, &BODY[1..], SIGNATURE));
        assert!(!secret.verify(path, nonce, BODY, &SIGNATURE[4..]));
        assert!(!secret.verify(path, nonce, BODY, ""));
        assert!(!secret.verify(path, nonce, BODY, "no base64!"));
        assert_eq!(secret.to_text().as_str(), SECRET);
        Ok(())
    }

    #[test]
    fn a_secret_has_32_to_128_bytes_and_is_not_shown() -> Result<(), InvalidSecret> {
        for (length, good) in [(31, false), (32, true), (128, true), (129, false)] {
            assert_eq!(
                Secret::from_bytes(vec![7; length]).is_ok(),
                good,
                "{length}"
            );
        }
        assert_eq!(Secret::parse("no base64!").err(), Some(InvalidSecret));
        let shown = format!("{:?}", Secret::parse(SECRET)?);
        assert_eq!(shown, "Secret(..)");
        Ok(())
    }
}
