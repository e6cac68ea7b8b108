//! A faulty network between daemon and exchange: a proxy that records every submit, and does to a chosen request what
//! networks, gateways and caches do.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::faults::{Fault, Other, act};
use super::message::Message;

/// The path of orders of Kraken's interface.
const ADD_ORDER: &str = "/0/private/AddOrder";
/// Nothing in here waits longer.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(20);

/// A request that passed.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub body: String,
    /// Number of earlier requests with this method and path since the plan was set.
    pub nth: u64,
}

impl Seen {
    pub fn is_submit(&self) -> bool {
        self.method == "POST" && ["/api/v3/order", ADD_ORDER].contains(&self.path.as_str())
    }

    pub fn is_cancel(&self) -> bool {
        self.method == "DELETE" || self.path == "/0/private/CancelOrder"
    }

    pub fn is_amend(&self) -> bool {
        self.path == "/0/private/AmendOrder"
    }

    pub fn is_read_of(&self, path: &str) -> bool {
        self.method == "GET" && self.path.strip_prefix("/api/v3/") == Some(path)
    }

    fn key(&self) -> Key {
        (self.method.clone(), self.path.clone())
    }
}

type Plan = Box<dyn Fn(&Seen) -> Fault + Send + Sync>;

/// Method and path.
type Key = (String, String);

/// A plan, and how many requests of each kind have come since it was made.
struct Planned {
    plan: Plan,
    seen: BTreeMap<Key, u64>,
}

impl Planned {
    fn new(plan: impl Fn(&Seen) -> Fault + Send + Sync + 'static) -> Self {
        Self {
            plan: Box::new(plan),
            seen: BTreeMap::new(),
        }
    }
}

/// Answers that passed: the first of each kind, and the last two of different kinds.
#[derive(Default)]
struct Answers {
    first: BTreeMap<Key, Vec<u8>>,
    last: BTreeMap<Key, Vec<u8>>,
}

pub(super) struct State {
    pub(super) upstream: String,
    plan: Mutex<Planned>,
    answers: Mutex<Answers>,
    submits: Mutex<Vec<String>>,
    connections: AtomicU64,
    faults: AtomicU64,
    closed: AtomicBool,
    stopped: AtomicBool,
}

impl State {
    pub(super) fn remember(&self, seen: &Seen, answer: &Message) {
        let mut answers = self.answers.lock().unwrap();
        let bytes = answer.bytes();
        answers
            .first
            .entry(seen.key())
            .or_insert_with(|| bytes.clone());
        answers.last.insert(seen.key(), bytes);
    }

    pub(super) fn another(&self, seen: &Seen, other: Other) -> Option<Vec<u8>> {
        let answers = self.answers.lock().unwrap();
        match other {
            Other::First => answers.first.get(&seen.key()).cloned(),
            Other::Elses => {
                let mut elses = answers.last.iter().filter(|(key, _)| **key != seen.key());
                elses.next().map(|(_, bytes)| bytes.clone())
            }
        }
    }
}

pub struct Proxy {
    pub url: String,
    address: String,
    state: Arc<State>,
    /// The thread that waits for connections, while it listens.
    listens: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    /// A clean line to `upstream`.
    pub fn start(upstream: &str) -> Self {
        let listener = super::ports::listener();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            upstream: upstream.to_owned(),
            plan: Mutex::new(Planned::new(|_| Fault::Pass)),
            answers: Mutex::default(),
            submits: Mutex::default(),
            connections: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        });
        let proxy = Self {
            url: format!("http://{address}"),
            address,
            state,
            listens: Mutex::default(),
        };
        proxy.listen(listener);
        proxy
    }

    fn listen(&self, listener: TcpListener) {
        let shared = Arc::clone(&self.state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::Acquire) || shared.closed.load(Ordering::Acquire) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else {
                    continue;
                };
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        *self.listens.lock().unwrap() = Some(thread);
    }

    /// Stops listening: connections are refused when this returns, and open ones end with their next request.
    pub fn close(&self) {
        self.state.closed.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.listens.lock().unwrap().take() {
            thread.join().unwrap();
        }
    }

    /// Listens again at the same address.
    pub fn open(&self) {
        self.state.closed.store(false, Ordering::Release);
        self.listen(TcpListener::bind(&self.address).unwrap());
    }

    /// Wakes the thread that waits for connections.
    fn wake(&self) {
        let _ = TcpStream::connect(&self.address);
    }

    /// What happens from now on.
    pub fn plan(&self, plan: impl Fn(&Seen) -> Fault + Send + Sync + 'static) {
        *self.state.plan.lock().unwrap() = Planned::new(plan);
    }

    /// Bodies of all submits that passed, repetitions included.
    pub fn submits(&self) -> Vec<String> {
        self.state.submits.lock().unwrap().clone()
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Requests so far to which something happened.
    pub fn faults(&self) -> u64 {
        self.state.faults.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Release);
        self.wake();
    }
}

fn serve(client: TcpStream, state: &State) -> std::io::Result<()> {
    client.set_read_timeout(Some(WAIT_MAX))?;
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let mut upstream = None;
    while let Some(request) = Message::read(&mut client)? {
        if state.closed.load(Ordering::Acquire) {
            break;
        }
        let seen = see(&request, state);
        let fault = {
            let plan = state.plan.lock().unwrap();
            (plan.plan)(&seen)
        };
        if !matches!(fault, Fault::Pass) {
            state.faults.fetch_add(1, Ordering::Relaxed);
        }
        if !act(&fault, &seen, &request, &mut client, &mut upstream, state)? {
            break;
        }
    }
    // Closing with unread bytes would reset the connection and take the answer with it.
    client.get_mut().shutdown(Shutdown::Both)
}

fn see(request: &Message, state: &State) -> Seen {
    let mut words = request.head[0].split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let key = (method.to_owned(), path.to_owned());
    let nth = {
        let mut plan = state.plan.lock().unwrap();
        let count = plan.seen.entry(key.clone()).or_default();
        *count += 1;
        *count - 1
    };
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let seen = Seen {
        method: key.0,
        path: key.1,
        body,
        nth,
    };
    if seen.is_submit() {
        state.submits.lock().unwrap().push(seen.body.clone());
    }
    seen
}
