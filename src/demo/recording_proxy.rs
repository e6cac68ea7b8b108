//! The proxy between the demo's daemon and its exchange, which records the requests in flight when the daemon is
//! killed. It passes bytes on unchanged; once armed, it holds back the answer to the next submit and everything after
//! it, until the daemon has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// First bytes of requests that submit an order, a join or an exit.
const SUBMITS: [&[u8]; 3] = [
    b"POST /api/v3/order ",
    b"POST /api/v3/amm/join ",
    b"POST /api/v3/amm/exit ",
];
/// Bytes passed on at once.
const CHUNK: usize = 0x4000;
/// Most bytes of a request or an answer that are kept for parsing.
const KEPT_MAX: usize = 0x10_000;

/// A submit whose answer has not reached the daemon.
#[derive(Clone, Debug, Default)]
pub struct Unanswered {
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Unanswered {
    /// Whether it is a join or an exit, which has no id of the daemon.
    pub fn is_move(&self) -> bool {
        !self.request.starts_with(SUBMITS[0])
    }

    /// The client order id.
    pub fn client_order_id(&self) -> Option<String> {
        Some(
            body(&self.request)?
                .get("clientOrderId")?
                .as_str()?
                .to_owned(),
        )
    }

    /// The status in the exchange's answer, which the daemon did not receive.
    pub fn answered(&self) -> Option<String> {
        Some(body(&self.answer)?.get("status")?.as_str()?.to_owned())
    }
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    /// Whether everything to the daemon is held back.
    held: bool,
    /// By connection.
    submits: BTreeMap<u64, Unanswered>,
    /// Ids of the orders whose submits were answered.
    answered: BTreeSet<String>,
}

/// The proxy; it ends on drop.
pub struct RecordingProxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    caught: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl RecordingProxy {
    /// Starts a proxy to the exchange at `upstream`, on a free port.
    pub async fn lay(upstream: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let caught = Arc::new(Notify::new());
        let end = End {
            upstream: upstream.into(),
            state: Arc::clone(&state),
            caught: Arc::clone(&caught),
        };
        let task = tokio::spawn(async move {
            for number in 0.. {
                let Ok((daemon, _)) = listener.accept().await else {
                    return;
                };
                let end = end.clone();
                // The daemon reconnects after a broken connection.
                tokio::spawn(async move { drop(end.carry(daemon, number).await) });
            }
        });
        Ok(Self {
            address,
            state,
            caught,
            task,
        })
    }

    /// The address that the daemon uses for the exchange.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the exchange has answered a submit, and holds back that answer and everything after it. False if
    /// there was none in time; answers are held back nevertheless.
    pub async fn catch(&self, timeout: Duration) -> bool {
        locked(&self.state).armed = true;
        let caught = tokio::time::timeout(timeout, self.caught.notified()).await;
        locked(&self.state).held = true;
        caught.is_ok()
    }

    /// Returns the unanswered submits and the ids of answered ones, clears both, and passes bytes on again.
    pub fn release(&self) -> (Vec<Unanswered>, BTreeSet<String>) {
        let before = std::mem::take(&mut *locked(&self.state));
        (before.submits.into_values().collect(), before.answered)
    }
}

impl Drop for RecordingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// State of one connection.
#[derive(Clone)]
struct End {
    upstream: Arc<str>,
    state: Arc<Mutex<State>>,
    caught: Arc<Notify>,
}

impl End {
    async fn carry(&self, mut daemon: TcpStream, number: u64) -> std::io::Result<()> {
        let mut exchange = TcpStream::connect(&*self.upstream).await?;
        daemon.set_nodelay(true)?;
        exchange.set_nodelay(true)?;
        let (mut from_daemon, mut from_exchange) = (vec![0; CHUNK], vec![0; CHUNK]);
        loop {
            tokio::select! {
                read = daemon.read(&mut from_daemon) => match read? {
                    0 => return Ok(()),
                    count => {
                        self.asks(number, &from_daemon[..count]);
                        exchange.write_all(&from_daemon[..count]).await?;
                    }
                },
                read = exchange.read(&mut from_exchange) => match read? {
                    0 => return Ok(()),
                    count => if self.may_pass(number, &from_exchange[..count]) {
                        daemon.write_all(&from_exchange[..count]).await?;
                    },
                },
            }
        }
    }

