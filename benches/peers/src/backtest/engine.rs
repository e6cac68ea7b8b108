//! The strategy on the engine of live trading: polls, comparison, risk, budget, seals, and a simulated exchange with our
//! account on it, as `cambist backtest` runs them, with the limits of the exchange off.
//!
//! The engine polls depth and its list of orders every step. A request takes a millisecond to the exchange and its
//! answer a millisecond back, so that a decision is based on a book of a millisecond ago and takes effect a millisecond
//! later, as in the peer.

use cambist_backtest::{
    Assumptions, Backtest, FillRow, LatencyRange, Processes, SampleRow, Setup, Sink,
};
use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::event::Amounts;
use cambist_core::strategy::{BookLevel, OwnOrder, Strategy, Targets, View};
use cambist_core::{
    Amount, MarketId, MarketSpec, Price, Qty, Side, StrategyId, Time, TokenId, TokenSpec,
};
use cambist_fill_model::{FillRule, QueueModel};
use cambist_market_data::{Recording, Timestamp};

use super::{Fill, Model, Outcomes, Scenario};

const BASE: TokenId = TokenId(0);
const QUOTE: TokenId = TokenId(1);
/// No limit is reached.
const PLENTY: Amount = 1 << 90;
const MANY: u32 = 1_000_000_000;
/// A whole base token, which is a lot of the workload.
const LOT: Amount = 100_000_000;
/// Lots held at the beginning, in the middle of what the strategy may hold.
const OPENING: Amount = 1_000_000;

fn token(id: TokenId, symbol: &str, decimals: u8, precision: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision,
        minimum: 1,
        maximum: PLENTY,
        dust: 0,
        enabled: true,
    }
}

/// A market with the workload's tick and lot.
pub fn market() -> MarketSpec {
    let (base, quote) = (token(BASE, "AAA", 8, 0), token(QUOTE, "QQQ", 6, 6));
    MarketSpec::new(MarketId(0), "AAA-QQQ", base, quote, 2, true).expect("a market")
}

fn config(scenario: &Scenario) -> EngineConfig {
    let step_ms = scenario.step.unsigned_abs() / 1_000_000;
    EngineConfig {
        ttl_ms: 120_000,
        refresh_before_ms: 10_000,
        grace_ms: 1_000,
        resend_margin_ms: 1_000,
        resend_after_ms: 100,
        attempts_max: 3,
        request_timeout_ms: 3_000,
        drain_deadline_ms: 120_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 600_000,
        poll: PollConfig {
            depth_ms: step_ms,
            orders_ms: step_ms,
            balances_ms: 1_000,
            meta_ms: 600_000,
            depth_age_max_ms: 3_600_000,
            balances_age_max_ms: 3_600_000,
            orders_age_max_ms: 3_600_000,
            orders_page: 1_000,
        },
        budget: BudgetConfig {
            per_s: 10_000,
            burst: 10_000,
            cancel_reserve: 0,
            endpoint_per_s: 10_000,
            endpoint_burst: 10_000,
            penalty_ms: 0,
        },
        risk: RiskConfig {
            gross_max: [(QUOTE, PLENTY)].into(),
            mismatch_max: [(BASE, PLENTY), (QUOTE, PLENTY)].into(),
            move_bps: 10_000,
            move_ms: 1_000,
            orders_per_min: MANY,
            cancels_per_min: MANY,
            messages_per_fill: 0,
            executions_per_min: MANY,
            duplicate_ms: 0,
            streak_fills: 0,
            ttl_max_ms: 120_000,
            fee_max_bips: 63,
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 10_000,
            price_min: Price(1),
            price_max: Price(1_000_000_000),
            order_value_max: PLENTY,
            order_qty_max: Qty(1_000_000_000),
            inventory_min: 0,
            inventory_max: PLENTY,
            signed_unexpired_max: PLENTY,
            open_orders_max: 1_000,
            spread_max_bps: 10_000,
            depth_min: Qty(0),
            frozen_after_ms: 0,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 0,
            qty_tolerance_bps: 0,
            loss: LossConfig::UNLIMITED,
        }],
        pools: Vec::new(),
    }
}

