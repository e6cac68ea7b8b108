//! Shared helpers of the strategies' tests: a market, views made from text, decisions as text, random views.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write;

use cambist_core::control::Control;
use cambist_core::elsewhere::OtherHoldings;
use cambist_core::notification::Fill;
use cambist_core::order::{ClientOrderId, StrategyId};
use cambist_core::reference::Reference;
use cambist_core::strategy::{
    BookLevel, Holdings, OtherBook, OtherMarket, OwnOrder, PoolView, Strategy, SwapTerms, Targets,
    Traded, View,
};
use cambist_core::{MarketId, MarketSpec, Price, Qty, Side, Time, TokenId, TokenSpec};

/// Samples of a strategy for the tests of the registry.
pub struct Sample {
    /// A table that sets every parameter.
    pub table: &'static str,
    /// Another value for every parameter: `key`, or `list.key`, which is changed in the list's first table that has it.
    pub changes: &'static [(&'static str, &'static str)],
    /// Every reason for no quotes that it states in random markets, sorted.
    pub reasons: &'static [&'static str],
}

/// Another value for every parameter of the reference price, which all quoting strategies share.
pub const REFERENCE_CHANGES: &[(&str, &str)] = &[
    (
        "reference",
        "[{ source = \"mid\" }, { source = \"fixed\", price = 2501 }]",
    ),
    ("reference.source", "\"pool\""),
    ("reference.weight", "5"),
    ("reference.amount", "5"),
    ("reference.price", "2530"),
    ("reference.feed", "\"nowhere\""),
    ("reference.market", "\"ETH-DAI\""),
    ("reference.via", "\"DAI-USDC\""),
    ("reference_rule", "\"median\""),
    ("reference_sources_min", "6"),
    ("reference_divergence_bps", "1"),
];

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

/// ETH-BTC and BTC-USDC, of which ETH is worth 2,501 USDC.
pub fn other_markets() -> Vec<(MarketSpec, Option<u64>)> {
    let mut bitcoin = market().base;
    (bitcoin.id, bitcoin.symbol, bitcoin.decimals) = (TokenId(2), "BTC".to_owned(), 8);
    let MarketSpec { base, quote, .. } = market();
    let first = MarketSpec::new(MarketId(1), "ETH-BTC", base, bitcoin.clone(), 6, true);
    let second = MarketSpec::new(MarketId(2), "BTC-USDC", bitcoin, quote, 2, true);
    vec![
        (first.unwrap(), Some(100_000)),
        (second.unwrap(), Some(10_004_000)),
    ]
}

/// A market of another venue.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    pub market: MarketSpec,
    /// Best first; empty without a book.
    pub bids: Vec<BookLevel>,
    pub asks: Vec<BookLevel>,
    pub holdings: Option<OtherHoldings>,
    pub fee_bips: u16,
}

/// `there:ETH-USDC`, 10 bps of 2,500 wide, with lots of a thousandth; 1 ETH and 5,000 USDC are held there, and 1 ETH in
/// pool shares.
pub fn there() -> Elsewhere {
    let MarketSpec { base, quote, .. } = market();
    let mut market = MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).unwrap();
    market.name = "there:ETH-USDC".to_owned();
    market.quote_per_lot_tick *= 10;
    market.lot *= 10;
    let level = |price| {
        vec![BookLevel {
            price: Price(price),
            qty: Qty(1_000),
        }]
    };
    let eth = 10_u128.pow(18);
    Elsewhere {
        market,
        bids: level(249_875),
        asks: level(250_125),
        holdings: Some(OtherHoldings {
            base: eth,
            quote: 5_000 * 1_000_000,
            pooled_base: Some(eth),
            undecided: false,
        }),
        fee_bips: 10,
    }
}

