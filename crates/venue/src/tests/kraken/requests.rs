//! Nonces, and who is answered.

use cambist_core::Side;

use super::{Traders, limit};
use crate::testing::{ALICE, BOB, api_key, signed};
use crate::{Caller, KrakenAction, KrakenCall, KrakenError, KrakenReply, Request};

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
