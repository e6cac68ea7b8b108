//! Configuration of a client: URL, timeouts, limits, credentials.

use std::fmt;
use std::sync::Arc;

use cambist_signing::{Address, RequestSigner};
use secrecy::SecretString;

use crate::error::SetupError;

/// Limits of a client. Every wait and every body has a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Base URL of the venue.
    pub base_url: String,
    /// Timeout of a request, its answer's body included.
    pub timeout_ms: u64,
    /// Timeout of connecting.
    pub connect_timeout_ms: u64,
    /// An idle connection is not used again after this. Well below the idle timeout of servers: if the server closes
    /// the connection first, the fate of the next request is unknown.
    pub idle_ms: u64,
    /// Most idle connections that are kept.
    pub idle_connections: usize,
    /// Most bytes of a body.
    pub body_max_bytes: usize,
    /// Most bytes of the body of a list (orders, tokens, markets, balances).
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
            idle_connections: 8,
            body_max_bytes: 1 << 20,
            list_body_max_bytes: 8 << 20,
        }
    }
}

impl ClientConfig {
    /// An error unless every wait has an end.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        for (name, value) in [
            ("timeout_ms", self.timeout_ms),
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("idle_ms", self.idle_ms),
        ] {
            if value == 0 {
                return Err(SetupError::Zero { name });
            }
        }
        Ok(())
    }
}

/// The account of the requests and its keys. `Debug` shows the account only.
#[derive(Clone)]
pub struct Credentials {
    /// Account id.
    pub account_id: u32,
    /// The account's owner, by which the interface finds the account. Without it the account is found by id,
    /// which not every venue supports.
    pub owner: Option<Address>,
    /// API key; `None` until it was fetched with the signing key.
    pub api_key: Option<SecretString>,
    /// The signing key, or what holds it; shared with the code that signs orders.
    pub key: Arc<dyn RequestSigner>,
}

impl Credentials {
    /// Credentials of an account.
    pub fn new(
        account_id: u32,
        owner: Option<Address>,
        api_key: Option<SecretString>,
        key: impl Into<Arc<dyn RequestSigner>>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_these() {
        let config = ClientConfig::new("https://example.org");
        let ClientConfig {
            base_url,
            timeout_ms,
            connect_timeout_ms,
            idle_ms,
            idle_connections,
            body_max_bytes,
            list_body_max_bytes,
        } = config;
        assert_eq!(base_url, "https://example.org");
        assert_eq!((timeout_ms, connect_timeout_ms), (5_000, 2_000));
        assert_eq!((idle_ms, idle_connections), (15_000, 8));
        assert_eq!(body_max_bytes, 1_048_576);
        assert_eq!(list_body_max_bytes, 8_388_608);
    }
}
