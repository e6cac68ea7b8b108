//! Transfers, withdrawals, key updates, joins and exits as received, with hash and proof.

use cambist_core::{Amount, Hash, TokenId};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, PublicKey};
use crate::authorisation::Proof;

/// A token with an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAmount {
    /// The token.
    pub token: TokenId,
    /// Amount in base units.
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
    /// The paying account.
    pub payer: AccountId,
    /// The owner of that account, as in the request.
    pub payer_owner: Address,
    /// The receiving account; 0 for the account of the address.
    pub payee: AccountId,
    /// The owner of that account, as in the request.
    pub payee_owner: Address,
    /// The transferred amount.
    pub sent: TokenAmount,
    /// Highest accepted fee and its token.
    pub max_fee: TokenAmount,
    /// Storage id of the sent token, as in the request.
    pub storage_id: u64,
    /// Expiry in seconds, as in the request.
    pub valid_until_s: u64,
    /// A memo; not stored.
    pub memo: Option<String>,
    /// Its authorisation.
    pub proof: Proof,
}

/// A withdrawal to layer 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewWithdrawal {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// The account.
    pub account: AccountId,
    /// The owner of that account, as in the request.
    pub owner: Address,
    /// The withdrawn amount.
    pub withdrawn: TokenAmount,
    /// Highest accepted fee and its token.
    pub max_fee: TokenAmount,
    /// Storage id of the withdrawn token, as in the request.
    pub storage_id: u64,
    /// Expiry in seconds, as in the request.
    pub valid_until_s: u64,
    /// The receiving address on layer 1.
    pub to: Address,
    /// Settled immediately, within the token's limit.
    pub fast: bool,
    /// Its authorisation.
    pub proof: Proof,
}

/// A new signing key for an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKey {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// The account.
    pub account: AccountId,
    /// The owner of that account, as in the request.
    pub owner: Address,
    /// The new key; the server checked that it is a point of the curve.
    pub public_key: PublicKey,
    /// Highest accepted fee and its token.
    pub max_fee: TokenAmount,
    /// Expiry in seconds, as in the request.
    pub valid_until_s: u64,
    /// Nonce, as in the request.
    pub nonce: u64,
    /// Its authorisation.
    pub proof: Proof,
}

/// Supplying liquidity to a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewJoin {
    /// Its hash.
    pub hash: Hash,
    /// Owner of the account, as in the request.
    pub owner: Address,
    /// Address of the pool.
    pub pool: Address,
    /// Most of each pooled token, in the pool's order.
    pub joined: Vec<TokenAmount>,
    /// Least LP units to receive.
    pub minimum_lp: Amount,
    /// Highest accepted fee, in the last pooled token; absent counts as 0.
    pub max_fee: Option<Amount>,
    /// A storage id per pooled token, in the pool's order.
    pub storage_ids: Vec<u64>,
    /// Expiry in seconds, as in the request.
    pub valid_until_s: u64,
    /// Its authorisation.
    pub proof: Proof,
}

/// Redeeming shares of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewExit {
    /// Its hash.
    pub hash: Hash,
    /// Owner of the account, as in the request.
    pub owner: Address,
    /// Address of the pool.
    pub pool: Address,
    /// Least of each pooled token before the fee, in the pool's order.
    pub minimums: Vec<TokenAmount>,
    /// LP units to burn.
    pub burned: Amount,
    /// Storage id of the LP token, as in the request.
    pub storage_id: u64,
    /// Highest accepted fee, in the last pooled token.
    pub max_fee: Amount,
    /// Expiry in seconds, as in the request.
    pub valid_until_s: u64,
    /// Its authorisation.
    pub proof: Proof,
}
