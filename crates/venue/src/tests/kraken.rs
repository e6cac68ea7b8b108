//! Rules of `docs/kraken.md`: nonces, deadlines, expiry, amends, the timer, ledger entries.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Price, Side, VenueTime};

use crate::testing::{
    ALICE, BASE, BOB, MARKET, ONE, QUOTE, START_S, UNIT, World, api_key, config, signed,
};
use crate::{
    AccountId, Caller, Delays, ExchangeMode, KrakenAction, KrakenAmend, KrakenCall, KrakenError,
    KrakenOrderType, KrakenOrderView, KrakenReply, KrakenStatus, LedgerCause, NewKrakenOrder,
    Operator, OrderRef, Random, Request, Response,
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
    ) -> Result<(), KrakenError> {
        let action = KrakenAction::Amend(Box::new(KrakenAmend {
            order: OrderRef::Number(order),
            volume,
            price: price.map(Price),
            post_only: false,
            deadline: None,
        }));
        match self.call(ALICE, action) {
            KrakenReply::Amended(_) => Ok(()),
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
    assert_eq!(
        answer,
        KrakenReply::Added(vec![Err(KrakenError::BelowOrderMinimum)])
    );
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
    traders.amend(first, Some(15 * ONE / 10), None).unwrap();
    assert_eq!(traders.world.held(ALICE, BASE).1, 15 * ONE / 10);
    let taker = AccountId(12);
    traders.add(taker, limit(Side::Buy, 10_000, 10)).unwrap();
    assert_eq!(traders.view(ALICE, first).base_filled, ONE);
    assert_eq!(traders.view(BOB, queued).base_filled, 0);
    // Not below what was filled, and not to nothing.
    assert_eq!(
        traders.amend(first, Some(ONE), None),
        Err(KrakenError::InvalidVolume)
    );
    assert_eq!(
        traders.amend(first, None, None),
        Err(KrakenError::InvalidAmend)
    );
    // A new price makes it another order of the book under the same number.
    traders
        .amend(first, Some(30 * ONE / 10), Some(10_020))
        .unwrap();
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
fn modes_of_the_exchange_apply() {
    let mut traders = Traders::new();
    traders.world.place(BOB, Side::Sell, 10_000, ONE);
    let mut add = |mode, ticks| {
        traders.world.operate(Operator::SetMode(mode));
        traders.add(ALICE, limit(Side::Buy, ticks, 10)).map(drop)
    };
    assert_eq!(add(ExchangeMode::PostOnly, 9_000), Ok(()));
    assert_eq!(
        add(ExchangeMode::PostOnly, 10_000),
        Err(KrakenError::PostOnlyMode)
    );
    assert_eq!(
        add(ExchangeMode::CancelOnly, 9_000),
        Err(KrakenError::CancelOnlyMode)
    );
    assert_eq!(add(ExchangeMode::Halted, 9_000), Err(KrakenError::Halted));
    let answer = traders.call(ALICE, KrakenAction::CancelAll);
    assert_eq!(answer, KrakenReply::Refused(KrakenError::Halted));
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
