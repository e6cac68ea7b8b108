//! Submissions from acceptance to settlement or failure. Without delays they are settled when they are accepted.

use cambist_core::{Amount, Hash, Reason, TokenId};

use super::checks::{Plan, refuse};
use super::submission::{Stage, Submission, Work};
use crate::account::AccountId;
use crate::authorisation::Proof;
use crate::pool::Layer;
use crate::request::{Caller, RequestKind};
use crate::response::{Refusal, SubmissionView};
use crate::schedule::Due;
use crate::venue::Venue;

impl Venue {
    /// Accepts a submission whose account and fields were checked.
    pub(super) fn take_submission(
        &mut self,
        kind: RequestKind,
        hash: Hash,
        proof: &Proof,
        plan: Plan,
    ) -> Result<SubmissionView, Refusal> {
        self.check_proof_or_repeat(hash, proof, &plan)?;
        if let Some(again) = self.undecided(&hash, &plan) {
            return Ok(again.view(true));
        }
        self.check_submission(&hash, &plan)?;
        if let Some(approved) = proof.approved {
            self.approved.remove(&(plan.account, approved));
        }
        for (token, id) in &plan.ids {
            self.use_storage_id(plan.account, *token, *id);
        }
        for (token, amount) in self.bound(&plan.work) {
            self.account_mut(plan.account).lock(token, amount);
        }
        let alone = proof.ecdsa.is_none() && proof.approved.is_none();
        let number = self.keep(Submission {
            number: self.sequence,
            hash,
            account: plan.account,
            work: plan.work,
            stage: Stage::Received,
            signed: proof.eddsa.filter(|_| alone),
            fails: false,
            due: None,
            layer: Layer::Two,
            created: self.now,
            updated: self.now,
            settled: None,
        });
        let injected = self.late_failure(kind);
        let delays = self.config.delays;
        let waits = delays.received_ms.saturating_add(delays.processing_ms) > 0;
        let fails = injected.is_some() || waits && self.draws_late_failure();
        let delay_ms = injected.unwrap_or(delays.received_ms);
        self.submission_mut(number).fails = fails;
        if delay_ms > 0 {
            self.schedule_submission(number, delay_ms);
        } else {
            self.begin_submission(number);
        }
        Ok(self.submissions[&number].view(false))
    }

    /// Checks the proof. An approved hash is consumed by the request that it authorises; a repetition of that request
    /// is authorised by its acceptance.
    fn check_proof_or_repeat(&self, hash: Hash, proof: &Proof, plan: &Plan) -> Result<(), Refusal> {
        if proof.approved.is_some() && self.undecided(&hash, plan).is_some() {
            let rest = Proof {
                approved: None,
                ..*proof
            };
            return if rest.is_empty() {
                Ok(())
            } else {
                self.check_proof(plan.account, &rest)
            };
        }
        self.check_proof(plan.account, proof)
    }

    /// Stores a submission and counts it as open.
    pub(super) fn keep(&mut self, submission: Submission) -> u64 {
        let number = submission.number;
        self.sequence += 1;
        self.submission_hashes.insert(submission.hash, number);
        let account = self.account_mut(submission.account);
        account.submissions.insert(number);
        account.open_submissions += 1;
        self.submissions.insert(number, submission);
        number
    }

    /// Uses a storage id once, whatever becomes of the request. An open order in that slot is cancelled.
    pub(super) fn use_storage_id(&mut self, account: AccountId, token: TokenId, id: u32) {
        let table = self.account_mut(account).slots.entry(token).or_default();
        if let Some(older) = table.spend(id) {
            self.close(older, cambist_core::OrderStatus::Cancelled);
        }
    }

    fn schedule_submission(&mut self, number: u64, delay_ms: u64) {
        let at = self.now.plus_ms(delay_ms);
        self.submission_mut(number).due = Some(at);
        self.due.insert((at, number), Due::Submission);
    }

    /// Handles the submission's timer.
    pub(crate) fn wake_submission(&mut self, number: u64) {
        self.submission_mut(number).due = None;
        match self.submissions[&number].stage {
            Stage::Received => self.begin_submission(number),
            Stage::Processing => self.finish_submission(number),
            Stage::Pending | Stage::Processed | Stage::Failed => {}
        }
    }

    fn begin_submission(&mut self, number: u64) {
        let now = self.now;
        let submission = self.submission_mut(number);
        submission.stage = Stage::Processing;
        submission.updated = now;
        let delay_ms = self.config.delays.processing_ms;
        if delay_ms > 0 {
            self.schedule_submission(number, delay_ms);
        } else {
            self.finish_submission(number);
        }
    }

