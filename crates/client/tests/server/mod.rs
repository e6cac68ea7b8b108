//! A small scripted TCP server that records the requests it receives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A step of the server after a request was received.
#[derive(Clone)]
pub enum Step {
    /// Writes these bytes.
    Send(Vec<u8>),
    /// Writes these bytes one at a time with a pause before each.
    Drip(Vec<u8>, Duration),
    /// Writes chunks of a chunked body until the client closes the connection.
    EndlessChunks,
    /// Reads the next request on the same connection.
    NextRequest,
    /// Resets the connection.
    Reset,
    /// Sends nothing and keeps the connection open.
    Silence,
}

#[derive(Default)]
struct Seen {
    requests: Vec<String>,
    connections: usize,
    sent_bytes: usize,
    open: usize,
}

/// A running server; it stops with the test's runtime.
pub struct Server {
    port: u16,
    seen: Arc<Mutex<Seen>>,
    closed: Arc<tokio::sync::Notify>,
}

impl Server {
    /// Answers the n-th request with the n-th script and closes the connection after each answer.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let closed = Arc::new(tokio::sync::Notify::new());
        let (shared, notify) = (Arc::clone(&seen), Arc::clone(&closed));
        tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            while let Ok((stream, _)) = listener.accept().await {
                {
                    let mut seen = shared.lock().unwrap();
                    seen.connections += 1;
                    seen.open += 1;
                }
                let script = scripts.next().unwrap_or_default();
                let (shared, notify) = (Arc::clone(&shared), Arc::clone(&notify));
                tokio::spawn(async move {
                    serve(stream, script, &shared).await;
                    shared.lock().unwrap().open -= 1;
                    notify.notify_waiters();
                });
            }
        });
        Self { port, seen, closed }
    }

    /// Base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.seen.lock().unwrap().connections
    }

    /// Number of bytes written when every connection is closed.
    pub async fn sent_bytes(&self) -> usize {
        loop {
            let closed = self.closed.notified();
            {
                let seen = self.seen.lock().unwrap();
                if seen.open == 0 {
                    return seen.sent_bytes;
                }
            }
            closed.await;
        }
    }
}

/// An answer with length and connection headers.
pub fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A JSON answer on a connection that stays open.
pub fn kept(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A JSON answer on a connection that is closed.
pub fn json(status: u16, headers: &str, body: &str) -> Vec<u8> {
    answer(
        status,
        &format!("Content-Type: application/json\r\n{headers}"),
        body,
    )
}

async fn serve(mut stream: TcpStream, script: Vec<Step>, seen: &Mutex<Seen>) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().requests.push(request);
    for step in script {
        let done = match step {
            Step::Send(bytes) => write(&mut stream, &bytes, seen).await,
            Step::Drip(bytes, pause) => {
                let mut done = true;
                for byte in bytes {
                    tokio::time::sleep(pause).await;
                    done = write(&mut stream, &[byte], seen).await;
                    if !done {
                        break;
                    }
                }
                done
            }
            Step::EndlessChunks => {
                let mut chunk = b"10000\r\n".to_vec();
                chunk.resize(chunk.len() + 0x1_0000, b' ');
                chunk.extend_from_slice(b"\r\n");
                while write(&mut stream, &chunk, seen).await {}
                false
            }
            Step::NextRequest => match read_request(&mut stream).await {
                Some(request) => {
                    seen.lock().unwrap().requests.push(request);
                    true
                }
                None => false,
            },
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                return;
            }
            Step::Silence => {
                let mut byte = [0];
                // Until the client closes the connection.
                let _ = stream.read(&mut byte).await;
                false
            }
        };
        if !done {
            return;
        }
    }
}

async fn write(stream: &mut TcpStream, bytes: &[u8], seen: &Mutex<Seen>) -> bool {
    let written = stream.write_all(bytes).await.is_ok();
    seen.lock().unwrap().sent_bytes += bytes.len();
    written
}

/// Reads a head and the body of the announced length.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")
                        .map(str::to_owned)
                })
                .map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                return Some(text);
            }
        }
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
}
