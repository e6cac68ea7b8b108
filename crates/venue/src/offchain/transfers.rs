//! Transfers and withdrawals: their fields, and the execution of transfers.

use cambist_core::{Reason, TokenId};

use super::checks::{Plan, refuse};
use super::submission::{Stage, Work};
use super::{NewTransfer, NewWithdrawal, TokenAmount};
use crate::account::{Account, AccountId, Address};
use crate::request::{Caller, RequestKind};
use crate::response::{Refusal, SubmissionView};
use crate::venue::{Market, Venue};

impl Venue {
    pub(crate) fn transfer(
        &mut self,
        caller: &Caller,
        transfer: &NewTransfer,
    ) -> Result<SubmissionView, Refusal> {
        let plan = self.read_transfer(caller, transfer)?;
        self.take_submission(RequestKind::Transfer, transfer.hash, &transfer.proof, plan)
    }

    /// Account and fields of a transfer.
    pub(crate) fn read_transfer(
        &self,
        caller: &Caller,
        transfer: &NewTransfer,
    ) -> Result<Plan, Refusal> {
        self.check_owner(caller, transfer.payer)?;
        self.check_exchange(transfer.exchange)?;
        self.check_named_owner(transfer.payer, transfer.payer_owner)?;
        let opens = self.check_payee(transfer)?;
        self.check_moving_token(transfer.sent.token)?;
        self.check_amount(transfer.sent.amount)?;
        let mut tables = vec![&self.config.fees.transfer];
        if opens {
            tables.push(&self.config.opening.fee);
        }
        let fee = self.check_fee(&tables, transfer.max_fee, Some(transfer.sent.token))?;
        Ok(Plan {
            account: transfer.payer,
            ids: vec![(
                transfer.sent.token,
                Self::check_storage_id(transfer.storage_id)?,
            )],
            valid_until_s: self.check_expiry_field(transfer.valid_until_s)?,
            work: Work::Transfer {
                payee: transfer.payee_owner,
                sent: transfer.sent,
                fee,
            },
        })
    }

    /// A payee is named by number and matching address, or by an address alone; in that case an account is opened at
    /// settlement if there is none. Returns whether there is none.
    fn check_payee(&self, transfer: &NewTransfer) -> Result<bool, Refusal> {
        let known = self.owners.get(&transfer.payee_owner).copied();
        let named = transfer.payee != AccountId(0) || known == Some(AccountId(0));
        let wrong = |detail: &str| refuse(Reason::InvalidReceiver, detail);
        let opens = known.is_none();
        if transfer.payee_owner == [0; 20] {
            return wrong("the zero address cannot receive a transfer");
        }
        if named && known != Some(transfer.payee) {
            return wrong("the address does not own the payee's account");
        }
        if known == Some(transfer.payer) {
            return wrong("payer and payee are the same account");
        }
        if opens && !self.has_room_for_account() {
            return wrong("the exchange has no room for another account");
        }
        Ok(opens)
    }

    /// Whether a transfer may open one more account; the operator always may.
    fn has_room_for_account(&self) -> bool {
        let reserved = self.config.opening.reserved;
        let most = self.config.limits.accounts_max.saturating_sub(reserved);
        self.accounts.len() < most as usize
    }

    /// Checks the minimum of a transfer that opens an account: that of an order in its token.
    pub(super) fn check_opening(&self, work: &Work) -> Result<(), Refusal> {
        let Work::Transfer { payee, sent, .. } = work else {
            return Ok(());
        };
        if !self.config.opening.order_minimum || self.owners.contains_key(payee) {
            return Ok(());
        }
        let is_traded = |market: &Market| {
            market.listed && [market.config.base, market.config.quote].contains(&sent.token)
        };
        if !self.markets.iter().any(is_traded) {
            return refuse(
                Reason::InvalidReceiver,
                format!(
                    "the address has no account, and a transfer of token {} cannot open one: no market trades it",
                    sent.token.0
                ),
            );
        }
        let least = self.tokens[&sent.token].spec.minimum;
        if sent.amount < least {
            return self.coded(
                Reason::AmountTooSmall,
                Reason::InvalidReceiver,
                format!(
                    "the address has no account, and opening one needs at least {least} of token {}",
                    sent.token.0
                ),
            );
        }
        Ok(())
    }

