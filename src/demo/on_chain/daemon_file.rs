//! The daemon's configuration: the example of pools on a chain, with changes for this chain and a block a second.

use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_evm::Address;
use toml::{Table, Value};

use super::deploy::{Deployed, HELD, PRICE};
use super::node::CHAIN_ID;
use crate::demo::files::{DAEMON_FILE, set, table, write};

const EXAMPLE: &str = include_str!("../../../config/evm-pools.toml");

/// Symbols of the wrapped coin and of the token, and of the coin.
pub const WETH: &str = "WETH";
/// See `WETH`.
pub const TOKEN: &str = "TOKEN";
/// See `WETH`.
pub const COIN: &str = "ETH";
/// The market.
pub const MARKET: &str = "WETH-TOKEN";
/// Names of the files with the URL of the node and with the account's key.
pub const NODE_FILE: &str = "node.url";
/// See `NODE_FILE`.
pub const KEY_FILE: &str = "key";

/// Share of the account that is to be in the pool, ten-thousandths.
const TARGET_BPS: u128 = 6_000;
/// Joins of this many seconds each fill the time of a demo: two blocks until a join is final, the one before that, and
/// a pause.
const JOIN_S: u64 = 4;
/// A demo without an end has as many joins as one of this length.
const ENDLESS_S: u64 = 60;

/// What the file is written for.
pub struct Written<'a> {
    /// The contracts.
    pub deployed: &'a Deployed,
    /// The account.
    pub account: Address,
    /// How long the demo lasts, unless it has no end.
    pub duration_s: Option<u64>,
}

/// The value of one join in whole tokens: so small that joins go on until the end, and the kill meets one.
fn step(duration_s: Option<u64>) -> u128 {
    let joins = duration_s.unwrap_or(ENDLESS_S).div_ceil(JOIN_S).max(2);
    let value = 2 * HELD * PRICE * TARGET_BPS / 10_000;
    (value / u128::from(joins)).max(1)
}

/// Writes the file.
pub fn write_daemon(folder: &Path, of: &Written<'_>) -> anyhow::Result<PathBuf> {
    let mut file: Table = EXAMPLE
        .parse()
        .context("the built-in config/evm-pools.toml")?;
    let Deployed {
        factory,
        router,
        weth,
        token,
        ..
    } = of.deployed;
    let chain_id = i64::try_from(CHAIN_ID).context("chain id")?;
    set(&mut file, &["venue", "chain_id"], chain_id);
    for (key, address) in [
        ("account", of.account),
        ("router", *router),
        ("factory", *factory),
    ] {
        set(&mut file, &["venue", key], address.to_hex());
    }
    let path = |name: &str| folder.join(name).display().to_string();
    set(&mut file, &["venue", "node_file"], path(NODE_FILE));
    set(&mut file, &["venue", "coin"], COIN);
    set(&mut file, &["venue", "block_s"], 1);
    let tokens = [(WETH, weth), (TOKEN, token)];
    let tokens = tokens.map(|(symbol, at)| (symbol.to_owned(), Value::from(at.to_hex())));
    set(&mut file, &["venue", "tokens"], Table::from_iter(tokens));
    set(&mut file, &["keys", "eth_key_file"], path(KEY_FILE));
    set(&mut file, &["store", "dir"], path("state"));
    set(&mut file, &["tape", "dir"], path("tape"));
    set(&mut file, &["metrics", "listen"], "127.0.0.1:0");
    for (section, key, value) in [
        ("orders", "ttl_s", 12),
        ("orders", "refresh_before_s", 2),
        ("orders", "grace_s", 8),
        ("poll", "depth_ms", 500),
        ("poll", "depth_age_max_ms", 10_000),
        ("poll", "orders_ms", 500),
        ("poll", "orders_age_max_ms", 20_000),
        ("poll", "balances_ms", 500),
        ("poll", "balances_age_max_ms", 20_000),
        // Shorter intervals for the demo's display.
        ("poll", "status_ms", 200),
        ("budget", "per_s", 1_000),
        ("budget", "burst", 300),
        ("budget", "endpoint_per_s", 300),
        ("budget", "endpoint_burst", 100),
        ("shutdown", "deadline_s", 60),
    ] {
        table(&mut file, section).insert(key.to_owned(), value.into());
    }
    let step = step(of.duration_s);
    let mut market: Table = MARKET_KEYS.parse().context("the demo's market")?;
    let params = market
        .get_mut("strategy")
        .and_then(|strategies| strategies.get_mut(0));
    let params = params.and_then(Value::as_table_mut);
    let params = table(params.context("the demo's strategy")?, "params");
    let step = i64::try_from(step).context("the value of a join")?;
    params.insert("step_value".to_owned(), step.into());
    let markets = vec![Value::Table(market)];
    file.insert("market".to_owned(), markets.into());
    write(folder.join(DAEMON_FILE), &file)
}

const MARKET_KEYS: &str = r#"
name = "WETH-TOKEN"
base_decimals = 18
base_precision = 10
quote_decimals = 18
quote_precision = 12
price_decimals = 2
collar_bps = 200
price_floor = "500 TOKEN"
price_ceiling = "20000 TOKEN"
inventory_min = "0 WETH"
inventory_max = "100 WETH"
frozen_after_s = 0
[pool]
name = "WETH-TOKEN"
slippage_bps = 100
move_value_max = "60000 TOKEN"
value_max = "200000 TOKEN"
poll_ms = 300
age_max_ms = 10000
[[strategy]]
name = "lp_manager"
[strategy.params]
target_share_bps = 6000
enter_below_bps = 5900
leave_above_bps = 7000
cool_down_s = 1
pause_above_bps = 200
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_are_so_small_that_the_kill_meets_one() {
        // 60 % of 100000 tokens.
        assert_eq!(step(Some(60)), 4_000);
        assert_eq!(step(None), 4_000);
        assert_eq!(step(Some(20)), 12_000);
        assert_eq!(step(Some(1)), 30_000);
        assert_eq!(step(Some(u64::MAX)), 1);
    }
}
