//! Which evidence ends an unknown order, and which does not.

use cambist_core::notification::{End, Notification};
use cambist_core::order::{ClientOrderId, OrderStatus};
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{Reason, Time};

use crate::desk::{BID, Desk};

const LOST: Outcome = Outcome::Unknown(UnknownCause::Timeout);

/// Answers every later submit with `outcome` for `ms` milliseconds.
fn run_losing(desk: &mut Desk, ms: u64, id: ClientOrderId) {
    let end = desk.now.plus_ms(ms);
    while desk.now < end {
        desk.run_ms(100);
        while let Some((request, sent)) = desk.submits.pop_front() {
            let outcome = if sent == id { LOST } else { Outcome::NotSent };
            desk.answer(request, outcome);
        }
    }
}

#[test]
fn a_lost_submit_is_resent_only_after_a_list_left_it_out() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(LOST);
    assert_eq!(desk.transmissions(id), 1);
    run_losing(&mut desk, 900, id);
    assert_eq!(desk.transmissions(id), 1, "the pause is not over");
    run_losing(&mut desk, 10_000, id);
    assert_eq!(
        desk.transmissions(id),
        3,
        "as often as configured, the same id each time"
    );
}

#[test]
fn a_lost_submit_that_is_listed_is_live_and_never_resent() {
    let mut desk = Desk::ready(&BID);
    let (_, id) = desk.submits[0];
    desk.show(id, OrderStatus::Processing, 0);
    desk.answer_submit(LOST);
    desk.run_ms(5_000);
    assert_eq!(desk.transmissions(id), 1);
    assert!(
        desk.notes
            .iter()
            .any(|n| matches!(n, Notification::Resolved { order, .. } if *order == id))
    );
    assert_eq!(desk.sealed.len(), 1, "it serves its quote");
}

#[test]
fn an_unknown_order_ends_only_after_the_fence() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(LOST);
    let sealed_at = desk.now;
    run_losing(&mut desk, 22_000, id);
    assert_eq!(
        desk.end_of(id),
        None,
        "ttl and grace are 23 seconds: not yet"
    );
    run_losing(&mut desk, 5_000, id);
    assert_eq!(desk.end_of(id), Some(End::Fenced));
    assert!(desk.now > Time(sealed_at.0).plus_ms(23_000));
}

#[test]
fn an_order_listed_late_is_tracked_even_at_the_fence() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(LOST);
    run_losing(&mut desk, 21_000, id);
    desk.show(id, OrderStatus::Expired, 25);
    run_losing(&mut desk, 5_000, id);
    assert_eq!(desk.end_of(id), Some(End::Expired));
    assert!(
        desk.notes
            .iter()
            .any(|n| matches!(n, Notification::Filled(fill) if fill.base == 2_500))
    );
}

#[test]
fn a_refusal_that_the_bytes_alone_cause_ends_a_single_transmission() {
    for reason in [
        Reason::InvalidArgument,
        Reason::WrongExchange,
        Reason::MissingSignature,
    ] {
        let mut desk = Desk::ready(&BID);
        let id = desk.answer_submit(Outcome::Refused(reason));
        assert_eq!(desk.end_of(id), Some(End::Refused), "{reason:?}");
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
        let mut desk = Desk::ready(&BID);
        let id = desk.answer_submit(Outcome::Refused(reason));
        run_losing(&mut desk, 20_000, id);
        assert_eq!(desk.end_of(id), None, "{reason:?}");
    }
}

#[test]
fn a_definitive_refusal_of_a_resend_does_not_end_the_first_copy() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(LOST);
    desk.run_ms(2_500);
    let resent = desk.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    assert_eq!(resent, id);
    assert_eq!(desk.end_of(id), None);
}

#[test]
fn bytes_that_provably_were_not_sent_may_be_sent_later_or_dropped() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(Outcome::NotSent);
    desk.run_ms(1_500);
    assert_eq!(
        desk.submits.front().map(|(_, sent)| *sent),
        Some(id),
        "the same order again"
    );
    desk.accept();
    assert_eq!(desk.end_of(id), None);
}

