//! An exchange of a test's own on a free port, and configurations of daemons that trade on it.
//!
//! Both start with the example files; a test changes only what it needs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cambist_core::pool::PoolTransactionReport;
use toml::{Table, Value};

use super::http::body;
use super::process::run;
use super::{Books, Folder, Program, until};

const VENUE: &str = include_str!("../../../config/venue.toml");
const DAEMON: &str = include_str!("../../../config/demo.toml");

/// Processes have this long to be ready on a busy machine.
pub const READY: Duration = Duration::from_secs(30);

/// Changes keys of a configuration by their dotted path; numbers select from arrays.
pub trait Edit {
    fn put(&mut self, path: &str, value: impl Into<Value>) -> &mut Self;
}

impl Edit for Table {
    fn put(&mut self, path: &str, value: impl Into<Value>) -> &mut Self {
        let (parents, key) = path.rsplit_once('.').unwrap_or(("", path));
        let mut at = &mut *self;
        let mut steps = parents
            .split('.')
            .filter(|step| !step.is_empty())
            .peekable();
        while let Some(step) = steps.next() {
            let index = steps.peek().and_then(|next| next.parse::<usize>().ok());
            at = match index {
                Some(index) => {
                    steps.next();
                    at[step].as_array_mut().unwrap()[index]
                        .as_table_mut()
                        .unwrap()
                }
                None => at[step].as_table_mut().unwrap(),
            };
        }
        at.insert(key.to_owned(), value.into());
        self
    }
}

pub struct Stage {
    pub venue: Program,
    /// `host:port` of the exchange.
    pub address: String,
    // Last, so that the processes end before their folder is removed.
    pub folder: Folder,
}

impl Stage {
    /// As `open`, and the exchange keeps everything, so that it can be audited.
    pub fn open_kept(name: &str, edit: impl FnOnce(&mut Table)) -> Self {
        Self::open(name, |file| {
            let mut data = Table::new();
            data.insert("dir".to_owned(), super::audit::DATA.into());
            file.insert("data".to_owned(), data.into());
            edit(file);
        })
    }

    /// Starts an exchange with generous rate limits.
    pub fn open(name: &str, edit: impl FnOnce(&mut Table)) -> Self {
        let folder = Folder::new(name);
        let mut file: Table = VENUE.parse().unwrap();
        file.put("listen.address", super::ports::address().to_string())
            .put("maker.keys_dir", "keys")
            .put("limits.endpoint_per_s", 10_000)
            .put("limits.endpoint_burst", 10_000);
        edit(&mut file);
        std::fs::write(folder.path().join("venue.toml"), file.to_string()).unwrap();
        let (venue, address) = start_venue(&folder);
        Self {
            venue,
            address,
            folder,
        }
    }

    /// Kills the exchange and starts it again, at the same address.
    pub fn restart_venue(&mut self) {
        self.venue.kill();
        std::fs::remove_file(self.path("keys/venue.address")).unwrap();
        let (venue, address) = start_venue(&self.folder);
        assert_eq!(address, self.address);
        self.venue = venue;
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a daemon's configuration whose state is in folders of this name.
    pub fn daemon(&self, name: &str, base_url: &str, edit: impl FnOnce(&mut Table)) -> PathBuf {
        let mut file: Table = DAEMON.parse().unwrap();
        file.put("venue.base_url", base_url)
            .put("keys.api_key_file", "keys/api_key")
            .put("keys.eddsa_key_file", "keys/eddsa_key")
            .put("store.dir", format!("{name}-state"))
            .put("tape.dir", format!("{name}-tape"))
            .put("metrics.listen", "127.0.0.1:0");
        edit(&mut file);
        let path = self.path(&format!("{name}.toml"));
        std::fs::write(&path, file.to_string()).unwrap();
        path
    }

    /// Starts a daemon; it may not be ready yet.
    pub fn run(&self, name: &str) -> Program {
        let config = self.path(&format!("{name}.toml")).display().to_string();
        // A file of an earlier run would name a port that is not served any more.
        let _ = std::fs::remove_file(self.metrics_file(name));
        let args = ["run", "--json", "--config", &config, "--until-stdin-closes"];
        Program::start(self.folder.path(), name, &args)
    }

    /// A command to the daemon `daemon`: exit code, printed object, stderr. Separate files, so that one object is read.
    #[track_caller]
    pub fn command(&self, line: &str) -> (i32, serde_json::Value, String) {
        let (code, out, log) = self.prose(&format!("{line} --json"));
        let object = serde_json::from_str(&out).unwrap_or(serde_json::Value::Null);
        (code, object, log)
    }

    /// As `command`, with the text output instead of JSON.
    pub fn prose(&self, line: &str) -> (i32, String, String) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let config = self.path("daemon.toml").display().to_string();
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--config", &config]);
        run(
            self.folder.path(),
            &format!("command-{number}"),
            &args,
            READY,
        )
    }

