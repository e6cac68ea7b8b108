//! API keys with their permissions, and the tier that counters follow.

use std::collections::BTreeSet;

use cambist_kraken::sign::Secret;
use cambist_venue::AccountId;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Read balances and fees.
    FundsQuery,
    /// Withdraw.
    FundsWithdraw,
    /// Read open orders and trades.
    OrdersQueryOpen,
    /// Read closed orders and trades.
    OrdersQueryClosed,
    /// Submit and amend orders.
    OrdersModify,
    /// Cancel orders.
    OrdersCancel,
    /// Read ledger entries.
    LedgerQuery,
}

impl Permission {
    /// All of them, with their names in key files.
    pub const ALL: [(Self, &str); 7] = [
        (Self::FundsQuery, "funds-query"),
        (Self::FundsWithdraw, "funds-withdraw"),
        (Self::OrdersQueryOpen, "orders-query-open"),
        (Self::OrdersQueryClosed, "orders-query-closed"),
        (Self::OrdersModify, "orders-modify"),
        (Self::OrdersCancel, "orders-cancel"),
        (Self::LedgerQuery, "ledger-query"),
    ];

    /// The permission of a name.
    pub fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(permission, known)| (known == name).then_some(permission))
    }
}

/// The rate counters of a kind of account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// 15 calls, one more in 3 s; 60 for each pair, one a second.
    Starter,
    /// 20 calls, one more in 2 s; 125 for each pair, 2.34 a second.
    #[default]
    Intermediate,
    /// 20 calls, one a second; 180 for each pair, 3.75 a second.
    Pro,
}

impl Tier {
    /// All of them, with their names in files.
    pub const ALL: [(Self, &str); 3] = [
        (Self::Starter, "starter"),
        (Self::Intermediate, "intermediate"),
        (Self::Pro, "pro"),
    ];
}

/// An API key of this interface.
#[derive(Clone, Debug)]
pub struct KrakenKey {
    /// What requests name it by (`API-Key`).
    pub api_key: String,
    /// What signs them.
    pub secret: Secret,
    /// Its account.
    pub account: AccountId,
    /// What it may do.
    pub permissions: BTreeSet<Permission>,
    /// By how much a nonce may be behind the highest one.
    pub nonce_window: u64,
}

/// Settings of this interface.
#[derive(Clone, Debug, Default)]
pub struct KrakenConfig {
    /// API keys.
    pub keys: Vec<KrakenKey>,
    /// Rate counters.
    pub tier: Tier,
    /// For how long a new order is absent from lists, and a new entry from the ledger, in milliseconds.
    pub list_lag_ms: u64,
}
