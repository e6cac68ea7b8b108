//! Draining with proof, and trading states.

use cambist_core::Reason;
use cambist_core::event::{Command, Event, Restrictions, TradingState};
use cambist_core::inspection::{DrainWait, Draining};
use cambist_core::notification::{End, Notification};
use cambist_core::order::{ClientOrderId, Hash, OrderStatus};
use cambist_core::request::{Outcome, Query, UnknownCause};

use crate::bench::{BOTH, TestBench, config};

fn drain(bench: &mut TestBench) {
    bench.handle_event(&Event::Operator(Command::Drain));
}

#[test]
fn draining_cancels_everything_proves_it_and_finishes() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    drain(&mut bench);
    assert_eq!(bench.cancels.len(), 2);
    assert_eq!(bench.finished, None);
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(5_000);
    assert_eq!(bench.finished, Some(true));
    assert!(
        bench.submits.is_empty(),
        "nothing is sent after the drain began"
    );
}

/// Answers what was asked and not answered, and is asked from now on, but for this kind.
fn answer_except(bench: &mut TestBench, unanswered: fn(&Query) -> bool) {
    bench.unanswered = unanswered;
    for (request, query) in std::mem::take(&mut bench.lost_queries) {
        if unanswered(&query) {
            bench.lost_queries.push((request, query));
        } else {
            bench.answer_query(request, &query);
        }
    }
    bench.run_ms(3_000);
}

#[test]
fn a_drain_shows_what_it_waits_for_and_until_when() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    drain(&mut bench);
    let waits_for = bench.engine.draining().map(|draining| draining.waits_for);
    assert_eq!(waits_for, Some(DrainWait::Orders));

    // Nothing rests here.
    let mut bench = TestBench::new(&[]);
    bench.run_ms(3_000);
    // No balances are left that a list could confirm.
    answer_except(&mut bench, |query| matches!(query, Query::Balances));
    assert_eq!(bench.engine.draining(), None);
    let deadline = bench.now.plus_ms(config().drain_deadline_ms);
    let draining = |waits_for| {
        Some(Draining {
            waits_for,
            deadline,
        })
    };
    bench.unanswered = |query| matches!(query, Query::Orders(_) | Query::Balances);
    drain(&mut bench);
    assert_eq!(bench.engine.draining(), draining(DrainWait::List));
    answer_except(&mut bench, |query| matches!(query, Query::Balances));
    assert_eq!(bench.engine.draining(), draining(DrainWait::Balances));
    answer_except(&mut bench, |query| matches!(query, Query::Orders(_)));
    assert_eq!(bench.engine.draining(), draining(DrainWait::Confirmation));
    answer_except(&mut bench, |_| false);
    assert_eq!(bench.finished, Some(true));
    assert_eq!(bench.engine.draining(), None);
}

#[test]
fn what_is_left_waits_for_answers_about_orders_only() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept();
    assert_eq!(bench.submits.len(), 1, "one has no answer");
    bench.handle_event(&Event::Operator(Command::Leave));
    let waits_for = bench.engine.draining().map(|draining| draining.waits_for);
    assert_eq!(waits_for, Some(DrainWait::Answers));
    bench.accept();
    bench.run_ms(1_000);
    assert_eq!(bench.finished, Some(false));
    assert_eq!(bench.engine.draining(), None);
}

#[test]
fn an_unknown_order_delays_the_end_until_its_fence() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept();
    let lost = bench.answer_submit(Outcome::Unknown(UnknownCause::Transport));
    drain(&mut bench);
    bench.accept_cancel();
    bench.run_ms(15_000);
    assert_eq!(bench.finished, None, "it may still rest");
    bench.run_ms(12_000);
    assert_eq!(bench.end_of(lost), Some(End::Fenced));
    assert_eq!(bench.finished, Some(true));
    assert_eq!(bench.transmissions(lost), 1, "no resend while draining");
}

#[test]
fn a_drain_without_proof_ends_unproven_at_its_deadline() {
    let mut bench = TestBench::ready(&BOTH);
    let id = bench.accept();
    bench.accept();
    drain(&mut bench);
    // The venue lists the order as open, whatever is cancelled.
    for _ in 0..650 {
        bench.run_ms(100);
        bench.show(id, OrderStatus::Cancelling, 0);
    }
    assert_eq!(bench.finished, Some(false));
}

#[test]
fn an_order_being_sealed_when_the_drain_starts_is_never_sent() {
    let mut bench = TestBench::new(&BOTH);
    bench.store_works = false;
    bench.run_ms(3_000);
    let tried = bench.levels.len();
    assert!(tried >= 2, "a level that is not stored is tried again");
    assert!(
        bench.levels.iter().all(|l| *l == TradingState::CancelOnly),
        "a store that fails stops new orders"
    );
    assert!(bench.submits.is_empty());
    assert!(bench.notifications.iter().any(|n| matches!(
        n,
        Notification::Ended {
            end: End::NeverSent,
            ..
        }
    )));
    bench.run_ms(5_000);
    assert!(bench.submits.is_empty());
}

#[test]
fn a_trading_state_being_stored_already_restricts_and_is_in_force_when_stored() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.store_waits = true;
    bench.handle_event(&Event::Operator(Command::Raise {
        level: TradingState::CancelOnly,
        reason: "operator".to_owned(),
    }));
    assert!(
        !bench
            .notifications
            .contains(&Notification::TradingStateChanged {
                level: TradingState::CancelOnly,
                cause: "operator".to_owned(),
            })
    );
    bench.run_ms(600);
    assert_eq!(bench.cancels.len(), 2);
    bench.handle_event(&Event::RestrictionsStored(Restrictions::of(
        TradingState::CancelOnly,
    )));
    assert!(
        bench
            .notifications
            .contains(&Notification::TradingStateChanged {
                level: TradingState::CancelOnly,
                cause: "operator".to_owned(),
            })
    );
    bench.run_ms(3_000);
    assert_eq!(bench.finished, None, "cancel-only goes on watching");
}