    /// Bytes to the exchange. A connection carries one request at a time.
    fn asks(&self, number: u64, bytes: &[u8]) {
        let mut state = locked(&self.state);
        if SUBMITS.iter().any(|submit| bytes.starts_with(submit)) {
            state.submits.insert(number, Unanswered::default());
        }
        if let Some(submit) = state.submits.get_mut(&number) {
            keep(&mut submit.request, bytes);
        }
    }

    /// Bytes to the daemon.
    fn may_pass(&self, number: u64, bytes: &[u8]) -> bool {
        let mut state = locked(&self.state);
        let armed = state.armed;
        let mut held = state.held;
        if let Some(submit) = state.submits.get_mut(&number) {
            if armed {
                keep(&mut submit.answer, bytes);
                held = true;
                self.caught.notify_one();
            } else if let Some(id) = state
                .submits
                .remove(&number)
                .and_then(|s| s.client_order_id())
            {
                state.answered.insert(id);
            }
        }
        state.held = held;
        !held
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = KEPT_MAX.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// The JSON body of a request or an answer, if it is complete.
fn body(message: &[u8]) -> Option<serde_json::Value> {
    let at = message.windows(4).position(|four| four == b"\r\n\r\n")?;
    serde_json::from_slice(&message[at + 4..]).ok()
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A panic ends the whole program.
    state
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const REQUEST: &[u8] =
        b"POST /api/v3/order HTTP/1.1\r\ncontent-length: 22\r\n\r\n{\"clientOrderId\":\"c1\"}";
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{\"status\":\"processing\"}";

    async fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn an_armed_line_keeps_the_answer_to_a_submit_and_everything_after_it() {
        let exchange = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = RecordingProxy::lay(&exchange.local_addr().unwrap().to_string())
            .await
            .unwrap();
        let mut daemon = TcpStream::connect(wire.address()).await.unwrap();
        let (mut there, _) = exchange.accept().await.unwrap();
        for _ in 0..2 {
            daemon.write_all(REQUEST).await.unwrap();
            assert_eq!(read(&mut there, REQUEST.len()).await, REQUEST);
            there.write_all(ANSWER).await.unwrap();
            assert_eq!(read(&mut daemon, ANSWER.len()).await, ANSWER);
        }
        let caught = async {
            daemon
                .write_all(b"GET /api/v3/depth HTTP/1.1\r\n\r\n")
                .await
                .unwrap();
            read(&mut there, 30).await;
            there.write_all(ANSWER).await.unwrap();
            assert_eq!(read(&mut daemon, ANSWER.len()).await, ANSWER);
            daemon.write_all(REQUEST).await.unwrap();
            read(&mut there, REQUEST.len()).await;
            there.write_all(ANSWER).await.unwrap();
        };
        let (is_caught, ()) = tokio::join!(wire.catch(Duration::from_secs(20)), caught);
        assert!(is_caught);
        there.write_all(b"\n").await.unwrap();
        drop(there);
        let mut received = Vec::new();
        daemon.read_to_end(&mut received).await.unwrap();
        assert!(received.is_empty(), "{received:?}");
        let (left, answered) = wire.release();
        assert_eq!(answered, BTreeSet::from(["c1".to_owned()]));
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].client_order_id().as_deref(), Some("c1"));
        assert_eq!(left[0].answered().as_deref(), Some("processing"));
    }

    #[tokio::test]
    async fn without_a_submit_nothing_is_caught() {
        let wire = RecordingProxy::lay("127.0.0.1:9").await.unwrap();
        assert!(!wire.catch(Duration::from_millis(1)).await);
        assert!(wire.release().0.is_empty());
    }
}
