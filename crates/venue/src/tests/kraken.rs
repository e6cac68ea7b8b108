//! Rules of `docs/kraken.md`: nonces, deadlines, expiry, amends, the timer, ledger entries.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Price, Side, VenueTime};

use crate::testing::{
    ALICE, BASE, BOB, CAROL, MARKET, ONE, QUOTE, START_S, UNIT, World, api_key, config, signed,
};
use crate::{
    AccountId, Caller, Delays, ExchangeMode, KrakenAction, KrakenAmend, KrakenCall, KrakenError,
    KrakenOrderType, KrakenOrderView, KrakenReply, KrakenRules, KrakenStatus, LedgerCause,
    NewKrakenOrder, Operator, OrderRef, Random, Request, Response,
};

/// Requests of Kraken's interface, with rising nonces.
struct Traders {
    world: World,
    nonce: u64,
}

impl Traders {
    fn new() -> Self {
        Self {
            world: World::new(),
            nonce: 0,
        }
    }

    fn call(&mut self, account: AccountId, action: KrakenAction) -> KrakenReply {
        self.nonce += 1;
        self.with_nonce(account, self.nonce, 0, action)
    }

    fn with_nonce(
        &mut self,
        account: AccountId,
        nonce: u64,
        nonce_window: u64,
        action: KrakenAction,
    ) -> KrakenReply {
        let call = KrakenCall {
            account,
            key: api_key(&format!("kraken {}", account.0)),
            nonce,
            nonce_window,
            action,
        };
        let caller = Caller::Account {
            account,
            signed: None,
        };
        let answer = self.world.ask(&caller, &Request::Kraken(Box::new(call)));
        self.check_ledgers();
        match answer {
            Ok(Response::Kraken(reply)) => *reply,
            other => panic!("{other:?}"),
        }
    }

    /// Entries of every account add up to what it holds, and every balance follows from the one before.
    fn check_ledgers(&self) {
        for account in [ALICE, BOB] {
            for token in [BASE, QUOTE] {
                let mut entries: Vec<_> = self.world.venue.kraken_ledger(account).collect();
                entries.retain(|entry| entry.token == token);
                entries.reverse();
                let mut balance = 0;
                for entry in &entries {
                    balance = if entry.is_debit {
                        balance - entry.amount - entry.fee
                    } else {
                        balance + entry.amount - entry.fee
                    };
                    assert_eq!(balance, entry.balance, "{entry:?}");
                }
                let held = self.world.held(account, token).0;
                assert!(entries.is_empty() || balance == held, "{balance} of {held}");
            }
        }
    }

    fn add(&mut self, account: AccountId, order: NewKrakenOrder) -> Result<u64, KrakenError> {
        self.add_until(account, order, None)
    }

