//! Answers to operator requests. Amounts are strings of base units, as in the exchange interface.

use std::time::{Duration, UNIX_EPOCH};

use cambist_core::VenueTime;
use cambist_protocol::Address;
use cambist_venue::{AccountView, BalanceView, ExchangeView, Venue};
use serde::Serialize;

use crate::admin::log_view::{Fields, Settings};
use crate::admin::request_fields::mode_word;
use crate::responses;

/// The request was executed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Executed {
    pub done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<u32>,
    /// What was booked or announced, in whole tokens with their symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// All values of what was set, named as the request's fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Fields>,
}

/// An audit that found nothing wrong.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Audited {
    pub done: bool,
    pub checked: &'static str,
    pub open_orders: usize,
    pub tokens: usize,
    pub markets: usize,
}

impl Audited {
    pub fn of(venue: &Venue) -> Self {
        Self {
            done: true,
            checked: "every account's balances sum up to what circulates of each token, what is locked is what orders and requests lock, and the books have every open order at its price",
            open_orders: venue.open_orders(),
            tokens: venue.listed_tokens().count(),
            markets: venue.listed_markets().count(),
        }
    }
}

/// An account with everything it holds.
#[derive(Serialize)]
pub(super) struct Account {
    /// As in the interface.
    #[serde(rename = "account")]
    shown: cambist_protocol::wire::Account,
    /// Highest number of a deposit that was booked; absent if none had one.
    #[serde(rename = "depositNumber", skip_serializing_if = "Option::is_none")]
    deposit_number: Option<u64>,
    balances: Vec<Balance>,
}

/// A balance as in the interface, with its token's symbol and decimal amounts.
#[derive(Serialize)]
struct Balance {
    #[serde(flatten)]
    units: cambist_protocol::wire::Balance,
    symbol: String,
    total_amount: String,
    locked_amount: String,
    pending_amount: PendingAmount,
}

/// Amounts in pending deposits and withdrawals.
#[derive(Serialize)]
struct PendingAmount {
    deposit: String,
    withdraw: String,
}

impl Account {
    pub fn of(view: &AccountView, balances: &[BalanceView], venue: &Venue) -> Self {
        let balance = |balance: &BalanceView| {
            let token = venue.token(balance.token).map(|found| &found.spec);
            let text = |units| {
                token.map_or_else(|| format!("{units} base units"), |token| token.text(units))
            };
            Balance {
                units: responses::balance(view.id, balance),
                symbol: token.map_or_else(|| balance.token.0.to_string(), |t| t.symbol.clone()),
                total_amount: text(balance.total),
                locked_amount: text(balance.locked),
                pending_amount: PendingAmount {
                    deposit: text(balance.pending_deposit),
                    withdraw: text(balance.pending_withdraw),
                },
            }
        };
        Self {
            shown: responses::account(view),
            deposit_number: venue
                .account(view.id)
                .map(|account| account.deposit_number)
                .filter(|number| *number > 0),
            balances: balances.iter().map(balance).collect(),
        }
    }
}

/// Formats a time in ISO 8601, to the second.
pub(super) fn iso(at: VenueTime) -> String {
    // The last second of the year 9999.
    let at = Duration::from_secs(at.as_s().min(253_402_300_799));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + at).to_string()
}

/// Summary of the exchange.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    mode: &'static str,
    /// ISO 8601.
    time: String,
    /// Milliseconds since the Unix epoch.
    time_ms: u64,
    /// Milliseconds by which the exchange's time is ahead of the system clock.
    clock_ahead_ms: u64,
    exchange_address: String,
    open_orders: usize,
    failed_audits: u64,
    #[serde(flatten)]
    settings: Settings,
}

impl Status {
    pub fn of(
        view: &ExchangeView,
        sizes: (VenueTime, usize),
        clock_ahead_ms: u64,
        failed_audits: u64,
        settings: Settings,
    ) -> Self {
        Self {
            mode: mode_word(view.mode),
            time: iso(sizes.0),
            time_ms: sizes.0.0,
            clock_ahead_ms,
            exchange_address: Address(view.exchange).to_string(),
            open_orders: sizes.1,
            failed_audits,
            settings,
        }
    }
}
