//! What reasons of refusals mean for requests that are no submits of the engine. Adapters give every venue's refusals a
//! reason of one list (`cambist_core::Reason`), with one meaning each.
//!
//! No other file of the daemon and the program names a status code (`tests/e2e/rooms.rs`). What refusals prove of an order
//! is in the venue's rules ([`VenueLink::rules`](crate::config::venue::VenueLink::rules)), and the engine's.

use cambist_core::request::Endpoint;
use cambist_core::venue::Refusal;
use cambist_core::{Reason, VenueRules};

/// What the exchange interface guarantees.
pub fn exchange_rules() -> VenueRules {
    VenueRules::exchange()
}

/// Whether sending a refused request again can succeed, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRefusal {
    /// Too many requests: it was not processed, and a later one may be.
    RateLimited,
    /// The venue could not process it; a later one may succeed.
    Passing,
    /// The venue does not know the API key.
    KeyUnknown,
    /// The API key is not that of the account.
    KeyOfAnotherAccount,
    /// The address has no account.
    NoAccount,
    /// Whatever is sent again is refused again.
    Permanent,
}

impl RequestRefusal {
    /// By the venue's reason.
    pub fn of(reason: Reason) -> Self {
        if is_rate_limited(reason) {
            return Self::RateLimited;
        }
        match reason {
            Reason::UnknownError | Reason::SubmitFailed | Reason::Unlisted(_) => Self::Passing,
            Reason::EmptyApiKey | Reason::InvalidApiKey => Self::KeyUnknown,
            Reason::InvalidAccount => Self::KeyOfAnotherAccount,
            Reason::AddressNotFound | Reason::UserNotFound => Self::NoAccount,
            _ => Self::Permanent,
        }
    }

    /// Whether a later attempt may succeed.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::RateLimited | Self::Passing)
    }
}

/// Whether a request was refused because our keys are not accepted.
pub const fn is_of_keys(reason: Reason) -> bool {
    matches!(reason.refusal(), Refusal::KeysRefused)
}

/// Whether a request was refused because the key may not make it.
pub fn is_without_permission(reason: Reason) -> bool {
    reason == Reason::NoSignature
}

/// Whether a request was refused for its form, so that every one like it is.
pub const fn is_of_the_request(reason: Reason) -> bool {
    matches!(reason, Reason::InvalidArgument)
}

/// Whether a request was refused because there were too many.
pub fn is_rate_limited(reason: Reason) -> bool {
    reason == Reason::RateLimited
}

/// Whether the venue does not list a market of the request.
pub fn is_of_unknown_market(reason: Reason) -> bool {
    reason == Reason::UnsupportedMarket
}

/// Whether a cancel was refused because its order had ended. The engine concludes nothing from it: a cancel that names
/// nothing is refused in the same way.
pub fn is_late_cancel(endpoint: Endpoint, reason: Reason) -> bool {
    endpoint == Endpoint::Cancel
        && matches!(reason, Reason::InvalidArgument | Reason::NothingToCancel)
}

/// Whether a request was refused because its number, or its bytes, were used before. A copy that was accepted earlier
/// may have used them.
pub fn is_number_used(reason: Reason) -> bool {
    matches!(reason, Reason::InvalidNonce | Reason::OrderExists)
}

/// The refusal in place of an answer that a dry run was not given, or that a node did not have.
pub const NO_ANSWER: Reason = Reason::UnknownError;
/// The refusal of a node that takes fewer requests.
pub const RATE_LIMITED: Reason = Reason::RateLimited;
/// The refusal of a node that does not accept this client.
pub const KEYS: Reason = Reason::InvalidApiKey;

#[cfg(test)]
mod tests {
    use super::*;

    /// A start waits for what may pass, and ends at once at what cannot.
    #[test]
    fn what_a_later_request_cannot_change_is_permanent() {
        let passing: Vec<_> = Reason::LISTED
            .into_iter()
            .filter(|reason| RequestRefusal::of(*reason).may_pass())
            .collect();
        assert_eq!(passing, [Reason::UnknownError, Reason::SubmitFailed]);
        assert!(RequestRefusal::of(Reason::RateLimited).may_pass());
        assert!(RequestRefusal::of(Reason::Unlisted(7)).may_pass());
    }

    #[test]
    fn keys_and_accounts_are_distinguished() {
        let of = |refusal| -> Vec<_> {
            let each = Reason::LISTED.into_iter();
            each.filter(|reason| RequestRefusal::of(*reason) == refusal)
                .collect()
        };
        assert_eq!(
            of(RequestRefusal::KeyUnknown),
            [Reason::EmptyApiKey, Reason::InvalidApiKey]
        );
        assert_eq!(
            of(RequestRefusal::KeyOfAnotherAccount),
            [Reason::InvalidAccount]
        );
        assert_eq!(
            of(RequestRefusal::NoAccount),
            [Reason::AddressNotFound, Reason::UserNotFound]
        );
        assert!(is_late_cancel(Endpoint::Cancel, Reason::InvalidArgument));
        assert!(is_late_cancel(Endpoint::Cancel, Reason::NothingToCancel));
        assert!(!is_late_cancel(Endpoint::Submit, Reason::InvalidArgument));
        assert!(!is_late_cancel(Endpoint::Cancel, Reason::OrderNotFound));
        assert!(is_rate_limited(Reason::RateLimited));
        assert!(is_of_keys(Reason::WrongSignature) && !is_of_keys(Reason::OrderExists));
        assert!(is_number_used(Reason::InvalidNonce) && !is_number_used(Reason::OrderExpired));
    }
}
