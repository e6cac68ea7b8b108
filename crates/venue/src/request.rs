//! Requests to the state machine, as data. Signatures were verified before; `Caller` states with which key.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, KeyEpoch};
use crate::kraken::KrakenCall;
use crate::offchain::{NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal};
use crate::operator::Operator;
use crate::pool::PoolTransactionsQuery;

/// The authenticated caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// A caller without an API key.
    Public,
    /// The holder of an account's API key.
    Account {
        /// The key's account.
        account: AccountId,
        /// The signing key with which this request's signature was verified, if it was.
        signed: Option<KeyEpoch>,
    },
    /// A simulated trader of the venue.
    Internal {
        /// Its account.
        account: AccountId,
    },
    /// The operator of the venue.
    Operator,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Submit an order.
    Submit(Box<NewOrder>),
    /// Cancel an order by hash, client order id or both.
    Cancel {
        /// The account.
        account: AccountId,
        /// Its hash.
        hash: Option<Hash>,
        /// Its client order id.
        client_id: Option<String>,
    },
    /// One order.
    Order {
        /// The account.
        account: AccountId,
        /// Its hash.
        hash: Hash,
    },
    /// A page of the orders list.
    Orders(OrdersQuery),
    /// Depth of a market.
    Depth {
        /// Market name.
        market: String,
        /// Aggregation level; 0 is full precision.
        level: u64,
        /// Most levels per side.
        limit: Option<u64>,
    },
    /// Balances of an account.
    Balances {
        /// The account.
        account: AccountId,
        /// Only these tokens, with zero balances; all non-zero balances if absent.
        tokens: Option<Vec<TokenId>>,
    },
    /// Account data.
    Account(AccountQuery),
    /// The API key of an account, or its first one; outside the interface.
    ApiKey {
        /// The account.
        account: AccountId,
        /// Digest of the key to set if the account has none.
        fresh: ApiKeyDigest,
    },
    /// Replace the API key.
    RotateApiKey {
        /// The account.
        account: AccountId,
        /// Digest of the new key.
        fresh: ApiKeyDigest,
    },
    /// The next storage ids of a sell token; outside the interface.
    NextStorageId {
        /// The account.
        account: AccountId,
        /// The token.
        sell_token: TokenId,
    },
    /// Exchange configuration.
    ExchangeInfo,
    /// Token configuration.
    Tokens,
    /// Market configuration.
    Markets,
    /// Transfer between accounts.
    Transfer(Box<NewTransfer>),
    /// Withdraw to layer 1.
    Withdraw(Box<NewWithdrawal>),
    /// Replace the signing key.
    UpdateKey(Box<NewKey>),
    /// Pool configuration.
    Pools,
    /// Balances of a pool.
    PoolBalance {
        /// Address of the pool.
        pool: Address,
    },
    /// Supply liquidity.
    Join(Box<NewJoin>),
    /// Redeem shares.
    Exit(Box<NewExit>),
    /// A page of the list of joins and exits.
    PoolTransactions(PoolTransactionsQuery),
    /// State of a transfer, withdrawal, key update, join or exit; outside the interface.
    Submission {
        /// The account.
        account: AccountId,
        /// Its hash.
        hash: Hash,
    },
    /// An operator request.
    Operator(Operator),
    /// The operator's log, newest first.
    Log {
        /// Number of entries.
        limit: u64,
        /// Number of entries to skip.
        offset: u64,
    },
    /// A request of Kraken's interface.
    Kraken(Box<KrakenCall>),
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants are those of Request")]
pub enum RequestKind {
    Submit,
    Cancel,
    Order,
    Orders,
    Depth,
    Balances,
    Account,
    ApiKey,
    RotateApiKey,
    NextStorageId,
    ExchangeInfo,
    Tokens,
    Markets,
    Transfer,
    Withdraw,
    UpdateKey,
    Pools,
    PoolBalance,
    Join,
    Exit,
    PoolTransactions,
    Submission,
    Operator,
    Log,
    Kraken,
}

