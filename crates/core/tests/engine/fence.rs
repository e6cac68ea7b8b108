//! Which evidence ends an unknown order, and which does not.

use cambist_core::event::TradingState;
use cambist_core::notification::{End, Notification};
use cambist_core::order::{ClientOrderId, OrderStatus};
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{Qty, Reason, Time};

use crate::bench::{BID, TestBench, spec};

const LOST: Outcome = Outcome::Unknown(UnknownCause::Timeout);

/// Answers every later submit with `outcome` for `ms` milliseconds.
fn run_losing(bench: &mut TestBench, ms: u64, id: ClientOrderId) {
    let end = bench.now.plus_ms(ms);
    while bench.now < end {
        bench.run_ms(100);
        while let Some((request, sent)) = bench.submits.pop_front() {
            let outcome = if sent == id { LOST } else { Outcome::NotSent };
            bench.answer(request, outcome);
        }
    }
}

#[test]
fn a_lost_submit_is_resent_only_after_a_list_left_it_out() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(LOST);
    assert_eq!(bench.transmissions(id), 1);
    run_losing(&mut bench, 900, id);
    assert_eq!(bench.transmissions(id), 1, "the pause is not over");
    run_losing(&mut bench, 10_000, id);
    assert_eq!(
        bench.transmissions(id),
        3,
        "as often as configured, the same id each time"
    );
}

#[test]
fn a_lost_submit_that_is_listed_is_live_and_never_resent() {
    let mut bench = TestBench::ready(&BID);
    let (_, id) = bench.submits[0];
    bench.show(id, OrderStatus::Processing, 0);
    bench.answer_submit(LOST);
    bench.run_ms(5_000);
    assert_eq!(bench.transmissions(id), 1);
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Resolved { order, .. } if *order == id))
    );
    assert_eq!(bench.sealed.len(), 1, "it serves its quote");
}

#[test]
fn an_unknown_order_ends_only_after_the_fence() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(LOST);
    let sealed_at = bench.now;
    run_losing(&mut bench, 22_000, id);
    assert_eq!(
        bench.end_of(id),
        None,
        "ttl and grace are 23 seconds: not yet"
    );
    run_losing(&mut bench, 5_000, id);
    assert_eq!(bench.end_of(id), Some(End::Fenced));
    assert!(bench.now > Time(sealed_at.0).plus_ms(23_000));
}

#[test]
fn an_order_listed_late_is_tracked_even_at_the_fence() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(LOST);
    run_losing(&mut bench, 21_000, id);
    bench.show(id, OrderStatus::Expired, 25);
    run_losing(&mut bench, 5_000, id);
    assert_eq!(bench.end_of(id), Some(End::Expired));
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Filled(fill) if fill.base == 2_500))
    );
}

/// A venue that takes back an end: each increment is booked once, and stated as a broken promise.
#[test]
fn fills_after_an_end_are_booked_to_the_unit_and_stop_new_orders() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.show(id, OrderStatus::Cancelled, 10);
    bench.run_ms(3_000);
    assert_eq!(bench.end_of(id), Some(End::Cancelled));
    for lots in [11, 25, 25, 45] {
        bench.show(id, OrderStatus::Cancelled, lots);
        bench.run_ms(3_000);
    }
    let amounts: Vec<_> = bench.fills().iter().map(|fill| fill.base).collect();
    assert_eq!(amounts, [1_000, 100, 1_400, 2_000]);
    let quotes: u128 = bench.fills().iter().map(|fill| fill.quote).sum();
    let price = bench.sealed[&id].1.price;
    assert_eq!(Some(quotes), spec().quote_amount(price, Qty(45)));
    let late = |n: &Notification| matches!(n, Notification::InvariantFailed { name, .. } if name == "fill_after_end");
    assert_eq!(bench.count(late), 3);
    assert_eq!(bench.levels.last(), Some(&TradingState::CancelOnly));
}

#[test]
fn a_refusal_that_the_bytes_alone_cause_ends_a_single_transmission() {
    for reason in [
        Reason::InvalidArgument,
        Reason::WrongExchange,
        Reason::MissingSignature,
    ] {
        let mut bench = TestBench::ready(&BID);
        let id = bench.answer_submit(Outcome::Refused(reason));
        assert_eq!(bench.end_of(id), Some(End::Refused), "{reason:?}");
    }
}

#[test]
fn a_refusal_that_a_copy_or_a_temporary_condition_could_cause_ends_nothing() {
    for reason in [
        Reason::InsufficientBalance,
        Reason::OrderExists,
        Reason::OrderExpired,
        Reason::InvalidOrder,
        Reason::SubmitFailed,
        // The listing, limits or fees may differ when a delayed copy arrives.
        Reason::UnsupportedMarket,
        Reason::UnsupportedToken,
        Reason::AmountTooSmall,
        Reason::AmountTooLarge,
        Reason::IllegalRate,
        Reason::Unlisted(999_999),
    ] {
        let mut bench = TestBench::ready(&BID);
        let id = bench.answer_submit(Outcome::Refused(reason));
        run_losing(&mut bench, 20_000, id);
        assert_eq!(bench.end_of(id), None, "{reason:?}");
    }
}

