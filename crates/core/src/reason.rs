//! Status codes of the exchange interface: one table of number, message and what a refusal with it proves.
//!
//! The enumeration, the list, the numbers on the wire (`cambist_protocol::code`), the server's messages and the
//! engine's conclusions are generated from it, so that a code is added in one line here. The endpoint table
//! (`cambist_protocol::endpoint`) lists the endpoints that may answer with it.

use serde::{Deserialize, Serialize};

/// What a refusal with a code proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// For a submit: nothing. The condition may have been caused by a delivered copy (one that locked the balance
    /// causes `InsufficientBalance`, one that rests `OrderExists`, one that expired `OrderExpired`) or may have changed
    /// before a delayed copy arrives (a market or token is listed again, an amount is within its limits, the fee below
    /// the highest).
    Nothing,
    /// The order's bytes alone cause it, so that every copy of them, whenever it arrives, is refused as well.
    Dead,
    /// Our keys are not accepted, so that further requests are pointless. For a submit it proves nothing.
    KeysRefused,
}

macro_rules! codes {
    ($($reason:ident $number:literal $message:literal $proof:ident)*) => {
        /// A refusal of the interface (its "Errors" table), or one with an unlisted code.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Reason {
            $(#[doc = concat!(stringify!($number), ": ", $message)] $reason,)*
            /// Too many requests (HTTP 429); the request was not processed.
            RateLimited,
            /// A code that this version does not know.
            Unlisted(u32),
        }

        impl Reason {
            /// Every listed reason, in the order of the interface.
            pub const LISTED: [Self; [$($number),*].len()] = [$(Self::$reason),*];

            /// The status code. A rate-limited answer has its HTTP status in the body, because the interface lists no
            /// code for it.
            pub const fn code(self) -> u32 {
                match self {
                    $(Self::$reason => $number,)*
                    Self::RateLimited => 429,
                    Self::Unlisted(code) => code,
                }
            }

            /// A short text.
            pub const fn message(self) -> &'static str {
                match self {
                    $(Self::$reason => $message,)*
                    Self::RateLimited => "too many requests",
                    Self::Unlisted(_) => "not listed",
                }
            }

            /// What a refusal proves. An unknown code proves nothing.
            pub const fn proof(self) -> Proof {
                match self {
                    $(Self::$reason => Proof::$proof,)*
                    Self::RateLimited | Self::Unlisted(_) => Proof::Nothing,
                }
            }
        }
    };
}

codes! {
    UnknownError 100_000 "unknown error" Nothing
    InvalidArgument 100_001 "invalid argument" Dead
    AddressNotFound 101_001 "address not found" Nothing
    UserNotFound 101_002 "user not found" Nothing
    WrongExchange 102_001 "exchange is incorrect" Dead
    UnsupportedToken 102_002 "unsupported token in the order" Nothing
    InvalidOrderAccount 102_003 "invalid account id in the order" Dead
    InvalidOrderId 102_004 "invalid order id" Nothing
    UnsupportedMarket 102_005 "market is not supported" Nothing
    IllegalRate 102_006 "illegal rate" Nothing
    OrderExists 102_007 "order already exists" Nothing
    OrderExpired 102_008 "order has expired" Nothing
    MissingSignature 102_010 "order is missing its signature" Dead
    InsufficientBalance 102_011 "insufficient balance" Nothing
    AmountTooSmall 102_012 "order amount is too small" Nothing
    FreezeFailed 102_014 "amount could not be frozen, try again later" Nothing
    AmountTooLarge 102_020 "order amount exceeds the maximum" Nothing
    InvalidNonce 102_021 "invalid nonce" Nothing
    InvalidSender 102_022 "invalid sender" Nothing
    InvalidReceiver 102_023 "invalid receiver" Nothing
    UnsupportedFeeToken 102_024 "unsupported fee token" Nothing
    FeeTokenMismatch 102_025 "token and fee token do not match" Nothing
    SubmitFailed 102_027 "order could not be submitted" Nothing
    NothingToCancel 102_117 "no order to cancel" Nothing
    CancelFailed 102_118 "order could not be cancelled, try again later" Nothing
    InvalidOrder 102_120 "order is not valid" Nothing
    EmptyApiKey 104_001 "api key is empty" KeysRefused
    InvalidApiKey 104_002 "api key is invalid" KeysRefused
    InvalidAccount 104_003 "account id is invalid" Nothing
    NoSignature 104_004 "no signature given" KeysRefused
    WrongSignature 104_005 "signature is wrong" KeysRefused
    EmptyUser 107_001 "user id is empty" Nothing
    EmptyOrderHash 107_002 "order hash is empty" Nothing
    OrderNotFound 107_003 "order does not exist" Nothing
    UnsupportedDepthMarket 108_000 "unsupported market" Nothing
    UnsupportedDepthLevel 108_001 "unsupported depth level" Nothing
}

impl Reason {
    /// Whether every copy of the order's bytes is refused as well.
    pub const fn proves_submit_dead(self) -> bool {
        matches!(self.proof(), Proof::Dead)
    }

    /// Whether the refusal means that our keys are not accepted.
    pub const fn is_key_refusal(self) -> bool {
        matches!(self.proof(), Proof::KeysRefused)
    }
}