    fn add_until(
        &mut self,
        account: AccountId,
        order: NewKrakenOrder,
        deadline: Option<VenueTime>,
    ) -> Result<u64, KrakenError> {
        let action = KrakenAction::Add {
            orders: vec![order],
            deadline,
            validate: false,
        };
        match self.call(account, action) {
            KrakenReply::Added(added) => match &added[..] {
                [Ok(added)] => Ok(added.number.unwrap()),
                [Err(error)] => Err(*error),
                other => panic!("{other:?}"),
            },
            KrakenReply::Refused(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    fn amend(
        &mut self,
        order: u64,
        volume: Option<Amount>,
        price: Option<u64>,
    ) -> Result<u64, KrakenError> {
        let action = KrakenAction::Amend(Box::new(KrakenAmend {
            order: OrderRef::Number(order),
            volume,
            price: price.map(Price),
            post_only: false,
            deadline: None,
        }));
        match self.call(ALICE, action) {
            KrakenReply::Amended(number) => Ok(number),
            KrakenReply::Refused(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }

    fn view(&self, account: AccountId, number: u64) -> KrakenOrderView {
        self.world.venue.kraken_order(account, number).unwrap()
    }

    fn status(&self, account: AccountId, number: u64) -> KrakenStatus {
        self.view(account, number).status
    }

    fn pass_ms(&mut self, ms: u64) {
        self.world.now = self.world.now.plus_ms(ms);
        self.world.venue.advance(self.world.now);
    }
}

/// A limit order; prices in cents, volume in tenths of a base token.
fn limit(side: Side, ticks: u64, tenths: u128) -> NewKrakenOrder {
    NewKrakenOrder {
        market: MARKET,
        side,
        order_type: KrakenOrderType::Limit(Price(ticks)),
        volume: tenths * ONE / 10,
        expires_s: None,
        fee_in: FeeToken::Quote,
        client_id: None,
        user_ref: None,
    }
}

fn of_type(order: NewKrakenOrder, order_type: KrakenOrderType) -> NewKrakenOrder {
    NewKrakenOrder {
        order_type,
        ..order
    }
}

#[test]
fn a_nonce_is_accepted_once_and_only_above_the_highest() {
    let mut traders = Traders::new();
    let read = |traders: &mut Traders, nonce, window| {
        traders.with_nonce(ALICE, nonce, window, KrakenAction::Read)
    };
    let invalid = KrakenReply::Refused(KrakenError::InvalidNonce);
    assert_eq!(read(&mut traders, 5, 0), KrakenReply::Read);
    assert_eq!(read(&mut traders, 5, 0), invalid);
    assert_eq!(read(&mut traders, 4, 0), invalid);
    assert_eq!(read(&mut traders, 6, 0), KrakenReply::Read);
    // A window accepts what is behind by less, and a nonce again.
    assert_eq!(read(&mut traders, 6, 1), KrakenReply::Read);
    assert_eq!(read(&mut traders, 4, 2), invalid);
    assert_eq!(read(&mut traders, 4, 3), KrakenReply::Read);
    assert_eq!(read(&mut traders, 6, 0), invalid, "the highest stays");
    // A refused order has used its nonce.
    let action = || KrakenAction::Add {
        orders: vec![limit(Side::Buy, 10_000, 0)],
        deadline: None,
        validate: false,
    };
    let answer = traders.with_nonce(ALICE, 7, 0, action());
    assert_eq!(answer, KrakenReply::Refused(KrakenError::BelowOrderMinimum));
    assert_eq!(traders.with_nonce(ALICE, 7, 0, action()), invalid);
    // Every key has its own.
    assert_eq!(
        traders.with_nonce(BOB, 1, 0, KrakenAction::Read),
        KrakenReply::Read
    );
}

#[test]
fn only_the_holder_of_the_account_is_answered() {
    let mut traders = Traders::new();
    let call = KrakenCall {
        account: ALICE,
        key: api_key("k"),
        nonce: 1,
        nonce_window: 0,
        action: KrakenAction::Read,
    };
    let request = Request::Kraken(Box::new(call));
    traders.world.refused(&Caller::Public, &request);
    traders.world.refused(&signed(BOB), &request);
}

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

/// Amends the price with `post_only`.
fn posted(traders: &mut Traders, number: u64, ticks: u64) -> Result<(), KrakenError> {
    let amend = KrakenAmend {
        order: OrderRef::Number(number),
        volume: None,
        price: Some(Price(ticks)),
        post_only: true,
        deadline: None,
    };
    match traders.call(ALICE, KrakenAction::Amend(Box::new(amend))) {
        KrakenReply::Amended(_) => Ok(()),
        KrakenReply::Refused(error) => Err(error),
        other => panic!("{other:?}"),
    }
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

fn batch(
    traders: &mut Traders,
    orders: Vec<NewKrakenOrder>,
    validate: bool,
) -> Result<Vec<Result<(), KrakenError>>, KrakenError> {
    let action = KrakenAction::Add {
        orders,
        deadline: None,
        validate,
    };
    match traders.call(ALICE, action) {
        KrakenReply::Added(added) => {
            let each = added.into_iter().map(|order| order.map(drop));
            Ok(each.collect())
        }
        KrakenReply::Refused(error) => Err(error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_is_checked_as_a_whole() {
    let named = |name: &str, order| NewKrakenOrder {
        client_id: Some(name.to_owned()),
        ..order
    };
    let good = || limit(Side::Buy, 9_000, 10);
    for validate in [false, true] {
        let mut traders = Traders::new();
        let (offer, _) = traders.world.place(BOB, Side::Sell, 10_000, ONE);
        // What is wrong with one order refuses all, also behind one that is refused alone.
        for (wrong, error) in [
            (
                NewKrakenOrder {
                    volume: ONE / 1_000,
                    ..good()
                },
                KrakenError::BelowCostMinimum,
            ),
            (limit(Side::Buy, 0, 10), KrakenError::InvalidPrice),
            (named("a", good()), KrakenError::DuplicateClientId),
        ] {
            let poor = NewKrakenOrder {
                volume: 100 * ONE,
                ..limit(Side::Buy, 1_000_000, 0)
            };
            let orders = vec![named("a", good()), poor, wrong];
            assert_eq!(batch(&mut traders, orders, validate), Err(error));
        }
        assert_eq!(traders.world.held(ALICE, QUOTE).1, 0);
        // What depends on the book or the funds refuses that order.
        let taking = of_type(good(), KrakenOrderType::PostOnly(Price(10_000)));
        let nothing_bid = of_type(limit(Side::Sell, 0, 10), KrakenOrderType::Market);
        assert_eq!(
            batch(&mut traders, vec![taking, nothing_bid], validate),
            Ok(vec![
                Err(KrakenError::WouldTake),
                Err(KrakenError::NoLiquidity)
            ])
        );
        // 1,000,000 of quote: the second of two orders of 600,000 has not enough; the third has, and would take the
        // first.
        let large = |ticks| NewKrakenOrder {
            volume: 60 * ONE,
            ..limit(Side::Buy, ticks, 0)
        };
        let against = of_type(
            limit(Side::Sell, 0, 10),
            KrakenOrderType::PostOnly(Price(9_000)),
        );
        traders.world.cancel(BOB, offer).unwrap();
        let orders = vec![large(1_000_000), large(1_000_000), against];
        assert_eq!(
            batch(&mut traders, orders, validate),
            Ok(vec![
                Ok(()),
                Err(KrakenError::InsufficientFunds),
                Err(KrakenError::WouldTake)
            ]),
            "{validate}"
        );
    }
}

#[test]
fn a_checked_batch_counts_its_own_orders() {
    let mut traders = Traders::new();
    let most = config().limits.open_orders_max;
    for _ in 1..most {
        traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    }
    let orders = || vec![limit(Side::Buy, 9_000, 10); 2];
    let answers = Ok(vec![Ok(()), Err(KrakenError::TooManyOrders)]);
    assert_eq!(batch(&mut traders, orders(), true), answers);
    assert_eq!(batch(&mut traders, orders(), false), answers);
}

/// Inputs of a log of before are executed by the rules of before.
#[test]
fn the_first_rules_are_what_they_were() {
    let mut traders = Traders::new();
    traders.world.venue.set_kraken_rules(KrakenRules::First);
    // A batch is refused order by order.
    let small = NewKrakenOrder {
        volume: ONE / 1_000,
        ..limit(Side::Buy, 9_000, 10)
    };
    let orders = vec![limit(Side::Buy, 9_000, 20), small];
    assert_eq!(
        batch(&mut traders, orders, false),
        Ok(vec![Ok(()), Err(KrakenError::BelowCostMinimum)])
    );
    let number = traders
        .world
        .venue
        .kraken_orders(ALICE)
        .next()
        .unwrap()
        .number;
    // Checks of a batch do not see each other.
    let large = NewKrakenOrder {
        volume: 60 * ONE,
        ..limit(Side::Buy, 1_000_000, 0)
    };
    assert_eq!(
        batch(&mut traders, vec![large; 2], true),
        Ok(vec![Ok(()), Ok(())])
    );
    // Orders that would not take are accepted in post-only mode, smaller volumes in every mode.
    traders
        .world
        .operate(Operator::SetMode(ExchangeMode::PostOnly));
    let other = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    traders
        .world
        .operate(Operator::SetMode(ExchangeMode::Halted));
    traders.amend(number, Some(ONE), None).unwrap();
    traders.world.operate(Operator::SetMode(ExchangeMode::Open));
    // The `post_only` of an amend stays, and the order before it takes a place in the history.
    posted(&mut traders, number, 9_100).unwrap();
    traders.world.place(BOB, Side::Sell, 9_200, ONE);
    assert_eq!(
        traders.amend(number, None, Some(9_200)),
        Err(KrakenError::WouldTake)
    );
    for ticks in 9_001..9_031 {
        traders.amend(other, None, Some(ticks)).unwrap();
    }
    assert!(traders.world.venue.kraken_order(ALICE, number).is_some());
    let first: Vec<_> = traders
        .world
        .venue
        .account(ALICE)
        .unwrap()
        .orders
        .keys()
        .collect();
    assert_eq!(first.len(), 30 + 2, "30 of them hidden");
    // A volume that is filled already is refused.
    traders.add(BOB, limit(Side::Sell, 9_100, 5)).unwrap();
    assert_eq!(
        traders.amend(number, Some(ONE / 2), None),
        Err(KrakenError::InvalidVolume)
    );
    // An amend counts as one more open order.
    for _ in 2..40 {
        traders.add(ALICE, limit(Side::Buy, 8_000, 1)).unwrap();
    }
    assert_eq!(
        traders.amend(number, None, Some(9_050)),
        Err(KrakenError::TooManyOrders)
    );
}

/// Random requests of two traders of this interface and one of the first: after each the books and the ledgers add up.
#[test]
fn every_history_balances() {
    let (mut trades, mut amends) = (0, 0);
    for seed in 1..=20 {
        let mut traders = Traders::new();
        let mut config = config();
        config.limits.history_orders_max = 200;
        traders.world = World::with(config);
        let mut random = Random::new(seed);
        let mut numbers: Vec<u64> = Vec::new();
        for _ in 0..300 {
            let mut below = |limit: u64| random.below(limit);
            let account = [ALICE, BOB][usize::from(below(2) == 1)];
            let side = [Side::Buy, Side::Sell][usize::from(below(2) == 1)];
            let (ticks, tenths) = (9_990 + below(20), u128::from(1 + below(40)));
            let kind = below(10);
            let back = usize::try_from(1 + below(6)).unwrap();
            let picked = numbers.len().checked_sub(back).map(|at| numbers[at]);
            let action = match (kind, picked) {
                (0, Some(number)) => KrakenAction::Cancel(vec![OrderRef::Number(number)]),
                (1..=3, Some(number)) => KrakenAction::Amend(Box::new(KrakenAmend {
                    order: OrderRef::Number(number),
                    volume: (below(2) == 1).then_some(tenths * ONE / 10),
                    price: (below(2) == 1).then_some(Price(ticks)),
                    post_only: below(2) == 1,
                    deadline: None,
                })),
                (4, _) => {
                    traders
                        .world
                        .place(AccountId(12), side, ticks, ONE + Amount::from(below(9)));
                    KrakenAction::Read
                }
                _ => {
                    let order = limit(side, ticks, tenths);
                    let fee_in = [FeeToken::Quote, FeeToken::Bought][usize::from(below(2) == 1)];
                    let order_type = match below(4) {
                        0 => KrakenOrderType::Market,
                        1 => KrakenOrderType::ImmediateOrCancel(Price(ticks)),
                        2 => KrakenOrderType::PostOnly(Price(ticks)),
                        _ => KrakenOrderType::Limit(Price(ticks)),
                    };
                    KrakenAction::Add {
                        orders: vec![NewKrakenOrder {
                            order_type,
                            fee_in,
                            ..order
                        }],
                        deadline: None,
                        validate: false,
                    }
                }
            };
            let reply = traders.call(account, action);
            trades += reply.trades().count();
            match reply {
                KrakenReply::Added(added) => {
                    numbers.extend(added.iter().flatten().filter_map(|order| order.number));
                }
                KrakenReply::Amended(_) => amends += 1,
                _ => {}
            }
            for account in [ALICE, BOB] {
                for order in traders.world.venue.kraken_orders(account) {
                    assert!(order.base_filled <= order.volume, "{order:?}");
                }
            }
        }
    }
    assert!(
        trades > 1_000 && amends > 100,
        "{trades} trades, {amends} amends"
    );
}
