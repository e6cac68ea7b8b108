//! Transfers, withdrawals and key updates in an account's history: when each was decided, and what it moved.

use std::collections::BTreeMap;

use cambist_core::Hash;
use cambist_signing::Address;
use cambist_venue::{
    AccountId, Moved, NewKey, NewTransfer, NewWithdrawal, Progress, Request, SubmissionRecord,
    TokenAmount, Venue,
};
use serde_json::{Value, json};

/// The submissions that concern an account, with their last known progress.
#[derive(Default)]
pub struct Submissions {
    known: BTreeMap<Hash, Progress>,
    /// Those that are not decided yet. Transfers to an address without an account are among them: the account may be
    /// opened by them.
    open: Vec<SubmissionRecord>,
}

impl Submissions {
    /// Lines of those that are open at the beginning of the history.
    pub fn opening(&mut self, account: AccountId, venue: &Venue) -> Vec<Value> {
        let mut lines = Vec::new();
        for record in venue.open_submissions() {
            if may_concern(account, &record, venue) {
                self.known.insert(record.hash, record.progress);
                self.open.push(record);
                if concerns(account, &record, venue) {
                    let mut line = line(&record, venue);
                    line["earlier"] = json!(true);
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// Lines of those whose progress changed with a request that was granted, or with the time until then.
    pub fn after(&mut self, account: AccountId, request: &Request, venue: &Venue) -> Vec<Value> {
        let hash = match request {
            Request::Transfer(transfer) => Some(transfer.hash),
            Request::Withdraw(withdrawal) => Some(withdrawal.hash),
            Request::UpdateKey(key) => Some(key.hash),
            _ => None,
        };
        // A repetition changes nothing.
        let new = hash.filter(|hash| !self.known.contains_key(hash));
        if let Some(record) = new.and_then(|hash| venue.submission_record(&hash))
            && may_concern(account, &record, venue)
        {
            self.known.insert(record.hash, Progress::Undecided);
            self.open.push(record);
        }
        let mut lines = Vec::new();
        for known in std::mem::take(&mut self.open) {
            let Some(record) = venue.submission_record(&known.hash) else {
                let mut line = line(&known, venue);
                line["progress"] = json!("unknown");
                lines.push(line);
                continue;
            };
            let before = self.known.insert(record.hash, record.progress);
            if before != Some(record.progress) && concerns(account, &record, venue) {
                lines.push(line(&record, venue));
            }
            if matches!(record.progress, Progress::Undecided | Progress::Pending) {
                self.open.push(record);
            }
        }
        lines
    }
}

fn payee(record: &SubmissionRecord, venue: &Venue) -> Option<AccountId> {
    match record.moved {
        Moved::Transfer { payee, .. } => venue.account_of_owner(&payee).map(|found| found.id),
        Moved::Withdrawal { .. } | Moved::Key => None,
    }
}

/// Whether it is of an account, or pays it.
fn concerns(account: AccountId, record: &SubmissionRecord, venue: &Venue) -> bool {
    record.account == account || payee(record, venue) == Some(account)
}

/// The same, as long as the receiving account may not be open yet.
fn may_concern(account: AccountId, record: &SubmissionRecord, venue: &Venue) -> bool {
    let is_transfer = matches!(record.moved, Moved::Transfer { .. });
    concerns(account, record, venue) || is_transfer && payee(record, venue).is_none()
}

fn line(record: &SubmissionRecord, venue: &Venue) -> Value {
    let progress = match record.progress {
        Progress::Undecided => "undecided",
        Progress::Pending => "pending",
        Progress::Settled => "settled",
        Progress::Failed => "failed",
    };
    let mut line = json!({
        "line": "submission",
        "at_ms": record.updated.0,
        "hash": record.hash.to_string(),
        "progress": progress,
        "from": record.account.0,
        "fee_token": record.fee.token.0,
        "fee": record.fee.amount.to_string(),
    });
    let mut moves = |what: &str, amount: &TokenAmount| {
        line["what"] = json!(what);
        line["token"] = json!(amount.token.0);
        line["amount"] = json!(amount.amount.to_string());
    };
    match &record.moved {
        Moved::Transfer { payee: to, sent } => {
            moves("transfer", sent);
            line["to"] = json!(Address(*to).to_string());
            line["to_account"] = json!(payee(record, venue).map(|account| account.0));
        }
        Moved::Withdrawal {
            to,
            withdrawn,
            fast,
        } => {
            moves("withdraw", withdrawn);
            line["to"] = json!(Address(*to).to_string());
            line["fast"] = json!(fast);
        }
        Moved::Key => line["what"] = json!("update_key"),
    }
    line
}

/// What a transfer and a withdrawal have in common, as it was asked.
fn asked(
    what: &str,
    hash: Hash,
    to: cambist_venue::Address,
    [amount, max_fee]: [TokenAmount; 2],
    storage_id: u64,
) -> Value {
    json!({
        "what": what,
        "hash": hash.to_string(),
        "to": Address(to).to_string(),
        "token": amount.token.0,
        "amount": amount.amount.to_string(),
        "fee_token": max_fee.token.0,
        "max_fee": max_fee.amount.to_string(),
        "storage_id": storage_id,
    })
}

/// A transfer as it was asked.
pub fn transfer(new: &NewTransfer) -> Value {
    let amounts = [new.sent, new.max_fee];
    let mut line = asked(
        "transfer",
        new.hash,
        new.payee_owner,
        amounts,
        new.storage_id,
    );
    line["from"] = json!(new.payer.0);
    line
}

/// A withdrawal as it was asked.
pub fn withdrawal(new: &NewWithdrawal) -> Value {
    let amounts = [new.withdrawn, new.max_fee];
    let mut line = asked("withdraw", new.hash, new.to, amounts, new.storage_id);
    line["fast"] = json!(new.fast);
    line
}

/// A key update as it was asked.
pub fn key(key: &NewKey) -> Value {
    json!({
        "what": "update_key",
        "hash": key.hash.to_string(),
        "fee_token": key.max_fee.token.0,
        "max_fee": key.max_fee.amount.to_string(),
        "nonce": key.nonce,
    })
}
