//! New signing keys: valid immediately; requests that the old key signed end.

use cambist_core::{Hash, OrderStatus, Reason, Side};

use super::support::*;
use crate::testing::*;
use crate::{
    Caller, Compat, Delays, KeyEpoch, Operator, Proof, PublicKey, Request, SubmissionStatus,
};

/// R-AKU-01
#[test]
fn a_key_update_needs_the_nonce_and_a_key() {
    let mut world = World::with(with_pool());
    for nonce in [0, 2, 1 << 40] {
        let mut key = world.new_key();
        key.nonce = nonce;
        assert_eq!(world.not_sent(key), Reason::InvalidNonce);
    }
    let mut none = world.new_key();
    none.public_key = PublicKey::default();
    assert_eq!(world.not_sent(none), Reason::InvalidReceiver);
    let key = world.new_key();
    let answer = world.send(&key.clone().into()).unwrap();
    assert_eq!(answer.status, SubmissionStatus::Processed);
    assert!(!answer.idempotent, "it is the first of its kind");
    let account = world.venue.account(ALICE).unwrap();
    assert_eq!(account.public_key, key.public_key);
    assert_eq!(
        (account.nonce, account.key_nonce, account.key_epoch),
        (2, 1, KeyEpoch(1))
    );
    let mut again = key;
    again.proof.eddsa = Some(KeyEpoch(1));
    assert_eq!(world.not_sent(again), Reason::InvalidNonce);
}

/// R-AKU-02, R-GEN-07
#[test]
fn replacing_a_key_ends_pending_requests_that_it_signed() {
    let mut config = with_pool();
    config.delays.received_ms = 1_000;
    let mut world = World::with(config);
    let (bid, _) = world.place(ALICE, Side::Buy, 240_000, ONE);
    let (other, _) = world.place(BOB, Side::Buy, 240_000, ONE);
    let by_key = world.transfer();
    world.sent(by_key.clone());
    let mut by_owner = world.transfer();
    by_owner.proof.ecdsa = Some(owner(ALICE));
    world.sent(by_owner.clone());
    let key = world.new_key();
    assert_eq!(world.sent(key), SubmissionStatus::Processed);
    assert_eq!(world.status(ALICE, bid), OrderStatus::Cancelled);
    assert_eq!(world.status(BOB, other), OrderStatus::Processing);
    assert_eq!(
        world.submission(ALICE, by_key.hash),
        SubmissionStatus::Failed
    );
    assert_eq!(
        world.submission(ALICE, by_owner.hash),
        SubmissionStatus::Received
    );
    assert_eq!(world.held(ALICE, QUOTE), (1_000_000 * UNIT, 0));
    assert_eq!(world.held(ALICE, BASE), (1_000 * ONE, 5 * ONE));
    // Requests with the old key that arrive later are refused.
    let order = world.order(ALICE, Side::Buy, 240_000, ONE);
    assert_eq!(world.submit_refused(&order), Reason::WrongSignature);
    let transfer = world.transfer();
    assert_eq!(world.not_sent(transfer), Reason::WrongSignature);
    let caller = Caller::Account {
        account: ALICE,
        signed: Some(KeyEpoch(1)),
    };
    world
        .ask(&caller, &Request::Submit(Box::new(order)))
        .unwrap();
}

/// R-AKU-03
#[test]
fn public_clients_send_no_api_key_with_a_key_update() {
    for (compat, taken) in [(Compat::Both, true), (Compat::Strict, false)] {
        let mut config = with_pool();
        config.compat = compat;
        let mut world = World::with(config);
        let mut key = world.new_key();
        key.proof = Proof {
            ecdsa: Some(owner(ALICE)),
            ..Proof::default()
        };
        let request = Request::from(key);
        assert_eq!(
            world.venue.precheck(&Caller::Public, &request).is_ok(),
            taken
        );
        let answer = world.ask(&Caller::Public, &request);
        assert_eq!(answer.is_ok(), taken, "{answer:?}");
        if let Err(refusal) = answer {
            assert_eq!(refusal.reason, Reason::EmptyApiKey);
        }
    }
}

/// R-AKU-01, R-SUB-08
#[test]
fn a_key_update_by_approved_hash_uses_it_up_and_needs_its_fee() {
    let mut world = World::with(with_pool());
    let approved = Hash([6; 32]);
    world.operate(Operator::ApproveHash {
        account: ALICE,
        hash: approved,
    });
    world.operate(Operator::SetDelays(Delays {
        processing_ms: 50,
        ..Delays::default()
    }));
    let mut key = world.new_key();
    key.proof = Proof {
        approved: Some(approved),
        ..Proof::default()
    };
    assert_eq!(
        world.sent(key.clone()),
        SubmissionStatus::Processed,
        "no delay"
    );
    let mut next = world.new_key();
    next.nonce = 2;
    next.proof = key.proof;
    assert_eq!(world.not_sent(next), Reason::WrongSignature);
}
