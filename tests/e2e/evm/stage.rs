//! A node with a pool, the account's key, and a daemon that holds shares of it.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cambist_evm::{Address, EthKey, U256};
use serde_json::Value;
use toml::Table;

use super::chain::{CHAIN_ID, Chain};
use super::contracts::{FACTORY, PAIR, ROUTER, TOKENS, World};
use super::node::Node;
use crate::support::clock::within;
use crate::support::http::body;
use crate::support::process::run;
use crate::support::{Edit, Folder, Program, until};

/// Everything takes a few blocks of a second; the machine may be busy.
pub const SOON: Duration = Duration::from_mins(1);

/// The account's private key.
const KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

const EXAMPLE: &str = include_str!("../../../config/evm-pools.toml");

pub fn key() -> EthKey {
    EthKey::from_hex(KEY).unwrap()
}

pub fn account() -> Address {
    key().address()
}

pub struct Stage {
    pub node: Node,
    /// A second node of the same chain, for a daemon with two.
    pub second: Option<Node>,
    // Last, so that the processes end before their folder is removed.
    pub folder: Folder,
}

impl Stage {
    /// A node with a chain, and the files of a daemon that wants four tenths of its funds in the pool.
    pub fn open(name: &str) -> Self {
        Self::with(name, |_| {})
    }

    /// As `open`, with other keys of the daemon's file.
    pub fn with(name: &str, edit: impl FnOnce(&mut Table)) -> Self {
        let node = Node::start(Chain::new(World::new(account())));
        let folder = Folder::new(name);
        private(&folder.path().join("node"), &node.url());
        private(&folder.path().join("key"), KEY);
        let second = None;
        let stage = Self {
            node,
            second,
            folder,
        };
        stage.configure(edit);
        stage
    }

    /// As `with`, with two nodes of one chain.
    pub fn with_two(name: &str, edit: impl FnOnce(&mut Table)) -> Self {
        let mut stage = Self::with(name, |file| {
            file.put("venue.second_node_file", "second");
            edit(file);
        });
        let second = Node::beside(&stage.node);
        private(&stage.path("second"), &second.url());
        stage.second = Some(second);
        stage
    }

    /// The second node.
    pub fn second(&self) -> &Node {
        self.second.as_ref().unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the daemon's file: the example's, quick, with these keys changed.
    pub fn configure(&self, edit: impl FnOnce(&mut Table)) {
        let mut file: Table = EXAMPLE.parse().unwrap();
        file.put("venue.chain_id", i64::try_from(CHAIN_ID).unwrap())
            .put("venue.account", account().to_hex())
            .put("venue.router", ROUTER.to_hex())
            .put("venue.factory", FACTORY.to_hex())
            .put("venue.gas_counts_as", "ONE")
            .put("venue.node_file", "node")
            .put("venue.block_s", 1)
            .put("venue.request_timeout_ms", 1_000)
            .put("keys.eth_key_file", "key")
            .put("store.dir", "state")
            .put("orders.ttl_s", 5)
            .put("orders.refresh_before_s", 2)
            .put("orders.grace_s", 4)
            .put("poll.depth_ms", 300)
            .put("poll.depth_age_max_ms", 10_000)
            .put("poll.orders_ms", 300)
            .put("poll.orders_age_max_ms", 20_000)
            .put("poll.balances_ms", 300)
            .put("poll.balances_age_max_ms", 20_000);
        let tokens = file["venue"].as_table_mut().unwrap();
        let of = |(name, address): (&str, Address)| (name.to_owned(), address.to_hex().into());
        let pair = ["ONE", "TWO"].into_iter().zip(TOKENS);
        tokens.insert("tokens".to_owned(), pair.map(of).collect::<Table>().into());
        let budget: Table = "per_s = 1000\nburst = 300\nendpoint_per_s = 300\nendpoint_burst = 100"
            .parse()
            .unwrap();
        file.insert("budget".to_owned(), budget.into());
        let metrics: Table = "listen = '127.0.0.1:0'".parse().unwrap();
        file.insert("metrics".to_owned(), metrics.into());
        let market: Table = MARKET.parse().unwrap();
        file.insert("market".to_owned(), market["market"].clone());
        edit(&mut file);
        std::fs::write(self.path("daemon.toml"), file.to_string()).unwrap();
    }

    /// Starts the daemon; it may not be ready yet.
    pub fn run(&self) -> Program {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("daemon-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let config = self.path("daemon.toml").display().to_string();
        // A file of an earlier run would name a port that is not served any more.
        let _ = std::fs::remove_file(self.path("state/metrics.address"));
        let args = ["run", "--json", "--config", &config, "--until-stdin-closes"];
        Program::start(self.folder.path(), &name, &args)
    }

    /// A command with the daemon's file: exit code, output, log.
    #[track_caller]
    pub fn command(&self, line: &str) -> (i32, String, String) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let config = self.path("daemon.toml").display().to_string();
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--config", &config]);
        run(
            self.folder.path(),
            &format!("command-{number}"),
            &args,
            SOON,
        )
    }

    /// The page of the daemon's metrics.
    #[track_caller]
    pub fn metrics(&self, daemon: &mut Program) -> String {
        until(SOON, "the daemon's metrics", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let text = std::fs::read_to_string(self.path("state/metrics.address")).ok()?;
            body(text.strip_suffix('\n')?, "/metrics")
        })
    }

