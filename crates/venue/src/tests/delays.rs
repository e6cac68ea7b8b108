//! Delays: orders that are not matched immediately, late failures, repeated requests.

use cambist_core::{OrderKind, OrderStatus, Reason, Side, VenueTime};

use super::support::*;
use crate::testing::*;
use crate::{
    Compat, Delays, Fault, Operator, OrdersQuery, Proof, Request, RequestKind, Response,
    SubmissionStatus, Submitted, VenueConfig,
};

fn delayed(compat: Compat) -> VenueConfig {
    let mut config = with_pool();
    config.compat = compat;
    config.delays = Delays {
        order_ms: 100,
        cancel_ms: 40,
        received_ms: 30,
        processing_ms: 20,
        ..Delays::default()
    };
    config
}

fn resubmit(world: &mut World, order: &crate::NewOrder) -> Submitted {
    world.submit(order)
}

/// R-DLY-01
#[test]
fn an_order_is_matched_after_its_delay() {
    let mut world = World::with(delayed(Compat::Both));
    let (ask, made) = world.place(BOB, Side::Sell, 250_000, ONE);
    assert_eq!(
        made.status,
        OrderStatus::Processing,
        "acknowledged as processing"
    );
    assert_eq!(world.status(BOB, ask), OrderStatus::Waiting);
    assert_eq!(world.held(BOB, BASE).1, ONE, "its funds are locked");
    assert!(world.depth(0, None).asks.is_empty());
    assert_eq!(
        world.venue.next_wakeup(),
        Some(VenueTime(START_S * 1_000 + 100))
    );
    world.pass(99);
    assert_eq!(world.status(BOB, ask), OrderStatus::Waiting);
    world.pass(1);
    assert_eq!(world.status(BOB, ask), OrderStatus::Processing);
    let (bid, made) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert!(made.trades.is_empty());
    world.pass(100);
    assert_eq!(world.status(ALICE, bid), OrderStatus::Processed);
    assert_eq!(world.status(BOB, ask), OrderStatus::Processed);
}

/// R-DLY-01
#[test]
fn delayed_orders_are_matched_in_order_of_acceptance() {
    let mut world = World::with(delayed(Compat::Both));
    let (first, _) = world.place(BOB, Side::Sell, 250_000, ONE);
    world.pass(1);
    let (second, _) = world.place(CAROL, Side::Sell, 250_000, ONE);
    let (third, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    // Time advances in one large step; everything still happens at its own time.
    world.pass(10_000);
    assert_eq!(world.status(BOB, first), OrderStatus::Processed);
    assert_eq!(world.status(CAROL, second), OrderStatus::Processing);
    let view = world.view(ALICE, third);
    assert_eq!(view.status, OrderStatus::Processed);
    assert_eq!(view.updated, VenueTime(START_S * 1_000 + 101));
}

/// R-DLY-02
#[test]
fn the_same_request_again_is_idempotent_while_undecided() {
    let mut world = World::with(delayed(Compat::Both));
    let order = world.order(ALICE, Side::Buy, 250_000, ONE);
    assert!(!world.submit(&order).idempotent);
    let again = resubmit(&mut world, &order);
    assert!(again.idempotent && again.status == OrderStatus::Processing);
    assert_eq!(world.held(ALICE, QUOTE).1, 2_500 * UNIT, "bound once");
    let mut other = order.clone();
    other.kind = OrderKind::MakerOnly;
    assert_eq!(world.submit_refused(&other), Reason::OrderExists);
    let transfer = world.transfer();
    let first = world.send(&transfer.clone().into()).unwrap();
    assert_eq!(
        (first.status, first.idempotent),
        (SubmissionStatus::Received, false)
    );
    let again = world.send(&transfer.clone().into()).unwrap();
    assert_eq!(
        (again.status, again.idempotent),
        (SubmissionStatus::Received, true)
    );
    assert_eq!(world.held(ALICE, BASE).1, 5 * ONE);
    let mut other = transfer.clone();
    other.sent.amount += 1;
    assert_eq!(world.not_sent(other), Reason::InvalidNonce);
    world.pass(30);
    let again = world.send(&transfer.clone().into()).unwrap();
    assert_eq!(
        (again.status, again.idempotent),
        (SubmissionStatus::Processing, true)
    );
    world.pass(20);
    assert_eq!(world.not_sent(transfer), Reason::InvalidNonce, "decided");
    world.pass(50);
    assert_eq!(world.submit_refused(&order), Reason::OrderExists, "decided");
}

/// R-DLY-02, R-SUB-08
#[test]
fn an_approved_request_may_be_repeated_while_undecided() {
    let mut world = World::with(delayed(Compat::Both));
    let mut transfer = world.transfer();
    let hash = cambist_core::Hash([9; 32]);
    world.operate(Operator::ApproveHash {
        account: ALICE,
        hash,
    });
    transfer.proof = Proof {
        approved: Some(hash),
        ..Proof::default()
    };
    world.sent(transfer.clone());
    assert!(world.send(&transfer.clone().into()).unwrap().idempotent);
    transfer.proof.ecdsa = Some(owner(BOB));
    assert_eq!(world.not_sent(transfer), Reason::WrongSignature);
}

/// R-DLY-03
#[test]
fn a_submission_is_received_then_processing_then_processed() {
    let mut world = filled(delayed(Compat::Both));
    let (transfer, withdrawal) = (world.transfer(), world.withdrawal());
    let (join, exit) = (world.join(), world.exit());
    for request in [
        Request::from(transfer.clone()),
        withdrawal.clone().into(),
        join.clone().into(),
        exit.clone().into(),
    ] {
        assert_eq!(
            world.send(&request).unwrap().status,
            SubmissionStatus::Received
        );
    }
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 20 * ONE));
    world.pass(29);
    assert_eq!(
        world.submission(ALICE, transfer.hash),
        SubmissionStatus::Received
    );
    world.pass(1);
    assert_eq!(
        world.submission(ALICE, join.hash),
        SubmissionStatus::Processing
    );
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 20 * ONE));
    world.pass(20);
    for (account, hash) in [
        (ALICE, transfer.hash),
        (ALICE, withdrawal.hash),
        (ALICE, join.hash),
        (CAROL, exit.hash),
    ] {
        assert_eq!(world.submission(account, hash), SubmissionStatus::Processed);
    }
    assert_eq!(
        world.held(ALICE, BASE),
        (985 * ONE, 5 * ONE),
        "one part is pending"
    );
}

