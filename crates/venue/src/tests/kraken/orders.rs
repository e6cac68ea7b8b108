//! Orders: checks, matching and the ledger.

use cambist_core::{Price, Side};

use super::{Traders, limit, of_type};
use crate::testing::{ALICE, BASE, BOB, ONE, QUOTE, UNIT};
use crate::{
    KrakenAction, KrakenError, KrakenOrderType, KrakenStatus, LedgerCause, NewKrakenOrder, Operator,
};

#[test]
fn an_order_trades_with_the_first_interface_and_is_booked_to_the_unit() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let number = traders.add(ALICE, limit(Side::Buy, 10_050, 20)).unwrap();
    let view = traders.view(ALICE, number);
    assert_eq!((view.base_filled, view.status), (ONE, KrakenStatus::Open));
    // 10 ten-thousandths of 100 quote, on top.
    assert_eq!((view.quote_filled, view.fee), (100 * UNIT, UNIT / 10));
    let trade = traders
        .world
        .venue
        .kraken_trades(ALICE)
        .next()
        .unwrap()
        .clone();
    assert_eq!((trade.order, trade.is_maker), (number, false));
    assert_eq!(
        (trade.base, trade.quote, trade.fee),
        (ONE, 100 * UNIT, UNIT / 10)
    );
    let entries: Vec<_> = traders.world.venue.kraken_ledger(ALICE).take(2).collect();
    assert_eq!(entries[0].cause, LedgerCause::Trade(trade.number));
    assert_eq!((entries[0].token, entries[0].is_debit), (QUOTE, true));
    assert_eq!((entries[0].amount, entries[0].fee), (100 * UNIT, UNIT / 10));
    assert_eq!(
        (entries[1].token, entries[1].amount, entries[1].fee),
        (BASE, ONE, 0)
    );
    // The rest is on the book; what it holds is 201 less 100, and the fee on 201 less 0.1.
    assert_eq!(traders.world.held(ALICE, QUOTE).1, 101_000_000 + 101_000);
    assert_eq!(traders.world.depth(0, None).bids[0].size, ONE);
    // The other side was resting, and its statement begins with its first request.
    assert_eq!(traders.world.venue.kraken_ledger(BOB).count(), 0);
    traders.call(BOB, KrakenAction::Read);
    assert_eq!(
        traders.world.venue.kraken_ledger(BOB).count(),
        3,
        "an entry for each token"
    );
    traders.add(BOB, limit(Side::Sell, 10_050, 10)).unwrap();
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Closed);
    let kept: Vec<_> = traders.world.venue.kraken_trades(ALICE).collect();
    assert!(kept[0].is_maker && kept[0].order == number);
}

#[test]
fn flows_are_booked_before_what_follows_them() {
    let mut traders = Traders::new();
    traders.call(ALICE, KrakenAction::Read);
    traders.world.operate(Operator::Deposit {
        account: ALICE,
        token: QUOTE,
        amount: 7,
    });
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    traders.add(ALICE, limit(Side::Buy, 10_000, 10)).unwrap();
    traders.world.operate(Operator::Withdraw {
        account: ALICE,
        token: QUOTE,
        amount: 3,
    });
    traders.call(ALICE, KrakenAction::Read);
    let entries = traders.world.venue.kraken_ledger(ALICE);
    let causes: Vec<_> = entries.filter(|entry| entry.token == QUOTE).collect();
    assert_eq!(causes[0].cause, LedgerCause::Withdrawal);
    assert_eq!(causes[0].amount, 3);
    assert!(matches!(causes[1].cause, LedgerCause::Trade(_)));
    assert_eq!(
        (causes[2].cause, causes[2].amount),
        (LedgerCause::Deposit, 7)
    );
}

#[test]
fn checks_of_an_order() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let buy = || limit(Side::Buy, 9_900, 10);
    let mut refused = |order| traders.add(ALICE, order).unwrap_err();
    let volume = |volume| NewKrakenOrder { volume, ..buy() };
    assert_eq!(
        refused(volume(ONE / 1_000 - 1)),
        KrakenError::BelowOrderMinimum
    );
    assert_eq!(refused(volume(ONE / 1_000)), KrakenError::BelowCostMinimum);
    assert_eq!(refused(volume(1_001 * ONE)), KrakenError::InvalidVolume);
    assert_eq!(
        refused(volume(ONE + 1)),
        KrakenError::InvalidVolume,
        "no whole lot"
    );
    assert_eq!(
        refused(of_type(buy(), KrakenOrderType::PostOnly(Price(10_000)))),
        KrakenError::WouldTake
    );
    assert_eq!(
        refused(of_type(buy(), KrakenOrderType::Limit(Price(0)))),
        KrakenError::InvalidPrice
    );
    let market = of_type(limit(Side::Sell, 0, 10), KrakenOrderType::Market);
    assert_eq!(refused(market), KrakenError::NoLiquidity, "no bid");
    let unknown = NewKrakenOrder {
        market: cambist_core::MarketId(9),
        ..buy()
    };
    assert_eq!(refused(unknown), KrakenError::UnknownPair);
    // 1,000,000 quote are held; 9,991 base at 100 cost 999,100 and a fee of 999.1.
    let rich = |tenths| limit(Side::Buy, 10_000_000, tenths);
    assert_eq!(refused(rich(100)), KrakenError::InsufficientFunds);
    traders.add(ALICE, buy()).unwrap();
    traders.world.operate(Operator::Freeze {
        account: ALICE,
        frozen: true,
    });
    assert_eq!(traders.add(ALICE, buy()), Err(KrakenError::Frozen));
}

/// Its funds are held at that price, so a worse one would refuse what can be paid.
#[test]
fn the_limit_of_a_market_order_is_the_worst_price_that_its_volume_needs() {
    for (tenths, ticks) in [(10, 10_000), (15, 10_100), (20, 10_100), (25, 10_200)] {
        let mut traders = Traders::new();
        for ticks in [10_000, 10_100, 10_200, 10_300] {
            traders.world.place(BOB, Side::Sell, ticks, ONE);
        }
        let market = of_type(limit(Side::Buy, 0, tenths), KrakenOrderType::Market);
        let number = traders.add(ALICE, market).unwrap();
        let view = traders.view(ALICE, number);
        assert_eq!(
            (view.price, view.status),
            (Price(ticks), KrakenStatus::Closed)
        );
    }
}

#[test]
fn market_and_immediate_orders_take_and_end() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    traders.world.place(BOB, Side::Sell, 10_100, ONE);
    let market = of_type(limit(Side::Buy, 0, 15), KrakenOrderType::Market);
    let number = traders.add(ALICE, market.clone()).unwrap();
    let view = traders.view(ALICE, number);
    assert_eq!(
        (view.status, view.base_filled),
        (KrakenStatus::Closed, 15 * ONE / 10)
    );
    assert_eq!(view.quote_filled, 150_500_000);
    assert!(view.is_market_order);
    // More than there is: the rest ends.
    let number = traders.add(ALICE, market).unwrap();
    let view = traders.view(ALICE, number);
    assert_eq!(
        (view.status, view.base_filled),
        (KrakenStatus::Canceled, ONE / 2)
    );
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let immediate = KrakenOrderType::ImmediateOrCancel(Price(9_999));
    let number = traders
        .add(ALICE, of_type(limit(Side::Buy, 0, 10), immediate))
        .unwrap();
    assert_eq!(traders.status(ALICE, number), KrakenStatus::Canceled);
    assert_eq!(traders.view(ALICE, number).base_filled, 0);
}
