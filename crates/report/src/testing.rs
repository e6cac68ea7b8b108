//! Helpers shared by the tests of this crate.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::notification::Fill;
use cambist_core::order::{ClientOrderId, StrategyId};
use cambist_core::{MarketId, MarketSpec, PoolSpec, Price, Qty, Side, TokenId, TokenSpec};

/// ETH-USDC: prices with two decimals, lots of 0.0001 ETH.
pub fn market() -> MarketSpec {
    let token = |id, symbol: &str, decimals| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    let base = token(0, "ETH", 18);
    let quote = token(1, "USDC", 6);
    MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).unwrap()
}

/// The pool beside it; its shares are whole numbers.
pub fn pool() -> PoolSpec {
    let market = market();
    PoolSpec {
        market: market.id,
        name: "AMM-ETH-USDC".to_owned(),
        address: [1; 20],
        pooled: [market.base.id, market.quote.id],
        lp: TokenSpec {
            id: TokenId(9),
            symbol: "LP-ETH-USDC".to_owned(),
            decimals: 0,
            ..market.quote
        },
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 20,
        in_range: false,
    }
}

pub fn order(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}

/// A fill at a price in ticks, of `lots` lots.
pub fn fill(side: Side, price: u64, lots: u64, fee: u128, mid: Option<u64>) -> Fill {
    let market = market();
    Fill {
        order: order(1),
        market: MarketId(0),
        side,
        base: market.base_amount(Qty(lots)).unwrap(),
        quote: market.quote_amount(Price(price), Qty(lots)).unwrap(),
        fee,
        mid,
    }
}

/// A splitmix generator; seeds reproduce a failure.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
