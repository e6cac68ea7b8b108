//! Refusals: the texts of the list `error`, and the engine's reason for each. What a reason proves is in the rules.
//!
//! A text is `E`, category, `:`, type, and sometimes `:` and more (`EGeneral:Invalid arguments:volume`); one that begins
//! with `W` is a warning. The most exact row counts.

use cambist_core::Reason;

/// The meaning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Refused for this reason.
    Refused(Reason),
    /// The service did not finish: the request may have been executed.
    Unfinished,
}

use Meaning::{Refused, Unfinished};

/// Beginnings of texts, and their meaning. A text that begins with several has the meaning of the longest.
const TEXTS: [(&str, Meaning); 29] = [
    ("EAPI:Invalid key", Refused(Reason::InvalidApiKey)),
    ("EAPI:Invalid signature", Refused(Reason::WrongSignature)),
    ("EAPI:Invalid nonce", Refused(Reason::InvalidNonce)),
    ("EAPI:Rate limit exceeded", Refused(Reason::RateLimited)),
    ("EAPI:Feature disabled", Refused(Reason::InvalidAccount)),
    ("EAuth:", Refused(Reason::InvalidAccount)),
    ("EGeneral:Permission denied", Refused(Reason::NoSignature)),
    (
        "EGeneral:Invalid arguments",
        Refused(Reason::InvalidArgument),
    ),
    ("EGeneral:Unknown method", Refused(Reason::InvalidArgument)),
    ("EGeneral:Temporary lockout", Refused(Reason::RateLimited)),
    ("EGeneral:Too many requests", Refused(Reason::RateLimited)),
    ("EGeneral:Internal error", Unfinished),
    ("EService:Deadline elapsed", Refused(Reason::OrderExpired)),
    ("EService:Throttled", Refused(Reason::RateLimited)),
    ("EService:Timeout", Unfinished),
    ("EQuery:Unknown asset", Refused(Reason::UnsupportedToken)),
    (
        "EQuery:Unknown asset pair",
        Refused(Reason::UnsupportedMarket),
    ),
    // Every text of this category: the venue examined the order or the cancel, and refused.
    ("EOrder:", Refused(Reason::InvalidOrder)),
    (
        "EOrder:Insufficient funds",
        Refused(Reason::InsufficientBalance),
    ),
    (
        "EOrder:Order minimum not met",
        Refused(Reason::AmountTooSmall),
    ),
    (
        "EOrder:Cost minimum not met",
        Refused(Reason::AmountTooSmall),
    ),
    ("EOrder:Invalid price", Refused(Reason::IllegalRate)),
    (
        "EOrder:Tick size check failed",
        Refused(Reason::IllegalRate),
    ),
    ("EOrder:Post only order", Refused(Reason::InvalidOrder)),
    ("EOrder:Rate limit exceeded", Refused(Reason::SubmitFailed)),
    (
        "EOrder:Orders limit exceeded",
        Refused(Reason::SubmitFailed),
    ),
    (
        "EOrder:Open orders limit exceeded",
        Refused(Reason::SubmitFailed),
    ),
    // The order of a cancel, and the one that a query names.
    ("EOrder:Unknown order", Refused(Reason::NothingToCancel)),
    ("EOrder:Invalid order", Refused(Reason::OrderNotFound)),
];

/// Reasons of the category `EOrder`: the nonce was accepted, and the order was refused for what it is or for the state
/// of the account or the book.
pub const OF_ORDERS: [Reason; 5] = [
    Reason::InvalidOrder,
    Reason::InsufficientBalance,
    Reason::AmountTooSmall,
    Reason::IllegalRate,
    Reason::SubmitFailed,
];

/// The meaning of one text; one that is not listed is a refusal that proves nothing.
pub fn meaning(text: &str) -> Meaning {
    let known = TEXTS.iter().filter(|(begin, _)| text.starts_with(begin));
    let longest = known.max_by_key(|(begin, _)| begin.len());
    longest.map_or(Refused(Reason::UnknownError), |(_, meaning)| *meaning)
}

/// The meaning of a list of errors that is not empty; where they mean different things, nothing is known but that the
/// request was refused, or not even that.
pub fn meaning_of_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Meaning {
    let all = texts.into_iter().map(meaning);
    let joined = all.reduce(|one, other| match (one, other) {
        _ if one == other => one,
        (Unfinished, _) | (_, Unfinished) => Unfinished,
        _ => Refused(Reason::UnknownError),
    });
    joined.unwrap_or(Refused(Reason::UnknownError))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_row_counts() {
        for (text, meaning_of_it) in [
            ("EQuery:Unknown asset", Refused(Reason::UnsupportedToken)),
            (
                "EQuery:Unknown asset pair",
                Refused(Reason::UnsupportedMarket),
            ),
            (
                "EOrder:Insufficient funds",
                Refused(Reason::InsufficientBalance),
            ),
            ("EOrder:Something new", Refused(Reason::InvalidOrder)),
            (
                "EGeneral:Invalid arguments:volume",
                Refused(Reason::InvalidArgument),
            ),
            ("EService:Timeout", Unfinished),
            (
                "EService:Market in cancel_only mode",
                Refused(Reason::UnknownError),
            ),
            ("EOrder", Refused(Reason::UnknownError)),
            ("", Refused(Reason::UnknownError)),
            ("eapi:invalid nonce", Refused(Reason::UnknownError)),
        ] {
            assert_eq!(meaning(text), meaning_of_it, "{text}");
        }
    }

    #[test]
    fn several_errors_prove_no_more_than_what_they_agree_on() {
        let nonce = "EAPI:Invalid nonce";
        assert_eq!(
            meaning_of_all([nonce, nonce]),
            Refused(Reason::InvalidNonce)
        );
        assert_eq!(
            meaning_of_all([nonce, "EOrder:Post only order"]),
            Refused(Reason::UnknownError)
        );
        assert_eq!(meaning_of_all([nonce, "EService:Timeout"]), Unfinished);
    }

    /// The rules conclude from these that the nonce was accepted, so no other category may give one.
    #[test]
    fn reasons_of_orders_come_from_no_other_category() {
        for (text, meaning) in TEXTS {
            let is_of_orders = OF_ORDERS.iter().any(|reason| meaning == Refused(*reason));
            assert!(!is_of_orders || text.starts_with("EOrder:"), "{text}");
        }
    }
}