    fn metrics_file(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}-state")).join("metrics.address")
    }

    /// Where the daemon's pages are, once it listens; its start may not be over.
    #[track_caller]
    pub fn pages(&self, name: &str, daemon: &mut Program) -> String {
        let file = self.metrics_file(name);
        until(READY, "the daemon", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            whole_line(&file)
        })
    }

    /// Where the daemon's metrics are, once it has begun to trade.
    #[track_caller]
    pub fn metrics(&self, name: &str, daemon: &mut Program) -> String {
        let address = self.pages(name, daemon);
        until(READY, "the end of the start", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let page: serde_json::Value = serde_json::from_str(&body(&address, "/status")?).ok()?;
            (page["state"] != "starting").then_some(())
        });
        address
    }

    /// The exchange's own books for the daemon's account, read from the exchange.
    pub fn books(&self) -> Books {
        Books::ask(&self.url(), &self.path("keys"))
    }

    /// Every join and exit of the account, as the exchange lists them.
    pub fn moves(&self) -> Vec<PoolTransactionReport> {
        super::books::moves(&self.url(), &self.path("keys"))
    }

    /// Ends the exchange; its own audit of all balances decides.
    #[track_caller]
    pub fn close(mut self) {
        let code = self.venue.drain(Duration::from_secs(20));
        assert_eq!(code, 0, "the exchange's books: {}", self.venue.last_words());
    }
}

/// Starts the exchange of a folder's file, and returns its address.
fn start_venue(folder: &Folder) -> (Program, String) {
    let config = folder.path().join("venue.toml").display().to_string();
    let args = [
        "venue",
        "--json",
        "--config",
        &config,
        "--until-stdin-closes",
    ];
    let mut venue = Program::start(folder.path(), "venue", &args);
    let address_file = folder.path().join("keys/venue.address");
    let address = until(READY, "the exchange", || {
        assert!(venue.ended().is_none(), "{}", venue.last_words());
        whole_line(&address_file)
    });
    (venue, address)
}

/// The line of an address file, once it is whole.
fn whole_line(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.strip_suffix('\n').map(str::to_owned)
}

/// A daemon that does in one second what others do in ten: short lives, quick polls, a large budget, and quotes that
/// follow every tick.
pub fn quick(file: &mut Table) {
    file.put("venue.request_timeout_ms", 700)
        .put("orders.ttl_s", 5)
        .put("orders.refresh_before_s", 2)
        .put("orders.grace_s", 1)
        .put("orders.resend_margin_ms", 800)
        .put("orders.resend_after_ms", 150)
        .put("poll.depth_ms", 60)
        .put("poll.orders_ms", 120)
        .put("poll.balances_ms", 150)
        .put("poll.depth_age_max_ms", 2_000)
        .put("poll.balances_age_max_ms", 3_000)
        .put("poll.orders_age_max_ms", 5_000)
        .put("poll.orders_page", 500)
        .put("budget.per_s", 1_000)
        .put("budget.burst", 300)
        .put("budget.cancel_reserve", 50)
        .put("budget.endpoint_per_s", 300)
        .put("budget.endpoint_burst", 100)
        .put("budget.penalty_ms", 200)
        .put("shutdown.deadline_s", 20)
        .put("market.0.open_orders_max", 8)
        .put("market.0.price_tolerance_bps", 0);
    // The volatility of these traders must not pause the market; count limits follow the budget.
    let risk: Table = toml::from_str(
        "duplicate_ms = 30\nmove_bps = 10000\nstreak_fills = 0\npause_s = 1\npauses_per_day = 60\n",
    )
    .unwrap();
    file.insert("risk".to_owned(), Value::Table(risk));
    let ladder: Table = toml::from_str(
        "name = 'ladder'\n[params]\nbid_spread_bps = 6\nask_spread_bps = 6\norder_levels = 2
         order_level_spread_bps = 4\norder_amount = 0.2\norder_refresh_tolerance_bps = 0
         filled_order_delay_ms = 0\n",
    )
    .unwrap();
    file.put("market.0.strategy", vec![Value::Table(ladder)]);
}

/// A quick daemon whose target is a tenth of its funds in the pool.
pub fn with_pool(file: &mut Table) {
    quick(file);
    let manager: Table = toml::from_str(
        "name = 'lp_manager'\n[params]\ntarget_share_bps = 1000\nenter_below_bps = 500
         leave_above_bps = 3000\ncool_down_s = 1\npause_above_bps = 100\n",
    )
    .unwrap();
    let market = file["market"].as_array_mut().unwrap()[0]
        .as_table_mut()
        .unwrap();
    let strategies = market["strategy"].as_array_mut().unwrap();
    strategies.retain(|strategy| strategy["name"].as_str() != Some("lp_manager"));
    strategies.push(manager.into());
    file.put("market.0.pool.poll_ms", 200);
}

/// Traders that never stop.
pub fn lively(file: &mut Table) {
    file.put("traders.0.volatility_centi_bps_per_sqrt_s", 2_000)
        .put("traders.0.noise_orders_per_minute", 120);
}
