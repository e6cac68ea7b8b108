//! Transfers, withdrawals, key updates, joins and exits: their locks while they wait, and their changes when they
//! settle.

use crate::invariants::table::Invariant;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, OrderStatus, TokenId};
use cambist_venue::{
    AccountId, Address, ExchangeMode, NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal,
    Response, TokenAmount,
};

use super::{Broken, Oracle};
use crate::oracle::order_entry::unread;
use crate::oracle::probe::Probe;

/// The effect of a submission.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Transfer {
        payee: Address,
        sent: TokenAmount,
    },
    /// A fast one leaves when it is settled; another one is pending until the operator ends it.
    Withdraw {
        sent: TokenAmount,
        fast: bool,
    },
    Join {
        pool: usize,
        offered: [Amount; 2],
        least: Amount,
    },
    Exit {
        pool: usize,
        burned: Amount,
        least: [Amount; 2],
    },
}

/// A submission that is not settled yet.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) hash: Hash,
    pub(super) account: AccountId,
    pub(super) work: Work,
    fee: TokenAmount,
    begun: bool,
    may_fail: bool,
    /// Whether it has left the exchange and not arrived on the chain.
    pub(super) pending: bool,
}

impl Oracle {
    pub(super) fn transfer(
        &mut self,
        order_request: &NewTransfer,
        answer: &Response,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let work = Work::Transfer {
            payee: order_request.payee_owner,
            sent: order_request.sent,
        };
        let fee = service(&self.fees.transfer, order_request.max_fee.token);
        let ids = [(order_request.sent.token, order_request.storage_id)];
        self.take_in(
            (order_request.hash, order_request.payer),
            work,
            fee,
            &ids,
            answer,
            probe,
        )
    }

    pub(super) fn withdraw(
        &mut self,
        order_request: &NewWithdrawal,
        answer: &Response,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let work = Work::Withdraw {
            sent: order_request.withdrawn,
            fast: order_request.fast,
        };
        let fee = service(&self.fees.withdrawal, order_request.max_fee.token);
        let ids = [(order_request.withdrawn.token, order_request.storage_id)];
        self.take_in(
            (order_request.hash, order_request.account),
            work,
            fee,
            &ids,
            answer,
            probe,
        )
    }

    /// A new key ends every order of the old one (R-AKU-02). Its other effects are not kept here.
    pub(super) fn update_key(&mut self, order_request: &NewKey) -> Result<(), Broken> {
        let fee = service(&self.fees.update, order_request.max_fee.token);
        self.money
            .take(order_request.account, fee.token, fee.amount)?;
        self.money.give(self.collector, fee.token, fee.amount);
        let of = |submission: &Submission| submission.account == order_request.account;
        if self.submissions.values().any(|s| of(s) && !s.pending) {
            return Err(unread("a key update beside undecided submissions"));
        }
        let open = self.orders.iter();
        let open = open.filter(|(_, order)| order.account == order_request.account);
        let open: Vec<_> = open.map(|(number, _)| *number).collect();
        for number in open {
            self.close(number, OrderStatus::Cancelled)?;
        }
        self.next += 1;
        Ok(())
    }

    pub(super) fn join(
        &mut self,
        order_request: &NewJoin,
        answer: &Response,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let (pool, pooled, [fee, _]) = self.pool_at(&order_request.pool)?;
        let who = (order_request.hash, self.owner(&order_request.owner)?);
        let amounts: Vec<_> = order_request
            .joined
            .iter()
            .map(|part| part.amount)
            .collect();
        let work = Work::Join {
            pool,
            offered: amounts.try_into().map_err(|_| unread("a join"))?,
            least: order_request.minimum_lp,
        };
        let fee = TokenAmount::new(pooled[1], fee);
        let ids: Vec<_> = pooled
            .into_iter()
            .zip(order_request.storage_ids.clone())
            .collect();
        self.take_in(who, work, fee, &ids, answer, probe)
    }

