//! The demo on Kraken's interface: the exchange serves it beside its own, with keys for the daemon and for the demo, and
//! the daemon's file names it as the venue.

use std::path::Path;
use std::time::Duration;

use cambist_exchange::config::Exchange;
use cambist_exchange::kraken_keys::{self, NewKey};
use cambist_server::Permission;
use cambist_venue::AccountId;
use toml::{Table, Value};

use super::files::table;

/// The folder of keys in the demo's folder.
const KEYS: &str = "kraken";
/// Names of keys, and what each may do.
const ORDERS: (&str, &[Permission]) = (
    "orders",
    &[Permission::FundsQuery, Permission::OrdersModify],
);
const READS: &[Permission] = &[
    Permission::FundsQuery,
    Permission::OrdersQueryOpen,
    Permission::OrdersQueryClosed,
    Permission::OrdersCancel,
    Permission::LedgerQuery,
];
const ACCOUNT: (&str, &[Permission]) = ("account", READS);
/// With which the demo reads beside its daemon.
const COMMANDS: (&str, &[Permission]) = ("commands", READS);

/// Time that a recovery may take in addition, because a key has one call a second: the proofs of a start, and lists that
/// are read twice with the ledgers of their trades.
pub const RECOVERY: Duration = Duration::from_secs(30);
/// Time without quotes at the beginning, until the first lists are complete.
pub const FIRST_LISTS: Duration = Duration::from_secs(15);

/// The exchange serves Kraken's interface, with the counters of the highest tier.
pub fn of_exchange(file: &mut Table, folder: &Path) {
    table(file, "exchange").insert("dialect".to_owned(), "kraken".into());
    let section = table(file, "kraken");
    let keys_dir = folder.join(KEYS).display().to_string();
    section.insert("keys_dir".to_owned(), keys_dir.into());
    section.insert("tier".to_owned(), "pro".into());
}

/// Makes the keys, which the exchange reads when it starts.
pub fn make_keys(file: &Path) -> anyhow::Result<()> {
    let exchange = Exchange::load(file)?;
    let Some(settings) = &exchange.kraken else {
        return Ok(());
    };
    for (name, permissions) in [ORDERS, ACCOUNT, COMMANDS] {
        let new = NewKey {
            permissions: permissions.iter().copied().collect(),
            ..NewKey::for_trading(name, AccountId(exchange.maker.account_id))
        };
        kraken_keys::make(settings, &new)?;
    }
    Ok(())
}

/// The daemon trades on Kraken's interface: no pools, the calls that the tier allows, lifetimes that the venue takes.
pub fn of_daemon(file: &mut Table, folder: &Path) {
    let base_url = table(file, "venue").get("base_url").cloned();
    let mut venue = Table::new();
    venue.insert("kind".to_owned(), "kraken".into());
    venue.extend(base_url.map(|url| ("base_url".to_owned(), url)));
    venue.insert("tier".to_owned(), "pro".into());
    venue.insert("accepted_s".to_owned(), 5.into());
    venue.insert("cancel_all_after_s".to_owned(), 20.into());
    file.insert("venue".to_owned(), Value::Table(venue));
    let mut keys = Table::new();
    for (key, (name, _)) in [
        ("orders_dir", ORDERS),
        ("account_dir", ACCOUNT),
        ("panic_dir", COMMANDS),
    ] {
        let dir = folder.join(KEYS).join(name).display().to_string();
        keys.insert(key.to_owned(), dir.into());
    }
    file.insert("keys".to_owned(), Value::Table(keys));
    let budget = table(file, "budget");
    for key in ["per_s", "burst", "cancel_reserve"] {
        budget.remove(key);
    }
    for (section, key, value) in [
        ("orders", "ttl_s", 12),
        ("orders", "refresh_before_s", 4),
        ("orders", "grace_s", 3),
        ("orders", "resend_margin_ms", 2_000),
        ("poll", "depth_ms", 500),
        ("poll", "depth_age_max_ms", 5_000),
        ("poll", "orders_ms", 10_000),
        ("poll", "orders_age_max_ms", 60_000),
        ("poll", "balances_ms", 15_000),
        ("poll", "balances_age_max_ms", 60_000),
        ("poll", "meta_ms", 300_000),
        ("poll", "orders_page", 50),
        ("shutdown", "deadline_s", 60),
    ] {
        table(file, section).insert(key.to_owned(), value.into());
    }
    let markets = file.get_mut("market").and_then(Value::as_array_mut);
    let markets = markets.into_iter().flatten();
    for market in markets.filter_map(Value::as_table_mut) {
        // A volume has the decimals of a lot.
        for key in ["pool", "base_precision", "quote_precision"] {
            market.remove(key);
        }
        let Some(Value::Array(strategies)) = market.get_mut("strategy") else {
            continue;
        };
        // One that was chosen alone is refused with the reason by the daemon.
        if strategies.len() > 1 {
            strategies.retain(|strategy| {
                let name = strategy.get("name").and_then(Value::as_str);
                name != Some(cambist_strategies::LP_MANAGER)
            });
        }
    }
}
