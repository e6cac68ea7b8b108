//! How orders end (cancelled, expired, processed), and what is released.

use cambist_core::{OrderStatus, Reason, Side, VenueTime};

use crate::testing::*;
use crate::{Caller, Compat, Request, Response};

fn cancel_request(hash: Option<cambist_core::Hash>, client_id: Option<&str>) -> Request {
    Request::Cancel {
        account: ALICE,
        hash,
        client_id: client_id.map(str::to_owned),
    }
}

/// R-CAN-01, R-CAN-04
#[test]
fn a_cancel_of_an_unknown_or_finished_order_has_the_code_of_the_mode() {
    for (compat, expected) in [
        (Compat::Both, Reason::InvalidArgument),
        (Compat::Strict, Reason::NothingToCancel),
    ] {
        let mut config = config();
        config.compat = compat;
        let mut world = World::with(config);
        assert_eq!(
            world.refused(&signed(ALICE), &cancel_request(None, None)),
            expected
        );
        let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
        world.cancel(ALICE, hash).unwrap();
        assert_eq!(
            world.refused(&signed(ALICE), &cancel_request(Some(hash), None)),
            expected
        );
    }
}

/// R-CAN-02, R-CAN-03
#[test]
fn a_cancel_names_its_order_by_hash_client_id_or_both() {
    let mut world = World::new();
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.client_id = Some("mine".to_owned());
    world.submit(&order);
    let (other, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    let (foreign, _) = world.place(BOB, Side::Buy, 250_000, ONE);
    for request in [
        cancel_request(Some(other), Some("mine")),
        cancel_request(Some(foreign), None),
        cancel_request(None, Some("yours")),
        cancel_request(Some(order.hash), Some("yours")),
    ] {
        assert_eq!(
            world.refused(&signed(ALICE), &request),
            Reason::NothingToCancel
        );
    }
    let by_text = cancel_request(
        None,
        Some(&other.to_string().to_uppercase().replace('X', "x")),
    );
    for request in [cancel_request(Some(order.hash), Some("mine")), by_text] {
        match world.ask(&signed(ALICE), &request) {
            Ok(Response::Cancelled(done)) => assert_eq!(done.status, OrderStatus::Cancelled),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.status(BOB, foreign), OrderStatus::Processing);
}

/// R-STA-01
#[test]
fn a_cancel_releases_locked_funds_and_keeps_fills() {
    let mut world = World::new();
    let (hash, made) = world.place(ALICE, Side::Buy, 250_000, 2 * ONE);
    assert_eq!(made.status, OrderStatus::Processing);
    assert_eq!(world.held(ALICE, QUOTE).1, 5_000 * UNIT);
    world.place(BOB, Side::Sell, 250_000, ONE);
    assert_eq!(world.held(ALICE, QUOTE), (997_500 * UNIT, 2_500 * UNIT));
    world.cancel(ALICE, hash).unwrap();
    assert_eq!(world.held(ALICE, QUOTE), (997_500 * UNIT, 0));
    let view = world.view(ALICE, hash);
    assert_eq!(
        (view.status, view.base_filled, view.quote_filled),
        (OrderStatus::Cancelled, ONE, 2_500 * UNIT)
    );
}

/// R-STA-02
#[test]
fn orders_expire_at_their_second_which_is_a_timer() {
    let mut world = World::new();
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.valid_until_s = START_S + 5;
    world.submit(&order);
    let (late, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert_eq!(
        world.venue.next_wakeup(),
        Some(VenueTime::from_s(START_S + 5))
    );
    world.venue.advance(VenueTime(START_S * 1_000 + 4_999));
    assert!(world.venue.is_open(&order.hash));
    world.venue.advance(VenueTime::from_s(START_S + 5));
    assert_eq!(world.venue.audit(), Ok(()));
    assert!(!world.venue.is_open(&order.hash) && world.venue.is_open(&late));
    world.now = VenueTime::from_s(START_S + 5);
    assert_eq!(world.status(ALICE, order.hash), OrderStatus::Expired);
    assert_eq!(world.held(ALICE, QUOTE).1, 2_500 * UNIT);
}

/// R-STA-02
#[test]
fn an_expired_order_never_trades_even_if_time_was_not_advanced() {
    let mut world = World::new();
    let mut order = world.order(BOB, Side::Sell, 250_000, ONE);
    order.valid_until_s = START_S + 5;
    world.submit(&order);
    world.now = VenueTime::from_s(START_S + 5);
    let (_, made) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert!(made.trades.is_empty());
}

/// R-GEN-02
#[test]
fn time_that_runs_backwards_stands_still() {
    let mut world = World::new();
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.valid_until_s = START_S + 5;
    world.venue.advance(VenueTime::from_s(START_S + 5));
    assert_eq!(world.submit_refused(&order), Reason::OrderExpired);
    assert_eq!(world.venue.now(), VenueTime::from_s(START_S + 5));
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert_eq!(
        world.view(ALICE, hash).created,
        VenueTime::from_s(START_S + 5)
    );
}

/// R-STA-03
#[test]
fn a_filled_order_is_processed_for_both_sides() {
    let mut world = World::new();
    let (maker, _) = world.place(BOB, Side::Sell, 250_000, ONE);
    let (taker, made) = world.place(ALICE, Side::Buy, 250_100, ONE);
    assert_eq!(made.status, OrderStatus::Processed);
    assert_eq!(world.status(BOB, maker), OrderStatus::Processed);
    assert_eq!(world.status(ALICE, taker), OrderStatus::Processed);
    // The better price leaves a part of the bid unspent, which is free again.
    assert_eq!(world.held(ALICE, QUOTE), (997_500 * UNIT, 0));
}

/// R-GEN-03
#[test]
fn only_the_operator_operates() {
    let mut world = World::new();
    for caller in [
        Caller::Public,
        signed(ALICE),
        Caller::Internal { account: ALICE },
    ] {
        let input = crate::Operator::Deposit {
            account: ALICE,
            token: BASE,
            amount: 1,
        };
        assert_eq!(
            world.refused(&caller, &Request::Operator(input)),
            Reason::InvalidApiKey
        );
    }
}
