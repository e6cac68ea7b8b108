//! `cambist check --limits`: every limit of a bound configuration, from the table of limits.

use cambist_core::limits;
use serde::Serialize;

use super::columns;
use cambist_daemon::config::Bound;
use cambist_daemon::config::limits::usual;

/// A limit with its value.
#[derive(Debug, Serialize)]
pub struct InForce {
    /// `section.key`.
    key: &'static str,
    /// The market that it applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    market: Option<String>,
    /// In the unit of the file.
    value: String,
    unit: &'static str,
    default: String,
    /// Direction in which it permits more.
    looser: &'static str,
    meaning: &'static str,
}

/// Every limit of a bound configuration, in the order of the file.
pub fn in_force(bound: &Bound) -> Vec<InForce> {
    let beside = bound.pools.iter().filter_map(|pool| {
        let mut markets = bound.markets.iter();
        markets.find(|spec| spec.id == pool.market)
    });
    let pools: Vec<_> = beside.collect();
    let found = limits::in_force(&bound.engine, &bound.markets, &pools);
    let row = |limit: limits::InForce| InForce {
        key: limit.about.name,
        market: limit.market,
        value: limit.value,
        unit: limit.about.unit.name(),
        default: usual(limit.about.usual),
        looser: limit.about.looser.name(),
        meaning: limit.about.sentence(),
    };
    found.into_iter().map(row).collect()
}

/// Formats the limits for a terminal.
pub fn text(limits: &[InForce]) -> String {
    let row = |limit: &InForce| {
        let key = match &limit.market {
            Some(market) => format!("  {} of {market}", limit.key),
            None => format!("  {}", limit.key),
        };
        vec![key, limit.value.clone(), limit.meaning.to_owned()]
    };
    let rows: Vec<_> = limits.iter().map(row).collect();
    format!("\nlimits\n{}", columns(&rows))
}
