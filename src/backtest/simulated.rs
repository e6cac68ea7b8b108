//! What of a configuration a run in a simulated account cannot simulate: refused before data are read or anything is
//! polled.

use cambist_daemon::config::market::{Market, StrategyChoice};
use cambist_daemon::config::resolve::Bound;
use cambist_daemon::config::{ConfigError, Daemon, Problem};
use cambist_strategies::StrategyInfo;

use super::prepare::bound_without_venue;
use crate::exit::{Exit, Failure};

/// Binds a configuration to the units that it states, for a run on recorded data.
///
/// # Errors
/// All with exit 77: what [`bound_without_venue`] refuses; pools and strategies that need one; markets of several quote
/// tokens; strategies that read reference feeds or markets of other venues.
pub fn bound(daemon: &Daemon) -> anyhow::Result<Bound> {
    check(daemon)?;
    let bound = bound_without_venue(daemon)?;
    bound
        .without_references()
        .map_err(|what| Failure::new(Exit::Refused, what))?;
    Ok(bound)
}

/// Refuses what no simulated account has, whatever its data are.
///
/// # Errors
/// [`ConfigError`]: a pool, a strategy that needs one, or markets of several quote tokens, each with its place.
pub fn check(daemon: &Daemon) -> Result<(), ConfigError> {
    let mut problems: Vec<_> = daemon.markets.iter().flat_map(pools).collect();
    problems.extend(quote_tokens(&daemon.markets));
    if problems.is_empty() {
        return Ok(());
    }
    Err(daemon.source.invalid(problems))
}

/// A pool of a market, and strategies that need one.
fn pools(market: &Market) -> Vec<Problem> {
    const WHY: &str = "pools are not simulated, because recorded data and order books have none";
    let pool = market.pool.as_ref().map(|pool| Problem {
        at: pool.name.at,
        what: format!("{WHY}: remove [market.pool] and the strategies that need it"),
    });
    let swaps = |choice: &&StrategyChoice| match &choice.process {
        Some(process) => process.swaps,
        None => cambist_strategies::find(&choice.name.value).is_some_and(StrategyInfo::needs_pool),
    };
    let of_pools = market.strategies.iter().filter(swaps);
    let strategies = of_pools.map(|choice| Problem {
        at: choice.name.at,
        what: format!(
            "strategy {} needs a pool, and {WHY}: remove it, or name a strategy of the order book (`cambist strategy list`)",
            choice.name.value
        ),
    });
    pool.into_iter().chain(strategies).collect()
}

/// A market of another quote token than the first: profit and loss of a run is in one token.
fn quote_tokens(markets: &[Market]) -> Option<Problem> {
    let first = markets.first()?;
    let other = markets.iter().find(|market| market.quote != first.quote)?;
    Some(Problem {
        at: other.name.at,
        what: format!(
            "all markets of a simulated account must have one quote token: that of {} is {}, and that of {} is {}; run them apart, with a file for each",
            first.name.value, first.quote, other.name.value, other.quote
        ),
    })
}
