//! Amends: the number and what was filled stay, and what is refused changes nothing.

use cambist_core::{Amount, Price, Side};

use super::{Traders, limit, of_type, posted};
use crate::kraken::kraken_hash;
use crate::testing::{ALICE, BASE, BOB, CAROL, MARKET, ONE, config};
use crate::{
    AccountId, Delays, ExchangeMode, KrakenAction, KrakenAmend, KrakenError, KrakenOrderType,
    KrakenReply, KrakenStatus, NewKrakenOrder, Operator, OrderRef,
};

#[test]
fn an_amend_keeps_the_number_and_what_was_filled() {
    let mut traders = Traders::new();
    let first = traders.add(ALICE, limit(Side::Sell, 10_000, 20)).unwrap();
    let queued = traders.add(BOB, limit(Side::Sell, 10_000, 10)).unwrap();
    // A smaller volume keeps the place in the queue.
    let amended = traders.amend(first, Some(15 * ONE / 10), None).unwrap();
    assert_eq!(traders.world.held(ALICE, BASE).1, 15 * ONE / 10);
    let taker = AccountId(12);
    traders.add(taker, limit(Side::Buy, 10_000, 10)).unwrap();
    assert_eq!(traders.view(ALICE, first).base_filled, ONE);
    assert_eq!(traders.view(BOB, queued).base_filled, 0);
    assert_eq!(
        traders.amend(first, None, None),
        Err(KrakenError::InvalidAmend)
    );
    // A new price makes it another order of the book under the same number.
    let again = traders.amend(first, Some(30 * ONE / 10), Some(10_020));
    assert_eq!(again, Ok(amended + 1), "amends have numbers of their own");
    let view = traders.view(ALICE, first);
    assert_eq!(
        (view.price, view.volume, view.base_filled),
        (Price(10_020), 3 * ONE, ONE)
    );
    assert_eq!(view.status, KrakenStatus::Open);
    assert_eq!(traders.world.held(ALICE, BASE).1, 2 * ONE);
    let shown: Vec<_> = traders.world.venue.kraken_orders(ALICE).collect();
    assert_eq!(shown.len(), 1, "the continued one is not shown");
    // The book has another order, which knows what it continues.
    let sequences = &traders.world.venue.account(ALICE).unwrap().orders;
    let [sequence] = sequences.keys().copied().collect::<Vec<_>>()[..] else {
        panic!("one order is kept");
    };
    let continues = |number| {
        let hash = kraken_hash(ALICE, number);
        traders.world.venue.continues(ALICE, hash)
    };
    let (began, traded) = continues(sequence).unwrap();
    assert_eq!((began, traded[0]), (kraken_hash(ALICE, first), ONE));
    assert!(traded[1] > 0 && sequence != first);
    assert_eq!(continues(first), None);
    traders.add(taker, limit(Side::Buy, 10_020, 20)).unwrap();
    assert_eq!(traders.view(ALICE, first).base_filled, 2 * ONE);
    let trades: Vec<_> = traders.world.venue.kraken_trades(ALICE).collect();
    assert!(trades.len() == 2 && trades.iter().all(|trade| trade.order == first));
    let fees: Amount = trades.iter().map(|trade| trade.fee).sum();
    assert_eq!(traders.view(ALICE, first).fee, fees);
    let quote: Amount = trades.iter().map(|trade| trade.quote).sum();
    assert_eq!(traders.view(ALICE, first).quote_filled, quote);
    // Amended again, then cancelled by its number.
    traders.amend(first, None, Some(10_030)).unwrap();
    let action = KrakenAction::Cancel(vec![OrderRef::Number(first)]);
    assert!(matches!(
        traders.call(ALICE, action),
        KrakenReply::Cancelled { count: 1, .. }
    ));
    assert_eq!(traders.status(ALICE, first), KrakenStatus::Canceled);
    assert_eq!(
        traders.amend(first, None, Some(10_040)),
        Err(KrakenError::UnknownOrder)
    );
}

#[test]
fn amends_are_numbered_from_one_and_refused_ones_have_no_number() {
    let mut traders = Traders::new();
    let order = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    assert_eq!(traders.amend(order, None, Some(9_010)), Ok(1));
    assert_eq!(traders.amend(order, Some(ONE / 2), None), Ok(2));
    let nothing = traders.amend(order, None, None);
    assert_eq!(nothing, Err(KrakenError::InvalidAmend));
    assert_eq!(traders.amend(order, None, Some(9_020)), Ok(3));
}

