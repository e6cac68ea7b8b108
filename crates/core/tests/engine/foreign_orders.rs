//! Foreign orders on the account: reported, tolerated, or managed.

use cambist_core::config::{EngineConfig, ForeignOrders};
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::notification::{Control, Notification};
use cambist_core::order::{ClientOrderId, Hash, OrderReport, OrderStatus, StrategyId};
use cambist_core::request::{Outcome, Reply, UnknownCause};
use cambist_core::venue::TradingCounter;
use cambist_core::{Price, Qty, Side};

use crate::bench::{ORIGIN, QUOTE, TestBench, config, spec};

const BID: (Side, u64, u64) = (Side::Buy, 9_995, 10);

fn foreign(n: u64, side: Side, price: u64, lots: u64) -> OrderReport {
    let mut hash = [9; 32];
    hash[..8].copy_from_slice(&n.to_be_bytes());
    OrderReport {
        hash: Hash(hash),
        client_id: None,
        market: "T0-T1".into(),
        side,
        status: OrderStatus::Processing,
        base_amount: spec().base_amount(Qty(lots)).unwrap(),
        quote_amount: spec().quote_amount(Price(price), Qty(lots)).unwrap(),
        base_filled: 0,
        quote_filled: 0,
        fee: 0,
        valid_until_s: u32::try_from(ORIGIN.as_s() + 3_600).unwrap(),
        valid_since: ORIGIN,
    }
}

fn bench(policy: ForeignOrders, orders: Vec<OrderReport>) -> TestBench {
    let mut config = config();
    config.foreign = policy;
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    bench.list = orders;
    bench.run_ms(3_000);
    bench
}

fn reported(bench: &TestBench) -> usize {
    let foreign = |n: &&Notification| matches!(n, Notification::Foreign { .. });
    bench.notifications.iter().filter(foreign).count()
}

#[test]
fn alarm_stops_and_tolerate_continues() {
    let order = || vec![foreign(1, Side::Sell, 10_100, 10)];
    let alarmed = bench(ForeignOrders::Alarm, order());
    assert_eq!(alarmed.levels, [TradingState::CancelOnly]);
    let tolerant = bench(ForeignOrders::Tolerate, order());
    assert!(tolerant.levels.is_empty());
    assert_eq!(tolerant.submits.len(), 1);
    assert_eq!(reported(&tolerant), 1, "reported once");
    assert!(tolerant.cancels.is_empty());
    let alone = bench(ForeignOrders::Alarm, Vec::new());
    assert!(alone.levels.is_empty());
}

#[test]
fn old_resting_orders_are_listed_before_the_first_quote_and_every_minute() {
    let mut old = foreign(1, Side::Sell, 10_100, 10);
    old.valid_since = ORIGIN.minus_ms(3_600_000);
    let alarmed = bench(ForeignOrders::Alarm, vec![old.clone()]);
    assert_eq!(alarmed.levels, [TradingState::CancelOnly]);
    assert!(alarmed.submits.is_empty());
    let mut tolerant = bench(ForeignOrders::Tolerate, Vec::new());
    assert_eq!(tolerant.submits.len(), 1);
    tolerant.list.push(old);
    tolerant.run_ms(50_000);
    assert_eq!(
        reported(&tolerant),
        0,
        "it is in no window of creation times"
    );
    tolerant.run_ms(12_000);
    assert_eq!(reported(&tolerant), 1);
}

#[test]
fn nothing_is_quoted_before_resting_orders_were_listed() {
    let mut config = config();
    config.foreign = ForeignOrders::Tolerate;
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    bench.resting_listed = false;
    bench.run_ms(10_000);
    assert!(bench.submits.is_empty());
    bench.resting_listed = true;
    bench.run_ms(10_000);
    assert_eq!(bench.submits.len(), 1);
}

