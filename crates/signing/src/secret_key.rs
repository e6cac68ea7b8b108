//! Secret keys of layer 2: parsing, derivation, signing.
//!
//! The memory of a secret is wiped when it is dropped, and nothing here prints one.

use core::fmt;

use ark_ff::{AdditiveGroup, PrimeField};
use sha2::{Digest, Sha256, Sha512};
use zeroize::{Zeroize, Zeroizing};

use crate::curve::Affine;
use crate::curve::table::BASE_TABLE;
use crate::error::SignError;
use crate::field::{self, Field, Fl, Fq};
use crate::public_key::{self, PreparedKey, PublicKey};
use crate::signature::Signature;

/// A secret key: an integer from 1 to L − 1. It cannot be printed, compared or serialised, and is wiped on drop.
///
/// ```compile_fail
/// fn printable<T: std::fmt::Display>() {}
/// printable::<cambist_signing::SecretKey>();
/// ```
pub struct SecretKey {
    /// Boxed, so that moving the key leaves no copies.
    scalar: Box<Scalar>,
    public: Affine,
    /// Verifies own signatures before they are returned.
    prepared: Box<PreparedKey>,
}

/// The secret number in the form of the arithmetic.
struct Scalar(Fl);

impl Drop for Scalar {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl SecretKey {
    /// Parses `0x` and 1 to 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`SignError::MalformedInteger`], or [`SignError::SecretOutOfRange`] for zero and for the group order and above.
    pub fn from_hex(text: &str) -> Result<Self, SignError> {
        let mut value = Field::from_hex(text)?.to_be_bytes();
        let scalar = Fl::from_bigint(field::limbs(&value));
        value.zeroize();
        Self::from_scalar(scalar.ok_or(SignError::SecretOutOfRange)?)
    }

    /// Derives the key from a wallet's signature of the key message (see [`key_message`]): its SHA-256 digest, read as a
    /// little-endian integer, modulo the group order. (Clause: secret key from a wallet.)
    ///
    /// # Errors
    /// [`SignError::SecretOutOfRange`] if the result is zero.
    pub fn from_wallet_signature(signature: &[u8]) -> Result<Self, SignError> {
        let mut digest: [u8; 32] = Sha256::digest(signature).into();
        let scalar = Fl::from_le_bytes_mod_order(&digest);
        digest.zeroize();
        Self::from_scalar(scalar)
    }

    fn from_scalar(mut scalar: Fl) -> Result<Self, SignError> {
        if scalar == Fl::ZERO {
            return Err(SignError::SecretOutOfRange);
        }
        let secret = Box::new(Scalar(scalar));
        scalar.zeroize();
        let public = BASE_TABLE
            .times_secret(&Zeroizing::new(secret.0.into_bigint().0))
            .to_affine();
        let prepared = Box::new(PublicKey::from(public).prepare());
        Ok(Self {
            scalar: secret,
            public,
            prepared,
        })
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        *self.prepared.key()
    }

    /// The public key with its table, for verifying own signatures often.
    pub fn prepared(&self) -> &PreparedKey {
        &self.prepared
    }

    /// Signs a message: a hash, or any 256-bit integer. The same message always gives the same bytes.
    ///
    /// The signature is verified before it is returned, so a fault of memory or arithmetic cannot leak the key.
    /// (Clause: EdDSA signature.)
    ///
    /// # Errors
    /// [`SignError::SelfCheck`] if that verification fails; nothing is released then.
    pub fn sign(&self, message: &Field) -> Result<Signature, SignError> {
        let signature = self.sign_unchecked(message)?;
        if self.prepared.verify(message, &signature) {
            Ok(signature)
        } else {
            Err(SignError::SelfCheck)
        }
    }

    /// The signature without the verification of [`Self::sign`]. For measuring the difference only: a wrongly computed
    /// signature can reveal the secret.
    #[doc(hidden)]
    pub fn sign_unchecked(&self, message: &Field) -> Result<Signature, SignError> {
        let nonce = self.nonce(message);
        let r = BASE_TABLE
            .times_secret(&Zeroizing::new(nonce.0.into_bigint().0))
            .to_affine();
        let t = public_key::challenge(&r, &self.public, message);
        let s = self.response(&nonce, &t);
        Signature::new(r.x.into(), r.y.into(), s).map_err(|_| SignError::SelfCheck)
    }

    /// Whether this is the key with that number. For test vectors, which contain secrets.
    pub(crate) fn is(&self, number: &Field) -> bool {
        Field::from(self.scalar.0.into_bigint()) == *number
    }

    /// The nonce of a message. For test vectors only: together with a signature it reveals the secret.
    pub(crate) fn nonce_number(&self, message: &Field) -> Field {
        Field::from(self.nonce(message).0.into_bigint())
    }

