//! Queue positions in the simulation: the published models and the exact queue.

#![allow(clippy::expect_used, clippy::float_cmp, reason = "tests")]

mod common;

use cambist_core::{Price, Qty, Side};
use cambist_fill_model::FillSimulator;
use cambist_fill_model::{FillRule, Options, OptionsError, QueueModel};
use cambist_market_data::Update;
use cambist_quant::queue::Model;
use common::{Market, Observed, maker};
use serde_json::Value;

fn options(queue: QueueModel) -> Options {
    Options {
        queue,
        ..Options::careful()
    }
}

fn model(case: &Value) -> Model {
    let n = case["n"].as_f64().unwrap_or(f64::NAN);
    match case["model"].as_str().expect("a model") {
        "risk_averse" => Model::RiskAverse,
        "power" => Model::Power(n),
        "power2" => Model::Power2(n),
        "power3" => Model::Power3(n),
        "log" => Model::Log,
        "log2" => Model::Log2,
        other => panic!("{other}: no model"),
    }
}

/// The vectors are those of hftbacktest's queue models: the quantity in front after every event, and the trade that
/// fills.
#[test]
fn queue_positions_are_those_of_the_published_models() {
    let text = include_str!("vectors/queue_models.json");
    let file: Value = serde_json::from_str(text).expect("JSON");
    let cases = file["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 21, "seven models, three markets each");
    for case in cases {
        let (id, input) = (&case["id"], &case["in"]);
        let mut market = Market::of_events(options(QueueModel::Estimated(model(input))));
        let number = |value: &Value| value.as_u64().expect("a whole number");
        market.level(Side::Buy, 100, number(&input["qty_at_level_on_entry"]));
        market.submit(maker(1, Side::Buy, 100, 1));
        let fronts = case["out"]["front_after_each_event"]
            .as_array()
            .expect("fronts");
        let filled = case["out"]["fill_event_index"].as_u64();
        for (index, front) in fronts.iter().enumerate() {
            let event = &input["events"][index];
            let qty = number(&event[1]);
            let observed = match event[0].as_str().expect("a kind") {
                "depth" => market.level(Side::Buy, 100, qty),
                _ => market.trade(Side::Sell, 100, qty),
            };
            if filled == Some(index as u64) {
                assert_eq!(
                    observed,
                    [Observed::Filled(1, 100, 1)],
                    "{id}, event {index}"
                );
                break;
            }
            assert_eq!(observed, [], "{id}, event {index}");
            let front = front.as_f64().expect("a number").max(0.0);
            let expected = market.in_front(1).expect("it rests");
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let apart = front - expected as f64;
            assert!(
                (-1e-9..1.0).contains(&apart),
                "{id}, event {index}: {front} in front, not {expected}"
            );
        }
        assert_eq!(filled.is_none(), market.in_front(1).is_some(), "{id}");
    }
}

#[test]
fn the_risk_averse_order_moves_forward_by_trades_alone() {
    let mut market = Market::of_events(Options::careful());
    market.level(Side::Sell, 101, 10);
    assert_eq!(
        market.submit(maker(1, Side::Sell, 101, 5)),
        [Observed::Resting(1)]
    );
    market.level(Side::Sell, 101, 14);
    market.level(Side::Sell, 101, 11);
    assert_eq!(market.in_front(1), Some(10), "14 to 11: those behind left");
    assert_eq!(market.trade(Side::Buy, 101, 9), []);
    assert_eq!(market.in_front(1), Some(1));
    assert_eq!(
        market.trade(Side::Buy, 101, 3),
        [Observed::Filled(1, 101, 2)]
    );
    assert_eq!(market.in_front(1), Some(0));
    assert_eq!(
        market.trade(Side::Buy, 101, 50),
        [Observed::Filled(1, 101, 3)]
    );
    assert_eq!(market.simulator.open_orders(), 0);
}

#[test]
fn one_trade_fills_at_most_its_quantity_over_several_orders() {
    for queue in [Model::RiskAverse, Model::Power(3.0), Model::Log] {
        let mut market = Market::of_events(options(QueueModel::Estimated(queue)));
        market.level(Side::Buy, 100, 4);
        market.submit(maker(1, Side::Buy, 100, 3));
        market.level(Side::Buy, 100, 6);
        market.submit(maker(2, Side::Buy, 100, 3));
        // 4 in front of the first order; 2 between the two.
        assert_eq!(
            market.trade(Side::Sell, 100, 6),
            [Observed::Filled(1, 100, 2)],
            "{queue:?}"
        );
        assert_eq!(
            market.trade(Side::Sell, 100, 3),
            [Observed::Filled(1, 100, 1)],
            "{queue:?}: 1 for the first, 2 for those between"
        );
        assert_eq!(
            market.trade(Side::Sell, 100, 1),
            [Observed::Filled(2, 100, 1)],
            "{queue:?}"
        );
    }
}

fn add(market: &mut Market, id: u64, price: u64, qty: u64) {
    let (order, side) = (id, Side::Buy);
    market.event(Update::Add {
        order,
        side,
        price: Price(price),
        qty: Qty(qty),
    });
}

#[test]
fn exact_queues_count_the_orders_in_front() {
    let mut market = Market::of_events(options(QueueModel::Fifo));
    add(&mut market, 11, 100, 5);
    add(&mut market, 12, 100, 2);
    market.submit(maker(1, Side::Buy, 100, 3));
    add(&mut market, 13, 100, 9);
    assert_eq!(market.in_front(1), Some(7));
    // Behind us: nothing changes. In front: we move forward.
    market.event(Update::Cancel { order: 13 });
    assert_eq!(market.in_front(1), Some(7));
    market.event(Update::Cancel { order: 12 });
    assert_eq!(market.in_front(1), Some(5));
    let smaller = Update::Modify {
        order: 11,
        price: Price(100),
        qty: Qty(4),
    };
    market.event(smaller);
    assert_eq!(market.in_front(1), Some(4), "it keeps its place");
    let larger = Update::Modify {
        order: 11,
        price: Price(100),
        qty: Qty(6),
    };
    market.event(larger);
    assert_eq!(market.in_front(1), Some(0), "it went to the end");
    // An order behind ours trades: ours would have traded first, by at most the same quantity.
    let fill = Update::Fill {
        order: 11,
        price: Price(100),
        qty: Qty(2),
    };
    assert_eq!(market.event(fill), [Observed::Filled(1, 100, 2)]);
    assert_eq!(market.simulator.unknown_orders(), 0);
    market.event(Update::Cancel { order: 99 });
    assert_eq!(market.simulator.unknown_orders(), 1, "counted");
}

#[test]
fn a_recorded_fill_in_front_of_us_is_not_ours() {
    let mut market = Market::of_events(options(QueueModel::Fifo));
    add(&mut market, 11, 100, 5);
    market.submit(maker(1, Side::Buy, 100, 3));
    let fill = Update::Fill {
        order: 11,
        price: Price(100),
        qty: Qty(5),
    };
    assert_eq!(market.event(fill), []);
    market.event(Update::Cancel { order: 11 });
    assert_eq!(market.in_front(1), Some(0));
    // A fill at a worse price went through our price.
    add(&mut market, 12, 99, 7);
    let fill = Update::Fill {
        order: 12,
        price: Price(99),
        qty: Qty(1),
    };
    assert_eq!(market.event(fill), [Observed::Filled(1, 100, 1)]);
}

/// A recording of single orders has a trade twice: as a trade, and as the fill of the order that rested.
#[test]
fn a_trade_that_is_stated_twice_counts_once() {
    for queue in [Model::RiskAverse, Model::Power(3.0)] {
        for fill_first in [false, true] {
            let mut market = Market::of_events(options(QueueModel::Estimated(queue)));
            add(&mut market, 11, 100, 5);
            market.submit(maker(1, Side::Buy, 100, 3));
            let trade = |qty| Update::Trade {
                aggressor: Side::Sell,
                price: Price(100),
                qty: Qty(qty),
            };
            let fill = |order, qty| Update::Fill {
                order,
                price: Price(100),
                qty: Qty(qty),
            };
            let mut both = [trade(4), fill(11, 4)];
            if fill_first {
                both.reverse();
            }
            let first = market.at_once(&both);
            assert_eq!(first, [], "{queue:?}: 4 of the 5 in front");
            // One more message: 2 of 3 reach us.
            add(&mut market, 12, 100, 2);
            let mut both = [trade(3), fill(12, 2)];
            if fill_first {
                both.reverse();
            }
            let filled = market.at_once(&both);
            let lots: u64 = filled
                .iter()
                .map(|one| match one {
                    Observed::Filled(1, 100, lots) => *lots,
                    other => panic!("{other:?}"),
                })
                .sum();
            assert_eq!(lots, 2, "{queue:?}");
        }
    }
}

/// Estimated positions are no whole lots; fills are, of the recording, but for what is left of an order.
#[test]
fn fills_are_whole_lots_of_the_recording() {
    let fills = |fill_lots| {
        let queue = QueueModel::Estimated(Model::Power(2.0));
        let mut market = Market::of_events(Options {
            fill_lots,
            rule: FillRule::Available,
            ..options(queue)
        });
        market.level(Side::Buy, 100, 300);
        market.submit(maker(1, Side::Buy, 100, 255));
        let mut fills = Vec::new();
        for left in [
            273, 251, 244, 210, 180, 150, 120, 90, 60, 30, 25, 20, 15, 10,
        ] {
            market.level(Side::Buy, 100, left);
            let reports = market.trade(Side::Sell, 100, 40).into_iter();
            fills.extend(reports.filter_map(|report| match report {
                Observed::Filled(_, _, lots) => Some(lots),
                _ => None,
            }));
        }
        fills
    };
    let fine = fills(1);
    assert!(
        fine.iter().any(|lots| lots % 10 > 0) && fine.len() > 3,
        "{fine:?}"
    );
    let coarse = fills(10);
    let (last, before) = coarse.split_last().expect("fills");
    assert!(before.iter().all(|lots| lots % 10 == 0), "{coarse:?}");
    assert_eq!(before.iter().sum::<u64>() + last, 255, "{coarse:?}");
}

#[test]
fn invalid_options_are_refused() {
    let power = |n| options(QueueModel::Estimated(Model::Power(n)));
    let made = |options| FillSimulator::of_events(options).err();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(made(power(bad)), Some(OptionsError::Exponent), "{bad}");
    }
    assert_eq!(made(power(f64::MIN_POSITIVE)), None);
    let share = |traded_share| Options {
        traded_share,
        ..Options::careful()
    };
    assert_eq!(made(share(1_000_000)), None);
    assert_eq!(made(share(1_000_001)), Some(OptionsError::TradedShare));
    let lot = |lot| Options {
        lot,
        rule: FillRule::WholeOrder,
        ..Options::careful()
    };
    for bad in [0.0, -1.0, f64::NAN] {
        assert_eq!(made(lot(bad)), Some(OptionsError::Lot), "{bad}");
    }
    let none = Options {
        fill_lots: 0,
        ..Options::careful()
    };
    assert_eq!(made(none), Some(OptionsError::Lot));
    assert_eq!(
        FillSimulator::of_snapshots(options(QueueModel::Fifo)).err(),
        Some(OptionsError::FifoNeedsOrders)
    );
}

