//! Orders as they are sent, and what is reported of them.

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
    /// Takes what its price reaches; the rest of it expires.
    ImmediateOrCancel,
    /// Trades whole at once, or expires.
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

/// Whether a fill made or took liquidity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Liquidity {
    /// The order rested.
    Maker,
    /// It traded on arrival.
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
    /// It would trade with an order of our own.
    WouldTradeWithOwn,
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It rests.
    Resting,
    /// It was not accepted.
    Rejected(RejectReason),
    /// A part or all of it traded.
    Filled(Fill),
    /// It was cancelled on request, with so much left.
    Canceled(Qty),
    /// What was left of it did not find liquidity.
    Expired(Qty),
    /// It was to be cancelled, but is not open.
    CancelRejected,
}

/// One trade of an order of ours.
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
    /// What it cost.
    pub fee: Fee,
}

/// A report of the exchange about one order, at its time; the way back to the sender is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionReport {
    /// Exchange time.
    pub time: Timestamp,
    /// The order.
    pub order: OrderId,
    /// What became of it.
    pub outcome: Outcome,
}
