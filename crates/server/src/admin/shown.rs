//! What the operator is shown. Amounts are texts of base units, as everywhere on the wire.

use cambist_core::VenueTime;
use cambist_protocol::Address;
use cambist_venue::{AccountView, BalanceView, ExchangeView, LogEntry};
use serde::Serialize;

use super::read::mode_word;
use crate::shown;

/// A wish was done.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Done {
    pub done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<u32>,
}

/// An account with everything it holds.
#[derive(Serialize)]
pub(super) struct Account {
    account: cambist_protocol::wire::Account,
    balances: Vec<cambist_protocol::wire::Balance>,
}

impl Account {
    pub fn of(view: &AccountView, balances: &[BalanceView]) -> Self {
        Self {
            account: shown::account(view),
            balances: balances
                .iter()
                .map(|balance| shown::balance(view.id, balance))
                .collect(),
        }
    }
}

/// The exchange at a glance.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    mode: &'static str,
    time: u64,
    /// By which its time is ahead of the machine's clock.
    clock_ahead_ms: u64,
    exchange_address: String,
    open_orders: usize,
    failed_audits: u64,
}

impl Status {
    pub fn of(
        view: &ExchangeView,
        sizes: (VenueTime, usize),
        clock_ahead_ms: u64,
        failed_audits: u64,
    ) -> Self {
        Self {
            mode: mode_word(view.mode),
            time: sizes.0.0,
            clock_ahead_ms,
            exchange_address: Address(view.exchange).to_string(),
            open_orders: sizes.1,
            failed_audits,
        }
    }
}

/// One entry of the log.
#[derive(Serialize)]
pub(super) struct Entry {
    number: u64,
    at: u64,
    wish: String,
}

/// The log.
pub(super) fn log(entries: &[LogEntry]) -> Vec<Entry> {
    entries
        .iter()
        .map(|entry| Entry {
            number: entry.number,
            at: entry.at.0,
            // Keys are left out of the log, and would not be printed.
            wish: format!("{:?}", entry.wish),
        })
        .collect()
}
