//! Other markets of the file that a strategy reads: whether it may, and what they show in a quiet market.

use cambist_core::elsewhere::{self, BookElsewhere, MarketElsewhere, OtherHoldings};
use cambist_core::reads::assumed;
use cambist_core::route::Route;
use cambist_core::strategy::{BookLevel, OtherBook, OtherMarket, Strategy};
use cambist_core::{MarketSpec, Price, Qty};

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
    elsewhere: &'a [MarketSpec],
) -> Vec<(&'a MarketSpec, u64)> {
    let mut known = vec![(own, mid)];
    let mut found = Vec::new();
    for name in strategy.reads() {
        if let Some(market) = elsewhere.iter().find(|market| market.name == *name) {
            found.push((market, mid));
            continue;
        }
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
        holdings: Some(OtherHoldings {
            base: 0,
            quote: 0,
            pooled_base: Some(0),
            undecided: false,
        }),
        taker_fee_bips: 0,
    }
}

/// A market of another venue in a dry run: the mid, and large orders a tick from it. What is held there is not known.
pub(crate) fn published(market: &MarketSpec, mid: u64) -> MarketElsewhere {
    let level = |price| {
        vec![BookLevel {
            price: Price(price),
            qty: Qty(u64::MAX >> 32),
        }]
    };
    let seen = seen(market, mid);
    MarketElsewhere {
        reader: market.id,
        market: market.clone(),
        book: Ok(BookElsewhere {
            bids: level((mid / 2).saturating_sub(1).max(1)),
            asks: level((mid / 2).saturating_add(1)),
            mid: Ok(mid),
            age_ms: 0,
            age_max_ms: u64::MAX,
        }),
        holdings: None,
        taker_fee_bips: seen.taker_fee_bips,
    }
}

/// The markets of other venues that a strategy reads, as like its own.
pub(crate) fn elsewhere(strategy: &dyn Strategy, own: &MarketSpec) -> Vec<MarketSpec> {
    let names = strategy.reads().iter();
    let names = names.filter(|name| elsewhere::split(name).is_some());
    names.map(|name| assumed(own, name)).collect()
}
