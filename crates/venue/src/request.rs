//! Everything that can be asked of the machine, as data. Signatures were checked before; where the
//! machine must know that, the caller says with which key.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, ApiKeyDigest, KeyEpoch};
use crate::offchain::{NewExit, NewJoin, NewKey, NewTransfer, NewWithdrawal};
use crate::operator::Operator;
use crate::pool::PoolTransactionsQuery;

/// Who asks, as far as it is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caller {
    /// Nobody in particular.
    Public,
    /// The holder of an account's API key.
    Account {
        /// The key's account.
        account: AccountId,
        /// The signing key with which this request's signature was verified, if it was.
        signed: Option<KeyEpoch>,
    },
    /// A background trader of the venue itself.
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
        /// Whose order.
        account: AccountId,
        /// Its hash.
        hash: Option<Hash>,
        /// Its client order id.
        client_id: Option<String>,
    },
    /// One order.
    Order {
        /// Whose order.
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
        /// Aggregation level, 0 is full precision.
        level: u64,
        /// Most levels per side.
        limit: Option<u64>,
    },
    /// Balances of an account.
    Balances {
        /// Whose.
        account: AccountId,
        /// Only these tokens, zero ones included; every non-zero balance when absent.
        tokens: Option<Vec<TokenId>>,
    },
    /// Account data.
    Account(AccountQuery),
    /// The API key of an account, or its first one; outside the interface.
    ApiKey {
        /// Whose.
        account: AccountId,
        /// Digest of the key it gets if it has none yet.
        fresh: ApiKeyDigest,
    },
    /// Replace the API key.
    RotateApiKey {
        /// Whose.
        account: AccountId,
        /// Digest of the new key.
        fresh: ApiKeyDigest,
    },
    /// The next storage ids of a sell token; outside the interface.
    NextStorageId {
        /// Whose.
        account: AccountId,
        /// Which token.
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
        /// Which.
        pool: Address,
    },
    /// Supply liquidity.
    Join(Box<NewJoin>),
    /// Take liquidity out.
    Exit(Box<NewExit>),
    /// A page of the list of joins and exits.
    PoolTransactions(PoolTransactionsQuery),
    /// State of a transfer, withdrawal, key update, join or exit; outside the interface.
    Submission {
        /// Whose.
        account: AccountId,
        /// Its hash.
        hash: Hash,
    },
    /// An operator's wish.
    Operator(Operator),
    /// The operator's log, newest first.
    Log {
        /// Entries wanted.
        limit: u64,
        /// Entries skipped.
        offset: u64,
    },
}

/// Which kind of request.
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
}

impl Request {
    /// Which kind this is.
    pub const fn kind(&self) -> RequestKind {
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
        }
    }
}

/// An order as it arrives, with the hash that its shell computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrder {
    /// Its hash.
    pub hash: Hash,
    /// The exchange it names.
    pub exchange: Address,
    /// Whose order.
    pub account: AccountId,
    /// Storage id as given; beyond 32 bits is refused here.
    pub storage_id: u64,
    /// Token given.
    pub sell_token: TokenId,
    /// Most of it.
    pub sell_amount: Amount,
    /// Token wanted.
    pub buy_token: TokenId,
    /// Least of it, before the fee.
    pub buy_amount: Amount,
    /// Which amount ends the order.
    pub fill_by: FillBy,
    /// Must be false.
    pub all_or_none: bool,
    /// Expiry in seconds as given; beyond 32 bits is refused here.
    pub valid_until_s: u64,
    /// Highest fee accepted.
    pub max_fee_bips: u64,
    /// Must be zero.
    pub taker: Address,
    /// How it may meet the book; of no meaning for a swap.
    pub kind: OrderKind,
    /// The pool that an order of type AMM swaps with.
    pub pool: Option<Address>,
    /// The client's id for it; empty means absent.
    pub client_id: Option<String>,
}

/// Whose account data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountQuery {
    /// By owner address.
    Owner(Address),
    /// By number.
    Id(AccountId),
}

/// Filters and bounds of the orders list. Empty filters let everything through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersQuery {
    /// Whose orders.
    pub account: AccountId,
    /// Market name.
    pub market: Option<String>,
    /// Created at or after; 0 for no bound.
    pub start: VenueTime,
    /// Created at or before; 0 for no bound.
    pub end: VenueTime,
    /// Sides.
    pub sides: Vec<Side>,
    /// States.
    pub statuses: Vec<OrderStatus>,
    /// Kinds; `None` when the filter named only kinds that rest in no book.
    pub kinds: Option<Vec<OrderKind>>,
    /// Whether the filter of kinds also named swaps (interface: `AMM`).
    pub swaps: bool,
    /// Entries wanted.
    pub limit: Option<u64>,
    /// Entries skipped.
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
