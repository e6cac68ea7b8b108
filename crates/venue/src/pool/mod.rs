//! Pools: constant product in exact integers; swaps, joins, exits, lists.

mod config;
pub(crate) mod curve;
mod listing;
pub(crate) mod optimal_size;
mod shares;
mod swap;

use cambist_core::{Amount, TokenId};
use serde::{Deserialize, Serialize};

pub use config::{
    Layer, POOL_VERSION, PoolConfig, PoolListing, PoolStatus, PoolTransactionsQuery, PoolTxKind,
    PoolTxStatus,
};

pub(crate) use shares::Settled;

use crate::account::Address;
use crate::venue::Venue;

/// A pool and its balances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub config: PoolConfig,
    pub listed: bool,
    /// In the order of the pooled tokens.
    pub balances: [Amount; 2],
    /// LP units in circulation.
    pub supply: Amount,
}

impl Pool {
    pub const fn new(config: PoolConfig) -> Self {
        Self {
            config,
            listed: true,
            balances: [0; 2],
            supply: 0,
        }
    }

    /// The token in which fees of joins and exits are paid.
    pub const fn fee_token(&self) -> TokenId {
        self.config.pooled[1]
    }
}

impl Venue {
    /// Index of a pool by its address.
    pub(crate) fn find_pool(&self, address: &Address) -> Option<usize> {
        self.pools
            .iter()
            .position(|pool| pool.config.address == *address)
    }

    /// A pool's balances, in the order of its tokens, and its LP units in circulation.
    pub fn pool_reserves(&self, address: &Address) -> Option<([Amount; 2], Amount)> {
        let pool = &self.pools[self.find_pool(address)?];
        Some((pool.balances, pool.supply))
    }
}
