//! A venue with a pool, and submissions with default fields.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, Reason, Side, TokenId};

use crate::testing::*;
use crate::{
    AccountId, Address, NewExit, NewJoin, NewKey, NewOrder, NewTransfer, NewWithdrawal, Operator,
    PoolBalanceView, PoolConfig, PoolStatus, PoolTransactionsQuery, PoolTransactionsView, Proof,
    PublicKey, Refusal, Request, Response, SubmissionStatus, SubmissionView, TokenAmount,
    VenueConfig,
};

pub(super) const LP: TokenId = TokenId(4);
pub(super) const POOL: Address = [0x70; 20];

pub(super) fn pool() -> PoolConfig {
    PoolConfig {
        name: "AMM-AAA-QQQ".to_owned(),
        address: POOL,
        pooled: [BASE, QUOTE],
        lp: LP,
        fee_bips: 20,
        price_precision: 6,
        amount_precision: 4,
        status: PoolStatus::OPEN,
        join_fee: 0,
        exit_fee: 0,
    }
}

/// The usual venue with a pool of its first market.
pub(super) fn with_pool() -> VenueConfig {
    let mut config = config();
    let mut lp = token(LP, "LP-AAA-QQQ", 8, 1);
    lp.spec.maximum = 1 << 95;
    config.tokens.push(lp);
    config.pools.push(pool());
    config
}

/// Initial base and quote units in the pool: 100 at 2,500.
pub(super) const SEED: [Amount; 2] = [100 * ONE, 250_000 * UNIT];

/// A world whose pool Carol has funded; she holds 10^10 LP units.
pub(super) fn filled(config: VenueConfig) -> World {
    let mut world = World::with(config);
    world.operate(Operator::JoinPool {
        hash: Hash([0xc0; 32]),
        account: CAROL,
        pool: POOL,
        amounts: SEED,
    });
    world
}

/// Owner addresses of the three accounts.
pub(super) const fn owner(account: AccountId) -> Address {
    [account.0.to_be_bytes()[3]; 20]
}

/// An EdDSA signature of the first key.
pub(super) fn eddsa() -> Proof {
    Proof {
        eddsa: Some(crate::KeyEpoch(0)),
        ..Proof::default()
    }
}

impl World {
    pub(super) fn fresh(&mut self) -> (Hash, u64) {
        let order = self.order(ALICE, Side::Buy, 250_000, ONE);
        let mut hash = order.hash;
        hash.0[0] = 0xaa;
        (hash, order.storage_id + 1)
    }

    pub(super) fn swap_order(
        &mut self,
        account: AccountId,
        side: Side,
        sold: Amount,
        wanted: Amount,
    ) -> NewOrder {
        let mut order = self.order(account, side, 250_000, ONE);
        order.sell_amount = sold;
        order.buy_amount = wanted;
        order.fill_by = FillBy::Sell;
        order.kind = OrderKind::Limit;
        order.pool = Some(POOL);
        order
    }

    /// 5 base from Alice to Bob.
    pub(super) fn transfer(&mut self) -> NewTransfer {
        let (hash, storage_id) = self.fresh();
        NewTransfer {
            hash,
            exchange: [7; 20],
            payer: ALICE,
            payer_owner: owner(ALICE),
            payee: BOB,
            payee_owner: owner(BOB),
            sent: TokenAmount::new(BASE, 5 * ONE),
            max_fee: TokenAmount::new(QUOTE, 0),
            storage_id,
            valid_until_s: self.now.as_s() + 3_600,
            memo: None,
            proof: eddsa(),
        }
    }

    /// 5 base from Alice to layer 1.
    pub(super) fn withdrawal(&mut self) -> NewWithdrawal {
        let (hash, storage_id) = self.fresh();
        NewWithdrawal {
            hash,
            exchange: [7; 20],
            account: ALICE,
            owner: owner(ALICE),
            withdrawn: TokenAmount::new(BASE, 5 * ONE),
            max_fee: TokenAmount::new(QUOTE, 0),
            storage_id,
            valid_until_s: self.now.as_s() + 3_600,
            to: [0x31; 20],
            fast: false,
            proof: eddsa(),
        }
    }

