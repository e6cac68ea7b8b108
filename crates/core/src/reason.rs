//! Status codes of the exchange interface: one table of number, message and what a refusal with it proves.
//!
//! The enumeration, the list, the numbers on the wire (`cambist_protocol::code`), the server's messages and the
//! engine's conclusions are generated from it, so that a code begins as one line here. The endpoint table
//! (`cambist_protocol::endpoint`) lists the endpoints that may answer with it; tests name what else it needs.

use serde::{Deserialize, Serialize};

use crate::venue::Refusal;

macro_rules! codes {
    ($($reason:ident $number:literal $message:literal $refusal:ident)*) => {
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

            /// What a refusal of a submit with it proves. An unknown code proves nothing.
            pub const fn refusal(self) -> Refusal {
                match self {
                    $(Self::$reason => Refusal::$refusal,)*
                    Self::RateLimited => Refusal::RateLimited,
                    Self::Unlisted(_) => Refusal::ProvesNothing,
                }
            }
        }
    };
}

codes! {
    UnknownError 100_000 "unknown error" ProvesNothing
    InvalidArgument 100_001 "invalid argument" KillsBytes
    AddressNotFound 101_001 "address not found" ProvesNothing
    UserNotFound 101_002 "user not found" ProvesNothing
    WrongExchange 102_001 "exchange is incorrect" KillsBytes
    UnsupportedToken 102_002 "unsupported token in the order" ProvesNothing
    InvalidOrderAccount 102_003 "invalid account id in the order" KillsBytes
    InvalidOrderId 102_004 "invalid order id" ProvesNothing
    UnsupportedMarket 102_005 "market is not supported" ProvesNothing
    IllegalRate 102_006 "illegal rate" ProvesNothing
    OrderExists 102_007 "order already exists" KillsCopy
    OrderExpired 102_008 "order has expired" ProvesNothing
    MissingSignature 102_010 "order is missing its signature" KillsBytes
    InsufficientBalance 102_011 "insufficient balance" ProvesNothing
    AmountTooSmall 102_012 "order amount is too small" ProvesNothing
    FreezeFailed 102_014 "amount could not be frozen, try again later" ProvesNothing
    AmountTooLarge 102_020 "order amount exceeds the maximum" ProvesNothing
    InvalidNonce 102_021 "invalid nonce" ProvesNothing
    InvalidSender 102_022 "invalid sender" ProvesNothing
    InvalidReceiver 102_023 "invalid receiver" ProvesNothing
    UnsupportedFeeToken 102_024 "unsupported fee token" ProvesNothing
    FeeTokenMismatch 102_025 "token and fee token do not match" ProvesNothing
    SubmitFailed 102_027 "order could not be submitted" ProvesNothing
    NothingToCancel 102_117 "no order to cancel" ProvesNothing
    CancelFailed 102_118 "order could not be cancelled, try again later" ProvesNothing
    InvalidOrder 102_120 "order is not valid" ProvesNothing
    EmptyApiKey 104_001 "api key is empty" KeysRefused
    InvalidApiKey 104_002 "api key is invalid" KeysRefused
    InvalidAccount 104_003 "account id is invalid" ProvesNothing
    NoSignature 104_004 "no signature given" KeysRefused
    WrongSignature 104_005 "signature is wrong" KeysRefused
    EmptyUser 107_001 "user id is empty" ProvesNothing
    EmptyOrderHash 107_002 "order hash is empty" ProvesNothing
    OrderNotFound 107_003 "order does not exist" ProvesNothing
    UnsupportedDepthMarket 108_000 "unsupported market" ProvesNothing
    UnsupportedDepthLevel 108_001 "unsupported depth level" ProvesNothing
}
