//! World profiles: the configuration drawn from a seed, and profiles that test limits and deadlines heavily.

pub(crate) mod base;
pub(crate) mod control_loss;
pub(crate) mod sampling;

pub(crate) mod evm_pools;
pub(crate) mod kraken;
pub(crate) mod ranges;
pub(crate) mod sequenced;
pub(crate) mod tight_limits;
pub(crate) mod uncertain;
