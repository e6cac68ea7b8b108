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

/// What a transfer to an address without an account must bring, since it opens one and accounts are bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountOpening {
    /// The amount must reach the smallest order of its token, and the token must be traded in a market.
    pub order_minimum: bool,
    /// What it costs beside the transfer's own fee, by the token that pays. Empty: nothing.
    pub fee: BTreeMap<TokenId, Amount>,
    /// Accounts below `accounts_max` that transfers leave to the operator.
    pub reserved: u32,
}

impl AccountOpening {
    /// Any amount opens an account, for nothing, as long as there is room: how it was before there were bounds.
    pub const UNBOUNDED: Self = Self {
        order_minimum: false,
        fee: BTreeMap::new(),
        reserved: 0,
    };
}

impl Default for AccountOpening {
    fn default() -> Self {
        Self {
            order_minimum: true,
            ..Self::UNBOUNDED
        }
    }
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
