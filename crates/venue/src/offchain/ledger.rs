//! A simple layer-1 ledger: deposits are announced and confirmed, withdrawals settled or returned. The operator plays
//! the role of the chain.

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, Hash, Reason, TokenId};

use super::checks::refuse;
use super::submission::{Stage, Work};
use crate::account::AccountId;
use crate::response::Refusal;
use crate::venue::Venue;

impl Venue {
    /// Amount of a token on layer 2: LP units come from their pool, all other tokens from deposits.
    pub(crate) fn in_circulation(&self, token: TokenId) -> Amount {
        let supply = self.supply.get(&token).copied().unwrap_or_default();
        let minted = self
            .pools
            .iter()
            .filter(|pool| pool.config.lp == token)
            .map(|pool| pool.supply)
            .sum::<Amount>();
        minted + supply.deposited - supply.withdrawn
    }

    /// Books a deposit. No token's supply exceeds 96 bits, so that no sum of balances can overflow. LP units can be
    /// deposited only up to what was withdrawn.
    pub(crate) fn deposit(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        self.check_deposit(account, token)?;
        let supply = self.supply.get(&token).copied().unwrap_or_default();
        let is_lp = self.pools.iter().any(|pool| pool.config.lp == token);
        let out = supply.withdrawn.saturating_sub(supply.deposited);
        if is_lp && amount > out {
            return refuse(
                Reason::InvalidArgument,
                "LP units are created by joins only",
            );
        }
        if amount > AMOUNT_MAX || self.in_circulation(token) + amount > AMOUNT_MAX {
            return refuse(
                Reason::InvalidArgument,
                "the supply of a token is limited to 96 bits",
            );
        }
        let Some(deposited) = supply.deposited.checked_add(amount) else {
            return refuse(
                Reason::InvalidArgument,
                "the sum of all deposits is too large",
            );
        };
        self.supply.entry(token).or_default().deposited = deposited;
        self.account_mut(account).credit(token, amount);
        Ok(())
    }

    /// Books a deposit whose number is above those that were booked for the account.
    pub(crate) fn deposit_once(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
        number: u64,
    ) -> Result<(), Refusal> {
        self.check_deposit(account, token)?;
        let last = self.accounts[&account].deposit_number;
        if number <= last {
            return refuse(
                Reason::InvalidArgument,
                format!(
                    "the number {number} is not above that of the last deposit that was booked for account {}, {last}: this deposit is booked already, or its number belongs to another one",
                    account.0
                ),
            );
        }
        self.deposit(account, token, amount)?;
        self.account_mut(account).deposit_number = number;
        Ok(())
    }

    fn check_deposit(&self, account: AccountId, token: TokenId) -> Result<(), Refusal> {
        if !self.is_listed_token(token) {
            return refuse(
                Reason::UnsupportedToken,
                format!("token {} is not listed", token.0),
            );
        }
        if !self.accounts.contains_key(&account) {
            return refuse(
                Reason::UserNotFound,
                format!("account {} does not exist", account.0),
            );
        }
        Ok(())
    }

    /// A deposit that is not confirmed: visible, not usable.
    pub(crate) fn announce_deposit(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        self.check_deposit(account, token)?;
        let pending = self
            .account_mut(account)
            .pending_deposit
            .entry(token)
            .or_default();
        match pending.checked_add(amount).filter(|sum| *sum <= AMOUNT_MAX) {
            Some(sum) => *pending = sum,
            None => return refuse(Reason::InvalidArgument, "more than 96 bits are announced"),
        }
        Ok(())
    }

    pub(crate) fn confirm_deposit(
        &mut self,
        account: AccountId,
        token: TokenId,
        amount: Amount,
    ) -> Result<(), Refusal> {
        self.check_deposit(account, token)?;
        let pending = self.accounts[&account].pending_deposit.get(&token);
        let Some(left) = pending.and_then(|pending| pending.checked_sub(amount)) else {
            return refuse(
                Reason::InvalidArgument,
                "less than this amount was announced",
            );
        };
        self.deposit(account, token, amount)?;
        let pending = &mut self.account_mut(account).pending_deposit;
        if left == 0 {
            pending.remove(&token);
        } else {
            pending.insert(token, left);
        }
        Ok(())
    }

    /// Settles or returns a pending withdrawal.
    pub(crate) fn end_withdrawal(
        &mut self,
        hash: &Hash,
        arrived: bool,
    ) -> Result<AccountId, Refusal> {
        let found = self.submission_hashes.get(hash).copied();
        let pending = found.filter(|number| self.submissions[number].stage == Stage::Pending);
        let Some(number) = pending else {
            return refuse(Reason::InvalidArgument, "no such pending withdrawal");
        };
        let account = self.submissions[&number].account;
        if let Work::Withdraw { withdrawn, .. } = self.submissions[&number].work {
            let (token, amount) = (withdrawn.token, withdrawn.amount);
            let holder = self.account_mut(account);
            let pending = holder.pending_withdraw.entry(token).or_default();
            *pending -= amount;
            if *pending == 0 {
                holder.pending_withdraw.remove(&token);
            }
            holder.unlock(token, amount);
            if arrived {
                holder.take_free(token, amount);
                self.supply.entry(token).or_default().withdrawn += amount;
            }
        }
        let stage = if arrived {
            Stage::Processed
        } else {
            Stage::Failed
        };
        self.end_pending(number, stage);
        Ok(account)
    }

    /// Settles all pending withdrawals.
    pub(crate) fn settle_withdrawals(&mut self) -> Result<(), Refusal> {
        let pending: Vec<_> = self
            .submissions
            .values()
            .filter(|submission| submission.stage == Stage::Pending)
            .map(|submission| submission.hash)
            .collect();
        for hash in pending {
            self.end_withdrawal(&hash, true)?;
        }
        Ok(())
    }
}
