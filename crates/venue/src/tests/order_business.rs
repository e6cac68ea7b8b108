//! Refusals of a submit that depend on the state, in the order of the checks.

use cambist_core::{OrderKind, OrderStatus, Reason, Side};

use crate::testing::*;
use crate::{NewOrder, Operator};

/// A valid bid of 1 at 2,500.00.
fn valid_bid(world: &mut World) -> NewOrder {
    world.order(ALICE, Side::Buy, 250_000, ONE)
}

/// R-ORD-13
#[test]
fn a_repeated_order_is_refused_whatever_its_state() {
    let mut world = World::new();
    let order = valid_bid(&mut world);
    world.submit(&order);
    assert_eq!(world.submit_refused(&order), Reason::OrderExists);
    world.now = world.now.plus_ms(7_200_000);
    world.venue.advance(world.now);
    assert_eq!(
        world.submit_refused(&order),
        Reason::OrderExists,
        "not: expired"
    );
}

/// R-ORD-15
#[test]
fn validity_ends_at_the_second_itself() {
    let mut world = World::new();
    let mut order = valid_bid(&mut world);
    order.valid_until_s = START_S;
    assert_eq!(world.submit_refused(&order), Reason::OrderExpired);
    order.valid_until_s = START_S + 1;
    world.now = world.now.plus_ms(999);
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
    world.now = world.now.plus_ms(1);
    assert_eq!(world.status(ALICE, order.hash), OrderStatus::Expired);
}

/// R-ORD-16, R-CAN-05
#[test]
fn a_frozen_account_cancels_but_does_not_trade() {
    let mut world = World::new();
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    world.operate(Operator::Freeze {
        account: ALICE,
        frozen: true,
    });
    let order = valid_bid(&mut world);
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    assert!(world.cancel(ALICE, hash).is_ok());
}

/// R-ORD-17, R-ORD-18
#[test]
fn closed_markets_and_tokens_accept_cancels_only() {
    let mut world = World::new();
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    world.operate(Operator::EnableMarket {
        market: "AAA-QQQ".to_owned(),
        enabled: false,
    });
    let order = valid_bid(&mut world);
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedMarket);
    assert_eq!(world.depth(0, None).bids.len(), 1, "still shown");
    assert!(world.cancel(ALICE, hash).is_ok());
    world.operate(Operator::EnableMarket {
        market: "AAA-QQQ".to_owned(),
        enabled: true,
    });
    world.operate(Operator::EnableToken {
        token: BASE,
        enabled: false,
    });
    assert_eq!(world.submit_refused(&order), Reason::UnsupportedToken);
}

/// R-ORD-19, R-ORD-20
#[test]
fn both_amounts_are_within_their_tokens_bounds() {
    let mut world = World::new();
    let minimum = ONE / 1_000;
    // 0.001 base at 2,500.00 is 2.5 quote: exactly the base minimum.
    let order = world.order(ALICE, Side::Sell, 250_000, minimum);
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
    let order = world.order(ALICE, Side::Sell, 250_000, minimum - 1);
    assert_eq!(world.submit_refused(&order), Reason::AmountTooSmall);
    // 0.999999 quote for enough base.
    let mut order = world.order(ALICE, Side::Sell, 100, ONE);
    order.buy_amount = UNIT - 1;
    assert_eq!(world.submit_refused(&order), Reason::AmountTooSmall);
    order.buy_amount = UNIT;
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
    let order = world.order(ALICE, Side::Sell, 250_000, 1_000 * ONE + 1);
    assert_eq!(world.submit_refused(&order), Reason::AmountTooLarge);
    let order = world.order(ALICE, Side::Sell, 100_000_001, ONE);
    assert_eq!(world.submit_refused(&order), Reason::AmountTooLarge);
}

/// R-ORD-19
#[test]
fn digits_below_the_precision_do_not_count_towards_the_minimum() {
    let mut config = config();
    // Precision is 6, so that a step is 10^12; the minimum is between two steps.
    let step = ONE / 1_000_000;
    config.tokens[0].spec.minimum = 1_000 * step + step / 2;
    let mut world = World::with(config);
    let order = world.order(ALICE, Side::Sell, 250_000, 1_001 * step - 1);
    assert_eq!(world.submit_refused(&order), Reason::AmountTooSmall);
    let (hash, _) = world.place(ALICE, Side::Sell, 250_000, 1_001 * step + 1);
    assert_eq!(
        world.view(ALICE, hash).base_amount,
        1_001 * step + 1,
        "the signed amount stays"
    );
}