#[test]
fn an_amend_is_accepted_at_the_limit_of_open_orders() {
    let mut traders = Traders::new();
    let most = config().limits.open_orders_max;
    let numbers: Vec<_> = (0..most)
        .map(|_| traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap())
        .collect();
    assert_eq!(
        traders.add(ALICE, limit(Side::Buy, 9_000, 10)),
        Err(KrakenError::TooManyOrders)
    );
    traders.amend(numbers[0], None, Some(9_010)).unwrap();
    traders.amend(numbers[0], Some(2 * ONE), None).unwrap();
    assert_eq!(
        traders.add(ALICE, limit(Side::Buy, 9_000, 10)),
        Err(KrakenError::TooManyOrders)
    );
}

#[test]
fn an_amend_to_what_is_filled_already_cancels_the_rest() {
    for volume in [0, ONE / 2, ONE] {
        let mut traders = Traders::new();
        let number = traders.add(ALICE, limit(Side::Sell, 10_000, 20)).unwrap();
        // Of what is not filled nothing would be left.
        assert_eq!(
            traders.amend(number, Some(0), None),
            Err(KrakenError::InvalidQuantity)
        );
        traders.add(BOB, limit(Side::Buy, 10_000, 10)).unwrap();
        traders.amend(number, Some(volume), Some(10_100)).unwrap();
        let view = traders.view(ALICE, number);
        assert_eq!(
            (view.status, view.reason),
            (KrakenStatus::Canceled, Some("User requested"))
        );
        assert_eq!((view.volume, view.base_filled), (2 * ONE, ONE));
        assert_eq!(traders.world.held(ALICE, BASE).1, 0);
    }
    // With a delay of cancels it ends like a cancel.
    let mut traders = Traders::new();
    traders.world.operate(Operator::SetDelays(Delays {
        cancel_ms: 1_000,
        ..Delays::default()
    }));
    let number = traders.add(ALICE, limit(Side::Sell, 10_000, 20)).unwrap();
    traders.add(BOB, limit(Side::Buy, 10_000, 10)).unwrap();
    traders.amend(number, Some(ONE), None).unwrap();
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Open);
    traders.pass_ms(1_000);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Canceled);
}

#[test]
fn a_wrong_volume_of_an_amend_is_named_as_its_parameter() {
    let mut traders = Traders::new();
    let number = traders.add(ALICE, limit(Side::Buy, 10_000, 10)).unwrap();
    for volume in [1_001 * ONE, ONE + 1, ONE - 1] {
        assert_eq!(
            traders.amend(number, Some(volume), None),
            Err(KrakenError::InvalidQuantity),
            "{volume}"
        );
    }
    assert_eq!(
        traders.amend(number, Some(ONE / 1_000 - 1), None),
        Err(KrakenError::InvalidQuantity),
        "no whole lot either"
    );
    assert_eq!(
        traders.amend(number, Some(ONE / 1_000), None),
        Err(KrakenError::BelowCostMinimum)
    );
}

