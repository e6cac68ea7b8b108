//! Requests of the engine to the venue, and their outcomes.
//!
//! Typed requests only: paths, parameters, keys and JSON belong to the protocol and the client.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::order::{Hash, OrderReport, OrderStatus};
use crate::pool::{PoolBalances, PoolListed, PoolTransactionReport};
use crate::reason::Reason;
use crate::time::VenueTime;
use crate::token::{Amount, TokenId, TokenSpec};

pub use crate::venue::{Endpoint, RequestKind};

/// Number of a request; its answer has the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct RequestId(pub u64);

/// A request without a signed intent: polls, cancels and amends.
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
    /// The listed pools and their permissions.
    Pools,
    /// Balances of the pool beside a market.
    PoolBalance(MarketId),
    /// One page of our joins and exits created in a closed window, every pool, state and layer.
    PoolTransactions(OrdersPage),
    /// Every token's decimals and bounds.
    Tokens,
    /// Move an order that rests to another price, with the same quantity.
    Amend(Amend),
}

/// Another price for an order that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amend {
    /// The order.
    pub order: Hash,
    /// Its market.
    pub market: MarketId,
    /// The new price in ticks.
    pub price: crate::Price,
    /// Whether the venue refuses a price at which the order would take.
    pub maker_only: bool,
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
            Self::Amend(_) => Endpoint::Amend,
        }
    }
}

/// Which list of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderList {
    /// Every order of the window, whatever its state. Joins and exits have this one only.
    All,
    /// Everything that may still trade, whatever its age.
    Resting,
    /// Every order of the window that can trade no more.
    Closed,
}

/// Bounds of one page of a list: orders, or joins and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrdersPage {
    /// Which list.
    pub list: OrderList,
    /// Created at or after this venue time.
    pub from: VenueTime,
    /// Created at or before this venue time; 0 means no bound, as on the wire.
    pub to: VenueTime,
    /// Entries skipped, or where this page begins by the page before it.
    pub offset: u32,
    /// Largest number of entries.
    pub limit: u32,
}

impl OrdersPage {
    /// The states to filter by; empty for all.
    pub fn statuses(&self) -> Vec<OrderStatus> {
        match self.list {
            OrderList::All => Vec::new(),
            OrderList::Resting => OrderStatus::RESTING.to_vec(),
            OrderList::Closed => OrderStatus::FINAL.to_vec(),
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
    /// The market.
    pub market: MarketId,
    /// Version, which increases with every change.
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
    /// Total balance.
    pub total: Amount,
    /// Part of the total locked by orders or withdrawals.
    pub locked: Amount,
}

/// What the venue took for executing a request, beside all amounts of orders, joins and exits: gas on a chain. It may be
/// of something that failed, and in a token that is traded nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Its place in the account's row of charges, which has no gap.
    pub number: u64,
    /// Token.
    pub token: TokenId,
    /// Base units.
    pub amount: Amount,
    /// What it was taken for.
    pub cause: Hash,
}

impl Charge {
    /// The reason with which it is booked.
    pub fn reason(&self) -> String {
        format!("charge {} for {}", self.number, self.cause)
    }

    /// Whether a flow with this reason is a charge.
    pub fn is_reason(reason: &str) -> bool {
        let named = reason.strip_prefix("charge ");
        let parts = named.and_then(|named| named.split_once(" for "));
        parts.is_some_and(|(number, cause)| {
            let hash = cause.strip_prefix("0x").unwrap_or(cause);
            number.parse::<u64>().is_ok()
                && hash.len() == 64
                && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }
}

/// Balances of one moment, with the charges until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargedBalances {
    /// Balances; a token that is absent has none. They contain every charge with a number below `charged_below`, and no
    /// other.
    pub balances: Vec<Balance>,
    /// The newest charges, in the order of their numbers, without a gap up to `charged_below`: everything that may not be
    /// booked yet.
    pub charges: Vec<Charge>,
    /// The number of the next charge.
    pub charged_below: u64,
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
    /// One page of orders, and the number of entries that the venue counts for the query.
    Orders {
        /// Entries of this page.
        orders: Vec<OrderReport>,
        /// Entries of all pages.
        total: u32,
    },
    /// One page of a list of orders that states where its next page begins instead of how long it is.
    OrdersUntil {
        /// Entries of this page.
        orders: Vec<OrderReport>,
        /// Where the next page begins, if there is one.
        next: Option<u32>,
    },
    /// One order.
    Order(OrderReport),
    /// A submit, a join or an exit was accepted; `hash` as computed by the venue.
    Submitted {
        /// Hash of the intent.
        hash: Hash,
        /// State at acceptance; for a join or an exit `Processing`, `Processed` or `Failed`.
        status: OrderStatus,
        /// Whether the same request is already being processed.
        idempotent: bool,
    },
    /// A cancel was accepted.
    CancelTaken {
        /// State after the request.
        status: OrderStatus,
    },
    /// Every market that the venue lists, open or not.
    Markets {
        /// The markets, in the venue's order.
        listed: Vec<Listed>,
    },
    /// Our account.
    Account {
        /// A frozen account cannot submit orders.
        frozen: bool,
    },
    /// The configured pools that are listed.
    Pools(Vec<PoolListed>),
    /// Balances of the requested pool.
    PoolBalance(PoolBalances),
    /// One page of joins and exits, and the number of entries that the venue counts for the query.
    PoolTransactions {
        /// Entries of this page.
        moves: Vec<PoolTransactionReport>,
        /// Entries of all pages.
        total: u32,
    },
    /// Every token that the venue lists.
    Tokens(Vec<TokenSpec>),
    /// Balances of a venue that charges for requests.
    ChargedBalances(ChargedBalances),
    /// An order has the price that was asked for.
    Amended,
}

impl Reply {
    /// The orders of a page, whether it states a count or the next page.
    pub fn page_of_orders(&self) -> Option<&[OrderReport]> {
        match self {
            Self::Orders { orders, .. } | Self::OrdersUntil { orders, .. } => Some(orders),
            _ => None,
        }
    }
}

/// Why the result of a request that may have reached the venue is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum UnknownCause {
    /// No answer within the deadline.
    Timeout,
    /// The connection broke after bytes may have left.
    Transport,
    /// The answer could not be decoded (wrong types, truncated, HTML, too large).
    Undecodable,
    /// Status 5xx without a more specific code.
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

/// Outcome of one transmission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The venue answered with success.
    Reply(Reply),
    /// The venue answered with a refusal.
    Refused(Reason),
    /// Provably no byte left.
    NotSent,
    /// Unknown: the venue may or may not have processed it.
    Unknown(UnknownCause),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_has_its_own_name_and_two_are_of_sealed_joins_and_exits() {
        let all = || Endpoint::ALL.into_iter();
        let sealed: Vec<_> = all().filter(|at| at.is_pool_transaction()).collect();
        assert_eq!(sealed, [Endpoint::Join, Endpoint::Exit]);
        let public = all().filter(|at| !at.is_of_the_account());
        let public: std::collections::BTreeSet<_> = public.collect();
        let open = [
            Endpoint::Depth,
            Endpoint::Markets,
            Endpoint::Pools,
            Endpoint::PoolBalance,
            Endpoint::Tokens,
        ];
        assert_eq!(public, open.into());
        let names: std::collections::BTreeSet<_> = all().map(Endpoint::name).collect();
        assert_eq!(names.len(), Endpoint::ALL.len());
    }
}
