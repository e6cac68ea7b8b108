//! A market, an engine and rows in memory.

#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io;

use cambist_backtest::{Assumptions, Backtest, FillRow, Processes, Report, SampleRow, Setup, Sink};
use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::{Amount, MarketId, MarketSpec, Price, Qty, StrategyId, TokenId, TokenSpec};
use cambist_market_data::{
    Event, EventSource, Grid, Level, Recording, Snapshot, SnapshotSource, Timestamp,
};

pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
/// One whole base token.
pub const ONE: Amount = 1_000_000_000_000_000_000;
/// One whole quote token.
pub const UNIT: Amount = 1_000_000;
pub const SECOND: i64 = 1_000_000_000;
/// 2024-08-08T00:00:00Z.
pub const BEGIN: i64 = 1_723_075_200 * SECOND;

pub fn token(id: TokenId, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 95,
        dust: 0,
        enabled: true,
    }
}

/// Ticks of 0.01, lots of 0.0001.
pub fn market() -> MarketSpec {
    let (base, quote) = (token(BASE, "AAA", 18), token(QUOTE, "QQQ", 6));
    MarketSpec::new(MarketId(0), "AAA-QQQ", base, quote, 2, true).unwrap()
}

pub fn grid() -> Grid {
    Grid::parse("0.01", "0.0001").unwrap()
}

pub fn engine() -> EngineConfig {
    EngineConfig {
        ttl_ms: 60_000,
        refresh_before_ms: 10_000,
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
            depth_ms: 1_000,
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
            gross_max: [(QUOTE, 1 << 100)].into(),
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 500,
            price_min: Price(100_000),
            price_max: Price(500_000),
            order_value_max: 20_000 * UNIT,
            order_qty_max: Qty(1_000_000_000),
            inventory_min: 0,
            inventory_max: 20 * ONE,
            signed_unexpired_max: 1 << 100,
            open_orders_max: 8,
            spread_max_bps: 500,
            depth_min: Qty(1),
            frozen_after_ms: 0,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 4,
            qty_tolerance_bps: 2_000,
            loss: LossConfig::UNLIMITED,
        }],
        pools: Vec::new(),
    }
}

pub const LADDER: &str = "
bid_spread_bps = 5
ask_spread_bps = 5
order_amount = 1
order_levels = 2
order_level_spread_bps = 5
";

pub fn opening() -> Amounts {
    Amounts::from([(BASE, 10 * ONE), (QUOTE, 30_000 * UNIT)])
}

/// Assumptions of a fast exchange without limits.
pub fn fast() -> Assumptions {
    Assumptions {
        rate_limit: None,
        ..Assumptions::default()
    }
}

pub fn setup(data: Recording, assumptions: Assumptions) -> Setup {
    setup_of("ladder", LADDER, data, assumptions)
}

/// A setup with a strategy of the registry.
pub fn setup_of(name: &str, params: &str, data: Recording, assumptions: Assumptions) -> Setup {
    let spec = market();
    let info = cambist_strategies::find(name).unwrap();
    let strategy = info.build_from(&params.parse().unwrap(), &spec).unwrap();
    Setup {
        references: Vec::new(),
        engine: engine(),
        tokens: vec![spec.base.clone(), spec.quote.clone()],
        strategies: vec![(StrategyId(0), MarketId(0), strategy)],
        markets: vec![spec],
        data: vec![data],
        opening: opening(),
        assumptions,
        from: None,
        to: None,
        observer: None,
        processes: Processes::new(),
        sample_ms: 1_000,
    }
}

/// A sink that keeps all rows.
#[derive(Default)]
pub struct Kept {
    pub fills: Vec<FillRow>,
    pub samples: Vec<SampleRow>,
}

impl Sink for Kept {
    fn fill(&mut self, row: &FillRow) -> io::Result<()> {
        self.fills.push(row.clone());
        Ok(())
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        self.samples.push(row.clone());
        Ok(())
    }
}

