//! Every refusal of a submit, in the order in which the checks stand.

use cambist_core::{OrderKind, OrderStatus, Reason, Side};

use crate::testing::*;
use crate::{AccountId, Caller, KeyEpoch, NewOrder, Operator, Request};

/// A sound bid of 1 for 2,500.00.
fn sound(world: &mut World) -> NewOrder {
    world.order(ALICE, Side::Buy, 250_000, ONE)
}

fn refused_when(change: impl FnOnce(&mut NewOrder)) -> Reason {
    let mut world = World::new();
    let mut order = sound(&mut world);
    change(&mut order);
    world.submit_refused(&order)
}

/// R-GEN-01
#[test]
fn checks_stand_in_their_order() {
    let mut world = World::new();
    world.operate(Operator::Freeze {
        account: BOB,
        frozen: true,
    });
    // Wrong in every respect; one fault is mended after the other.
    let mut order = sound(&mut world);
    order.account = BOB;
    order.exchange = [1; 20];
    order.max_fee_bips = 0;
    let submit = |order: &NewOrder| Request::Submit(Box::new(order.clone()));
    let unsigned = Caller::Account {
        account: BOB,
        signed: None,
    };
    let seen = [
        world.refused(&Caller::Public, &submit(&order)),
        world.refused(&signed(ALICE), &submit(&order)),
        world.refused(&unsigned, &submit(&order)),
        {
            order.exchange = [7; 20];
            world.refused(&unsigned, &submit(&order))
        },
        {
            order.max_fee_bips = 20;
            world.refused(&unsigned, &submit(&order))
        },
        world.refused(&signed(BOB), &submit(&order)),
    ];
    assert_eq!(
        seen,
        [
            Reason::EmptyApiKey,
            Reason::InvalidAccount,
            Reason::WrongExchange,
            Reason::IllegalRate,
            Reason::MissingSignature,
            Reason::SubmitFailed,
        ]
    );
}

/// R-GEN-01
#[test]
fn precheck_refuses_what_the_request_alone_shows_and_nothing_else() {
    let mut world = World::new();
    world.operate(Operator::Freeze {
        account: ALICE,
        frozen: true,
    });
    let unsigned = Caller::Account {
        account: ALICE,
        signed: None,
    };
    let mut order = sound(&mut world);
    let check = |world: &World, order: &NewOrder| {
        let request = Request::Submit(Box::new(order.clone()));
        world.venue.precheck(&unsigned, &request)
    };
    assert_eq!(check(&world, &order), Ok(()), "frozen is business");
    order.max_fee_bips = 64;
    assert_eq!(
        check(&world, &order).unwrap_err().reason,
        Reason::IllegalRate
    );
    let cancel = Request::Cancel {
        account: ALICE,
        hash: None,
        client_id: None,
    };
    let refusal = world.venue.precheck(&unsigned, &cancel).unwrap_err();
    assert_eq!(refusal.reason, Reason::InvalidArgument);
}

/// R-GEN-06
#[test]
fn a_key_opens_one_account() {
    let mut world = World::new();
    let mut order = sound(&mut world);
    order.account = AccountId(999);
    let request = Request::Submit(Box::new(order));
    assert_eq!(
        world.refused(&signed(ALICE), &request),
        Reason::InvalidOrderAccount
    );
    assert_eq!(
        world.refused(
            &signed(ALICE),
            &Request::Balances {
                account: BOB,
                tokens: None
            }
        ),
        Reason::InvalidAccount
    );
}

/// R-GEN-07
#[test]
fn a_signature_of_a_replaced_key_is_wrong() {
    let mut world = World::new();
    let order = sound(&mut world);
    let stale = Caller::Account {
        account: ALICE,
        signed: Some(KeyEpoch(7)),
    };
    let request = Request::Submit(Box::new(order.clone()));
    assert_eq!(world.refused(&stale, &request), Reason::WrongSignature);
    world.submit(&order);
    let cancel = Request::Cancel {
        account: ALICE,
        hash: Some(order.hash),
        client_id: None,
    };
    assert_eq!(world.refused(&stale, &cancel), Reason::WrongSignature);
    let unsigned = Caller::Account {
        account: ALICE,
        signed: None,
    };
    assert_eq!(world.refused(&unsigned, &cancel), Reason::NoSignature);
}

/// R-ORD-01, R-ORD-02, R-ORD-03
#[test]
fn exchange_tokens_and_pair_must_be_listed() {
    assert_eq!(
        refused_when(|order| order.exchange = [0; 20]),
        Reason::WrongExchange
    );
    assert_eq!(
        refused_when(|order| order.buy_token = cambist_core::TokenId(77)),
        Reason::UnsupportedToken
    );
    assert_eq!(
        refused_when(|order| order.buy_token = LONELY),
        Reason::UnsupportedMarket
    );
    assert_eq!(
        refused_when(|order| order.buy_token = order.sell_token),
        Reason::UnsupportedMarket
    );
}

