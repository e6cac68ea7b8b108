//! Strategies and their registry: one file for each strategy.
//!
//! The input of a strategy is a `View`, its output `Targets`; it has no access to requests, budgets, risk limits, JSON
//! or a clock. This package's `README.md` explains how to add one in ten minutes.

pub mod bands;
pub mod curve;
pub mod glft;
pub mod grid;
pub mod hedge;
pub mod hedged_lp;
pub mod ladder;
pub mod lp_manager;
pub mod parameter;
pub mod pool_arb;
pub mod pool_maker;
pub mod rebalance;
pub mod registry;
pub mod twap;

mod closing;
mod optimization;
mod price_limits;
mod reference;
mod scale;
mod sizing;

#[cfg(test)]
mod template;
#[cfg(test)]
mod testing;

/// Builds the registry from module names.
macro_rules! strategies {
    ($($name:ident)*) => {
        /// Every strategy, in the order of listings.
        static ALL: &[StrategyInfo] = &[$($name::INFO),*];

        /// Samples of each strategy for the tests of the registry.
        #[cfg(test)]
        static SAMPLES: &[&[testing::Sample]] = &[$($name::tests::SAMPLES),*];
    };
}

strategies! {
    bands
    curve
    glft
    grid
    hedge
    hedged_lp
    ladder
    lp_manager
    pool_arb
    pool_maker
    rebalance
    twap
}

pub use lp_manager::LP_MANAGER;
pub use parameter::{Change, Kind, Looser, MARKET_MAX, ParamError, Parameter, Params, Problem};
pub use registry::{FirstLeg, OpenLeg, Promise, StrategyInfo, TwoLegs, all, find};

/// Compiles and runs the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
