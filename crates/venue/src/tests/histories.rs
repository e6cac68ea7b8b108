//! Random histories of all kinds of requests, valid and invalid: pools, transfers, withdrawals, keys, listings, modes,
//! delays and faults. The invariants of orders hold for all of them.

use std::collections::BTreeMap;

use cambist_core::{Amount, Hash, Reason, Side};

use super::random_history::{COARSE, ROUGH, RandomHistory, Style};
use super::support::*;
use crate::testing::*;
use crate::{
    AccountId, Caller, Delays, ExchangeMode, Fault, KeyEpoch, Operator, PoolStatus,
    PoolTransactionsQuery, Proof, PublicKey, Request, RequestKind, Response, SubmissionStatus,
    TokenAmount, Venue,
};

/// A history of every kind of request.
struct Wide {
    history: RandomHistory,
    hash: u64,
    sent: Vec<(Caller, Request)>,
}

const PARTIES: [AccountId; 3] = [ALICE, BOB, CAROL];

fn world(style: Style, seed: u64) -> World {
    let mut config = style.config();
    let wide = with_pool();
    config.tokens.push(wide.tokens[4].clone());
    config.pools = wide.pools;
    config.tokens[0].fast_withdraw_limit = 500_000;
    config.limits.history_submissions_max = 20;
    config.limits.open_submissions_max = 12;
    config.pools[0].exit_fee = 3;
    if seed % 2 == 1 {
        config.delays = Delays {
            order_ms: 300,
            cancel_ms: 200,
            received_ms: 400,
            processing_ms: 500,
            late_failures_permille: 100,
            seed,
        };
    }
    World::with(config)
}

impl Wide {
    fn new(style: Style, seed: u64) -> Self {
        Self {
            history: RandomHistory::new(style, seed),
            hash: 0,
            sent: Vec::new(),
        }
    }

    fn party(&mut self) -> AccountId {
        PARTIES[usize::try_from(self.history.random.below(3)).unwrap()]
    }

    fn amount(&mut self, most: u64) -> Amount {
        Amount::from(self.history.random.below(most))
    }

    fn hash(&mut self) -> Hash {
        self.hash += 1;
        let mut hash = [0xbb; 32];
        hash[..8].copy_from_slice(&self.hash.to_be_bytes());
        Hash(hash)
    }

    /// The next request, usually with the current key.
    fn next(&mut self, world: &mut World) -> (Caller, Request) {
        let (caller, request) = match self.history.random.below(100) {
            0..=44 => self.history.next(world),
            45..=59 => self.swap(world),
            60..=66 => self.join(world),
            67..=72 => self.exit(world),
            73..=79 => self.transfer(world),
            80..=85 => self.withdrawal(world),
            86 => self.key(world),
            87..=91 if !self.sent.is_empty() => {
                let recent = self.sent.len().saturating_sub(10) as u64;
                let index = self
                    .history
                    .random
                    .between(recent, self.sent.len() as u64 - 1);
                self.sent[usize::try_from(index).unwrap()].clone()
            }
            87..=92 => {
                let query = PoolTransactionsQuery::all(self.party());
                (signed(query.account), Request::PoolTransactions(query))
            }
            _ => (Caller::Operator, Request::Operator(self.input(world))),
        };
        let (account, signed) = match caller {
            Caller::Account { account, signed } => (account, signed),
            Caller::Public | Caller::Internal { .. } | Caller::Operator => {
                return (caller, request);
            }
        };
        let present = world
            .venue
            .account(account)
            .map(|account| account.key_epoch);
        let stale = self.history.random.chance(1, 50);
        let signed = if stale { signed } else { present };
        let caller = Caller::Account { account, signed };
        self.sent.push((caller, request.clone()));
        (caller, request)
    }

