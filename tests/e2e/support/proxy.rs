//! A faulty network between daemon and exchange: it stands in the middle, remembers every submit, and
//! does to a chosen request what networks, gateways and caches do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Nothing in here waits longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request as it came by.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub body: String,
    /// How many to this method and path came before, since the plan was made.
    pub nth: u64,
}

impl Seen {
    pub fn is_submit(&self) -> bool {
        self.method == "POST" && self.path == "/api/v3/order"
    }

    pub fn is_cancel(&self) -> bool {
        self.method == "DELETE"
    }
}

/// Called by the proxy at a moment of a request's life; the request stands still meanwhile.
pub type Hook = Arc<dyn Fn() + Send + Sync>;

/// What becomes of a request.
#[derive(Clone)]
pub enum Fault {
    /// Nothing bad.
    Pass,
    /// As `Pass`, and the hook is called when the request has arrived, before it is handed over.
    OnArrival(Hook),
    /// As `Pass`, and the hook is called when the exchange has answered, before the answer is passed on.
    OnAnswer(Hook),
    /// Never handed over; the connection is closed.
    LoseRequest,
    /// Never handed over; silence.
    HoldRequest,
    /// Handed over; the connection is closed instead of an answer.
    LoseAnswer,
    /// Handed over; silence instead of an answer.
    HoldAnswer,
    /// Closed at once, and handed over only after this.
    Late(Duration),
    /// Handed over twice; the second answer is passed on.
    Twice,
    /// Handed over; half of the answer's body, then the end of the connection.
    Truncate,
    /// Handed over; one byte of the answer at a time.
    Drip,
    /// Handed over; the answer's body is changed.
    Mangle(fn(&str) -> String),
    /// Handed over or not; these bytes are the answer.
    Instead { handed_over: bool, answer: Vec<u8> },
    /// Handed over; a body without end is the answer.
    Endless,
}

type Plan = Box<dyn Fn(&Seen) -> Fault + Send + Sync>;

/// A plan, and how many requests of each kind have come since it was made.
struct Planned {
    plan: Plan,
    seen: BTreeMap<(String, String), u64>,
}

impl Planned {
    fn new(plan: impl Fn(&Seen) -> Fault + Send + Sync + 'static) -> Self {
        Self {
            plan: Box::new(plan),
            seen: BTreeMap::new(),
        }
    }
}

struct State {
    upstream: String,
    plan: Mutex<Planned>,
    submits: Mutex<Vec<String>>,
    connections: AtomicU64,
    faults: AtomicU64,
    stopped: AtomicBool,
}

pub struct Proxy {
    pub url: String,
    address: String,
    state: Arc<State>,
}

impl Proxy {
    /// A clean line to `upstream`.
    pub fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            upstream: upstream.to_owned(),
            plan: Mutex::new(Planned::new(|_| Fault::Pass)),
            submits: Mutex::default(),
            connections: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::Acquire) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else {
                    continue;
                };
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self {
            url: format!("http://{address}"),
            address,
            state,
        }
    }

    /// What happens from now on.
    pub fn plan(&self, plan: impl Fn(&Seen) -> Fault + Send + Sync + 'static) {
        *self.state.plan.lock().unwrap() = Planned::new(plan);
    }

    /// Bodies of all submits that came by, repetitions included.
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
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(&self.address);
    }
}

fn serve(client: TcpStream, state: &State) -> std::io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    let mut upstream = None;
    while let Some(request) = read(&mut client)? {
        let seen = see(&request, state);
        let fault = {
            let plan = state.plan.lock().unwrap();
            (plan.plan)(&seen)
        };
        if !matches!(fault, Fault::Pass) {
            state.faults.fetch_add(1, Ordering::Relaxed);
        }
        if !act(&fault, &request, &mut client, &mut upstream, state)? {
            // Closing with unread bytes would reset the connection and take the answer with it.
            return client.get_mut().shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

/// Does it; false ends the connection.
fn act(
    fault: &Fault,
    request: &Message,
    client: &mut BufReader<TcpStream>,
    upstream: &mut Option<BufReader<TcpStream>>,
    state: &State,
) -> std::io::Result<bool> {
    let mut ask = || ask(request, upstream, &state.upstream);
    match fault {
        Fault::Pass => client.get_mut().write_all(&ask()?.bytes())?,
        Fault::OnArrival(hook) => {
            hook();
            let answer = ask()?;
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::OnAnswer(hook) => {
            let answer = ask()?;
            hook();
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::LoseRequest => return Ok(false),
        Fault::HoldRequest => return silence(client),
        Fault::LoseAnswer => {
            ask()?;
            return Ok(false);
        }
        Fault::HoldAnswer => {
            ask()?;
            return silence(client);
        }
        Fault::Late(pause) => {
            client.get_mut().shutdown(Shutdown::Both)?;
            std::thread::sleep(*pause);
            ask()?;
            return Ok(false);
        }
        Fault::Twice => {
            ask()?;
            let second = ask()?;
            client.get_mut().write_all(&second.bytes())?;
        }
        Fault::Truncate => {
            let bytes = ask()?.bytes();
            let head = bytes
                .windows(4)
                .position(|four| four == b"\r\n\r\n")
                .unwrap_or(0)
                + 4;
            client
                .get_mut()
                .write_all(&bytes[..head + (bytes.len() - head) / 2])?;
            return Ok(false);
        }
        Fault::Drip => {
            for byte in ask()?.bytes() {
                client.get_mut().write_all(&[byte])?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Fault::Mangle(change) => {
            let mut answer = ask()?;
            answer.body = change(&String::from_utf8_lossy(&answer.body)).into_bytes();
            answer.set_length();
            client.get_mut().write_all(&answer.bytes())?;
        }
        Fault::Instead {
            handed_over,
            answer,
        } => {
            if *handed_over {
                ask()?;
            }
            client.get_mut().write_all(answer)?;
            return Ok(false);
        }
        Fault::Endless => {
            ask()?;
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n[";
            client.get_mut().write_all(head)?;
            let spaces = [b' '; 0x1000];
            while client.get_mut().write_all(&spaces).is_ok() {}
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says nothing until the other side has gone away.
fn silence(client: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    client.read(&mut [0]).map(|_| false)
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

/// A request or an answer.
struct Message {
    head: Vec<String>,
    body: Vec<u8>,
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.join("\r\n").into_bytes();
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    fn set_length(&mut self) {
        let length = format!("content-length: {}", self.body.len());
        self.head
            .retain(|line| !line.to_ascii_lowercase().starts_with("content-length:"));
        self.head.push(length);
    }
}

/// Hands a request over and reads the answer. A kept connection that the exchange has closed is
/// replaced before anything was sent on it, or the caller sees an error.
fn ask(
    request: &Message,
    kept: &mut Option<BufReader<TcpStream>>,
    address: &str,
) -> std::io::Result<Message> {
    let mut upstream = if let Some(upstream) = kept.take() {
        upstream
    } else {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        BufReader::new(stream)
    };
    upstream.get_mut().write_all(&request.bytes())?;
    let answer = read(&mut upstream)?;
    *kept = Some(upstream);
    answer.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

/// The next message of a connection; nothing when the connection has ended.
fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Message>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        head.push(line.to_owned());
    }
    if head.is_empty() {
        return Ok(None);
    }
    let length = head.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    Ok(Some(Message { head, body }))
}
