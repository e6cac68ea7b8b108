//! The proxy between the demo's daemon and its exchange, which records the requests in flight when the daemon is
//! killed. It passes bytes on unchanged; once armed, it holds back the answer to the next submit and everything after
//! it, until the daemon has ended. It also carries out two faults of the demo's page: answers that get lost, and a book
//! that no longer changes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::http_answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Bytes passed on at once.
const CHUNK: usize = 0x4000;
/// Most bytes of a request or an answer that are kept for parsing.
const KEPT_MAX: usize = 0x10_000;

/// How requests look at a venue. Requests and answers are those of HTTP/1.1, perhaps not complete yet.
#[derive(Debug)]
pub struct Interface {
    /// Whether a request submits an order, a join or an exit.
    pub is_submit: fn(&[u8]) -> bool,
    /// What a submit has in common with its repetitions, which are not waited for; `None` if they are.
    pub same_as: fn(&[u8]) -> Option<String>,
    /// Whether a request asks for an order book.
    pub is_depth: fn(&[u8]) -> bool,
    /// Whether a submit is that of a join or an exit, which has no id of the daemon.
    pub is_move: fn(&[u8]) -> bool,
    /// The client order id in a submit.
    pub client_order_id: fn(&[u8]) -> Option<String>,
    /// The status that the answer to a submit states: request and answer.
    pub answered: fn(&[u8], &[u8]) -> Option<String>,
}

/// A submit whose answer has not reached the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Whether it is a join or an exit, which has no id of the daemon.
    pub is_move: bool,
    /// The client order id.
    pub client_order_id: Option<String>,
    /// The status in the venue's answer, which the daemon did not receive.
    pub answered: Option<String>,
}

/// A submit on its way, with its answer so far.
#[derive(Debug, Default)]
struct Submit {
    /// Whether the same was submitted before.
    is_repeated: bool,
    request: Vec<u8>,
    answer: Vec<u8>,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    /// Whether everything to the daemon is held back.
    held: bool,
    /// By connection.
    submits: BTreeMap<u64, Submit>,
    /// Ids of the orders whose submits were answered.
    answered: BTreeSet<String>,
    /// What was submitted so far, where repetitions are not waited for.
    submitted: BTreeSet<String>,
}

/// The faults of the connection between daemon and exchange.
#[derive(Debug)]
struct Faults {
    /// How many of a hundred answers get lost.
    lost_percent: u64,
    /// State of the choice of these answers.
    random: u64,
    /// Number of answers that got lost.
    lost: u64,
    book: ShownBook,
}

/// Which book the daemon is shown.
#[derive(Debug)]
enum ShownBook {
    Current,
    /// The next one, from then on.
    Next,
    /// This one, whatever the exchange answers.
    Frozen(Vec<u8>),
}

impl Faults {
    /// Whether the next answer gets lost (SplitMix64).
    fn loses(&mut self) -> bool {
        if self.lost_percent == 0 {
            return false;
        }
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let lost = (mixed ^ (mixed >> 31)) % 100 < self.lost_percent;
        self.lost += u64::from(lost);
        lost
    }
}

/// The proxy; it ends on drop.
pub struct RecordingProxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    faults: Arc<Mutex<Faults>>,
    caught: Arc<Notify>,
    interface: &'static Interface,
    task: tokio::task::JoinHandle<()>,
}