pub fn run(setup: Setup) -> (Report, Kept) {
    let mut kept = Kept::default();
    let outcome = Backtest::new(setup).unwrap().run(&mut kept).unwrap();
    (outcome.report, kept)
}

/// A recording in memory.
pub struct Rows<T> {
    left: std::vec::IntoIter<T>,
    row: Option<T>,
    report: cambist_market_data::Report,
    grid: Grid,
}

pub fn snapshots(rows: Vec<Snapshot>) -> Recording {
    Recording::Snapshots(Box::new(Rows::new(rows)))
}

pub fn events(rows: Vec<Event>) -> Recording {
    events_of(rows, grid())
}

/// With another tick and lot than the market's.
pub fn events_of(rows: Vec<Event>, grid: Grid) -> Recording {
    Recording::Events(Box::new(Rows {
        grid,
        ..Rows::new(rows)
    }))
}

/// Events that are read by so many at a time, as from a recording.
pub fn events_by(block: usize, rows: Vec<Event>) -> Recording {
    Recording::Events(Box::new(Blocks {
        rows: Rows::new(rows),
        block,
    }))
}

struct Blocks {
    rows: Rows<Event>,
    block: usize,
}

impl EventSource for Blocks {
    fn next_event(&mut self) -> cambist_market_data::Result<Option<&Event>> {
        self.rows.next_event()
    }

    fn next_events(&mut self, events: &mut Vec<Event>) -> cambist_market_data::Result<()> {
        events.clear();
        while events.len() < self.block
            && let Some(event) = self.rows.next_event()?
        {
            events.push(*event);
        }
        Ok(())
    }

    fn grid(&self) -> Grid {
        EventSource::grid(&self.rows)
    }

    fn report(&self) -> &cambist_market_data::Report {
        EventSource::report(&self.rows)
    }
}

impl<T> Rows<T> {
    fn new(rows: Vec<T>) -> Self {
        Self {
            left: rows.into_iter(),
            row: None,
            report: cambist_market_data::Report::default(),
            grid: grid(),
        }
    }

    fn next(&mut self) -> Option<&T> {
        self.row = self.left.next();
        self.report.rows += u64::from(self.row.is_some());
        self.row.as_ref()
    }
}

impl SnapshotSource for Rows<Snapshot> {
    fn next_snapshot(&mut self) -> cambist_market_data::Result<Option<&Snapshot>> {
        Ok(self.next())
    }

    fn grid(&self) -> Grid {
        grid()
    }

    fn report(&self) -> &cambist_market_data::Report {
        &self.report
    }
}

impl EventSource for Rows<Event> {
    fn next_event(&mut self) -> cambist_market_data::Result<Option<&Event>> {
        if let Some(event) = self.next().copied() {
            self.report.events(&[event]);
            self.report.keep(event.exchange_time);
        }
        Ok(self.row.as_ref())
    }

    fn grid(&self) -> Grid {
        self.grid
    }

    fn report(&self) -> &cambist_market_data::Report {
        &self.report
    }
}

/// A book of five levels a side around a mid in ticks, at a time in milliseconds.
pub fn book(ms: i64, mid: u64) -> Snapshot {
    let side = |sign: i64| {
        let level = |away: i64| Level {
            price: Price(mid.wrapping_add_signed(sign * (10 + 20 * away))),
            qty: Qty(20_000),
        };
        (0..5).map(level).collect()
    };
    let time = Timestamp(BEGIN + ms * 1_000_000);
    Snapshot {
        exchange_time: time,
        local_time: time,
        sequence: u64::try_from(ms).unwrap(),
        bids: side(-1),
        asks: side(1),
    }
}

/// A snapshot a second of a mid that swings by `swing` ticks with a period of 40 s.
pub fn swinging(seconds: i64, swing: i64) -> Vec<Snapshot> {
    let mid = |n: i64| {
        let phase = n % 40;
        let away = if phase < 20 { phase } else { 40 - phase } - 10;
        250_000_u64.wrapping_add_signed(away * swing / 10)
    };
    (0..seconds).map(|n| book(n * 1_000, mid(n))).collect()
}
