//! Orders and their execution reports.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fees::Fee;

/// The caller's id of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OrderId(pub u64);

/// How an order may trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeInForce {
    /// Rests until it is filled or cancelled; rejected if it would trade at once.
    PostOnly,
    /// Takes what its price reaches; the rest of it rests.
    GoodTillCancel,
    /// Takes what its limit reaches; the rest expires.
    ImmediateOrCancel,
    /// Fills completely at once, or expires.
    FillOrKill,
}

/// A limit order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Its id; no other open order has it.
    pub id: OrderId,
    /// Buy or sell.
    pub side: Side,
    /// Limit in ticks, above 0.
    pub price: Price,
    /// Lots, above 0.
    pub qty: Qty,
    /// How it may trade.
    pub time_in_force: TimeInForce,
}

/// Whether a fill added or removed liquidity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Liquidity {
    /// The order rested.
    Maker,
    /// The order traded on arrival.
    Taker,
}

/// Why an order was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RejectReason {
    /// Price or quantity is 0.
    Malformed,
    /// An open order has the id.
    DuplicateId,
    /// It is post-only and would trade.
    WouldTake,
    /// It would trade with one of our own orders.
    WouldTradeWithOwn,
}

/// A change of an order's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It rests.
    Resting,
    /// It was not accepted.
    Rejected(RejectReason),
    /// A fill, partial or complete.
    Filled(Fill),
    /// Cancelled on request, with this quantity left.
    Canceled(Qty),
    /// Ended, because the remaining quantity found no liquidity.
    Expired(Qty),
    /// A cancel of an order that is not open.
    CancelRejected,
}

/// One fill of one of our orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Our side.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots.
    pub qty: Qty,
    /// Lots of the order that are left.
    pub remaining: Qty,
    /// Maker or taker.
    pub liquidity: Liquidity,
    /// The fee.
    pub fee: Fee,
}

/// A report of the exchange about one order, at the exchange's time; the latency to the sender is left to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Exchange time.
    pub time: Timestamp,
    /// The order.
    pub order: OrderId,
    /// The change.
    pub outcome: Outcome,
}