    fn proof(&mut self, world: &World, account: AccountId) -> Proof {
        let holder = world.venue.account(account);
        match self.history.random.below(20) {
            0 => Proof::default(),
            1..=6 => Proof {
                ecdsa: holder.map(|holder| holder.owner),
                ..Proof::default()
            },
            7 => Proof {
                eddsa: Some(KeyEpoch(9_999)),
                ..Proof::default()
            },
            _ => Proof {
                eddsa: holder.map(|holder| holder.key_epoch),
                ..Proof::default()
            },
        }
    }

    fn swap(&mut self, world: &mut World) -> (Caller, Request) {
        let account = self.party();
        let side = Side::BOTH[usize::from(self.history.random.chance(1, 2))];
        let (sold, wanted) = (self.amount(400_000) + 1, self.amount(2_000) + 1);
        let mut order = world.swap_order(account, side, sold, wanted);
        order.hash = self.hash();
        let next = world.venue.next_order_storage_id(account, order.sell_token);
        order.storage_id = next.map_or(0, u64::from);
        order.valid_until_s = world.now.as_s() + self.history.random.below(20);
        (signed(account), Request::Submit(Box::new(order)))
    }

    fn id(&mut self, world: &World, account: AccountId, token: cambist_core::TokenId) -> u64 {
        let next = world.venue.next_order_storage_id(account, token);
        let next = next.map_or(0, u64::from);
        if self.history.random.chance(1, 20) {
            self.history.random.below(200)
        } else {
            next + 1
        }
    }

    fn join(&mut self, world: &mut World) -> (Caller, Request) {
        let account = self.party();
        let mut join = world.join();
        join.hash = self.hash();
        join.owner = owner(account);
        join.joined = vec![
            TokenAmount::new(BASE, self.amount(300_000)),
            TokenAmount::new(QUOTE, self.amount(300_000)),
        ];
        join.minimum_lp = self.amount(9_000_000_000);
        join.storage_ids = vec![
            self.id(world, account, BASE),
            self.id(world, account, QUOTE),
        ];
        join.valid_until_s = world.now.as_s() + self.history.random.below(20);
        join.proof = self.proof(world, account);
        (signed(account), join.into())
    }

    fn exit(&mut self, world: &mut World) -> (Caller, Request) {
        let account = self.party();
        let mut exit = world.exit();
        exit.hash = self.hash();
        exit.owner = owner(account);
        let held = world.held(account, LP).0;
        exit.burned = if self.history.random.chance(1, 6) {
            held
        } else {
            self.amount(2_000_000_000)
        };
        exit.minimums[0].amount = self.amount(1_000);
        exit.max_fee = self.amount(30);
        exit.storage_id = self.id(world, account, LP);
        exit.proof = self.proof(world, account);
        (signed(account), exit.into())
    }

    fn transfer(&mut self, world: &mut World) -> (Caller, Request) {
        let (account, payee) = (self.party(), self.party());
        let token = [BASE, QUOTE, LP][usize::try_from(self.history.random.below(3)).unwrap()];
        let mut transfer = world.transfer();
        transfer.hash = self.hash();
        (transfer.payer, transfer.payer_owner) = (account, owner(account));
        (transfer.payee, transfer.payee_owner) = (payee, owner(payee));
        if self.history.random.chance(1, 8) {
            transfer.payee = AccountId(0);
            transfer.payee_owner = [0x60 + u8::try_from(self.history.random.below(9)).unwrap(); 20];
        }
        transfer.sent = TokenAmount::new(token, self.amount(1_000_000));
        transfer.storage_id = self.id(world, account, token);
        transfer.valid_until_s = world.now.as_s() + self.history.random.below(20);
        transfer.proof = self.proof(world, account);
        (signed(account), transfer.into())
    }

