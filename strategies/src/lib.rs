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
mod template;
#[cfg(test)]
mod testing;

/// Makes the registry of the names of modules.
macro_rules! strategies {
    ($($name:ident)*) => {
        /// Every strategy, in the order of a listing.
        static ALL: &[StrategyInfo] = &[$($name::INFO),*];

        /// What the tests of the registry try of each.
        #[cfg(test)]
        static SAMPLES: &[&[testing::Sample]] = &[$($name::tests::SAMPLES),*];
    };
}

strategies! {
    bands
    glft
    ladder
    lp_manager
}

pub use lp_manager::LP_MANAGER;
pub use parameter::{Kind, ParamError, Parameter, Params, Problem};
pub use registry::{Promise, StrategyInfo, all, find};

/// The worked example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