#[test]
fn a_managed_order_is_cancelled_until_it_has_ended_and_its_fills_are_booked() {
    let mut order = foreign(1, Side::Sell, 10_100, 10);
    let mut bench = bench(ForeignOrders::Adopt, vec![order.clone()]);
    let (request, hash) = bench.cancels.pop_front().expect("it is cancelled");
    assert_eq!(hash, order.hash);
    let managed = |n: &Notification| *n == Notification::ForeignAdopted { hash };
    assert_eq!(bench.count(managed), 1);
    // It filled half before the cancel arrived.
    order.base_filled = order.base_amount / 2;
    order.quote_filled = order.quote_amount / 2;
    order.status = OrderStatus::Cancelled;
    bench.balances.0 -= order.base_filled;
    bench.balances.1 += order.quote_filled;
    bench.list = vec![order];
    let status = OrderStatus::Cancelling;
    bench.answer(request, Outcome::Reply(Reply::CancelTaken { status }));
    bench.run_ms(5_000);
    assert!(
        bench.cancels.is_empty(),
        "seen dead: nothing more to cancel"
    );
    let flows = bench
        .notifications
        .iter()
        .filter_map(|notification| match notification {
            Notification::Adopted { token, amount, .. } => Some((token.0, *amount)),
            _ => None,
        });
    assert_eq!(flows.collect::<Vec<_>>(), [(0, -500), (1, 50_500)]);
}

/// A venue that counts orders, and cancels of orders that are younger than five seconds, for good.
fn with_trading_counter(config: EngineConfig) -> TestBench {
    let mut bench = TestBench::with(&[BID], config, Vec::new());
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.trading = Some(TradingCounter {
            most: 1_000,
            decay_per_s: 0,
            spare: 0,
            order: 100,
            cancels: vec![(5_000, 300)],
            amends: Vec::new(),
        });
        start.next_number = 1;
    }
    bench
}

/// Where the venue counts young cancels, it counts those of foreign orders too.
#[test]
fn cancels_of_managed_orders_are_counted_in_the_venues_counter() {
    let level = |orders: Vec<OrderReport>| {
        let mut config = config();
        config.foreign = ForeignOrders::Adopt;
        config.status_ms = 100;
        let mut bench = with_trading_counter(config);
        bench.list = orders;
        bench.run_ms(3_000);
        let mut used = bench.notifications.iter().filter_map(|note| match note {
            Notification::Status(status) => Some(&status.markets[0].used),
            _ => None,
        });
        let used = used.next_back().unwrap().iter();
        let counter = used.filter(|(control, _)| *control == Control::TradingCounter);
        (
            bench.cancels.len(),
            counter.map(|(_, bps)| *bps).collect::<Vec<_>>(),
        )
    };
    assert_eq!(level(Vec::new()), (0, vec![1_000]), "our order");
    let managed = foreign(1, Side::Sell, 10_100, 10);
    assert_eq!(level(vec![managed]), (1, vec![4_000]), "and a cancel");
}

/// A cancel raises the counter by the age of its order, which begins when it was known to rest.
#[test]
fn a_cancel_of_an_order_that_rested_for_long_is_not_counted() {
    let level_after = |rested_ms: u64| {
        let mut config = config();
        config.status_ms = 100;
        let mut bench = with_trading_counter(config);
        bench.until_a_submit_waits();
        bench.accept_all();
        bench.run_ms(rested_ms);
        assert_eq!(bench.cancels.len(), 0);
        bench.handle_event(&Event::Operator(Command::Drain));
        bench.run_ms(600);
        assert_eq!(bench.cancels.len(), 1);
        let used = bench.status().markets[0].used.iter();
        let mut counter = used.filter(|(control, _)| *control == Control::TradingCounter);
        counter.next().map(|(_, bps)| *bps)
    };
    assert_eq!(
        level_after(2_000),
        Some(4_000),
        "an order and a young cancel"
    );
    assert_eq!(level_after(6_000), Some(1_000), "an order");
}

#[test]
fn a_managed_order_counts_in_band_and_self_cross() {
    // Their ask at 9 995: our bid there would trade with it.
    let crossed = bench(
        ForeignOrders::Adopt,
        vec![foreign(1, Side::Sell, 9_995, 10)],
    );
    assert!(crossed.submits.is_empty());
    let beside = bench(
        ForeignOrders::Adopt,
        vec![foreign(1, Side::Sell, 9_996, 10)],
    );
    assert_eq!(beside.submits.len(), 1);
    // 500 000 000 are held; their bid adds 1 000, ours another 1 000.
    for (most, sent) in [(500_002_000, 1), (500_001_999, 0)] {
        let mut config = config();
        config.foreign = ForeignOrders::Adopt;
        config.markets[0].inventory_max = most;
        let mut bench = TestBench::with(&[BID], config, Vec::new());
        bench.list = vec![foreign(1, Side::Buy, 9_900, 10)];
        bench.run_ms(3_000);
        assert_eq!(bench.submits.len(), sent);
        let band = bench.notifications.iter().any(|n| {
            matches!(n, Notification::RiskRefused { control, .. } if *control == Control::InventoryBand)
        });
        assert_eq!(band, sent == 0);
    }
}