    fn withdrawal(&mut self, world: &mut World) -> (Caller, Request) {
        let account = self.party();
        let token = [BASE, QUOTE, LP][usize::try_from(self.history.random.below(3)).unwrap()];
        let mut withdrawal = world.withdrawal();
        withdrawal.hash = self.hash();
        (withdrawal.account, withdrawal.owner) = (account, owner(account));
        withdrawal.withdrawn = TokenAmount::new(token, self.amount(900_000));
        withdrawal.fast = self.history.random.chance(1, 4);
        withdrawal.storage_id = self.id(world, account, token);
        withdrawal.proof = self.proof(world, account);
        (signed(account), withdrawal.into())
    }

    fn key(&mut self, world: &mut World) -> (Caller, Request) {
        let account = self.party();
        let mut key = world.new_key();
        key.hash = self.hash();
        (key.account, key.owner) = (account, owner(account));
        let nonce = world
            .venue
            .account(account)
            .map_or(0, |account| account.nonce);
        key.nonce = u64::from(nonce);
        key.public_key = PublicKey {
            x: key.hash.0,
            y: [1; 32],
        };
        key.proof = self.proof(world, account);
        (signed(account), key.into())
    }

    fn input(&mut self, world: &World) -> Operator {
        let random = &mut self.history.random;
        let kinds = [
            RequestKind::Submit,
            RequestKind::Join,
            RequestKind::Exit,
            RequestKind::Transfer,
            RequestKind::Withdraw,
        ];
        let kind = kinds[usize::try_from(random.below(5)).unwrap()];
        match random.below(12) {
            0 => Operator::SettleWithdrawals,
            1 => Operator::SetMode(
                [
                    ExchangeMode::Open,
                    ExchangeMode::Open,
                    ExchangeMode::Open,
                    ExchangeMode::PostOnly,
                    ExchangeMode::CancelOnly,
                    ExchangeMode::Halted,
                ][usize::try_from(random.below(6)).unwrap()],
            ),
            2 | 3 => Operator::SetMode(ExchangeMode::Open),
            4 => Operator::InjectFault(Fault::FailLate {
                kind,
                after_ms: random.below(900),
                count: 1,
            }),
            5 => Operator::InjectFault(Fault::Answer {
                kind,
                reason: Reason::FreezeFailed,
                count: 1,
            }),
            6 => Operator::SetPool {
                pool: POOL,
                status: PoolStatus(u8::try_from(random.below(32)).unwrap() | 4),
                fee_bips: u16::try_from(random.below(200)).unwrap(),
                join_fee: 0,
                exit_fee: Amount::from(random.below(9)),
            },
            7 => Operator::DelistPool { pool: POOL },
            8 | 9 => Operator::ListPool(Box::new(crate::PoolListing {
                pool: pool(),
                lp: None,
            })),
            10 => Operator::Freeze {
                account: PARTIES[usize::try_from(random.below(3)).unwrap()],
                frozen: random.chance(1, 6),
            },
            _ => {
                let pending: Vec<_> = world
                    .venue
                    .submissions
                    .values()
                    .filter(|kept| kept.stage == crate::offchain::Stage::Pending)
                    .map(|kept| kept.hash)
                    .collect();
                match pending.first() {
                    Some(hash) => Operator::ReturnWithdrawal { hash: *hash },
                    None => Operator::SettleWithdrawals,
                }
            }
        }
    }
}

/// The product of the balances over the square of the supply never decreases.
fn fair(before: ([Amount; 2], Amount), after: ([Amount; 2], Amount)) -> bool {
    let (([x0, y0], s0), ([x1, y1], s1)) = (before, after);
    if s0 == 0 || s1 == 0 {
        return true;
    }
    let product = |x: Amount, y: Amount, s: Amount| {
        let square = s.checked_mul(s).unwrap();
        (x.checked_mul(y).unwrap(), square)
    };
    let ((k0, q0), (k1, q1)) = (product(x0, y0, s0), product(x1, y1, s1));
    crate::math::compare_products(k1, q0, k0, q1).is_ge()
}

