//! Which other markets a strategy may read: configured ones, each once, and not its own. Markets of other venues are
//! known when their venues have answered: until then they are taken for one like its own.

use crate::elsewhere;
use crate::market::MarketSpec;
use crate::strategy::Strategy;

/// Checks the markets that a strategy of `own` reads against the configured ones. The error is a sentence.
pub fn check<'a>(
    strategy: &dyn Strategy,
    own: &MarketSpec,
    markets: impl IntoIterator<Item = &'a MarketSpec>,
) -> Result<(), String> {
    let markets: Vec<_> = markets.into_iter().collect();
    let reads = strategy.reads().iter();
    let elsewhere = reads.filter(|name| elsewhere::split(name).is_some());
    let elsewhere: Vec<_> = elsewhere.map(|name| assumed(own, name)).collect();
    let mut others: Vec<&MarketSpec> = Vec::new();
    for name in strategy.reads() {
        if *name == own.name {
            return Err(format!(
                "it reads the market {name}, which is its own: its view has that book already"
            ));
        }
        let mut known = markets.iter().copied().chain(&elsewhere);
        let Some(found) = known.find(|market| market.name == *name) else {
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

/// A market of another venue as a market of this name that trades the same tokens in the same units as `own`.
pub fn assumed(own: &MarketSpec, name: &str) -> MarketSpec {
    MarketSpec {
        name: name.to_owned(),
        ..own.clone()
    }
}
