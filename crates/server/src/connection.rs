//! Connections: how many, how slow, how old. What travels on them is not known here.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower_service::Service as _;

use crate::config::ConnectionLimits;
use crate::router::Connection;

/// How long a connection that ought to end may still take.
const LAST_ANSWER_MS: u64 = 60_000;

/// Most header lines of a request.
const HEADERS_MAX: usize = 64;

/// How many connections each address has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A connection's place; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    peers: Peers,
    peer: IpAddr,
}

impl Peers {
    /// A place for one more connection, if the address has any left.
    pub fn enter(&self, peer: IpAddr, max: usize) -> Option<Place> {
        let peer = peer.to_canonical();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&peer).copied().unwrap_or(0);
        if count >= max {
            return None;
        }
        counts.insert(peer, count + 1);
        Some(Place {
            peers: self.clone(),
            peer,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let counts = &self.peers.counts;
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.peer);
            }
        }
    }
}

/// Serves one connection until it ends, grows old or the server stops.
pub(crate) async fn serve(
    stream: TcpStream,
    place: Place,
    router: Router,
    limits: ConnectionLimits,
    mut stopping: watch::Receiver<bool>,
) {
    let aged = Arc::new(AtomicBool::new(false));
    let known = Connection {
        peer: place.peer,
        aged: Arc::clone(&aged),
    };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(known.clone());
        // A router is always ready.
        router.clone().call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(limits.head_timeout_ms))
        .max_buf_size(limits.head_bytes_max.max(8_192))
        .max_headers(HEADERS_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));

    let mut age = pin!(tokio::time::sleep(Duration::from_millis(
        limits.connection_age_max_ms
    )));
    let mut leaving = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(peer = %place.peer, %error, "connection ended");
                }
                return;
            }
            changed = stopping.changed(), if !leaving => {
                // The sender gone means the same.
                let _ = changed;
                leaving = true;
                connection.as_mut().graceful_shutdown();
            }
            () = age.as_mut() => {
                if aged.swap(true, Ordering::Relaxed) {
                    tracing::debug!(peer = %place.peer, "connection outstayed its last answer");
                    return;
                }
                age.set(tokio::time::sleep(Duration::from_millis(LAST_ANSWER_MS)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn an_address_has_a_number_of_places_and_gets_them_back() {
        let peers = Peers::default();
        let here = "10.0.0.1".parse().unwrap();
        let first = peers.enter(here, 2);
        let second = peers.enter("::ffff:10.0.0.1".parse().unwrap(), 2);
        assert!(first.is_some() && second.is_some());
        assert!(peers.enter(here, 2).is_none());
        assert!(peers.enter("10.0.0.2".parse().unwrap(), 2).is_some());
        drop(first);
        assert!(peers.enter(here, 2).is_some());
        drop(second);
        assert!(peers.counts.lock().unwrap().is_empty());
    }
}