    /// Alice's second key.
    pub(super) fn new_key(&mut self) -> NewKey {
        let (hash, _) = self.fresh();
        NewKey {
            hash,
            exchange: [7; 20],
            account: ALICE,
            owner: owner(ALICE),
            public_key: PublicKey {
                x: [2; 32],
                y: [3; 32],
            },
            max_fee: TokenAmount::new(QUOTE, 0),
            valid_until_s: self.now.as_s() + 3_600,
            nonce: 1,
            proof: eddsa(),
        }
    }

    /// Alice offers 10 base and 25,000 quote.
    pub(super) fn join(&mut self) -> NewJoin {
        let (hash, storage_id) = self.fresh();
        NewJoin {
            hash,
            owner: owner(ALICE),
            pool: POOL,
            joined: vec![
                TokenAmount::new(BASE, 10 * ONE),
                TokenAmount::new(QUOTE, 25_000 * UNIT),
            ],
            minimum_lp: 1,
            max_fee: None,
            storage_ids: vec![storage_id, storage_id],
            valid_until_s: self.now.as_s() + 3_600,
            proof: eddsa(),
        }
    }

    /// Carol redeems a tenth.
    pub(super) fn exit(&mut self) -> NewExit {
        let (hash, storage_id) = self.fresh();
        NewExit {
            hash,
            owner: owner(CAROL),
            pool: POOL,
            minimums: vec![TokenAmount::new(BASE, 0), TokenAmount::new(QUOTE, 0)],
            burned: 1_000_000_000,
            storage_id,
            max_fee: 0,
            valid_until_s: self.now.as_s() + 3_600,
            proof: eddsa(),
        }
    }

    /// Submits as the account that the request names.
    pub(super) fn send(&mut self, request: &Request) -> Result<SubmissionView, Refusal> {
        let account = match request {
            Request::Transfer(transfer) => transfer.payer,
            Request::Withdraw(withdrawal) => withdrawal.account,
            Request::UpdateKey(key) => key.account,
            Request::Join(join) => AccountId(u32::from(join.owner[0])),
            Request::Exit(exit) => AccountId(u32::from(exit.owner[0])),
            other => panic!("{other:?} is not a submission"),
        };
        match self.ask(&signed(account), request)? {
            Response::Submission(view) => Ok(view),
            other => panic!("{other:?}"),
        }
    }

    /// The status of a submission that must be accepted.
    pub(super) fn sent(&mut self, request: impl Into<Request>) -> SubmissionStatus {
        let request = request.into();
        self.send(&request).expect("a submission").status
    }

    /// The reason for which a submission is refused.
    pub(super) fn not_sent(&mut self, request: impl Into<Request>) -> Reason {
        let request = request.into();
        let before = self.venue.clone();
        let refusal = self.send(&request).expect_err("a refusal");
        assert!(self.venue == before, "a refusal changed something");
        refusal.reason
    }

    pub(super) fn submission(&mut self, account: AccountId, hash: Hash) -> SubmissionStatus {
        let request = Request::Submission { account, hash };
        match self.ask(&signed(account), &request) {
            Ok(Response::Submission(view)) => view.status,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn pool_balance(&mut self) -> PoolBalanceView {
        let request = Request::PoolBalance { pool: POOL };
        match self.ask(&crate::Caller::Public, &request) {
            Ok(Response::PoolBalance(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn transactions(&mut self, query: PoolTransactionsQuery) -> PoolTransactionsView {
        let caller = signed(query.account);
        match self.ask(&caller, &Request::PoolTransactions(query)) {
            Ok(Response::PoolTransactions(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    /// Advances the time.
    pub(super) fn pass(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
        self.venue.advance(self.now);
        assert_eq!(self.venue.audit(), Ok(()));
    }
}

macro_rules! into_request {
    ($($kind:ident($payload:ty)),*) => {
        $(impl From<$payload> for Request {
            fn from(payload: $payload) -> Self {
                Self::$kind(Box::new(payload))
            }
        })*
    };
}

into_request!(
    Transfer(NewTransfer),
    Withdraw(NewWithdrawal),
    UpdateKey(NewKey),
    Join(NewJoin),
    Exit(NewExit)
);
