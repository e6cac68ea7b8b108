//! Status codes as numbers and words: what a [`Reason`] is called on the wire.
//!
//! What a code proves about an order is not known here; that is `cambist_core::reason`.

use cambist_core::Reason;

/// Number used in the body of a rate-limited answer; the interface lists none, the HTTP status says it.
pub const RATE_LIMITED: u32 = 429;

/// The number of a reason.
pub const fn number(reason: Reason) -> u32 {
    match reason {
        Reason::UnknownError => 100_000,
        Reason::InvalidArgument => 100_001,
        Reason::AddressNotFound => 101_001,
        Reason::UserNotFound => 101_002,
        Reason::WrongExchange => 102_001,
        Reason::UnsupportedToken => 102_002,
        Reason::InvalidOrderAccount => 102_003,
        Reason::InvalidOrderId => 102_004,
        Reason::UnsupportedMarket => 102_005,
        Reason::IllegalRate => 102_006,
        Reason::OrderExists => 102_007,
        Reason::OrderExpired => 102_008,
        Reason::MissingSignature => 102_010,
        Reason::InsufficientBalance => 102_011,
        Reason::AmountTooSmall => 102_012,
        Reason::FreezeFailed => 102_014,
        Reason::AmountTooLarge => 102_020,
        Reason::InvalidNonce => 102_021,
        Reason::InvalidSender => 102_022,
        Reason::InvalidReceiver => 102_023,
        Reason::UnsupportedFeeToken => 102_024,
        Reason::FeeTokenMismatch => 102_025,
        Reason::SubmitFailed => 102_027,
        Reason::NothingToCancel => 102_117,
        Reason::CancelFailed => 102_118,
        Reason::InvalidOrder => 102_120,
        Reason::EmptyApiKey => 104_001,
        Reason::InvalidApiKey => 104_002,
        Reason::InvalidAccount => 104_003,
        Reason::NoSignature => 104_004,
        Reason::WrongSignature => 104_005,
        Reason::EmptyUser => 107_001,
        Reason::EmptyOrderHash => 107_002,
        Reason::OrderNotFound => 107_003,
        Reason::UnsupportedDepthMarket => 108_000,
        Reason::UnsupportedDepthLevel => 108_001,
        Reason::RateLimited => RATE_LIMITED,
        Reason::Unlisted(number) => number,
    }
}

/// The reason behind a number; `Unlisted` for one that the interface does not name.
pub fn reason(code: u32) -> Reason {
    if code == RATE_LIMITED {
        return Reason::RateLimited;
    }
    Reason::LISTED
        .into_iter()
        .find(|reason| number(*reason) == code)
        .unwrap_or(Reason::Unlisted(code))
}

/// Short text for people.
pub const fn message(reason: Reason) -> &'static str {
    match reason {
        Reason::UnknownError => "unknown error",
        Reason::InvalidArgument => "invalid argument",
        Reason::AddressNotFound => "address not found",
        Reason::UserNotFound => "user not found",
        Reason::WrongExchange => "exchange is incorrect",
        Reason::UnsupportedToken => "unsupported token in the order",
        Reason::InvalidOrderAccount => "invalid account id in the order",
        Reason::InvalidOrderId => "invalid order id",
        Reason::UnsupportedMarket => "market is not supported",
        Reason::IllegalRate => "illegal rate",
        Reason::OrderExists => "order already exists",
        Reason::OrderExpired => "order has expired",
        Reason::MissingSignature => "order is missing its signature",
        Reason::InsufficientBalance => "insufficient balance",
        Reason::AmountTooSmall => "order amount is too small",
        Reason::FreezeFailed => "amount could not be frozen, try again later",
        Reason::AmountTooLarge => "order amount exceeds the maximum",
        Reason::InvalidNonce => "invalid nonce",
        Reason::InvalidSender => "invalid sender",
        Reason::InvalidReceiver => "invalid receiver",
        Reason::UnsupportedFeeToken => "unsupported fee token",
        Reason::FeeTokenMismatch => "token and fee token do not match",
        Reason::SubmitFailed => "order could not be submitted",
        Reason::NothingToCancel => "no order to cancel",
        Reason::CancelFailed => "order could not be cancelled, try again later",
        Reason::InvalidOrder => "order is not valid",
        Reason::EmptyApiKey => "api key is empty",
        Reason::InvalidApiKey => "api key is invalid",
        Reason::InvalidAccount => "account id is invalid",
        Reason::NoSignature => "no signature given",
        Reason::WrongSignature => "signature is wrong",
        Reason::EmptyUser => "user id is empty",
        Reason::EmptyOrderHash => "order hash is empty",
        Reason::OrderNotFound => "order does not exist",
        Reason::UnsupportedDepthMarket => "unsupported market",
        Reason::UnsupportedDepthLevel => "unsupported depth level",
        Reason::RateLimited => "too many requests",
        Reason::Unlisted(_) => "not listed",
    }
}

/// The HTTP status our venue sends with a reason. The interface names none; public clients read a body
/// with every 400 and throw on most others, so 400 carries everything but overload and our own faults.
pub const fn http_status(reason: Reason) -> u16 {
    match reason {
        Reason::RateLimited => 429,
        Reason::UnknownError => 500,
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_reasons_are_one_to_one() {
        let mut seen = Vec::new();
        for listed in Reason::LISTED {
            let code = number(listed);
            assert_eq!(reason(code), listed, "{code}");
            assert!((100_000..109_000).contains(&code), "{code}");
            assert!(!message(listed).is_empty());
            seen.push(code);
        }
        assert!(seen.is_sorted(), "table order of the interface");
        seen.dedup();
        assert_eq!(seen.len(), 36);
    }

    #[test]
    fn published_later_or_invented_numbers_stay_unlisted() {
        for code in [
            0,
            102_009,
            102_028,
            102_030,
            102_119,
            104_209,
            114_001,
            u32::MAX,
        ] {
            assert_eq!(reason(code), Reason::Unlisted(code));
            assert_eq!(number(Reason::Unlisted(code)), code);
        }
        assert_eq!(reason(429), Reason::RateLimited);
    }
}