/// Orders of others may be for less than a lot. What an amend states has to be whole lots, what is left has not.
#[test]
fn an_order_that_was_filled_by_less_than_a_lot_is_amended_like_any_other() {
    const LOT: Amount = ONE / 10_000;
    let part = ONE / 3;
    for (side, [moved, taken]) in [(Side::Buy, [9_999, 9_998]), (Side::Sell, [10_001, 10_002])] {
        let filled = || {
            let mut traders = Traders::new();
            let number = traders.add(ALICE, limit(side, 10_000, 20)).unwrap();
            traders.world.place(BOB, side.opposite(), 10_000, part);
            assert_eq!(traders.view(ALICE, number).base_filled, part);
            (traders, number)
        };
        for (volume, price, shown) in [
            (None, Some(moved), 2 * ONE),
            (None, Some(10_000), 2 * ONE),
            (Some(2 * ONE), Some(moved), 2 * ONE),
            (Some(3 * ONE), None, 3 * ONE),
            (Some(ONE), Some(moved), ONE),
            (Some(ONE + LOT), None, ONE + LOT),
        ] {
            let (mut traders, number) = filled();
            traders.amend(number, volume, price).unwrap();
            let view = traders.view(ALICE, number);
            assert_eq!((view.volume, view.base_filled), (shown, part), "{side:?}");
            // Less at the same price, and moved again.
            traders.amend(number, Some(shown - LOT), None).unwrap();
            traders.amend(number, None, Some(moved)).unwrap();
            traders.world.place(BOB, side.opposite(), taken, part);
            let left = limit(side.opposite(), taken, 30);
            traders.add(BOB, left).unwrap();
            let view = traders.view(ALICE, number);
            assert_eq!(
                (view.status, view.base_filled),
                (KrakenStatus::Closed, shown - LOT),
                "{side:?} {volume:?} {price:?}"
            );
        }
        for (volume, price) in [(ONE + 1, None), (ONE + 1, Some(moved)), (part + LOT, None)] {
            let (mut traders, number) = filled();
            let amended = traders.amend(number, Some(volume), price);
            assert_eq!(amended, Err(KrakenError::InvalidQuantity), "{volume}");
        }
        // Inputs of data folders of before are answered as they were.
        let (mut traders, number) = filled();
        let amend = KrakenAmend {
            order: OrderRef::Number(number),
            volume: None,
            price: Some(Price(moved)),
            post_only: false,
            deadline: None,
            left_in_lots: true,
        };
        let answer = traders.call(ALICE, KrakenAction::Amend(Box::new(amend)));
        let refused = KrakenReply::Refused(KrakenError::InvalidQuantity);
        assert_eq!(answer, refused);
    }
}

#[test]
fn an_amend_that_would_be_matched_too_late_changes_nothing() {
    let mut traders = Traders::new();
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    traders.world.operate(Operator::SetDelays(Delays {
        order_ms: 3_000,
        ..Delays::default()
    }));
    let mut until = |ahead_ms, volume, price| {
        let amend = KrakenAmend {
            order: OrderRef::Number(number),
            volume,
            price,
            post_only: false,
            deadline: Some(traders.world.now.plus_ms(ahead_ms)),
            left_in_lots: false,
        };
        let answer = traders.call(ALICE, KrakenAction::Amend(Box::new(amend)));
        (answer, traders.view(ALICE, number))
    };
    let (answer, view) = until(2_999, None, Some(Price(9_100)));
    let elapsed = KrakenReply::Refused(KrakenError::DeadlineElapsed);
    assert_eq!(answer, elapsed);
    assert_eq!(
        (view.status, view.price),
        (KrakenStatus::Open, Price(9_000))
    );
    // What keeps its place is not delayed.
    let (answer, view) = until(0, Some(ONE / 2), None);
    assert!(matches!(answer, KrakenReply::Amended(_)));
    assert_eq!(view.volume, ONE / 2);
    let (answer, view) = until(3_000, None, Some(Price(9_100)));
    assert!(matches!(answer, KrakenReply::Amended(_)));
    assert_eq!(view.status, KrakenStatus::Pending);
    traders.pass_ms(3_000);
    let view = traders.view(ALICE, number);
    assert_eq!(
        (view.status, view.price),
        (KrakenStatus::Open, Price(9_100))
    );
}

#[test]
fn amends_follow_the_mode_and_the_account() {
    let mut traders = Traders::new();
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 100)).unwrap();
    let mut volume = 10 * ONE;
    // Whether a smaller volume and a new price are accepted.
    let mut both = |traders: &mut Traders| {
        let smaller = traders.amend(number, Some(volume - ONE / 10), None);
        if smaller.is_ok() {
            volume -= ONE / 10;
        }
        [smaller, traders.amend(number, None, Some(9_000 - 1))].map(|amended| amended.map(drop))
    };
    for (mode, answers) in [
        (ExchangeMode::Halted, [Err(KrakenError::Halted); 2]),
        (
            ExchangeMode::CancelOnly,
            [Ok(()), Err(KrakenError::CancelOnlyMode)],
        ),
        (
            ExchangeMode::PostOnly,
            [Ok(()), Err(KrakenError::PostOnlyMode)],
        ),
    ] {
        traders.world.operate(Operator::SetMode(mode));
        assert_eq!(both(&mut traders), answers, "{mode:?}");
    }
    // An amend that is only to be posted is accepted where post-only orders are.
    assert_eq!(posted(&mut traders, number, 8_990), Ok(()));
    traders.world.operate(Operator::SetMode(ExchangeMode::Open));
    let freeze = |frozen| Operator::Freeze {
        account: ALICE,
        frozen,
    };
    traders.world.operate(freeze(true));
    assert_eq!(both(&mut traders), [Err(KrakenError::Frozen); 2]);
    traders.world.operate(freeze(false));
    assert_eq!(both(&mut traders), [Ok(()); 2]);
}

