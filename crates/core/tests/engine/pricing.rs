//! Pricing uses the book of others, at its true age.

use cambist_core::Price;
use cambist_core::notification::End;
use cambist_core::order::OrderStatus;

use crate::desk::{Below, Desk, config};

#[test]
fn an_order_that_ended_after_the_snapshot_is_still_removed_from_it() {
    let mut config = config();
    (config.poll.depth_ms, config.poll.orders_ms) = (2_500, 200);
    let mut desk = Desk::of(Box::new(Below(5)), config, Vec::new());
    desk.until_a_submit_waits();
    let id = desk.accept();
    desk.run_ms(5_100);
    // The venue cancels it by itself: the list shows that before the next depth does.
    desk.show(id, OrderStatus::Cancelled, 0);
    desk.run_ms(3_000);
    assert_eq!(desk.end_of(id), Some(End::Cancelled));
    assert!(desk.sealed.len() > 1, "quoted again");
    for (_, order) in desk.sealed.values() {
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
    let mut desk = Desk::of(Box::new(Below(5)), config(), Vec::new());
    desk.header_errs = header_errs;
    desk.until_a_submit_waits();
    desk.accept();
    desk.cached = Some(desk.venue_now());
    desk.run_ms(2_500);
    assert!(desk.cancels.is_empty(), "three seconds are allowed");
    desk.run_ms(1_000);
    assert_eq!(desk.cancels.len(), 1);
    desk.cached = None;
    desk.run_ms(1_000);
    assert_eq!(desk.submits.len(), 1, "a fresh book is priced from again");
}

#[test]
fn one_snapshot_from_the_future_is_refused_and_the_next_correct_one_is_accepted() {
    let mut desk = Desk::of(Box::new(Below(5)), config(), Vec::new());
    desk.until_a_submit_waits();
    desk.accept();
    desk.cached = Some(desk.venue_now().plus_ms(1_000_000_000));
    let version = std::mem::replace(&mut desk.version, 1_000_000);
    desk.run_ms(600);
    desk.cached = None;
    desk.version = version;
    desk.run_ms(10_000);
    assert!(desk.cancels.is_empty(), "no price was ever too old");
}