#[test]
fn a_definitive_refusal_of_a_resend_does_not_end_the_first_copy() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(LOST);
    bench.run_ms(2_500);
    let resent = bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    assert_eq!(resent, id);
    assert_eq!(bench.end_of(id), None);
}

#[test]
fn bytes_that_provably_were_not_sent_may_be_sent_later_or_dropped() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(Outcome::NotSent);
    bench.run_ms(1_500);
    assert_eq!(
        bench.submits.front().map(|(_, sent)| *sent),
        Some(id),
        "the same order again"
    );
    bench.accept();
    assert_eq!(bench.end_of(id), None);
}

#[test]
fn nothing_to_cancel_is_no_proof_and_the_order_is_read_by_hash() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.run_ms(16_000);
    bench.accept();
    let (request, hash) = bench
        .cancels
        .pop_front()
        .expect("the old order is cancelled");
    bench.answer(request, Outcome::Refused(Reason::NothingToCancel));
    bench.run_ms(200);
    assert_eq!(bench.end_of(id), None);
    assert!(bench.reads.contains(&hash));
}

#[test]
fn a_fill_after_the_end_is_booked_and_stops_trading() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.show(id, OrderStatus::Cancelled, 0);
    bench.run_ms(1_500);
    assert_eq!(bench.end_of(id), Some(End::Cancelled));
    bench.show(id, OrderStatus::Cancelled, 10);
    bench.run_ms(1_500);
    assert!(
        bench
            .notifications
            .iter()
            .any(|n| matches!(n, Notification::Filled(fill) if fill.base == 1_000))
    );
    assert_eq!(
        bench.levels,
        [cambist_core::event::TradingState::CancelOnly]
    );
}

#[test]
fn an_order_concluded_to_be_dead_that_is_seen_open_stops_trading() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    bench.show(id, OrderStatus::Processing, 0);
    bench.run_ms(1_500);
    assert_eq!(bench.end_of(id), Some(End::Refused));
    assert_eq!(
        bench.levels,
        [cambist_core::event::TradingState::CancelOnly]
    );
}

#[test]
fn a_trade_is_booked_even_if_the_reported_fee_fell() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.show(id, OrderStatus::Processing, 10);
    bench.list[0].fee = 5;
    bench.run_ms(1_500);
    bench.show(id, OrderStatus::Processed, 100);
    bench.run_ms(1_500);
    let base: u128 = bench.fills().iter().map(|fill| fill.base).sum();
    assert_eq!(base, 10_000);
}

#[test]
fn paying_more_than_was_signed_stops_trading() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.show(id, OrderStatus::Processed, 100);
    bench.list[0].quote_filled += 1;
    bench.run_ms(1_500);
    assert_eq!(
        bench.levels,
        [cambist_core::event::TradingState::CancelOnly]
    );
}

#[test]
fn an_order_created_after_a_wrong_time_is_still_found() {
    let mut bench = TestBench::new(&BID);
    bench.cached = Some(bench.venue_now().plus_ms(4_900));
    bench.until_a_submit_waits();
    let id = bench.accept();
    bench.cached = None;
    bench.show(id, OrderStatus::Processing, 10);
    bench.list[0].valid_since = bench.venue_now();
    bench.run_ms(3_000);
    assert_eq!(bench.fills().len(), 1);
}

#[test]
fn an_accepted_order_that_the_list_leaves_out_is_queried_by_hash() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.forgets = true;
    bench.show(id, OrderStatus::Processed, 100);
    bench.run_ms(3_000);
    assert_eq!(bench.end_of(id), Some(End::Filled));
    assert_eq!(bench.fills().len(), 1);
}

#[test]
fn an_accepted_order_that_the_venue_no_longer_knows_ends_after_the_fence() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.list.clear();
    bench.run_ms(22_000);
    assert_eq!(bench.end_of(id), None);
    bench.run_ms(6_000);
    assert_eq!(bench.end_of(id), Some(End::Fenced));
}

#[test]
fn a_refused_report_is_no_evidence_about_the_order() {
    let mut bench = TestBench::ready(&BID);
    let id = bench.accept();
    bench.list.clear();
    bench.reads_refused = Some(Reason::UnknownError);
    bench.run_ms(60_000);
    assert!(!bench.reads.is_empty());
    assert_eq!(bench.end_of(id), None, "its fills may be untold");
    bench.reads_refused = None;
    bench.run_ms(6_000);
    assert_eq!(bench.end_of(id), Some(End::Fenced));
}
