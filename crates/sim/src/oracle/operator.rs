//! Actions of the exchange's operator: accounts, deposits, listings, fees, modes, delays.

use cambist_core::{Hash, OrderStatus};
use cambist_venue::{AccountId, Address, Fault, MarketConfig, Operator, PoolStatus, Response};

use super::market::Market;
use super::pools::Pool;
use super::submissions::Work;
use super::{Broken, Oracle};
use crate::oracle::order_entry::unread;

impl Oracle {
    /// Applies a granted request of the operator.
    pub(super) fn operate(&mut self, request: &Operator, answer: &Response) -> Result<(), Broken> {
        match request {
            Operator::CreateAccount { owner, .. } => match answer {
                Response::Done(Some(id)) => {
                    self.owners.insert(*owner, *id);
                }
                _ => return Err(unread("the answer to a new account")),
            },
            Operator::Deposit {
                account,
                token,
                amount,
            }
            | Operator::DepositOnce {
                account,
                token,
                amount,
                ..
            }
            | Operator::ConfirmDeposit {
                account,
                token,
                amount,
            } => self.money.come(*account, *token, *amount),
            Operator::Withdraw {
                account,
                token,
                amount,
            } => self.money.leave(*account, *token, *amount)?,
            Operator::Freeze { account, frozen } => {
                if *frozen {
                    self.frozen.insert(*account);
                } else {
                    self.frozen.remove(account);
                }
            }
            Operator::EnableMarket { market, enabled } => self.market(market)?.open = *enabled,
            Operator::SetFees {
                market,
                maker_fee_bips,
                taker_fee_bips,
            } => {
                let market = self.market(market)?;
                (market.maker_bips, market.taker_bips) = (*maker_fee_bips, *taker_fee_bips);
            }
            Operator::SettleWithdrawal { hash } => self.end_withdrawal(*hash, true)?,
            Operator::ReturnWithdrawal { hash } => self.end_withdrawal(*hash, false)?,
            Operator::SettleWithdrawals => {
                let pending = self.submissions.values().filter(|s| s.pending);
                let hashes: Vec<_> = pending.map(|s| s.hash).collect();
                for hash in hashes {
                    self.end_withdrawal(hash, true)?;
                }
            }
            Operator::ListToken(_)
            | Operator::ListMarket(_)
            | Operator::DelistMarket { .. }
            | Operator::ListPool(_)
            | Operator::DelistPool { .. }
            | Operator::SetPool { .. } => self.relist(request)?,
            Operator::JoinPool {
                account,
                pool,
                amounts,
                ..
            } => {
                let (index, ..) = self.pool_at(pool)?;
                let (minted, taken) = self.pools[index]
                    .join(*amounts)
                    .ok_or_else(|| unread("a join that makes no share"))?;
                self.book_join(*account, index, minted, taken)?;
                self.next += 1;
            }
            Operator::SetServiceFees(fees) => self.fees = (**fees).clone(),
            Operator::SetDelays(delays) => self.delays = *delays,
            Operator::SetMode(mode) => self.mode = *mode,
            Operator::InjectFault(Fault::FailLate { .. }) => {
                return Err(unread("an arranged failure"));
            }
            // Injected answers are refusals. The other faults change nothing and allow nothing that is checked here.
            Operator::InjectFault(Fault::Answer { .. } | Fault::Clear)
            | Operator::EnableToken { .. }
            | Operator::AnnounceDeposit { .. }
            | Operator::ApproveHash { .. }
            | Operator::DelistToken { .. }
            | Operator::SetLimits(_) => {}
            // No world uses them: their restrictions are not derived here.
            Operator::SetAccountOpening(_) | Operator::SetPriceBand { .. } => {
                return Err(unread("a bound on openings or prices"));
            }
        }
        Ok(())
    }

