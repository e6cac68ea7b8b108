//! A listener over real sockets. Time is paused: it advances when all tasks wait.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use cambist_listener::{Limits, Listener, Peer, RequestBody};
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

const LIMITS: Limits = Limits {
    connections_max: 4,
    connections_per_address_max: 4,
    head_timeout_ms: 10_000,
    stall_timeout_ms: 20_000,
    head_bytes_max: 8_192,
    connection_age_max_ms: 600_000,
    shutdown_ms: 5_000,
};

/// More than the system's socket buffers of one connection hold.
const LARGE: usize = 64 << 20;

/// Answers with the request's body, or with a large body.
#[derive(Clone)]
struct Echo;

impl tower_service::Service<Request<RequestBody>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            if head.headers.contains_key("x-key") {
                head.extensions.get::<Peer>().unwrap().mark_authenticated();
            }
            let answer = if head.uri.path() == "/large" {
                Bytes::from(vec![b'x'; LARGE])
            } else {
                body.collect().await.map_or_else(
                    |error| Bytes::from(error.to_string()),
                    http_body_util::Collected::to_bytes,
                )
            };
            Ok(Response::new(Full::new(answer)))
        })
    }
}

struct Served {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<std::io::Result<()>>,
}

fn serve(limits: Limits) -> Served {
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), limits).unwrap();
    let address = listener.address();
    let (stop, stopped) = oneshot::channel::<()>();
    let ended = tokio::spawn(listener.serve(Echo, async {
        let _ = stopped.await;
    }));
    Served {
        address,
        stop,
        ended,
    }
}

async fn connect(address: SocketAddr, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    stream
}

/// Reads the head of an answer and the part of its body that arrives with it.
async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut more = [0; 1_024];
        match stream.read(&mut more).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&more[..count]),
            Ok(0) | Err(_) => break,
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Reads until the server has closed the connection.
async fn closed(stream: &mut TcpStream) {
    let mut ignored = vec![0; 0x1_0000];
    while let Ok(1..) = stream.read(&mut ignored).await {}
}

const GOOD: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const KNOWN: &str = "GET / HTTP/1.1\r\nHost: x\r\nX-Key: 1\r\n\r\n";

#[tokio::test]
async fn incomplete_requests_do_not_block_other_clients() {
    let served = serve(LIMITS);
    let mut halves = Vec::new();
    for _ in 0..50 {
        halves.push(connect(served.address, "GET / HTTP/1.1\r\nHost").await);
        let mut good = connect(served.address, GOOD).await;
        assert!(answer(&mut good).await.starts_with("HTTP/1.1 200"));
    }
    // The oldest are closed, the newest are still open.
    closed(&mut halves[0]).await;
    let last = halves.last_mut().unwrap();
    last.write_all(b": x\r\n\r\n").await.unwrap();
    assert!(answer(last).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn incomplete_bodies_do_not_block_other_clients_and_an_authenticated_connection_stays() {
    let served = serve(LIMITS);
    let mut known = connect(served.address, KNOWN).await;
    assert!(answer(&mut known).await.starts_with("HTTP/1.1 200"));
    let half = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    let mut halves = Vec::new();
    for _ in 0..20 {
        halves.push(connect(served.address, half).await);
        let mut good = connect(served.address, GOOD).await;
        assert!(answer(&mut good).await.starts_with("HTTP/1.1 200"));
    }
    closed(&mut halves[0]).await;
    known.write_all(KNOWN.as_bytes()).await.unwrap();
    assert!(answer(&mut known).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_it_waiting_is_disconnected() {
    let served = serve(LIMITS);
    let head = "GET / HTTP/1.1\r\nHost";
    let body = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    for half in ["", head, body, GOOD] {
        closed(&mut connect(served.address, half).await).await;
    }
    // The answer on this connection is not read until the listener has cut it off.
    let mut stream = connect(served.address, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut first = [0; 1];
    stream.read_exact(&mut first).await.unwrap();
    let stalled = Duration::from_millis(2 * LIMITS.stall_timeout_ms);
    tokio::time::sleep(stalled).await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.len() < LARGE, "{} bytes came", rest.len());
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_ends_with_its_next_answer() {
    let served = serve(Limits {
        head_timeout_ms: 3_600_000,
        stall_timeout_ms: 3_600_000,
        ..LIMITS
    });
    let mut stream = connect(served.address, GOOD).await;
    assert!(!answer(&mut stream).await.contains("connection: close"));
    let aged = Duration::from_millis(LIMITS.connection_age_max_ms + 1);
    tokio::time::sleep(aged).await;
    stream.write_all(GOOD.as_bytes()).await.unwrap();
    assert!(answer(&mut stream).await.contains("connection: close"));
    closed(&mut stream).await;
    // Without a next answer it is closed a minute later.
    let mut silent = connect(served.address, GOOD).await;
    answer(&mut silent).await;
    closed(&mut silent).await;
}

#[tokio::test(start_paused = true)]
async fn it_stops_after_the_answers_under_way_and_at_its_deadline() {
    let served = serve(LIMITS);
    let mut idle = connect(served.address, GOOD).await;
    answer(&mut idle).await;
    served.stop.send(()).unwrap();
    closed(&mut idle).await;
    served.ended.await.unwrap().unwrap();

    let served = serve(LIMITS);
    let half = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
    let mut busy = connect(served.address, half).await;
    // The client can send once its connection was accepted.
    let mut good = connect(served.address, GOOD).await;
    answer(&mut good).await;
    served.stop.send(()).unwrap();
    closed(&mut busy).await;
    served.ended.await.unwrap().unwrap();
}
