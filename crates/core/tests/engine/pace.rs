//! The pace of retries: neither immediately without end, nor never.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cambist_core::event::{Command, Filter};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Endpoint, Outcome, Query, UnknownCause};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{Intent, MarketId, MarketSpec, Price, Qty, Reason, Side};

use crate::bench::{Always, BASE, BID, Below, OTHER, TestBench, config, execute, spec, token};

#[test]
fn a_venue_that_refuses_every_order_gets_fewer_and_fewer() {
    let mut bench = TestBench::ready(&BID);
    for _ in 0..3_000 {
        while !bench.submits.is_empty() {
            bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
        }
        bench.run_ms(10);
    }
    // Pauses of 1, 2, 4, 8 and 16 seconds.
    assert_eq!(bench.sealed.len(), 5, "in thirty seconds");
}

#[test]
fn an_accepted_order_ends_the_pauses() {
    let mut bench = TestBench::ready(&BID);
    bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    bench.run_ms(1_100);
    let id = bench.accept();
    bench.show(id, OrderStatus::Cancelled, 0);
    bench.run_ms(1_500);
    bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    bench.run_ms(1_100);
    assert_eq!(bench.submits.len(), 1, "one second again, not two");
}

#[test]
fn an_answer_lost_by_the_shell_does_not_stop_polling() {
    let mut bench = TestBench::ready(&BID);
    bench.accept();
    bench.queries_lost = true;
    bench.run_ms(1_500);
    bench.queries_lost = false;
    bench.run_ms(15_000);
    assert!(!bench.submits.is_empty(), "quoted again");
}

#[test]
fn waiting_for_a_fence_is_no_busy_loop() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    for _ in 0..3 {
        bench.run_ms(2_000);
        while bench.submits.front().is_some_and(|(_, sent)| *sent == id) {
            bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
        }
    }
    let before = bench.wakes;
    bench.run_ms(5_000);
    assert!(bench.wakes - before < 60, "{} wakes", bench.wakes - before);
}

#[test]
fn a_quote_without_a_token_is_sent_when_there_is_one_not_at_the_next_depth() {
    let mut config = config();
    config.poll.depth_ms = 2_500;
    (config.budget.endpoint_per_s, config.budget.endpoint_burst) = (4, 1);
    let quotes = [(Side::Buy, 9_995, 10), (Side::Buy, 9_990, 10)];
    let mut bench = TestBench::with(&quotes, config, Vec::new());
    bench.until_a_submit_waits();
    assert_eq!(bench.submits.len(), 1);
    bench.run_ms(300);
    assert_eq!(bench.submits.len(), 2);
}

/// Two bids, and how often they were asked for.
struct Counting(Arc<AtomicUsize>);

impl Strategy for Counting {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        self.0.fetch_add(1, Ordering::Relaxed);
        targets.quote(Side::Buy, Price(9_995), Qty(10), 0);
        targets.quote(Side::Buy, Price(9_990), Qty(10), 1);
    }
}

#[test]
fn a_strategy_is_not_asked_again_before_its_quote_has_a_token() {
    let mut config = config();
    config.poll.depth_ms = 2_500;
    (config.budget.endpoint_per_s, config.budget.endpoint_burst) = (1, 1);
    let asked = Arc::new(AtomicUsize::new(0));
    let strategy = Box::new(Counting(Arc::clone(&asked)));
    let mut bench = TestBench::of(strategy, config, Vec::new());
    bench.until_a_submit_waits();
    let before = asked.load(Ordering::Relaxed);
    bench.run_ms(970);
    assert_eq!(bench.submits.len(), 1, "the next token is not there yet");
    // The first order was stored and acknowledged meanwhile, and a depth may have come.
    let between = asked.load(Ordering::Relaxed) - before;
    assert!(between <= 3, "asked {between} times");
    bench.run_ms(60);
    assert_eq!(bench.submits.len(), 2);
    // For the token, and for the second order as for the first.
    let after = asked.load(Ordering::Relaxed) - before - between;
    assert!((1..=3).contains(&after), "asked {after} times");
}

