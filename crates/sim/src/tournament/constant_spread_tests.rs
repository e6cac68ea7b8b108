#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::order::OrderReport;
use cambist_core::request::{Balance, Depth, UnknownCause};
use cambist_core::{MarketId, Reason};

use super::*;
use crate::WorldConfig;
use crate::world::World;

const ONE: Amount = 1_000_000_000_000_000_000;
const THEN: VenueTime = VenueTime(1_700_000_000_000);

/// The program with answers by hand.
struct Bench {
    maker: Maker,
    now: Time,
    sent: Vec<Sent>,
}

impl Bench {
    fn new() -> Self {
        let world = World::new(WorldConfig::calm(1, "ladder")).unwrap();
        let spec = world.specs()[0].clone();
        let scale = *world.exchange().venue().scale(MarketId(0)).unwrap();
        let rules = ConstantSpread::documented(ONE);
        Self {
            maker: Maker::new(rules, spec, scale, [7; 20]),
            now: Time::from_ms(1_000),
            sent: Vec::new(),
        }
    }

    fn tick(&mut self, after_ms: u64) {
        self.now = self.now.plus_ms(after_ms);
        self.maker.tick(self.now, &mut self.sent);
    }

    /// Answers the first request of a kind.
    fn answer(&mut self, is_it: impl Fn(&Request) -> bool, outcome: Outcome) {
        let at = self
            .sent
            .iter()
            .position(|(_, request)| is_it(request))
            .unwrap();
        let (id, _) = self.sent.remove(at);
        let (now, sent) = (self.now, &mut self.sent);
        self.maker.answer((now, THEN), id, outcome, sent);
    }

    fn depth(&mut self, bid: u64, ask: u64) {
        let level = |price| {
            vec![DepthLevel {
                price: Price(price),
                size: ONE,
            }]
        };
        let depth = Depth {
            market: MarketId(0),
            version: 1,
            timestamp: THEN,
            bids: level(bid),
            asks: level(ask),
        };
        let reply = Outcome::Reply(Reply::Depth(depth));
        self.answer(|request| matches!(request, Request::Depth { .. }), reply);
    }

    fn balances(&mut self, base: Amount, quote: Amount) {
        let balance = |token, total| Balance {
            token,
            total,
            locked: 0,
        };
        let spec = &self.maker.spec;
        let held = vec![balance(spec.base.id, base), balance(spec.quote.id, quote)];
        let reply = Outcome::Reply(Reply::Balances(held));
        self.answer(|request| matches!(request, Request::Balances { .. }), reply);
    }

    fn begin(&mut self) -> Vec<NewOrder> {
        self.tick(0);
        self.depth(250_000, 250_100);
        self.balances(40 * ONE, 100_000_000_000);
        self.orders()
    }

    fn orders(&self) -> Vec<NewOrder> {
        let orders = self.sent.iter().filter_map(|(_, request)| match request {
            Request::Submit(order) => Some((**order).clone()),
            _ => None,
        });
        orders.collect()
    }

    fn accept(&mut self) {
        while self.sent.iter().any(|(_, request)| is_submit(request)) {
            let reply = Reply::CancelTaken {
                status: OrderStatus::Processing,
            };
            self.answer(is_submit, Outcome::Reply(reply));
        }
    }

    fn count(&self, is_it: impl Fn(&Request) -> bool) -> usize {
        self.sent
            .iter()
            .filter(|(_, request)| is_it(request))
            .count()
    }
}

fn is_submit(request: &Request) -> bool {
    matches!(request, Request::Submit(_))
}

fn is_cancel(request: &Request) -> bool {
    matches!(request, Request::Cancel { .. })
}

fn is_status(request: &Request) -> bool {
    matches!(request, Request::Order { .. })
}

fn report(hash: Hash, status: OrderStatus) -> Outcome {
    Outcome::Reply(Reply::Order(OrderReport {
        hash,
        client_id: None,
        market: "AAA-QQQ".into(),
        side: Side::Buy,
        status,
        base_amount: ONE,
        quote_amount: 1,
        base_filled: 0,
        quote_filled: 0,
        fee: 0,
        valid_until_s: 0,
        valid_since: THEN,
    }))
}

#[test]
fn a_bid_and_an_ask_are_one_per_cent_from_the_mid_and_rounded_away() {
    let mut bench = Bench::new();
    let orders = bench.begin();
    assert_eq!(orders.len(), 2);
    // The mid is 2500.50: a bid at 2475.495, an ask at 2525.505.
    let prices = [(2_475_490_000, 0), (2_525_510_000, 1)];
    for (order, (quote, index)) in orders.iter().zip(prices) {
        let (base, amount) = if index == 0 {
            (order.buy_amount, order.sell_amount)
        } else {
            (order.sell_amount, order.buy_amount)
        };
        assert_eq!((base, amount), (ONE, quote));
        assert_eq!(order.valid_until_s, THEN.as_s() + 1_800);
    }
    assert_ne!(orders[0].hash, orders[1].hash);
    assert_ne!(orders[0].storage_id, orders[1].storage_id);
}

