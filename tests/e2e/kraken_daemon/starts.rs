//! Keys with which a start refuses to trade, and commands beside a daemon.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use toml::Table;

use super::stage::{ACCOUNT, ORDERS, SOON, exchange, exchange_with_fee, on_kraken, quotes, usual};
use crate::support::process::run;
use crate::support::{Edit, Stage};

/// The end of a start: exit code and log.
fn refused(stage: &Stage) -> (i32, String) {
    refused_with(stage, |_| {})
}

/// As `refused`, with other keys of the file.
fn refused_with(stage: &Stage, edit: impl FnOnce(&mut Table)) -> (i32, String) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    stage.daemon("daemon", &stage.url(), |file| {
        on_kraken(file);
        edit(file);
    });
    let config = stage.path("daemon.toml").display().to_string();
    let args = ["run", "--config", &config, "--until-stdin-closes"];
    let name = format!("refused-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (code, _, log) = run(stage.folder.path(), &name, &args, SOON);
    assert!(stage.books().orders.is_empty(), "nothing was ordered");
    (code, log)
}

#[test]
fn keys_that_may_withdraw_are_refused() {
    let mut with = ACCOUNT.to_vec();
    with.push("funds-withdraw");
    let stage = exchange(
        "kraken-withdraws",
        &[("orders", &ORDERS, 0), ("account", &with, 0)],
    );
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(
        log.contains("withdraw") && log.contains("kraken/account"),
        "{log}"
    );
    stage.close();
    let mut with = ORDERS.to_vec();
    with.push("funds-withdraw");
    let stage = exchange(
        "kraken-withdraws-too",
        &[("orders", &with, 0), ("account", &ACCOUNT, 0)],
    );
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(
        log.contains("withdraw") && log.contains("kraken/orders"),
        "{log}"
    );
    stage.close();
}

#[test]
fn keys_whose_nonce_window_is_not_0_are_refused() {
    for (name, windows) in [("kraken-window", [10, 0]), ("kraken-window-too", [0, 10])] {
        let stage = exchange(
            name,
            &[
                ("orders", &ORDERS, windows[0]),
                ("account", &ACCOUNT, windows[1]),
            ],
        );
        let (code, log) = refused(&stage);
        assert_eq!(code, 77, "{log}");
        assert!(log.contains("nonce window"), "{log}");
        stage.close();
    }
}

#[test]
fn keys_of_the_wrong_secret_or_without_permissions_are_refused() {
    let stage = exchange(
        "kraken-secret",
        &[("orders", &ORDERS, 0), ("account", &ACCOUNT, 0)],
    );
    let file = |name: &str| stage.path("kraken").join(name).join("secret");
    let [orders, account] = ["orders", "account"].map(file);
    let right = std::fs::read_to_string(&account).unwrap();
    std::fs::copy(&orders, &account).unwrap();
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("EAPI:Invalid signature"), "{log}");
    assert!(!log.contains(right.trim()), "no secret in a log");
    stage.close();
    let stage = exchange(
        "kraken-reads",
        &[("orders", &["funds-query"], 0), ("account", &ACCOUNT, 0)],
    );
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("EGeneral:Permission denied"), "{log}");
    stage.close();
}

/// A key that lacks a permission is found before anything is ordered, and named with what it lacks.
#[test]
fn keys_that_may_not_do_what_they_are_for_are_refused() {
    let without = |name: &str| -> Vec<&str> {
        let all = ACCOUNT.into_iter();
        all.filter(|permission| *permission != name).collect()
    };
    let lacks = [
        ("orders-query-open", "Query open orders & trades"),
        ("orders-query-closed", "Query closed orders & trades"),
        ("orders-cancel", "Cancel & close orders"),
        ("ledger-query", "Query ledger entries"),
        ("funds-query", "Funds - Query"),
    ];
    let sets = lacks.map(|(permission, _)| (permission, without(permission)));
    let mut keys: Vec<(&str, &[&str], u64)> =
        vec![("orders", &ORDERS, 0), ("account", &ACCOUNT, 0)];
    keys.extend(sets.iter().map(|(name, set)| (*name, set.as_slice(), 0)));
    let stage = exchange("kraken-permissions", &keys);
    for (name, permission) in lacks {
        let (code, log) = refused_with(&stage, |file| {
            file.put("keys.account_dir", format!("kraken/{name}"));
        });
        assert_eq!(code, 77, "{name}: {log}");
        assert!(log.contains(permission), "{name}: {log}");
        assert!(log.contains(&format!("kraken/{name}")), "{name}: {log}");
        assert!(!log.contains("no signature given"), "{log}");
    }
    let (code, log) = refused_with(&stage, |file| {
        file.put("keys.orders_dir", "kraken/account");
        file.put("keys.account_dir", "kraken/orders");
    });
    assert_eq!(code, 77, "{log}");
    assert!(
        log.contains("keys.orders_dir and keys.account_dir are exchanged"),
        "{log}"
    );
    stage.close();
}