impl Elsewhere {
    fn view(&self) -> OtherMarket<'_> {
        let best = self.bids.first().zip(self.asks.first());
        let book = best.map(|(bid, ask)| OtherBook {
            bids: &self.bids,
            asks: &self.asks,
            mid: Ok(bid.price.0 + ask.price.0),
        });
        OtherMarket {
            market: &self.market,
            age_ms: best.map(|_| 7),
            book: book.ok_or(Control::StaleData.into()),
            holdings: self.holdings,
            taker_fee_bips: self.fee_bips,
        }
    }
}

/// The data that a view borrows.
#[derive(Clone, Debug)]
pub struct Scene {
    pub now: Time,
    pub market: MarketSpec,
    pub bids: Vec<BookLevel>,
    pub asks: Vec<BookLevel>,
    pub mid: u64,
    pub holdings: Holdings,
    pub pool: Option<PoolView>,
    pub references: Vec<Reference<'static>>,
    /// Other markets, and the mid of each in its half ticks or none; any other is missing.
    pub markets: Vec<(MarketSpec, Option<u64>)>,
    /// Markets of other venues; any other is missing.
    pub elsewhere: Vec<Elsewhere>,
    pub own: Vec<OwnOrder>,
    pub fills: Vec<Fill>,
    pub traded: Traded,
    pub unknown: [u128; 2],
    pub taker_fee_bips: u16,
}

impl Scene {
    /// Best bid and ask in ticks, ETH and USDC held in whole tokens.
    pub fn new(bid: u64, ask: u64, eth: u128, usdc: u128) -> Self {
        let level = |price| BookLevel {
            price: Price(price),
            qty: Qty(10_000),
        };
        Self {
            now: Time::from_ms(1_000_000),
            market: market(),
            bids: vec![level(bid)],
            asks: vec![level(ask)],
            mid: bid + ask,
            holdings: Holdings {
                base: eth * 10u128.pow(18),
                quote: usdc * 1_000_000,
            },
            pool: None,
            references: Vec::new(),
            markets: Vec::new(),
            elsewhere: Vec::new(),
            own: Vec::new(),
            fills: Vec::new(),
            traded: Traded::default(),
            unknown: [0; 2],
            taker_fee_bips: 0,
        }
    }

    pub fn view(&self) -> View<'_> {
        View {
            now: self.now,
            market: &self.market,
            bids: &self.bids,
            asks: &self.asks,
            mid: self.mid,
            holdings: self.holdings,
            pool: self.pool,
            references: &self.references,
            markets: &[],
            own: &self.own,
            fills: &self.fills,
            traded: self.traded,
            unknown: self.unknown,
            taker_fee_bips: self.taker_fee_bips,
        }
    }

    pub fn decide(&self, strategy: &mut dyn Strategy) -> Targets {
        let mut targets = Targets::default();
        let markets = self.others(strategy.reads());
        let view = View {
            markets: &markets,
            ..self.view()
        };
        strategy.decide(&view, &mut targets);
        targets
    }

    /// The other markets with these names.
    pub fn others(&self, reads: &[String]) -> Vec<OtherMarket<'_>> {
        let each = reads.iter().map(|name| {
            let mut there = self.elsewhere.iter();
            if let Some(other) = there.find(|other| other.market.name == *name) {
                return other.view();
            }
            let mut known = self.markets.iter();
            let found = known.find(|(market, _)| market.name == *name);
            let mid = found.and_then(|(_, mid)| *mid);
            let book = mid.map(|mid| OtherBook {
                bids: &[],
                asks: &[],
                mid: Ok(mid),
            });
            OtherMarket {
                market: found.map_or(&self.market, |(market, _)| market),
                age_ms: mid.map(|_| 7),
                book: book.ok_or(Control::StaleData.into()),
                holdings: None,
                taker_fee_bips: 0,
            }
        });
        each.collect()
    }

    pub fn with_own(mut self, side: Side, price: u64, lots: u64) -> Self {
        self.own.push(own(self.own.len() as u64, side, price, lots));
        self
    }

    /// The scene in which exactly the targets rest as orders.
    pub fn resting(&self, targets: &Targets) -> Self {
        let mut next = self.clone();
        next.fills.clear();
        next.own = (0..)
            .zip(targets.quotes())
            .map(|(number, quote)| own(number, quote.side, quote.price.0, quote.qty.0))
            .collect();
        next
    }

    pub fn with_fill(mut self, side: Side) -> Self {
        self.fills.push(Fill {
            order: id(0),
            market: MarketId(0),
            side,
            base: 1,
            quote: 1,
            fee: 0,
            mid: None,
        });
        self
    }
}

