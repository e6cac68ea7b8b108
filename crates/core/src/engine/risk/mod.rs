//! Pre-trade controls, loss limits, markouts, trading state, and the usage of each limit.

pub(crate) mod context;
pub(crate) mod controls;
pub(crate) mod counters;
pub(crate) mod gate;
pub(crate) mod limit_usage;
pub(crate) mod loss_baselines;
pub(crate) mod loss_meter;
pub(crate) mod markout;
pub(crate) mod portfolio;
pub(crate) mod ramp;
pub(crate) mod restrictions;
pub(crate) mod signed_unexpired;
pub(crate) mod sliding_window;