/// R-ORD-04, R-ORD-09
#[test]
fn storage_id_and_validity_fit_32_bits() {
    assert_eq!(
        refused_when(|order| order.storage_id = 1 << 32),
        Reason::InvalidOrderId
    );
    assert_eq!(
        refused_when(|order| order.valid_until_s *= 1_000),
        Reason::InvalidOrder,
        "milliseconds"
    );
    let mut world = World::new();
    let mut order = sound(&mut world);
    order.storage_id = u64::from(u32::MAX);
    order.valid_until_s = u64::from(u32::MAX);
    assert_eq!(world.submit(&order).status, OrderStatus::Processing);
}

/// R-ORD-05, R-ORD-06
#[test]
fn amounts_are_between_1_and_96_bits() {
    for (sell, buy, reason) in [
        (0, ONE, Reason::AmountTooSmall),
        (UNIT, 0, Reason::AmountTooSmall),
        (1 << 96, ONE, Reason::AmountTooLarge),
        (UNIT, u128::MAX, Reason::AmountTooLarge),
    ] {
        let seen = refused_when(|order| {
            order.sell_amount = sell;
            order.buy_amount = buy;
        });
        assert_eq!(seen, reason);
    }
}

/// R-ORD-07, R-ORD-08
#[test]
fn rates_are_within_bounds() {
    for bips in [0, 64, 256 + 20, u64::MAX] {
        assert_eq!(
            refused_when(|order| order.max_fee_bips = bips),
            Reason::IllegalRate
        );
    }
    // A bid below one tick: 1 for less than 0.01.
    assert_eq!(
        refused_when(|order| order.sell_amount = 9_999),
        Reason::IllegalRate
    );
}

/// R-ORD-10, R-ORD-11
#[test]
fn all_or_none_and_named_takers_are_not_taken() {
    assert_eq!(
        refused_when(|order| order.all_or_none = true),
        Reason::InvalidOrder
    );
    assert_eq!(
        refused_when(|order| order.taker = [1; 20]),
        Reason::InvalidOrder
    );
}

/// R-ORD-12, R-ORD-14
#[test]
fn a_client_order_id_is_short_and_unique_while_the_order_is_known() {
    assert_eq!(
        refused_when(|order| order.client_id = Some("é".repeat(60) + "x")),
        Reason::InvalidOrder
    );
    let mut world = World::new();
    let mut first = sound(&mut world);
    first.client_id = Some("x".repeat(120));
    assert_eq!(world.submit(&first).client_id, "x".repeat(120));
    let mut second = sound(&mut world);
    second.client_id = first.client_id.clone();
    assert_eq!(world.submit_refused(&second), Reason::OrderExists);
    world.cancel(ALICE, first.hash).unwrap();
    assert_eq!(
        world.submit_refused(&second),
        Reason::OrderExists,
        "history still names it"
    );
    second.account = BOB;
    assert_eq!(world.submit(&second).status, OrderStatus::Processing);
    // An absent or empty id is answered with the hash, which then is taken too.
    let mut third = sound(&mut world);
    third.client_id = Some(String::new());
    assert_eq!(world.submit(&third).client_id, third.hash.to_string());
    let mut fourth = sound(&mut world);
    fourth.client_id = Some(third.hash.to_string());
    assert_eq!(world.submit_refused(&fourth), Reason::OrderExists);
}

/// R-ORD-13
#[test]
fn the_same_order_again_exists_whatever_became_of_it() {
    let mut world = World::new();
    let order = sound(&mut world);
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
    let mut order = sound(&mut world);
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
    let order = sound(&mut world);
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    assert!(world.cancel(ALICE, hash).is_ok());
}

/// R-ORD-17, R-ORD-18
#[test]
fn closed_markets_and_tokens_take_no_orders_but_cancels() {
    let mut world = World::new();
    let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
    world.operate(Operator::EnableMarket {
        market: "AAA-QQQ".to_owned(),
        enabled: false,
    });
    let order = sound(&mut world);
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
    // Digits below the precision (6) count as zero: just below a step is the step below.
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

/// R-ORD-21
#[test]
fn the_fee_accepted_covers_the_fee_of_the_kind() {
    let mut world = World::new();
    for (kind, fee) in [
        (OrderKind::Limit, 10),
        (OrderKind::TakerOnly, 10),
        (OrderKind::MakerOnly, 2),
    ] {
        let mut order = sound(&mut world);
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
    let order = sound(&mut world);
    assert_eq!(world.submit_refused(&order), Reason::SubmitFailed);
    assert_eq!(
        world.place(BOB, Side::Buy, 250_000, ONE).1.status,
        OrderStatus::Processing
    );
}

/// R-ORD-23
#[test]
fn a_maker_only_order_that_would_take_is_refused() {
    let mut world = World::new();
    world.place(BOB, Side::Sell, 250_010, ONE);
    for (ticks, takes) in [(250_010, true), (250_011, true), (250_009, false)] {
        let mut order = world.order(ALICE, Side::Buy, ticks, ONE);
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
    let mut order = sound(&mut world);
    order.storage_id = 16_384 + 5;
    world.submit(&order);
    let mut again = sound(&mut world);
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
fn a_larger_id_takes_the_slot_over_and_cancels_what_was_open_there() {
    let mut world = World::new();
    let mut old = world.order(ALICE, Side::Sell, 100_000, 900 * ONE);
    old.storage_id = 40;
    world.submit(&old);
    world.place(ALICE, Side::Sell, 100_000, 50 * ONE);
    // Too much even with what the old order would release: nothing changes.
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