impl RecordingProxy {
    /// Starts a proxy to the exchange at `upstream`, on a free port. `seed` chooses the answers that get lost.
    pub async fn lay(
        upstream: &str,
        interface: &'static Interface,
        seed: u64,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let caught = Arc::new(Notify::new());
        let faults = Arc::new(Mutex::new(Faults {
            lost_percent: 0,
            random: seed,
            lost: 0,
            book: ShownBook::Current,
        }));
        let end = End {
            upstream: upstream.into(),
            state: Arc::clone(&state),
            faults: Arc::clone(&faults),
            caught: Arc::clone(&caught),
            interface,
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
            faults,
            caught,
            interface,
            task,
        })
    }

    /// Loses this percentage of the answers from now on: the exchange has executed the request, and the daemon waits
    /// until its timeout. With 0 none.
    pub fn lose(&self, percent: u64) {
        locked(&self.faults).lost_percent = percent;
    }

    /// Number of answers that got lost so far.
    pub fn lost(&self) -> u64 {
        locked(&self.faults).lost
    }

    /// Shows the next order book forever, or the current one again.
    pub fn freeze_book(&self, frozen: bool) {
        locked(&self.faults).book = if frozen {
            ShownBook::Next
        } else {
            ShownBook::Current
        };
    }

    /// The address that the daemon uses for the exchange.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the venue has answered a submit that is none of an earlier one again, and holds back that answer and
    /// everything after it until `release`. False if there was none in time; answers are held back nevertheless. A wait
    /// that is dropped holds nothing back: the daemon goes on.
    pub async fn catch(&self, timeout: Duration) -> bool {
        let mut wait = Wait {
            state: &self.state,
            is_over: false,
        };
        locked(&self.state).armed = true;
        let caught = tokio::time::timeout(timeout, self.caught.notified()).await;
        locked(&self.state).held = true;
        wait.is_over = true;
        caught.is_ok()
    }

    /// Returns the unanswered submits, which are forgotten, and the ids of all that were answered so far; passes bytes on
    /// again.
    pub fn release(&self) -> (Vec<Unanswered>, BTreeSet<String>) {
        let mut state = locked(&self.state);
        let before = std::mem::take(&mut *state);
        state.answered.clone_from(&before.answered);
        state.submitted = before.submitted;
        drop(state);
        let of = self.interface;
        let left = before.submits.into_values().map(|submit| Unanswered {
            is_move: (of.is_move)(&submit.request),
            client_order_id: (of.client_order_id)(&submit.request),
            answered: (of.answered)(&submit.request, &submit.answer),
        });
        (left.collect(), before.answered)
    }
}

/// A wait for a submit. A demo that is ended drops it, and its daemon still has to drain through the proxy.
struct Wait<'p> {
    state: &'p Mutex<State>,
    is_over: bool,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = locked(self.state);
            (state.armed, state.held) = (false, false);
        }
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
    faults: Arc<Mutex<Faults>>,
    caught: Arc<Notify>,
    interface: &'static Interface,
}

impl End {
    async fn carry(&self, mut daemon: TcpStream, number: u64) -> std::io::Result<()> {
        let mut exchange = TcpStream::connect(&*self.upstream).await?;
        daemon.set_nodelay(true)?;
        exchange.set_nodelay(true)?;
        let (mut from_daemon, mut from_exchange) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut exchanged = Exchanged::default();
        loop {
            tokio::select! {
                read = daemon.read(&mut from_daemon) => match read? {
                    0 => return Ok(()),
                    count => {
                        exchanged.asks(&from_daemon[..count], self.interface);
                        self.asks(number, &exchanged.request);
                        exchange.write_all(&from_daemon[..count]).await?;
                    }
                },
                read = exchange.read(&mut from_exchange) => match read? {
                    0 => return Ok(()),
                    count => if self.may_pass(number, &from_exchange[..count]) {
                        let bytes = exchanged.answers(&from_exchange[..count], &self.faults);
                        daemon.write_all(&bytes).await?;
                    },
                },
            }
        }
    }

    /// The request of a connection so far; it carries one at a time.
    fn asks(&self, number: u64, request: &[u8]) {
        if (self.interface.is_submit)(request) {
            let same_as = (self.interface.same_as)(request);
            let mut state = locked(&self.state);
            let submit = Submit {
                is_repeated: same_as.is_some_and(|name| !state.submitted.insert(name)),
                request: request.to_vec(),
                answer: Vec::new(),
            };
            state.submits.insert(number, submit);
        }
    }