    /// The token of a transfer or withdrawal.
    fn check_moving_token(&self, token: TokenId) -> Result<(), Refusal> {
        if self.is_open_token(token) {
            Ok(())
        } else {
            self.coded(
                Reason::UnsupportedToken,
                Reason::FeeTokenMismatch,
                format!("token {} is not listed or is closed", token.0),
            )
        }
    }

    pub(crate) fn withdraw(
        &mut self,
        caller: &Caller,
        withdrawal: &NewWithdrawal,
    ) -> Result<SubmissionView, Refusal> {
        let plan = self.read_withdrawal(caller, withdrawal)?;
        let (hash, proof) = (withdrawal.hash, &withdrawal.proof);
        self.take_submission(RequestKind::Withdraw, hash, proof, plan)
    }

    /// Account and fields of a withdrawal.
    pub(crate) fn read_withdrawal(
        &self,
        caller: &Caller,
        withdrawal: &NewWithdrawal,
    ) -> Result<Plan, Refusal> {
        let withdrawn = withdrawal.withdrawn;
        self.check_owner(caller, withdrawal.account)?;
        self.check_exchange(withdrawal.exchange)?;
        self.check_named_owner(withdrawal.account, withdrawal.owner)?;
        if withdrawal.to == [0; 20] {
            return refuse(
                Reason::InvalidReceiver,
                "the zero address cannot receive a withdrawal",
            );
        }
        // A delisted token can be withdrawn, so that no funds are locked in.
        if !self.delisted.contains(&withdrawn.token) {
            self.check_moving_token(withdrawn.token)?;
        }
        self.check_amount(withdrawn.amount)?;
        let limit = self.tokens[&withdrawn.token].fast_withdraw_limit;
        if withdrawal.fast && withdrawn.amount > limit {
            return self.coded(
                Reason::AmountTooLarge,
                Reason::InvalidSender,
                format!("a fast withdrawal is limited to {limit}"),
            );
        }
        let table = &self.config.fees.withdrawal;
        let fee = self.check_fee(&[table], withdrawal.max_fee, Some(withdrawn.token))?;
        Ok(Plan {
            account: withdrawal.account,
            ids: vec![(
                withdrawn.token,
                Self::check_storage_id(withdrawal.storage_id)?,
            )],
            valid_until_s: self.check_expiry_field(withdrawal.valid_until_s)?,
            work: Work::Withdraw {
                withdrawn,
                fee,
                to: withdrawal.to,
                fast: withdrawal.fast,
            },
        })
    }

    /// Executes a transfer out of free funds; opens the payee's account if necessary.
    pub(super) fn settle_transfer(
        &mut self,
        payer: AccountId,
        payee: Address,
        sent: TokenAmount,
        fee: TokenAmount,
    ) -> Stage {
        let Some(payee) = self.account_of_payee(payee) else {
            return Stage::Failed;
        };
        self.pay_fee(payer, fee);
        self.account_mut(payer).take_free(sent.token, sent.amount);
        self.account_mut(payee).credit(sent.token, sent.amount);
        Stage::Processed
    }

    fn account_of_payee(&mut self, owner: Address) -> Option<AccountId> {
        if let Some(known) = self.owners.get(&owner) {
            return Some(*known);
        }
        if !self.has_room_for_account() {
            return None;
        }
        let id = self.next_account()?;
        // Without a key: the owner sets the first one with nonce 0.
        let mut account = Account::new(id, owner);
        account.nonce = 0;
        self.accounts.insert(id, account);
        self.owners.insert(owner, id);
        Some(id)
    }

    pub(super) fn pay_fee(&mut self, payer: AccountId, fee: TokenAmount) {
        self.account_mut(payer).take_free(fee.token, fee.amount);
        self.collect(fee.token, fee.amount);
    }
}