/// R-DLY-04
#[test]
fn a_cancel_takes_effect_later_and_the_order_may_fill_until_then() {
    let mut world = World::with(delayed(Compat::Both));
    let (filled, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    let (ended, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    let (ask, _) = world.place(BOB, Side::Sell, 250_000, ONE);
    world.pass(70);
    for hash in [filled, ended] {
        match world.cancel(ALICE, hash) {
            Ok(Response::Cancelled(done)) => {
                assert_eq!(
                    (done.status, done.idempotent),
                    (OrderStatus::Cancelling, false)
                );
            }
            other => panic!("{other:?}"),
        }
    }
    match world.cancel(ALICE, ended) {
        Ok(Response::Cancelled(done)) => assert!(done.idempotent),
        other => panic!("{other:?}"),
    }
    // Cancelled during its delay: it is never matched.
    world.pass(40);
    assert_eq!(world.status(ALICE, filled), OrderStatus::Cancelled);
    assert_eq!(world.status(ALICE, ended), OrderStatus::Cancelled);
    assert_eq!(world.status(BOB, ask), OrderStatus::Processing);
    let (bid, _) = world.place(CAROL, Side::Buy, 250_000, ONE);
    world.pass(90);
    world.cancel(BOB, ask).unwrap();
    world.pass(10);
    assert_eq!(
        world.status(BOB, ask),
        OrderStatus::Processed,
        "filled while cancelling"
    );
    assert_eq!(world.status(CAROL, bid), OrderStatus::Processed);
}

/// R-DLY-05, R-FLT-02
#[test]
fn an_order_that_fails_late_releases_everything_and_strict_shows_it_cancelled() {
    for (compat, shown) in [
        (Compat::Both, OrderStatus::Failed),
        (Compat::Strict, OrderStatus::Cancelled),
    ] {
        let mut config = with_pool();
        config.compat = compat;
        let mut world = World::with(config);
        world.operate(Operator::InjectFault(Fault::FailLate {
            kind: RequestKind::Submit,
            after_ms: 70,
            count: 1,
        }));
        let (late, made) = world.place(ALICE, Side::Buy, 250_000, ONE);
        assert_eq!(made.status, OrderStatus::Processing);
        let (good, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
        world.pass(70);
        assert_eq!(world.status(ALICE, late), shown);
        assert_eq!(world.status(ALICE, good), OrderStatus::Processing);
        assert_eq!(world.held(ALICE, QUOTE).1, 2_500 * UNIT);
        for (status, found) in [
            (OrderStatus::Failed, 1),
            (OrderStatus::Cancelled, u64::from(compat == Compat::Strict)),
        ] {
            let mut query = OrdersQuery::all(ALICE);
            query.statuses = vec![status];
            match world.ask(&signed(ALICE), &Request::Orders(query)) {
                Ok(Response::Orders(page)) => assert_eq!(page.total, found),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// R-DLY-05
#[test]
fn a_delayed_order_fails_if_its_conditions_have_changed() {
    let mut world = filled(delayed(Compat::Both));
    let (ask, _) = world.place(BOB, Side::Sell, 250_000, ONE);
    let mut maker = world.order(ALICE, Side::Buy, 250_000, ONE);
    maker.kind = OrderKind::MakerOnly;
    world.submit(&maker);
    let (frozen, _) = world.place(CAROL, Side::Buy, 240_000, ONE);
    world.operate(Operator::Freeze {
        account: CAROL,
        frozen: true,
    });
    let exit = {
        world.operate(Operator::Freeze {
            account: CAROL,
            frozen: false,
        });
        let exit = world.exit();
        world.sent(exit.clone());
        world.operate(Operator::Freeze {
            account: CAROL,
            frozen: true,
        });
        exit
    };
    world.pass(100);
    assert_eq!(world.status(BOB, ask), OrderStatus::Processing);
    assert_eq!(
        world.status(ALICE, maker.hash),
        OrderStatus::Failed,
        "it would take now"
    );
    assert_eq!(world.status(CAROL, frozen), OrderStatus::Failed);
    assert_eq!(world.submission(CAROL, exit.hash), SubmissionStatus::Failed);
}

/// R-DLY-06
#[test]
fn delayed_requests_are_listed_as_processing() {
    let mut world = World::with(delayed(Compat::Both));
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    let mut query = OrdersQuery::all(ALICE);
    query.statuses = vec![OrderStatus::Processing];
    match world.ask(&signed(ALICE), &Request::Orders(query)) {
        Ok(Response::Orders(page)) => {
            assert_eq!(page.orders[0].hash, hash);
            assert_eq!(page.orders[0].status, OrderStatus::Waiting);
        }
        other => panic!("{other:?}"),
    }
}

/// R-DLY-07
#[test]
fn late_failures_occur_at_the_configured_rate() {
    let failures = |seed| {
        let mut config = delayed(Compat::Both);
        config.delays.late_failures_permille = 250;
        config.delays.seed = seed;
        config.limits.history_orders_max = 1_000;
        let mut world = World::with(config);
        let mut failed = Vec::new();
        for _ in 0..200 {
            let (hash, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
            world.pass(100);
            failed.push(world.status(ALICE, hash) == OrderStatus::Failed);
            if failed.last() == Some(&false) {
                world.cancel(ALICE, hash).unwrap();
                world.pass(40);
            }
        }
        failed
    };
    let count = failures(1).iter().filter(|failed| **failed).count();
    assert!((30..70).contains(&count), "{count} of 200");
    assert_eq!(failures(1), failures(1));
    assert_ne!(failures(1), failures(2));
}

/// R-DLY-07
#[test]
fn the_least_rate_of_late_failures_is_one_in_a_thousand() {
    for (permille, likely) in [(0, 0..1), (1, 1..30)] {
        let mut config = delayed(Compat::Both);
        config.delays.late_failures_permille = permille;
        let mut world = World::with(config);
        let fail = (0..10_000).filter(|_| world.venue.draws_late_failure());
        let count = fail.count();
        assert!(likely.contains(&count), "{count} of 10,000");
    }
}

/// R-DLY-01: an order accepted later with a shorter delay is matched first and gets the better place in its level.
#[test]
fn an_order_with_a_shorter_delay_is_matched_first() {
    let mut world = World::with(delayed(Compat::Both));
    let (first, _) = world.place(BOB, Side::Sell, 250_000, ONE);
    world.operate(Operator::SetDelays(Delays::default()));
    let (second, _) = world.place(CAROL, Side::Sell, 250_000, ONE);
    world.pass(100);
    let (bid, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert_eq!(world.status(ALICE, bid), OrderStatus::Processed);
    assert_eq!(world.status(CAROL, second), OrderStatus::Processed);
    assert_eq!(world.status(BOB, first), OrderStatus::Processing);
}

/// R-DLY-05, R-STA-02
#[test]
fn an_order_that_expires_during_its_delay_is_never_matched() {
    let mut config = with_pool();
    config.delays.order_ms = 5_000;
    let mut world = World::with(config);
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.valid_until_s = START_S + 5;
    world.submit(&order);
    world.pass(5_000);
    assert_eq!(world.status(ALICE, order.hash), OrderStatus::Expired);
    assert_eq!(world.venue.next_wakeup(), None);
}
