//! Configuration of a pool, and queries about pools.

use cambist_core::{Amount, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address};
use crate::config::TokenConfig;

/// The version string that public clients sign, whatever the pool's own.
pub const POOL_VERSION: &str = "1.0.0";

/// What a pool accepts, as the bits of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStatus(pub u8);

impl PoolStatus {
    /// Exits.
    pub const EXIT: u8 = 1;
    /// Joins.
    pub const JOIN: u8 = 2;
    /// Swaps.
    pub const SWAP: u8 = 4;
    /// Shown in the list of pools.
    pub const SHOWN: u8 = 8;
    /// All bits.
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

/// A listed pool. Its LP token is among the listed tokens.
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
    /// Swap fee in ten-thousandths of the sold amount.
    pub fee_bips: u16,
    /// Decimals of displayed prices.
    pub price_precision: u8,
    /// Decimals of displayed amounts.
    pub amount_precision: u8,
    /// What it accepts.
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
    /// Its LP token, unless it is listed already.
    pub lp: Option<TokenConfig>,
}

/// Join or exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolTxKind {
    /// Supplies liquidity.
    Join,
    /// Redeems shares.
    Exit,
}

/// Status of a pool transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolTxStatus {
    /// Accepted, not settled.
    Processing,
    /// Failed; nothing moved.
    Cancelled,
    /// Settled.
    Processed,
}

/// Origin of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Layer {
    /// Layer 1: made on the chain, booked by the operator.
    One,
    /// Layer 2: from a request.
    Two,
}

/// Filters and bounds of the list of joins and exits. An empty filter matches everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionsQuery {
    /// The account.
    pub account: AccountId,
    /// Created at or after; 0 for no bound.
    pub start: VenueTime,
    /// Created at or before; 0 for no bound.
    pub end: VenueTime,
    /// Kinds; `None` if the filter contains unknown kinds only.
    pub kinds: Option<Vec<PoolTxKind>>,
    /// Statuses; `None` if the filter contains unknown statuses only.
    pub statuses: Option<Vec<PoolTxStatus>>,
    /// Pool.
    pub pool: Option<Address>,
    /// Number of entries.
    pub limit: Option<u64>,
    /// Number of entries to skip.
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
