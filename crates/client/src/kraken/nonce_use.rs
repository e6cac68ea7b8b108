//! What the venue refuses of a key's nonces.
//!
//! A request whose nonce is above all that were sent before is refused for it only if something else used the key with a
//! higher one. Bytes that are sent again are refused as well, which proves nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::Reason;
use cambist_kraken_venue::reasons::OF_ORDERS;

use super::NoAnswer;

/// Nonces of a key that were refused although they were above all that were sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedNonces {
    /// How many.
    pub total: u64,
    /// How many since the venue last took one.
    pub in_row: u32,
}

/// The nonces of a key that were sent.
#[derive(Debug, Default)]
pub(super) struct NonceUse(Mutex<Sent>);

#[derive(Debug, Default)]
struct Sent {
    highest: u64,
    refused: RefusedNonces,
}

impl NonceUse {
    /// Notes a nonce that is about to be sent; whether it is above all before it.
    pub fn sends(&self, nonce: u64) -> bool {
        let mut sent = self.sent();
        let is_new = nonce > sent.highest;
        sent.highest = sent.highest.max(nonce);
        is_new
    }

    /// Notes the answer to a nonce that was above all before it.
    pub fn answered<T>(&self, result: &Result<T, NoAnswer>) {
        let mut sent = self.sent();
        match result {
            Err(NoAnswer::Refused(Reason::InvalidNonce, _)) => {
                sent.refused.total += 1;
                sent.refused.in_row += 1;
            }
            // An answer, or a refusal of an order, comes after the nonce was taken. Other refusals come before that.
            Err(NoAnswer::Refused(reason, _)) if !OF_ORDERS.contains(reason) => {}
            Err(NoAnswer::NotSent(_) | NoAnswer::Unknown(..)) => {}
            Ok(_) | Err(NoAnswer::Refused(..)) => sent.refused.in_row = 0,
        }
    }

    /// What was refused so far.
    pub fn refused(&self) -> RefusedNonces {
        self.sent().refused
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::request::UnknownCause;

    use super::*;

    #[test]
    fn only_refused_new_nonces_prove_that_something_else_uses_the_key() {
        let keys = NonceUse::default();
        assert!(keys.sends(5) && keys.sends(7));
        assert!(!keys.sends(7), "the same bytes again");
        assert!(!keys.sends(6), "a lower one");
        assert!(keys.sends(8));
        let refused = |reason| Err::<(), _>(NoAnswer::Refused(reason, String::new()));
        let invalid = || refused(Reason::InvalidNonce);
        let after = |result: &Result<(), NoAnswer>| {
            keys.answered(result);
            let RefusedNonces { total, in_row } = keys.refused();
            (total, in_row)
        };
        assert_eq!(after(&invalid()), (1, 1));
        assert_eq!(after(&refused(Reason::RateLimited)), (1, 1));
        let unknown = NoAnswer::Unknown(UnknownCause::Timeout, String::new());
        assert_eq!(after(&Err(unknown)), (1, 1));
        assert_eq!(after(&invalid()), (2, 2));
        assert_eq!(after(&Ok(())), (2, 0));
        assert_eq!(after(&invalid()), (3, 1));
        assert_eq!(after(&refused(Reason::InsufficientBalance)), (3, 0));
    }
}
