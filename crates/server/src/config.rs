//! Configuration of the server. The program parses configuration files.

use std::net::{IpAddr, SocketAddr};

use crate::clock::Clock;
use crate::kraken::KrakenConfig;

/// A token bucket: its rate and its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens added per second; 0 counts as 1.
    pub per_s: u32,
    /// Capacity in tokens; 0 counts as 1.
    pub burst: u32,
}

impl Rate {
    /// A bucket with a capacity of one second's tokens.
    pub const fn per_s(per_s: u32) -> Self {
        Self {
            per_s,
            burst: per_s,
        }
    }
}

/// Rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Per API key (that is, account) and endpoint.
    pub key_and_endpoint: Rate,
    /// Per address and endpoint, for requests without a valid API key.
    pub keyless_and_endpoint: Rate,
    /// Per address over all endpoints, checked first.
    pub address: Rate,
    /// Per address, for market data beside the interface.
    pub market_data: Rate,
    /// Wrong signatures per API key, or per address where there is no key. Beyond the limit signatures are not
    /// verified.
    pub failed_signatures: Rate,
    /// Most buckets kept; clients beyond that share one.
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
            market_data: Rate {
                per_s: 10,
                burst: 20,
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
    /// Most connections at a time. One more evicts the connection that has waited longest for its client; authenticated
    /// connections are evicted last.
    pub connections_max: usize,
    /// As above for one address.
    pub connections_per_address_max: usize,
    /// Most streams of market data at a time.
    pub streams_max: usize,
    /// As above for one address.
    pub streams_per_address_max: usize,
    /// Longest time to receive the head of a request, idle time before it included, and to send an answer.
    /// Milliseconds.
    pub head_timeout_ms: u64,
    /// Longest time to receive the body of a request. Milliseconds.
    pub body_timeout_ms: u64,
    /// Most bytes of the body of a request.
    pub body_bytes_max: usize,
    /// Most bytes of the head of a request, at least 8192.
    pub head_bytes_max: usize,
    /// A connection older than this is closed after its next answer, or a minute later without one. Milliseconds.
    pub connection_age_max_ms: u64,
    /// Longest time to finish requests in progress when the server stops. Milliseconds.
    pub shutdown_ms: u64,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            connections_per_address_max: 256,
            streams_max: 64,
            streams_per_address_max: 8,
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
    /// The limits of the listener.
    pub(crate) fn listener(&self) -> cambist_listener::Limits {
        cambist_listener::Limits {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            head_timeout_ms: self.head_timeout_ms,
            // The router answers a request with a slow body before the listener closes its connection.
            stall_timeout_ms: self.head_timeout_ms.max(2 * self.body_timeout_ms),
            head_bytes_max: self.head_bytes_max,
            connection_age_max_ms: self.connection_age_max_ms,
            shutdown_ms: self.shutdown_ms,
        }
    }
}

/// Configuration of the server.
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings that are independent of each other"
)]
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address to bind; port 0 chooses a free port.
    pub listen: SocketAddr,
    /// The URL of the exchange for clients (scheme, host, port, prefix; no trailing slash), which request signatures
    /// cover. Without one, `http://` and the content of the `Host` header are accepted.
    pub public_url: Option<String>,
    /// Further URLs that request signatures may cover, such as the loopback address for clients on the same machine.
    pub further_urls: Vec<String>,
    /// Origin whose web pages may send requests from a browser, `*` for all; `None` for none.
    pub cors_origin: Option<String>,
    /// Trusted proxies, whose `X-Forwarded-For` is used.
    pub trusted_proxies: Vec<IpAddr>,
    /// Whether POST apiKey must carry a signature.
    pub require_api_key_signature: bool,
    /// Whether transfers, withdrawals and key updates need the owner's wallet or an approved hash in addition to the
    /// layer-2 key.
    pub require_wallet_for_funds: bool,
    /// Whether market data beside the interface is served: trades, tickers, candles, streams.
    pub market_data: bool,
    /// Rate limits.
    pub rates: RateLimits,
    /// Connections.
    pub connections: ConnectionLimits,
    /// Most signing keys with prepared tables, 78 KiB each.
    pub prepared_keys_max: usize,
    /// Audits the books after every request; a failure is answered as an internal error, counted and logged.
    pub audit_every_request: bool,
    /// Kraken's interface, if it is served.
    pub kraken: Option<KrakenConfig>,
    /// The server's clock.
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
            market_data: true,
            rates: RateLimits::default(),
            connections: ConnectionLimits::default(),
            prepared_keys_max: 512,
            audit_every_request: false,
            kraken: None,
            clock: Clock::system(),
        }
    }
}
