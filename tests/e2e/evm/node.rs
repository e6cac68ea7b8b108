//! A node: a chain behind an HTTP server that makes a block a second, and that can answer anything.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::chain::Chain;
use super::rpc;
use crate::support::clock::Since;
use crate::support::ports;

/// How often it is seen whether a block is due.
const LOOK: Duration = Duration::from_millis(25);

/// What a node answers instead of the truth.
#[derive(Clone, Debug)]
pub enum Bad {
    /// A page of a proxy, with this status.
    Html(u16),
    /// To another place.
    Redirect,
    /// A body without an end.
    Endless,
    /// The number of another request.
    WrongId,
    /// Half of the answer.
    Cut,
    /// The connection ends without an answer.
    Closed,
    /// No answer at all.
    Silent,
    /// A JSON-RPC error, without doing what was asked.
    Refuses(i64, &'static str),
    /// A JSON-RPC error.
    Error(i64, &'static str),
    /// This result, whatever was asked.
    Result(Value),
    /// A body that is not JSON, with its content type.
    Garbage,
}

/// Changes a true result; the parameters of the request are given.
type Alteration = Arc<dyn Fn(&[Value], Value) -> Value + Send + Sync>;

struct Shared {
    /// Several nodes may follow the same.
    chain: Arc<Mutex<Chain>>,
    /// How many blocks it is behind.
    lag: u64,
    bad: Vec<(Option<&'static str>, Bad)>,
    alterations: Vec<(&'static str, Alteration)>,
    is_listening: bool,
    /// Methods in the order of their requests.
    asked: Vec<String>,
}

/// A running node.
pub struct Node {
    shared: Arc<Mutex<Shared>>,
    port: u16,
    /// The thread that accepts connections, while it listens.
    listens: Mutex<Option<JoinHandle<()>>>,
}

impl Node {
    pub fn start(chain: Chain) -> Self {
        let chain = Arc::new(Mutex::new(chain));
        make_blocks(&chain);
        Self::of(chain)
    }

    /// Another node of the same chain.
    pub fn beside(other: &Self) -> Self {
        Self::of(other.follows())
    }

    fn of(chain: Arc<Mutex<Chain>>) -> Self {
        let listener = ports::listener();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Mutex::new(Shared {
            chain,
            lag: 0,
            bad: Vec::new(),
            alterations: Vec::new(),
            is_listening: true,
            asked: Vec::new(),
        }));
        let listens = serve(listener, Arc::clone(&shared));
        Self {
            shared,
            port,
            listens: Mutex::new(Some(listens)),
        }
    }

    fn follows(&self) -> Arc<Mutex<Chain>> {
        Arc::clone(&self.shared().chain)
    }

    /// Follows the chain of another node.
    pub fn rejoins(&self, other: &Self) {
        let chain = other.follows();
        self.shared().chain = chain;
    }

    /// Follows a chain of its own from now on, whose newest `depth` blocks are others.
    pub fn departs(&self, depth: u64) {
        let mut chain = self.chain(|chain| chain.clone());
        chain.fork(depth);
        let chain = Arc::new(Mutex::new(chain));
        make_blocks(&chain);
        self.shared().chain = chain;
    }

    /// Is so many blocks behind from now on. What it is sent reaches the chain.
    pub fn lags(&self, blocks: u64) {
        self.shared().lag = blocks;
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/secret-of-the-provider", self.port)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    /// Reads or changes the chain.
    pub fn chain<T>(&self, of: impl FnOnce(&mut Chain) -> T) -> T {
        of(&mut self.follows().lock().unwrap())
    }

    /// Answers every request, or those of one method, like this from now on.
    pub fn answers(&self, method: Option<&'static str>, bad: Bad) {
        self.shared().bad.push((method, bad));
    }

    /// Changes the results of a method from now on.
    pub fn alters(
        &self,
        method: &'static str,
        alter: impl Fn(&[Value], Value) -> Value + Send + Sync + 'static,
    ) {
        self.shared().alterations.push((method, Arc::new(alter)));
    }

    /// The truth again.
    pub fn recovers(&self) {
        let mut shared = self.shared();
        shared.lag = 0;
        shared.bad.clear();
        shared.alterations.clear();
    }

    /// Requests so far of a method.
    pub fn asked(&self, method: &str) -> usize {
        let shared = self.shared();
        shared.asked.iter().filter(|asked| *asked == method).count()
    }

    /// Nothing listens at its address any more.
    pub fn closes(&self) {
        let listens = self.listens.lock().unwrap().take();
        if let Some(thread) = listens {
            self.stop(thread);
        }
    }

    /// Listens again.
    pub fn opens(&self) {
        let mut listens = self.listens.lock().unwrap();
        if listens.is_none() {
            let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
            self.shared().is_listening = true;
            *listens = Some(serve(listener, Arc::clone(&self.shared)));
        }
    }

    /// Returns when the port is closed.
    fn stop(&self, thread: JoinHandle<()>) {
        self.shared().is_listening = false;
        // The listener waits for a connection.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        let _ = thread.join();
    }
}

/// A block for every second that passes, of that second, as long as a node follows the chain.
fn make_blocks(chain: &Arc<Mutex<Chain>>) {
    let first_s = chain.lock().unwrap().latest().timestamp_s;
    let chain = Arc::downgrade(chain);
    std::thread::spawn(move || {
        let begun = Since::now();
        while let Some(chain) = chain.upgrade() {
            let now_s = first_s + begun.elapsed().as_secs();
            {
                let mut chain = chain.lock().unwrap();
                if !chain.is_stalled && chain.latest().timestamp_s < now_s {
                    chain.mine(now_s);
                }
            }
            drop(chain);
            std::thread::sleep(LOOK);
        }
    });
}

impl Drop for Node {
    fn drop(&mut self) {
        self.closes();
    }
}

fn serve(listener: TcpListener, shared: Arc<Mutex<Shared>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if !shared.lock().unwrap().is_listening {
                return;
            }
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || converse(stream, &shared));
        }
    })
}

