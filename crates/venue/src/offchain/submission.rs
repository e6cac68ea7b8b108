//! A stored submission and the funds that it locks.

use cambist_core::{Amount, Hash, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use super::TokenAmount;
use crate::account::{AccountId, Address, KeyEpoch};
use crate::pool::{Layer, Settled};
use crate::response::{SubmissionStatus, SubmissionView};
use crate::venue::Venue;

/// Effect of a submission when it is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// To the account that owns the address at settlement; one is opened if there is none.
    Transfer {
        payee: Address,
        sent: TokenAmount,
        fee: TokenAmount,
    },
    Withdraw {
        withdrawn: TokenAmount,
        fee: TokenAmount,
        to: Address,
        fast: bool,
    },
    /// Executed when it was accepted.
    Key { fee: TokenAmount },
    /// The fee is in the last pooled token, here and below.
    Join {
        pool: usize,
        offered: [Amount; 2],
        minimum_lp: Amount,
        fee: Amount,
    },
    Exit {
        pool: usize,
        minimums: [Amount; 2],
        burned: Amount,
        fee: Amount,
    },
}

impl Work {
    /// Whether two requests are equal. The fee of a transfer may have changed meanwhile; the accepted one applies.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Transfer { payee, sent, .. },
                Self::Transfer {
                    payee: other_payee,
                    sent: other_sent,
                    ..
                },
            ) => payee == other_payee && sent == other_sent,
            _ => self == other,
        }
    }
}

/// Stage of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Its funds are locked.
    Received,
    /// About to be settled.
    Processing,
    /// A withdrawal that has left layer 2 and has not arrived on layer 1.
    Pending,
    Processed,
    Failed,
}

impl Stage {
    /// Whether it locks funds or will still have an effect.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Received | Self::Processing | Self::Pending => true,
            Self::Processed | Self::Failed => false,
        }
    }

    /// Whether it may still fail.
    pub const fn is_undecided(self) -> bool {
        match self {
            Self::Received | Self::Processing => true,
            Self::Pending | Self::Processed | Self::Failed => false,
        }
    }
}

/// One submission, open or finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Submission {
    pub number: u64,
    pub hash: Hash,
    pub account: AccountId,
    pub work: Work,
    pub stage: Stage,
    /// The signing key that alone authorised it; the submission fails if the key is replaced.
    pub signed: Option<KeyEpoch>,
    /// Whether it fails instead of being settled.
    pub fails: bool,
    pub due: Option<VenueTime>,
    pub layer: Layer,
    pub created: VenueTime,
    pub updated: VenueTime,
    /// Amounts moved by a join or exit.
    pub settled: Option<Settled>,
}

impl Submission {
    pub const fn view(&self, idempotent: bool) -> SubmissionView {
        SubmissionView {
            hash: self.hash,
            status: match self.stage {
                Stage::Received => SubmissionStatus::Received,
                Stage::Processing => SubmissionStatus::Processing,
                Stage::Pending | Stage::Processed => SubmissionStatus::Processed,
                Stage::Failed => SubmissionStatus::Failed,
            },
            idempotent,
        }
    }
}

impl Venue {
    /// Funds of the account that the submission locks while undecided; a token may occur twice.
    pub(crate) fn bound(&self, work: &Work) -> Vec<(TokenId, Amount)> {
        match work {
            Work::Transfer { sent, fee, .. } => {
                vec![(sent.token, sent.amount), (fee.token, fee.amount)]
            }
            Work::Withdraw { withdrawn, fee, .. } => {
                vec![(withdrawn.token, withdrawn.amount), (fee.token, fee.amount)]
            }
            Work::Key { fee } => vec![(fee.token, fee.amount)],
            Work::Join {
                pool, offered, fee, ..
            } => {
                let [first, last] = self.pools[*pool].config.pooled;
                vec![(first, offered[0]), (last, offered[1]), (last, *fee)]
            }
            Work::Exit { pool, burned, .. } => vec![(self.pools[*pool].config.lp, *burned)],
        }
    }

    /// Funds that the submission locks in its current stage.
    pub(crate) fn bound_now(&self, submission: &Submission) -> Vec<(TokenId, Amount)> {
        match (&submission.work, submission.stage) {
            (work, Stage::Received | Stage::Processing) => self.bound(work),
            (Work::Withdraw { withdrawn, .. }, Stage::Pending) => {
                vec![(withdrawn.token, withdrawn.amount)]
            }
            (_, Stage::Pending | Stage::Processed | Stage::Failed) => Vec::new(),
        }
    }
}