/// The base that a managed bid may bring counts in the gross exposure: 500 000 000 are held, their bid adds 1 000 and
/// ours another 1 000, each worth 100 at the mid.
#[test]
fn a_managed_order_counts_in_the_gross_exposure() {
    for (most, sent) in [(50_000_200_000, 1), (50_000_199_999, 0)] {
        let mut config = config();
        config.foreign = ForeignOrders::Adopt;
        config.risk.gross_max = [(QUOTE, most)].into();
        let mut bench = TestBench::with(&[BID], config, Vec::new());
        bench.list = vec![foreign(1, Side::Buy, 9_900, 10)];
        bench.run_ms(3_000);
        assert_eq!(bench.submits.len(), sent, "{most}");
        let refused = bench.first_refusal() == Some(Control::GrossExposure);
        assert_eq!(refused, sent == 0);
    }
}

#[test]
fn thousands_of_foreign_orders_do_not_prevent_the_proof_of_a_drain() {
    let many: Vec<_> = (0..1_500)
        .map(|n| foreign(n, Side::Sell, 10_100, 10))
        .collect();
    let mut bench = bench(ForeignOrders::Tolerate, many);
    assert_eq!(reported(&bench), 1_024, "as many as are remembered");
    bench.accept_all();
    bench.handle_event(&Event::Operator(Command::Drain));
    bench.run_ms(600);
    bench.accept_cancel();
    bench.run_ms(20_000);
    assert_eq!(bench.finished, Some(true));
}

/// While a foreign order is known, a lock at the venue is ours only if the order certainly rested when the balances
/// were requested: then it is not counted twice, and otherwise it is not ours at all.
#[test]
fn a_lock_is_ours_if_the_order_certainly_rested() {
    // Our bid locks 99 950 units; there is as much again, and the bid is replaced before its expiry.
    let lock = 99_950;
    for rests in [true, false] {
        let mut config = config();
        config.foreign = ForeignOrders::Tolerate;
        let mut bench = TestBench::with(&[BID], config, Vec::new());
        bench.list = vec![foreign(1, Side::Sell, 10_100, 10)];
        bench.balances.1 = 2 * lock;
        bench.until_a_submit_waits();
        let lost = Outcome::Unknown(UnknownCause::Timeout);
        if rests {
            bench.accept();
        } else {
            bench.answer_submit(lost);
        }
        bench.locked = lock;
        bench.run_ms(18_000);
        let refused = bench.count(|n| {
            matches!(n, Notification::RiskRefused { control, .. } if *control == Control::Balance)
        });
        assert_eq!(refused == 0, rests);
    }
}

/// However many orders there are, so many are remembered, and each of them is reported once.
#[test]
fn as_many_unexpected_orders_are_reported_as_are_remembered() {
    const KEPT: u64 = 1_024;
    let of_instance = |instance: u32| {
        move |number: u64| {
            let mut order = foreign(number, Side::Sell, 10_100, 10);
            order.valid_since = ORIGIN.plus_ms(8_000);
            order.client_id = Some(ClientOrderId {
                instance,
                strategy: StrategyId(0),
                number,
            });
            order
        }
    };
    for (instance, count) in [(7, KEPT - 1), (7, KEPT), (7, KEPT + 9), (8, KEPT + 9)] {
        let mut bench = TestBench::with(&[], config(), Vec::new());
        bench.run_ms(9_000);
        bench.list = (1_000..1_000 + count).map(of_instance(instance)).collect();
        bench.run_ms(4_000);
        let reported = bench.count(|n| match n {
            Notification::InvariantFailed { name, .. } => name == "forgotten_order",
            Notification::OtherInstance { later, .. } => *later,
            _ => false,
        });
        assert_eq!(reported as u64, count.min(KEPT), "{count} of {instance}");
        assert_eq!(bench.stored.state, TradingState::CancelOnly);
    }
}
