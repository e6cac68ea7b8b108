//! Recovery: what a start does with orders of an earlier run.

use cambist_core::event::{Event, RecoveredOrder};
use cambist_core::notification::{End, Notification};
use cambist_core::order::{ClientOrderId, OrderStatus};
use cambist_core::request::{Endpoint, OrderList, Outcome, Reply};
use cambist_core::{Side, StrategyId};

use crate::bench::{BID, BOTH, TestBench, config};

/// The transmissions of a killed run with these quotes, oldest first.
fn left_behind(quotes: &[(Side, u64, u64)]) -> Vec<RecoveredOrder> {
    let mut before = TestBench::ready(quotes);
    before.accept_all();
    let recovered = before
        .sealed
        .into_values()
        .map(|(hash, order)| RecoveredOrder {
            order,
            hash,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
        });
    recovered.collect()
}

/// A bench that starts after a run with the same quotes, and the orders of that run.
fn restarted(quotes: &[(Side, u64, u64)]) -> (TestBench, Vec<ClientOrderId>) {
    let left = left_behind(quotes);
    let ids = left.iter().map(|open| open.order.client_id).collect();
    (TestBench::with(quotes, config(), left), ids)
}

/// Two lists take longer than the balances that were asked for while they were read: the next lists confirm these.
#[test]
fn a_start_is_ready_where_balances_arrive_while_lists_are_read() {
    let mut bench = TestBench::new(&BID);
    if let Some(Event::Start(start)) = &mut bench.start {
        start.venue.lists.scanned = vec![OrderList::Resting, OrderList::Closed];
    }
    bench.queries_lost = true;
    let mut waiting = Vec::new();
    for _ in 0..500 {
        bench.run_ms(10);
        let sent = std::mem::take(&mut bench.lost_queries);
        waiting.extend(sent.into_iter().map(|(request, query)| {
            let is_list = query.endpoint() == Endpoint::Orders;
            let takes_ms = if is_list { 50 } else { 80 };
            (bench.now.plus_ms(takes_ms), request, query)
        }));
        let now = bench.now;
        for (_, request, query) in waiting.extract_if(.., |(at, _, _)| *at <= now) {
            if query.endpoint() == Endpoint::Orders {
                let (orders, next) = (Vec::new(), None);
                let page = Reply::OrdersUntil { orders, next };
                bench.answer(request, Outcome::Reply(page));
            } else {
                bench.answer_query(request, &query);
            }
        }
    }
    let ready = |of: &Notification| matches!(of, Notification::Ready { .. });
    assert_eq!(bench.count(ready), 1);
}

/// One shows what there is, and one behind the last fence proves the absence of the rest. Where lists cost nothing, others
/// are read in between; they cannot prove more.
#[test]
fn a_start_whose_lists_are_dear_waits_with_the_second_for_the_last_fence() {
    let pause_and_end = |new_fills| {
        let (mut bench, _) = restarted(&BOTH);
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue.costs.new_fills = new_fills;
            // The bytes of one of them lapse earlier.
            let early = &mut start.open[0].order;
            early.accepted_until_s -= 9;
        }
        let ready = |of: &Notification| matches!(of, Notification::Ready { .. });
        while bench.count(ready) == 0 {
            bench.run_ms(10);
        }
        let lists = bench.asked_at(Endpoint::Orders);
        let pauses = lists.windows(2).map(|pair| pair[1].ms_since(pair[0]));
        (pauses.max().unwrap(), bench.now)
    };
    let (free, end) = pause_and_end(0);
    let (dear, same_end) = pause_and_end(2);
    assert!(free < 5_000 && dear > 10_000, "{free} {dear}");
    assert!(same_end <= end.plus_ms(100), "{same_end:?} {end:?}");
}

#[test]
fn a_recovered_order_blocks_the_start_until_it_is_listed_or_fenced() {
    let (mut bench, ids) = restarted(&BID);
    let id = ids[0];
    bench.run_ms(15_000);
    assert!(
        !bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Ready { .. })),
        "not known yet"
    );
    assert!(bench.submits.is_empty(), "and its bytes are not sent again");
    bench.run_ms(15_000);
    assert_eq!(bench.end_of(id), Some(End::Fenced));
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Ready { recovered: 1, .. }))
    );
}

#[test]
fn a_recovered_order_that_rests_is_kept_and_serves_its_quote() {
    let (mut bench, ids) = restarted(&BID);
    let id = ids[0];
    bench.show(id, OrderStatus::Processing, 0);
    bench.run_ms(4_000);
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Ready { .. }))
    );
    assert!(
        bench.submits.is_empty(),
        "no second order for the same quote"
    );
    assert!(bench.cancels.is_empty());
}

#[test]
fn while_one_recovered_order_is_unknown_the_others_are_cancelled() {
    let (mut bench, ids) = restarted(&BOTH);
    let hash = bench.sealed[&ids[0]].0;
    bench.show(ids[0], OrderStatus::Processing, 0);
    bench.run_ms(3_000);
    assert!(
        bench
            .cancels
            .iter()
            .any(|(_, cancelled)| *cancelled == hash)
    );
    assert!(bench.submits.is_empty());
}

#[test]
fn a_recovered_order_of_a_removed_strategy_is_cancelled() {
    let mut left = left_behind(&BID);
    left[0].order.client_id.strategy = StrategyId(9);
    let (id, hash) = (left[0].order.client_id, left[0].hash);
    let mut bench = TestBench::with(&BID, config(), left);
    bench.show(id, OrderStatus::Processing, 0);
    bench.run_ms(3_000);
    let cancelled: Vec<_> = bench.cancels.iter().map(|(_, hash)| *hash).collect();
    assert_eq!(cancelled, [hash]);
}