#[test]
fn a_submission_without_an_answer_has_failed_and_is_forgotten() {
    let mut bench = Bench::new();
    let orders = bench.begin();
    bench.answer(is_submit, Outcome::Unknown(UnknownCause::Timeout));
    assert!(!bench.maker.claims(&orders[0].hash));
    assert!(bench.maker.claims(&orders[1].hash));
    bench.accept();
    // It is neither cancelled nor asked for.
    bench.tick(30_000);
    assert_eq!(bench.count(is_cancel), 1);
}

#[test]
fn orders_are_replaced_after_thirty_seconds_and_a_cancel_without_an_answer_is_repeated() {
    let mut bench = Bench::new();
    bench.begin();
    bench.accept();
    bench.tick(29_999);
    assert_eq!(bench.count(is_cancel), 0);
    while bench.count(is_status) > 0 {
        bench.answer(is_status, Outcome::Unknown(UnknownCause::Timeout));
    }
    bench.tick(1);
    assert_eq!(bench.count(is_cancel), 2);
    bench.answer(is_cancel, Outcome::Unknown(UnknownCause::Timeout));
    let taken = Reply::CancelTaken {
        status: OrderStatus::Cancelled,
    };
    bench.answer(is_cancel, Outcome::Reply(taken.clone()));
    bench.tick(1_000);
    assert_eq!(bench.count(is_cancel), 1, "the one without an answer again");
    assert_eq!(
        bench.count(|r| matches!(r, Request::Depth { .. })),
        0,
        "nothing new beside it"
    );
    bench.answer(is_cancel, Outcome::Reply(taken));
    bench.tick(1_000);
    bench.depth(240_000, 240_002);
    bench.balances(40 * ONE, 100_000_000_000);
    assert_eq!(bench.orders().len(), 2);
}

#[test]
fn a_fill_is_noticed_by_asking_and_nothing_is_placed_for_a_minute() {
    let mut bench = Bench::new();
    let orders = bench.begin();
    bench.accept();
    bench.tick(10_000);
    assert_eq!(bench.count(is_status), 2);
    bench.answer(is_status, report(orders[0].hash, OrderStatus::Processed));
    bench.answer(is_status, report(orders[1].hash, OrderStatus::Processing));
    assert!(!bench.maker.claims(&orders[0].hash) && bench.maker.claims(&orders[1].hash));
    bench.tick(20_000);
    let taken = Reply::CancelTaken {
        status: OrderStatus::Cancelled,
    };
    bench.answer(is_cancel, Outcome::Reply(taken));
    bench.tick(39_999);
    assert!(bench.sent.is_empty(), "{:?}", bench.sent);
    bench.tick(1);
    assert_eq!(bench.sent.len(), 2, "depth and balances");
}

#[test]
fn a_refused_cancel_asks_whether_the_order_has_ended() {
    let mut bench = Bench::new();
    let orders = bench.begin();
    bench.accept();
    bench.tick(30_000);
    bench.answer(is_cancel, Outcome::Refused(Reason::NothingToCancel));
    assert_eq!(bench.count(is_status), 1);
    assert!(bench.maker.claims(&orders[0].hash));
    bench.answer(is_status, report(orders[0].hash, OrderStatus::Expired));
    assert!(!bench.maker.claims(&orders[0].hash));
}

#[test]
fn sizes_are_cut_to_the_balances_and_too_small_ones_are_left_out() {
    let mut bench = Bench::new();
    bench.tick(0);
    bench.depth(250_000, 250_000);
    // The exchange's smallest orders are a thousandth and one.
    bench.balances(ONE / 4, 999_999);
    let orders = bench.orders();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].sell_amount, ONE / 4);
    let mut bench = Bench::new();
    bench.tick(0);
    bench.depth(250_000, 250_000);
    bench.balances(ONE / 1_000 - 1, 2_475_000_000);
    let orders = bench.orders();
    assert_eq!((orders.len(), orders[0].buy_amount), (1, ONE));
}

#[test]
fn without_a_mid_nothing_is_placed_and_it_is_asked_again() {
    let mut bench = Bench::new();
    bench.tick(0);
    let refused = Outcome::Refused(Reason::UnknownError);
    bench.answer(|request| matches!(request, Request::Depth { .. }), refused);
    bench.balances(ONE, ONE);
    assert!(bench.sent.is_empty());
    bench.tick(1_000);
    assert_eq!(bench.sent.len(), 2);
}
