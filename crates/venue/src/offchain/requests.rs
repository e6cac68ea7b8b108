//! Transfers, withdrawals, key updates, joins and exits as they arrive, with hash and proof.

use cambist_core::{Amount, Hash, TokenId};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, PublicKey};
use crate::authorisation::Proof;

/// A token with an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAmount {
    /// Which.
    pub token: TokenId,
    /// How much, in base units.
    pub amount: Amount,
}

impl TokenAmount {
    /// A token with an amount.
    pub const fn new(token: TokenId, amount: Amount) -> Self {
        Self { token, amount }
    }
}

/// A transfer between accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTransfer {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// Who pays.
    pub payer: AccountId,
    /// The owner of that account, as named.
    pub payer_owner: Address,
    /// Who receives; 0 for whoever owns the address.
    pub payee: AccountId,
    /// The owner of that account, as named.
    pub payee_owner: Address,
    /// What.
    pub sent: TokenAmount,
    /// Highest fee accepted, and in which token.
    pub max_fee: TokenAmount,
    /// Storage id of the sent token as given.
    pub storage_id: u64,
    /// Expiry in seconds as given.
    pub valid_until_s: u64,
    /// A note, kept nowhere.
    pub memo: Option<String>,
    /// What authorises it.
    pub proof: Proof,
}

/// A withdrawal to layer 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWithdrawal {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// Whose.
    pub account: AccountId,
    /// The owner of that account, as named.
    pub owner: Address,
    /// What.
    pub withdrawn: TokenAmount,
    /// Highest fee accepted, and in which token.
    pub max_fee: TokenAmount,
    /// Storage id of the withdrawn token as given.
    pub storage_id: u64,
    /// Expiry in seconds as given.
    pub valid_until_s: u64,
    /// Where to, on layer 1.
    pub to: Address,
    /// At once, within the token's limit.
    pub fast: bool,
    /// What authorises it.
    pub proof: Proof,
}

/// A new signing key for an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKey {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// Whose.
    pub account: AccountId,
    /// The owner of that account, as named.
    pub owner: Address,
    /// The new key; the shell checked that it is a point of the curve.
    pub public_key: PublicKey,
    /// Highest fee accepted, and in which token.
    pub max_fee: TokenAmount,
    /// Expiry in seconds as given.
    pub valid_until_s: u64,
    /// Nonce as given.
    pub nonce: u64,
    /// What authorises it.
    pub proof: Proof,
}

/// Supplying liquidity to a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJoin {
    /// Its hash.
    pub hash: Hash,
    /// Whose, found by its owner; as named.
    pub owner: Address,
    /// Which pool.
    pub pool: Address,
    /// Most of each pooled token, in the pool's order.
    pub joined: Vec<TokenAmount>,
    /// Least LP units wanted.
    pub minimum_lp: Amount,
    /// Highest fee accepted, in the last pooled token; absent counts as 0.
    pub max_fee: Option<Amount>,
    /// A storage id per pooled token, in the pool's order.
    pub storage_ids: Vec<u64>,
    /// Expiry in seconds as given.
    pub valid_until_s: u64,
    /// What authorises it.
    pub proof: Proof,
}

/// Taking liquidity out of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewExit {
    /// Its hash.
    pub hash: Hash,
    /// Whose, found by its owner; as named.
    pub owner: Address,
    /// Which pool.
    pub pool: Address,
    /// Least of each pooled token before the fee, in the pool's order.
    pub minimums: Vec<TokenAmount>,
    /// LP units to burn.
    pub burned: Amount,
    /// Storage id of the LP token as given.
    pub storage_id: u64,
    /// Highest fee accepted, in the last pooled token.
    pub max_fee: Amount,
    /// Expiry in seconds as given.
    pub valid_until_s: u64,
    /// What authorises it.
    pub proof: Proof,
}
