//! Signatures of Ethereum wallets: signing, parsing, recovery of the signer. (Clause: EIP-712, ECDSA wire form.)
//!
//! Works on digests only.

use core::fmt;

use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use zeroize::{Zeroize, Zeroizing};

use crate::address::Address;
use crate::error::SignError;
use crate::field::Field;
use crate::hash32::Hash32;
use crate::keccak::keccak256;
use crate::text;

/// r ‖ s ‖ v, v being 27 or 28.
pub type Raw = [u8; 65];

/// How the digest was signed, given by the 66th byte of the wire form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Type byte 02: the digest itself was signed (typed data).
    TypedData,
    /// Type byte 03: the digest was signed as a personal message of 32 bytes.
    Personal,
}

/// A wallet's signature in wire form: 65 bytes, with or without a type byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireSignature {
    /// r ‖ s ‖ v.
    pub raw: Raw,
    /// The type byte; later public clients omit it.
    pub kind: Option<Kind>,
}

impl WireSignature {
    /// Parses `0x` and 130 or 132 hexadecimal digits. v must be 27 or 28.
    ///
    /// # Errors
    /// [`SignError::MalformedEcdsa`] for any other length, v or type byte.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        let bytes = text::bytes_from_hex(text).ok_or(SignError::MalformedEcdsa)?;
        let (raw, kind) = bytes
            .split_at_checked(65)
            .ok_or(SignError::MalformedEcdsa)?;
        let kind = match kind {
            [] => None,
            [2] => Some(Kind::TypedData),
            [3] => Some(Kind::Personal),
            _ => return Err(SignError::MalformedEcdsa),
        };
        let raw: Raw = raw.try_into().map_err(|_| SignError::MalformedEcdsa)?;
        if !matches!(raw[64], 27 | 28) {
            return Err(SignError::MalformedEcdsa);
        }
        Ok(Self { raw, kind })
    }

    /// `0x` and 130 or 132 lower-case digits.
    pub fn to_hex(&self) -> String {
        let mut out = text::hex_0x(&self.raw);
        out.push_str(match self.kind {
            None => "",
            Some(Kind::TypedData) => "02",
            Some(Kind::Personal) => "03",
        });
        out
    }

    /// Possible signers of `digest`: one address if there is a type byte, up to two without one.
    pub fn signers(&self, digest: &Hash32) -> Vec<Address> {
        let typed = || recover(digest, &self.raw).ok();
        let personal = || recover(&personal_digest(&digest.0), &self.raw).ok();
        match self.kind {
            Some(Kind::TypedData) => typed().into_iter().collect(),
            Some(Kind::Personal) => personal().into_iter().collect(),
            None => typed().into_iter().chain(personal()).collect(),
        }
    }
}

/// Whether `signature` (its wire text) was made by `owner` for `digest`. With a type byte only that way of signing is
/// accepted, without one both are.
pub fn verify_owner(digest: &Hash32, signature: &str, owner: &Address) -> bool {
    WireSignature::from_hex(signature).is_ok_and(|wire| wire.signers(digest).contains(owner))
}

/// The address whose key signed exactly this digest.
///
/// # Errors
/// [`SignError::Unrecoverable`] if v is neither 27 nor 28, s is above half the group order, or no key fits.
pub fn recover(digest: &Hash32, raw: &Raw) -> Result<Address, SignError> {
    let failed = |_| SignError::Unrecoverable;
    let signature = Signature::from_slice(&raw[..64]).map_err(failed)?;
    let parity = raw[64]
        .checked_sub(27)
        .filter(|parity| *parity < 2)
        .ok_or(SignError::Unrecoverable)?;
    if signature.normalize_s() != signature {
        return Err(SignError::Unrecoverable);
    }
    let id = RecoveryId::new(parity == 1, false);
    VerifyingKey::recover_from_prehash(&digest.0, &signature, id)
        .map(|key| address_of(&key))
        .map_err(failed)
}

/// keccak256 of a personal message: `"\x19Ethereum Signed Message:\n"`, the length in decimal, the message.
pub fn personal_digest(message: &[u8]) -> Hash32 {
    let length = message.len().to_string();
    Hash32(keccak256(&[
        b"\x19Ethereum Signed Message:\n",
        length.as_bytes(),
        message,
    ]))
}

/// The key of an Ethereum account. Wiped on drop, never printed.
pub struct EthKey(SigningKey);

