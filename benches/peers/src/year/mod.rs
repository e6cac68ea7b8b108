//! A year of one-second polls of one market: the engine with the strategy `bands`, risk limits and fills, in a process
//! of its own, from a recording on disk.
//!
//! `year [DAYS [SEED [SCENARIO]]]`. A tenth of the recording is run as well: memory must not depend on the length.

mod scenario;

use std::path::Path;

use cambist_backtest::{Assumptions, Backtest, Processes, Setup};
use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::strategy::Strategy;
use cambist_core::{Amount, MarketId, MarketSpec, Price, Qty, StrategyId, TokenId, TokenSpec};
use cambist_market_data::segment::{ReadOptions, SnapshotSegments};
use cambist_market_data::{Grid, Recording, SnapshotSource, Timestamp};

use crate::measure;

const BASE: TokenId = TokenId(1);
const QUOTE: TokenId = TokenId(2);
const ONE: Amount = 1_000_000_000_000_000_000;
const UNIT: Amount = 1_000_000;
const DAY_S: u64 = 86_400;
const SCENARIO: &str = "volatile";
/// Seconds of the scenario that are played; the recording runs through them forwards and backwards in turns.
const PLAYED_S: u64 = 7_200;

/// Two bands a side around a market whose traders quote 30 bps from their price.
const BANDS: &str = "
buy_bands = [
    { min_margin_bps = 10, avg_margin_bps = 20, max_margin_bps = 40, min_amount = 0.5, avg_amount = 1, max_amount = 1.5 },
    { min_margin_bps = 40, avg_margin_bps = 60, max_margin_bps = 90, min_amount = 1, avg_amount = 2, max_amount = 3 },
]
sell_bands = [
    { min_margin_bps = 10, avg_margin_bps = 20, max_margin_bps = 40, min_amount = 0.5, avg_amount = 1, max_amount = 1.5 },
    { min_margin_bps = 40, avg_margin_bps = 60, max_margin_bps = 90, min_amount = 1, avg_amount = 2, max_amount = 3 },
]
dust_cutoff = 0.01
";

fn token(id: TokenId, symbol: &str, decimals: u8) -> TokenSpec {
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
    let (base, quote) = (token(BASE, "ETH", 18), token(QUOTE, "USDC", 6));
    MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).expect("a market")
}

/// The defaults of a configuration file, with limits that this account can reach.
pub fn config() -> EngineConfig {
    EngineConfig {
        ttl_ms: 120_000,
        refresh_before_ms: 20_000,
        grace_ms: 30_000,
        resend_margin_ms: 3_000,
        resend_after_ms: 1_500,
        attempts_max: 3,
        request_timeout_ms: 5_000,
        drain_deadline_ms: 300_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 1_000,
        poll: PollConfig {
            depth_ms: 1_000,
            orders_ms: 2_000,
            balances_ms: 3_000,
            meta_ms: 30_000,
            depth_age_max_ms: 5_000,
            balances_age_max_ms: 15_000,
            orders_age_max_ms: 30_000,
            orders_page: 50,
        },
        budget: BudgetConfig {
            per_s: 15,
            burst: 15,
            cancel_reserve: 4,
            endpoint_per_s: 3,
            endpoint_burst: 2,
            penalty_ms: 2_000,
        },
        risk: RiskConfig {
            gross_max: [(QUOTE, 1_000_000_000 * UNIT)].into(),
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 200,
            price_min: Price(1_000),
            price_max: Price(100_000_000),
            order_value_max: 100_000 * UNIT,
            order_qty_max: Qty(100_000),
            inventory_min: 0,
            inventory_max: 40 * ONE,
            signed_unexpired_max: 1_000 * ONE,
            open_orders_max: 8,
            spread_max_bps: 500,
            depth_min: Qty(1),
            frozen_after_ms: 300_000,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 5,
            qty_tolerance_bps: 1_000,
            loss: LossConfig::UNLIMITED,
        }],
        pools: Vec::new(),
    }
}

/// What the account holds at the beginning, base and quote.
pub const OPENING: [Amount; 2] = [20 * ONE, 100_000 * UNIT];

