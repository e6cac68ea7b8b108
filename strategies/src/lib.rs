//! Strategies and their registry: one file a strategy.
//!
//! A strategy here sees a `View` and writes `Targets`; it never sees requests, budgets, risk limits,
//! JSON or a clock. How to add one in ten minutes is in this package's `README.md`.

pub mod bands;
pub mod glft;
pub mod ladder;
pub mod lp_manager;
pub mod parameter;
pub mod registry;

mod optimization;
mod price_limits;
mod reference;
mod scale;
mod sizing;

#[cfg(test)]
mod testing;

pub use lp_manager::LP_MANAGER;
pub use parameter::{Kind, ParamError, Parameter, Params, Problem};
pub use registry::{Promise, StrategyInfo, all, find};

/// The worked example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
