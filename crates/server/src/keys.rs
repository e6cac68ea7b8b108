//! Prepared tables of signing keys, which make verification several times faster.
//!
//! Bounded, because a table takes 78 KiB. A table is made only after a successful verification, so that forged requests
//! cannot fill the cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cambist_signing::{Field, PreparedKey, PublicKey, Signature};
use cambist_venue::{AccountId, KeyEpoch};

/// Account and epoch of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SigningKey {
    pub account: AccountId,
    pub epoch: KeyEpoch,
    pub public: PublicKey,
}

/// The cache of tables.
pub(crate) struct PreparedKeys {
    capacity: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    keys: HashMap<AccountId, Entry>,
    uses: u64,
}

struct Entry {
    epoch: KeyEpoch,
    key: Arc<PreparedKey>,
    used: u64,
}

impl PreparedKeys {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            kept: Mutex::default(),
        }
    }

    /// Whether `signature` is the key's signature of any of the messages.
    pub fn verify(
        &self,
        key: &SigningKey,
        messages: impl IntoIterator<Item = Field>,
        signature: &Signature,
    ) -> bool {
        let mut messages = messages.into_iter();
        if let Some(prepared) = self.find(key) {
            return messages.any(|message| prepared.verify(&message, signature));
        }
        let good = messages.any(|message| key.public.verify(&message, signature));
        if good {
            self.keep(key);
        }
        good
    }

    fn find(&self, key: &SigningKey) -> Option<Arc<PreparedKey>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let uses = kept.uses;
        let entry = kept.keys.get_mut(&key.account)?;
        let same = entry.epoch == key.epoch && *entry.key.key() == key.public;
        same.then(|| {
            entry.used = uses;
            Arc::clone(&entry.key)
        })
    }

    fn keep(&self, key: &SigningKey) {
        if self.capacity == 0 {
            return;
        }
        // Half a millisecond, outside the lock; of two concurrent preparations one is discarded.
        let prepared = Arc::new(key.public.prepare());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.keys.len() >= self.capacity && !kept.keys.contains_key(&key.account) {
            let oldest = kept
                .keys
                .iter()
                .min_by_key(|(_, entry)| entry.used)
                .map(|(account, _)| *account);
            if let Some(oldest) = oldest {
                kept.keys.remove(&oldest);
            }
        }
        let used = kept.uses;
        kept.keys.insert(
            key.account,
            Entry {
                epoch: key.epoch,
                key: prepared,
                used,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_signing::SecretKey;

    fn key(account: u32, epoch: u32, secret: &SecretKey) -> SigningKey {
        SigningKey {
            account: AccountId(account),
            epoch: KeyEpoch(epoch),
            public: secret.public(),
        }
    }

    #[test]
    fn only_verified_keys_are_cached_and_the_least_used_is_evicted() {
        let secrets: Vec<_> = (1..=3)
            .map(|n| SecretKey::from_hex(&format!("0x{n}")).unwrap())
            .collect();
        let keys = PreparedKeys::new(2);
        let message = Field::from(7);
        let held = |account: u32| {
            let kept = keys.kept.lock().unwrap();
            kept.keys.contains_key(&AccountId(account))
        };
        let forged = secrets[1].sign(&message).unwrap();
        assert!(!keys.verify(&key(0, 0, &secrets[0]), [message], &forged));
        assert!(!held(0));
        for (account, secret) in (0u32..).zip(&secrets) {
            let signature = secret.sign(&message).unwrap();
            for _ in 0..2 {
                let tried = [Field::from(8), message];
                assert!(keys.verify(&key(account, 0, secret), tried, &signature));
            }
            assert!(!keys.verify(&key(account, 0, secret), [Field::from(8)], &signature));
        }
        assert_eq!([held(0), held(1), held(2)], [false, true, true]);
    }

    #[test]
    fn a_replaced_key_is_not_accepted_from_the_cache() {
        let (old, new) = (
            SecretKey::from_hex("0x5").unwrap(),
            SecretKey::from_hex("0x6").unwrap(),
        );
        let keys = PreparedKeys::new(2);
        let message = Field::from(7);
        let signature = old.sign(&message).unwrap();
        assert!(keys.verify(&key(1, 0, &old), [message], &signature));
        assert!(!keys.verify(&key(1, 1, &new), [message], &signature));
        let signature = new.sign(&message).unwrap();
        assert!(keys.verify(&key(1, 1, &new), [message], &signature));
        assert_eq!(keys.kept.lock().unwrap().keys.len(), 1);
    }
}
