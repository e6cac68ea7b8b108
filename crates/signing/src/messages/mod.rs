//! The requests that are signed, as plain integers, and their hashes.
//!
//! Amounts are in the smallest unit of their token and at most 96 bits wide; times are Unix seconds. Limits, balances
//! and expiry are checked elsewhere.

mod account_update;
mod order;
mod pool;
mod transfer;
mod withdrawal;

pub use account_update::AccountUpdateMessage;
pub use order::OrderMessage;
pub use pool::{PoolExitMessage, PoolJoinMessage};
pub use transfer::TransferMessage;
pub use withdrawal::{ExtraData, WithdrawalMessage};

use crate::field::Fq;
use crate::hash32::Hash32;
use crate::poseidon::Poseidon;

/// The largest amount of a 96-bit field.
pub const MAX_AMOUNT: u128 = (1 << 96) - 1;

fn hash(with: &Poseidon, inputs: &[Fq]) -> Hash32 {
    crate::field::Field::from(with.hash(inputs)).into()
}
