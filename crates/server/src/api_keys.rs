//! API keys as text. The state machine, its log, snapshots and backups hold digests only; the text of a key is in
//! memory from the moment it is created or sent with a request until the process ends.
//!
//! The digest is SHA-256 of a prefix and the key. It needs neither salt nor key stretching: keys created here have 64
//! random characters, others at least [`API_KEY_BYTES_MIN`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cambist_venue::{AccountId, ApiKeyDigest};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error_response::ErrorResponse;

/// Characters of a new API key.
const API_KEY_CHARS: usize = 64;

/// Fewest bytes of an API key that the operator chose, so that it cannot be found from its digest.
pub const API_KEY_BYTES_MIN: usize = 32;

const PREFIX: &[u8] = b"cambist api key\0";

/// The digest that is stored for an API key.
pub fn api_key_digest(key: &str) -> ApiKeyDigest {
    let mut hasher = Sha256::new();
    hasher.update(PREFIX);
    hasher.update(key.as_bytes());
    ApiKeyDigest(hasher.finalize().into())
}

/// Texts of known API keys, one for each account.
#[derive(Default)]
pub(crate) struct KnownKeys {
    by_account: Mutex<HashMap<AccountId, (ApiKeyDigest, Zeroizing<String>)>>,
}

impl KnownKeys {
    /// Stores the text of an account's key.
    pub fn learn(&self, account: AccountId, digest: ApiKeyDigest, key: &str) {
        let mut known = self
            .by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let same = known.get(&account).is_some_and(|(kept, _)| *kept == digest);
        if !same {
            known.insert(account, (digest, Zeroizing::new(key.to_owned())));
        }
    }

    /// The text of the key with this digest, if it is known.
    pub fn text(&self, account: AccountId, digest: ApiKeyDigest) -> Option<Zeroizing<String>> {
        let known = self
            .by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (kept, key) = known.get(&account)?;
        (*kept == digest).then(|| key.clone())
    }
}

/// Generates a new key.
pub(crate) fn fresh() -> Result<Zeroizing<String>, ErrorResponse> {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut key = Zeroizing::new(String::with_capacity(API_KEY_CHARS));
    let mut random = Zeroizing::new([0; 2 * API_KEY_CHARS]);
    while key.len() < API_KEY_CHARS {
        getrandom::fill(random.as_mut()).map_err(|error| {
            tracing::error!(%error, "cannot generate an API key: the system's random number generator failed");
            ErrorResponse::internal()
        })?;
        // Every character is equally likely: bytes from 248 = 4 * 62 up are discarded.
        let wanted = API_KEY_CHARS - key.len();
        let usable = random.iter().filter(|byte| **byte < 248);
        key.extend(
            usable
                .take(wanted)
                .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])),
        );
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_of_its_key_alone_and_shows_nothing_of_it() {
        let digest = api_key_digest("opensesame");
        assert_eq!(digest, api_key_digest("opensesame"));
        for other in ["", "opensesamE", "opensesame ", "open"] {
            assert_ne!(digest, api_key_digest(other));
        }
        assert!(!format!("{digest:?}").contains("open"));
    }

    #[test]
    fn the_text_of_a_key_is_known_while_it_is_the_accounts_key() {
        let known = KnownKeys::default();
        let (alice, bob) = (AccountId(1), AccountId(2));
        let [old, new] = ["old", "new"].map(api_key_digest);
        known.learn(alice, old, "old");
        let text = |account, digest| known.text(account, digest).map(|key| key.to_string());
        assert_eq!(text(alice, old).as_deref(), Some("old"));
        assert_eq!(text(bob, old), None);
        assert_eq!(text(alice, new), None);
        known.learn(alice, new, "new");
        assert_eq!(
            (text(alice, old), text(alice, new).as_deref()),
            (None, Some("new"))
        );
    }

    #[test]
    fn a_fresh_key_is_another_one_every_time() {
        let keys = [fresh(), fresh()].map(Result::unwrap_or_default);
        assert_ne!(keys[0], keys[1]);
        let good = |key: &str| key.len() == 64 && key.bytes().all(|b| b.is_ascii_alphanumeric());
        assert!(keys.iter().all(|key| good(key)));
    }
}