/// R-ORD-21
#[test]
fn the_fee_accepted_covers_the_fee_of_the_kind() {
    let mut world = World::new();
    for (kind, fee) in [
        (OrderKind::Limit, 10),
        (OrderKind::TakerOnly, 10),
        (OrderKind::MakerOnly, 2),
    ] {
        let mut order = valid_bid(&mut world);
        order.kind = kind;
        order.max_fee_bips = fee - 1;
        assert_eq!(world.submit_refused(&order), Reason::IllegalRate);
        order.max_fee_bips = fee;
        world.submit(&order);
    }
}

/// R-ORD-22
#[test]
fn open_orders_are_limited() {
    let mut world = World::new();
    for _ in 0..40 {
        world.place(ALICE, Side::Buy, 250_000, ONE);
    }
    let mut order = valid_bid(&mut world);
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    order.storage_id = 16_384 + 2;
    assert_eq!(
        world.submit(&order).status,
        OrderStatus::Processing,
        "in the place of the first"
    );
    assert_eq!(
        world.place(BOB, Side::Buy, 250_000, ONE).1.status,
        OrderStatus::Processing
    );
}

/// R-ORD-23
#[test]
fn a_maker_only_order_that_would_take_is_refused() {
    let mut world = World::new();
    // The second levels are where a search from the wrong end of the book would find them.
    for (side, ticks) in [
        (Side::Sell, 250_010),
        (Side::Sell, 250_030),
        (Side::Buy, 249_990),
        (Side::Buy, 249_970),
    ] {
        world.place(BOB, side, ticks, ONE);
    }
    for (side, ticks, takes) in [
        (Side::Buy, 250_010, true),
        (Side::Buy, 250_011, true),
        (Side::Sell, 249_990, true),
        (Side::Sell, 249_980, true),
        (Side::Buy, 250_009, false),
        (Side::Sell, 250_010, false),
    ] {
        let mut order = world.order(ALICE, side, ticks, ONE);
        order.kind = OrderKind::MakerOnly;
        if takes {
            assert_eq!(world.submit_refused(&order), Reason::InvalidOrder);
        } else {
            assert_eq!(world.submit(&order).status, OrderStatus::Processing);
        }
    }
}

/// R-ORD-24
#[test]
fn the_whole_sell_amount_must_be_free() {
    let mut world = World::new();
    let (hash, _) = world.place(ALICE, Side::Sell, 100_000, 600 * ONE);
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 600 * ONE));
    let order = world.order(ALICE, Side::Sell, 100_000, 400 * ONE + 1);
    assert_eq!(world.submit_refused(&order), Reason::InsufficientBalance);
    let order = world.order(ALICE, Side::Sell, 100_000, 400 * ONE);
    world.submit(&order);
    world.cancel(ALICE, hash).unwrap();
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 400 * ONE));
}

/// R-SLT-01, R-SLT-02, R-SLT-06
#[test]
fn a_storage_id_is_used_once_per_sell_token() {
    let mut world = World::new();
    let mut order = valid_bid(&mut world);
    order.storage_id = 16_384 + 5;
    world.submit(&order);
    let mut again = valid_bid(&mut world);
    again.storage_id = 16_384 + 5;
    assert_eq!(world.submit_refused(&again), Reason::OrderExists);
    again.storage_id = 5;
    assert_eq!(world.submit_refused(&again), Reason::InvalidOrderId);
    again.storage_id = 7;
    world.submit(&again);
    let mut other_token = world.order(ALICE, Side::Sell, 260_000, ONE);
    other_token.storage_id = 5;
    assert_eq!(world.submit(&other_token).status, OrderStatus::Processing);
}

/// R-SLT-03, R-SLT-04
#[test]
fn a_larger_id_replaces_the_slots_open_order() {
    let mut world = World::new();
    let mut old = world.order(ALICE, Side::Sell, 100_000, 900 * ONE);
    old.storage_id = 40;
    world.submit(&old);
    world.place(ALICE, Side::Sell, 100_000, 50 * ONE);
    // Too much even with the funds that the old order would release: nothing changes.
    let mut order = world.order(ALICE, Side::Sell, 100_000, 950 * ONE);
    order.storage_id = 16_384 + 40;
    order.sell_amount += 1;
    assert_eq!(world.submit_refused(&order), Reason::InsufficientBalance);
    order.sell_amount -= 1;
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
    assert_eq!(world.status(ALICE, old.hash), OrderStatus::Cancelled);
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 1_000 * ONE));
    world.cancel(ALICE, order.hash).unwrap();
    let mut third = world.order(ALICE, Side::Sell, 100_000, ONE);
    third.storage_id = 2 * 16_384 + 40;
    assert_eq!(world.submit(&third).status, OrderStatus::Processing);
}
