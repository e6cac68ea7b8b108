//! Modes of the exchange and of a market.

use cambist_core::{Price, Side};

use super::{Traders, limit, of_type};
use crate::testing::{ALICE, BOB, ONE};
use crate::{
    Delays, ExchangeMode, KrakenAction, KrakenError, KrakenOrderType, KrakenReply, KrakenStatus,
    Operator, OrderRef,
};

#[test]
fn modes_of_the_exchange_apply() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let mut add = |mode, ticks| {
        traders.world.operate(Operator::SetMode(mode));
        traders.add(ALICE, limit(Side::Buy, ticks, 10)).map(drop)
    };
    // Only post-only orders, whether they would take or not.
    for ticks in [9_000, 10_000] {
        assert_eq!(
            add(ExchangeMode::PostOnly, ticks),
            Err(KrakenError::PostOnlyMode)
        );
    }
    assert_eq!(
        add(ExchangeMode::CancelOnly, 9_000),
        Err(KrakenError::CancelOnlyMode)
    );
    assert_eq!(add(ExchangeMode::Halted, 9_000), Err(KrakenError::Halted));
    let answer = traders.call(ALICE, KrakenAction::CancelAll);
    assert_eq!(answer, KrakenReply::Refused(KrakenError::Halted));
    traders
        .world
        .operate(Operator::SetMode(ExchangeMode::PostOnly));
    let mut add = |order_type| traders.add(ALICE, of_type(limit(Side::Buy, 0, 10), order_type));
    assert!(add(KrakenOrderType::PostOnly(Price(9_000))).is_ok());
    assert_eq!(
        add(KrakenOrderType::PostOnly(Price(10_000))),
        Err(KrakenError::WouldTake)
    );
    for order_type in [
        KrakenOrderType::Market,
        KrakenOrderType::ImmediateOrCancel(Price(9_000)),
    ] {
        assert_eq!(add(order_type), Err(KrakenError::PostOnlyMode));
    }
    // The mode goes before what is in the book.
    let nothing_bid = of_type(limit(Side::Sell, 0, 10), KrakenOrderType::Market);
    traders.call(ALICE, KrakenAction::CancelAll);
    assert_eq!(
        traders.add(ALICE, nothing_bid),
        Err(KrakenError::PostOnlyMode)
    );
}

#[test]
fn a_delayed_order_that_is_not_post_only_is_not_matched_in_post_only_mode() {
    let mut traders = Traders::new();
    traders.world.operate(Operator::SetDelays(Delays {
        order_ms: 1_000,
        ..Delays::default()
    }));
    let mut ends = |order_type| {
        let order = of_type(limit(Side::Buy, 0, 10), order_type);
        let number = traders.add(ALICE, order).unwrap();
        traders
            .world
            .operate(Operator::SetMode(ExchangeMode::PostOnly));
        traders.pass_ms(1_000);
        traders.world.operate(Operator::SetMode(ExchangeMode::Open));
        traders.status(ALICE, number)
    };
    let price = Price(9_000);
    assert_eq!(ends(KrakenOrderType::PostOnly(price)), KrakenStatus::Open);
    assert_eq!(ends(KrakenOrderType::Limit(price)), KrakenStatus::Canceled);
}

#[test]
fn a_closed_market_takes_cancels_only() {
    let mut traders = Traders::new();
    let number = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    let enable = |enabled| Operator::EnableMarket {
        market: "AAA-QQQ".to_owned(),
        enabled,
    };
    traders.world.operate(enable(false));
    let refused = Err(KrakenError::CancelOnlyMode);
    assert_eq!(traders.add(ALICE, limit(Side::Buy, 9_000, 10)), refused);
    assert_eq!(
        traders.amend(number, None, Some(9_010)),
        Err(KrakenError::CancelOnlyMode)
    );
    let action = KrakenAction::Cancel(vec![OrderRef::Number(number)]);
    assert!(matches!(
        traders.call(ALICE, action),
        KrakenReply::Cancelled { count: 1, .. }
    ));
}
