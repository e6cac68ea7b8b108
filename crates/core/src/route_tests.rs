//! Every orientation of one and two markets, exact against a price computed by hand, and what is refused.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::market::MarketId;
use crate::token::{TokenId, TokenSpec};

/// Tokens with decimals that differ: 18, 8, 6 and 0.
fn token(symbol: &str) -> TokenSpec {
    let (id, decimals, precision) = match symbol {
        "ETH" => (0, 18, 8),
        "BTC" => (1, 8, 8),
        "USDC" => (2, 6, 6),
        _ => (3, 4, 4),
    };
    TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

fn market(id: u16, name: &str, price_decimals: u8) -> MarketSpec {
    let (base, quote) = name.split_once('-').unwrap();
    let (base, quote) = (token(base), token(quote));
    MarketSpec::new(MarketId(id), name, base, quote, price_decimals, true).unwrap()
}

/// The price of the market in half ticks over others with these mids.
fn price(own: &MarketSpec, over: &[(&MarketSpec, u64)]) -> Option<u64> {
    let markets: Vec<_> = over.iter().map(|(market, _)| *market).collect();
    let mids: Vec<_> = over.iter().map(|(_, mid)| *mid).collect();
    let route = Route::new(own, &markets).unwrap();
    route.half_ticks(&markets, &mids)
}

#[test]
fn one_market_gives_its_price_or_the_inverse_of_it() {
    let own = market(0, "ETH-USDC", 2);
    // 2,500.05 at five decimals is 2,500.05 at two.
    let finer = market(1, "ETH-USDC", 5);
    assert_eq!(price(&own, &[(&finer, 2 * 250_005_000)]), Some(500_010));
    // 2,500.0519 is rounded down to half ticks of 0.005.
    assert_eq!(price(&own, &[(&finer, 2 * 250_005_190)]), Some(500_010));
    assert_eq!(price(&own, &[(&finer, 2 * 250_005_500)]), Some(500_011));
    // 0.0004 ETH for a USDC is 2,500.
    let inverse = market(2, "USDC-ETH", 8);
    assert_eq!(price(&own, &[(&inverse, 2 * 40_000)]), Some(500_000));
    // 1 / 0.0003 = 3,333.33…, rounded down.
    assert_eq!(price(&own, &[(&inverse, 2 * 30_000)]), Some(666_666));
}

#[test]
fn two_markets_give_the_price_in_all_eight_orders_and_orientations() {
    // 20 ETH are 1 BTC, and 1 BTC is 50,000 USDC: 1 ETH is 2,500 USDC.
    let own = market(0, "ETH-USDC", 2);
    let first = [
        (market(1, "ETH-BTC", 6), 2 * 50_000),
        (market(1, "BTC-ETH", 4), 2 * 200_000),
    ];
    let second = [
        (market(2, "BTC-USDC", 2), 2 * 5_000_000),
        (market(2, "USDC-BTC", 8), 2 * 2_000),
    ];
    for (one, one_mid) in &first {
        for (two, two_mid) in &second {
            let (one, two) = ((one, *one_mid), (two, *two_mid));
            assert_eq!(price(&own, &[one, two]), Some(500_000));
            assert_eq!(price(&own, &[two, one]), Some(500_000));
        }
    }
    // The market itself the other way round: 0.0004 ETH for a USDC.
    let own = market(0, "USDC-ETH", 6);
    for (one, one_mid) in &first {
        for (two, two_mid) in &second {
            assert_eq!(price(&own, &[(one, *one_mid), (two, *two_mid)]), Some(800));
        }
    }
}

#[test]
fn only_the_last_step_rounds() {
    // 1/3 ETH for a token, and 3 of them for a BTC would be 1 if the third were exact.
    let own = market(0, "ETH-USDC", 2);
    let (third, back) = (market(1, "USDC-BTC", 8), market(2, "ETH-BTC", 8));
    // 0.00003333 BTC for a USDC, 0.08332500 BTC for an ETH: exactly 2,500.
    let both = [(&third, 2 * 3_333), (&back, 2 * 8_332_500)];
    assert_eq!(price(&own, &both), Some(500_000));
    let less = [(&third, 2 * 3_333), (&back, 2 * 8_332_500 - 1)];
    assert_eq!(price(&own, &less), Some(499_999));
}

#[test]
fn a_missing_mid_a_price_of_nothing_and_an_overflow_are_no_price() {
    let own = market(0, "ETH-USDC", 2);
    let direct = market(1, "ETH-USDC", 6);
    assert_eq!(price(&own, &[(&direct, 0)]), None);
    assert_eq!(price(&own, &[(&direct, 9_999)]), None, "below half a tick");
    assert_eq!(price(&own, &[(&direct, 10_000)]), Some(1));
    let route = Route::new(&own, &[&direct]).unwrap();
    assert_eq!(route.half_ticks(&[&direct], &[]), None);
    let fine = market(2, "ETH-USDC", 0);
    assert_eq!(price(&own, &[(&fine, u64::MAX)]), None, "beyond 64 bits");
    assert_eq!(
        price(&own, &[(&fine, u64::MAX / 100)]),
        Some(u64::MAX / 100 * 100)
    );
    let (one, two) = (market(3, "ETH-BTC", 0), market(4, "BTC-USDC", 0));
    assert_eq!(price(&own, &[(&one, u64::MAX), (&two, u64::MAX)]), None);
}

#[test]
fn routes_that_do_not_connect_the_tokens_are_refused_with_what_they_connect() {
    let own = market(0, "ETH-USDC", 2);
    let refused = |over: &[&MarketSpec]| Route::new(&own, over).unwrap_err();
    let (btc, doge) = (market(1, "BTC-USDC", 2), market(2, "ETH-DOGE", 2));
    assert_eq!(
        refused(&[&btc]),
        "BTC-USDC connects BTC and USDC, and not the tokens of this market: the price wanted is that of ETH in USDC"
    );
    let back = market(3, "DOGE-BTC", 2);
    assert_eq!(
        refused(&[&doge, &back]),
        "ETH-DOGE and DOGE-BTC connect ETH and BTC, and not the tokens of this market: the price wanted is that of \
         ETH in USDC"
    );
    let apart = refused(&[&btc, &doge]);
    assert!(apart.contains("connect no two tokens"), "{apart}");
    assert!(refused(&[]).contains("one or two markets"));
    let same = market(4, "ETH-USDC", 4);
    let circle = refused(&[&same, &own]);
    assert!(circle.contains("connect no two tokens"), "{circle}");
}
