//! Errors of keys, signatures and messages.
//!
//! No variant contains the offending value: it may be a secret, or chosen by an attacker.

/// Why a key, a signature or a number was refused, or could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// Not `0x` and 1 to 64 hexadecimal digits, or not a decimal number below 2^256.
    #[error(
        "malformed integer: expected 0x and 1 to 64 hexadecimal digits, or a decimal number below 2^256"
    )]
    MalformedInteger,
    /// Not `0x` and exactly 64 hexadecimal digits.
    #[error("malformed hash: expected 0x and 64 hexadecimal digits")]
    MalformedHash,
    /// Not `0x` and exactly 40 hexadecimal digits.
    #[error("malformed address: expected 0x and 40 hexadecimal digits")]
    MalformedAddress,
    /// The mixed case of the address does not match its checksum.
    #[error("address checksum does not match")]
    AddressChecksum,
    /// Not `0x` and exactly 192 hexadecimal digits.
    #[error("malformed signature: expected 0x and 192 hexadecimal digits")]
    MalformedSignature,
    /// A part of the signature is not below the field modulus.
    #[error("signature is not in canonical form")]
    NonCanonicalSignature,
    /// Not `0x` and 130 or 132 hexadecimal digits, or an unknown recovery or type byte.
    #[error("malformed ecdsa signature: expected 65 bytes, or 66 with type byte 02 or 03")]
    MalformedEcdsa,
    /// The ECDSA signature has no signer: out of range, or s above half the group order.
    #[error("ecdsa signature has no recoverable signer")]
    Unrecoverable,
    /// The secret key is zero or not below the group order.
    #[error("secret key out of range")]
    SecretOutOfRange,
    /// The public key is not a canonical point of the curve other than the identity.
    #[error("public key is not a usable curve point")]
    InvalidPublicKey,
    /// The public key has a part of low order: others could sign for it, or it belongs to no secret key.
    #[error("public key is not a multiple of the base point: it has a part of low order")]
    LowOrderPublicKey,
    /// Extra data is neither empty nor `0x` and an even number of hexadecimal digits.
    #[error("malformed extra data: expected 0x and an even number of hexadecimal digits")]
    MalformedExtraData,
    /// A signature just made did not verify: a fault of memory or arithmetic. Nothing was released.
    #[error("own signature failed verification")]
    SelfCheck,
    /// The amount does not fit the float encoding.
    #[error("amount does not fit the float encoding")]
    FloatRange,
}