    /// Bytes to the daemon.
    fn may_pass(&self, number: u64, bytes: &[u8]) -> bool {
        let mut state = locked(&self.state);
        let armed = state.armed;
        let mut held = state.held;
        if let Some(submit) = state.submits.get_mut(&number) {
            if armed && !submit.is_repeated {
                keep(&mut submit.answer, bytes);
                held = true;
                self.caught.notify_one();
            } else if let Some(id) = state
                .submits
                .remove(&number)
                .and_then(|submit| (self.interface.client_order_id)(&submit.request))
            {
                state.answered.insert(id);
            }
        }
        state.held = held;
        !held
    }
}

/// The current request of a connection, which carries one at a time.
#[derive(Default)]
struct Exchanged {
    /// Its bytes so far.
    request: Vec<u8>,
    is_depth: bool,
    /// Whether the request has been decided on: its answer has begun.
    has_begun: bool,
    /// Whether its answer, and with it the connection, is lost.
    is_lost: bool,
    /// The answer so far, if another book takes its place.
    replaced: Option<Vec<u8>>,
}

impl Exchanged {
    fn asks(&mut self, bytes: &[u8], interface: &Interface) {
        // Further bytes of a request follow before its answer begins.
        if self.has_begun {
            self.request.clear();
        }
        self.has_begun = false;
        keep(&mut self.request, bytes);
        self.is_depth = (interface.is_depth)(&self.request);
    }

