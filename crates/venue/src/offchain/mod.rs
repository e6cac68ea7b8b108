//! Transfers, withdrawals, key updates, joins and exits: accepted, reserved, settled or failed.

mod checks;
mod fees;
mod keys;
mod ledger;
mod lifecycle;
mod pools;
mod record;
mod requests;
mod submission;
mod transfers;

pub use record::{Moved, Progress, SubmissionRecord};
pub use requests::{NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal, TokenAmount};
pub(crate) use submission::{Stage, Submission, Work};
