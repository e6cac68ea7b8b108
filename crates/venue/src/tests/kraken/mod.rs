//! Rules of `docs/kraken.md`: nonces, deadlines, expiry, amends, the timer, ledger entries.

mod amends;
mod batches;
mod histories;
mod modes;
mod orders;
mod requests;
mod times;

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Price, Side, VenueTime};

use crate::testing::{ALICE, BASE, BOB, MARKET, ONE, QUOTE, World, api_key};
use crate::{
    AccountId, Caller, KrakenAction, KrakenAmend, KrakenCall, KrakenError, KrakenOrderType,
    KrakenOrderView, KrakenReply, KrakenStatus, NewKrakenOrder, OrderRef, Request, Response,
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
            left_in_lots: false,
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

/// Amends the price with `post_only`.
fn posted(traders: &mut Traders, number: u64, ticks: u64) -> Result<(), KrakenError> {
    let amend = KrakenAmend {
        order: OrderRef::Number(number),
        volume: None,
        price: Some(Price(ticks)),
        post_only: true,
        deadline: None,
        left_in_lots: false,
    };
    match traders.call(ALICE, KrakenAction::Amend(Box::new(amend))) {
        KrakenReply::Amended(_) => Ok(()),
        KrakenReply::Refused(error) => Err(error),
        other => panic!("{other:?}"),
    }
}
