//! HTTP/1 listeners that cannot be used up: bounds on connections, on the time a client may take, and on
//! file descriptors. Every listener of the daemon and of the exchange is one of these.
//!
//! HTTP itself is hyper's. What is here is what hyper leaves to its user: how many connections there are
//! ([`table`]), when one has waited too long for its client ([`connection`]), and how many descriptors
//! connections may take ([`descriptors`]). What a request means is not known here.

mod body;
mod connection;
pub mod descriptors;
mod listener;
mod table;

pub use body::RequestBody;
pub use connection::Peer;
pub use listener::{BindError, Listener};

/// Bounds of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at a time. One more takes the place of the one that has waited longest for its
    /// client; it is closed at once only if every connection is being answered.
    pub connections_max: usize,
    /// As above for one address; trusted proxies have no such bound.
    pub connections_per_address_max: usize,
    /// How long the head of a request may take, idling before it included. Milliseconds.
    pub head_timeout_ms: u64,
    /// How long a connection may wait for its client: for more of a body, or until an answer is taken.
    /// Noticed after up to a quarter more. Milliseconds.
    pub stall_timeout_ms: u64,
    /// Longest head of a request, at least 8192 bytes.
    pub head_bytes_max: usize,
    /// A connection older than this is closed with its next answer, and a minute later in any case.
    /// Milliseconds.
    pub connection_age_max_ms: u64,
    /// How long answers under way may take when the listener stops. Milliseconds.
    pub shutdown_ms: u64,
}
