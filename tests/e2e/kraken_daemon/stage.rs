//! An exchange that speaks Kraken's interface, keys of it, and a daemon that trades there.

use std::time::Duration;

use toml::{Table, Value};

use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Stage};

/// Counters of calls allow one a second, so that a start and a complete list take their time.
pub const SOON: Duration = Duration::from_secs(90);

/// Permissions of the key that places orders, and of the one that reads and cancels.
pub const ORDERS: [&str; 2] = ["funds-query", "orders-modify"];
pub const ACCOUNT: [&str; 5] = [
    "funds-query",
    "orders-query-open",
    "orders-query-closed",
    "orders-cancel",
    "ledger-query",
];

/// A kept exchange with lively traders and Kraken's interface. `keys` are made as well: names, permissions and nonce
/// windows.
pub fn exchange(name: &str, keys: &[(&str, &[&str], u64)]) -> Stage {
    exchange_with_fee(name, keys, 7)
}

/// As `exchange`, with another fee of orders that rested, in ten-thousandths.
pub fn exchange_with_fee(name: &str, keys: &[(&str, &[&str], u64)], maker_fee_bips: i64) -> Stage {
    exchange_of(name, keys, |file| {
        file.put("exchange.maker_fee_bips", maker_fee_bips);
    })
}

/// The same with quiet traders, whose book always has both sides.
pub fn quiet(name: &str) -> Stage {
    exchange_of(name, &KEYS, |file| {
        file.put("exchange.maker_fee_bips", 7)
            .put("traders.0.informed", 0)
            .put("traders.0.arbitrageurs", 0)
            .put("traders.0.noise_taker_percent", 10)
            .put("traders.0.noise_orders_per_minute", 20)
            .put("traders.0.passive", 8)
            .put("traders.0.volatility_centi_bps_per_sqrt_s", 400);
    })
}

fn exchange_of(name: &str, keys: &[(&str, &[&str], u64)], edit: impl FnOnce(&mut Table)) -> Stage {
    let mut stage = Stage::open_kept(name, |file| {
        lively(file);
        file.put("exchange.dialect", "kraken");
        edit(file);
        let kraken: Table = toml::from_str("keys_dir = 'kraken'\ntier = 'pro'").unwrap();
        file.insert("kraken".to_owned(), kraken.into());
    });
    for (key, permissions, window) in keys {
        make_key(&stage, key, permissions, *window);
    }
    // Keys are read at a start.
    stage.restart_venue();
    stage
}

/// Both keys of a daemon, and the third one.
pub fn usual(name: &str) -> Stage {
    exchange(name, &KEYS)
}

const KEYS: [(&str, &[&str], u64); 3] = [
    ("orders", &ORDERS, 0),
    ("account", &ACCOUNT, 0),
    ("panic", &ACCOUNT, 0),
];

fn make_key(stage: &Stage, name: &str, permissions: &[&str], window: u64) {
    let config = stage.path("venue.toml").display().to_string();
    let window = window.to_string();
    let mut args = vec!["venue", "kraken-key", "--config", &config, name];
    args.extend(["--nonce-window", &window]);
    for permission in permissions {
        args.extend(["--permission", permission]);
    }
    let file = format!("key-{name}");
    let (code, _, log) = run(stage.folder.path(), &file, &args, SOON);
    assert_eq!(code, 0, "{log}");
}

/// The example's daemon with Kraken as its venue: quick, within the calls of the highest tier.
pub fn on_kraken(file: &mut Table) {
    quick(file);
    let base_url = file["venue"]["base_url"].clone();
    let mut venue: Table = toml::from_str(
        "kind = 'kraken'\ntier = 'pro'\naccepted_s = 5\nrequest_timeout_ms = 3000\n",
    )
    .unwrap();
    venue.insert("base_url".to_owned(), base_url);
    file.insert("venue".to_owned(), Value::Table(venue));
    let keys = "orders_dir = 'kraken/orders'\naccount_dir = 'kraken/account'\npanic_dir = 'kraken/panic'\n";
    let keys: Table = toml::from_str(keys).unwrap();
    file.insert("keys".to_owned(), Value::Table(keys));
    let budget = file["budget"].as_table_mut().unwrap();
    for key in ["per_s", "burst", "cancel_reserve"] {
        budget.remove(key);
    }
    let market = file["market"].as_array_mut().unwrap()[0]
        .as_table_mut()
        .unwrap();
    // There are no pools, and a volume has the decimals of a lot.
    for key in ["pool", "base_precision", "quote_precision"] {
        market.remove(key);
    }
    file.put("fees.maker_bips", 7)
        .put("orders.max_fee_bips", 20)
        .put("orders.ttl_s", 12)
        .put("orders.refresh_before_s", 4)
        .put("orders.grace_s", 3)
        .put("orders.resend_margin_ms", 2_000)
        .put("orders.resend_after_ms", 300)
        .put("poll.depth_ms", 300)
        .put("poll.depth_age_max_ms", 4_000)
        .put("poll.orders_ms", 12_000)
        .put("poll.orders_age_max_ms", 60_000)
        .put("poll.balances_ms", 12_000)
        .put("poll.balances_age_max_ms", 60_000)
        .put("poll.meta_ms", 120_000)
        .put("poll.orders_page", 50)
        .put("shutdown.deadline_s", 60);
}

/// Waits until both sides rest at the exchange.
pub fn quotes(stage: &Stage, daemon: &mut Program) {
    crate::support::until(SOON, "orders that rest on both sides", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let books = stage.books();
        let open = books.orders.iter().filter(|order| !order.status.is_final());
        let sides: std::collections::BTreeSet<_> = open.map(|order| order.side.name()).collect();
        (sides.len() == 2).then_some(())
    });
}