#[test]
fn a_forgotten_open_order_of_ours_is_not_foreign() {
    let mut bench = TestBench::ready(&BOTH);
    let id = bench.accept();
    bench.accept();
    let mut not_ours = bench.list[0].clone();
    not_ours.hash = Hash([9; 32]);
    not_ours.client_id = Some(ClientOrderId { number: 999, ..id });
    bench.list.push(not_ours);
    bench.run_ms(1_500);
    assert_eq!(bench.levels, [TradingState::CancelOnly]);
    drain(&mut bench);
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(10_000);
    assert_eq!(bench.finished, None, "it rests, so nothing is proven");
}

#[test]
fn an_order_that_ends_while_the_proof_is_read_contradicts_nothing() {
    let mut config = config();
    config.poll.orders_page = 1;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.until_a_submit_waits();
    let resting = bench.accept();
    let mut ended = bench.list[0].clone();
    ended.hash = Hash([9; 32]);
    ended.client_id = None;
    ended.status = OrderStatus::Cancelled;
    bench.list.push(ended);
    bench.answer_submit(Outcome::Unknown(UnknownCause::Transport));
    drain(&mut bench);
    // The second round of the proof has listed the order as open when its last page is lost.
    bench.lost_proof_page = Some(2);
    while bench.proof_pages < 2 {
        bench.run_ms(1);
        assert!(bench.venue_now() < crate::bench::ORIGIN.plus_ms(60_000));
    }
    bench.list[0].status = OrderStatus::Cancelled;
    while bench.end_of(resting).is_none() {
        let (request, _) = bench.cancels.pop_back().expect("a cancel waits");
        bench.answer(request, Outcome::Refused(Reason::NothingToCancel));
    }
    assert_eq!(bench.end_of(resting), Some(End::Cancelled));
    bench.run_ms(20_000);
    let failed =
        |notification: &Notification| matches!(notification, Notification::InvariantFailed { .. });
    assert!(!bench.notifications.iter().any(failed));
    assert_eq!(bench.finished, Some(true));
}

/// What was sealed and provably never left needs no proof: it ends at once when nothing may be sent any more.
#[test]
fn an_unsent_order_is_dropped_when_a_drain_or_a_trading_state_forbids_it() {
    let raise = Command::Raise {
        level: TradingState::CancelOnly,
        reason: String::new(),
    };
    for command in [Command::Drain, raise] {
        let mut bench = TestBench::ready(&BOTH);
        bench.accept();
        let id = bench.answer_submit(Outcome::NotSent);
        assert_eq!(bench.end_of(id), None);
        bench.handle_event(&Event::Operator(command.clone()));
        assert_eq!(bench.end_of(id), Some(End::NeverSent), "{command:?}");
    }
}

/// A last fill may come with the proof, and what was compared before does not contain it.
#[test]
fn a_drain_ends_when_the_books_were_compared_after_its_proof() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.run_ms(2_000);
    bench.unanswered = |query| matches!(query, Query::Balances);
    drain(&mut bench);
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(8_000);
    assert_eq!(bench.finished, None, "balances were not read since");
    bench.unanswered = |_| false;
    for (request, query) in std::mem::take(&mut bench.lost_queries) {
        bench.answer_query(request, &query);
    }
    bench.run_ms(3_000);
    assert_eq!(bench.finished, Some(true));
}

/// Both sides rest; balances are read every 30 s, lists at this interval.
fn polled_rarely(orders_ms: u64) -> TestBench {
    let mut config = config();
    config.poll.orders_ms = orders_ms;
    config.poll.orders_age_max_ms = 180_000;
    config.poll.balances_ms = 30_000;
    config.poll.balances_age_max_ms = 120_000;
    let mut bench = TestBench::with(&BOTH, config, Vec::new());
    bench.until_a_submit_waits();
    bench.accept_all();
    bench.run_ms(1_000);
    bench
}

/// Where lists are expensive they are rare; the end does not wait for the next one.
#[test]
fn a_drain_does_not_wait_for_a_list_that_is_due_later() {
    let mut bench = polled_rarely(40_000);
    drain(&mut bench);
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    bench.run_ms(2_000);
    assert_eq!(bench.finished, Some(true));
}

/// Nothing rests, and whether the ledger is right is not known: such an end is not a proven one.
#[test]
fn a_drain_without_balances_ends_unproven_at_its_deadline() {
    let mut bench = TestBench::ready(&BOTH);
    bench.accept_all();
    bench.run_ms(2_000);
    bench.unanswered = |query| matches!(query, Query::Balances);
    drain(&mut bench);
    bench.accept_cancel();
    bench.accept_cancel();
    bench.run_ms(59_000);
    assert_eq!(bench.finished, None);
    bench.run_ms(2_000);
    assert_eq!(bench.finished, Some(false));
}

/// Balances that are not answered are asked for again soon, however rare they are otherwise.
#[test]
fn a_drain_asks_again_for_balances_that_are_lost() {
    let mut bench = polled_rarely(1_000);
    bench.fails = |query| matches!(query, Query::Balances);
    drain(&mut bench);
    while !bench.cancels.is_empty() {
        bench.accept_cancel();
    }
    bench.run_ms(4_000);
    assert_eq!(bench.finished, None);
    bench.fails = |_| false;
    bench.run_ms(5_000);
    assert_eq!(bench.finished, Some(true));
}
