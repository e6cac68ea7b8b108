//! One connection. It is served until the client ends it, it is evicted, it waits too long for its client, it reaches
//! its maximum age, or the listener stops.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body::Body;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower_service::Service;

use crate::body::AnswerBody;
use crate::table::{Handle, Place};
use crate::{Limits, RequestBody};

/// How long a connection past its maximum age may stay open for one last answer.
const LAST_ANSWER_MS: u64 = 60_000;
/// Most header lines of a request.
const HEADERS_MAX: usize = 64;
/// Checks for a stall within one `stall_timeout_ms`.
const STALL_CHECKS: u32 = 4;

/// The sender of a request, in the request's extensions.
#[derive(Clone, Debug)]
pub struct Peer {
    address: IpAddr,
    handle: Handle,
}

impl Peer {
    /// The client's address: the connection's, or the one that a trusted proxy reports.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Marks the connection as authenticated. Unauthenticated connections are evicted before it.
    pub fn mark_authenticated(&self) {
        self.handle.mark_authenticated();
    }
}

/// Stages of stopping a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    /// Requests in progress are finished, new ones are not accepted.
    Closing,
    /// All connections are closed.
    Closed,
}

/// Serves one connection.
pub(crate) async fn serve<S, B>(
    stream: TcpStream,
    place: Place,
    service: S,
    limits: Limits,
    mut phase: watch::Receiver<Phase>,
) where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible> + Clone,
    B: Body + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let is_aged = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| answer(&place, service.clone(), &is_aged, request));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // A client may close its sending side after the request and still read the answer.
        .half_close(true)
        .header_read_timeout(Duration::from_millis(limits.head_timeout_ms))
        .max_buf_size(limits.head_bytes_max.max(8_192))
        .max_headers(HEADERS_MAX);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let age = Duration::from_millis(limits.connection_age_max_ms);
    let mut age = pin!(tokio::time::sleep(age));
    let stalled = stalled(&place, Duration::from_millis(limits.stall_timeout_ms));
    let mut stalled = pin!(stalled);
    let mut is_closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(peer = %place.address(), %error, "connection ended");
                }
                return;
            }
            () = place.evicted() => {
                tracing::debug!(peer = %place.address(), "connection evicted for a new one");
                return;
            }
            () = stalled.as_mut() => {
                tracing::debug!(peer = %place.address(), "connection waited too long for its client");
                return;
            }
            changed = phase.changed() => {
                let now = *phase.borrow_and_update();
                // If the listener is gone, no phase of an orderly stop will be sent.
                if changed.is_err() || now == Phase::Closed {
                    return;
                }
                if now == Phase::Closing && !is_closing {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
            () = age.as_mut() => {
                if is_aged.swap(true, Ordering::Relaxed) {
                    tracing::debug!(peer = %place.address(), "connection closed: past its maximum age without a last answer");
                    return;
                }
                age.set(tokio::time::sleep(Duration::from_millis(LAST_ANSWER_MS)));
            }
        }
    }
}

/// Answers one request.
async fn answer<S, B>(
    place: &Place,
    mut service: S,
    is_aged: &AtomicBool,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody<B>>, Infallible>
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
{
    let handle = place.handle();
    handle.working();
    let address = if place.is_proxy() {
        // A proxy that sends no `X-Forwarded-For` counts as the client.
        forwarded_for(request.headers()).unwrap_or(place.address())
    } else {
        place.address()
    };
    let mut request = request.map(|body| RequestBody::new(body, handle.clone()));
    request.extensions_mut().insert(Peer {
        address,
        handle: handle.clone(),
    });
    // A router is always ready.
    let mut response = service.call(request).await?;
    if is_aged.load(Ordering::Relaxed) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    // From here on the connection waits for the client: to read the answer or to send the next request.
    handle.waiting();
    Ok(response.map(|body| AnswerBody::new(body, handle)))
}

/// Completes when the connection has waited for its client for `bound`, or up to a quarter longer.
async fn stalled(place: &Place, bound: Duration) {
    let (mut since, mut checks) = (place.waiting_since(), 0);
    loop {
        tokio::time::sleep(bound / STALL_CHECKS).await;
        let now = place.waiting_since();
        if now.is_some() && now == since {
            checks += 1;
            if checks == STALL_CHECKS {
                return;
            }
        } else {
            (since, checks) = (now, 0);
        }
    }
}

/// The client address that the nearest proxy reports: the last entry of the last `X-Forwarded-For`. Entries before it
/// were sent by the client and prove nothing.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let line = headers.get_all("x-forwarded-for").iter().next_back()?;
    let last = line.to_str().ok()?.rsplit(',').next()?.trim();
    let bare = last.trim_matches(['[', ']']).parse();
    let address = bare.or_else(|_| last.parse().map(|address: SocketAddr| address.ip()));
    Some(address.ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn the_last_word_of_a_proxy_about_an_address_counts() {
        let client = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            forwarded_for(&headers).map(|address| address.to_string())
        };
        assert_eq!(client(&[]), None);
        assert_eq!(client(&["1.2.3.4"]).unwrap(), "1.2.3.4");
        assert_eq!(client(&["6.6.6.6, 1.2.3.4"]).unwrap(), "1.2.3.4");
        assert_eq!(
            client(&["6.6.6.6", "5.5.5.5,1.2.3.4:567"]).unwrap(),
            "1.2.3.4"
        );
        assert_eq!(client(&["[2001:db8::1]:567"]).unwrap(), "2001:db8::1");
        assert_eq!(client(&["[2001:db8::1]"]).unwrap(), "2001:db8::1");
        assert_eq!(client(&["1.2.3.4, unknown"]), None);
    }
}