/// The strategy.
pub fn strategy(spec: &MarketSpec) -> Box<dyn Strategy> {
    let info = cambist_strategies::find("bands").expect("a strategy");
    let table = BANDS.parse().expect("parameters");
    info.build_from(&table, spec).expect("a strategy")
}

/// Makes the recording and runs it.
pub fn run(arguments: &[String]) {
    let number = |at: usize, default: u64| {
        arguments
            .get(at)
            .map_or(default, |word| word.parse().expect("a number"))
    };
    let (days, seed) = (number(0, 365), number(1, 7));
    let spec = market();
    let grid = Grid::parse("0.01", "0.0001").expect("a grid");
    let name = arguments.get(2).map_or(SCENARIO, String::as_str);
    let played = scenario::play(name, seed, PLAYED_S, &spec);
    let folder = std::env::temp_dir().join(format!("cambist-year-{}", std::process::id()));
    let seconds = days * DAY_S;
    scenario::record(&folder, &played, seconds, grid);
    let bytes: u64 = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .and_then(|entry| entry.metadata())
                .expect("a file")
                .len()
        })
        .sum();
    let path = folder.display().to_string();
    println!(
        "{seconds} snapshots of the scenario `{name}`, 20 levels a side, {:.1} bytes each on disk.\n",
        bytes as f64 / seconds as f64
    );
    let mut year_s = f64::NAN;
    println!("| snapshots | what | CPU | each | peak memory |\n|---|---|---|---|---|");
    for part in [10, 1] {
        let count = seconds / part;
        for (what, how) in [
            ("read only", "read"),
            ("engine, `bands`, risk, fills", "run"),
        ] {
            let (spent, said) = measure::process(&["year-process", how, &path, &count.to_string()]);
            year_s = spent.cpu_s / count as f64 * (365 * DAY_S) as f64;
            println!(
                "| {count} | {what}{said} | {:.1} s | {:.0} ns | {:.1} MB |",
                spent.cpu_s,
                spent.cpu_s * 1e9 / count as f64,
                spent.peak_mb
            );
        }
    }
    measure::aims(&[(
        "a year through the engine, CPU of one core",
        year_s,
        30.0,
        "s",
    )]);
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// One run, in a process of its own.
pub fn process(arguments: &[String]) {
    let [how, path, count] = arguments else {
        panic!("year-process run|read FOLDER SNAPSHOTS");
    };
    let count: u64 = count.parse().expect("a number");
    let mut source =
        SnapshotSegments::open(Path::new(path), ReadOptions::default()).expect("a recording");
    if how == "read" {
        for _ in 0..count {
            source
                .next_snapshot()
                .expect("a sound recording")
                .expect("a row");
        }
    } else {
        let fills = backtest(Recording::Snapshots(Box::new(source)), count);
        println!(": {fills}");
    }
    measure::conclude();
}

fn backtest(data: Recording, count: u64) -> String {
    let spec = market();
    let strategy = strategy(&spec);
    let last = scenario::ORIGIN.as_s() + count - 1;
    let setup = Setup {
        references: Vec::new(),
        engine: config(),
        tokens: vec![spec.base.clone(), spec.quote.clone()],
        strategies: vec![(StrategyId(0), MarketId(0), strategy)],
        markets: vec![spec],
        data: vec![data],
        opening: Amounts::from([(BASE, OPENING[0]), (QUOTE, OPENING[1])]),
        assumptions: Assumptions::default(),
        from: None,
        to: Some(Timestamp(last.cast_signed() * 1_000_000_000)),
        sample_ms: 60_000,
        observer: None,
        processes: Processes::new(),
    };
    let finished = Backtest::new(setup)
        .expect("a setup")
        .run(&mut ())
        .expect("a run");
    let report = finished.report;
    assert_eq!(report.invariants, [""; 0]);
    format!(
        "{} orders, {} fills, both sides quoted {:.1} % of the time, {}",
        report.orders.submitted,
        report.fills,
        report.quoted_both_sides_ratio * 100.0,
        report.level
    )
}
