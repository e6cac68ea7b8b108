//! Joins and exits: their fields, and joins that were made on the chain.

use cambist_core::{Amount, Hash, Reason};

use super::checks::{Plan, refuse};
use super::submission::{Stage, Submission, Work};
use super::{NewExit, NewJoin, TokenAmount};
use crate::account::{AccountId, Address};
use crate::mode::ExchangeMode;
use crate::pool::{Layer, PoolStatus};
use crate::request::{Caller, RequestKind};
use crate::response::{Refusal, SubmissionView};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn join(
        &mut self,
        caller: &Caller,
        join: &NewJoin,
    ) -> Result<SubmissionView, Refusal> {
        let plan = self.read_join(caller, join)?;
        self.take_submission(RequestKind::Join, join.hash, &join.proof, plan)
    }

    pub(crate) fn exit(
        &mut self,
        caller: &Caller,
        exit: &NewExit,
    ) -> Result<SubmissionView, Refusal> {
        let plan = self.read_exit(caller, exit)?;
        self.take_submission(RequestKind::Exit, exit.hash, &exit.proof, plan)
    }

    /// Whether a pool accepts joins now.
    pub(super) fn takes_joins(&self, pool: usize) -> bool {
        let pool = &self.pools[pool];
        let open = match self.mode {
            ExchangeMode::Open | ExchangeMode::PostOnly => true,
            ExchangeMode::CancelOnly | ExchangeMode::Halted => false,
        };
        open && pool.listed && pool.config.status.has(PoolStatus::JOIN)
    }

    /// Whether a pool accepts exits now.
    pub(super) fn takes_exits(&self, pool: usize) -> bool {
        self.pools[pool].config.status.has(PoolStatus::EXIT)
    }

    /// Account and fields of a join.
    pub(crate) fn read_join(&self, caller: &Caller, join: &NewJoin) -> Result<Plan, Refusal> {
        let (account, pool) = self.read_pool(caller, join.owner, join.pool)?;
        if !self.takes_joins(pool) {
            return refuse(Reason::InvalidReceiver, "the pool does not accept joins");
        }
        let config = &self.pools[pool].config;
        let offered = self.read_pooled(pool, &join.joined)?;
        for amount in offered {
            self.check_amount(amount)?;
        }
        self.check_pool_fee(pool, config.join_fee, join.max_fee.unwrap_or(0))?;
        let [first, second] = join.storage_ids[..] else {
            return refuse(
                Reason::InvalidNonce,
                "one storage id per pooled token is needed",
            );
        };
        Ok(Plan {
            account,
            ids: vec![
                (config.pooled[0], Self::check_storage_id(first)?),
                (config.pooled[1], Self::check_storage_id(second)?),
            ],
            valid_until_s: self.check_expiry_field(join.valid_until_s)?,
            work: Work::Join {
                pool,
                offered,
                minimum_lp: join.minimum_lp,
                fee: config.join_fee,
            },
        })
    }

    /// Account and fields of an exit.
    pub(crate) fn read_exit(&self, caller: &Caller, exit: &NewExit) -> Result<Plan, Refusal> {
        let (account, pool) = self.read_pool(caller, exit.owner, exit.pool)?;
        if !self.takes_exits(pool) {
            return refuse(Reason::InvalidReceiver, "the pool does not accept exits");
        }
        let config = &self.pools[pool].config;
        let minimums = self.read_pooled(pool, &exit.minimums)?;
        self.check_amount(exit.burned)?;
        self.check_pool_fee(pool, config.exit_fee, exit.max_fee)?;
        Ok(Plan {
            account,
            ids: vec![(config.lp, Self::check_storage_id(exit.storage_id)?)],
            valid_until_s: self.check_expiry_field(exit.valid_until_s)?,
            work: Work::Exit {
                pool,
                minimums,
                burned: exit.burned,
                fee: config.exit_fee,
            },
        })
    }

    fn read_pool(
        &self,
        caller: &Caller,
        owner: Address,
        pool: Address,
    ) -> Result<(AccountId, usize), Refusal> {
        let Some(account) = self.owners.get(&owner).copied() else {
            return match caller {
                Caller::Public => self
                    .check_owner(caller, AccountId(0))
                    .map(|()| (AccountId(0), 0)),
                Caller::Account { .. } | Caller::Internal { .. } | Caller::Operator => {
                    refuse(Reason::InvalidSender, "the owner has no account")
                }
            };
        };
        self.check_owner(caller, account)?;
        match self.find_pool(&pool) {
            Some(index) => Ok((account, index)),
            None => refuse(Reason::WrongExchange, "no such pool"),
        }
    }

    /// Amounts of exactly the pooled tokens, in their order.
    fn read_pooled(&self, pool: usize, given: &[TokenAmount]) -> Result<[Amount; 2], Refusal> {
        let [first, second] = self.pools[pool].config.pooled;
        match given {
            [a, b] if a.token == first && b.token == second => Ok([a.amount, b.amount]),
            _ => refuse(
                Reason::FeeTokenMismatch,
                format!("the pooled tokens are {} and {}", first.0, second.0),
            ),
        }
    }

    fn check_pool_fee(&self, pool: usize, fee: Amount, accepted: Amount) -> Result<(), Refusal> {
        let token = self.pools[pool].fee_token();
        if !self.is_open_token(token) {
            return refuse(
                Reason::UnsupportedFeeToken,
                format!("token {} is not listed or is closed", token.0),
            );
        }
        if accepted < fee {
            return refuse(
                Reason::FeeTokenMismatch,
                format!("the fee is {fee} of token {}", token.0),
            );
        }
        Ok(())
    }

    /// Books a join from the chain out of free funds.
    pub(crate) fn book_join(
        &mut self,
        hash: Hash,
        account: AccountId,
        pool: &Address,
        offered: [Amount; 2],
    ) -> Result<(), Refusal> {
        let Some(index) = self.find_pool(pool) else {
            return refuse(Reason::InvalidArgument, "no such pool");
        };
        if self.submission_hashes.contains_key(&hash) {
            return refuse(Reason::InvalidArgument, "this join was booked before");
        }
        let tokens = self.pools[index].config.pooled;
        let holder = self.accounts.get(&account).ok_or_else(|| {
            Refusal::new(
                Reason::UserNotFound,
                format!("account {} does not exist", account.0),
            )
        })?;
        for (token, amount) in tokens.into_iter().zip(offered) {
            if holder.balance(token).free() < amount {
                return refuse(
                    Reason::InsufficientBalance,
                    format!(
                        "the free balance of token {} is less than the amount",
                        token.0
                    ),
                );
            }
        }
        let Some(settled) = self.settle_join(account, index, offered, 0, 0) else {
            return refuse(
                Reason::InvalidArgument,
                "the amounts are too small for a share",
            );
        };
        let number = self.keep(Submission {
            number: self.sequence,
            hash,
            account,
            work: Work::Join {
                pool: index,
                offered,
                minimum_lp: 0,
                fee: 0,
            },
            stage: Stage::Processed,
            signed: None,
            fails: false,
            due: None,
            layer: Layer::One,
            created: self.now,
            updated: self.now,
            settled: Some(settled),
        });
        self.retire_submission(number);
        Ok(())
    }
}
