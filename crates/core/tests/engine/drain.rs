//! Draining with proof, and trading states.

use cambist_core::Reason;
use cambist_core::event::{Command, Event, Restrictions, TradingState};
use cambist_core::notification::{End, Notification};
use cambist_core::order::{ClientOrderId, Hash, OrderStatus};
use cambist_core::request::{Outcome, UnknownCause};

use crate::desk::{BOTH, Desk, config};

fn drain(desk: &mut Desk) {
    desk.hear(&Event::Operator(Command::Drain));
}

#[test]
fn draining_cancels_everything_proves_it_and_finishes() {
    let mut desk = Desk::ready(&BOTH);
    desk.accept_all();
    drain(&mut desk);
    assert_eq!(desk.cancels.len(), 2);
    assert_eq!(desk.finished, None);
    desk.accept_cancel();
    desk.accept_cancel();
    desk.run_ms(5_000);
    assert_eq!(desk.finished, Some(true));
    assert!(
        desk.submits.is_empty(),
        "nothing is sent after the drain began"
    );
}

#[test]
fn an_unknown_order_delays_the_end_until_its_fence() {
    let mut desk = Desk::ready(&BOTH);
    desk.accept();
    let lost = desk.answer_submit(Outcome::Unknown(UnknownCause::Transport));
    drain(&mut desk);
    desk.accept_cancel();
    desk.run_ms(15_000);
    assert_eq!(desk.finished, None, "it may still rest");
    desk.run_ms(12_000);
    assert_eq!(desk.end_of(lost), Some(End::Fenced));
    assert_eq!(desk.finished, Some(true));
    assert_eq!(desk.transmissions(lost), 1, "no resend while draining");
}

#[test]
fn a_drain_without_proof_ends_unproven_at_its_deadline() {
    let mut desk = Desk::ready(&BOTH);
    let id = desk.accept();
    desk.accept();
    drain(&mut desk);
    // The venue lists the order as open, whatever is cancelled.
    for _ in 0..650 {
        desk.run_ms(100);
        desk.show(id, OrderStatus::Cancelling, 0);
    }
    assert_eq!(desk.finished, Some(false));
}

#[test]
fn an_order_being_sealed_when_the_drain_starts_is_never_sent() {
    let mut desk = Desk::new(&BOTH);
    desk.store_works = false;
    desk.run_ms(3_000);
    let tried = desk.levels.len();
    assert!(tried >= 2, "a level that is not stored is tried again");
    assert!(
        desk.levels.iter().all(|l| *l == TradingState::CancelOnly),
        "a store that fails stops new orders"
    );
    assert!(desk.submits.is_empty());
    assert!(desk.notes.iter().any(|n| matches!(
        n,
        Notification::Ended {
            end: End::NeverSent,
            ..
        }
    )));
    desk.run_ms(5_000);
    assert!(desk.submits.is_empty());
}

#[test]
fn a_trading_state_being_stored_already_restricts_and_is_in_force_when_stored() {
    let mut desk = Desk::ready(&BOTH);
    desk.accept_all();
    desk.store_waits = true;
    desk.hear(&Event::Operator(Command::Raise {
        level: TradingState::CancelOnly,
        reason: "operator".to_owned(),
    }));
    assert!(!desk.notes.contains(&Notification::TradingStateChanged {
        level: TradingState::CancelOnly,
        cause: "operator".to_owned(),
    }));
    desk.run_ms(600);
    assert_eq!(desk.cancels.len(), 2);
    desk.hear(&Event::RestrictionsStored(Restrictions::of(
        TradingState::CancelOnly,
    )));
    assert!(desk.notes.contains(&Notification::TradingStateChanged {
        level: TradingState::CancelOnly,
        cause: "operator".to_owned(),
    }));
    desk.run_ms(3_000);
    assert_eq!(desk.finished, None, "cancel-only goes on watching");
}

#[test]
fn a_forgotten_open_order_of_ours_is_not_foreign() {
    let mut desk = Desk::ready(&BOTH);
    let id = desk.accept();
    desk.accept();
    let mut stray = desk.list[0].clone();
    stray.hash = Hash([9; 32]);
    stray.client_id = Some(ClientOrderId { number: 999, ..id });
    desk.list.push(stray);
    desk.run_ms(1_500);
    assert_eq!(desk.levels, [TradingState::CancelOnly]);
    drain(&mut desk);
    desk.accept_cancel();
    desk.accept_cancel();
    desk.run_ms(10_000);
    assert_eq!(desk.finished, None, "it rests, so nothing is proven");
}

#[test]
fn an_order_that_ends_while_the_proof_is_read_contradicts_nothing() {
    let mut config = config();
    config.poll.orders_page = 1;
    let mut desk = Desk::with(&BOTH, config, Vec::new());
    desk.until_a_submit_waits();
    let resting = desk.accept();
    let mut ended = desk.list[0].clone();
    ended.hash = Hash([9; 32]);
    ended.client_id = None;
    ended.status = OrderStatus::Cancelled;
    desk.list.push(ended);
    desk.answer_submit(Outcome::Unknown(UnknownCause::Transport));
    drain(&mut desk);
    // The second round of the proof has listed the order as open when its last page is lost.
    desk.lost_proof_page = Some(2);
    while desk.proof_pages < 2 {
        desk.run_ms(1);
        assert!(desk.venue_now() < crate::desk::ORIGIN.plus_ms(60_000));
    }
    desk.list[0].status = OrderStatus::Cancelled;
    while desk.end_of(resting).is_none() {
        let (request, _) = desk.cancels.pop_back().expect("a cancel waits");
        desk.answer(request, Outcome::Refused(Reason::NothingToCancel));
    }
    assert_eq!(desk.end_of(resting), Some(End::Cancelled));
    desk.run_ms(20_000);
    let failed = |note: &Notification| matches!(note, Notification::InvariantFailed { .. });
    assert!(!desk.notes.iter().any(failed));
    assert_eq!(desk.finished, Some(true));
}
