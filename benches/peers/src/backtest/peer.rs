//! The same strategy on hftbacktest.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use cambist_core::Side;
use cambist_market_data::{Event, Grid, Update, Visibility};
use cambist_quant::queue;
use hftbacktest::backtest::assettype::LinearAsset;
use hftbacktest::backtest::data::Data;
use hftbacktest::backtest::models::{
    CommonFees, ConstantLatency, LogProbQueueFunc, LogProbQueueFunc2, PowerProbQueueFunc,
    PowerProbQueueFunc2, PowerProbQueueFunc3, ProbQueueModel, Probability, QueueModel,
    RiskAdverseQueueModel, TradingValueFeeModel,
};
use hftbacktest::backtest::{Backtest, DataSource, ExchangeKind, L2AssetBuilder};
use hftbacktest::depth::{INVALID_MAX, INVALID_MIN, L2MarketDepth};
use hftbacktest::prelude::*;
use hftbacktest::types::{self, ElapseResult};

use super::{Fill, Model, Outcomes, Scenario};

/// Its row of an event.
pub fn row(grid: Grid, event: &Event) -> types::Event {
    let view = match event.visibility {
        Visibility::Exchange => types::EXCH_EVENT,
        Visibility::Local => types::LOCAL_EVENT,
        Visibility::Both => types::EXCH_EVENT | types::LOCAL_EVENT,
    };
    let bit = |side| match side {
        Side::Buy => types::BUY_EVENT,
        Side::Sell => types::SELL_EVENT,
    };
    let (kind, side, price, qty) = match event.update {
        Update::Level { side, price, qty } => (types::DEPTH_EVENT, bit(side), price.0, qty.0),
        Update::SnapshotLevel { side, price, qty } => {
            (types::DEPTH_SNAPSHOT_EVENT, bit(side), price.0, qty.0)
        }
        Update::Trade {
            aggressor,
            price,
            qty,
        } => (types::TRADE_EVENT, bit(aggressor), price.0, qty.0),
        Update::Clear { side, to } => {
            let side = side.map_or(0, bit);
            (types::DEPTH_CLEAR_EVENT, side, to.map_or(0, |to| to.0), 0)
        }
        _ => panic!("the comparison is made by levels"),
    };
    types::Event {
        ev: kind | side | view,
        exch_ts: event.exchange_time.0,
        local_ts: event.local_time.0,
        px: grid.tick.to_float(price),
        qty: grid.lot.to_float(qty),
        order_id: 0,
        ival: 0,
        fval: 0.0,
    }
}

