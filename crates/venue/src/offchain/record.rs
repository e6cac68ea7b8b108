//! Transfers, withdrawals and key updates as the operator and audits read them.

use cambist_core::{Hash, VenueTime};

use super::TokenAmount;
use super::submission::{Stage, Submission, Work};
use crate::account::{AccountId, Address};
use crate::venue::Venue;

/// What a submission moves beside its fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// To the account of an owner.
    Transfer {
        /// The receiving owner.
        payee: Address,
        /// The amount.
        sent: TokenAmount,
    },
    /// To layer 1.
    Withdrawal {
        /// The receiving address.
        to: Address,
        /// The amount.
        withdrawn: TokenAmount,
        /// It leaves the books at once and is never pending.
        fast: bool,
    },
    /// Nothing: a new signing key.
    Key,
}

/// How far a submission has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its funds are locked; nothing has moved.
    Undecided,
    /// Of a withdrawal: the fee is paid, and the amount is locked until it has arrived on layer 1 or is returned.
    Pending,
    /// Everything has moved.
    Settled,
    /// Nothing moved; of a withdrawal that was returned, its fee.
    Failed,
}

/// A transfer, a withdrawal or a key update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmissionRecord {
    /// Its hash.
    pub hash: Hash,
    /// The paying account.
    pub account: AccountId,
    /// What it moves.
    pub moved: Moved,
    /// Its fee.
    pub fee: TokenAmount,
    /// How far it has come.
    pub progress: Progress,
    /// When it was accepted.
    pub created: VenueTime,
    /// When its progress changed last.
    pub updated: VenueTime,
}

impl Submission {
    /// `None` for joins and exits, which the list of pool transactions has.
    fn record(&self) -> Option<SubmissionRecord> {
        let (moved, fee) = match self.work {
            Work::Transfer { payee, sent, fee } => (Moved::Transfer { payee, sent }, fee),
            Work::Withdraw {
                withdrawn,
                fee,
                to,
                fast,
            } => {
                let moved = Moved::Withdrawal {
                    to,
                    withdrawn,
                    fast,
                };
                (moved, fee)
            }
            Work::Key { fee } => (Moved::Key, fee),
            Work::Join { .. } | Work::Exit { .. } => return None,
        };
        Some(SubmissionRecord {
            hash: self.hash,
            account: self.account,
            moved,
            fee,
            progress: match self.stage {
                Stage::Received | Stage::Processing => Progress::Undecided,
                Stage::Pending => Progress::Pending,
                Stage::Processed => Progress::Settled,
                Stage::Failed => Progress::Failed,
            },
            created: self.created,
            updated: self.updated,
        })
    }
}

impl Venue {
    /// A transfer, withdrawal or key update that is stored: undecided and pending ones, and of each account the newest
    /// that ended.
    pub fn submission_record(&self, hash: &Hash) -> Option<SubmissionRecord> {
        let number = self.submission_hashes.get(hash)?;
        self.submissions.get(number)?.record()
    }

    /// Those that are undecided or pending, oldest first.
    pub fn open_submissions(&self) -> Vec<SubmissionRecord> {
        let open = self.submissions.values();
        let open = open.filter(|submission| submission.stage.is_open());
        open.filter_map(Submission::record).collect()
    }

    /// Withdrawals that have left layer 2 and have not arrived on layer 1, oldest first.
    pub fn pending_withdrawals(&self) -> Vec<SubmissionRecord> {
        let pending = self.submissions.values();
        let pending = pending.filter(|submission| submission.stage == Stage::Pending);
        pending.filter_map(Submission::record).collect()
    }
}