    pub(super) fn exit(
        &mut self,
        order_request: &NewExit,
        answer: &Response,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let (pool, pooled, [_, fee]) = self.pool_at(&order_request.pool)?;
        let who = (order_request.hash, self.owner(&order_request.owner)?);
        let amounts: Vec<_> = order_request
            .minimums
            .iter()
            .map(|part| part.amount)
            .collect();
        let work = Work::Exit {
            pool,
            burned: order_request.burned,
            least: amounts.try_into().map_err(|_| unread("an exit"))?,
        };
        let fee = TokenAmount::new(pooled[1], fee);
        let ids = [(self.pools[pool].lp, order_request.storage_id)];
        self.take_in(who, work, fee, &ids, answer, probe)
    }

    /// Accepts one: its ids are used, its funds locked.
    fn take_in(
        &mut self,
        (hash, account): (Hash, AccountId),
        work: Work,
        fee: TokenAmount,
        ids: &[(TokenId, u64)],
        answer: &Response,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let Response::Submission(taken) = answer else {
            return Err(unread("a submission's answer"));
        };
        if taken.idempotent {
            let known = self.submissions.values().any(|s| s.hash == hash);
            return known
                .then_some(())
                .ok_or_else(|| wrong(hash, "is not undecided"));
        }
        let number = self.next;
        for (token, id) in ids {
            let id = u32::try_from(*id).map_err(|_| wrong(hash, "has no storage id"))?;
            let before = self.slots.last(account, *token, id);
            let before = before.map_err(|_| wrong(hash, "uses a storage id again"))?;
            if let Some(older) = before.filter(|older| self.orders.contains_key(older)) {
                self.close(older, OrderStatus::Cancelled)?;
            }
            self.slots.spend(account, *token, id, number);
        }
        let waits = self.delays.received_ms + self.delays.processing_ms > 0;
        let dice = self.delays.late_failures_permille > 0;
        let submission = Submission {
            hash,
            account,
            work,
            fee,
            begun: false,
            may_fail: waits && dice,
            pending: false,
        };
        for (token, amount) in self.binds(&submission) {
            self.money.lock(account, token, amount)?;
        }
        self.next += 1;
        self.submissions.insert(number, submission);
        if self.delays.received_ms > 0 {
            let at = self.now.plus_ms(self.delays.received_ms);
            self.due.insert((at, number));
            return Ok(());
        }
        self.go_on(number, probe)
    }

    /// Its locks until it settles. An exit pays its fee from what it receives.
    fn binds(&self, submission: &Submission) -> Vec<(TokenId, Amount)> {
        let fee = (submission.fee.token, submission.fee.amount);
        match &submission.work {
            Work::Transfer { sent, .. } | Work::Withdraw { sent, .. } => {
                vec![(sent.token, sent.amount), fee]
            }
            Work::Join { pool, offered, .. } => {
                let [first, second] = self.pools[*pool].pooled;
                vec![(first, offered[0]), (second, offered[1]), fee]
            }
            Work::Exit { pool, burned, .. } => vec![(self.pools[*pool].lp, *burned)],
        }
    }

    /// From received to processing to settled.
    pub(super) fn go_on(&mut self, number: u64, probe: &mut Probe<'_>) -> Result<(), Broken> {
        let Some(submission) = self.submissions.get_mut(&number) else {
            return Err(unread("what was due"));
        };
        if !submission.begun {
            submission.begun = true;
            if self.delays.processing_ms > 0 {
                let at = self.now.plus_ms(self.delays.processing_ms);
                self.due.insert((at, number));
                return Ok(());
            }
        }
        let submission = submission.clone();
        let account = submission.account;
        for (token, amount) in self.binds(&submission) {
            self.money.unlock(account, token, amount)?;
        }
        let failed = probe.submission_failed(account, submission.hash);
        let frozen = self.frozen.contains(&account);
        let settled = if frozen || failed && submission.may_fail {
            false
        } else {
            self.settle(number, &submission)?
        };
        if !settled || self.submissions.get(&number).is_none_or(|s| !s.pending) {
            self.submissions.remove(&number);
        }
        if settled == failed {
            return Err(wrong(submission.hash, "ended otherwise than reported"));
        }
        Ok(())
    }

