//! What the venue says when it refuses, and what such a refusal proves.
//!
//! The numbers belong to the wire and live in the protocol room. Here is only the meaning: whether a
//! refused submit is dead, or might still be resting because a delivered twin would have caused the
//! very same answer.

use serde::{Deserialize, Serialize};

/// A refusal of the interface (its "Errors" table), or one it does not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// 100000
    UnknownError,
    /// 100001
    InvalidArgument,
    /// 101001
    AddressNotFound,
    /// 101002
    UserNotFound,
    /// 102001
    WrongExchange,
    /// 102002
    UnsupportedToken,
    /// 102003
    InvalidOrderAccount,
    /// 102004
    InvalidOrderId,
    /// 102005
    UnsupportedMarket,
    /// 102006
    IllegalRate,
    /// 102007
    OrderExists,
    /// 102008
    OrderExpired,
    /// 102010
    MissingSignature,
    /// 102011
    InsufficientBalance,
    /// 102012
    AmountTooSmall,
    /// 102014
    FreezeFailed,
    /// 102020
    AmountTooLarge,
    /// 102021
    InvalidNonce,
    /// 102022
    InvalidSender,
    /// 102023
    InvalidReceiver,
    /// 102024
    UnsupportedFeeToken,
    /// 102025
    FeeTokenMismatch,
    /// 102027
    SubmitFailed,
    /// 102117
    NothingToCancel,
    /// 102118
    CancelFailed,
    /// 102120
    InvalidOrder,
    /// 104001
    EmptyApiKey,
    /// 104002
    InvalidApiKey,
    /// 104003
    InvalidAccount,
    /// 104004
    NoSignature,
    /// 104005
    WrongSignature,
    /// 107001
    EmptyUser,
    /// 107002
    EmptyOrderHash,
    /// 107003
    OrderNotFound,
    /// 108000
    UnsupportedDepthMarket,
    /// 108001
    UnsupportedDepthLevel,
    /// Too many requests (HTTP 429); the request was not processed.
    RateLimited,
    /// A code that this version does not know.
    Unlisted(u32),
}

impl Reason {
    /// Every listed reason, for tables and tests.
    pub const LISTED: [Self; 36] = [
        Self::UnknownError,
        Self::InvalidArgument,
        Self::AddressNotFound,
        Self::UserNotFound,
        Self::WrongExchange,
        Self::UnsupportedToken,
        Self::InvalidOrderAccount,
        Self::InvalidOrderId,
        Self::UnsupportedMarket,
        Self::IllegalRate,
        Self::OrderExists,
        Self::OrderExpired,
        Self::MissingSignature,
        Self::InsufficientBalance,
        Self::AmountTooSmall,
        Self::FreezeFailed,
        Self::AmountTooLarge,
        Self::InvalidNonce,
        Self::InvalidSender,
        Self::InvalidReceiver,
        Self::UnsupportedFeeToken,
        Self::FeeTokenMismatch,
        Self::SubmitFailed,
        Self::NothingToCancel,
        Self::CancelFailed,
        Self::InvalidOrder,
        Self::EmptyApiKey,
        Self::InvalidApiKey,
        Self::InvalidAccount,
        Self::NoSignature,
        Self::WrongSignature,
        Self::EmptyUser,
        Self::EmptyOrderHash,
        Self::OrderNotFound,
        Self::UnsupportedDepthMarket,
        Self::UnsupportedDepthLevel,
    ];

    /// Whether the order's bytes alone cause this refusal, so that every copy of them, whenever it
    /// arrives, is refused as well.
    ///
    /// What else the venue looks at may have been caused by a delivered copy (one that froze the balance
    /// causes `InsufficientBalance`, one that rests `OrderExists`, one that expired `OrderExpired`) or may
    /// have changed before a delayed copy arrives (a market or token is listed again, an amount is within
    /// its limits, the fee below the highest): all those prove nothing.
    pub const fn proves_submit_dead(self) -> bool {
        match self {
            Self::InvalidArgument
            | Self::WrongExchange
            | Self::InvalidOrderAccount
            | Self::MissingSignature => true,
            Self::UnknownError
            | Self::AddressNotFound
            | Self::UserNotFound
            | Self::UnsupportedToken
            | Self::InvalidOrderId
            | Self::UnsupportedMarket
            | Self::IllegalRate
            | Self::OrderExists
            | Self::OrderExpired
            | Self::InsufficientBalance
            | Self::AmountTooSmall
            | Self::FreezeFailed
            | Self::AmountTooLarge
            | Self::InvalidNonce
            | Self::InvalidSender
            | Self::InvalidReceiver
            | Self::UnsupportedFeeToken
            | Self::FeeTokenMismatch
            | Self::SubmitFailed
            | Self::NothingToCancel
            | Self::CancelFailed
            | Self::InvalidOrder
            | Self::EmptyApiKey
            | Self::InvalidApiKey
            | Self::InvalidAccount
            | Self::NoSignature
            | Self::WrongSignature
            | Self::EmptyUser
            | Self::EmptyOrderHash
            | Self::OrderNotFound
            | Self::UnsupportedDepthMarket
            | Self::UnsupportedDepthLevel
            | Self::RateLimited
            | Self::Unlisted(_) => false,
        }
    }

    /// Whether the refusal means that our keys are not accepted, so that going on is pointless.
    pub const fn is_key_refusal(self) -> bool {
        matches!(
            self,
            Self::EmptyApiKey | Self::InvalidApiKey | Self::NoSignature | Self::WrongSignature
        )
    }
}
