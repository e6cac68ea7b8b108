//! The pace of retries: neither immediately without end, nor never.

use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{Reason, Side};

use crate::desk::{BID, Desk, config};

#[test]
fn a_venue_that_refuses_every_order_gets_fewer_and_fewer() {
    let mut desk = Desk::ready(&BID);
    for _ in 0..3_000 {
        while !desk.submits.is_empty() {
            desk.answer_submit(Outcome::Refused(Reason::InvalidArgument));
        }
        desk.run_ms(10);
    }
    // Pauses of 1, 2, 4, 8 and 16 seconds.
    assert_eq!(desk.sealed.len(), 5, "in thirty seconds");
}

#[test]
fn an_accepted_order_ends_the_pauses() {
    let mut desk = Desk::ready(&BID);
    desk.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    desk.run_ms(1_100);
    let id = desk.accept();
    desk.show(id, OrderStatus::Cancelled, 0);
    desk.run_ms(1_500);
    desk.answer_submit(Outcome::Refused(Reason::InvalidArgument));
    desk.run_ms(1_100);
    assert_eq!(desk.submits.len(), 1, "one second again, not two");
}

#[test]
fn an_answer_lost_by_the_shell_does_not_stop_polling() {
    let mut desk = Desk::ready(&BID);
    desk.accept();
    desk.deaf = true;
    desk.run_ms(1_500);
    desk.deaf = false;
    desk.run_ms(15_000);
    assert!(!desk.submits.is_empty(), "quoted again");
}

#[test]
fn waiting_for_a_fence_is_no_busy_loop() {
    let mut desk = Desk::ready(&BID);
    let id = desk.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    for _ in 0..3 {
        desk.run_ms(2_000);
        while desk.submits.front().is_some_and(|(_, sent)| *sent == id) {
            desk.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
        }
    }
    let before = desk.wakes;
    desk.run_ms(5_000);
    assert!(desk.wakes - before < 60, "{} wakes", desk.wakes - before);
}

#[test]
fn a_quote_without_a_token_is_sent_when_there_is_one_not_at_the_next_depth() {
    let mut config = config();
    config.poll.depth_ms = 2_500;
    (config.budget.endpoint_per_s, config.budget.endpoint_burst) = (4, 1);
    let quotes = [(Side::Buy, 9_995, 10), (Side::Buy, 9_990, 10)];
    let mut desk = Desk::with(&quotes, config, Vec::new());
    desk.until_a_submit_waits();
    assert_eq!(desk.submits.len(), 1);
    desk.run_ms(300);
    assert_eq!(desk.submits.len(), 2);
}