    /// Applies listings, and permissions and fees of pools.
    fn relist(&mut self, request: &Operator) -> Result<(), Broken> {
        match request {
            Operator::ListToken(token) => {
                let (decimals, dust) = (token.spec.decimals, token.spec.dust);
                self.tokens.insert(token.spec.id, (decimals, dust));
            }
            Operator::ListMarket(market) => self.list(market),
            Operator::DelistMarket { market } => self.delist(market)?,
            Operator::ListPool(listing) => {
                if let Some(token) = &listing.lp {
                    let (decimals, dust) = (token.spec.decimals, token.spec.dust);
                    self.tokens.insert(token.spec.id, (decimals, dust));
                }
                let mut listed = Pool::new(&listing.pool);
                if let Ok((index, ..)) = self.pool_at(&listing.pool.address) {
                    (listed.held, listed.supply) =
                        (self.pools[index].held, self.pools[index].supply);
                    self.pools[index] = listed;
                } else {
                    self.pools.push(listed);
                }
            }
            Operator::DelistPool { pool } => self.set_pool(pool, PoolStatus(PoolStatus::EXIT))?,
            Operator::SetPool {
                pool,
                status,
                fee_bips,
                join_fee,
                exit_fee,
            } => {
                self.set_pool(pool, *status)?;
                let (index, ..) = self.pool_at(pool)?;
                let pool = &mut self.pools[index];
                (pool.fee_bips, pool.fees) = (*fee_bips, [*join_fee, *exit_fee]);
            }
            _ => return Err(unread("a request about listings")),
        }
        Ok(())
    }

    /// Adds a market, or lists one again.
    pub(super) fn list(&mut self, config: &MarketConfig) {
        let decimals = |token| self.tokens.get(&token).map_or(0, |(decimals, _)| *decimals);
        let market = Market::new(config, decimals(config.base), decimals(config.quote));
        let known = self.markets.iter().position(|m| m.name == config.name);
        match (market, known) {
            // Its book is empty: delisting cancelled its orders.
            (Some(market), Some(index)) => self.markets[index] = market,
            (Some(market), None) => self.markets.push(market),
            (None, _) => self.found.push(unread("a market beyond counting")),
        }
    }

    fn delist(&mut self, name: &str) -> Result<(), Broken> {
        self.market(name)?.listed = false;
        let index = self.markets.iter().position(|m| m.name == name);
        let open = self.orders.iter();
        let open = open.filter(|(_, order)| Some(order.market) == index);
        let open: Vec<_> = open.map(|(number, _)| *number).collect();
        for number in open {
            self.close(number, OrderStatus::Cancelled)?;
        }
        Ok(())
    }

    fn market(&mut self, name: &str) -> Result<&mut Market, Broken> {
        let mut markets = self.markets.iter_mut();
        let found = markets.find(|market| market.listed && market.name == name);
        found.ok_or_else(|| unread("a market's name"))
    }

    /// The index of a pool, its tokens, and its fees of a join and an exit.
    pub(super) fn pool_at(
        &self,
        address: &Address,
    ) -> Result<(usize, [cambist_core::TokenId; 2], [u128; 2]), Broken> {
        let index = self.pools.iter().position(|p| p.address == *address);
        let index = index.ok_or_else(|| unread("a pool's address"))?;
        let pool = &self.pools[index];
        Ok((index, pool.pooled, pool.fees))
    }

    fn set_pool(&mut self, address: &Address, status: PoolStatus) -> Result<(), Broken> {
        let (index, ..) = self.pool_at(address)?;
        let pool = &mut self.pools[index];
        pool.takes_joins = status.has(PoolStatus::JOIN);
        pool.takes_exits = status.has(PoolStatus::EXIT);
        pool.takes_swaps = status.has(PoolStatus::SWAP);
        Ok(())
    }

    pub(super) fn owner(&self, owner: &Address) -> Result<AccountId, Broken> {
        let found = self.owners.get(owner).copied();
        found.ok_or_else(|| unread("an owner without account"))
    }

    /// A transfer opens an account with the next number (R-TRF-02).
    pub(super) fn open_account(&mut self, owner: Address) -> AccountId {
        let highest = self.owners.values().map(|id| id.0).max().unwrap_or(0);
        let id = AccountId((highest + 1).max(self.first_account.0));
        self.owners.insert(owner, id);
        id
    }

    fn end_withdrawal(&mut self, hash: Hash, arrived: bool) -> Result<(), Broken> {
        let mut all = self.submissions.iter();
        let found = all.find(|(_, s)| s.pending && s.hash == hash);
        let number = found.map(|(number, _)| *number);
        let submission = number.and_then(|number| self.submissions.remove(&number));
        let submission = submission.ok_or_else(|| unread("a withdrawal that is not pending"))?;
        let Work::Withdraw { sent, .. } = submission.work else {
            return Err(unread("a pending submission"));
        };
        let account = submission.account;
        self.money.unlock(account, sent.token, sent.amount)?;
        if arrived {
            self.money.leave(account, sent.token, sent.amount)?;
        }
        Ok(())
    }
}