    /// Settles the submission, or fails it and releases what it locked.
    fn finish_submission(&mut self, number: u64) {
        let submission = self.submissions[&number].clone();
        let account = submission.account;
        for (token, amount) in self.bound(&submission.work) {
            self.account_mut(account).unlock(token, amount);
        }
        let stage = if submission.fails || self.accounts[&account].frozen {
            Stage::Failed
        } else {
            self.settle_submission(&submission)
        };
        let now = self.now;
        let kept = self.submission_mut(number);
        kept.stage = stage;
        kept.updated = now;
        if !stage.is_open() {
            self.retire_submission(number);
        }
    }

    /// Executes the submission from the released funds.
    fn settle_submission(&mut self, submission: &Submission) -> Stage {
        let account = submission.account;
        let settled = match &submission.work {
            Work::Transfer { payee, sent, fee } => {
                return self.settle_transfer(account, *payee, *sent, *fee);
            }
            Work::Withdraw {
                withdrawn,
                fee,
                fast,
                ..
            } => {
                self.pay_fee(account, *fee);
                let holder = self.account_mut(account);
                if *fast {
                    holder.take_free(withdrawn.token, withdrawn.amount);
                    self.supply.entry(withdrawn.token).or_default().withdrawn += withdrawn.amount;
                    return Stage::Processed;
                }
                holder.lock(withdrawn.token, withdrawn.amount);
                *holder.pending_withdraw.entry(withdrawn.token).or_default() += withdrawn.amount;
                return Stage::Pending;
            }
            Work::Key { .. } => return Stage::Processed,
            Work::Join {
                pool,
                offered,
                minimum_lp,
                fee,
            } if self.takes_joins(*pool) => {
                self.settle_join(account, *pool, *offered, *minimum_lp, *fee)
            }
            Work::Exit {
                pool,
                minimums,
                burned,
                fee,
            } if self.takes_exits(*pool) => {
                self.settle_exit(account, *pool, *burned, *minimums, *fee)
            }
            Work::Join { .. } | Work::Exit { .. } => None,
        };
        self.submission_mut(submission.number).settled = settled;
        if settled.is_some() {
            Stage::Processed
        } else {
            Stage::Failed
        }
    }

    /// Fails an undecided submission early.
    pub(crate) fn fail_submission(&mut self, number: u64) {
        let submission = self.submission_mut(number);
        submission.fails = true;
        if let Some(at) = submission.due.take() {
            self.due.remove(&(at, number));
        }
        self.finish_submission(number);
    }

    /// Ends a pending withdrawal.
    pub(super) fn end_pending(&mut self, number: u64, stage: Stage) {
        let now = self.now;
        let submission = self.submission_mut(number);
        submission.stage = stage;
        submission.updated = now;
        self.retire_submission(number);
    }

    /// Counts it as finished and drops the oldest finished ones beyond the history.
    pub(super) fn retire_submission(&mut self, number: u64) {
        let kept = self.config.limits.history_submissions_max as usize;
        let owner = self.submissions[&number].account;
        let account = self.account_mut(owner);
        account.open_submissions -= 1;
        account.finished_submissions.push_back(number);
        while self.accounts[&owner].finished_submissions.len() > kept {
            let account = self.account_mut(owner);
            let Some(oldest) = account.finished_submissions.pop_front() else {
                break;
            };
            account.submissions.remove(&oldest);
            if let Some(forgotten) = self.submissions.remove(&oldest) {
                self.submission_hashes.remove(&forgotten.hash);
            }
        }
    }

    pub(crate) fn submission_mut(&mut self, number: u64) -> &mut Submission {
        self.submissions
            .get_mut(&number)
            .expect("a held number names a kept submission")
    }

    /// Credits the fee account.
    pub(crate) fn collect(&mut self, token: TokenId, fee: Amount) {
        if fee > 0 {
            self.account_mut(self.config.fee_collector)
                .credit(token, fee);
        }
    }

    /// State of a submission; outside the interface.
    pub(crate) fn submission_of(
        &self,
        caller: &Caller,
        account: AccountId,
        hash: &Hash,
    ) -> Result<SubmissionView, Refusal> {
        self.check_owner(caller, account)?;
        self.submission_hashes
            .get(hash)
            .map(|number| &self.submissions[number])
            .filter(|submission| submission.account == account)
            .map_or_else(
                || refuse(Reason::OrderNotFound, "no such submission"),
                |submission| Ok(submission.view(false)),
            )
    }
}