    /// The bytes of an answer that reach the daemon.
    fn answers<'b>(&mut self, bytes: &'b [u8], faults: &Mutex<Faults>) -> Cow<'b, [u8]> {
        let mut faults = locked(faults);
        if !self.has_begun {
            self.has_begun = true;
            self.is_lost |= faults.loses();
            self.replaced =
                (self.is_depth && !matches!(faults.book, ShownBook::Current)).then(Vec::new);
        }
        if self.is_lost {
            return Cow::Borrowed(&[]);
        }
        let Some(answer) = &mut self.replaced else {
            return Cow::Borrowed(bytes);
        };
        answer.extend_from_slice(bytes);
        if !http_answer::is_complete(answer) {
            return Cow::Borrowed(&[]);
        }
        let answer = self.replaced.take().unwrap_or_default();
        match &faults.book {
            ShownBook::Frozen(book) => return Cow::Owned(http_answer::with_body(&answer, book)),
            ShownBook::Next if http_answer::is_success(&answer) => {
                let book = http_answer::body(&answer).unwrap_or_default();
                faults.book = ShownBook::Frozen(book.to_vec());
            }
            ShownBook::Next | ShownBook::Current => {}
        }
        Cow::Owned(answer)
    }
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = KEPT_MAX.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// The JSON body of a request or an answer, if it is complete.
pub fn json(message: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(http_answer::body(message)?).ok()
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic ends the whole program.
    state
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::demo::on_exchange::OWN;

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
        let upstream = exchange.local_addr().unwrap().to_string();
        let wire = RecordingProxy::lay(&upstream, &OWN, 1).await.unwrap();
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
        assert_eq!(left[0].client_order_id.as_deref(), Some("c1"));
        assert_eq!(left[0].answered.as_deref(), Some("processing"));
    }

    #[tokio::test]
    async fn a_submit_that_is_sent_again_is_not_waited_for() {
        static NAMED: Interface = Interface {
            same_as: OWN.client_order_id,
            ..OWN
        };
        let exchange = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = exchange.local_addr().unwrap().to_string();
        let wire = RecordingProxy::lay(&upstream, &NAMED, 1).await.unwrap();
        let mut daemon = TcpStream::connect(wire.address()).await.unwrap();
        let (mut there, _) = exchange.accept().await.unwrap();
        let other = String::from_utf8_lossy(REQUEST).replace("c1", "c2");
        let sent = async {
            for _ in 0..3 {
                daemon.write_all(REQUEST).await.unwrap();
                read(&mut there, REQUEST.len()).await;
                there.write_all(ANSWER).await.unwrap();
                assert_eq!(read(&mut daemon, ANSWER.len()).await, ANSWER);
                // Armed from the second one on.
                locked(&wire.state).armed = true;
            }
            daemon.write_all(other.as_bytes()).await.unwrap();
            read(&mut there, other.len()).await;
            there.write_all(ANSWER).await.unwrap();
        };
        sent.await;
        assert!(wire.catch(Duration::from_secs(20)).await);
        let (left, answered) = wire.release();
        assert_eq!(answered, BTreeSet::from(["c1".to_owned()]));
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].client_order_id.as_deref(), Some("c2"));
    }

    #[test]
    fn the_choice_of_lost_answers_meets_its_percentage_and_ends_with_it() {
        let faults = Mutex::new(Faults {
            lost_percent: 30,
            random: 7,
            lost: 0,
            book: ShownBook::Current,
        });
        let passed = |requests: u64| {
            let passes = |_: &u64| {
                let mut exchanged = Exchanged::default();
                exchanged.asks(b"GET /api/v3/timestamp HTTP/1.1\r\n\r\n", &OWN);
                !exchanged.answers(b"HTTP/1.1", &faults).is_empty()
            };
            (0..requests).filter(passes).count()
        };
        let passed_of_1000 = passed(1_000);
        assert!((650..750).contains(&passed_of_1000), "{passed_of_1000}");
        let lost = locked(&faults).lost;
        assert_eq!(lost, 1_000 - passed_of_1000 as u64);
        locked(&faults).lost_percent = 0;
        assert_eq!(passed(1_000), 1_000);
        // The rest of a lost answer is lost too.
        locked(&faults).lost_percent = 100;
        let mut exchanged = Exchanged::default();
        exchanged.asks(REQUEST, &OWN);
        assert!(exchanged.answers(b"HTTP/1.1 200 OK", &faults).is_empty());
        locked(&faults).lost_percent = 0;
        assert!(exchanged.answers(b"\r\n\r\n", &faults).is_empty());
    }

    #[test]
    fn a_frozen_book_is_the_first_one_and_other_answers_pass() {
        let faults = Mutex::new(Faults {
            lost_percent: 0,
            random: 0,
            lost: 0,
            book: ShownBook::Next,
        });
        let mut exchanged = Exchanged::default();
        let mut ask = |path: &str, body: &str| {
            let request = format!("GET /api/v3/{path} HTTP/1.1\r\n\r\n");
            exchanged.asks(request.as_bytes(), &OWN);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let head = exchanged.answers(head.as_bytes(), &faults).into_owned();
            let answer = [&head, &*exchanged.answers(body.as_bytes(), &faults)].concat();
            http_answer::body(&answer).unwrap().to_vec()
        };
        assert_eq!(ask("depth?market=A", "first book"), b"first book");
        assert_eq!(ask("timestamp", "12"), b"12");
        assert_eq!(ask("depth?market=A", "another book"), b"first book");
        locked(&faults).book = ShownBook::Current;
        assert_eq!(
            ask("depth?market=A", "the current book"),
            b"the current book"
        );
    }

    #[tokio::test]
    async fn a_wait_that_is_dropped_holds_nothing_back() {
        let exchange = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = exchange.local_addr().unwrap().to_string();
        let wire = RecordingProxy::lay(&upstream, &OWN, 1).await.unwrap();
        let wait = wire.catch(Duration::from_hours(1));
        assert!(
            tokio::time::timeout(Duration::from_millis(1), wait)
                .await
                .is_err()
        );
        let mut daemon = TcpStream::connect(wire.address()).await.unwrap();
        let (mut there, _) = exchange.accept().await.unwrap();
        for _ in 0..2 {
            daemon.write_all(REQUEST).await.unwrap();
            read(&mut there, REQUEST.len()).await;
            there.write_all(ANSWER).await.unwrap();
            assert_eq!(read(&mut daemon, ANSWER.len()).await, ANSWER);
        }
    }

    #[tokio::test]
    async fn without_a_submit_nothing_is_caught() {
        let wire = RecordingProxy::lay("127.0.0.1:9", &OWN, 1).await.unwrap();
        assert!(!wire.catch(Duration::from_millis(1)).await);
        assert!(wire.release().0.is_empty());
    }
}
