//! The demo on Kraken's interface: the exchange serves it beside its own, with keys for the daemon and for the demo, and
//! the daemon's file names it as the venue.

use std::path::Path;
use std::time::Duration;

use cambist_daemon::venues::kraken;
use cambist_exchange::config::Exchange;
use cambist_exchange::kraken_keys::{self, NewKey};
use cambist_server::Permission;
use cambist_venue::AccountId;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::files::table;
use super::http_answer;
use super::on_exchange::Dialect;
use super::recording_proxy::{Interface, json};

/// Kraken's interface of the exchange. A key has one call a second, so that a recovery may take longer than what the run
/// left to it: the proofs of a start, and lists with the ledgers of their trades.
pub const KRAKEN: Dialect = Dialect {
    of_exchange,
    make_keys,
    of_daemon,
    interface: &REQUESTS,
    is_recovered,
    recovery: Duration::from_secs(30),
    // Until the first lists are complete.
    before_quotes: Duration::from_secs(15),
};

const ADD_ORDER: &[u8] = b"POST /0/private/AddOrder ";

/// Its requests.
static REQUESTS: Interface = Interface {
    is_submit: |request| request.starts_with(ADD_ORDER),
    same_as: |_| None,
    is_depth: |request| request.starts_with(b"GET /0/public/Depth?"),
    is_move: |_| false,
    client_order_id: |request| {
        let body = http_answer::body(request)?;
        kraken::order_of(body).map(|id| id.to_string())
    },
    answered: |_, answer| {
        // It names the order that it took.
        json(answer)?.get("result")?.get("txid")?.get(0)?;
        Some("processing".to_owned())
    },
};

/// Balances are read so rarely that the first comparison of all books may need a minute without fills: no order in an
/// unknown state counts.
fn is_recovered(page: &Json) -> bool {
    let markets = page.get("markets").and_then(Json::as_array);
    markets.is_some_and(|markets| {
        markets
            .iter()
            .all(|market| market.get("unknown") == Some(&0.into()))
    })
}

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

/// The exchange serves Kraken's interface, with the counters of the highest tier.
fn of_exchange(file: &mut Table, folder: &Path) {
    table(file, "exchange").insert("dialect".to_owned(), "kraken".into());
    let section = table(file, "kraken");
    let keys_dir = folder.join(KEYS).display().to_string();
    section.insert("keys_dir".to_owned(), keys_dir.into());
    section.insert("tier".to_owned(), "pro".into());
}

/// Makes the keys, which the exchange reads when it starts.
fn make_keys(file: &Path) -> anyhow::Result<()> {
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
fn of_daemon(file: &mut Table, folder: &Path) {
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