fn id(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}

pub fn own(number: u64, side: Side, price: u64, lots: u64) -> OwnOrder {
    OwnOrder {
        id: id(number),
        side,
        price: Price(price),
        remaining: Qty(lots),
        expiring: false,
        cancelling: false,
    }
}

/// A pool at 2,500 with 1,000 shares, worth 500 each, of which `held` are ours.
pub fn pool(held: u128) -> PoolView {
    PoolView {
        base: 100 * 10u128.pow(18),
        quote: 250_000 * 1_000_000,
        supply: 1_000,
        range: None,
        owed: None,
        held,
        moving: false,
        moved: None,
        swap: SwapTerms {
            possible: true,
            fee_bips: 20,
            taker_fee_bips: 10,
            slippage_bps: 50,
            value_max: 5_000 * 1_000_000,
        },
    }
}

/// One line per quote: `buy 249750 x 1000 @0`; one for the target of the pool, and one for a swap.
pub fn text(targets: &Targets) -> String {
    let shares = targets.shares();
    let mut text = shares.map_or_else(String::new, |shares| format!("shares {shares}\n"));
    if let Some(swap) = targets.wanted_swap() {
        let (side, sell, least) = (swap.side.name(), swap.sell, swap.least);
        writeln!(text, "swap {side} {sell} for {least}").unwrap();
    }
    targets.quotes().iter().fold(text, |mut all, quote| {
        let (side, price, qty) = (quote.side.name(), quote.price.0, quote.qty.0);
        writeln!(all, "{side} {price} x {qty} @{}", quote.level).unwrap();
        all
    })
}

/// A splitmix generator: the tests' only randomness; printed seeds reproduce a failure.
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

    pub fn chance(&mut self, in_ten: u64) -> bool {
        self.below(10) < in_ten
    }

    /// A market in any state: thin, one-sided, priced away from the book, with own orders anywhere.
    pub fn scene(&mut self) -> Scene {
        let digits = 3 + self.below(20);
        let bid = 1 + self.below(1 << digits);
        let ask = bid + 1 + self.below(1 + bid / 20);
        let mut scene = Scene::new(
            bid,
            ask,
            u128::from(self.below(50)),
            u128::from(self.below(100_000)),
        );
        if self.chance(2) {
            scene.bids.clear();
        }
        if self.chance(2) {
            scene.asks.clear();
        }
        if scene.bids.is_empty() || scene.asks.is_empty() {
            // A seed price may contradict the side that exists.
            scene.mid = 2 * (1 + bid - self.below(bid) / 10 + self.below(1 + bid / 10));
        }
        for number in 0..self.below(8) {
            let side = if self.chance(5) {
                Side::Buy
            } else {
                Side::Sell
            };
            let price =
                1 + (scene.mid / 2).saturating_sub(scene.mid / 20) + self.below(1 + scene.mid / 10);
            let mut order = own(number, side, price, 1 + self.below(30_000));
            order.cancelling = self.chance(1);
            order.expiring = self.chance(1);
            scene.own.push(order);
        }
        let elsewhere = self.chance(9).then(|| scene.mid + self.below(3));
        let nowhere = self.chance(1).then_some(scene.mid);
        for (name, mid) in [("elsewhere", elsewhere), ("nowhere", nowhere)] {
            scene.references.push(Reference { name, mid });
        }
        if self.chance(1) {
            scene = scene.with_fill(if self.chance(5) {
                Side::Buy
            } else {
                Side::Sell
            });
        }
        scene
    }
}