/// Joins both touches of every book that it sees for the first time, and keeps what it has on one that it has seen: an
/// order that the exchange refused is not sent again before there is another book. One that waits for the cancel of an
/// order of the other side, which it would trade with, is still wanted.
struct Join {
    qty: Qty,
    opening: i128,
    limit: i128,
    step: Time,
    decided_at: Time,
    seen: [Option<BookLevel>; 2],
    waits: [bool; 2],
}

impl Strategy for Join {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let position = view.holdings.base.cast_signed() - self.opening;
        let touch = [view.bids.first().copied(), view.asks.first().copied()];
        let is_new = touch != self.seen || view.now >= Time(self.decided_at.0 + self.step.0);
        if is_new {
            (self.seen, self.decided_at) = (touch, view.now);
        }
        let may = [position < self.limit, position > -self.limit];
        for (side, (level, may)) in Side::BOTH.into_iter().zip(touch.into_iter().zip(may)) {
            let Some(level) = level.filter(|_| may) else {
                self.waits[side as usize] = false;
                continue;
            };
            let mut own = view.own.iter();
            let rests = own.any(|own| own.side == side && !own.cancelling);
            if is_new || rests || self.waits[side as usize] {
                targets.quote(side, level.price, self.qty, 0);
            }
            let crosses = |own: &OwnOrder| own.side != side && side.reaches(level.price, own.price);
            self.waits[side as usize] = view.own.iter().any(crosses);
        }
    }
}

#[derive(Default)]
struct Kept {
    fills: Vec<Fill>,
    closing: Amount,
}

impl Sink for Kept {
    fn fill(&mut self, row: &FillRow) -> std::io::Result<()> {
        self.fills.push(Fill {
            order: row.order,
            time: row.time.0,
            buys: row.side == Side::Buy,
            price: row.price.0,
        });
        Ok(())
    }

    fn sample(&mut self, row: &SampleRow) -> std::io::Result<()> {
        self.closing = row.base;
        Ok(())
    }
}

/// Runs the strategy over a recording.
pub fn run(data: Recording, scenario: &Scenario) -> Outcomes {
    let spec = market();
    let latency = scenario.latency.unsigned_abs() / 1_000;
    let latency = LatencyRange {
        min_us: latency,
        max_us: latency,
    };
    let join = Join {
        qty: Qty(scenario.qty.unsigned_abs()),
        opening: (OPENING * LOT).cast_signed(),
        limit: i128::from(scenario.limit) * LOT.cast_signed(),
        step: Time(scenario.step.unsigned_abs() / 1_000),
        decided_at: Time(0),
        seen: [None; 2],
        waits: [false; 2],
    };
    let setup = Setup {
        references: Vec::new(),
        engine: config(scenario),
        tokens: vec![spec.base.clone(), spec.quote.clone()],
        strategies: vec![(StrategyId(0), MarketId(0), Box::new(join))],
        markets: vec![spec],
        data: vec![data],
        opening: Amounts::from([(BASE, OPENING * LOT), (QUOTE, OPENING * 10_000_000_000)]),
        assumptions: Assumptions {
            request_latency: latency,
            response_latency: latency,
            acknowledgement_delay_us: 0,
            visibility_lag_us: 0,
            seal_us: 0,
            timer_lateness_us: 0,
            queue: match scenario.model {
                Model::Estimated(model) => QueueModel::Estimated(model),
                Model::Fifo => QueueModel::Fifo,
            },
            fill_rule: FillRule::WholeOrder,
            depth_levels: 50,
            rate_limit: None,
            ..Assumptions::default()
        },
        from: None::<Timestamp>,
        to: None,
        sample_ms: 1_000,
        observer: None,
        processes: Processes::new(),
    };
    let mut kept = Kept::default();
    let finished = Backtest::new(setup)
        .expect("a setup")
        .run(&mut kept)
        .expect("a run");
    let report = finished.report;
    assert_eq!(report.invariants, [""; 0]);
    Outcomes {
        submits: report.orders.submitted,
        cancels: report.orders.cancelled,
        position: i64::try_from((kept.closing / LOT).cast_signed() - OPENING.cast_signed())
            .expect("few"),
        crossings: 0,
        fills: kept.fills,
    }
}