impl EthKey {
    /// Parses `0x` and 1 to 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`SignError::MalformedInteger`], or [`SignError::SecretOutOfRange`] for zero and for the group order and above.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        let mut bytes = Field::from_hex(text)?.to_be_bytes();
        let key = SigningKey::from_slice(&bytes);
        bytes.zeroize();
        key.map(Self).map_err(|_| SignError::SecretOutOfRange)
    }

    /// As [`from_hex`](Self::from_hex), and exactly 64 digits without `0x` as well, as some wallets export a key.
    ///
    /// # Errors
    /// As [`from_hex`](Self::from_hex).
    pub fn from_digits(text: &str) -> Result<Self, SignError> {
        let is_bare = text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_bare {
            Self::from_hex(&Zeroizing::new(format!("0x{text}")))
        } else {
            Self::from_hex(text)
        }
    }

    /// The account's address.
    pub fn address(&self) -> Address {
        address_of(self.0.verifying_key())
    }

    /// Signs a digest: deterministic (RFC 6979), s in the lower half of the group order.
    pub fn sign_digest(&self, digest: &Hash32) -> Raw {
        let (signature, id) = self.0.sign_prehash_recoverable(&digest.0);
        let mut raw = [0; 65];
        raw[..64].copy_from_slice(&signature.to_bytes());
        raw[64] = 27 + u8::from(id.is_y_odd());
        raw
    }

    /// Signs a text or other bytes as a personal message.
    pub fn sign_personal(&self, message: &[u8]) -> Raw {
        self.sign_digest(&personal_digest(message))
    }

    /// Signs typed data in the 66-byte wire form.
    pub fn sign_typed(&self, digest: &Hash32) -> WireSignature {
        WireSignature {
            raw: self.sign_digest(digest),
            kind: Some(Kind::TypedData),
        }
    }
}

impl fmt::Debug for EthKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EthKey(redacted)")
    }
}

/// The last 20 bytes of keccak256(x ‖ y).
fn address_of(key: &VerifyingKey) -> Address {
    let point = key.to_sec1_point(false);
    let hash = keccak256(&[point.as_bytes().get(1..).unwrap_or_default()]);
    let mut out = [0; 20];
    out.copy_from_slice(&hash[12..]);
    Address(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn both_wire_forms_name_their_signer() {
        let key =
            EthKey::from_hex("0x089228899e1b855cacd9dcc32a83ff0461cc089656995db5a5f248eb3d458ace")
                .unwrap();
        assert_eq!(
            key.address().to_checksum(),
            "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b"
        );
        let digest = Hash32([7; 32]);
        let typed = key.sign_typed(&digest).to_hex();
        let personal = WireSignature {
            raw: key.sign_personal(&digest.0),
            kind: Some(Kind::Personal),
        }
        .to_hex();
        for text in [&typed, &personal] {
            assert!(verify_owner(&digest, text, &key.address()));
            assert!(verify_owner(&digest, &text[..132], &key.address()));
            assert!(!verify_owner(&Hash32([8; 32]), text, &key.address()));
            assert!(!verify_owner(&digest, text, &Address::ZERO));
            assert_eq!(WireSignature::from_hex(text).unwrap().to_hex(), **text);
        }
        let swapped = [
            format!("{}03", &typed[..132]),
            format!("{}02", &personal[..132]),
        ];
        assert!(
            swapped
                .iter()
                .all(|text| !verify_owner(&digest, text, &key.address()))
        );
    }

    #[test]
    fn malformed_signatures_are_refused() {
        let key = EthKey::from_hex("0x1").unwrap();
        let good = key.sign_typed(&Hash32([1; 32])).to_hex();
        for bad in [
            "",
            "0x",
            &good[2..],
            &good[..130],
            &format!("{}04", &good[..132]),
            &format!("{good}00"),
        ] {
            assert_eq!(
                WireSignature::from_hex(bad),
                Err(SignError::MalformedEcdsa),
                "{bad}"
            );
        }
        let low_v = format!("{}00{}", &good[..130], &good[132..]);
        assert_eq!(
            WireSignature::from_hex(&low_v),
            Err(SignError::MalformedEcdsa)
        );
        assert_eq!(
            recover(&Hash32([1; 32]), &[0; 65]),
            Err(SignError::Unrecoverable)
        );
    }

    #[test]
    fn a_key_of_64_digits_needs_no_prefix() {
        let digits = "089228899e1b855cacd9dcc32a83ff0461cc089656995db5a5f248eb3d458ace";
        let address = EthKey::from_digits(digits).unwrap().address();
        let prefixed = EthKey::from_digits(&format!("0x{digits}")).unwrap();
        assert_eq!(prefixed.address(), address);
        for bad in [
            &digits[1..],
            &format!("{digits}0"),
            "1",
            "",
            &digits.replace('b', "g"),
        ] {
            assert_eq!(
                EthKey::from_digits(bad).unwrap_err(),
                SignError::MalformedInteger,
                "{bad}"
            );
        }
    }

    #[test]
    fn secrets_are_checked_and_never_shown() {
        let order = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        assert_eq!(
            EthKey::from_hex("0x0").unwrap_err(),
            SignError::SecretOutOfRange
        );
        assert_eq!(
            EthKey::from_hex(order).unwrap_err(),
            SignError::SecretOutOfRange
        );
        assert_eq!(
            format!("{:?}", EthKey::from_hex("0x1").unwrap()),
            "EthKey(redacted)"
        );
    }
}
