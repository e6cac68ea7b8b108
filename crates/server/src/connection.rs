//! Connections: how many, how slow, how old. What travels on them is not known here.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderMap;
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
    /// It carries requests of many.
    by_proxy: bool,
}

impl Peers {
    /// A place for one more connection, if the address has any left; proxies always have.
    pub fn enter(&self, peer: IpAddr, max: usize, proxies: &[IpAddr]) -> Option<Place> {
        let peer = peer.to_canonical();
        let by_proxy = proxies.iter().any(|proxy| proxy.to_canonical() == peer);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&peer).copied().unwrap_or(0);
        if count >= max && !by_proxy {
            return None;
        }
        counts.insert(peer, count + 1);
        Some(Place {
            peers: self.clone(),
            peer,
            by_proxy,
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

/// Whom the nearest proxy has its request from: the last entry of the last `X-Forwarded-For`. What stands
/// before it was sent by that somebody, and may be anything.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all("x-forwarded-for").iter().next_back()?;
    let last = line.to_str().ok()?.rsplit(',').next()?.trim();
    let bare = last.trim_matches(['[', ']']).parse();
    let address = bare.or_else(|_| last.parse().map(|address: SocketAddr| address.ip()));
    Some(address.ok()?.to_canonical())
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
    let by_proxy = place.by_proxy;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let mut known = known.clone();
        if by_proxy {
            // A proxy that names nobody is its own customer.
            known.peer = forwarded_for(request.headers()).unwrap_or(known.peer);
        }
        request.extensions_mut().insert(known);
        // A router is always ready.
        router.clone().call(request)
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // Who has said all and waits is answered: an end of what is sent is no sign that nobody reads.
        .half_close(true)
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
        let first = peers.enter(here, 2, &[]);
        let second = peers.enter("::ffff:10.0.0.1".parse().unwrap(), 2, &[]);
        assert!(first.is_some() && second.is_some());
        assert!(peers.enter(here, 2, &[]).is_none());
        assert!(peers.enter("10.0.0.2".parse().unwrap(), 2, &[]).is_some());
        drop(first);
        assert!(peers.enter(here, 2, &[]).is_some());
        drop(second);
        assert!(peers.counts.lock().unwrap().is_empty());
    }

    #[test]
    fn a_proxy_has_room_and_its_last_word_about_an_address_counts() {
        let peers = Peers::default();
        let proxy = "10.0.0.1".parse().unwrap();
        let places: Vec<_> = (0..3).map(|_| peers.enter(proxy, 2, &[proxy])).collect();
        assert!(places.iter().all(Option::is_some));
        assert!(
            peers.enter(proxy, 2, &[]).is_none(),
            "only where it is trusted"
        );
        let said = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            forwarded_for(&headers).map(|address| address.to_string())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["1.2.3.4"]).unwrap(), "1.2.3.4");
        assert_eq!(said(&["6.6.6.6, 1.2.3.4"]).unwrap(), "1.2.3.4");
        assert_eq!(
            said(&["6.6.6.6", "5.5.5.5,1.2.3.4:567"]).unwrap(),
            "1.2.3.4"
        );
        assert_eq!(said(&["[2001:db8::1]:567"]).unwrap(), "2001:db8::1");
        assert_eq!(said(&["[2001:db8::1]"]).unwrap(), "2001:db8::1");
        assert_eq!(said(&["1.2.3.4, unknown"]), None);
    }
}
