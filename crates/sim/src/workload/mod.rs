//! Workload: the market, the pools and the background flow of a world.

pub(crate) mod market;
pub(crate) mod pool;
pub(crate) mod sweep;