    /// What the account holds of a contract's tokens in the newest block.
    pub fn held(&self, contract: Address) -> U256 {
        self.node
            .chain(|chain| chain.latest().world.tokens[&contract].of(account()))
    }

    /// Transactions of the account in the newest block.
    pub fn nonce(&self) -> u64 {
        self.node
            .chain(|chain| chain.latest().world.nonce(account()))
    }

    /// Waits until the account holds shares of the pool, or none.
    #[track_caller]
    pub fn until_shares(&self, daemon: &mut Program, held: bool) -> U256 {
        until(SOON, "shares of the pool", || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let shares = self.held(PAIR);
            (held == (shares > U256::ZERO)).then_some(shares)
        })
    }

    /// Waits for a start that waits for this cause.
    #[track_caller]
    pub fn until_waits(&self, daemon: &mut Program, cause: &str) {
        let mut last = String::new();
        let found = within(SOON, || {
            assert!(daemon.ended().is_none(), "{}", daemon.last_words());
            let (_, out, log) = self.command("status --json");
            let page: Value = serde_json::from_str(&out).unwrap_or_default();
            last = out + &log;
            let shown = page["waiting"]["cause"].as_str()?;
            shown.contains(cause).then_some(())
        });
        assert!(
            found.is_some(),
            "no wait for {cause:?} in {last}\n{}",
            daemon.last_words()
        );
    }

    /// Waits until so many blocks more were made.
    pub fn blocks(&self, count: u64) {
        let newest = || self.node.chain(|chain| chain.latest().number);
        let first = newest();
        until(SOON, "blocks", || (newest() >= first + count).then_some(()));
    }
}

const MARKET: &str = r#"
[[market]]
name = "ONE-TWO"
base_decimals = 18
base_precision = 10
quote_decimals = 18
quote_precision = 12
price_decimals = 2
collar_bps = 200
price_floor = "500 TWO"
price_ceiling = "20000 TWO"
inventory_min = "0 ONE"
inventory_max = "2000 ONE"
frozen_after_s = 0
[market.pool]
name = "ONE-TWO"
slippage_bps = 100
move_value_max = "4000000 TWO"
value_max = "8000000 TWO"
poll_ms = 200
age_max_ms = 10000
[[market.strategy]]
name = "lp_manager"
[market.strategy.params]
target_share_bps = 4000
enter_below_bps = 3000
leave_above_bps = 5000
step_value = 2000000
cool_down_s = 1
pause_above_bps = 200
"#;

/// Writes a file for its owner.
pub fn private(path: &Path, text: &str) {
    use std::io::Write;
    let mut options = std::fs::File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    file.open(path).unwrap().write_all(text.as_bytes()).unwrap();
}
