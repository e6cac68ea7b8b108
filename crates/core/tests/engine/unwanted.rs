//! Orders that are no longer targets are not sent, and not sent again.

use cambist_core::Reason;
use cambist_core::notification::End;
use cambist_core::order::OrderStatus;
use cambist_core::request::{Outcome, Query, Reply, UnknownCause};

use crate::bench::{Below, TestBench, config};

/// A bid five ticks below the mid has been submitted.
fn submitted() -> TestBench {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.until_a_submit_waits();
    bench
}

#[test]
fn a_lost_submit_is_not_resent_at_an_old_price_and_is_cancelled() {
    let mut bench = submitted();
    let id = bench.answer_submit(Outcome::Unknown(UnknownCause::Timeout));
    let hash = bench.sealed[&id].0;
    bench.depth = (9_690, 9_710);
    bench.run_ms(8_000);
    assert_eq!(bench.transmissions(id), 1);
    assert!(
        bench
            .cancels
            .iter()
            .any(|(_, cancelled)| *cancelled == hash)
    );
    assert_eq!(bench.end_of(id), None, "it may still rest");
    assert_eq!(bench.sealed.len(), 2, "the new price is quoted meanwhile");
}

#[test]
fn an_unsent_order_is_dropped_when_its_price_is_no_target() {
    let mut bench = submitted();
    let id = bench.answer_submit(Outcome::NotSent);
    bench.depth = (9_690, 9_710);
    bench.run_ms(3_000);
    assert_eq!(bench.transmissions(id), 1);
    assert_eq!(bench.end_of(id), Some(End::NeverSent));
}

#[test]
fn an_order_dropped_while_it_is_sealed_is_never_sent() {
    let mut bench = TestBench::of(Box::new(Below(5)), config(), Vec::new());
    bench.store_waits = true;
    bench.run_ms(3_000);
    assert_eq!(bench.sealing.len(), 1);
    bench.depth = (9_690, 9_710);
    bench.run_ms(1_000);
    assert_eq!(bench.sealing.len(), 1, "nothing queues behind a slow store");
    bench.store_answers();
    bench.store_answers();
    let (first, second) = (bench.sealed_ids()[0], bench.sealed_ids()[1]);
    assert_eq!(bench.transmissions(first), 0);
    assert_eq!(bench.end_of(first), Some(End::NeverSent));
    assert_eq!(bench.transmissions(second), 1);
}

#[test]
fn an_answered_cancel_is_sent_again_only_after_the_list_was_read() {
    let taken = Outcome::Reply(Reply::CancelTaken {
        status: OrderStatus::Processing,
    });
    for answer in [taken, Outcome::Refused(Reason::NothingToCancel)] {
        let mut bench = submitted();
        bench.accept();
        bench.depth = (9_690, 9_710);
        for _ in 0..40 {
            if bench.cancels.is_empty() {
                bench.run_ms(100);
            }
        }
        let (request, hash) = bench.cancels.pop_front().expect("a cancel waits");
        // No list is answered any more.
        bench.queries_lost = true;
        bench.answer(request, answer.clone());
        bench.run_ms(2_800);
        let again = |bench: &TestBench| {
            let lost_queries = bench.lost_queries.iter().map(|(_, query)| query);
            let cancels = lost_queries.filter(|query| matches!(query, Query::Cancel(_)));
            cancels.count() + bench.cancels.len()
        };
        assert_eq!(again(&bench), 0, "{answer:?}: nothing new is known");
        bench.queries_lost = false;
        bench.run_ms(15_000);
        assert!(again(&bench) > 0, "{answer:?}: {hash} still rests");
    }
}