impl Request {
    /// The kind of this request.
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::Submit(_) => RequestKind::Submit,
            Self::Cancel { .. } => RequestKind::Cancel,
            Self::Order { .. } => RequestKind::Order,
            Self::Orders(_) => RequestKind::Orders,
            Self::Depth { .. } => RequestKind::Depth,
            Self::Balances { .. } => RequestKind::Balances,
            Self::Account(_) => RequestKind::Account,
            Self::ApiKey { .. } => RequestKind::ApiKey,
            Self::RotateApiKey { .. } => RequestKind::RotateApiKey,
            Self::NextStorageId { .. } => RequestKind::NextStorageId,
            Self::ExchangeInfo => RequestKind::ExchangeInfo,
            Self::Tokens => RequestKind::Tokens,
            Self::Markets => RequestKind::Markets,
            Self::Transfer(_) => RequestKind::Transfer,
            Self::Withdraw(_) => RequestKind::Withdraw,
            Self::UpdateKey(_) => RequestKind::UpdateKey,
            Self::Pools => RequestKind::Pools,
            Self::PoolBalance { .. } => RequestKind::PoolBalance,
            Self::Join(_) => RequestKind::Join,
            Self::Exit(_) => RequestKind::Exit,
            Self::PoolTransactions(_) => RequestKind::PoolTransactions,
            Self::Submission { .. } => RequestKind::Submission,
            Self::Operator(_) => RequestKind::Operator,
            Self::Log { .. } => RequestKind::Log,
            Self::Kraken(call) => call.action.kind(),
        }
    }
}

/// An order as received, with its hash, which the server computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrder {
    /// Its hash.
    pub hash: Hash,
    /// The exchange address in the order.
    pub exchange: Address,
    /// The account.
    pub account: AccountId,
    /// Storage id as in the request; refused here if it exceeds 32 bits.
    pub storage_id: u64,
    /// Token to sell.
    pub sell_token: TokenId,
    /// Most units to sell.
    pub sell_amount: Amount,
    /// Token to buy.
    pub buy_token: TokenId,
    /// Least units to buy, before the fee.
    pub buy_amount: Amount,
    /// The amount that limits the order.
    pub fill_by: FillBy,
    /// Must be false.
    pub all_or_none: bool,
    /// Expiry in seconds as in the request; refused here if it exceeds 32 bits.
    pub valid_until_s: u64,
    /// Highest accepted fee.
    pub max_fee_bips: u64,
    /// Must be zero.
    pub taker: Address,
    /// Order type; ignored for swaps.
    pub kind: OrderKind,
    /// The pool that an order of type AMM swaps with.
    pub pool: Option<Address>,
    /// Client order id; empty counts as absent.
    pub client_id: Option<String>,
}

/// The key by which an account is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountQuery {
    /// By owner address.
    Owner(Address),
    /// By number.
    Id(AccountId),
}

/// Filters and bounds of the orders list. An empty filter matches everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersQuery {
    /// The account.
    pub account: AccountId,
    /// Market name.
    pub market: Option<String>,
    /// Created at or after; 0 for no bound.
    pub start: VenueTime,
    /// Created at or before; 0 for no bound.
    pub end: VenueTime,
    /// Sides.
    pub sides: Vec<Side>,
    /// Statuses.
    pub statuses: Vec<OrderStatus>,
    /// Kinds; `None` if the filter contains only kinds that never rest.
    pub kinds: Option<Vec<OrderKind>>,
    /// Whether the filter of kinds also contains swaps (interface: `AMM`).
    pub swaps: bool,
    /// Number of entries.
    pub limit: Option<u64>,
    /// Number of entries to skip.
    pub offset: u64,
}

impl OrdersQuery {
    /// Every order of an account, first page.
    pub const fn all(account: AccountId) -> Self {
        Self {
            account,
            market: None,
            start: VenueTime(0),
            end: VenueTime(0),
            sides: Vec::new(),
            statuses: Vec::new(),
            kinds: Some(Vec::new()),
            swaps: false,
            limit: None,
            offset: 0,
        }
    }
}
