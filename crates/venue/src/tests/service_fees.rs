//! Fees of transfers, withdrawals and key updates, as listed and as charged.

use cambist_core::{Reason, TokenId};

use super::support::*;
use crate::testing::*;
use crate::{
    AccountId, AccountOpening, Caller, Compat, Delays, FeeSchedule, Limits, NewTransfer, Operator,
    Request, Response, SubmissionStatus, TokenAmount,
};

/// R-SUB-12
#[test]
fn fee_lists_are_never_empty_and_name_exactly_what_is_accepted() {
    let mut world = filled(with_pool());
    let lists = |world: &mut World| match world.ask(&Caller::Public, &Request::ExchangeInfo) {
        Ok(Response::Exchange(view)) => view.fees,
        other => panic!("{other:?}"),
    };
    let all = [0, 1, 2, 3, 4].map(TokenId);
    // Nothing configured; a closed token; a table; a table whose tokens are all closed.
    for step in 0..4 {
        match step {
            0 => {}
            1 => world.operate(Operator::EnableToken {
                token: OTHER,
                enabled: false,
            }),
            2 => world.operate(Operator::SetServiceFees(Box::new(FeeSchedule {
                transfer: [(QUOTE, 30), (OTHER, 40)].into(),
                ..FeeSchedule::default()
            }))),
            _ => world.operate(Operator::EnableToken {
                token: QUOTE,
                enabled: false,
            }),
        }
        let shown = lists(&mut world);
        let named: Vec<_> = shown.transfer.keys().copied().collect();
        let expected = match step {
            0 => all.to_vec(),
            1 => all.into_iter().filter(|token| *token != OTHER).collect(),
            2 => vec![QUOTE],
            // None is accepted now, and clients still see which would be.
            _ => vec![QUOTE, OTHER],
        };
        assert_eq!(named, expected, "{step}");
        assert!(!shown.withdrawal.is_empty() && !shown.update.is_empty());
        let onchain: Vec<_> = shown.onchain.into_iter().collect();
        let free = ["deposit", "withdraw"].map(|name| (name.to_owned(), 0));
        assert_eq!(onchain, free);
        for token in all {
            let mut transfer = world.transfer();
            transfer.sent = TokenAmount::new(BASE, 1);
            let listed = shown.transfer.get(&token).filter(|_| step < 3).copied();
            transfer.max_fee = TokenAmount::new(token, listed.unwrap_or(1_000));
            if listed.is_some() {
                assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
            } else {
                assert_eq!(world.not_sent(transfer), Reason::UnsupportedFeeToken);
            }
        }
    }
}

/// From Alice to an address without an account.
fn opening(world: &mut World, owner: u8, sent: TokenAmount) -> NewTransfer {
    let mut transfer = world.transfer();
    (transfer.payee, transfer.payee_owner) = (AccountId(0), [owner; 20]);
    transfer.sent = sent;
    transfer
}

fn set_opening(world: &mut World, opening: AccountOpening) {
    world.operate(Operator::SetAccountOpening(Box::new(opening)));
}

/// R-TRF-03
#[test]
fn a_transfer_that_opens_an_account_needs_the_minimum_of_an_order() {
    for (compat, small) in [
        (Compat::Both, Reason::AmountTooSmall),
        (Compat::Strict, Reason::InvalidReceiver),
    ] {
        let mut config = with_pool();
        config.compat = compat;
        let mut world = filled(config);
        let least = world.venue.token(QUOTE).unwrap().spec.minimum;
        let one = opening(&mut world, 0x91, TokenAmount::new(QUOTE, 1));
        assert_eq!(world.not_sent(one), small);
        let below = opening(&mut world, 0x91, TokenAmount::new(QUOTE, least - 1));
        assert_eq!(world.not_sent(below), small);
        let enough = opening(&mut world, 0x91, TokenAmount::new(QUOTE, least));
        assert_eq!(world.sent(enough), SubmissionStatus::Processed);
        // To an existing account, any amount; LP units cannot open an account.
        let again = opening(&mut world, 0x91, TokenAmount::new(QUOTE, 1));
        assert_eq!(world.sent(again), SubmissionStatus::Processed);
        let mut shares = opening(&mut world, 0x92, TokenAmount::new(LP, 1_000_000));
        (shares.payer, shares.payer_owner) = (CAROL, owner(CAROL));
        let request = Request::Transfer(Box::new(shares));
        assert_eq!(
            world.refused(&signed(CAROL), &request),
            Reason::InvalidReceiver
        );
        set_opening(&mut world, AccountOpening::UNBOUNDED);
        let one = opening(&mut world, 0x93, TokenAmount::new(QUOTE, 1));
        assert_eq!(world.sent(one), SubmissionStatus::Processed);
    }
}