/// Answers the requests of a connection; nothing when it ends.
fn converse(stream: TcpStream, shared: &Mutex<Shared>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let body = request(&mut reader)?;
        let asked: Value = serde_json::from_slice(&body).ok()?;
        let method = asked["method"].as_str()?.to_owned();
        let params = asked["params"].as_array()?.clone();
        let (bad, body) = {
            let mut shared = shared.lock().unwrap();
            if !shared.is_listening {
                return None;
            }
            shared.asked.push(method.clone());
            let is_of = |of: Option<&str>| of.is_none_or(|of| of == method);
            let bad = shared.bad.iter().find(|(of, _)| is_of(*of));
            let bad = bad.map(|(_, bad)| bad.clone());
            let result = if let Some(Bad::Refuses(code, text)) = &bad {
                Err((*code, (*text).to_owned()))
            } else {
                let mut chain = shared.chain.lock().unwrap();
                match shared.lag {
                    lag if lag > 0 && method != "eth_sendRawTransaction" => {
                        rpc::answer(&mut chain.behind(lag), &method, &params)
                    }
                    _ => rpc::answer(&mut chain, &method, &params),
                }
            };
            let alterations = shared.alterations.iter().filter(|(of, _)| *of == method);
            let result = result.map(|result| {
                alterations.fold(result, |result, (_, alter)| alter(&params, result))
            });
            let answer = match (&bad, result) {
                (Some(Bad::Result(result)), _) => json!({"result": result}),
                (Some(Bad::Error(code, text)), _) => {
                    json!({"error": {"code": code, "message": text}})
                }
                (_, Ok(result)) => json!({"result": result}),
                (_, Err((code, text))) => json!({"error": {"code": code, "message": text}}),
            };
            let mut answer = answer;
            answer["jsonrpc"] = "2.0".into();
            answer["id"] = match bad {
                Some(Bad::WrongId) => (asked["id"].as_u64()? + 1).into(),
                _ => asked["id"].clone(),
            };
            (bad, answer.to_string())
        };
        let json = "application/json";
        match bad {
            Some(Bad::Html(status)) => {
                let page = "<html><body>the provider is being maintained</body></html>";
                respond(&mut stream, status, "text/html", "", page)?;
            }
            Some(Bad::Redirect) => {
                respond(
                    &mut stream,
                    302,
                    json,
                    "Location: http://127.0.0.1:1/\r\n",
                    &body,
                )?;
            }
            Some(Bad::Garbage) => respond(&mut stream, 200, json, "", "{\"jsonrpc\":")?,
            Some(Bad::Endless) => {
                let head = "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
                stream.write_all(head.as_bytes()).ok()?;
                let chunk = [
                    b"10000\r\n".to_vec(),
                    vec![b' '; 0x1_0000],
                    b"\r\n".to_vec(),
                ]
                .concat();
                loop {
                    stream.write_all(&chunk).ok()?;
                }
            }
            Some(Bad::Cut) => {
                let head = format!(
                    "HTTP/1.1 200 X\r\nContent-Type: {json}\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(head.as_bytes()).ok()?;
                stream.write_all(&body.as_bytes()[..body.len() / 2]).ok()?;
                return None;
            }
            Some(Bad::Closed) => return None,
            Some(Bad::Silent) => {
                // Until the client ends the connection.
                let _ = reader.read(&mut [0]);
                return None;
            }
            Some(Bad::WrongId | Bad::Error(..) | Bad::Refuses(..) | Bad::Result(_)) | None => {
                respond(&mut stream, 200, json, "", &body)?;
            }
        }
    }
}

fn respond(
    stream: &mut TcpStream,
    status: u16,
    kind: &str,
    headers: &str,
    body: &str,
) -> Option<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all((head + body).as_bytes()).ok()
}

/// The body of the next request.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(stated) = line.strip_prefix("content-length: ") {
            length = stated.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
