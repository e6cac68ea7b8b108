//! Accounts: owner, keys, balances, storage slots and orders.
//!
//! Keys are opaque bytes; nothing is verified here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, TokenId};
use serde::{Deserialize, Serialize};

use crate::orders::OrderKey;
use crate::slots::SlotTable;

/// Number of an account.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct AccountId(pub u32);

/// An address of the chain.
pub type Address = [u8; 20];

/// Number of times the signing key was replaced. A signature verified with an older key is stale.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct KeyEpoch(pub u32);

/// The signing key as two opaque 32-byte values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// First coordinate.
    pub x: [u8; 32],
    /// Second coordinate.
    pub y: [u8; 32],
}

/// Digest of an API key. The key itself is never in the state machine, so its files, logs and answers cannot be used to
/// authenticate. The server computes the digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApiKeyDigest(pub [u8; 32]);

impl fmt::Debug for ApiKeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, ..] = self.0;
        write!(f, "ApiKeyDigest({a:02x}{b:02x}..)")
    }
}

/// The balance of one token, in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// The whole balance.
    pub total: Amount,
    /// Part of the total that is reserved for open orders.
    pub locked: Amount,
}

impl Balance {
    /// The amount available for new orders.
    pub const fn free(&self) -> Amount {
        self.total.saturating_sub(self.locked)
    }
}

/// One account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its number.
    pub id: AccountId,
    /// Its owner.
    pub owner: Address,
    /// Its signing key.
    pub public_key: PublicKey,
    /// Epoch of the signing key.
    pub key_epoch: KeyEpoch,
    /// Nonce of the next account request.
    pub nonce: u32,
    /// Nonce with which the signing key was set.
    pub key_nonce: u32,
    /// A frozen account cannot submit orders.
    pub frozen: bool,
    /// Whether it belongs to a simulated trader.
    pub internal: bool,
    pub(crate) api_key: Option<ApiKeyDigest>,
    pub(crate) balances: SortedMap<TokenId, Balance>,
    pub(crate) slots: SortedMap<TokenId, SlotTable>,
    /// All stored orders by number, open and finished.
    pub(crate) orders: BTreeMap<u64, OrderKey>,
    /// Finished orders, oldest first.
    pub(crate) finished: VecDeque<OrderKey>,
    pub(crate) client_ids: BTreeMap<String, OrderKey>,
    pub(crate) open_orders: u32,
    /// Part of the locked amount that is being withdrawn to layer 1.
    pub(crate) pending_withdraw: SortedMap<TokenId, Amount>,
    /// Announced deposits; not part of any balance.
    pub(crate) pending_deposit: SortedMap<TokenId, Amount>,
    /// Highest number of a deposit that was booked once; 0 if none was.
    pub deposit_number: u64,
    /// All stored submissions by number, open and finished.
    pub(crate) submissions: BTreeSet<u64>,
    /// Finished submissions, oldest first.
    pub(crate) finished_submissions: VecDeque<u64>,
    pub(crate) open_submissions: u32,
}

impl Account {
    pub(crate) fn new(id: AccountId, owner: Address) -> Self {
        Self {
            id,
            owner,
            public_key: PublicKey::default(),
            key_epoch: KeyEpoch(0),
            nonce: 1,
            key_nonce: 0,
            frozen: false,
            internal: false,
            api_key: None,
            balances: SortedMap::new(),
            slots: SortedMap::new(),
            orders: BTreeMap::new(),
            finished: VecDeque::new(),
            client_ids: BTreeMap::new(),
            open_orders: 0,
            pending_withdraw: SortedMap::new(),
            pending_deposit: SortedMap::new(),
            deposit_number: 0,
            submissions: BTreeSet::new(),
            finished_submissions: VecDeque::new(),
            open_submissions: 0,
        }
    }

    /// The account's balance of a token.
    pub fn balance(&self, token: TokenId) -> Balance {
        self.balances.get(&token).copied().unwrap_or_default()
    }

    /// All balances, by token.
    pub fn balances(&self) -> impl Iterator<Item = (TokenId, Balance)> + '_ {
        self.balances
            .iter()
            .map(|(token, balance)| (*token, *balance))
    }

    /// Number of open orders.
    pub const fn open_orders(&self) -> u32 {
        self.open_orders
    }

    pub(crate) fn credit(&mut self, token: TokenId, amount: Amount) {
        let balance = self.balances.entry(token).or_default();
        balance.total = balance
            .total
            .checked_add(amount)
            .expect("the supply of a token is below 2^96");
    }

    pub(crate) fn lock(&mut self, token: TokenId, amount: Amount) {
        let balance = self.balances.entry(token).or_default();
        assert!(amount <= balance.free(), "locked more than is free");
        balance.locked += amount;
    }

    pub(crate) fn unlock(&mut self, token: TokenId, amount: Amount) {
        let balance = self.balances.entry(token).or_default();
        balance.locked = balance
            .locked
            .checked_sub(amount)
            .expect("an order releases only what it locked");
    }

    /// Takes `amount` out of the locked balance.
    pub(crate) fn pay_locked(&mut self, token: TokenId, amount: Amount) {
        self.unlock(token, amount);
        self.take_free(token, amount);
    }

    /// Takes `amount` out of the free balance.
    pub(crate) fn take_free(&mut self, token: TokenId, amount: Amount) {
        let balance = self.balances.entry(token).or_default();
        assert!(amount <= balance.free(), "took more than is free");
        balance.total -= amount;
    }
}
