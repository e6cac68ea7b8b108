//! A prepared market: one base token against one quote token, simulated traders, suitable limits.

use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::{Amount, MarketId, Price, Qty, TokenId, TokenSpec, VenueRules, VenueTime};
use cambist_venue::agents::AgentsConfig;
use cambist_venue::{AccountId, Compat, Limits, TokenConfig, TokenKind, VenueConfig};

use crate::config::{
    ClockConfig, CrashConfig, FaultKindConfig, FaultScheduleConfig, NetworkConfig, SeatConfig,
    StoreConfig, WorldConfig,
};
use crate::profiles::control_loss::ControlLossConfig;
use crate::sealer::Sealer;

const BASE: TokenId = TokenId(0);
const QUOTE: TokenId = TokenId(1);
const OTHER: TokenId = TokenId(2);
/// One whole base token.
const ONE: Amount = 1_000_000_000_000_000_000;
/// One whole quote token.
const UNIT: Amount = 1_000_000;
/// 2500.00 quote tokens.
pub(crate) const PRICE: Price = Price(250_000);

const LADDER: &str = "
bid_spread_bps = 15
ask_spread_bps = 15
order_amount = 1
order_levels = 3
order_level_spread_bps = 10
inventory_skew_enabled = true
order_refresh_tolerance_bps = 4
filled_order_delay_ms = 500
";

const BANDS: &str = "
[[buy_bands]]
min_margin_bps = 8
avg_margin_bps = 14
max_margin_bps = 24
min_amount = 0.4
avg_amount = 0.6
max_amount = 1.0

[[sell_bands]]
min_margin_bps = 8
avg_margin_bps = 14
max_margin_bps = 24
min_amount = 0.4
avg_amount = 0.6
max_amount = 1.0
";

const GLFT: &str = "
order_amount = 1
order_levels = 2
inventory_bound = 8
volatility_bps = 1
intensity_per_s = 0.1
decay_per_bps = 0.1
volatility_window_s = 120
fee_bps = 2
";

impl WorldConfig {
    /// One simulated hour of a calm market with a clean network. `strategy` is `ladder`, `bands` or `glft`, or another
    /// one of the registry with its defaults.
    pub fn calm(seed: u64, strategy: &str) -> Self {
        Self {
            seed,
            duration_ms: 3_600_000,
            start_ms: 5_000,
            venue: venue(),
            rules: VenueRules::exchange(),
            references: Vec::new(),
            liquidity: Vec::new(),
            agents: vec![AgentsConfig::calm(seed, MarketId(0), PRICE, ONE / 4)],
            markets: vec!["AAA-QQQ".to_owned()],
            seats: vec![seat(strategy, MarketId(0))],
            open_leg_max: None,
            engine: engine(),
            tight: false,
            portfolio: false,
            funds: Amounts::from([(BASE, 40 * ONE), (QUOTE, 100_000 * UNIT)]),
            network: NetworkConfig {
                latency_min_ms: 5,
                latency_max_ms: 40,
                ..NetworkConfig::default()
            },
            store: StoreConfig {
                seal_min_ms: 1,
                seal_max_ms: 8,
                flush_ms: 500,
                restart_ms: 1_000,
            },
            crash: CrashConfig::default(),
            falls: ControlLossConfig::default(),
            fault_schedule: FaultScheduleConfig::default(),
            fault_kinds: FaultKindConfig::default(),
            clock: ClockConfig {
                venue_origin: VenueTime(1_700_000_000_250),
                engine_origin_us: 17,
                engine_drift_ppm: 40,
            },
            kraken: None,
            chain: None,
            sealer: Sealer::Digest,
            audit_steps: 20_000,
        }
    }

    /// A second strategy at the same market.
    #[must_use]
    pub fn shared(mut self) -> Self {
        let other = match self.seats[0].strategy.as_str() {
            "ladder" => "bands",
            _ => "ladder",
        };
        self.seats.push(seat(other, MarketId(0)));
        self.engine.markets[0].open_orders_max *= 2;
        self
    }

    /// A second market with its own base token and the same quote token, for the same account.
    #[must_use]
    pub fn twofold(mut self) -> Self {
        let second = MarketId(1);
        self.markets.push("BBB-QQQ".to_owned());
        self.seats.push(seat("bands", second));
        self.engine.markets.push(limits());
        self.funds.insert(OTHER, 40 * ONE);
        self.agents
            .push(AgentsConfig::calm(!self.seed, second, PRICE, ONE / 4));
        self
    }

