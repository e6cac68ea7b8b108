//! What the engine asks the venue, and what came of it.
//!
//! Typed requests only: paths, parameters, keys and JSON are the protocol's and the client's.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::order::{Hash, OrderReport, OrderStatus};
use crate::pool::{PoolBalances, PoolListed, PoolTransactionReport};
use crate::reason::Reason;
use crate::time::VenueTime;
use crate::token::{Amount, TokenId, TokenSpec};

/// Number of one request; answers carry it back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct RequestId(pub u64);

/// Endpoints the engine uses; the key of rate budgets and of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Endpoint {
    /// POST order.
    Submit,
    /// DELETE order.
    Cancel,
    /// GET order.
    Order,
    /// GET orders.
    Orders,
    /// GET depth.
    Depth,
    /// GET balances.
    Balances,
    /// GET markets.
    Markets,
    /// GET account.
    Account,
    /// GET amm/pools.
    Pools,
    /// GET amm/balance.
    PoolBalance,
    /// POST amm/join.
    Join,
    /// POST amm/exit.
    Exit,
    /// GET amm/user/transactions.
    PoolTransactions,
    /// GET tokens.
    Tokens,
}

impl Endpoint {
    /// Every endpoint, in a fixed order.
    pub const ALL: [Self; 14] = [
        Self::Submit,
        Self::Cancel,
        Self::Order,
        Self::Orders,
        Self::Depth,
        Self::Balances,
        Self::Markets,
        Self::Account,
        Self::Pools,
        Self::PoolBalance,
        Self::Join,
        Self::Exit,
        Self::PoolTransactions,
        Self::Tokens,
    ];

    /// Whether sealed joins or exits go there.
    pub const fn is_pool_transaction(self) -> bool {
        matches!(self, Self::Join | Self::Exit)
    }

    /// Whether its answers are about one account, so that no cache may give them.
    pub const fn is_of_the_account(self) -> bool {
        match self {
            Self::Submit
            | Self::Cancel
            | Self::Order
            | Self::Orders
            | Self::Balances
            | Self::Account
            | Self::Join
            | Self::Exit
            | Self::PoolTransactions => true,
            Self::Depth | Self::Markets | Self::Pools | Self::PoolBalance | Self::Tokens => false,
        }
    }

    /// The label used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submit => "order_submit",
            Self::Cancel => "order_cancel",
            Self::Order => "order_get",
            Self::Orders => "orders_list",
            Self::Depth => "depth",
            Self::Balances => "balances",
            Self::Markets => "markets",
            Self::Account => "account",
            Self::Pools => "pools",
            Self::PoolBalance => "pool_balance",
            Self::Join => "pool_join",
            Self::Exit => "pool_exit",
            Self::PoolTransactions => "pool_transactions",
            Self::Tokens => "tokens",
        }
    }
}

/// A request that carries no prepared signature of an order: polls and cancels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Query {
    /// Depth of a market at full price precision.
    Depth(MarketId),
    /// All balances of the account.
    Balances,
    /// One page of our orders created in a closed window, every status.
    Orders(OrdersPage),
    /// One order by hash.
    Order(Hash),
    /// Cancel one order by hash.
    Cancel(Hash),
    /// Market configuration.
    Markets,
    /// Our account record.
    Account,
    /// Which pools are listed, and what may be done with them.
    Pools,
    /// What the pool beside a market holds.
    PoolBalance(MarketId),
    /// One page of our joins and exits created in a closed window, every pool, state and layer.
    PoolTransactions(OrdersPage),
    /// Every token's decimals and bounds.
    Tokens,
}

impl Query {
    /// The endpoint this request goes to.
    pub const fn endpoint(&self) -> Endpoint {
        match self {
            Self::Depth(_) => Endpoint::Depth,
            Self::Balances => Endpoint::Balances,
            Self::Orders(_) => Endpoint::Orders,
            Self::Order(_) => Endpoint::Order,
            Self::Cancel(_) => Endpoint::Cancel,
            Self::Markets => Endpoint::Markets,
            Self::Account => Endpoint::Account,
            Self::Pools => Endpoint::Pools,
            Self::PoolBalance(_) => Endpoint::PoolBalance,
            Self::PoolTransactions(_) => Endpoint::PoolTransactions,
            Self::Tokens => Endpoint::Tokens,
        }
    }
}

