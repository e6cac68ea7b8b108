//! Curve, hashes and signatures of the exchange interface.

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
mod text;
pub mod vectors;
mod wide;

pub use address::Address;
pub use error::SignError;
pub use field::Field;
pub use hash32::Hash32;
pub use messages::{
    AccountUpdateMessage, ExtraData, MAX_AMOUNT, OrderMessage, PoolExitMessage, PoolJoinMessage,
    TransferMessage, WithdrawalMessage,
};
pub use public_key::{PreparedKey, PublicKey};
pub use secret_key::{SecretKey, key_message};
pub use signature::Signature;