    /// r = SHA-512(secret ‖ message), both 32 bytes little-endian, as a little-endian integer modulo L.
    fn nonce(&self, message: &Field) -> Scalar {
        let mut input = Zeroizing::new([0_u8; 64]);
        let mut secret = field::bytes_be(&self.scalar.0.into_bigint());
        secret.reverse();
        input[..32].copy_from_slice(&secret);
        input[32..].copy_from_slice(&message.to_le_bytes());
        secret.zeroize();
        let digest: Zeroizing<[u8; 64]> = Zeroizing::new(Sha512::digest(*input).into());
        Scalar(Fl::from_le_bytes_mod_order(&*digest))
    }

    /// S = (r + secret·t) mod 8L, combined from its remainders modulo L and modulo 8.
    fn response(&self, nonce: &Scalar, t: &[u64; 4]) -> Field {
        // t is below p < 8L; only its remainder modulo L matters in the first part.
        let t_modulo = Fl::from_le_bytes_mod_order(&le_bytes(t));
        let modulo_order = (nonce.0 + self.scalar.0 * t_modulo).into_bigint();
        let secret = Zeroizing::new(self.scalar.0.into_bigint().0);
        let r = Zeroizing::new(nonce.0.into_bigint().0);
        let modulo_eight = r[0].wrapping_add(secret[0].wrapping_mul(t[0])) & 7;
        // S = modulo_order + k·L with k·L ≡ modulo_eight − modulo_order (mod 8). An odd number is its own inverse mod 8.
        let order = Fl::MODULUS.0;
        let k = modulo_eight
            .wrapping_sub(modulo_order.0[0])
            .wrapping_mul(order[0])
            & 7;
        let mut s = modulo_order.0;
        add_multiple(&mut s, k, &order);
        if ark_ff::BigInt(s) >= Fq::MODULUS {
            // Probability 2^−59: S is in the gap between p and 8L. Another representative is equally valid.
            s = modulo_order.0;
        }
        Field::from(ark_ff::BigInt(s))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(redacted)")
    }
}

/// The text a wallet signs (personal_sign) to derive the key. `exchange` is the exchange's address exactly as published
/// (normally with its checksum), `nonce` the key nonce: the account's nonce less one for an existing key, its current
/// nonce for a new one. An account record with a non-empty `keySeed` uses that text instead.
pub fn key_message(exchange: &str, nonce: u64) -> String {
    format!("Sign this message to access Loopring Exchange: {exchange} with key nonce: {nonce}")
}

fn le_bytes(limbs: &[u64; 4]) -> [u8; 32] {
    let mut out = [0; 32];
    for (chunk, limb) in out.chunks_exact_mut(8).zip(limbs) {
        chunk.copy_from_slice(&limb.to_le_bytes());
    }
    out
}

/// value += k·multiplicand; the caller knows that the sum is below 2^256.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the two halves of a 128-bit number are taken on purpose"
)]
fn add_multiple(value: &mut [u64; 4], k: u64, multiplicand: &[u64; 4]) {
    let mut carry = 0;
    for (limb, other) in value.iter_mut().zip(multiplicand) {
        let wide = u128::from(*limb) + u128::from(*other) * u128::from(k) + carry;
        *limb = wide as u64;
        carry = wide >> 64;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::samples::Samples;

    const ORDER: &str = "0x060c89ce5c263405370a08b6d0302b0bab3eedb83920ee0a677297dc392126f1";

    fn keys() -> Vec<SecretKey> {
        let last = "0x60c89ce5c263405370a08b6d0302b0bab3eedb83920ee0a677297dc392126f0";
        [
            "0x1",
            "0x2",
            last,
            "0x52a6dde57a9e0ecf7347129ed96f95314d7fd744d0ed683f2ec3a185add75ea",
        ]
        .iter()
        .map(|text| SecretKey::from_hex(text).unwrap())
        .collect()
    }

    fn messages() -> Vec<Field> {
        let mut samples = Samples::new(5);
        let mut out: Vec<Field> = (0..6)
            .map(|_| Field::from_be_bytes(samples.bytes()))
            .collect();
        out.extend([
            Field::ZERO,
            Field::from(1),
            Field::from(Fq::MODULUS),
            Field::from_be_bytes([0xff; 32]),
        ]);
        out
    }

    #[test]
    fn signatures_verify_in_every_way_and_only_for_their_message() {
        for key in keys() {
            let public = key.public();
            public.check().unwrap();
            for message in messages() {
                let signature = key.sign(&message).unwrap();
                assert!(public.verify(&message, &signature));
                assert!(public.prepare().verify(&message, &signature));
                assert_eq!(Signature::from_hex(&signature.to_hex()).unwrap(), signature);
                assert_eq!(key.sign(&message).unwrap(), signature);
                let other = Field::from(message.element() + Fq::from(1_u64));
                assert!(
                    !public.verify(&other, &signature)
                        && !key.prepared().verify(&other, &signature)
                );
            }
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let key = &keys()[3];
        let message = Field::from(42);
        let digits = key.sign(&message).unwrap().to_hex();
        for at in 2..digits.len() {
            for flip in [1, 2, 4, 8] {
                let value = u32::from_str_radix(&digits[at..=at], 16).unwrap() ^ flip;
                let changed = format!("{}{value:x}{}", &digits[..at], &digits[at + 1..]);
                let accepted = Signature::from_hex(&changed).is_ok_and(|s| {
                    assert_eq!(
                        key.public().verify(&message, &s),
                        key.prepared().verify(&message, &s)
                    );
                    key.prepared().verify(&message, &s)
                });
                assert!(!accepted, "digit {at}, bit {flip}");
            }
        }
    }

    #[test]
    fn adding_the_order_to_s_keeps_a_signature_valid() {
        let order =
            num_bigint::BigUint::from_bytes_be(&Field::from_hex(ORDER).unwrap().to_be_bytes());
        let modulus = num_bigint::BigUint::from_bytes_be(&Field::from(Fq::MODULUS).to_be_bytes());
        let key = &keys()[1];
        for message in messages() {
            let signature = key.sign(&message).unwrap();
            let mut s = num_bigint::BigUint::from_bytes_be(&signature.s().to_be_bytes()) % &order;
            let mut accepted = 0;
            while s < modulus {
                let other = Field::from_decimal(&s.to_string()).unwrap();
                let other = Signature::new(signature.rx(), signature.ry(), other).unwrap();
                assert!(
                    key.public().verify(&message, &other)
                        && key.prepared().verify(&message, &other)
                );
                accepted += 1;
                s += &order;
            }
            assert!(accepted >= 7);
            assert!(
                Signature::new(
                    signature.rx(),
                    signature.ry(),
                    Field::from_decimal(&s.to_string()).unwrap()
                )
                .is_err()
            );
        }
    }

    #[test]
    fn distinct_messages_have_distinct_nonces() {
        let key = &keys()[0];
        let points: std::collections::BTreeSet<Field> = (0..200)
            .map(|m| key.sign(&Field::from(m)).unwrap().rx())
            .collect();
        assert_eq!(points.len(), 200);
    }

    #[test]
    fn secrets_out_of_range_are_refused_and_never_shown() {
        for bad in ["0x0", "0x00", ORDER, &format!("0x{}", "f".repeat(64))] {
            assert_eq!(
                SecretKey::from_hex(bad).unwrap_err(),
                SignError::SecretOutOfRange
            );
        }
        for bad in ["", "1", "0x", "0xzz", &format!("0x1{}", "0".repeat(64))] {
            assert_eq!(
                SecretKey::from_hex(bad).unwrap_err(),
                SignError::MalformedInteger
            );
        }
        assert_eq!(format!("{:?}", keys()[0]), "SecretKey(redacted)");
    }

    #[test]
    fn unusable_public_keys_accept_nothing() {
        let key = &keys()[2];
        let signature = key.sign(&Field::from(1)).unwrap();
        let good = key.public();
        let above = num_bigint::BigUint::from_bytes_be(&good.x.to_be_bytes())
            + num_bigint::BigUint::from_bytes_be(&Field::from(Fq::MODULUS).to_be_bytes());
        let bad = [
            PublicKey {
                x: Field::ZERO,
                y: Field::ZERO,
            },
            PublicKey {
                x: Field::ZERO,
                y: Field::from(1),
            },
            PublicKey {
                x: good.y,
                y: good.x,
            },
            PublicKey {
                x: Field::from_decimal(&above.to_string()).unwrap(),
                y: good.y,
            },
        ];
        for public in bad {
            assert_eq!(public.check(), Err(SignError::InvalidPublicKey));
            assert!(!public.verify(&Field::from(1), &signature));
            assert!(!public.prepare().verify(&Field::from(1), &signature));
        }
        assert_eq!(bad[0].packed(), Field::ZERO);
    }

    #[test]
    fn the_zero_signature_is_refused() {
        let zero = Signature::from_hex(&format!("0x{}", "0".repeat(192))).unwrap();
        let identity = Signature::new(Field::ZERO, Field::from(1), Field::ZERO).unwrap();
        for signature in [zero, identity] {
            assert!(!keys()[0].public().verify(&Field::from(7), &signature));
            assert!(!keys()[0].prepared().verify(&Field::from(7), &signature));
        }
    }
}
