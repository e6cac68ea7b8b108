//! All refusals of a submit, in the order of the checks.

use cambist_core::{OrderStatus, Reason, Side};

use crate::testing::*;
use crate::{AccountId, Caller, KeyEpoch, NewOrder, Operator, Request};

/// A valid bid of 1 at 2,500.00.
fn valid_bid(world: &mut World) -> NewOrder {
    world.order(ALICE, Side::Buy, 250_000, ONE)
}

fn refused_when(change: impl FnOnce(&mut NewOrder)) -> Reason {
    let mut world = World::new();
    let mut order = valid_bid(&mut world);
    change(&mut order);
    world.submit_refused(&order)
}

/// R-GEN-01
#[test]
fn checks_are_made_in_their_order() {
    let mut world = World::new();
    world.operate(Operator::Freeze {
        account: BOB,
        frozen: true,
    });
    // Everything is wrong; one fault after another is corrected.
    let mut order = valid_bid(&mut world);
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
fn precheck_applies_the_account_and_field_checks_only() {
    let mut world = World::new();
    world.operate(Operator::Freeze {
        account: ALICE,
        frozen: true,
    });
    let unsigned = Caller::Account {
        account: ALICE,
        signed: None,
    };
    let mut order = valid_bid(&mut world);
    let check = |world: &World, order: &NewOrder| {
        let request = Request::Submit(Box::new(order.clone()));
        world.venue.precheck(&unsigned, &request)
    };
    assert_eq!(check(&world, &order), Ok(()), "frozen is a business check");
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
fn a_key_authenticates_one_account() {
    let mut world = World::new();
    let mut order = valid_bid(&mut world);
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
    let order = valid_bid(&mut world);
    world.submit(&order);
    let cancel = Request::Cancel {
        account: ALICE,
        hash: Some(order.hash),
        client_id: None,
    };
    assert_eq!(
        world.refused(&signed(BOB), &cancel),
        Reason::InvalidAccount,
        "of another account, with a valid signature of one's own"
    );
    assert_eq!(world.refused(&Caller::Public, &cancel), Reason::EmptyApiKey);
    world.ask(&signed(ALICE), &cancel).unwrap();
}

/// R-GEN-07
#[test]
fn a_signature_of_a_replaced_key_is_wrong() {
    let mut world = World::new();
    let order = valid_bid(&mut world);
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
    let mut order = valid_bid(&mut world);
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
fn all_or_none_and_named_takers_are_refused() {
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
    let mut first = valid_bid(&mut world);
    first.client_id = Some("x".repeat(120));
    assert_eq!(world.submit(&first).client_id, "x".repeat(120));
    let mut second = valid_bid(&mut world);
    second.client_id = first.client_id.clone();
    assert_eq!(world.submit_refused(&second), Reason::OrderExists);
    world.cancel(ALICE, first.hash).unwrap();
    assert_eq!(
        world.submit_refused(&second),
        Reason::OrderExists,
        "the history still has it"
    );
    second.account = BOB;
    assert_eq!(world.submit(&second).status, OrderStatus::Processing);
    // An absent or empty id is answered with the hash, which is then in use too.
    let mut third = valid_bid(&mut world);
    third.client_id = Some(String::new());
    assert_eq!(world.submit(&third).client_id, third.hash.to_string());
    let mut fourth = valid_bid(&mut world);
    fourth.client_id = Some(third.hash.to_string());
    assert_eq!(world.submit_refused(&fourth), Reason::OrderExists);
}
