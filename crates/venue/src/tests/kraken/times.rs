//! Deadlines, expiry, cancels and the timer.

use cambist_core::{Price, Side, VenueTime};

use super::{Traders, limit, of_type};
use crate::testing::{ALICE, BOB, QUOTE, START_S};
use crate::{
    Delays, KrakenAction, KrakenError, KrakenOrderType, KrakenReply, KrakenStatus, NewKrakenOrder,
    Operator, OrderRef,
};

#[test]
fn a_deadline_and_an_expiry_hold_on_both_sides() {
    let mut traders = Traders::new();
    let now = VenueTime::from_s(START_S);
    let order = || limit(Side::Buy, 9_900, 10);
    let until = |traders: &mut Traders, at| traders.add_until(ALICE, order(), Some(at));
    assert!(until(&mut traders, now).is_ok());
    let past = VenueTime(now.0 - 1);
    assert_eq!(until(&mut traders, past), Err(KrakenError::DeadlineElapsed));
    assert!(until(&mut traders, now.plus_ms(60_000)).is_ok());
    let far = now.plus_ms(60_001);
    assert_eq!(until(&mut traders, far), Err(KrakenError::InvalidDeadline));

    let seconds = |s: u64| Some(u32::try_from(START_S + s).unwrap());
    let mut expiring = |expires_s| {
        let order = NewKrakenOrder {
            expires_s,
            ..order()
        };
        traders.add(ALICE, order)
    };
    assert_eq!(expiring(seconds(4)), Err(KrakenError::InvalidExpiry));
    assert_eq!(
        expiring(seconds(31 * 86_400 + 1)),
        Err(KrakenError::InvalidExpiry)
    );
    assert!(expiring(seconds(31 * 86_400)).is_ok());
    let number = expiring(seconds(5)).unwrap();
    traders.pass_ms(4_999);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Open);
    traders.pass_ms(1);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Expired);
}

#[test]
fn a_delayed_order_is_not_matched_behind_its_deadline() {
    let mut traders = Traders::new();
    traders.world.operate(Operator::SetDelays(Delays {
        order_ms: 3_000,
        ..Delays::default()
    }));
    let mut add = |ahead_ms| {
        let deadline = traders.world.now.plus_ms(ahead_ms);
        let number = traders.add_until(ALICE, limit(Side::Buy, 9_900, 10), Some(deadline));
        let number = number.unwrap();
        assert_eq!(traders.status(ALICE, number), KrakenStatus::Pending);
        traders.pass_ms(3_000);
        traders.status(ALICE, number)
    };
    assert_eq!(add(3_000), KrakenStatus::Open);
    assert_eq!(add(2_999), KrakenStatus::Canceled);
}

#[test]
fn orders_are_cancelled_by_number_name_and_reference() {
    let mut traders = Traders::new();
    let named = |id: &str| NewKrakenOrder {
        client_id: Some(id.to_owned()),
        ..limit(Side::Buy, 9_900, 10)
    };
    let first = traders.add(ALICE, named("one")).unwrap();
    assert_eq!(
        traders.add(ALICE, named("one")),
        Err(KrakenError::DuplicateClientId)
    );
    assert!(traders.add(BOB, named("one")).is_ok(), "another client's");
    let cancel =
        |traders: &mut Traders, order| traders.call(ALICE, KrakenAction::Cancel(vec![order]));
    let cancelled = |count| KrakenReply::Cancelled {
        count,
        pending: false,
    };
    let name = || OrderRef::ClientId("one".to_owned());
    assert_eq!(cancel(&mut traders, name()), cancelled(1));
    let unknown = KrakenReply::Refused(KrakenError::UnknownOrder);
    assert_eq!(cancel(&mut traders, name()), unknown);
    assert_eq!(cancel(&mut traders, OrderRef::Number(first)), unknown);
    // The name is free again, and the older order keeps it in its history.
    let second = traders.add(ALICE, named("one")).unwrap();
    assert_eq!(traders.view(ALICE, first).client_id.as_deref(), Some("one"));
    assert_eq!(cancel(&mut traders, OrderRef::Number(second)), cancelled(1));
    for user_ref in [7, 7, 8] {
        let order = NewKrakenOrder {
            user_ref: Some(user_ref),
            ..limit(Side::Buy, 9_900, 10)
        };
        traders.add(ALICE, order).unwrap();
    }
    assert_eq!(cancel(&mut traders, OrderRef::UserRef(7)), cancelled(2));
    assert_eq!(traders.call(ALICE, KrakenAction::CancelAll), cancelled(1));
    assert_eq!(traders.call(ALICE, KrakenAction::CancelAll), cancelled(0));
    assert_eq!(traders.world.held(ALICE, QUOTE).1, 0);
}

