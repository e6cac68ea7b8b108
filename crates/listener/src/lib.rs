//! HTTP/1 listeners with bounds on connections, on the time that a client may take, and on file descriptors. The daemon
//! and the exchange use them for all their addresses.
//!
//! HTTP itself is hyper's. This crate adds what hyper leaves to its caller: the number of connections ([`table`]), the
//! detection of clients that stall ([`connection`]), and the bound on file descriptors ([`descriptors`]). The meaning
//! of requests is not known here.

mod body;
mod connection;
pub mod descriptors;
mod listener;
mod table;

pub use body::{AnswerBody, RequestBody};
pub use connection::Peer;
pub use listener::{BindError, Listener, check_address};

/// Bounds of one listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at a time. One more evicts the connection that has waited longest for its client; the new one
    /// is closed at once only if a request is being answered on every connection.
    pub connections_max: usize,
    /// As above for one address; trusted proxies have no such bound, and their connections are evicted last.
    pub connections_per_address_max: usize,
    /// Longest time to receive the head of a request, idle time before it included. Milliseconds.
    pub head_timeout_ms: u64,
    /// Longest time that a connection may wait for its client, for more of a body or until an answer is read. Detected
    /// after at most a quarter more. Milliseconds.
    pub stall_timeout_ms: u64,
    /// Longest head of a request, at least 8192 bytes.
    pub head_bytes_max: usize,
    /// A connection older than this is closed after its next answer, or a minute later without one. Milliseconds.
    pub connection_age_max_ms: u64,
    /// Longest time to finish answers in progress when the listener stops. Milliseconds.
    pub shutdown_ms: u64,
}
