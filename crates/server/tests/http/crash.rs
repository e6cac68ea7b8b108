//! Kills the exchange with SIGKILL a hundred times under the load of signed clients. After every restart the books add
//! up, and everything acknowledged or shown still holds.
//!
//! A killed process loses nothing that it has written, synced or not. That syncs come before answers is tested with the
//! simulated disk, and with recorded calls (`trace`).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use cambist_server::{DataFolder, Server, api_key_digest, verify};
use cambist_signing::{Address, SecretKey, request_signature};
use cambist_venue::{AccountId, Caller, Compat, Operator, PublicKey, Random, Request, Venue};

use super::support::{BASE, Call, Connection, Customer, ONE, QUOTE, UNIT, Want, config, venue};

/// Environment variable: the data folder of the child process.
pub const DATA: &str = "CAMBIST_TEST_DATA";

const KILLS: u64 = 100;
const CLIENTS: u8 = 4;

/// The child process; does nothing in an ordinary test run.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(DATA) else {
        return;
    };
    // The child ends with its parent.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let data = DataFolder::take(Path::new(&folder))
        .unwrap()
        .with_segment_bytes(64 * 4_096);
    let durable = data
        .recover()
        .unwrap()
        .unwrap_or_else(|| data.begin(populated(), Vec::new()).unwrap());
    durable.venue().audit().unwrap();
    let mut config = config();
    config.audit_every_request = false;
    let server = Server::bind_durable(&config, durable).unwrap();
    println!("\nlistening {}", server.local_addr());
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(server.run(std::future::pending()))
        .unwrap();
}

/// The child's exchange, with accounts.
pub fn populated() -> Venue {
    let mut venue = venue(Compat::Both);
    for number in 1..=CLIENTS {
        let key = secret(number).public();
        let account = AccountId(10_000 + u32::from(number));
        let mut operate = |input| {
            venue
                .handle(
                    cambist_core::VenueTime(0),
                    &Caller::Operator,
                    &Request::Operator(input),
                )
                .unwrap();
        };
        operate(Operator::CreateAccount {
            id: Some(account),
            owner: [number; 20],
            public_key: PublicKey {
                x: key.x.to_be_bytes(),
                y: key.y.to_be_bytes(),
            },
            api_key: Some(api_key_digest(&format!("key-of-{number}"))),
            internal: false,
        });
        for (token, amount) in [(BASE, 1_000 * ONE), (QUOTE, 1_000_000 * UNIT)] {
            operate(Operator::Deposit {
                account,
                token,
                amount,
            });
        }
    }
    venue
}

fn secret(number: u8) -> SecretKey {
    SecretKey::from_hex(&format!("0x{number:x}")).unwrap()
}

/// A client of the child's exchange.
pub fn customer(number: u8) -> Customer {
    Customer {
        account: AccountId(10_000 + u32::from(number)),
        owner: Address([number; 20]),
        secret: secret(number),
        api_key: format!("key-of-{number}"),
        next_storage_id: 0,
    }
}

/// A running child; killed when dropped.
pub struct Running {
    process: Child,
    pub address: SocketAddr,
}

impl Running {
    /// Starts a child with this data folder.
    pub fn start(folder: &Path) -> Self {
        Self::spawn(Self::command(folder))
    }