#[test]
fn the_timer_cancels_everything_once() {
    let mut traders = Traders::new();
    let set = |traders: &mut Traders, timeout_s| {
        traders.call(ALICE, KrakenAction::CancelAfter { timeout_s })
    };
    let refused = KrakenReply::Refused(KrakenError::InvalidTimeout);
    assert_eq!(set(&mut traders, 86_400), refused);
    let now = traders.world.now;
    let trigger = Some(now.plus_ms(60_000));
    assert_eq!(
        set(&mut traders, 60),
        KrakenReply::CancelAfter { now, trigger }
    );
    let number = traders.add(ALICE, limit(Side::Buy, 9_900, 10)).unwrap();
    let others = traders.add(BOB, limit(Side::Buy, 9_900, 10)).unwrap();
    traders.pass_ms(59_999);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Open);
    traders.pass_ms(1);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Canceled);
    assert_eq!(traders.status(BOB, others), KrakenStatus::Open);
    let number = traders.add(ALICE, limit(Side::Buy, 9_900, 10)).unwrap();
    traders.pass_ms(100_000);
    assert_eq!(
        traders.status(ALICE, number),
        KrakenStatus::Open,
        "disabled after firing"
    );
    set(&mut traders, 60);
    let now = traders.world.now;
    assert_eq!(
        set(&mut traders, 0),
        KrakenReply::CancelAfter { now, trigger: None }
    );
    traders.pass_ms(100_000);
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Open);
}

#[test]
fn an_order_states_why_it_ended() {
    let mut traders = Traders::new();
    let why = |traders: &Traders, number| traders.view(ALICE, number).reason;
    traders.add(ALICE, limit(Side::Sell, 10_000, 10)).unwrap();
    let immediate = KrakenOrderType::ImmediateOrCancel(Price(10_000));
    for order in [
        limit(Side::Buy, 10_000, 10),
        of_type(limit(Side::Buy, 0, 10), immediate),
    ] {
        let number = traders.add(ALICE, order).unwrap();
        assert_eq!(why(&traders, number), Some("Self trade"));
    }
    let below = of_type(
        limit(Side::Buy, 0, 10),
        KrakenOrderType::ImmediateOrCancel(Price(9_000)),
    );
    let number = traders.add(ALICE, below.clone()).unwrap();
    assert_eq!(why(&traders, number), Some("Insufficient liquidity"));
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    traders.call(ALICE, KrakenAction::CancelAll);
    assert_eq!(why(&traders, number), Some("User requested"));
    traders.world.operate(Operator::SetDelays(Delays {
        order_ms: 1_000,
        ..Delays::default()
    }));
    let number = traders.add(ALICE, below).unwrap();
    traders.call(ALICE, KrakenAction::CancelAll);
    assert_eq!(why(&traders, number), Some("User requested"));
}

#[test]
fn an_expiry_of_31_days_is_accepted_at_every_moment() {
    let mut traders = Traders::new();
    traders.world.now = traders.world.now.plus_ms(1);
    let expiring = |s: u64| NewKrakenOrder {
        expires_s: Some(u32::try_from(START_S + s).unwrap()),
        ..limit(Side::Buy, 9_000, 10)
    };
    let days = 31 * 86_400;
    // Rounded up, as `+2678400` is.
    assert!(traders.add(ALICE, expiring(days + 1)).is_ok());
    assert_eq!(
        traders.add(ALICE, expiring(days + 2)),
        Err(KrakenError::InvalidExpiry)
    );
}