/// What the guide shows before anything is sent: the example is right, and the public depth needs no key.
#[test]
fn the_example_and_the_public_depth_need_no_keys() {
    let stage = usual("kraken-looks");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/config/kraken.toml");
    let args = ["check", "--config", example, "--no-secrets"];
    let (code, out, log) = run(stage.folder.path(), "check", &args, SOON);
    assert_eq!(code, 0, "{out} {log}");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/observe-kraken.toml");
    let mut file: Table = std::fs::read_to_string(shipped).unwrap().parse().unwrap();
    // The exchange of this test lists another pair.
    file.put("venue.base_url", stage.url())
        .put("store.dir", "observed")
        .put("market.0.name", "ETH-USDC")
        .put("market.0.price_floor", "1000 USDC")
        .put("market.0.price_ceiling", "5000 USDC")
        .put("market.0.order_value_max", "450 USDC")
        .put("market.0.inventory_min", "0 ETH")
        .put("market.0.inventory_max", "1 ETH")
        .put("market.0.base_decimals", 18)
        .put("market.0.quote_decimals", 6)
        .put("market.0.quote_precision", 6)
        .put("market.0.price_decimals", 2);
    let config = stage.path("observe.toml").display().to_string();
    std::fs::write(&config, file.to_string()).unwrap();
    let args = ["run", "--config", &config, "--for", "4s"];
    let (code, out, log) = run(stage.folder.path(), "observe", &args, SOON);
    assert_eq!(code, 0, "{out} {log}");
    stage.close();
}

/// The venue refuses the whole list without saying which.
#[test]
fn a_pair_that_the_venue_does_not_have_is_named_with_its_place() {
    let stage = usual("kraken-pair");
    let (code, log) = refused_with(&stage, |file| {
        let text = toml::to_string(file).unwrap().replace("ETH", "XBT");
        *file = toml::from_str(&text).unwrap();
    });
    assert_eq!(code, 77, "{log}");
    let named = log.contains("daemon.toml:") && log.contains("the venue has no market XBT-USDC");
    assert!(named, "{log}");
    stage.close();
}

#[test]
fn an_account_whose_fee_is_above_what_orders_reserve_is_refused() {
    let keys = [("orders", &ORDERS[..], 0), ("account", &ACCOUNT[..], 0)];
    let stage = exchange_with_fee("kraken-fee", &keys, 21);
    let (code, log) = refused(&stage);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("a fee of 21 ten-thousandths"), "{log}");
    assert!(log.contains("orders.max_fee_bips = 20"), "{log}");
    stage.close();
    let stage = exchange_with_fee("kraken-fee-right", &keys, 20);
    stage.daemon("daemon", &stage.url(), on_kraken);
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

/// Commands have a key of their own beside a daemon, or say what they need.
#[test]
fn commands_read_the_account_beside_a_daemon_with_a_third_key() {
    let stage = usual("kraken-commands");
    stage.daemon("daemon", &stage.url(), on_kraken);
    let (code, pins, log) = stage.command("check --pin");
    assert_eq!(code, 0, "{pins} {log}");
    assert_eq!(pins["markets"][0]["price_decimals"], 2, "{pins}");
    let (_, lines, _) = stage.prose("check --pin");
    assert!(lines.contains("[[market]]\nname = \"ETH-USDC\""), "{lines}");
    assert!(!lines.contains("chain_id"), "{lines}");
    let (code, checked, log) = stage.prose("check --online");
    assert_eq!(code, 0, "{checked} {log}");
    for side in ["buy", "sell"] {
        let line = format!("ETH-USDC {side}: the venue would take the order");
        assert!(checked.contains(&line), "{checked}");
    }
    let (code, found, log) = stage.command("doctor");
    assert_eq!(code, 0, "{found} {log}");
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    let (code, balances, log) = stage.command("account balances");
    assert_eq!(code, 0, "{log}");
    let totals = stage.books().totals;
    let units: u128 = balances["ETH"]["units"].as_str().unwrap().parse().unwrap();
    assert!(units > 0 && totals.contains_key("ETH"), "{balances}");
    // At one moment every order may be replaced, or be too young for a list. While the counter of the market is full
    // after a start, both sides may be without one for many seconds.
    let is_listed = (0..40).any(|_| {
        let (code, orders, log) = stage.command("account orders");
        assert_eq!(code, 0, "{log}");
        !orders.as_array().unwrap().is_empty()
    });
    assert!(is_listed, "{}", daemon.last_words());
    for line in [
        "account transactions",
        "account requests",
        "account transfer --to 0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b --token ETH --amount 1",
    ] {
        let (code, _, log) = stage.command(line);
        assert_eq!(code, 77, "{line}: {log}");
        let what = "venue.kind = \"kraken\" does not offer it";
        assert!(log.contains(what), "{line}: {log}");
    }
    // Without a key of its own a command would use up numbers of the daemon's.
    let text = std::fs::read_to_string(stage.path("daemon.toml")).unwrap();
    let text: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with("panic_dir"))
        .collect();
    std::fs::write(stage.path("daemon.toml"), text.join("\n")).unwrap();
    for line in ["account balances", "check --online", "doctor"] {
        let (code, object, log) = stage.command(line);
        assert_eq!(code, 75, "{line}: {object} {log}");
        let text = format!("{object} {log}");
        assert!(text.contains("keys.panic_dir"), "{line}: {text}");
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