    /// The command of the child process.
    pub fn command(folder: &Path) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["crash::child", "--exact", "--nocapture"])
            .env(DATA, folder);
        command
    }

    /// Starts the child process.
    pub fn spawn(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the child ended").unwrap();
            if let Some(address) = line.strip_prefix("listening ") {
                break address.parse().unwrap();
            }
        };
        Self { process, address }
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops it by closing its standard input, and waits.
    pub fn close(mut self) {
        drop(self.process.stdin.take());
        self.process.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A temporary folder, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Kept for inspection if the test failed.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A client and everything that the exchange has answered to it.
struct Client {
    customer: Customer,
    random: Random,
    /// Acknowledged orders by hash, with their final state if it is known.
    orders: BTreeMap<String, Option<String>>,
    /// Orders that were not checked since the last start.
    fresh: Vec<String>,
    depth_version: u64,
    listed: u64,
}

impl Client {
    fn new(number: u8) -> Self {
        Self {
            customer: customer(number),
            random: Random::new(u64::from(number)),
            orders: BTreeMap::new(),
            fresh: Vec::new(),
            depth_version: 0,
            listed: 0,
        }
    }

    /// Sends one request; `None` if the exchange has stopped.
    fn act(&mut self, connection: &mut Connection, base_url: &str) -> Option<()> {
        match self.random.below(10) {
            0 => self.look(connection),
            1 | 2 if !self.orders.is_empty() => {
                let at = self.random.below(self.orders.len() as u64);
                let hash = self.orders.keys().nth(usize::try_from(at).unwrap());
                let hash = hash.unwrap().clone();
                let reply = connection.try_ask(&self.cancel(base_url, &hash))?;
                if reply.status == 200 {
                    assert_eq!(reply.body["status"], "cancelled", "{}", reply.text);
                    self.orders.insert(hash.clone(), Some("cancelled".into()));
                    self.fresh.push(hash);
                }
                Some(())
            }
            _ => {
                let want = if self.random.chance(1, 2) {
                    Want::Buy
                } else {
                    Want::Sell
                };
                let cents = u128::from(self.random.between(99_990, 100_010));
                let submit = self.customer.submit(want, cents, 1);
                let reply = connection.try_ask(&submit)?;
                if reply.status == 200 {
                    let hash = reply.body["hash"].as_str().unwrap().to_owned();
                    self.orders.insert(hash.clone(), None);
                    self.fresh.push(hash);
                }
                Some(())
            }
        }
    }

    /// Reads depth and list; neither may go back.
    fn look(&mut self, connection: &mut Connection) -> Option<()> {
        let depth = self
            .customer
            .get("/api/v3/depth?market=AAA-QQQ&level=0&limit=5");
        let version = connection.try_ask(&depth)?.good()["version"]
            .as_u64()
            .unwrap();
        assert!(
            version >= self.depth_version,
            "the version of the depth decreased"
        );
        self.depth_version = version;
        let list = self
            .customer
            .get("/api/v3/orders?accountId={account}&limit=1");
        let listed = connection.try_ask(&list)?.good()["totalNum"]
            .as_u64()
            .unwrap();
        assert!(listed >= self.listed, "a listed order is missing");
        self.listed = listed;
        Some(())
    }

    /// After a restart: everything acknowledged exists, and final states are unchanged.
    fn check(&mut self, connection: &mut Connection, everything: bool) {
        self.look(connection).unwrap();
        let hashes: Vec<String> = if everything {
            self.orders.keys().cloned().collect()
        } else {
            std::mem::take(&mut self.fresh)
        };
        for hash in hashes {
            let get = format!("/api/v3/order?accountId={{account}}&orderHash={hash}");
            let reply = connection.try_ask(&self.customer.get(&get)).unwrap();
            let status = reply.good()["status"].as_str().unwrap().to_owned();
            let known = self.orders.get_mut(&hash).unwrap();
            if let Some(known) = known {
                assert_eq!(*known, status, "{hash}");
            }
            if status == "processed" || status == "cancelled" {
                *known = Some(status);
            }
        }
    }

    fn cancel(&self, base_url: &str, hash: &str) -> Call {
        let account = self.customer.account.0.to_string();
        let parameters = [("accountId", account.as_str()), ("orderHash", hash)];
        let text = request_signature::sdk_form("DELETE", base_url, "/api/v3/order", &parameters);
        let target = format!("/api/v3/order?accountId={account}&orderHash={hash}");
        self.customer
            .with_key(Call::new("DELETE", target))
            .header("X-API-SIG", self.customer.sign_text(&text))
    }
}

/// Lets all clients send requests until this many were answered, then kills the exchange.
fn load_and_kill(clients: &mut [Client], running: Running, answers: u64) {
    let address = running.address;
    let answered = AtomicU64::new(0);
    let (enough, signal) = (Mutex::new(false), Condvar::new());
    // All are connected before the first asks, because the last answer may come before the last client.
    let connected: Vec<_> = clients
        .iter_mut()
        .map(|client| (client, Connection::open(address)))
        .collect();
    let (answered, enough, signal) = (&answered, &enough, &signal);
    std::thread::scope(|scope| {
        for (client, mut connection) in connected {
            scope.spawn(move || {
                let base_url = format!("http://{address}");
                while client.act(&mut connection, &base_url).is_some() {
                    if answered.fetch_add(1, Ordering::Relaxed) + 1 == answers {
                        *enough.lock().unwrap() = true;
                        signal.notify_all();
                    }
                }
            });
        }
        let mut reached = enough.lock().unwrap();
        while !*reached {
            reached = signal.wait(reached).unwrap();
        }
        drop(reached);
        running.kill();
    });
}

#[test]
fn nothing_acknowledged_or_shown_is_lost_by_a_hundred_kills_under_load() {
    let folder = Folder::new("crash");
    let mut clients: Vec<_> = (1..=CLIENTS).map(Client::new).collect();
    let mut random = Random::new(11);
    let mut inputs = 0;
    for kill in 0..KILLS {
        let running = Running::start(folder.path());
        let mut connection = Connection::open(running.address);
        for client in &mut clients {
            client.check(&mut connection, kill % 25 == 0);
        }
        drop(connection);
        load_and_kill(&mut clients, running, random.between(10, 60));
        let facts = verify(folder.path()).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        assert!(facts.recovery.position >= inputs, "inputs went back");
        inputs = facts.recovery.position;
    }
    let running = Running::start(folder.path());
    let mut connection = Connection::open(running.address);
    for client in &mut clients {
        client.check(&mut connection, true);
    }
    drop(connection);
    running.close();
    let orders: usize = clients.iter().map(|client| client.orders.len()).sum();
    println!("{KILLS} kills, {orders} orders acknowledged, {inputs} inputs");
    assert!(orders > 1_000);
    // Snapshots were made meanwhile and old segments were removed.
    let facts = verify(folder.path()).unwrap();
    assert!(facts.recovery.snapshot_position > 0, "{facts:?}");
}
