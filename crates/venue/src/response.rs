//! Everything the machine can answer, in base units and ticks. Decimal strings belong to the wire.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Price, Reason, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKey, KeyEpoch, PublicKey};
use crate::config::{MarketConfig, TokenConfig};

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
    ApiKey(ApiKey),
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
    /// The operator's wish was done; the account concerned, if one was.
    Done(Option<AccountId>),
}

/// An order that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Its hash.
    pub hash: Hash,
    /// Its client order id, or the hash as text.
    pub client_id: String,
    /// Its state after matching.
    pub status: OrderStatus,
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
}

/// One exchange between an incoming and a resting order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trade {
    /// The resting order.
    pub maker: Hash,
    /// Its owner.
    pub maker_account: AccountId,
    /// The incoming order's side.
    pub taker_side: Side,
    /// The resting order's level.
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
    /// How it may meet the book.
    pub kind: OrderKind,
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
    /// Part of the total bound by open orders.
    pub locked: Amount,
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
}