#[test]
fn nothing_to_cancel_is_no_proof_and_the_order_is_read_by_hash() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.run_ms(16_000);
    desk.accept();
    let (request, hash) = desk
        .cancels
        .pop_front()
        .expect("the old order is cancelled");
    desk.answer(request, Outcome::Refused(Reason::NothingToCancel));
    desk.run_ms(200);
    assert_eq!(desk.end_of(id), None);
    assert!(desk.reads.contains(&hash));
}

#[test]
fn a_fill_after_the_end_is_booked_and_stops_trading() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.show(id, OrderStatus::Cancelled, 0);
    desk.run_ms(1_500);
    assert_eq!(desk.end_of(id), Some(End::Cancelled));
    desk.show(id, OrderStatus::Cancelled, 10);
    desk.run_ms(1_500);
    assert!(
        desk.notes
            .iter()
            .any(|n| matches!(n, Notification::Filled(fill) if fill.base == 1_000))
    );
    assert_eq!(desk.levels, [cambist_core::event::TradingState::CancelOnly]);
}

#[test]
fn an_order_concluded_to_be_dead_that_is_seen_open_stops_trading() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    desk.show(id, OrderStatus::Processing, 0);
    desk.run_ms(1_500);
    assert_eq!(desk.end_of(id), Some(End::Refused));
    assert_eq!(desk.levels, [cambist_core::event::TradingState::CancelOnly]);
}

#[test]
fn a_trade_is_booked_even_if_the_reported_fee_fell() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.show(id, OrderStatus::Processing, 10);
    desk.list[0].fee = 5;
    desk.run_ms(1_500);
    desk.show(id, OrderStatus::Processed, 100);
    desk.run_ms(1_500);
    let base: u128 = desk.fills().iter().map(|fill| fill.base).sum();
    assert_eq!(base, 10_000);
}

#[test]
fn paying_more_than_was_signed_stops_trading() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.show(id, OrderStatus::Processed, 100);
    desk.list[0].quote_filled += 1;
    desk.run_ms(1_500);
    assert_eq!(desk.levels, [cambist_core::event::TradingState::CancelOnly]);
}

#[test]
fn an_order_created_after_a_wrong_time_is_still_found() {
    let mut desk = Desk::new(&BID);
    desk.cached = Some(desk.venue_now().plus_ms(4_900));
    desk.until_a_submit_waits();
    let id = desk.accept();
    desk.cached = None;
    desk.show(id, OrderStatus::Processing, 10);
    desk.list[0].valid_since = desk.venue_now();
    desk.run_ms(3_000);
    assert_eq!(desk.fills().len(), 1);
}

#[test]
fn an_accepted_order_that_the_list_leaves_out_is_queried_by_hash() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.forgets = true;
    desk.show(id, OrderStatus::Processed, 100);
    desk.run_ms(3_000);
    assert_eq!(desk.end_of(id), Some(End::Filled));
    assert_eq!(desk.fills().len(), 1);
}

#[test]
fn an_accepted_order_that_the_venue_no_longer_knows_ends_after_the_fence() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.list.clear();
    desk.run_ms(22_000);
    assert_eq!(desk.end_of(id), None);
    desk.run_ms(6_000);
    assert_eq!(desk.end_of(id), Some(End::Fenced));
}

#[test]
fn a_refused_report_is_no_evidence_about_the_order() {
    let mut desk = Desk::ready(&BID);
    let id = desk.accept();
    desk.list.clear();
    desk.reads_refused = Some(Reason::UnknownError);
    desk.run_ms(60_000);
    assert!(!desk.reads.is_empty());
    assert_eq!(desk.end_of(id), None, "its fills may be untold");
    desk.reads_refused = None;
    desk.run_ms(6_000);
    assert_eq!(desk.end_of(id), Some(End::Fenced));
}
