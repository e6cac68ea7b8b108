//! Everything the machine can answer, in base units and ticks. Decimal strings belong to the wire.

use std::collections::BTreeMap;

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Price, Reason, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, KeyEpoch, PublicKey};
use crate::config::{MarketConfig, TokenConfig};
use crate::mode::{ExchangeMode, FeeSchedule};
use crate::offchain::TokenAmount;
use crate::operator::LogEntry;
use crate::pool::{Layer, PoolConfig, PoolTxKind, PoolTxStatus};

/// Why a request changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason:?}: {detail}")]
pub struct Refusal {
    /// What the code says.
    pub reason: Reason,
    /// A few words for people; never a secret.
    pub detail: String,
}

impl Refusal {
    /// A refusal with a few words.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// An order was taken.
    Submitted(Submitted),
    /// An order was cancelled.
    Cancelled(Cancelled),
    /// One order.
    Order(Box<OrderView>),
    /// A page of orders.
    Orders(OrdersView),
    /// Depth.
    Depth(DepthView),
    /// Balances.
    Balances(Vec<BalanceView>),
    /// Account data.
    Account(AccountView),
    /// An API key.
    ApiKey(ApiKeyDigest),
    /// The next storage ids; `None` when every slot is held or used up.
    StorageId {
        /// Even: for orders.
        order: Option<u32>,
        /// Odd: for everything else.
        offchain: Option<u32>,
    },
    /// Exchange configuration.
    Exchange(ExchangeView),
    /// Token configuration.
    Tokens(Vec<TokenConfig>),
    /// Market configuration.
    Markets(Vec<MarketConfig>),
    /// A transfer, withdrawal, key update, join or exit was taken, or its state was asked.
    Submission(SubmissionView),
    /// Pool configuration.
    Pools(Vec<PoolConfig>),
    /// Balances of a pool.
    PoolBalance(PoolBalanceView),
    /// A page of joins and exits.
    PoolTransactions(PoolTransactionsView),
    /// The operator's wish was done; the account concerned, if one was.
    Done(Option<AccountId>),
    /// The operator's log.
    Log(Vec<LogEntry>),
}

/// State of a submission (interface: "Submission result").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SubmissionStatus {
    /// Taken; its funds are set aside.
    Received,
    /// Being settled.
    Processing,
    /// Settled.
    Processed,
    /// Failed; nothing moved.
    Failed,
}

/// A transfer, withdrawal, key update, join or exit as acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionView {
    /// Its hash.
    pub hash: Hash,
    /// Its state.
    pub status: SubmissionStatus,
    /// The same request was taken before and is still undecided.
    pub idempotent: bool,
}

/// What a pool holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolBalanceView {
    /// Pooled tokens in the pool's order.
    pub pooled: [TokenAmount; 2],
    /// LP units in circulation.
    pub lp: TokenAmount,
}

/// One token's part in a join or exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransferView {
    /// Token.
    pub token: TokenId,
    /// As asked.
    pub amount: Amount,
    /// As moved, before the fee.
    pub actual: Amount,
    /// Fee.
    pub fee: Amount,
}

/// A join or exit as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionView {
    /// Its hash.
    pub hash: Hash,
    /// Join or exit.
    pub kind: PoolTxKind,
    /// State.
    pub status: PoolTxStatus,
    /// Which pool.
    pub pool: Address,
    /// Where it came from.
    pub layer: Layer,
    /// Pooled tokens in the pool's order.
    pub pooled: [PoolTransferView; 2],
    /// LP token.
    pub lp: PoolTransferView,
    /// When it was taken.
    pub created: VenueTime,
    /// When it last changed.
    pub updated: VenueTime,
}

/// A page of joins and exits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionsView {
    /// Entries over all pages.
    pub total: u64,
    /// Entries of this page, newest first.
    pub transactions: Vec<PoolTransactionView>,
}

/// An order that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Its state after matching; one that still waits is acknowledged as processing.
    pub status: OrderStatus,
    /// The same request was taken before and is still undecided.
    pub idempotent: bool,
    /// What it traded at once, in order.
    pub trades: Vec<Trade>,
}

/// An order that was cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Its state now.
    pub status: OrderStatus,
    /// The cancel was taken before and has not taken effect yet.
    pub idempotent: bool,
}

