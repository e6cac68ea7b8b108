//! The daemon on a real node: it joins and leaves a pool, is killed in the middle of a join, and ends with books that are
//! the chain's, gas included.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cambist_evm::U256;
use cambist_evm::abi::one_number;
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::rpc::NonceAt;

use crate::contracts::{FIRST, OWN_KEY, SECOND, World, deploy};
use crate::node::{Mine, Place, ask};
use crate::{Step, ensure};

/// Longest wait for anything, in blocks of a second.
const BLOCKS_MAX: u32 = 120;

/// A state folder, its configuration, and the program.
struct Daemon<'a> {
    program: &'a Path,
    folder: PathBuf,
}

/// A daemon that is killed with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The whole life of a position.
pub async fn life(place: &Place<'_>, modules: &Path, program: &Path) -> Step<String> {
    let mut world = deploy(place, modules, "daemon").await?;
    // The blocks of the deployment are further apart than those that follow.
    for _ in 0..4 {
        world.second().await?;
    }
    let daemon = Daemon::new(program, place.work, &world)?;
    daemon.configure(&world, 4_000)?;
    let checked = daemon.command(&["check"]).arg("--online").output();
    let checked = checked.map_err(|error| error.to_string())?;
    ensure!(
        checked.status.success(),
        "check --online: {}{}",
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr)
    );
    // Killed as soon as the bytes of the first join are on disk: whether they were sent is not known.
    let first = daemon.start("first")?;
    let journal = daemon.folder.join("state/transactions");
    let is_sealed = || fs::metadata(&journal).is_ok_and(|found| found.len() > 0);
    world.until("a join was sealed", || Ok(is_sealed())).await?;
    drop(first);
    for _ in 0..3 {
        world.second().await?;
    }
    let mut second = daemon.start("second")?;
    world.until_shares(|shares| shares > U256::ZERO).await?;
    let held = world.shares().await?;
    // Behind finality, so that it is booked.
    for _ in 0..8 {
        world.second().await?;
    }
    let joined = daemon.ends(&mut second, &mut world).await?;

    daemon.configure(&world, 0)?;
    let mut third = daemon.start("third")?;
    world.until_shares(|shares| shares == U256::ZERO).await?;
    for _ in 0..8 {
        world.second().await?;
    }
    daemon.ends(&mut third, &mut world).await?;
    let account = world.adapter.chain.account;
    let at = BlockTag::Latest;
    let spent = ask(&world.node, &NonceAt { account, at }).await?;
    Ok(format!(
        "{held} shares joined and left with {spent} transactions, killed once; {joined}"
    ))
}

impl World<'_> {
    /// Makes the block of the next second.
    async fn second(&mut self) -> Step {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.now_s += 1;
        ask(&self.node, &Mine { at_s: self.now_s }).await
    }

    async fn until(&mut self, what: &str, is_so: impl Fn() -> Step<bool>) -> Step {
        for _ in 0..BLOCKS_MAX {
            if is_so()? {
                return Ok(());
            }
            self.second().await?;
        }
        Err(format!("not in time: {what}"))
    }

    async fn until_shares(&mut self, is_so: impl Fn(U256) -> bool) -> Step {
        for _ in 0..BLOCKS_MAX {
            if is_so(self.shares().await?) {
                return Ok(());
            }
            self.second().await?;
        }
        let held = self.shares().await?;
        Err(format!("the account still holds {held} shares"))
    }

    /// What the account holds of the pair.
    async fn shares(&self) -> Step<U256> {
        let chain = &self.adapter.chain;
        let owner = chain.account;
        let pair = cambist_evm::Address(chain.pools[0].address);
        let returned = self.returned(pair, &Call::BalanceOf { owner }).await?;
        one_number(&returned).map_err(|error| error.to_string())
    }
}

impl<'a> Daemon<'a> {
    fn new(program: &'a Path, work: &Path, world: &World<'_>) -> Step<Self> {
        let folder = work.join("daemon");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        private(&folder.join("node"), &world.process.url())?;
        private(&folder.join("key"), OWN_KEY)?;
        Ok(Self { program, folder })
    }

    fn configure(&self, world: &World<'_>, target_bps: u32) -> Step {
        let chain = &world.adapter.chain;
        let [one, two] = [FIRST, SECOND].map(|token| chain.tokens[&token]);
        let text = format!(
            r#"config_version = 1
[venue]
kind = "evm-pools"
chain_id = {chain_id}
account = "{account}"
router = "{router}"
factory = "{factory}"
node_file = "node"
block_s = 1
fee_max_gwei = 500
[venue.tokens]
ONE = "{one}"
TWO = "{two}"
[keys]
eth_key_file = "key"
[store]
dir = "state"
[metrics]
listen = "127.0.0.1:0"
[orders]
ttl_s = 12
refresh_before_s = 2
grace_s = 8
[poll]
depth_ms = 500
balances_ms = 1000
orders_ms = 1000
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
inventory_max = "2000000 ONE"
frozen_after_s = 0
[market.pool]
name = "ONE-TWO"
slippage_bps = 100
move_value_max = "20000000 TWO"
value_max = "40000000 TWO"
poll_ms = 500
age_max_ms = 10000
[[market.strategy]]
name = "lp_manager"
[market.strategy.params]
target_share_bps = {target_bps}
enter_below_bps = {enter_bps}
leave_above_bps = {leave_bps}
step_value = 1000000
cool_down_s = 20
pause_above_bps = 200
"#,
            chain_id = chain.id,
            account = chain.account.to_hex(),
            router = chain.router.to_hex(),
            factory = world.factory.to_hex(),
            one = one.to_hex(),
            two = two.to_hex(),
            enter_bps = if target_bps == 0 {
                0
            } else {
                target_bps - 1_000
            },
            leave_bps = target_bps + if target_bps == 0 { 0 } else { 1_000 },
        );
        fs::write(self.folder.join("daemon.toml"), text).map_err(|error| error.to_string())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(words)
            .arg("--config")
            .arg(self.folder.join("daemon.toml"))
            .stdin(Stdio::null());
        command
    }

    fn start(&self, name: &str) -> Step<Running> {
        let log = fs::File::create(self.folder.join(format!("{name}.log")));
        let log = log.map_err(|error| error.to_string())?;
        let both = log.try_clone().map_err(|error| error.to_string())?;
        let child = self.command(&["run"]).stdout(both).stderr(log).spawn();
        Ok(Running(child.map_err(|error| error.to_string())?))
    }

    /// Ends the daemon; exit code 0 proves that its books are the chain's and that nothing is undecided.
    async fn ends(&self, running: &mut Running, world: &mut World<'_>) -> Step<String> {
        let status = self.command(&["status"]).output();
        let status = status.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&status.stdout).into_owned();
        let books = text
            .lines()
            .find(|line| line.trim_start().starts_with("books"));
        let books = books.unwrap_or_default().trim().to_owned();
        let sent = Command::new("kill")
            .arg(running.0.id().to_string())
            .status();
        ensure!(sent.is_ok_and(|sent| sent.success()), "it cannot be ended");
        for _ in 0..BLOCKS_MAX {
            if let Some(ended) = running.0.try_wait().map_err(|error| error.to_string())? {
                ensure!(ended.success(), "the daemon ended with {ended}\n{text}");
                return Ok(books);
            }
            world.second().await?;
        }
        Err("the daemon does not end".to_owned())
    }
}

/// Writes a file for its owner.
fn private(path: &Path, text: &str) -> Step {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let file = file.open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| error.to_string())
}