/// A trade and the decrease of its level at one time are one movement of the queue, whichever row comes first.
#[test]
fn rows_of_one_time_move_a_queue_once() {
    let models = [
        Model::RiskAverse,
        Model::Power(3.0),
        Model::Power2(2.0),
        Model::Power3(2.0),
        Model::Log,
        Model::Log2,
    ];
    let level = |qty| Update::Level {
        side: Side::Buy,
        price: Price(100),
        qty: Qty(qty),
    };
    let trade = |qty| Update::Trade {
        aggressor: Side::Sell,
        price: Price(100),
        qty: Qty(qty),
    };
    for model in models {
        let after = |rows: &[Update]| {
            let mut market = Market::of_events(options(QueueModel::Estimated(model)));
            market.level(Side::Buy, 100, 10);
            market.submit(maker(1, Side::Buy, 100, 2));
            market.level(Side::Buy, 100, 14);
            let fills = market.at_once(rows);
            // The same once more, at the next time.
            let level = market.level(Side::Buy, 100, 9);
            (fills, level, market.in_front(1))
        };
        let expected = after(&[trade(3), level(11)]);
        assert_eq!(after(&[level(11), trade(3)]), expected, "{model:?}");
        assert_eq!(expected.0, [], "{model:?}");
        // Two trades with a level each, and all levels first.
        let expected = after(&[trade(3), trade(4), level(11), level(7)]);
        assert_eq!(
            after(&[level(7), trade(3), trade(4)]),
            after(&[trade(3), trade(4), level(7)])
        );
        assert_eq!(
            after(&[level(7), trade(3), level(7), trade(4)]).0,
            expected.0,
            "{model:?}"
        );
        // What was traded beyond the queue fills, in both orders.
        let first = after(&[trade(11), level(3)]);
        assert_eq!(first.0, [Observed::Filled(1, 100, 1)], "{model:?}");
        assert_eq!(after(&[level(3), trade(11)]), first, "{model:?}");
    }
    let mut market = Market::of_events(Options::careful());
    market.level(Side::Buy, 100, 10);
    market.submit(maker(1, Side::Buy, 100, 2));
    market.at_once(&[level(7), trade(3)]);
    assert_eq!(market.in_front(1), Some(7), "3 of 10 were traded, once");
    // At different times they are two movements: what left the level may have been cancelled.
    market.level(Side::Buy, 100, 5);
    assert_eq!(market.trade(Side::Sell, 100, 2), []);
    assert_eq!(market.in_front(1), Some(3));
}
