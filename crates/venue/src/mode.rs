//! How much of the exchange is open, what its services cost, and how long they take.

use std::collections::BTreeMap;

use cambist_core::{Amount, TokenId};
use serde::{Deserialize, Serialize};

/// How much may be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExchangeMode {
    /// Everything.
    #[default]
    Open,
    /// Orders that take nothing, exits, transfers, withdrawals, keys, cancels.
    PostOnly,
    /// Cancels, exits, transfers, withdrawals, keys.
    CancelOnly,
    /// Reading.
    Halted,
}

/// What transfers, withdrawals and key updates cost, by the token that pays. An empty table takes any
/// listed token and asks nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeSchedule {
    /// Transfers.
    pub transfer: BTreeMap<TokenId, Amount>,
    /// Withdrawals.
    pub withdrawal: BTreeMap<TokenId, Amount>,
    /// Key updates.
    pub update: BTreeMap<TokenId, Amount>,
    /// Named fees of the chain in its smallest unit; only shown.
    pub onchain: BTreeMap<String, Amount>,
    /// Whether a fee must be paid in the token that moves.
    pub same_token: bool,
}

/// How long things take; all 0 means at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// An order waits this long before it meets its book.
    pub order_ms: u64,
    /// A cancel takes effect this long after it was taken.
    pub cancel_ms: u64,
    /// A transfer, withdrawal, join or exit is `received` this long.
    pub received_ms: u64,
    /// And then `processing` this long.
    pub processing_ms: u64,
    /// Of a thousand that wait, so many fail late.
    pub late_failures_permille: u16,
    /// Seed of that draw.
    pub seed: u64,
}
