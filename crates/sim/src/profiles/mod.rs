//! World profiles: the configuration that a seed draws, and the profiles that drive limits and deadlines hard.

pub(crate) mod base;
pub(crate) mod control_loss;
pub(crate) mod sampling;
pub(crate) mod tight_limits;
pub(crate) mod uncertain;
