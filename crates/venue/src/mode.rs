//! Modes of the exchange, fees of its services, and delays.

use std::collections::BTreeMap;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, TokenId};
use serde::{Deserialize, Serialize};

/// What the exchange accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExchangeMode {
    /// Everything.
    #[default]
    Open,
    /// Maker-only orders, exits, transfers, withdrawals, keys, cancels.
    PostOnly,
    /// Cancels, exits, transfers, withdrawals, keys.
    CancelOnly,
    /// Reads only.
    Halted,
}

/// Fees of transfers, withdrawals and key updates, by the token that pays. With an empty table the service is free, and
/// every listed token is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeeSchedule {
    /// Transfers.
    pub transfer: SortedMap<TokenId, Amount>,
    /// Withdrawals.
    pub withdrawal: SortedMap<TokenId, Amount>,
    /// Key updates.
    pub update: SortedMap<TokenId, Amount>,
    /// Named fees of the chain in its smallest unit, for display only.
    pub onchain: BTreeMap<String, Amount>,
    /// Whether a fee must be paid in the transferred token.
    pub same_token: bool,
}

/// Minimum of a transfer to an address without an account: it opens one, and accounts are bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountOpening {
    /// The amount must reach the minimum order of its token, and the token must be traded in a market.
    pub order_minimum: bool,
    /// The fee in addition to the transfer's own fee, by the token that pays. Empty: free.
    pub fee: SortedMap<TokenId, Amount>,
    /// Accounts below `accounts_max` that are reserved for the operator.
    pub reserved: u32,
}

impl AccountOpening {
    /// Any amount opens an account, free of charge, as long as there is room. This was the behaviour before bounds
    /// existed.
    pub const UNBOUNDED: Self = Self {
        order_minimum: false,
        fee: SortedMap::new(),
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

/// Delays; 0 means immediately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// Time from accepting an order to matching it.
    pub order_ms: u64,
    /// Time from accepting a cancel to executing it.
    pub cancel_ms: u64,
    /// Time for which a transfer, withdrawal, join or exit is `received`.
    pub received_ms: u64,
    /// Time for which it is then `processing`.
    pub processing_ms: u64,
    /// Share of delayed requests that fail late, in thousandths.
    pub late_failures_permille: u16,
    /// Seed of the random choice of failures.
    pub seed: u64,
}