/// Bounds of one page of a list: orders, or joins and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersPage {
    /// Created at or after, venue milliseconds.
    pub from: VenueTime,
    /// Created at or before, venue milliseconds; 0 is no bound, as on the wire.
    pub to: VenueTime,
    /// Entries skipped.
    pub offset: u32,
    /// Entries wanted.
    pub limit: u32,
    /// Only orders that rest. Joins and exits have no such filter.
    pub resting_only: bool,
}

impl OrdersPage {
    /// The states to ask for; none asks for all.
    pub fn statuses(&self) -> Vec<OrderStatus> {
        if self.resting_only {
            OrderStatus::RESTING.to_vec()
        } else {
            Vec::new()
        }
    }
}

/// A price level of a polled depth: ticks, base units, count of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthLevel {
    /// Price in ticks.
    pub price: crate::Price,
    /// Base units resting.
    pub size: Amount,
}

/// A polled L2 snapshot, both sides best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depth {
    /// Market asked for.
    pub market: MarketId,
    /// Ever-increasing version.
    pub version: u64,
    /// The venue's time of the snapshot.
    pub timestamp: VenueTime,
    /// Bids, best first.
    pub bids: Vec<DepthLevel>,
    /// Asks, best first.
    pub asks: Vec<DepthLevel>,
}

/// One balance entry in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// Token.
    pub token: TokenId,
    /// Everything held.
    pub total: Amount,
    /// Part of the total bound by orders or withdrawals.
    pub locked: Amount,
}

/// A market as the venue lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The venue's name, `BASE-QUOTE`.
    pub name: String,
    /// Base token.
    pub base: TokenId,
    /// Quote token.
    pub quote: TokenId,
    /// Decimals of the price (interface: `precisionForPrice`).
    pub price_decimals: u8,
    /// Open for trading.
    pub enabled: bool,
}

/// A decoded success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// Depth snapshot.
    Depth(Depth),
    /// Balances; a token that is absent has none.
    Balances(Vec<Balance>),
    /// One page of orders and the total the venue counts for the query.
    Orders {
        /// Entries of this page.
        orders: Vec<OrderReport>,
        /// Entries over all pages.
        total: u32,
    },
    /// One order.
    Order(OrderReport),
    /// A submit, a join or an exit was taken; `hash` as the venue computed it.
    Submitted {
        /// Hash of the order or move.
        hash: Hash,
        /// State at acceptance; of a move `Processing`, `Processed` or `Failed`.
        status: OrderStatus,
        /// The same request is already being worked on.
        idempotent: bool,
    },
    /// A cancel was taken.
    CancelTaken {
        /// State after the request.
        status: OrderStatus,
    },
    /// Every market that the venue lists, open or not.
    Markets {
        /// In the venue's order.
        listed: Vec<Listed>,
    },
    /// Our account.
    Account {
        /// A frozen account cannot submit orders.
        frozen: bool,
    },
    /// The configured pools that are listed.
    Pools(Vec<PoolListed>),
    /// What the pool asked about holds.
    PoolBalance(PoolBalances),
    /// One page of joins and exits and the total the venue counts for the query.
    PoolTransactions {
        /// Entries of this page.
        moves: Vec<PoolTransactionReport>,
        /// Entries over all pages.
        total: u32,
    },
    /// Every token that the venue lists.
    Tokens(Vec<TokenSpec>),
}

/// Why nothing can be concluded from a request that may have reached the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UnknownCause {
    /// No answer within the deadline.
    Timeout,
    /// The connection broke after bytes may have left.
    Transport,
    /// The answer could not be understood (wrong types, truncated, HTML, too large).
    Undecodable,
    /// 5xx without a code that says more.
    ServerError,
    /// A redirect, which is never followed.
    Redirect,
}

impl UnknownCause {
    /// The label used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Transport => "transport",
            Self::Undecodable => "undecodable",
            Self::ServerError => "server_error",
            Self::Redirect => "redirect",
        }
    }
}

/// What became of one transmission: the four outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The venue answered with success.
    Reply(Reply),
    /// The venue answered with a refusal.
    Refused(Reason),
    /// Provably no byte left.
    NotSent,
    /// Anything may have happened.
    Unknown(UnknownCause),
}
