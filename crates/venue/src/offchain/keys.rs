//! Replaces signing keys, immediately; pending requests that only the old key authorised fail.

use cambist_core::{Hash, OrderStatus, Reason, TokenId};

use super::checks::{Plan, refuse};
use super::submission::{Stage, Submission, Work};
use super::{NewKey, TokenAmount};
use crate::account::{KeyEpoch, PublicKey};
use crate::config::Compat;
use crate::orders::Order;
use crate::pool::Layer;
use crate::request::Caller;
use crate::response::{Refusal, SubmissionView};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn update_key(
        &mut self,
        caller: &Caller,
        key: &NewKey,
    ) -> Result<SubmissionView, Refusal> {
        let plan = self.read_key(caller, key)?;
        self.check_proof(key.account, &key.proof)?;
        self.check_not_halted()?;
        if self.submission_hashes.contains_key(&key.hash) {
            return refuse(Reason::InvalidNonce, "this request was submitted before");
        }
        self.check_not_expired(plan.valid_until_s)?;
        let account = &self.accounts[&key.account];
        let next = account.nonce.checked_add(1);
        let (Some(next), true) = (next, u64::from(account.nonce) == key.nonce) else {
            return refuse(
                Reason::InvalidNonce,
                format!("the account's next nonce is {}", account.nonce),
            );
        };
        if account.open_submissions >= self.config.limits.open_submissions_max {
            return refuse(Reason::InvalidSender, "too many unsettled submissions");
        }
        for (token, amount) in self.bound(&plan.work) {
            if account.balance(token).free() < amount {
                return self.coded(
                    Reason::InsufficientBalance,
                    Reason::InvalidSender,
                    format!(
                        "the free balance of token {} is less than {amount}",
                        token.0
                    ),
                );
            }
        }
        if let Work::Key { fee } = plan.work {
            self.pay_fee(key.account, fee);
        }
        Ok(self.replace_key(key, plan, next))
    }

    /// Account and fields of a key update. Public clients send no API key with it.
    pub(crate) fn read_key(&self, caller: &Caller, key: &NewKey) -> Result<Plan, Refusal> {
        match (caller, self.config.compat) {
            (Caller::Public, Compat::Both) => {}
            (Caller::Public, Compat::Strict)
            | (Caller::Account { .. } | Caller::Internal { .. } | Caller::Operator, _) => {
                self.check_owner(caller, key.account)?;
            }
        }
        self.check_exchange(key.exchange)?;
        self.check_named_owner(key.account, key.owner)?;
        if key.public_key == PublicKey::default() {
            return refuse(Reason::InvalidReceiver, "the new key is zero");
        }
        let fee = self.check_fee(&[&self.config.fees.update], key.max_fee, None::<TokenId>)?;
        Ok(Plan {
            account: key.account,
            ids: Vec::new(),
            valid_until_s: self.check_expiry_field(key.valid_until_s)?,
            work: Work::Key {
                fee: TokenAmount::new(fee.token, fee.amount),
            },
        })
    }

    fn replace_key(&mut self, key: &NewKey, plan: Plan, next: u32) -> SubmissionView {
        let id = key.account;
        if let Some(hash) = key.proof.approved {
            self.approved.remove(&(id, hash));
        }
        let account = self.account_mut(id);
        let old = account.key_epoch;
        account.public_key = key.public_key;
        account.key_epoch = KeyEpoch(old.0.saturating_add(1));
        account.key_nonce = account.nonce;
        account.nonce = next;
        let orders: Vec<_> = account.orders.values().copied().collect();
        let submissions: Vec<_> = account.submissions.iter().copied().collect();
        for key in orders {
            if self.orders.find(key).is_some_and(Order::is_open) {
                self.close(key, OrderStatus::Cancelled);
            }
        }
        for number in submissions {
            let dies = self.submissions.get(&number).is_some_and(|submission| {
                submission.signed == Some(old) && submission.stage.is_undecided()
            });
            if dies {
                self.fail_submission(number);
            }
        }
        self.record_done(key.hash, plan)
    }

    /// Stores a submission that was settled when it was accepted.
    fn record_done(&mut self, hash: Hash, plan: Plan) -> SubmissionView {
        let number = self.keep(Submission {
            number: self.sequence,
            hash,
            account: plan.account,
            work: plan.work,
            stage: Stage::Processed,
            signed: None,
            fails: false,
            due: None,
            layer: Layer::Two,
            created: self.now,
            updated: self.now,
            settled: None,
        });
        let view = self.submissions[&number].view(false);
        self.retire_submission(number);
        view
    }
}
