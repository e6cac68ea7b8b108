//! Refusals of Kraken's interface, with its texts.

use serde::{Deserialize, Serialize};

/// Why a request of Kraken's interface was refused. A refused request changed nothing but its key's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KrakenError {
    /// The nonce is not above the highest one of its key.
    InvalidNonce,
    /// The deadline passed before the matching.
    DeadlineElapsed,
    /// The deadline is too far ahead.
    InvalidDeadline,
    /// The expiry is too near, too far, or not that of the time in force.
    InvalidExpiry,
    /// The pair is not listed.
    UnknownPair,
    /// The volume is not a number of lots within the bounds of the pair.
    InvalidVolume,
    /// The price is zero or outside the price band.
    InvalidPrice,
    /// The client order id names an open order.
    DuplicateClientId,
    /// The volume is below the smallest of the pair.
    BelowOrderMinimum,
    /// The value is below the smallest of the pair.
    BelowCostMinimum,
    /// A post-only order would take.
    WouldTake,
    /// The free balance is less than the order needs.
    InsufficientFunds,
    /// The account has as many open orders as it may have.
    TooManyOrders,
    /// No such order, or it is not open.
    UnknownOrder,
    /// The order cannot be amended like that.
    InvalidAmend,
    /// The timer is a day or more.
    InvalidTimeout,
    /// There is nothing on the other side that a market order could take.
    NoLiquidity,
    /// The exchange accepts post-only orders.
    PostOnlyMode,
    /// The exchange accepts cancels only.
    CancelOnlyMode,
    /// The exchange is halted.
    Halted,
    /// The account is frozen.
    Frozen,
    /// The new volume of an order is not a number of lots within the bounds of the pair.
    InvalidQuantity,
}

impl KrakenError {
    /// The text of the answer.
    pub const fn text(self) -> &'static str {
        match self {
            Self::InvalidNonce => "EAPI:Invalid nonce",
            Self::DeadlineElapsed => "EService:Deadline elapsed",
            Self::InvalidDeadline => "EGeneral:Invalid arguments:deadline",
            Self::InvalidExpiry => "EGeneral:Invalid arguments:expiretm",
            Self::UnknownPair => "EQuery:Unknown asset pair",
            Self::InvalidVolume => "EGeneral:Invalid arguments:volume",
            Self::InvalidPrice => "EOrder:Invalid price",
            Self::DuplicateClientId => "EGeneral:Invalid arguments:cl_ord_id",
            Self::BelowOrderMinimum => "EOrder:Order minimum not met",
            Self::BelowCostMinimum => "EOrder:Cost minimum not met",
            Self::WouldTake => "EOrder:Post only order",
            Self::InsufficientFunds => "EOrder:Insufficient funds",
            Self::TooManyOrders => "EOrder:Orders limit exceeded",
            Self::UnknownOrder => "EOrder:Unknown order",
            Self::InvalidAmend => "EGeneral:Invalid arguments",
            Self::InvalidTimeout => "EGeneral:Invalid arguments:timeout",
            Self::NoLiquidity => "EService:Market in limit_only mode",
            Self::PostOnlyMode => "EService:Market in post_only mode",
            Self::CancelOnlyMode => "EService:Market in cancel_only mode",
            Self::Halted => "EService:Unavailable",
            Self::Frozen => "EGeneral:Permission denied",
            Self::InvalidQuantity => "EGeneral:Invalid arguments:order_qty",
        }
    }

    /// Whether it depends on what else is in the book and on the account. Of a batch such an order is refused alone,
    /// while any other refusal is one of the whole batch.
    pub const fn is_before_matching(self) -> bool {
        matches!(
            self,
            Self::WouldTake | Self::InsufficientFunds | Self::TooManyOrders | Self::NoLiquidity
        )
    }
}