/// The price moves while an order is being stored: the next one waits for the store, and for nothing else.
#[test]
fn an_order_that_waited_for_the_store_is_made_when_the_store_answers() {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.store_waits = true;
    bench.run_ms(3_000);
    let (first, _) = bench.sealing.last().expect("a batch waits").clone();
    bench.depth = (9_950, 9_960);
    bench.run_ms(2_000);
    assert_eq!(bench.sealing.len(), 1, "one batch at a time");
    bench.store_answers();
    let (second, orders) = bench.sealing.last().expect("the next batch").clone();
    assert!(second != first && orders.len() == 1, "{orders:?}");
}

/// The same without any other reason to decide: the next depth, and the ends of orders, are far away. The market that
/// waited is not that of the batch.
#[test]
fn a_market_that_waited_for_the_store_is_decided_when_the_store_answers() {
    let mut config = config();
    (config.poll.depth_ms, config.poll.depth_age_max_ms) = (20_000, 60_000);
    config.markets.push(config.markets[0].clone());
    let second = MarketSpec::new(
        MarketId(1),
        "T0-T2",
        token(BASE, 6),
        token(OTHER, 6),
        2,
        true,
    );
    let markets = vec![spec(), second.unwrap()];
    let strategies = (0..2).map(|_| -> Box<dyn Strategy> { Box::new(Always(BID.to_vec())) });
    let mut bench = TestBench::at(markets, strategies.collect(), config, Vec::new());
    bench.other = Some(1_000_000_000_000);
    bench.store_waits = true;
    bench.unanswered = |query| matches!(query, Query::Depth(MarketId(1)));
    bench.run_ms(3_000);
    assert_eq!(bench.sealing.len(), 1, "of the first market");
    // The depth of the second one arrives while the batch is being stored.
    bench.unanswered = |_| false;
    bench.run_ms(40_000);
    assert_eq!(bench.sealing.len(), 1, "one batch at a time");
    bench.store_waits = true;
    let waiting = bench.now;
    bench.store_answers();
    assert_eq!(bench.now, waiting);
    let orders = bench.sealing.iter().flat_map(|(_, intents)| intents);
    let markets: Vec<_> = orders
        .filter_map(|intent| match intent {
            Intent::Order(order) => Some(order.market),
            Intent::PoolTransaction(_) => None,
        })
        .collect();
    assert!(markets.contains(&MarketId(1)), "{markets:?}");
}

/// Times between cancels of one order, whose answers are lost.
#[test]
fn an_unanswered_cancel_is_sent_again_after_pauses_that_double() {
    let mut config = config();
    config.ttl_ms = 300_000;
    let mut bench = TestBench::with(&BID, config, Vec::new());
    bench.until_a_submit_waits();
    bench.accept();
    bench.fails = |query| matches!(query, Query::Cancel(_));
    let (filter, reason) = (Filter::ALL, "test".to_owned());
    execute(&mut bench, Command::Pause { filter, reason }).unwrap();
    bench.run_ms(65_000);
    let times = bench.asked_at(Endpoint::Cancel);
    let apart: Vec<_> = times
        .windows(2)
        .map(|pair| pair[1].ms_since(pair[0]))
        .collect();
    assert_eq!(apart, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000]);
}

#[test]
fn cancels_keep_the_budget() {
    let quotes = [
        (Side::Buy, 9_995, 10),
        (Side::Buy, 9_994, 10),
        (Side::Buy, 9_993, 10),
        (Side::Buy, 9_992, 10),
    ];
    let mut config = config();
    config.ttl_ms = 300_000;
    (config.budget.endpoint_per_s, config.budget.endpoint_burst) = (1, 1);
    let mut bench = TestBench::with(&quotes, config, Vec::new());
    for _ in 0..10 {
        bench.run_ms(1_000);
        bench.accept_all();
    }
    assert_eq!(bench.list.len(), 4, "one each second");
    let (filter, reason) = (Filter::ALL, "test".to_owned());
    execute(&mut bench, Command::Pause { filter, reason }).unwrap();
    for sent in 1..=4 {
        assert_eq!(bench.cancels.len(), sent);
        bench.run_ms(900);
        assert_eq!(bench.cancels.len(), sent, "the next token is not there yet");
        bench.run_ms(120);
    }
}