    /// Applies its effect from the released funds; false if that is impossible.
    fn settle(&mut self, number: u64, submission: &Submission) -> Result<bool, Broken> {
        let (account, fee) = (submission.account, submission.fee);
        match submission.work {
            Work::Transfer { payee, sent } => {
                self.money.take(account, sent.token, sent.amount)?;
                let known = self.owners.get(&payee).copied();
                let payee = known.unwrap_or_else(|| self.open_account(payee));
                self.money.give(payee, sent.token, sent.amount);
                self.charge(account, fee)?;
            }
            Work::Withdraw { sent, fast: true } => {
                self.charge(account, fee)?;
                self.money.leave(account, sent.token, sent.amount)?;
            }
            Work::Withdraw { sent, fast: false } => {
                self.charge(account, fee)?;
                self.money.lock(account, sent.token, sent.amount)?;
                if let Some(kept) = self.submissions.get_mut(&number) {
                    kept.pending = true;
                }
            }
            Work::Join {
                pool,
                offered,
                least,
            } => {
                let open = match self.mode {
                    ExchangeMode::Open | ExchangeMode::PostOnly => self.pools[pool].takes_joins,
                    ExchangeMode::CancelOnly | ExchangeMode::Halted => false,
                };
                let joined = self.pools[pool].join(offered).filter(|_| open);
                let Some((minted, taken)) = joined.filter(|(minted, _)| *minted >= least) else {
                    return Ok(false);
                };
                self.book_join(account, pool, minted, taken)?;
                self.charge(account, fee)?;
            }
            Work::Exit {
                pool,
                burned,
                least,
            } => {
                return self.leave_pool(account, pool, burned, least, fee.amount);
            }
        }
        Ok(true)
    }

    fn charge(&mut self, account: AccountId, fee: TokenAmount) -> Result<(), Broken> {
        self.money.take(account, fee.token, fee.amount)?;
        self.money.give(self.collector, fee.token, fee.amount);
        Ok(())
    }

    pub(super) fn book_join(
        &mut self,
        account: AccountId,
        pool: usize,
        minted: Amount,
        taken: [Amount; 2],
    ) -> Result<(), Broken> {
        let pool = &mut self.pools[pool];
        for (i, amount) in taken.into_iter().enumerate() {
            self.money.take(account, pool.pooled[i], amount)?;
            pool.held[i] += amount;
        }
        pool.supply += minted;
        self.money.come(account, pool.lp, minted);
        Ok(())
    }

    fn leave_pool(
        &mut self,
        account: AccountId,
        index: usize,
        burned: Amount,
        least: [Amount; 2],
        fee: Amount,
    ) -> Result<bool, Broken> {
        let pool = &mut self.pools[index];
        let paid = pool.exit(burned).filter(|_| pool.takes_exits);
        let Some(paid) = paid.filter(|paid| paid[0] >= least[0] && paid[1] >= least[1]) else {
            return Ok(false);
        };
        pool.supply -= burned;
        self.money.leave(account, pool.lp, burned)?;
        for (i, amount) in paid.into_iter().enumerate() {
            pool.held[i] -= amount;
            self.money.give(account, pool.pooled[i], amount);
        }
        let fee = TokenAmount::new(pool.pooled[1], fee.min(paid[1]));
        self.charge(account, fee)?;
        Ok(true)
    }
}

/// The fee of a service in a token. An empty table means no fee.
fn service(table: &SortedMap<TokenId, Amount>, token: TokenId) -> TokenAmount {
    TokenAmount::new(token, table.get(&token).copied().unwrap_or(0))
}

fn wrong(hash: Hash, what: &str) -> Broken {
    (Invariant::OracleSubmission, format!("{hash} {what}"))
}
