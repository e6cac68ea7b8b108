//! Workload: the market, the pools and the simulated traders of a world.

pub(crate) mod market;
pub(crate) mod pool;
pub(crate) mod swapper;
pub(crate) mod sweep;
