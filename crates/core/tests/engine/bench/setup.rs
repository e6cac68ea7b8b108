//! Common inputs of tests: tokens, a market, limits, quotes, and strategies with constant targets.

use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::request::Listed;
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{Amount, MarketId, MarketSpec, Price, Qty, Side, TokenId, TokenSpec, VenueTime};

pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
pub const OTHER: TokenId = TokenId(2);
/// A token that no market trades, in which a venue may charge for requests.
pub const COIN: TokenId = TokenId(7);
pub const ORIGIN: VenueTime = VenueTime(1_700_000_000_000);
pub const LOT: Amount = 100;

/// Has the same quotes as targets in every decision.
pub struct Always(pub Vec<(Side, u64, u64)>);

impl Strategy for Always {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        for (level, (side, price, qty)) in (0..).zip(&self.0) {
            targets.quote(*side, Price(*price), Qty(*qty), level);
        }
    }
}

/// Has a bid this many ticks below the mid as target.
pub struct Below(pub u64);

impl Strategy for Below {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        targets.quote(Side::Buy, Price(view.mid / 2 - self.0), Qty(100), 0);
    }
}

pub fn token(id: TokenId, decimals: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: format!("T{}", id.0),
        decimals,
        precision: decimals,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

pub fn spec() -> MarketSpec {
    // Base with 6 decimals, price with 2, quote with 6: lots of four decimals, 100 base units.
    MarketSpec::new(
        MarketId(0),
        "T0-T1",
        token(BASE, 6),
        token(QUOTE, 6),
        2,
        true,
    )
    .unwrap()
}

/// A market of the base token as the venue lists it.
pub fn listed(name: &str, quote: TokenId) -> Listed {
    Listed {
        name: name.to_owned(),
        base: BASE,
        quote,
        price_decimals: 2,
        enabled: true,
    }
}

pub fn config() -> EngineConfig {
    EngineConfig {
        ttl_ms: 20_000,
        refresh_before_ms: 5_000,
        grace_ms: 3_000,
        resend_margin_ms: 2_000,
        resend_after_ms: 1_000,
        attempts_max: 3,
        request_timeout_ms: 2_000,
        drain_deadline_ms: 60_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 1_000_000,
        poll: PollConfig {
            depth_ms: 500,
            orders_ms: 1_000,
            balances_ms: 1_000,
            meta_ms: 60_000,
            depth_age_max_ms: 3_000,
            balances_age_max_ms: 10_000,
            orders_age_max_ms: 10_000,
            orders_page: 50,
        },
        budget: BudgetConfig {
            per_s: 100,
            burst: 100,
            cancel_reserve: 10,
            endpoint_per_s: 100,
            endpoint_burst: 100,
            penalty_ms: 2_000,
        },
        risk: RiskConfig {
            gross_max: SortedMap::from([(QUOTE, 1 << 90), (OTHER, 1 << 90)]),
            mismatch_max: SortedMap::from([(QUOTE, 1 << 90), (OTHER, 1 << 90)]),
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 500,
            price_min: Price(5_000),
            price_max: Price(20_000),
            order_value_max: 10_000_000_000,
            order_qty_max: Qty(1_000_000),
            inventory_min: 0,
            inventory_max: 1_000_000_000,
            signed_unexpired_max: 1 << 90,
            open_orders_max: 4,
            spread_max_bps: 300,
            depth_min: Qty(10),
            frozen_after_ms: 0,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 5,
            qty_tolerance_bps: 1_000,
            loss: LossConfig::UNLIMITED,
        }],
        pools: Vec::new(),
    }
}

/// The two quotes of most tests: 100 lots each side, a tick inside the book.
pub const BOTH: [(Side, u64, u64); 2] = [(Side::Buy, 9_995, 100), (Side::Sell, 10_005, 100)];
/// Only the bid.
pub const BID: [(Side, u64, u64); 1] = [(Side::Buy, 9_995, 100)];
