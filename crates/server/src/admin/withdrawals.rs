//! Pending withdrawals: what the operator has to pay on layer 1.

use cambist_core::VenueTime;
use cambist_protocol::Address;
use cambist_venue::{Moved, SubmissionRecord, Venue};
use serde::Serialize;

/// One withdrawal. Amounts as in the exchange interface, and in whole tokens.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Withdrawal {
    hash: String,
    account_id: u32,
    /// The receiving address on layer 1.
    to: String,
    token_id: u16,
    /// Base units.
    volume: String,
    /// Whole tokens with their symbol.
    amount: String,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
    /// Since when it is pending, in milliseconds since the Unix epoch.
    pending_since: u64,
}

/// All pending withdrawals at one time, oldest first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pending {
    /// Milliseconds since the Unix epoch: `settle-withdrawals --until-ms` settles these and no later ones.
    as_of_ms: u64,
    withdrawals: Vec<Withdrawal>,
}

/// Those that were settled.
#[derive(Serialize)]
pub(super) struct Settled {
    pub done: bool,
    pub settled: Vec<Withdrawal>,
}

impl Withdrawal {
    /// `None` if the record is of no withdrawal.
    fn of(record: &SubmissionRecord, venue: &Venue) -> Option<Self> {
        let Moved::Withdrawal { to, withdrawn, .. } = record.moved else {
            return None;
        };
        let token = venue.token(withdrawn.token).map(|found| &found.spec);
        Some(Self {
            hash: record.hash.to_string(),
            account_id: record.account.0,
            to: Address(to).to_string(),
            token_id: withdrawn.token.0,
            volume: withdrawn.amount.to_string(),
            amount: token.map_or_else(
                || format!("{} base units", withdrawn.amount),
                |token| token.text(withdrawn.amount),
            ),
            created_at: record.created.0,
            pending_since: record.updated.0,
        })
    }
}

impl Pending {
    /// One that is pending since the present millisecond is left to the next list: others may follow within it, and
    /// none may be settled that was not listed.
    pub fn of(venue: &Venue) -> Self {
        let as_of_ms = venue.now().0.saturating_sub(1);
        let listed = until(venue, VenueTime(as_of_ms)).into_iter();
        Self {
            as_of_ms,
            withdrawals: listed.map(|(_, shown)| shown).collect(),
        }
    }
}

/// Pending withdrawals that were pending at a time, with their records.
pub(super) fn until(venue: &Venue, time: VenueTime) -> Vec<(SubmissionRecord, Withdrawal)> {
    let records = venue.pending_withdrawals().into_iter();
    let records = records.filter(|record| record.updated <= time);
    let each = records.filter_map(|record| Some((record, Withdrawal::of(&record, venue)?)));
    each.collect()
}
