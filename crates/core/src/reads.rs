//! Which other markets a strategy may read: configured ones, each once, and not its own.

use crate::market::MarketSpec;
use crate::strategy::Strategy;

/// Checks the markets that a strategy of `own` reads against the configured ones. The error is a sentence.
pub fn check<'a>(
    strategy: &dyn Strategy,
    own: &MarketSpec,
    markets: impl IntoIterator<Item = &'a MarketSpec>,
) -> Result<(), String> {
    let markets: Vec<_> = markets.into_iter().collect();
    let mut others: Vec<&MarketSpec> = Vec::new();
    for name in strategy.reads() {
        if *name == own.name {
            return Err(format!(
                "it reads the market {name}, which is its own: its view has that book already"
            ));
        }
        let Some(found) = markets.iter().find(|market| market.name == *name) else {
            let known = markets.iter().filter(|market| market.name != own.name);
            let known: Vec<_> = known.map(|market| market.name.as_str()).collect();
            let known = if known.is_empty() {
                "there is no other [[market]]".to_owned()
            } else {
                format!("the other ones are {}", known.join(", "))
            };
            return Err(format!(
                "it reads the market {name}, which is no configured [[market]]; {known}"
            ));
        };
        if others.iter().any(|known| known.name == found.name) {
            return Err(format!("it reads the market {name} twice"));
        }
        others.push(found);
    }
    strategy.check_reads(own, &others)
}