/// Writes events as rows of hftbacktest, uncompressed, as its users do with `numpy.save`.
pub fn write_npy(path: &Path, grid: Grid, events: &[Event]) {
    let mut out = BufWriter::new(File::create(path).expect("a file"));
    let mut header = format!(
        "{{'descr': [('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), ('qty', '<f8'), \
         ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')], 'fortran_order': False, 'shape': ({},), }}",
        events.len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00").expect("written");
    let length = u16::try_from(header.len()).expect("a short header");
    out.write_all(&length.to_le_bytes()).expect("written");
    out.write_all(header.as_bytes()).expect("written");
    for event in events {
        let row = row(grid, event);
        out.write_all(&row.ev.to_le_bytes()).expect("written");
        out.write_all(&row.exch_ts.to_le_bytes()).expect("written");
        out.write_all(&row.local_ts.to_le_bytes()).expect("written");
        out.write_all(&row.px.to_le_bytes()).expect("written");
        out.write_all(&row.qty.to_le_bytes()).expect("written");
        out.write_all(&[0; 24]).expect("written");
    }
    out.flush().expect("written");
}

/// Which book it keeps.
#[derive(Clone, Copy)]
pub enum Depth {
    /// A vector over the prices between two bounds, in ticks: its fastest.
    Vector(u64, u64),
    /// A hash map.
    Map,
}

/// Where its rows come from.
pub enum Rows<'a> {
    InMemory(&'a [types::Event]),
    File(&'a Path),
}

/// A run that is ready to go.
pub struct Prepared<MD: MarketDepth> {
    backtest: Backtest<MD>,
    tick: f64,
    lot: f64,
}

/// Prepares and runs the strategy; the clock runs in `timed`.
pub fn run(
    rows: &Rows<'_>,
    grid: Grid,
    depth: Depth,
    scenario: &Scenario,
    with_fills: bool,
    timed: impl FnOnce(&mut dyn FnMut() -> Outcomes) -> Outcomes,
) -> Outcomes {
    let (tick, lot) = (grid.tick.to_float(1), grid.lot.to_float(1));
    match depth {
        Depth::Vector(low, high) => {
            let (low, high) = (grid.tick.to_float(low), grid.tick.to_float(high));
            let make = move || ROIVectorMarketDepth::new(tick, lot, low, high);
            let mut prepared = prepare(rows, tick, lot, scenario, make);
            timed(&mut || prepared.run(scenario, with_fills))
        }
        Depth::Map => {
            let make = move || HashMapMarketDepth::new(tick, lot);
            let mut prepared = prepare(rows, tick, lot, scenario, make);
            timed(&mut || prepared.run(scenario, with_fills))
        }
    }
}

fn prepare<MD: MarketDepth + L2MarketDepth + 'static>(
    rows: &Rows<'_>,
    tick: f64,
    lot: f64,
    scenario: &Scenario,
    depth: impl Fn() -> MD + 'static,
) -> Prepared<MD> {
    fn estimated<P: Probability + 'static, MD: MarketDepth + L2MarketDepth + 'static>(
        rows: &Rows<'_>,
        scenario: &Scenario,
        depth: impl Fn() -> MD + 'static,
        probability: P,
    ) -> Backtest<MD> {
        build(rows, scenario, depth, ProbQueueModel::new(probability))
    }
    let Model::Estimated(model) = scenario.model else {
        panic!("the comparison is made by levels");
    };
    let backtest = match model {
        queue::Model::RiskAverse => build(rows, scenario, depth, RiskAdverseQueueModel::new()),
        queue::Model::Power(n) => estimated(rows, scenario, depth, PowerProbQueueFunc::new(n)),
        queue::Model::Power2(n) => estimated(rows, scenario, depth, PowerProbQueueFunc2::new(n)),
        queue::Model::Power3(n) => estimated(rows, scenario, depth, PowerProbQueueFunc3::new(n)),
        queue::Model::Log => estimated(rows, scenario, depth, LogProbQueueFunc::new()),
        queue::Model::Log2 => estimated(rows, scenario, depth, LogProbQueueFunc2::new()),
    };
    Prepared {
        backtest,
        tick,
        lot,
    }
}

fn build<MD: MarketDepth + L2MarketDepth + 'static, QM: QueueModel<MD> + 'static>(
    rows: &Rows<'_>,
    scenario: &Scenario,
    depth: impl Fn() -> MD + 'static,
    queue: QM,
) -> Backtest<MD> {
    let source = match rows {
        Rows::InMemory(rows) => DataSource::Data(Data::from_data(rows)),
        Rows::File(path) => DataSource::File(path.display().to_string()),
    };
    let asset = L2AssetBuilder::new()
        .data(vec![source])
        .latency_model(ConstantLatency::new(scenario.latency, scenario.latency))
        .asset_type(LinearAsset::new(1.0))
        .fee_model(TradingValueFeeModel::new(CommonFees::new(0.0, 0.0)))
        .exchange(ExchangeKind::NoPartialFillExchange)
        .queue_model(queue)
        .depth(depth)
        .build()
        .expect("an asset");
    Backtest::builder()
        .add_asset(asset)
        .build()
        .expect("a backtest")
}

impl<MD: MarketDepth> Prepared<MD> {
    fn run(&mut self, scenario: &Scenario, with_fills: bool) -> Outcomes {
        let (tick, lot) = (self.tick, self.lot);
        let hbt = &mut self.backtest;
        let mut outcomes = Outcomes::default();
        let qty = scenario.qty as f64 * lot;
        let limit = scenario.limit as f64 * lot;
        // Half a lot away from the limit, so that sums of floats compare as the lots they mean.
        let margin = lot / 2.0;
        let (mut next, mut ids, mut prices) = (1_u64, [0_u64; 2], [0_i64; 2]);
        loop {
            let end = hbt.elapse(scenario.step).expect("elapsed") != ElapseResult::Ok;
            if with_fills {
                for order in hbt
                    .orders(0)
                    .values()
                    .filter(|order| order.status == Status::Filled)
                {
                    outcomes.fills.push(Fill {
                        order: order.order_id,
                        time: order.exch_timestamp,
                        buys: order.side == hftbacktest::types::Side::Buy,
                        price: order.exec_price_tick.unsigned_abs(),
                    });
                }
            }
            hbt.clear_inactive_orders(Some(0));
            if end {
                break;
            }
            let (bid, ask) = (hbt.depth(0).best_bid_tick(), hbt.depth(0).best_ask_tick());
            if bid == INVALID_MIN || ask == INVALID_MAX {
                continue;
            }
            let position = hbt.position(0);
            let targets = [
                if position < limit - margin { bid } else { 0 },
                if position > margin - limit { ask } else { 0 },
            ];
            let mut free = [false; 2];
            for side in 0..2 {
                let order = hbt.orders(0).get(&ids[side]);
                let cancellable = order.map(types::Order::cancellable);
                free[side] = cancellable.is_none();
                if cancellable == Some(true) && prices[side] != targets[side] {
                    hbt.cancel(0, ids[side], false).expect("cancelled");
                    outcomes.cancels += 1;
                    free[side] = true;
                }
            }
            for side in 0..2 {
                if free[side] && targets[side] > 0 {
                    (ids[side], prices[side]) = (next, targets[side]);
                    next += 1;
                    let price = targets[side] as f64 * tick;
                    let submit = if side == 0 {
                        Backtest::submit_buy_order
                    } else {
                        Backtest::submit_sell_order
                    };
                    submit(
                        hbt,
                        0,
                        ids[side],
                        price,
                        qty,
                        TimeInForce::GTX,
                        OrdType::Limit,
                        false,
                    )
                    .expect("submitted");
                    outcomes.submits += 1;
                }
            }
        }
        outcomes.fills.sort_by_key(|fill| (fill.time, fill.order));
        outcomes.position = (hbt.position(0) / lot).round() as i64;
        outcomes
    }
}
