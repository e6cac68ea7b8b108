//! Facts about a strategy before it is built, and lookup by name. The list is in `lib.rs`.

use cambist_core::MarketSpec;
use cambist_core::strategy::Strategy;

use crate::ALL;
use crate::parameter::{ParamError, Parameter, Params};

/// Builds a strategy for one market from a table that was checked against its declaration.
pub type Build = fn(&Params, &MarketSpec) -> Result<Box<dyn Strategy>, ParamError>;

/// The output of a strategy, by which the demo assesses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Quotes resting on both sides.
    Quotes,
    /// Shares of the pool beside the market: joins and exits. It quotes nothing.
    PoolShares,
}

/// Facts about a strategy before it is built.
#[derive(Debug)]
pub struct StrategyInfo {
    /// The name in configurations and on the command line.
    pub name: &'static str,
    /// One or two sentences.
    pub summary: &'static str,
    /// What the demo checks.
    pub promise: Promise,
    /// Every parameter.
    pub parameters: &'static [Parameter],
    /// Builds it from a table that was checked against `parameters`; checks conditions on several parameters or the
    /// market.
    pub build: Build,
}

impl StrategyInfo {
    /// Reads the user's table and builds the strategy from it.
    pub fn build_from(
        &self,
        table: &toml::Table,
        market: &MarketSpec,
    ) -> Result<Box<dyn Strategy>, ParamError> {
        (self.build)(&Params::read(self.parameters, table)?, market)
    }
}

/// Every strategy, in the order of listings.
pub fn all() -> &'static [StrategyInfo] {
    ALL
}

/// The strategy with this name.
pub fn find(name: &str) -> Option<&'static StrategyInfo> {
    ALL.iter().find(|info| info.name == name)
}

/// The known name that is most similar to `name`, for an error message.
pub fn nearest(name: &str) -> Option<&'static str> {
    ALL.iter()
        .map(|info| (strsim::damerau_levenshtein(info.name, name), info.name))
        .min()
        .filter(|(distance, near)| *distance * 2 <= near.len())
        .map(|(_, near)| near)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