    /// The same market over a network that loses, repeats and reorders messages.
    #[must_use]
    pub fn lossy(mut self) -> Self {
        self.network = NetworkConfig {
            not_sent: 100,
            loss_before: 300,
            loss_after: 300,
            garbled: 100,
            duplicate: 300,
            reorder: 500,
            reorder_ms: 8_000,
            ..self.network
        };
        self
    }
}

fn seat(strategy: &str, market: MarketId) -> SeatConfig {
    let parameters = match strategy {
        "ladder" => LADDER,
        "bands" => BANDS,
        "glft" => GLFT,
        _ => "",
    };
    SeatConfig {
        strategy: strategy.to_owned(),
        parameters: parameters.to_owned(),
        market,
        order_base: 3 * ONE,
        reads: Vec::new(),
    }
}

fn token(id: TokenId, symbol: &str, decimals: u8, minimum: Amount) -> TokenConfig {
    TokenConfig {
        spec: TokenSpec {
            id,
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 10_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: symbol.to_owned(),
        address: [u8::try_from(id.0).unwrap_or(0); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 0,
    }
}

fn venue() -> VenueConfig {
    let market = |name: &str, base| cambist_venue::MarketConfig {
        name: name.to_owned(),
        base,
        quote: QUOTE,
        price_decimals: 2,
        aggregation_levels: 3,
        enabled: true,
        maker_fee_bips: 2,
        taker_fee_bips: 10,
        price_band: None,
        fee_in: cambist_core::venue::FeeToken::Bought,
    };
    VenueConfig {
        chain_id: 1,
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![
            token(BASE, "AAA", 18, ONE / 1_000),
            token(QUOTE, "QQQ", 6, UNIT),
            token(OTHER, "BBB", 18, ONE / 1_000),
        ],
        markets: vec![market("AAA-QQQ", BASE), market("BBB-QQQ", OTHER)],
        limits: Limits {
            // The histories of simulated traders are never read.
            internal_history_orders_max: 10,
            ..Limits::default()
        },
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        compat: Compat::Both,
        ..VenueConfig::default()
    }
}

fn engine() -> EngineConfig {
    EngineConfig {
        ttl_ms: 30_000,
        refresh_before_ms: 8_000,
        grace_ms: 3_000,
        resend_margin_ms: 2_000,
        resend_after_ms: 1_000,
        attempts_max: 3,
        request_timeout_ms: 3_000,
        drain_deadline_ms: 120_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 10_000,
        poll: PollConfig {
            depth_ms: 500,
            orders_ms: 1_000,
            balances_ms: 2_000,
            meta_ms: 60_000,
            depth_age_max_ms: 5_000,
            balances_age_max_ms: 15_000,
            orders_age_max_ms: 15_000,
            orders_page: 50,
        },
        budget: BudgetConfig {
            per_s: 20,
            burst: 40,
            cancel_reserve: 8,
            endpoint_per_s: 10,
            endpoint_burst: 20,
            penalty_ms: 2_000,
        },
        risk: RiskConfig {
            gross_max: [0, 1, 2, 3].map(|id| (TokenId(id), 1 << 100)).into(),
            mismatch_max: [0, 1, 2, 3].map(|id| (TokenId(id), 100 * UNIT)).into(),
            // Pauses end soon, so that an hour has many of them.
            pause_ms: 10_000,
            pauses_per_day: 1_000_000,
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![limits()],
        pools: Vec::new(),
    }
}

fn limits() -> MarketConfig {
    MarketConfig {
        collar_bps: 500,
        price_min: Price(100_000),
        price_max: Price(500_000),
        order_value_max: 20_000 * UNIT,
        order_qty_max: Qty(1_000_000_000),
        inventory_min: 0,
        inventory_max: 80 * ONE,
        signed_unexpired_max: 5_000 * ONE,
        open_orders_max: 8,
        spread_max_bps: 500,
        depth_min: Qty(1),
        frozen_after_ms: 0,
        empty: EmptyBook::NoQuote,
        price_tolerance_bps: 4,
        qty_tolerance_bps: 2_000,
        loss: LossConfig::UNLIMITED,
    }
}
