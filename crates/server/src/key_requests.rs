//! Replay protection of GET apiKey: which recorded requests are still accepted, and until when.
//!
//! The signature of GET apiKey covers nothing that changes, so a recorded request could be replayed. The endpoint is
//! outside the interface, which leaves room for a parameter: `timestamp`, the exchange's time in milliseconds, covered
//! by the signature. Such a request is valid for a short time and never after a later change of the account's API key.
//! Without `timestamp`, as public clients send it, the request is accepted if the exchange has no public URL; otherwise
//! it only gives an account its first key.
//!
//! Changes within the maximum age of a request are remembered; a start counts as a change.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cambist_core::{Reason, VenueTime};
use cambist_venue::AccountId;

use crate::error_response::ErrorResponse;

/// Maximum age of a timestamp, in milliseconds.
const AGE_MAX_MS: u64 = 30_000;

/// Recent changes of API keys.
pub(crate) struct KeyRequests {
    begun: VenueTime,
    changed: Mutex<BTreeMap<AccountId, VenueTime>>,
}

impl KeyRequests {
    /// Requests signed before `begun` are not accepted: changes before it are unknown.
    pub const fn new(begun: VenueTime) -> Self {
        Self {
            begun,
            changed: Mutex::new(BTreeMap::new()),
        }
    }

    /// Records that the key of `account` changes at `now`. Call it before the change is visible.
    pub fn changes(&self, account: AccountId, now: VenueTime) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.retain(|_, at| now.ms_since(*at) <= AGE_MAX_MS);
        changed.insert(account, now);
    }

    /// Whether a request of `account` that was signed at `timestamp` is valid at `now`.
    pub fn check(
        &self,
        account: AccountId,
        timestamp: VenueTime,
        now: VenueTime,
    ) -> Result<(), ErrorResponse> {
        let wrong = |detail: String| Err(ErrorResponse::new(Reason::WrongSignature, detail));
        if timestamp > now {
            return wrong(format!(
                "timestamp: {} is {} ms ahead of the exchange's time; take it from GET timestamp",
                timestamp.0,
                timestamp.ms_since(now)
            ));
        }
        if now.ms_since(timestamp) > AGE_MAX_MS {
            return wrong(format!(
                "timestamp: {} is {} ms old, {AGE_MAX_MS} ms are allowed; sign the request again",
                timestamp.0,
                now.ms_since(timestamp)
            ));
        }
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = changed.get(&account).copied().unwrap_or(self.begun);
        if timestamp < last.max(self.begun) {
            return wrong(format!(
                "timestamp: {} is before the last change of the API key, or before the exchange started; sign the request again",
                timestamp.0
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: AccountId = AccountId(1);
    const BOB: AccountId = AccountId(2);

    fn counts(requests: &KeyRequests, account: AccountId, timestamp: u64, now: u64) -> bool {
        let checked = requests.check(account, VenueTime(timestamp), VenueTime(now));
        checked.is_ok()
    }

    #[test]
    fn a_request_counts_for_a_while_and_never_after_a_change() {
        let requests = KeyRequests::new(VenueTime(100_000));
        assert!(
            !counts(&requests, ALICE, 99_999, 100_000),
            "before the start"
        );
        assert!(counts(&requests, ALICE, 100_000, 100_000));
        assert!(!counts(&requests, ALICE, 100_001, 100_000), "ahead");
        assert!(counts(&requests, ALICE, 100_000, 130_000));
        assert!(!counts(&requests, ALICE, 100_000, 130_001), "too old");
        requests.changes(ALICE, VenueTime(120_000));
        assert!(!counts(&requests, ALICE, 119_999, 120_001));
        assert!(counts(&requests, ALICE, 120_000, 120_001));
        assert!(counts(&requests, BOB, 100_000, 120_001), "another account");
    }

    #[test]
    fn changes_are_kept_for_the_maximum_age_of_a_request() {
        let requests = KeyRequests::new(VenueTime(0));
        for number in 0..1_000 {
            requests.changes(AccountId(number), VenueTime(u64::from(number) * 1_000));
        }
        let kept = requests
            .changed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert_eq!(kept.len(), 31);
    }
}