#[test]
fn post_only_is_of_one_amend() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    assert_eq!(
        posted(&mut traders, number, 10_000),
        Err(KrakenError::WouldTake)
    );
    assert_eq!(posted(&mut traders, number, 9_990), Ok(()));
    traders.amend(number, None, Some(10_000)).unwrap();
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Closed);
    // A post-only order stays one.
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let order = of_type(
        limit(Side::Buy, 0, 10),
        KrakenOrderType::PostOnly(Price(9_000)),
    );
    let number = traders.add(ALICE, order).unwrap();
    assert_eq!(
        traders.amend(number, None, Some(10_000)),
        Err(KrakenError::WouldTake)
    );
    // Behind a delay it is of the matching.
    traders.world.operate(Operator::SetDelays(Delays {
        order_ms: 1_000,
        ..Delays::default()
    }));
    traders.call(ALICE, KrakenAction::CancelAll);
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    traders.pass_ms(1_000);
    traders.world.place(CAROL, Side::Sell, 9_400, ONE);
    traders.pass_ms(500);
    assert_eq!(posted(&mut traders, number, 9_500), Ok(()));
    traders.pass_ms(1_000);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Canceled);
    assert_eq!(traders.view(ALICE, number).base_filled, 0);
}

#[test]
fn amended_orders_take_no_place_in_the_history_and_keep_theirs_in_lists() {
    let mut traders = Traders::new();
    let most = config().limits.history_orders_max;
    let ended: Vec<_> = (0..most)
        .map(|_| {
            let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
            traders.call(ALICE, KrakenAction::CancelAll);
            number
        })
        .collect();
    let [older, newer] =
        [(), ()].map(|()| traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap());
    let opened = traders.view(ALICE, older).opened;
    for ticks in 9_001..9_100 {
        traders.pass_ms(1_000);
        traders.amend(older, None, Some(ticks)).unwrap();
    }
    for number in &ended {
        assert_eq!(traders.status(ALICE, *number), KrakenStatus::Canceled);
    }
    let shown: Vec<_> = traders.world.venue.kraken_orders(ALICE).collect();
    assert_eq!(
        [shown[0].number, shown[1].number, shown.len() as u64],
        [newer, older, u64::from(most) + 2]
    );
    assert_eq!([shown[0].is_amended, shown[1].is_amended], [false, true]);
    // It is as old as when it was accepted.
    assert_eq!(shown[1].opened, opened);
    let since = traders.world.venue.kraken_all_open_since(ALICE);
    assert_eq!(since, [(MARKET, opened); 2]);
    let since = traders
        .world
        .venue
        .kraken_open_since(ALICE, &OrderRef::Number(older));
    assert_eq!(since, [(MARKET, opened)]);
    // A smaller volume is an amend too.
    traders.amend(newer, Some(ONE / 2), None).unwrap();
    assert!(traders.view(ALICE, newer).is_amended);
}

#[test]
fn an_amended_order_is_still_named_by_its_client() {
    let mut traders = Traders::new();
    let order = NewKrakenOrder {
        client_id: Some("one".to_owned()),
        ..limit(Side::Buy, 9_000, 10)
    };
    let number = traders.add(ALICE, order.clone()).unwrap();
    for ticks in [9_010, 9_020] {
        traders.amend(number, None, Some(ticks)).unwrap();
    }
    assert_eq!(
        traders.add(ALICE, order),
        Err(KrakenError::DuplicateClientId)
    );
    let named = KrakenAction::Cancel(vec![OrderRef::ClientId("one".to_owned())]);
    assert!(matches!(
        traders.call(ALICE, named),
        KrakenReply::Cancelled { count: 1, .. }
    ));
    let view = traders.view(ALICE, number);
    assert_eq!(view.client_id.as_deref(), Some("one"));
    assert_eq!(view.status, KrakenStatus::Canceled);
}
