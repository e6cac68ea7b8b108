//! Orders that are no longer targets are not sent, and not sent again.

use cambist_core::Reason;
use cambist_core::notification::End;
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, Query, Reply, UnknownCause};

use crate::desk::{Below, Desk, config};

/// A bid five ticks below the mid has been submitted.
fn submitted() -> Desk {
    let mut desk = Desk::of(Box::new(Below(5)), config(), Vec::new());
    desk.until_a_submit_waits();
    desk
}

#[test]
fn a_lost_submit_is_not_resent_at_an_old_price_and_is_cancelled() {
    let mut desk = submitted();
    let id = desk.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    let hash = desk.sealed[&id].0;
    desk.depth = (9_690, 9_710);
    desk.run_ms(8_000);
    assert_eq!(desk.transmissions(id), 1);
    assert!(desk.cancels.iter().any(|(_, cancelled)| *cancelled == hash));
    assert_eq!(desk.end_of(id), None, "it may still rest");
    assert_eq!(desk.sealed.len(), 2, "the new price is quoted meanwhile");
}

#[test]
fn an_unsent_order_is_dropped_when_its_price_is_no_target() {
    let mut desk = submitted();
    let id = desk.answer_submit(Outcome::NotSent);
    desk.depth = (9_690, 9_710);
    desk.run_ms(3_000);
    assert_eq!(desk.transmissions(id), 1);
    assert_eq!(desk.end_of(id), Some(End::NeverSent));
}

#[test]
fn an_order_dropped_while_it_is_sealed_is_never_sent() {
    let mut desk = Desk::of(Box::new(Below(5)), config(), Vec::new());
    desk.store_waits = true;
    desk.run_ms(3_000);
    assert_eq!(desk.sealing.len(), 1);
    desk.depth = (9_690, 9_710);
    desk.run_ms(1_000);
    assert_eq!(desk.sealing.len(), 1, "nothing queues behind a slow store");
    desk.store_answers();
    desk.store_answers();
    let (first, second) = (desk.sealed_ids()[0], desk.sealed_ids()[1]);
    assert_eq!(desk.transmissions(first), 0);
    assert_eq!(desk.end_of(first), Some(End::NeverSent));
    assert_eq!(desk.transmissions(second), 1);
}

#[test]
fn an_answered_cancel_is_sent_again_only_after_the_list_was_read() {
    let taken = Outcome::Reply(Reply::CancelTaken {
        status: OrderStatus::Processing,
    });
    for answer in [taken, Outcome::Refused(Reason::NothingToCancel)] {
        let mut desk = submitted();
        desk.accept();
        desk.depth = (9_690, 9_710);
        for _ in 0..40 {
            if desk.cancels.is_empty() {
                desk.run_ms(100);
            }
        }
        let (request, hash) = desk.cancels.pop_front().expect("a cancel waits");
        // No list is answered any more.
        desk.deaf = true;
        desk.answer(request, answer.clone());
        desk.run_ms(2_800);
        let again = |desk: &Desk| {
            let asked = desk.asked.iter().map(|(_, query)| query);
            let cancels = asked.filter(|query| matches!(query, Query::Cancel(_)));
            cancels.count() + desk.cancels.len()
        };
        assert_eq!(again(&desk), 0, "{answer:?}: nothing new is known");
        desk.deaf = false;
        desk.run_ms(15_000);
        assert!(again(&desk) > 0, "{answer:?}: {hash} still rests");
    }
}
