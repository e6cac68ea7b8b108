//! Other markets of the file that a strategy reads: whether it may, and what they show in a quiet market.

use cambist_core::MarketSpec;
use cambist_core::route::Route;
use cambist_core::strategy::{OtherBook, OtherMarket, Strategy};

use crate::config::market::StrategyChoice;
use crate::config::reader::Problem;

/// Checks the markets that a strategy reads; an error names the position in the file.
pub(super) fn check(
    choice: &StrategyChoice,
    strategy: &dyn Strategy,
    own: &MarketSpec,
    markets: &[MarketSpec],
) -> Result<(), Problem> {
    let place = || match &choice.process {
        Some(process) => process.markets.at,
        None => choice.place("reference"),
    };
    cambist_core::reads::check(strategy, own, markets).map_err(|what| Problem {
        at: place(),
        what: format!("strategy {}: {what}", choice.name.value),
    })
}

/// The markets that a strategy reads, with mids in their half ticks at which every route over them gives `mid` of its
/// own market, as far as one connects them: sources that agree quote as many orders as they ever will.
pub(super) fn agreeing<'a>(
    strategy: &dyn Strategy,
    own: &'a MarketSpec,
    mid: u64,
    markets: &'a [MarketSpec],
) -> Vec<(&'a MarketSpec, u64)> {
    let mut known = vec![(own, mid)];
    let mut found = Vec::new();
    for name in strategy.reads() {
        let Some(market) = markets.iter().find(|market| market.name == *name) else {
            continue;
        };
        let ways = known.iter().map(|one| vec![*one]);
        let pairs = known.iter().enumerate().flat_map(|(at, one)| {
            let later = known.iter().skip(at + 1);
            later.map(|other| vec![*one, *other])
        });
        let price = |way: Vec<(&MarketSpec, u64)>| {
            let (over, mids): (Vec<_>, Vec<_>) = way.into_iter().unzip();
            Route::new(market, &over).ok()?.half_ticks(&over, &mids)
        };
        let agreed = ways.chain(pairs).find_map(price);
        // The first market of a route is free: one quote token for one base token.
        let free = 10_u64
            .saturating_pow(u32::from(market.price_decimals))
            .saturating_mul(2);
        let shown = (market, agreed.unwrap_or(free));
        known.push(shown);
        found.push(shown);
    }
    found
}

/// A market with a mid and nothing else to be seen.
pub(super) fn seen(market: &MarketSpec, mid: u64) -> OtherMarket<'_> {
    OtherMarket {
        market,
        age_ms: Some(0),
        book: Ok(OtherBook {
            bids: &[],
            asks: &[],
            mid: Ok(mid),
        }),
    }
}