/// R-GEN-04, R-POL-04
#[test]
fn every_history_of_every_kind_balances_and_no_pool_loses() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for style in [ROUGH, COARSE] {
        for seed in 0..8 {
            let mut world = world(style, seed);
            let mut wide = Wide::new(style, seed);
            for step in 0..600 {
                let (caller, request) = wide.next(&mut world);
                let reserves = |world: &World| world.venue.pool_reserves(&POOL).unwrap();
                let before = reserves(&world);
                // `ask` audits after every request.
                let answer = world.ask(&caller, &request);
                assert!(
                    fair(before, reserves(&world)),
                    "seed {seed} step {step}: {request:?}"
                );
                let what = match &answer {
                    Ok(Response::Submission(view)) if view.idempotent => "again".to_owned(),
                    Ok(Response::Submission(view)) => {
                        format!("{:?} {:?}", request.kind(), view.status)
                    }
                    Ok(Response::Submitted(made)) if made.idempotent => "again".to_owned(),
                    Ok(Response::Submitted(made)) => match &request {
                        Request::Submit(order) if order.pool.is_some() => {
                            format!("swap {:?}", made.status)
                        }
                        _ => "order".to_owned(),
                    },
                    Ok(_) => "other".to_owned(),
                    Err(refusal) => format!("{:?}", refusal.reason),
                };
                *seen.entry(what).or_default() += 1;
            }
            world.pass(3_600_000);
            let undecided = world.venue.submissions.values();
            assert_eq!(
                undecided.filter(|kept| kept.stage.is_undecided()).count(),
                0
            );
        }
    }
    for (what, least) in [
        ("again", 20),
        ("swap Processed", 100),
        ("swap Cancelled", 10),
        ("Join Processed", 20),
        ("Join Failed", 10),
        ("Exit Processed", 20),
        ("Transfer Processed", 50),
        ("Withdraw Processed", 50),
        ("Transfer Received", 50),
        ("UpdateKey Processed", 20),
        ("WrongSignature", 20),
        ("FreezeFailed", 5),
    ] {
        let count = seen.get(what).copied().unwrap_or_default();
        assert!(count >= least, "{what}: {count} of {seen:?}");
    }
}

/// R-GEN-03
#[test]
fn a_refusal_of_any_kind_changes_nothing_but_time() {
    let mut refusals = 0;
    for seed in 20..24 {
        let mut world = world(ROUGH, seed);
        let mut wide = Wide::new(ROUGH, seed);
        for _ in 0..400 {
            let (caller, request) = wide.next(&mut world);
            world.venue.advance(world.now);
            let before = world.venue.clone();
            if let Err(refusal) = world.ask(&caller, &request) {
                // An injected refusal is consumed.
                let injected = refusal.detail.starts_with("injected");
                assert!(injected || world.venue == before, "{request:?}: {refusal}");
                refusals += 1;
            }
        }
    }
    assert!(refusals > 300, "{refusals}");
}

/// R-GEN-05, R-DLY-01
#[test]
fn advancing_more_often_makes_no_difference() {
    for seed in [31, 33] {
        let mut world = world(ROUGH, seed);
        let mut woken: Venue = world.venue.clone();
        let mut wide = Wide::new(ROUGH, seed);
        for _ in 0..400 {
            let (caller, request) = wide.next(&mut world);
            while let Some(next) = woken.next_wakeup().filter(|next| *next <= world.now) {
                woken.advance(next);
                assert_ne!(woken.next_wakeup(), Some(next), "a timer without effect");
            }
            let answer = woken.handle(world.now, &caller, &request);
            assert_eq!(answer, world.ask(&caller, &request));
            assert!(woken == world.venue);
        }
    }
}

/// R-SUB-11
#[test]
fn a_long_history_of_submissions_stays_small() {
    let mut world = world(ROUGH, 0);
    for _ in 0..200 {
        let transfer = world.transfer();
        assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
    }
    assert_eq!(world.venue.submissions.len(), 20);
    assert!(world.venue.due.is_empty());
}