/// One exchange between an incoming and a resting order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trade {
    /// The resting order; all zero for a pool.
    pub maker: Hash,
    /// Its owner; the fee account's number for a pool.
    pub maker_account: AccountId,
    /// The incoming order's side.
    pub taker_side: Side,
    /// The resting order's level; for a pool the swap's own.
    pub price: Price,
    /// Base units.
    pub base: Amount,
    /// Quote units.
    pub quote: Amount,
    /// Paid by the resting order's owner in the token it bought.
    pub maker_fee: Amount,
    /// Paid by the incoming order's owner in the token it bought.
    pub taker_fee: Amount,
}

/// A trade as the machine writes it down: both parties and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// The venue's time.
    pub at: VenueTime,
    /// The incoming order.
    pub taker: Hash,
    /// Its owner.
    pub taker_account: AccountId,
    /// The trade.
    pub trade: Trade,
}

/// An order as shown to its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderView {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Whose order.
    pub account: AccountId,
    /// Market name.
    pub market: String,
    /// Side.
    pub side: Side,
    /// How it may meet the book; a swap is taker-only.
    pub kind: OrderKind,
    /// The pool it swaps with, for a swap; the market is then the pool's.
    pub pool: Option<Address>,
    /// Which amount ends it.
    pub fill_by: FillBy,
    /// State.
    pub status: OrderStatus,
    /// Its level in ticks.
    pub price: Price,
    /// Decimals of a tick.
    pub price_decimals: u8,
    /// Base amount as signed.
    pub base_amount: Amount,
    /// Quote amount as signed.
    pub quote_amount: Amount,
    /// Base traded so far, before fees.
    pub base_filled: Amount,
    /// Quote traded so far, before fees.
    pub quote_filled: Amount,
    /// Fee so far, in the bought token.
    pub fee: Amount,
    /// Token given.
    pub sell_token: TokenId,
    /// Storage id.
    pub storage_id: u32,
    /// Highest fee accepted.
    pub max_fee_bips: u8,
    /// Expiry in seconds.
    pub valid_until_s: u32,
    /// When it was taken.
    pub created: VenueTime,
    /// When it last changed.
    pub updated: VenueTime,
}

/// A page of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersView {
    /// Entries over all pages.
    pub total: u64,
    /// Entries of this page, newest first.
    pub orders: Vec<OrderView>,
}

/// One level of depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthRow {
    /// Price in ticks.
    pub price: Price,
    /// Base units.
    pub size: Amount,
    /// Quote units.
    pub volume: Amount,
    /// Orders.
    pub count: u32,
}

/// Depth of a market, both sides best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthView {
    /// Market name.
    pub market: String,
    /// Decimals of a tick.
    pub price_decimals: u8,
    /// Rises whenever the book's content changes, and only then.
    pub version: u64,
    /// The venue's time of this snapshot.
    pub timestamp: VenueTime,
    /// When the content last changed.
    pub changed: VenueTime,
    /// Bids.
    pub bids: Vec<DepthRow>,
    /// Asks.
    pub asks: Vec<DepthRow>,
}

/// One balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceView {
    /// Token.
    pub token: TokenId,
    /// Everything held.
    pub total: Amount,
    /// Part of the total bound by open orders, submissions and pending withdrawals.
    pub locked: Amount,
    /// Part of what is locked that is on its way to layer 1.
    pub pending_withdraw: Amount,
    /// Announced deposits; not part of the total.
    pub pending_deposit: Amount,
}

/// An account as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountView {
    /// Its number.
    pub id: AccountId,
    /// Its owner.
    pub owner: Address,
    /// A frozen account cannot submit orders.
    pub frozen: bool,
    /// Its signing key.
    pub public_key: PublicKey,
    /// Which of its keys that is.
    pub key_epoch: KeyEpoch,
    /// Nonce of the next account request.
    pub nonce: u32,
    /// Nonce with which the signing key was made.
    pub key_nonce: u32,
}

/// The exchange as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeView {
    /// Network id.
    pub chain_id: u64,
    /// Exchange contract.
    pub exchange: Address,
    /// Deposit contract.
    pub deposit: Address,
    /// What transfers, withdrawals and key updates cost.
    pub fees: FeeSchedule,
    /// What a transfer that opens an account costs beside its own fee; outside the interface.
    pub opening_fees: BTreeMap<TokenId, Amount>,
    /// How much of the exchange is open; outside the interface.
    pub mode: ExchangeMode,
}
