//! A real exchange in this process, and daemons of the example file on it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cambist_daemon::config::Daemon;
use cambist_daemon::live::control_client;
use cambist_daemon::live::control_requests::RequestJson;
use cambist_daemon::live::daemon::{self, Run};
use cambist_exchange::config::Exchange;
use cambist_exchange::{keys, setup};
use cambist_server::{Server, ServerConfig};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use toml::Table;

const EXCHANGE: &str = include_str!("../../../../config/venue.toml");
const DAEMON: &str = include_str!("../../../../config/demo.toml");

/// What is waited for comes much sooner, also on a busy machine.
const LONG: Duration = Duration::from_mins(1);

/// Polls until there is a value.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "bounds a wait")]
pub fn until<T>(what: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(begun.elapsed() < LONG, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// An exchange with simulated traders, in memory.
pub struct Stage {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    folder: TempDir,
}

fn put(file: &mut Table, path: &str, value: impl Into<toml::Value>) {
    let (section, key) = path.split_once('.').unwrap();
    let section = file[section].as_table_mut().unwrap();
    section.insert(key.to_owned(), value.into());
}

impl Stage {
    pub fn open() -> Self {
        let folder = private_folder();
        let mut file: Table = EXCHANGE.parse().unwrap();
        put(&mut file, "listen.address", "127.0.0.1:0");
        put(&mut file, "maker.keys_dir", "keys");
        put(&mut file, "limits.endpoint_per_s", 10_000);
        put(&mut file, "limits.endpoint_burst", 10_000);
        let traders = file["traders"].as_array_mut().unwrap();
        let traders = traders[0].as_table_mut().unwrap();
        traders.insert("volatility_centi_bps_per_sqrt_s".to_owned(), 2_000.into());
        traders.insert("noise_orders_per_minute".to_owned(), 240.into());
        let path = folder.path().join("venue.toml");
        std::fs::write(&path, file.to_string()).unwrap();
        let exchange = Exchange::load(&path).unwrap();
        let maker = keys::load_or_make(&exchange.maker.keys_dir).unwrap();
        let (venue, agents) = setup::venue(&exchange, &maker).unwrap();
        let config = ServerConfig {
            rates: exchange.bounds.rates,
            ..ServerConfig::new(exchange.listen.address)
        };
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let account = cambist_venue::AccountId(exchange.maker.account_id);
        let thread = std::thread::spawn(move || {
            runtime().block_on(async {
                let server = Server::bind(&config, venue, agents).unwrap();
                let handle = server.handle();
                handle.learn_api_key(account, &maker.api_key).unwrap();
                bound.send(server.local_addr()).unwrap();
                let end = async {
                    // A dropped sender means the same.
                    let _ = stopped.await;
                };
                server.run(end).await.unwrap();
                handle.audit().unwrap();
            });
        });
        Self {
            address: address.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
            folder,
        }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn tape(&self) -> PathBuf {
        self.folder.path().join("tape")
    }

    /// The configuration of a daemon that does in one second what others do in ten.
    pub fn daemon(&self, edit: impl FnOnce(&mut Table)) -> Daemon {
        let mut file: Table = DAEMON.parse().unwrap();
        put(
            &mut file,
            "venue.base_url",
            format!("http://{}", self.address),
        );
        put(&mut file, "keys.api_key_file", "keys/api_key");
        put(&mut file, "keys.eddsa_key_file", "keys/eddsa_key");
        put(&mut file, "store.dir", "state");
        put(&mut file, "tape.dir", "tape");
        put(&mut file, "metrics.listen", "127.0.0.1:0");
        for (path, value) in [
            ("orders.ttl_s", 5),
            ("orders.refresh_before_s", 2),
            ("orders.grace_s", 1),
            ("orders.resend_margin_ms", 800),
            ("orders.resend_after_ms", 150),
            ("poll.depth_ms", 60),
            ("poll.orders_ms", 120),
            ("poll.balances_ms", 150),
            ("poll.depth_age_max_ms", 4_000),
            ("poll.balances_age_max_ms", 6_000),
            ("poll.orders_age_max_ms", 9_000),
            ("poll.orders_page", 500),
            ("budget.per_s", 1_000),
            ("budget.burst", 300),
            ("budget.cancel_reserve", 50),
            ("budget.endpoint_per_s", 300),
            ("budget.endpoint_burst", 100),
        ] {
            put(&mut file, path, value);
        }
        put(&mut file, "budget.penalty_ms", 200);
        // The volatility of these traders must not pause the market; count limits follow the budget.
        let risk = "duplicate_ms = 30\nmove_bps = 10000\nstreak_fills = 0\npause_s = 1\npauses_per_day = 60\n";
        file.insert("risk".to_owned(), risk.parse::<Table>().unwrap().into());
        let ladder = "name = 'ladder'\n[params]\nbid_spread_bps = 6\nask_spread_bps = 6\norder_levels = 2\n\
                      order_level_spread_bps = 4\norder_amount = 0.2\norder_refresh_tolerance_bps = 0\n\
                      filled_order_delay_ms = 0\n";
        let market = file["market"].as_array_mut().unwrap()[0]
            .as_table_mut()
            .unwrap();
        let ladder = ladder.parse::<Table>().unwrap();
        let strategies = market["strategy"].as_array_mut().unwrap();
        strategies[0] = ladder.into();
        market.insert("open_orders_max".to_owned(), 8.into());
        market.insert("price_tolerance_bps".to_owned(), 0.into());
        edit(&mut file);
        let path = self.folder.path().join("daemon.toml");
        std::fs::write(&path, file.to_string()).unwrap();
        Daemon::load(&path).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop = None;
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// A daemon in a thread of its own.
pub struct Running {
    state: PathBuf,
    thread: JoinHandle<anyhow::Result<Run>>,
}

impl Running {
    pub fn start(daemon: Daemon) -> Self {
        let state = daemon.store.dir.clone();
        let thread = std::thread::spawn(move || {
            let runtime = runtime();
            let run = runtime.block_on(daemon::run(&daemon, None, false));
            runtime.shutdown_background();
            run
        });
        Self { state, thread }
    }

    /// The reply to a request; `None` if the daemon does not serve any.
    pub fn ask(&self, request: &RequestJson) -> Option<Value> {
        assert!(!self.thread.is_finished(), "the daemon has ended");
        if !self.state.exists() {
            return None;
        }
        control_client::ask(&self.state, request).unwrap()
    }

    /// Waits for the state that a status shows.
    pub fn until_active(&self) -> Value {
        until("the daemon is active", || {
            let status = self.ask(&RequestJson::Status)?;
            (status["state"] == "active").then_some(status)
        })
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Its result, once it has ended.
    pub fn end(self) -> anyhow::Result<Run> {
        until("the daemon's end", || {
            self.thread.is_finished().then_some(())
        });
        self.thread.join().unwrap()
    }
}

fn private_folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    builder.permissions(mode).tempdir().unwrap()
}
