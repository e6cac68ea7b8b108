//! Pricing uses the book of others, at its true age.

use cambist_core::event::Event;
use cambist_core::notification::{End, Notification};
use cambist_core::order::OrderStatus;
use cambist_core::request::{Depth, DepthLevel, Endpoint, Outcome, Query, Reply, UnknownCause};
use cambist_core::{MarketId, Price, Qty, Time};

use crate::bench::{Below, TestBench, config};

#[test]
fn an_order_that_ended_after_the_snapshot_is_still_removed_from_it() {
    let mut config = config();
    (config.poll.depth_ms, config.poll.orders_ms) = (2_500, 200);
    let mut bench = TestBench::of(Box::new(Below(5)), config, Vec::new());
    bench.until_a_submit_waits();
    let id = bench.accept();
    bench.run_ms(5_100);
    // The venue cancels it by itself: the list shows that before the next depth does.
    bench.show(id, OrderStatus::Cancelled, 0);
    bench.run_ms(3_000);
    assert_eq!(bench.end_of(id), Some(End::Cancelled));
    assert!(bench.sealed.len() > 1, "quoted again");
    for (_, order) in bench.sealed.values() {
        assert_eq!(order.price, Price(9_995), "the own bid is no market");
    }
}

#[test]
fn an_old_book_from_a_cache_is_not_priced_from() {
    for header_errs in [false, true] {
        an_old_book_is_no_price(header_errs);
    }
}

fn an_old_book_is_no_price(header_errs: bool) {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.header_errs = header_errs;
    bench.until_a_submit_waits();
    bench.accept();
    bench.cached = Some(bench.venue_now());
    bench.run_ms(2_500);
    assert!(bench.cancels.is_empty(), "three seconds are allowed");
    bench.run_ms(1_000);
    assert_eq!(bench.cancels.len(), 1);
    bench.cached = None;
    bench.run_ms(1_000);
    assert_eq!(bench.submits.len(), 1, "a fresh book is priced from again");
}

#[test]
fn one_snapshot_from_the_future_is_refused_and_the_next_correct_one_is_accepted() {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.until_a_submit_waits();
    bench.accept();
    bench.cached = Some(bench.venue_now().plus_ms(1_000_000_000));
    let version = std::mem::replace(&mut bench.version, 1_000_000);
    bench.run_ms(600);
    bench.cached = None;
    bench.version = version;
    bench.run_ms(10_000);
    assert!(bench.cancels.is_empty(), "no price was ever too old");
}

/// At the start nothing is known of the venue's clock but what the last run left, here `behind_ms` behind. A depth of
/// that time looks fresh until another answer shows the true time.
#[test]
fn a_depth_is_as_old_as_any_later_answer_shows() {
    for (behind_ms, quoted) in [(2_400, true), (3_100, false)] {
        let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
        bench.now = Time::from_ms(20_000);
        let then = bench.venue_now().minus_ms(behind_ms);
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue_time = then;
        }
        bench.cached = Some(then);
        bench.run_ms(450);
        assert_eq!(!bench.sealed.is_empty(), quoted, "{behind_ms} ms old");
    }
}

/// A cache answers at once, with a depth that was old when it was given out.
#[test]
fn a_depth_that_was_old_when_it_came_is_not_priced_from_even_once() {
    for (old_ms, quoted) in [(2_000, true), (3_100, false)] {
        let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
        bench.now = Time::from_ms(20_000);
        let begun = bench.venue_now();
        if let Some(Event::Start(start)) = &mut bench.start {
            start.venue_time = begun;
        }
        for _ in 0..30 {
            bench.cached = Some(bench.venue_now().minus_ms(old_ms));
            bench.run_ms(100);
        }
        assert_eq!(!bench.sealed.is_empty(), quoted, "{old_ms} ms old");
    }
}

/// An answer that was long under way is as old as its request, whatever time is in it.
#[test]
fn a_depth_that_was_long_under_way_is_as_old_as_its_request() {
    for (ms, quoted) in [(2_900, true), (3_100, false)] {
        let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
        bench.unanswered = |query| matches!(query, Query::Depth(_));
        bench.run_ms(ms);
        assert!(bench.sealed.is_empty());
        let (request, query) = bench.lost_queries.remove(0);
        bench.answer_query(request, &query);
        assert_eq!(!bench.sealed.is_empty(), quoted, "after {ms} ms");
    }
}

/// The mid is between the best levels, however many there are.
#[test]
fn the_mid_is_between_the_best_bid_and_the_best_ask() {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.more_levels = vec![9_900, 9_950, 10_100, 10_200];
    bench.until_a_submit_waits();
    let id = bench.submits[0].1;
    assert_eq!(bench.sealed[&id].1.price, Price(9_995));
}

#[test]
fn a_book_is_priced_from_up_to_its_widest_spread_and_least_depth() {
    // A spread of 200 ticks around 10 000 is 200 ten-thousandths of the mid; both sides hold a thousand lots.
    for (spread_max_bps, depth_min, quoted) in
        [(200, 1_000, true), (199, 1_000, false), (200, 1_001, false)]
    {
        let mut config = config();
        let limits = &mut config.markets[0];
        (limits.spread_max_bps, limits.depth_min) = (spread_max_bps, Qty(depth_min));
        let mut bench = TestBench::of(Box::new(Below(5)), config, Vec::new());
        bench.depth = (9_900, 10_100);
        bench.run_ms(3_000);
        assert_eq!(
            !bench.sealed.is_empty(),
            quoted,
            "{spread_max_bps} {depth_min}"
        );
    }
}

/// Counted like an answer that cannot be decoded: a venue that confuses markets is not merely silent.
#[test]
fn a_depth_of_another_market_is_reported_and_not_priced_from() {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.unanswered = |query| matches!(query, Query::Depth(_));
    bench.run_ms(1_000);
    let (request, _) = bench.lost_queries.pop().expect("a depth is asked for");
    let level = |price| {
        vec![DepthLevel {
            price: Price(price),
            size: 1_000_000,
        }]
    };
    let depth = Depth {
        market: MarketId(1),
        version: 1,
        timestamp: bench.venue_now(),
        bids: level(9_990),
        asks: level(10_010),
    };
    bench.answer(request, Outcome::Reply(Reply::Depth(depth)));
    let mut unknown = bench.notifications.iter().filter_map(|n| match n {
        Notification::Unknown {
            endpoint, cause, ..
        } => Some((*endpoint, *cause)),
        _ => None,
    });
    let undecodable = (Endpoint::Depth, UnknownCause::Undecodable);
    assert_eq!(unknown.next(), Some(undecodable));
    assert_eq!(unknown.next(), None);
    assert!(bench.sealed.is_empty());
}
