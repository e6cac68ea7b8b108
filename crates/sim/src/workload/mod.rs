//! Workload: the market, the pools and the simulated traders of a world.

mod arbitrage;
pub(crate) mod market;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod swapper;
pub(crate) mod sweep;
