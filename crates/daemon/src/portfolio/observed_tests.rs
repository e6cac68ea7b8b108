#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::path::Path;

use super::super::board::tests::{market, token};
use super::*;

/// 1.5 BTC with 8 decimals, at 60,000.01 USDC with 6.
fn observed() -> Observed {
    let balance = |token, total| Balance {
        token: TokenId(token),
        total,
        locked: 0,
    };
    Observed {
        markets: vec![market(0, token(1, "BTC", 8), token(2, "USDC", 6))],
        pools: Vec::new(),
        balances: vec![balance(1, 150_000_000), balance(2, 7)],
        mids: [(MarketId(0), 12_000_002)].into(),
    }
}

fn pool(market: u16) -> PoolSpec {
    PoolSpec {
        market: MarketId(market),
        name: "P".to_owned(),
        address: [1; 20],
        pooled: [TokenId(1), TokenId(2)],
        lp: token(9, "LP", 8),
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 30,
        in_range: false,
    }
}

#[test]
fn what_is_held_counts_at_the_middle_and_pool_shares_are_not_known() {
    let mut observed = observed();
    let exposure = observed.exposure();
    assert_eq!(exposure.tokens[&TokenId(1)], Some(150_000_000));
    assert_eq!(exposure.gross[&TokenId(2)], Some(90_000_015_000));
    observed.mids.clear();
    assert_eq!(observed.exposure().gross[&TokenId(2)], None);
    observed.balances.remove(0);
    let nothing = observed.exposure();
    assert_eq!(nothing.tokens[&TokenId(1)], Some(0));
    assert_eq!(
        nothing.gross[&TokenId(2)],
        Some(0),
        "nothing needs no price"
    );
    observed.pools.push(pool(0));
    assert_eq!(observed.exposure().tokens[&TokenId(1)], Some(0));
    observed.balances.push(Balance {
        token: TokenId(9),
        total: 1,
        locked: 0,
    });
    let shares = observed.exposure();
    assert_eq!(
        (shares.tokens[&TokenId(1)], shares.gross[&TokenId(2)]),
        (None, None)
    );
}

/// Two markets of the same base and quote count it once.
#[test]
fn a_token_of_two_markets_counts_once() {
    let mut observed = observed();
    let mut second = observed.markets[0].clone();
    second.id = MarketId(1);
    observed.markets.push(second);
    observed.mids.insert(MarketId(1), 12_000_002);
    let exposure = observed.exposure();
    assert_eq!(exposure.gross[&TokenId(2)], Some(90_000_015_000));
}

#[test]
fn a_venue_without_an_answer_is_not_known() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/portfolio.toml");
    let file = PortfolioFile::load(Path::new(path)).unwrap();
    let daemons = file.daemons().unwrap();
    let used = held_of_limits(&file, &daemons, &[None, None]).unwrap();
    let labels: Vec<_> = used.iter().map(|of| of.limit).collect();
    assert_eq!(labels, ["inventory", "exposure"], "no losses");
    // The limit is one of ETH, which one of them trades.
    assert_eq!(used[0].unknown_at, ["mainnet"]);
    assert_eq!(used[1].unknown_at, ["kraken", "mainnet"]);
}
