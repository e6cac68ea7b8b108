//! Pricing uses the book of others, at its true age.

use cambist_core::Price;
use cambist_core::notification::End;
use cambist_core::order::OrderStatus;

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
