//! Checks of all submissions, and special rules of transfers and withdrawals.

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Hash, Reason, Side, TokenId};

use super::support::*;
use crate::testing::*;
use crate::{
    AccountId, Caller, Compat, FeeSchedule, KeyEpoch, Limits, Operator, Proof, Request, Response,
    SubmissionStatus, TokenAmount,
};

fn strict() -> World {
    let mut config = with_pool();
    config.compat = Compat::Strict;
    World::with(config)
}

/// R-SUB-01
#[test]
fn checks_of_a_submission_are_made_in_their_order() {
    let mut world = filled(with_pool());
    let mut transfer = world.transfer();
    transfer.exchange = [1; 20];
    transfer.payer_owner = [1; 20];
    transfer.payee_owner = [1; 20];
    transfer.sent = TokenAmount::new(TokenId(99), 0);
    transfer.max_fee = TokenAmount::new(TokenId(99), 0);
    transfer.storage_id = 1 << 32;
    transfer.valid_until_s = 1 << 32;
    transfer.proof = Proof::default();
    let mut seen = vec![
        world.refused(&Caller::Public, &transfer.clone().into()),
        world.refused(&signed(BOB), &transfer.clone().into()),
    ];
    let good = world.transfer();
    let mends: [fn(&mut crate::NewTransfer, &crate::NewTransfer); 9] = [
        |bad, good| bad.exchange = good.exchange,
        |bad, good| bad.payer_owner = good.payer_owner,
        |bad, good| bad.payee_owner = good.payee_owner,
        |bad, good| bad.sent.token = good.sent.token,
        |bad, _| bad.sent.amount = 2_000 * ONE,
        |bad, good| bad.max_fee = good.max_fee,
        |bad, good| bad.storage_id = good.storage_id,
        |bad, good| bad.valid_until_s = good.valid_until_s,
        |bad, good| bad.proof = good.proof,
    ];
    for mend in mends {
        let request = Request::from(transfer.clone());
        let refused = world.not_sent(transfer.clone());
        // All but the last two are checked before the signature.
        let early = world.venue.precheck(&signed(ALICE), &request);
        let late = [Reason::NoSignature, Reason::InsufficientBalance];
        assert_eq!(early.is_ok(), late.contains(&refused), "{refused:?}");
        seen.push(refused);
        mend(&mut transfer, &good);
    }
    seen.push(world.not_sent(transfer.clone()));
    assert_eq!(
        seen,
        [
            Reason::EmptyApiKey,
            Reason::InvalidAccount,
            Reason::WrongExchange,
            Reason::InvalidSender,
            Reason::InvalidReceiver,
            Reason::UnsupportedToken,
            Reason::AmountTooSmall,
            Reason::UnsupportedFeeToken,
            Reason::InvalidNonce,
            Reason::InvalidArgument,
            Reason::NoSignature,
            Reason::InsufficientBalance,
        ]
    );
    transfer.sent.amount = 5 * ONE;
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-SUB-02
#[test]
fn strict_mode_has_only_codes_that_the_interface_lists_for_submissions() {
    let mut world = strict();
    let listed = [
        Reason::UnknownError,
        Reason::WrongExchange,
        Reason::InvalidNonce,
        Reason::InvalidSender,
        Reason::InvalidReceiver,
        Reason::UnsupportedFeeToken,
        Reason::FeeTokenMismatch,
    ];
    let faults: [fn(&mut crate::NewTransfer); 6] = [
        |transfer| transfer.sent.token = TokenId(99),
        |transfer| transfer.sent.amount = 0,
        |transfer| transfer.sent.amount = AMOUNT_MAX + 1,
        |transfer| transfer.sent.amount = 2_000 * ONE,
        |transfer| transfer.valid_until_s = 1 << 32,
        |transfer| transfer.valid_until_s = START_S,
    ];
    for fault in faults {
        let mut transfer = world.transfer();
        fault(&mut transfer);
        let reason = world.not_sent(transfer.clone());
        assert!(listed.contains(&reason), "{reason:?} for {transfer:?}");
    }
    let mut fast = world.withdrawal();
    fast.fast = true;
    assert_eq!(world.not_sent(fast), Reason::InvalidSender);
}

/// R-SUB-03
#[test]
fn sender_is_the_account_of_the_key_and_its_owner() {
    let mut world = filled(with_pool());
    let mut withdrawal = world.withdrawal();
    withdrawal.owner = owner(BOB);
    assert_eq!(world.not_sent(withdrawal), Reason::InvalidSender);
    let mut key = world.new_key();
    key.owner = owner(BOB);
    assert_eq!(world.not_sent(key), Reason::InvalidSender);
}

/// R-SUB-04
#[test]
fn fees_come_from_the_table_and_go_to_the_fee_account() {
    let mut world = filled(with_pool());
    world.operate(Operator::SetServiceFees(Box::new(FeeSchedule {
        transfer: [(QUOTE, 30), (BASE, 40)].into(),
        withdrawal: [(QUOTE, 50)].into(),
        update: [(QUOTE, 60)].into(),
        ..FeeSchedule::default()
    })));
    let mut transfer = world.transfer();
    transfer.max_fee = TokenAmount::new(OTHER, 100);
    assert_eq!(
        world.not_sent(transfer.clone()),
        Reason::UnsupportedFeeToken
    );
    transfer.max_fee = TokenAmount::new(QUOTE, 29);
    assert_eq!(world.not_sent(transfer.clone()), Reason::FeeTokenMismatch);
    transfer.max_fee = TokenAmount::new(QUOTE, 1_000);
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
    assert_eq!(
        world.held(FEES, QUOTE).0,
        30,
        "the fee, not the accepted maximum"
    );
    let mut withdrawal = world.withdrawal();
    withdrawal.max_fee.amount = 50;
    world.sent(withdrawal);
    let mut key = world.new_key();
    key.max_fee.amount = 60;
    world.sent(key);
    assert_eq!(world.held(FEES, QUOTE).0, 140);
    assert_eq!(world.held(ALICE, QUOTE).0, 1_000_000 * UNIT - 140);
    // Both out of one balance.
    let mut transfer = world.transfer();
    transfer.proof.eddsa = Some(KeyEpoch(1));
    transfer.max_fee = TokenAmount::new(BASE, 40);
    transfer.sent.amount = world.held(ALICE, BASE).0 - world.held(ALICE, BASE).1 - 39;
    assert_eq!(
        world.not_sent(transfer.clone()),
        Reason::InsufficientBalance
    );
    transfer.sent.amount -= 1;
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-SUB-04
#[test]
fn a_fee_may_be_required_in_the_transferred_token() {
    let mut world = filled(with_pool());
    world.operate(Operator::SetServiceFees(Box::new(FeeSchedule {
        same_token: true,
        ..FeeSchedule::default()
    })));
    let mut transfer = world.transfer();
    assert_eq!(world.not_sent(transfer.clone()), Reason::FeeTokenMismatch);
    transfer.max_fee.token = BASE;
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-SUB-05, R-SLT-03
#[test]
fn a_storage_id_is_used_by_one_submission() {
    let mut world = filled(with_pool());
    let transfer = world.transfer();
    world.sent(transfer.clone());
    let mut withdrawal = world.withdrawal();
    withdrawal.storage_id = transfer.storage_id;
    assert_eq!(world.not_sent(withdrawal.clone()), Reason::InvalidNonce);
    withdrawal.storage_id = transfer.storage_id + 16_384;
    assert_eq!(world.sent(withdrawal.clone()), SubmissionStatus::Processed);
    withdrawal.hash = Hash([0xee; 32]);
    withdrawal.storage_id = transfer.storage_id;
    assert_eq!(world.not_sent(withdrawal), Reason::InvalidNonce);
    // An order cannot use it either, and a larger id than an open order's ends that order.
    let mut order = world.order(ALICE, Side::Sell, 260_000, ONE);
    order.storage_id = transfer.storage_id;
    assert_eq!(world.submit_refused(&order), Reason::InvalidOrderId);
    order.storage_id = 1_000;
    world.submit(&order);
    let mut transfer = world.transfer();
    transfer.storage_id = 1_000 + 16_384;
    world.sent(transfer);
    assert!(!world.venue.is_open(&order.hash));
}

/// R-SUB-06
#[test]
fn a_submission_ends_at_its_second() {
    let mut world = filled(with_pool());
    let mut transfer = world.transfer();
    transfer.valid_until_s = START_S;
    assert_eq!(world.not_sent(transfer.clone()), Reason::OrderExpired);
    transfer.valid_until_s = START_S + 1;
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-SUB-07
#[test]
fn every_given_proof_must_be_valid() {
    let mut world = filled(with_pool());
    let proofs = [
        Proof {
            eddsa: Some(KeyEpoch(1)),
            ..Proof::default()
        },
        Proof {
            ecdsa: Some(owner(BOB)),
            ..Proof::default()
        },
        Proof {
            approved: Some(Hash([1; 32])),
            ..Proof::default()
        },
        Proof {
            ecdsa: Some(owner(BOB)),
            ..eddsa()
        },
    ];
    for proof in proofs {
        let mut transfer = world.transfer();
        transfer.proof = proof;
        assert_eq!(
            world.not_sent(transfer),
            Reason::WrongSignature,
            "{proof:?}"
        );
    }
    let mut transfer = world.transfer();
    transfer.proof = Proof::default();
    assert_eq!(world.not_sent(transfer.clone()), Reason::NoSignature);
    transfer.proof.ecdsa = Some(owner(ALICE));
    assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
}

/// R-SUB-08
#[test]
fn an_approved_hash_authorises_one_request_of_its_account() {
    let mut world = filled(with_pool());
    let approved = Hash([5; 32]);
    world.operate(Operator::ApproveHash {
        account: BOB,
        hash: approved,
    });
    let mut transfer = world.transfer();
    transfer.proof = Proof {
        approved: Some(approved),
        ..Proof::default()
    };
    assert_eq!(world.not_sent(transfer.clone()), Reason::WrongSignature);
    world.operate(Operator::ApproveHash {
        account: ALICE,
        hash: approved,
    });
    assert_eq!(world.sent(transfer.clone()), SubmissionStatus::Processed);
    let mut again = world.transfer();
    again.proof = transfer.proof;
    assert_eq!(world.not_sent(again), Reason::WrongSignature);
}

/// R-SUB-09
#[test]
fn a_frozen_account_can_only_replace_its_key() {
    let mut world = filled(with_pool());
    world.operate(Operator::Freeze {
        account: ALICE,
        frozen: true,
    });
    world.operate(Operator::Freeze {
        account: CAROL,
        frozen: true,
    });
    let (transfer, withdrawal) = (world.transfer(), world.withdrawal());
    let (join, exit) = (world.join(), world.exit());
    assert_eq!(world.not_sent(transfer), Reason::InvalidSender);
    assert_eq!(world.not_sent(withdrawal), Reason::InvalidSender);
    assert_eq!(world.not_sent(join), Reason::InvalidSender);
    assert_eq!(world.not_sent(exit), Reason::InvalidSender);
    let key = world.new_key();
    assert_eq!(world.sent(key), SubmissionStatus::Processed);
}

/// R-SUB-10
#[test]
fn funds_of_open_orders_cannot_be_moved_and_open_submissions_are_limited() {
    let mut world = filled(with_pool());
    world.place(ALICE, Side::Sell, 100_000, 996 * ONE);
    let transfer = world.transfer();
    assert_eq!(world.not_sent(transfer), Reason::InsufficientBalance);
    world.operate(Operator::SetLimits(Box::new(Limits {
        open_submissions_max: 1,
        ..Limits::default()
    })));
    let mut withdrawal = world.withdrawal();
    withdrawal.withdrawn.amount = ONE;
    assert_eq!(world.sent(withdrawal.clone()), SubmissionStatus::Processed);
    let mut more = world.withdrawal();
    more.withdrawn.amount = ONE;
    assert_eq!(world.not_sent(more.clone()), Reason::InvalidSender);
    let hash = withdrawal.hash;
    world.operate(Operator::SettleWithdrawal { hash });
    assert_eq!(world.sent(more), SubmissionStatus::Processed);
}

/// R-SUB-11
#[test]
fn finished_submissions_are_dropped_beyond_the_history_but_their_ids_stay_used() {
    let mut config = with_pool();
    config.limits.history_submissions_max = 2;
    let mut world = World::with(config);
    let sent: Vec<_> = (0..3)
        .map(|_| {
            let transfer = world.transfer();
            world.sent(transfer.clone());
            transfer
        })
        .collect();
    let gone = Request::Submission {
        account: ALICE,
        hash: sent[0].hash,
    };
    assert_eq!(world.refused(&signed(ALICE), &gone), Reason::OrderNotFound);
    assert_eq!(world.not_sent(sent[0].clone()), Reason::InvalidNonce);
    assert_eq!(
        world.submission(ALICE, sent[2].hash),
        SubmissionStatus::Processed
    );
    let foreign = Request::Submission {
        account: BOB,
        hash: sent[2].hash,
    };
    assert_eq!(world.refused(&signed(BOB), &foreign), Reason::OrderNotFound);
}

/// R-TRF-01
#[test]
fn the_payee_is_named_by_number_and_address_or_by_address() {
    let mut world = filled(with_pool());
    for (payee, address) in [
        (BOB, owner(CAROL)),
        (AccountId(999), owner(BOB)),
        (AccountId(999), [0x99; 20]),
        (BOB, [0; 20]),
        (AccountId(0), [0; 20]),
        (ALICE, owner(ALICE)),
        (AccountId(0), owner(ALICE)),
    ] {
        let mut transfer = world.transfer();
        (transfer.payee, transfer.payee_owner) = (payee, address);
        assert_eq!(
            world.not_sent(transfer),
            Reason::InvalidReceiver,
            "{payee:?}"
        );
    }
    let transfer = world.transfer();
    world.sent(transfer);
    let mut transfer = world.transfer();
    transfer.payee = AccountId(0);
    world.sent(transfer);
    assert_eq!(world.held(BOB, BASE), (1_010 * ONE, 0));
    assert_eq!(world.held(ALICE, BASE), (990 * ONE, 0));
}

/// R-TRF-02, R-AKU-04
#[test]
fn a_transfer_to_a_new_address_opens_an_account_whose_first_key_has_nonce_0() {
    let mut world = filled(with_pool());
    let new = [0x99; 20];
    let mut transfer = world.transfer();
    (transfer.payee, transfer.payee_owner) = (AccountId(0), new);
    world.operate(Operator::SetLimits(Box::new(Limits {
        accounts_max: 4,
        ..Limits::default()
    })));
    assert_eq!(world.not_sent(transfer.clone()), Reason::InvalidReceiver);
    world.operate(Operator::SetLimits(Box::default()));
    world.sent(transfer);
    let opened = world.venue.account_of_owner(&new).unwrap().clone();
    assert_eq!((opened.id, opened.nonce), (AccountId(13), 0));
    assert_eq!(world.held(opened.id, BASE), (5 * ONE, 0));
    let mut key = world.new_key();
    (key.account, key.owner, key.nonce) = (opened.id, new, 0);
    key.proof = Proof {
        ecdsa: Some(new),
        ..Proof::default()
    };
    let answer = world.ask(&Caller::Public, &key.into());
    assert!(matches!(answer, Ok(Response::Submission(_))), "{answer:?}");
    let account = world.venue.account(opened.id).unwrap();
    assert_eq!((account.nonce, account.key_nonce), (1, 0));
}

/// R-WDR-01
#[test]
fn a_withdrawal_is_pending_until_the_operator_settles_or_returns_it() {
    let mut world = filled(with_pool());
    let withdrawal = world.withdrawal();
    assert_eq!(world.sent(withdrawal.clone()), SubmissionStatus::Processed);
    let shown = |world: &mut World| {
        let request = Request::Balances {
            account: ALICE,
            tokens: Some(vec![BASE]),
        };
        match world.ask(&signed(ALICE), &request) {
            Ok(Response::Balances(views)) => views[0],
            other => panic!("{other:?}"),
        }
    };
    let view = shown(&mut world);
    assert_eq!(
        (view.total, view.locked, view.pending_withdraw),
        (1_000 * ONE, 5 * ONE, 5 * ONE)
    );
    let hash = withdrawal.hash;
    world.operate(Operator::SettleWithdrawal { hash });
    let view = shown(&mut world);
    assert_eq!(
        (view.total, view.locked, view.pending_withdraw),
        (995 * ONE, 0, 0)
    );
    let again = Request::Operator(Operator::SettleWithdrawal { hash });
    assert_eq!(
        world.refused(&Caller::Operator, &again),
        Reason::InvalidArgument
    );
    let withdrawal = world.withdrawal();
    world.sent(withdrawal.clone());
    let hash = withdrawal.hash;
    world.operate(Operator::ReturnWithdrawal { hash });
    assert_eq!(world.held(ALICE, BASE), (995 * ONE, 0));
    assert_eq!(world.submission(ALICE, hash), SubmissionStatus::Failed);
}

/// R-WDR-02
#[test]
fn a_fast_withdrawal_is_limited_and_settled_at_once() {
    let mut config = with_pool();
    config.tokens[0].fast_withdraw_limit = 5 * ONE;
    let mut world = World::with(config);
    let mut withdrawal = world.withdrawal();
    withdrawal.fast = true;
    withdrawal.withdrawn.amount += 1;
    assert_eq!(world.not_sent(withdrawal.clone()), Reason::AmountTooLarge);
    withdrawal.withdrawn.amount -= 1;
    assert_eq!(world.sent(withdrawal), SubmissionStatus::Processed);
    assert_eq!(world.held(ALICE, BASE), (995 * ONE, 0));
    let mut nowhere = world.withdrawal();
    nowhere.to = [0; 20];
    assert_eq!(world.not_sent(nowhere), Reason::InvalidReceiver);
}

/// R-WDR-03
#[test]
fn a_closed_token_cannot_be_withdrawn_and_a_delisted_one_can() {
    let mut world = World::with(with_pool());
    world.operate(Operator::Deposit {
        account: ALICE,
        token: LONELY,
        amount: ONE,
    });
    let close = |enabled| Operator::EnableToken {
        token: LONELY,
        enabled,
    };
    world.operate(close(false));
    let mut withdrawal = world.withdrawal();
    withdrawal.withdrawn = TokenAmount::new(LONELY, ONE);
    assert_eq!(world.not_sent(withdrawal.clone()), Reason::UnsupportedToken);
    world.operate(Operator::DelistToken { token: LONELY });
    let mut transfer = world.transfer();
    transfer.sent = withdrawal.withdrawn;
    assert_eq!(world.not_sent(transfer), Reason::UnsupportedToken);
    assert_eq!(world.sent(withdrawal), SubmissionStatus::Processed);
}

/// R-DPS-01
#[test]
fn an_announced_deposit_is_shown_and_usable_when_it_is_confirmed() {
    let mut world = World::with(with_pool());
    let deposit = |amount| {
        (
            Operator::AnnounceDeposit {
                account: ALICE,
                token: LONELY,
                amount,
            },
            Operator::ConfirmDeposit {
                account: ALICE,
                token: LONELY,
                amount,
            },
        )
    };
    world.operate(deposit(7).0);
    let request = Request::Balances {
        account: ALICE,
        tokens: None,
    };
    let shown = match world.ask(&signed(ALICE), &request) {
        Ok(Response::Balances(views)) => views[3],
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (shown.token, shown.total, shown.pending_deposit),
        (LONELY, 0, 7)
    );
    let too_much = Request::Operator(deposit(8).1);
    assert_eq!(
        world.refused(&Caller::Operator, &too_much),
        Reason::InvalidArgument
    );
    world.operate(deposit(3).1);
    assert_eq!(world.held(ALICE, LONELY), (3, 0));
    let announced = |world: &World| {
        let account = world.venue.account(ALICE).unwrap();
        account.pending_deposit.get(&LONELY).copied()
    };
    assert_eq!(announced(&world), Some(4));
    world.operate(deposit(4).1);
    assert_eq!(world.held(ALICE, LONELY), (7, 0));
    assert_eq!(announced(&world), None, "nothing is kept of it");
}

/// R-DPS-01: announced deposits of a token are amounts of 96 bits together, as one alone is.
#[test]
fn no_more_than_96_bits_are_announced() {
    let mut world = World::with(with_pool());
    let announce = |amount| Operator::AnnounceDeposit {
        account: ALICE,
        token: LONELY,
        amount,
    };
    world.operate(announce(AMOUNT_MAX - 7));
    for beyond in [8, AMOUNT_MAX, u128::MAX] {
        let request = Request::Operator(announce(beyond));
        let refused = world.refused(&Caller::Operator, &request);
        assert_eq!(refused, Reason::InvalidArgument, "{beyond}");
    }
    world.operate(announce(7));
}
