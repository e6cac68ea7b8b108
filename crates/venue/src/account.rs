//! Accounts: who they are, what they hold, which storage slots and orders are theirs.
//!
//! Keys are opaque bytes; nothing here verifies anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

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

/// How often the signing key was replaced: a signature verified against an older key is stale.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct KeyEpoch(pub u32);

/// The signing key as two 32-byte values, opaque here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// First coordinate.
    pub x: [u8; 32],
    /// Second coordinate.
    pub y: [u8; 32],
}

/// Digest of a key that opens an account to requests. The key itself is nowhere in the machine: what it
/// stores, logs and shows opens nothing. How the digest is made is the shell's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ApiKeyDigest(pub [u8; 32]);

impl fmt::Debug for ApiKeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, ..] = self.0;
        write!(f, "ApiKeyDigest({a:02x}{b:02x}..)")
    }
}

/// What is held of one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Everything held.
    pub total: Amount,
    /// Part of the total bound by open orders.
    pub locked: Amount,
}

impl Balance {
    /// What new orders may use.
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
    /// Which of its keys that is.
    pub key_epoch: KeyEpoch,
    /// Nonce of the next account request.
    pub nonce: u32,
    /// Nonce with which the signing key was made.
    pub key_nonce: u32,
    /// A frozen account cannot submit orders.
    pub frozen: bool,
    /// A background trader of the venue.
    pub internal: bool,
    pub(crate) api_key: Option<ApiKeyDigest>,
    pub(crate) balances: BTreeMap<TokenId, Balance>,
    pub(crate) slots: BTreeMap<TokenId, SlotTable>,
    /// Every known order by number, open ones and history.
    pub(crate) orders: BTreeMap<u64, OrderKey>,
    /// Finished orders in the order in which they ended.
    pub(crate) finished: VecDeque<OrderKey>,
    pub(crate) client_ids: BTreeMap<String, OrderKey>,
    pub(crate) open_orders: u32,
    /// Part of what is locked that is on its way to layer 1.
    pub(crate) pending_withdraw: BTreeMap<TokenId, Amount>,
    /// Announced deposits; not part of any balance.
    pub(crate) pending_deposit: BTreeMap<TokenId, Amount>,
    /// Every known submission by number, open ones and history.
    pub(crate) submissions: BTreeSet<u64>,
    /// Finished submissions in the order in which they ended.
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
            balances: BTreeMap::new(),
            slots: BTreeMap::new(),
            orders: BTreeMap::new(),
            finished: VecDeque::new(),
            client_ids: BTreeMap::new(),
            open_orders: 0,
            pending_withdraw: BTreeMap::new(),
            pending_deposit: BTreeMap::new(),
            submissions: BTreeSet::new(),
            finished_submissions: VecDeque::new(),
            open_submissions: 0,
        }
    }

    /// What the account holds of a token.
    pub fn balance(&self, token: TokenId) -> Balance {
        self.balances.get(&token).copied().unwrap_or_default()
    }

    /// Everything it holds, by token.
    pub fn balances(&self) -> impl Iterator<Item = (TokenId, Balance)> + '_ {
        self.balances
            .iter()
            .map(|(token, balance)| (*token, *balance))
    }

    /// How many of its orders are open.
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

    /// Takes `amount` out of what is locked.
    pub(crate) fn pay_locked(&mut self, token: TokenId, amount: Amount) {
        self.unlock(token, amount);
        self.take_free(token, amount);
    }

    /// Takes `amount` out of what is free.
    pub(crate) fn take_free(&mut self, token: TokenId, amount: Amount) {
        let balance = self.balances.entry(token).or_default();
        assert!(amount <= balance.free(), "took more than is free");
        balance.total -= amount;
    }
}