/// R-TRF-04
#[test]
fn opening_an_account_costs_its_fee_beside_the_transfers() {
    let mut world = filled(with_pool());
    set_opening(
        &mut world,
        AccountOpening {
            fee: [(QUOTE, 70)].into(),
            ..AccountOpening::default()
        },
    );
    world.operate(Operator::SetServiceFees(Box::new(FeeSchedule {
        transfer: [(QUOTE, 30), (BASE, 40)].into(),
        ..FeeSchedule::default()
    })));
    let sent = TokenAmount::new(BASE, ONE);
    let mut transfer = opening(&mut world, 0x91, sent);
    transfer.max_fee = TokenAmount::new(QUOTE, 99);
    assert_eq!(world.not_sent(transfer.clone()), Reason::FeeTokenMismatch);
    transfer.max_fee = TokenAmount::new(BASE, 1_000);
    assert_eq!(
        world.not_sent(transfer.clone()),
        Reason::UnsupportedFeeToken
    );
    transfer.max_fee = TokenAmount::new(QUOTE, 500);
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
    assert_eq!(world.held(FEES, QUOTE).0, 100, "both fees, and no more");
    let mut again = opening(&mut world, 0x91, sent);
    again.max_fee = TokenAmount::new(BASE, 40);
    assert_eq!(world.sent(again), SubmissionStatus::Processed, "it exists");
}

/// R-TRF-04, R-DLY-02
#[test]
fn a_repeated_transfer_is_acknowledged_although_its_account_was_opened_meanwhile() {
    let mut config = with_pool();
    config.opening.fee = [(QUOTE, 70)].into();
    let mut world = filled(config);
    let sent = TokenAmount::new(BASE, ONE);
    let mut quick = opening(&mut world, 0x91, sent);
    quick.max_fee = TokenAmount::new(QUOTE, 500);
    world.operate(Operator::SetDelays(Delays {
        received_ms: 50,
        ..Delays::default()
    }));
    let mut slow = opening(&mut world, 0x91, sent);
    slow.max_fee = TokenAmount::new(QUOTE, 500);
    assert_eq!(world.sent(slow.clone()), SubmissionStatus::Received);
    world.operate(Operator::SetDelays(Delays::default()));
    assert_eq!(world.sent(quick), SubmissionStatus::Processed);
    let request = Request::Transfer(Box::new(slow));
    match world.ask(&signed(ALICE), &request) {
        Ok(Response::Submission(view)) => assert!(view.idempotent),
        other => panic!("{other:?}"),
    }
}

/// R-TRF-05
#[test]
fn the_last_accounts_are_reserved_for_the_operator() {
    let mut world = filled(with_pool());
    let used = u32::try_from(
        (0..200)
            .filter(|id| world.venue.account(AccountId(*id)).is_some())
            .count(),
    )
    .unwrap();
    world.operate(Operator::SetLimits(Box::new(Limits {
        accounts_max: used + 3,
        ..Limits::default()
    })));
    set_opening(
        &mut world,
        AccountOpening {
            reserved: 2,
            ..AccountOpening::default()
        },
    );
    let sent = TokenAmount::new(BASE, ONE);
    // Two compete for one place: the second gets its funds back.
    world.operate(Operator::SetDelays(Delays {
        received_ms: 50,
        ..Delays::default()
    }));
    for owner in [0x91, 0x92] {
        let transfer = opening(&mut world, owner, sent);
        assert_eq!(world.sent(transfer), SubmissionStatus::Received);
    }
    let before = world.held(ALICE, BASE).0;
    world.pass(50);
    world.operate(Operator::SetDelays(Delays::default()));
    assert_eq!(world.held(ALICE, BASE), (before - ONE, 0));
    assert!(world.venue.account_of_owner(&[0x91; 20]).is_some());
    assert!(world.venue.account_of_owner(&[0x92; 20]).is_none());
    let third = opening(&mut world, 0x93, sent);
    assert_eq!(world.not_sent(third), Reason::InvalidReceiver);
    // The operator can open the reserved accounts, and raise the limit.
    for owner in [0xa1, 0xa2, 0xa3] {
        world.operate(Operator::CreateAccount {
            id: None,
            owner: [owner; 20],
            public_key: crate::PublicKey::default(),
            api_key: None,
            internal: false,
        });
    }
}
