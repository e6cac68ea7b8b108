//! Pools: constant product in exact integers.

mod config;

pub use config::{
    Layer, POOL_VERSION, PoolConfig, PoolListing, PoolStatus, PoolTransactionsQuery, PoolTxKind,
    PoolTxStatus,
};
