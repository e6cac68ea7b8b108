//! What signs the requests of an account: the key itself, or a process that holds it.

use core::fmt;
use std::sync::Arc;

use crate::eip712::Domain;
use crate::error::SignError;
use crate::hash32::Hash32;
use crate::messages::{OrderMessage, PoolExitMessage, PoolJoinMessage};
use crate::public_key::PublicKey;
use crate::request_signature;
use crate::secret_key::SecretKey;
use crate::signature::Signature;

/// Signs the requests of one account. Everything is given in full, never as a hash, so that a signer can judge what it
/// signs.
pub trait RequestSigner: Send + Sync {
    /// The account's public key.
    ///
    /// # Errors
    /// [`SignerError::Unavailable`] if the key is in a process that does not answer.
    fn public(&self) -> Result<PublicKey, SignerError>;

    /// Signs an order of a book, or a swap: the interface signs the same message for both.
    ///
    /// # Errors
    /// See [`SignerError`]; the order must not be sent.
    fn order(&self, message: &OrderMessage) -> Result<Signature, SignerError>;

    /// Signs a join of the pool with this domain.
    ///
    /// # Errors
    /// See [`SignerError`]; the join must not be sent.
    fn join(&self, pool: &Domain, message: &PoolJoinMessage) -> Result<Signature, SignerError>;

    /// Signs an exit of the pool with this domain.
    ///
    /// # Errors
    /// See [`SignerError`]; the exit must not be sent.
    fn exit(&self, pool: &Domain, message: &PoolExitMessage) -> Result<Signature, SignerError>;

    /// Signs the header of a cancel.
    ///
    /// # Errors
    /// See [`SignerError`]; the cancel cannot be sent.
    fn cancel(&self, request: &CancelRequest) -> Result<Signature, SignerError>;

    /// Signs the header of another request, such as one for the API key. `canonical` is the text of
    /// [`request_signature`].
    ///
    /// # Errors
    /// See [`SignerError`]; the request cannot be sent.
    fn header(&self, canonical: &str) -> Result<Signature, SignerError>;

    /// Whether a signature can take long enough that an event loop must not wait for it.
    fn blocks(&self) -> bool;
}

/// Why there is no signature. What it was for must not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerError {
    /// The signature failed or did not verify.
    #[error("{0}")]
    Failed(#[from] SignError),
    /// The process that holds the key refused, in its words.
    #[error("the signer refuses: {0}")]
    Refused(String),
    /// The process that holds the key cannot be reached, or did not answer as it must.
    #[error("the signer does not answer: {0}")]
    Unavailable(String),
}

/// The header of DELETE order: what a market maker signs beside orders and pool transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CancelRequest {
    /// Base URL of the venue, without a trailing slash.
    pub base_url: String,
    /// Account of the order.
    pub account_id: u32,
    /// Hash of the order.
    pub order_hash: Hash32,
}

impl CancelRequest {
    /// The path of the request.
    pub const PATH: &'static str = "/api/v3/order";

    /// The text that is signed. The method is part of it, so that it is never that of another request.
    pub fn canonical(&self) -> String {
        let (account, hash) = (self.account_id.to_string(), self.order_hash.to_hex());
        let params = [("accountId", account.as_str()), ("orderHash", &hash)];
        request_signature::docs_form("DELETE", &self.base_url, Self::PATH, &params)
    }
}

impl RequestSigner for SecretKey {
    fn public(&self) -> Result<PublicKey, SignerError> {
        Ok(Self::public(self))
    }

    fn order(&self, message: &OrderMessage) -> Result<Signature, SignerError> {
        Ok(self.sign(&message.hash().message())?)
    }

    fn join(&self, pool: &Domain, message: &PoolJoinMessage) -> Result<Signature, SignerError> {
        Ok(self.sign(&message.message(pool))?)
    }

    fn exit(&self, pool: &Domain, message: &PoolExitMessage) -> Result<Signature, SignerError> {
        Ok(self.sign(&message.message(pool))?)
    }

    fn cancel(&self, request: &CancelRequest) -> Result<Signature, SignerError> {
        self.header(&request.canonical())
    }

    fn header(&self, canonical: &str) -> Result<Signature, SignerError> {
        Ok(self.sign(&request_signature::message(canonical))?)
    }

    fn blocks(&self) -> bool {
        false
    }
}

impl From<SecretKey> for Arc<dyn RequestSigner> {
    fn from(key: SecretKey) -> Self {
        Arc::new(key) as Self
    }
}

impl fmt::Debug for dyn RequestSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestSigner(redacted)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_cancel_signs_its_method_account_and_order() {
        let cancel = CancelRequest {
            base_url: "https://venue.example".to_owned(),
            account_id: 10_001,
            order_hash: Hash32([0x11; 32]),
        };
        let text = cancel.canonical();
        assert_eq!(
            text,
            format!(
                "DELETE&https%3A%2F%2Fvenue.example%2Fapi%2Fv3%2Forder&accountId%3D10001%26orderHash%3D0x{}",
                "11".repeat(32)
            )
        );
        let key = SecretKey::from_hex("0x1").unwrap();
        let signature = RequestSigner::cancel(&key, &cancel).unwrap();
        let message = request_signature::message(&text);
        assert!(key.public().verify(&message, &signature));
    }
}
