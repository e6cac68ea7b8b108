//! What a client is told: where, how long, how much, and as whom.

use std::fmt;
use std::sync::Arc;

use cambist_signing::{Address, SecretKey};
use secrecy::SecretString;

/// Limits of a client. Every one has a value: there is no unlimited wait and no unlimited body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Base URL of the venue.
    pub base_url: String,
    /// A request ends after this, answer body included.
    pub timeout_ms: u64,
    /// Connecting ends after this.
    pub connect_timeout_ms: u64,
    /// An idle connection is not used again after this. Well below what servers allow, because a
    /// server that closes first makes the next request's fate unknown.
    pub idle_ms: u64,
    /// Largest body read.
    pub body_max_bytes: usize,
    /// Largest body of a list (orders, tokens, markets, balances).
    pub list_body_max_bytes: usize,
}

impl ClientConfig {
    /// The defaults for a venue.
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: base_url.to_owned(),
            timeout_ms: 5_000,
            connect_timeout_ms: 2_000,
            idle_ms: 15_000,
            body_max_bytes: 1 << 20,
            list_body_max_bytes: 8 << 20,
        }
    }
}

/// As whom requests are sent. `Debug` shows the account only.
#[derive(Clone)]
pub struct Credentials {
    /// Account.
    pub account_id: u32,
    /// Its owner: how the interface asks for the account record. Without it the account is asked for
    /// by id, which not every venue understands.
    pub owner: Option<Address>,
    /// API key; absent until it was fetched with the signing key.
    pub api_key: Option<SecretString>,
    /// Signing key, shared with whoever signs orders.
    pub key: Arc<SecretKey>,
}

impl Credentials {
    /// Credentials of an account.
    pub fn new(
        account_id: u32,
        owner: Option<Address>,
        api_key: Option<SecretString>,
        key: impl Into<Arc<SecretKey>>,
    ) -> Self {
        Self {
            account_id,
            owner,
            api_key,
            key: key.into(),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("account_id", &self.account_id)
            .finish_non_exhaustive()
    }
}
