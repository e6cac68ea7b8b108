//! Pages of the daemon's listener on this machine. The protocol is hyper's. `cambist_client` is the client of venues and
//! of public feeds, with TLS, classification and clocks, none of which a page of this machine needs.

use std::time::Duration;

use anyhow::{Context, anyhow};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Most bytes of a page.
const BYTES_MAX: usize = 8_000_000;

/// Reads the JSON page at `path`, within `timeout` for all of it.
pub async fn fetch(address: &str, path: &str, timeout: Duration) -> anyhow::Result<Value> {
    let answer = answer(address, path, timeout).await?;
    // A daemon that is starting or not ready has a page too, with 503.
    let status = answer.status();
    if !status.is_success() && status != StatusCode::SERVICE_UNAVAILABLE {
        anyhow::bail!("{address} answers {status} for {path}");
    }
    Ok(serde_json::from_slice(answer.body())?)
}

/// The whole answer for `path`, within `timeout`, with its status and kind of content.
pub async fn answer(
    address: &str,
    path: &str,
    timeout: Duration,
) -> anyhow::Result<Response<Bytes>> {
    let answer = tokio::time::timeout(timeout, read(address, path)).await;
    answer.with_context(|| format!("no page from {address} in time"))?
}

async fn read(address: &str, path: &str) -> anyhow::Result<Response<Bytes>> {
    let stream = TokioIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = http1::handshake(stream).await?;
    let request = Request::get(path)
        .header(HOST, "localhost")
        .body(Empty::<Bytes>::new())?;
    let page = async {
        let answer = sender.send_request(request).await?;
        let mut made = Response::builder().status(answer.status());
        if let Some(kind) = answer.headers().get(CONTENT_TYPE) {
            made = made.header(CONTENT_TYPE, kind);
        }
        let body = Limited::new(answer.into_body(), BYTES_MAX);
        let body = body.collect().await.map_err(|error| anyhow!(error))?;
        Ok(made.body(body.to_bytes())?)
    };
    let mut page = std::pin::pin!(page);
    tokio::select! {
        page = &mut page => page,
        // The connection may end before the last of its bytes are taken.
        _ = connection => page.await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// What is made of an answer; a server that sends nothing more closes.
    async fn fetched(answer: &'static str) -> anyhow::Result<Value> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = [0; 1_024];
            let read = stream.read(&mut head).await.unwrap();
            assert!(head[..read].starts_with(b"GET /status HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let fetch = fetch(&address, "/status", Duration::from_mins(1));
        tokio::join!(fetch, serve).0
    }

    #[tokio::test]
    async fn pages_are_read_whole_however_they_are_framed() {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}",
            "HTTP/1.1 503 Service Unavailable\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n{\"a\":1}",
        ] {
            assert_eq!(fetched(answer).await.unwrap()["a"], 1, "{answer}");
        }
    }

    #[tokio::test]
    async fn what_is_no_page_is_an_error() {
        for answer in [
            "",
            "no HTTP\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\":1}",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{",
        ] {
            assert!(fetched(answer).await.is_err(), "{answer}");
        }
    }
}
