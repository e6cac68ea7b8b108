//! Responses of the state machine, in base units and ticks. Decimal strings are made by the server.

use cambist_core::order::FillBy;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{
    Amount, Hash, MarketId, OrderKind, OrderStatus, Price, Reason, Side, TokenId, VenueTime,
};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, KeyEpoch, PublicKey};
use crate::config::{MarketConfig, TokenConfig};
use crate::kraken::KrakenReply;
use crate::mode::{ExchangeMode, FeeSchedule};
use crate::offchain::TokenAmount;
use crate::operator::LogEntry;
use crate::pool::{Layer, PoolConfig, PoolTxKind, PoolTxStatus};

/// A refusal: the request changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason:?}: {detail}")]
pub struct Refusal {
    /// The reason, which has a code in the interface.
    pub reason: Reason,
    /// Details for the client; contains no secrets.
    pub detail: String,
}

impl Refusal {
    /// A refusal with details.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// An order was accepted.
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
    /// The next storage ids; `None` if every slot is in use or exhausted.
    StorageId {
        /// Even, for orders.
        order: Option<u32>,
        /// Odd, for everything else.
        offchain: Option<u32>,
    },
    /// Exchange configuration.
    Exchange(ExchangeView),
    /// Token configuration.
    Tokens(Vec<TokenConfig>),
    /// Market configuration.
    Markets(Vec<MarketConfig>),
    /// A transfer, withdrawal, key update, join or exit was accepted, or its state was queried.
    Submission(SubmissionView),
    /// Pool configuration.
    Pools(Vec<PoolConfig>),
    /// Balances of a pool.
    PoolBalance(PoolBalanceView),
    /// A page of joins and exits.
    PoolTransactions(PoolTransactionsView),
    /// The operator request was executed; the account concerned, if any.
    Done(Option<AccountId>),
    /// The operator's log.
    Log(Vec<LogEntry>),
    /// An answer of Kraken's interface.
    Kraken(Box<KrakenReply>),
}

/// Status of a submission (interface: "Submission result").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SubmissionStatus {
    /// Accepted; its funds are locked.
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
    /// The same request was accepted before and is still undecided.
    pub idempotent: bool,
}

/// Balances of a pool.
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
    /// Requested amount, base units.
    pub amount: Amount,
    /// Moved amount, before the fee, base units.
    pub actual: Amount,
    /// Fee, base units.
    pub fee: Amount,
}

/// A listed join or exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionView {
    /// Its hash.
    pub hash: Hash,
    /// Join or exit.
    pub kind: PoolTxKind,
    /// Status.
    pub status: PoolTxStatus,
    /// Address of the pool.
    pub pool: Address,
    /// Its origin.
    pub layer: Layer,
    /// Pooled tokens in the pool's order.
    pub pooled: [PoolTransferView; 2],
    /// LP token.
    pub lp: PoolTransferView,
    /// Time of acceptance.
    pub created: VenueTime,
    /// Time of the last change.
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

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Its status after matching; a delayed one is acknowledged as processing.
    pub status: OrderStatus,
    /// The same request was accepted before and is still undecided.
    pub idempotent: bool,
    /// Its immediate trades, in order.
    pub trades: Vec<Trade>,
}

/// A cancelled order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Its status.
    pub status: OrderStatus,
    /// The cancel was accepted before and has not taken effect yet.
    pub idempotent: bool,
}

/// A trade between an incoming and a resting order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trade {
    /// The resting order; zero for a pool.
    pub maker: Hash,
    /// Its owner; the fee account for a pool.
    pub maker_account: AccountId,
    /// The incoming order's side.
    pub taker_side: Side,
    /// The resting order's level; for a pool the swap's own price.
    pub price: Price,
    /// Base units.
    pub base: Amount,
    /// Quote units.
    pub quote: Amount,
    /// Paid by the resting order's owner, base units of the token that its order takes fees in.
    pub maker_fee: Amount,
    /// Paid by the incoming order's owner, base units of the token that its order takes fees in.
    pub taker_fee: Amount,
}

/// A trade with both parties and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// The venue's time.
    pub at: VenueTime,
    /// The market.
    pub market: MarketId,
    /// The incoming order.
    pub taker: Hash,
    /// Its owner.
    pub taker_account: AccountId,
    /// Whether it is a market order, which only Kraken's interface has.
    pub is_market_order: bool,
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
    /// The account.
    pub account: AccountId,
    /// Market name.
    pub market: String,
    /// Side.
    pub side: Side,
    /// Order type; a swap is taker-only.
    pub kind: OrderKind,
    /// The pool of a swap; the market is then the pool's.
    pub pool: Option<Address>,
    /// The amount that limits it.
    pub fill_by: FillBy,
    /// Status.
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
    /// Fee so far, base units of its token.
    pub fee: Amount,
    /// Token of the fee.
    pub fee_token: TokenId,
    /// Sold token.
    pub sell_token: TokenId,
    /// Bought token.
    pub buy_token: TokenId,
    /// Storage id.
    pub storage_id: u32,
    /// Highest accepted fee.
    pub max_fee_bips: u8,
    /// Expiry in seconds.
    pub valid_until_s: u32,
    /// Time of acceptance.
    pub created: VenueTime,
    /// Time of the last change.
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
    /// Number of orders.
    pub count: u32,
}

/// Depth of a market, both sides best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthView {
    /// Market name.
    pub market: String,
    /// Decimals of a tick.
    pub price_decimals: u8,
    /// Increases whenever the book's content changes, and only then.
    pub version: u64,
    /// The venue's time of this snapshot.
    pub timestamp: VenueTime,
    /// Time of the last change of the content.
    pub changed: VenueTime,
    /// Bids.
    pub bids: Vec<DepthRow>,
    /// Asks.
    pub asks: Vec<DepthRow>,
}

/// One balance, in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceView {
    /// Token.
    pub token: TokenId,
    /// The whole balance.
    pub total: Amount,
    /// Part of the total that is locked by open orders, submissions and pending withdrawals.
    pub locked: Amount,
    /// Part of the locked amount that is being withdrawn to layer 1.
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
    /// Epoch of the signing key.
    pub key_epoch: KeyEpoch,
    /// Nonce of the next account request.
    pub nonce: u32,
    /// Nonce with which the signing key was set.
    pub key_nonce: u32,
}

/// The exchange as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeView {
    /// Chain id.
    pub chain_id: u64,
    /// Exchange contract.
    pub exchange: Address,
    /// Deposit contract.
    pub deposit: Address,
    /// Fees of transfers, withdrawals and key updates.
    pub fees: FeeSchedule,
    /// Fee of opening an account, in addition to the transfer's own fee; outside the interface.
    pub opening_fees: SortedMap<TokenId, Amount>,
    /// Mode of the exchange; outside the interface.
    pub mode: ExchangeMode,
}
