//! A pool as listed, and what is asked about pools.

use cambist_core::{Amount, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address};
use crate::config::TokenConfig;

/// The version that public clients sign with, whatever a pool says.
pub const POOL_VERSION: &str = "1.0.0";

/// What may be done with a pool: bits as clients know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus(pub u8);

impl PoolStatus {
    /// Taking liquidity out.
    pub const EXIT: u8 = 1;
    /// Supplying liquidity.
    pub const JOIN: u8 = 2;
    /// Swapping.
    pub const SWAP: u8 = 4;
    /// Standing in the list of pools.
    pub const SHOWN: u8 = 8;
    /// Everything at once.
    pub const OPEN: Self = Self(15);

    /// Whether a bit is set.
    pub const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

impl Default for PoolStatus {
    fn default() -> Self {
        Self::OPEN
    }
}

/// A pool as listed. Its LP token is listed among the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfig {
    /// `AMM-BASE-QUOTE`; part of what ECDSA signatures cover.
    pub name: String,
    /// Its contract.
    pub address: Address,
    /// Base and quote token of a listed market, in this order.
    pub pooled: [TokenId; 2],
    /// Its LP token.
    pub lp: TokenId,
    /// Fee inside the curve in ten-thousandths of what is sold to it.
    pub fee_bips: u16,
    /// Decimals of shown prices.
    pub price_precision: u8,
    /// Decimals of shown amounts.
    pub amount_precision: u8,
    /// What may be done with it.
    pub status: PoolStatus,
    /// Fee of a join, in base units of the last pooled token.
    pub join_fee: Amount,
    /// Fee of an exit, in base units of the last pooled token.
    pub exit_fee: Amount,
}

/// A pool to be listed together with its LP token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolListing {
    /// The pool.
    pub pool: PoolConfig,
    /// Its LP token, unless it is listed.
    pub lp: Option<TokenConfig>,
}

/// Whether a transaction supplies or takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolTxKind {
    /// Supplies.
    Join,
    /// Takes out.
    Exit,
}

/// State of a transaction with a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolTxStatus {
    /// Taken, not settled.
    Processing,
    /// Failed; nothing moved.
    Cancelled,
    /// Settled.
    Processed,
}

/// Where a transaction came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Layer {
    /// From the chain: the operator booked it.
    One,
    /// From a request.
    Two,
}

/// Filters and bounds of the list of joins and exits. Empty filters let everything through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionsQuery {
    /// Whose.
    pub account: AccountId,
    /// Created at or after; 0 for no bound.
    pub start: VenueTime,
    /// Created at or before; 0 for no bound.
    pub end: VenueTime,
    /// Kinds; `None` when the filter named only what does not exist.
    pub kinds: Option<Vec<PoolTxKind>>,
    /// States; `None` when the filter named only what does not exist.
    pub statuses: Option<Vec<PoolTxStatus>>,
    /// Pool.
    pub pool: Option<Address>,
    /// Entries wanted.
    pub limit: Option<u64>,
    /// Entries skipped.
    pub offset: u64,
}

impl PoolTransactionsQuery {
    /// Every transaction of an account, first page.
    pub const fn all(account: AccountId) -> Self {
        Self {
            account,
            start: VenueTime(0),
            end: VenueTime(0),
            kinds: Some(Vec::new()),
            statuses: Some(Vec::new()),
            pool: None,
            limit: None,
            offset: 0,
        }
    }
}
