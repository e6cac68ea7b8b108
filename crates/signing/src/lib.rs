//! Curve, hashes and signatures of the exchange interface.
//!
//! A request is signed with one or both of two keys: the layer-2 key ([`SecretKey`], EdDSA on the Baby Jubjub curve over
//! a Poseidon hash) and the owner's wallet ([`ecdsa::EthKey`], typed data of EIP-712). The structs of this crate are the
//! signed requests as plain integers; [`request_signature`] is the header that signs a whole HTTP request; [`vectors`]
//! evaluates files of test vectors.
//!
//! The rules are those of the interface's public clients. There is no input or output, no clock, no randomness (signing
//! is deterministic), no JSON of requests, and no check of a request beyond its signature.
//!
//! ```
//! use cambist_signing::{Address, OrderMessage, SecretKey};
//!
//! # fn main() -> Result<(), cambist_signing::SignError> {
//! let key = SecretKey::from_hex("0x1234")?;
//! let order = OrderMessage {
//!     exchange: Address::from_hex("0x0BABA1Ad5bE3a5C0a66E7ac838a129Bf948f1eA4")?,
//!     storage_id: 0,
//!     account_id: 10_001,
//!     sell_token: 1,
//!     buy_token: 0,
//!     sell_amount: 1_000_000_000,
//!     buy_amount: 2_000_000,
//!     valid_until: 1_900_000_000,
//!     max_fee_bips: 20,
//!     fill_by_buy: false,
//!     taker: Address::ZERO,
//! };
//! let signature = key.sign(&order.hash().message())?;
//! assert!(key.public().verify(&order.hash().message(), &signature));
//! # Ok(())
//! # }
//! ```

/// Runs the program of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/signing-guide.md")]
struct SigningGuide;

mod address;
mod curve;
pub mod ecdsa;
pub mod eip712;
mod error;
mod field;
pub mod floats;
mod hash32;
mod keccak;
mod messages;
mod poseidon;
mod public_key;
pub mod request_signature;
#[cfg(test)]
mod samples;
mod secret_key;
mod signature;
mod signer;
mod text;
pub mod vectors;
mod wide;

pub use address::Address;
pub use error::SignError;
pub use field::Field;
pub use hash32::Hash32;
pub use keccak::keccak256;
pub use messages::{
    AccountUpdateMessage, ExtraData, MAX_AMOUNT, OrderMessage, PoolExitMessage, PoolJoinMessage,
    TransferMessage, WithdrawalMessage,
};
pub use public_key::{PreparedKey, PublicKey};
pub use secret_key::{SecretKey, key_message};
pub use signature::Signature;
pub use signer::{CancelRequest, RequestSigner, SignerError};
