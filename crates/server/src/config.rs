//! What the server is told once. How it is written in a file belongs to the program.

use std::net::{IpAddr, SocketAddr};

use crate::clock::Clock;

/// A token bucket: so many a second, so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that come back per second; 0 counts as 1.
    pub per_s: u32,
    /// Tokens of a rested bucket; 0 counts as 1.
    pub burst: u32,
}

impl Rate {
    /// A bucket that holds as much as one second gives.
    pub const fn per_s(per_s: u32) -> Self {
        Self {
            per_s,
            burst: per_s,
        }
    }
}

/// How much may be asked, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Per API key (that is, account) and endpoint.
    pub key_and_endpoint: Rate,
    /// Per address and endpoint, for requests without a valid key.
    pub keyless_and_endpoint: Rate,
    /// Per address over everything, before anything else is done.
    pub address: Rate,
    /// Wrong signatures per key, or per address where there is no key, before requests that need one
    /// are no longer looked at.
    pub failed_signatures: Rate,
    /// Most buckets remembered; strangers beyond that share one.
    pub buckets_max: usize,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            key_and_endpoint: Rate::per_s(5),
            keyless_and_endpoint: Rate::per_s(5),
            address: Rate {
                per_s: 200,
                burst: 400,
            },
            failed_signatures: Rate {
                per_s: 1,
                burst: 10,
            },
            buckets_max: 65_536,
        }
    }
}

/// Bounds on connections and on the time they may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Most connections at a time. One more takes the place of the one that has waited longest for its
    /// client; those that have sent a good API key give way last.
    pub connections_max: usize,
    /// As above for one address.
    pub connections_per_address_max: usize,
    /// How long the head of a request may take, idling before it included; and how long an answer may wait
    /// to be taken.
    pub head_timeout_ms: u64,
    /// How long the body of a request may take.
    pub body_timeout_ms: u64,
    /// Longest body of a request.
    pub body_bytes_max: usize,
    /// Longest head of a request, at least 8192.
    pub head_bytes_max: usize,
    /// A connection older than this is closed with its next answer, and a minute later in any case.
    pub connection_age_max_ms: u64,
    /// How long requests under way may take when the server stops.
    pub shutdown_ms: u64,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            connections_per_address_max: 256,
            head_timeout_ms: 30_000,
            body_timeout_ms: 10_000,
            body_bytes_max: 65_536,
            head_bytes_max: 16_384,
            connection_age_max_ms: 600_000,
            shutdown_ms: 5_000,
        }
    }
}

impl ConnectionLimits {
    /// The bounds that are the listener's; those of bodies are the router's as well.
    pub(crate) fn listener(&self) -> cambist_listener::Limits {
        cambist_listener::Limits {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            head_timeout_ms: self.head_timeout_ms,
            // The router answers a slow body before this bound cuts it.
            stall_timeout_ms: self.head_timeout_ms.max(2 * self.body_timeout_ms),
            head_bytes_max: self.head_bytes_max,
            connection_age_max_ms: self.connection_age_max_ms,
            shutdown_ms: self.shutdown_ms,
        }
    }
}

/// Everything the server is told once.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How clients reach it (scheme, host, port, prefix; no trailing slash), because request
    /// signatures cover it. Without one, `http://` and whatever the `Host` header says is accepted.
    pub public_url: Option<String>,
    /// Further addresses that request signatures may cover beside `public_url`, such as the loopback
    /// address for clients on this machine.
    pub further_urls: Vec<String>,
    /// Origin whose web pages may ask from a browser, `*` for all; without one, none.
    pub cors_origin: Option<String>,
    /// Proxies before it, whose word about the customer's address is believed.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether POST apiKey must carry a signature.
    pub require_api_key_signature: bool,
    /// Whether transfers, withdrawals and key updates need the owner's wallet or an approved hash: the
    /// layer-2 key alone is not enough.
    pub require_wallet_for_funds: bool,
    /// Rate limits.
    pub rates: RateLimits,
    /// Connections.
    pub connections: ConnectionLimits,
    /// Signing keys whose tables are kept, 78 KiB each.
    pub prepared_keys_max: usize,
    /// The books are audited after every request; a failure is answered, counted and logged.
    pub audit_every_request: bool,
    /// Where the time comes from.
    pub clock: Clock,
}

impl ServerConfig {
    /// Defaults for an address.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            public_url: None,
            further_urls: Vec::new(),
            cors_origin: None,
            trusted_proxies: Vec::new(),
            require_api_key_signature: false,
            require_wallet_for_funds: true,
            rates: RateLimits::default(),
            connections: ConnectionLimits::default(),
            prepared_keys_max: 512,
            audit_every_request: false,
            clock: Clock::system(),
        }
    }
}
