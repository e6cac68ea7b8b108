//! Authorisation of requests that move funds or keys: results of the server's verification, without signatures.
//!
//! Whether they suffice and are still valid (the key was not replaced since, the hash is registered) is decided here.

use cambist_core::{Hash, Reason};
use serde::{Deserialize, Serialize};

use crate::account::{AccountId, Address, KeyEpoch};
use crate::response::Refusal;
use crate::venue::Venue;

/// The authorisations of a transfer, withdrawal, key update, join or exit. One is enough; every one that is given must
/// be valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Epoch of the account's key with which an EdDSA signature of the request was verified.
    pub eddsa: Option<KeyEpoch>,
    /// The address recovered from an ECDSA signature of the request.
    pub ecdsa: Option<Address>,
    /// A hash that is claimed to be approved on the chain; the server checked that it is this request's.
    pub approved: Option<Hash>,
}

impl Proof {
    /// Whether nothing was given.
    pub const fn is_empty(&self) -> bool {
        self.eddsa.is_none() && self.ecdsa.is_none() && self.approved.is_none()
    }
}

impl Venue {
    /// Checks that the proof authorises `account`.
    pub(crate) fn check_proof(&self, account: AccountId, proof: &Proof) -> Result<(), Refusal> {
        let wrong = |detail: &str| Err(Refusal::new(Reason::WrongSignature, detail));
        if proof.is_empty() {
            return Err(Refusal::new(
                Reason::NoSignature,
                "neither a signature nor an approved hash was given",
            ));
        }
        let Some(holder) = self.accounts.get(&account) else {
            return wrong("the account does not exist");
        };
        if proof.eddsa.is_some_and(|epoch| epoch != holder.key_epoch) {
            return wrong("signed with a key that was replaced");
        }
        if proof.ecdsa.is_some_and(|signer| signer != holder.owner) {
            return wrong("signed by another address than the owner");
        }
        if proof
            .approved
            .is_some_and(|hash| !self.approved.contains(&(account, hash)))
        {
            return wrong("the hash was not approved");
        }
        Ok(())
    }
}
