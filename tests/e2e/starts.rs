//! Starts and ends: permissions, messages of refusals, and the meaning of every exit code.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cambist_core::event::{Restrictions, TradingState};
use cambist_store::Store;
use rustix::process::Signal;
use toml::Value;

use crate::support::http::{body, metric};
use crate::support::process::run;
use crate::support::stage::quick;
use crate::support::{Edit, Folder, Keeping, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(30);

/// Name, change of the configuration, words of the message.
type Case<'a> = (&'a str, Box<dyn FnOnce(&mut toml::Table)>, Vec<&'a str>);

fn refused(stage: &Stage, name: &str) -> (i32, String) {
    let config = stage.path(&format!("{name}.toml")).display().to_string();
    let args = ["run", "--json", "--config", &config, "--until-stdin-closes"];
    let (code, out, log) = run(stage.folder.path(), name, &args, SOON);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["exit"], code, "{out}");
    let error = object["error"].as_str().unwrap();
    let first = error.split(": ").next().unwrap();
    assert!(
        log.contains(first),
        "{error} is also printed as text: {log}"
    );
    (code, log)
}

#[test]
fn a_second_daemon_on_one_folder_touches_nothing() {
    let stage = Stage::open("second", |_| {});
    stage.daemon("first", &stage.url(), quick);
    let mut first = stage.run("first");
    stage.metrics("first", &mut first);
    until(SOON, "orders at the exchange", || {
        (stage.books().open() > 0).then_some(())
    });

    let watched = Proxy::start(&stage.address);
    stage.daemon("other", &watched.url, |file| {
        quick(file);
        file.put("store.dir", "first-state");
    });
    let (code, log) = refused(&stage, "other");
    assert_eq!(code, 75, "{log}");
    assert!(
        log.contains("first-state") && log.contains("store.dir"),
        "{log}"
    );
    assert_eq!(
        watched.connections(),
        0,
        "it must not even have asked the exchange"
    );
    assert!(!stage.path("other-tape").exists());

    assert_eq!(first.drain(SOON), 0, "{}", first.last_words());
    assert_eq!(stage.books().open(), 0);
    stage.books().assert_ledger(&first.stdout());
    stage.close();
}

#[test]
fn a_busy_port_names_the_fix() {
    let stage = Stage::open("busy", |_| {});
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    stage.daemon("daemon", &stage.url(), |file| {
        file.put("metrics.listen", address.as_str());
    });
    let (code, log) = refused(&stage, "daemon");
    assert_eq!(code, 1, "{log}");
    assert!(
        log.contains(&address) && log.contains("in use") && log.contains("[metrics] listen"),
        "{log}"
    );
    assert_eq!(stage.books().orders.len(), 0);

    let mut file: toml::Table = std::fs::read_to_string(stage.path("venue.toml"))
        .unwrap()
        .parse()
        .unwrap();
    file.put("listen.address", address.as_str())
        .put("maker.keys_dir", "other-keys");
    std::fs::write(stage.path("busy.toml"), file.to_string()).unwrap();
    let config = stage.path("busy.toml").display().to_string();
    let args = ["venue", "--config", &config, "--until-stdin-closes"];
    let (code, out, log) = run(stage.folder.path(), "busy", &args, SOON);
    assert_eq!((code, out.as_str()), (1, ""), "{log}");
    assert!(
        log.contains(&address) && log.contains("choose another port"),
        "{log}"
    );
}

#[test]
fn a_bad_configuration_is_refused_where_it_is_wrong_and_nothing_is_sent() {
    let stage = Stage::open("config", |_| {});
    let watched = Proxy::start(&stage.address);
    let good = stage.daemon("good", &watched.url, |_| {});
    let good = std::fs::read_to_string(good).unwrap();
    let line =
        |text: &str, key: &str| 1 + text.lines().position(|line| line.starts_with(key)).unwrap();
    let cases: [(&str, &str, &str, &str); 7] = [
        ("ttl_s = 10", "tttl_s = 10", "tttl_s", "ttl_s"),
        ("ttl_s = 10", "ttl_s = 3", "ttl_s = 3", "ttl_s"),
        ("ttl_s = 10", "ttl_s = \"10\"", "ttl_s", "ttl_s"),
        (
            "refresh_before_s = 4",
            "refresh_before_s = 10",
            "refresh_before_s",
            "ttl_s",
        ),
        (
            "cancel_reserve = 4",
            "cancel_reserve = 15",
            "cancel_reserve",
            "burst",
        ),
        (
            "order_value_max = \"5000 USDC\"",
            "order_value_max = \"5000 ETH\"",
            "order_value_max",
            "USDC",
        ),
        (
            "price_floor = \"1000 USDC\"",
            "price_floor = 1e3",
            "price_floor",
            "price_floor",
        ),
    ];
    for (number, (from, to, key, word)) in cases.into_iter().enumerate() {
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from} is in the example");
        let name = format!("bad{number}");
        let path = stage.path(&format!("{name}.toml"));
        std::fs::write(&path, &text).unwrap();
        let (code, log) = refused(&stage, &name);
        assert_eq!(code, 77, "{to}: {log}");
        let place = format!("{}:{}", path.display(), line(&text, key));
        assert!(log.contains(&place), "{to}: no {place} in {log}");
        assert!(log.contains(word), "{to}: no {word} in {log}");
    }
    for (number, text) in ["", "config_version = 2\n", "[venue\n", "\u{0}"]
        .iter()
        .enumerate()
    {
        let name = format!("broken{number}");
        std::fs::write(stage.path(&format!("{name}.toml")), text).unwrap();
        let (code, log) = refused(&stage, &name);
        assert_eq!(code, 77, "{text:?}: {log}");
    }
    let (code, _) = refused(&stage, "not-there");
    assert_eq!(code, 77);
    assert_eq!(watched.connections(), 0);
    assert!(!stage.path("good-state").exists());
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn wrong_keys_and_wrong_places_are_refused() {
    let stage = Stage::open("keys", |_| {});
    let copy = |folder: &str, api: &str, key: &str| {
        std::fs::create_dir(stage.path(folder)).unwrap();
        for (name, text) in [("api_key", api), ("eddsa_key", key)] {
            let path = stage.path(folder).join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
    };
    let read = |name: &str| std::fs::read_to_string(stage.path("keys").join(name)).unwrap();
    let (api, key) = (read("api_key"), read("eddsa_key"));
    copy("others", &api, "0x1234567890abcdef\n");
    copy("nonsense", &api, "this-is-no-key\n");
    copy("open", &api, &key);
    let opened = stage.path("open/eddsa_key");
    std::fs::set_permissions(&opened, Permissions::from_mode(0o644)).unwrap();
    copy("empty", "", &key);
    copy("stranger", "an-unknown-key\n", &key);

    let keys = |folder: &str| {
        let folder = folder.to_owned();
        move |file: &mut toml::Table| {
            file.put("keys.api_key_file", format!("{folder}/api_key"))
                .put("keys.eddsa_key_file", format!("{folder}/eddsa_key"));
        }
    };
    let put = |path: &'static str, value: Value| {
        move |file: &mut toml::Table| {
            file.put(path, value);
        }
    };
    let chmod = format!("chmod 600 {}", opened.display());
    let unknown_owner = "0x00000000000000000000000000000000000000aa";
    let cases: Vec<Case<'_>> = vec![
        (
            "others-key",
            Box::new(keys("others")),
            vec!["EdDSA key", "10000", "another public key"],
        ),
        (
            "no-key",
            Box::new(keys("nonsense")),
            vec!["EdDSA key", "hexadecimal"],
        ),
        ("open-key", Box::new(keys("open")), vec!["0644", &chmod]),
        (
            "empty-key",
            Box::new(keys("empty")),
            vec!["api_key is empty"],
        ),
        (
            "stranger-key",
            Box::new(keys("stranger")),
            vec!["does not know the API key in", "stranger/api_key"],
        ),
        (
            "missing-key",
            Box::new(keys("nowhere")),
            vec!["does not exist"],
        ),
        (
            "owner",
            Box::new(put("venue.owner", unknown_owner.into())),
            vec!["venue.owner", unknown_owner, "has no account at the venue"],
        ),
        (
            "account",
            Box::new(put("venue.account_id", 10_001.into())),
            vec!["venue.account_id = 10001", "10000"],
        ),
        (
            "chain",
            Box::new(put("venue.chain_id", 5.into())),
            vec!["venue.chain_id = 5", "chain 1"],
        ),
        (
            "exchange",
            Box::new(put("venue.exchange", unknown_owner.into())),
            vec!["venue.exchange"],
        ),
        (
            "precision",
            Box::new(put("market.0.quote_precision", 2.into())),
            vec!["quote_precision = 2", "publishes 6"],
        ),
        (
            "shares",
            Box::new(put("market.0.pool.lp_decimals", 6.into())),
            vec!["market.pool.lp_decimals = 6", "publishes 8"],
        ),
        (
            "decimals",
            Box::new(put("market.0.base_decimals", 8.into())),
            vec!["base_decimals", "18"],
        ),
    ];
    for (name, edit, words) in cases {
        stage.daemon(name, &stage.url(), edit);
        let (code, log) = refused(&stage, name);
        assert_eq!(code, 77, "{name}: {log}");
        for word in words {
            assert!(log.contains(word), "{name}: no {word:?} in {log}");
        }
        for secret in [api.trim(), key.trim(), "this-is-no-key", "1234567890abcdef"] {
            assert!(!log.contains(secret), "{name} shows a secret");
        }
        assert!(
            !stage.path(&format!("{name}-tape")).exists(),
            "{name}: nothing was begun"
        );
    }
    assert_eq!(stage.books().orders.len(), 0);
    stage.close();
}

/// Chain, exchange and units as the venue publishes them, in lines that are the file's own.
#[test]
fn check_prints_the_pins_of_a_venue() {
    let stage = Stage::open("pins", |_| {});
    stage.daemon("daemon", &stage.url(), |_| {});
    let config = stage.path("daemon.toml").display().to_string();
    let pin = |name: &str| {
        let args = ["check", "--pin", "--config", &config];
        run(stage.folder.path(), name, &args, SOON)
    };
    let (code, printed, log) = pin("pin");
    assert_eq!(code, 0, "{log}");
    let printed: toml::Table = printed.parse().unwrap();
    let file: toml::Table = std::fs::read_to_string(&config).unwrap().parse().unwrap();
    for key in ["chain_id", "exchange"] {
        assert_eq!(printed["venue"][key], file["venue"][key]);
    }
    let (printed, file) = (&printed["market"][0], &file["market"][0]);
    for key in [
        "name",
        "base_decimals",
        "base_precision",
        "quote_decimals",
        "quote_precision",
        "price_decimals",
    ] {
        assert_eq!(printed[key], file[key], "{key}");
    }
    for key in ["lp_decimals", "lp_precision"] {
        assert_eq!(printed["pool"][key], file["pool"][key], "{key}");
    }
    // Without keys, and informed that the file selects another mode.
    stage.daemon("daemon", &stage.url(), |file| {
        file.put("keys.api_key_file", "nowhere/api_key")
            .put("venue.chain_id", 5)
            .put("market.0.base_precision", 18);
    });
    let (code, printed, log) = pin("pin-other");
    assert_eq!(code, 1, "{log}");
    assert!(printed.contains("chain_id = 1\n"), "{printed}");
    for words in ["venue.chain_id = 5", "market.base_precision = 18"] {
        assert!(log.contains(words), "{log}");
    }
    let args = ["check", "--pin", "--json", "--config", &config];
    let (_, printed, _) = run(stage.folder.path(), "pin-json", &args, SOON);
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["markets"][0]["base_precision"], 6);
    assert_eq!(printed["differences"].as_array().unwrap().len(), 2);
    stage.close();
}

fn level(address: &str) -> Option<String> {
    let status: serde_json::Value = serde_json::from_str(&body(address, "/status")?).ok()?;
    Some(status.get("level")?.as_str()?.to_owned())
}

#[test]
fn the_trading_state_survives_restarts_and_only_the_operator_lowers_it() {
    let stage = Stage::open("level", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let resting = || (stage.books().open() > 0).then_some(());

    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "quotes", resting);
    daemon.signal(Signal::USR1);
    until(SOON, "cancel-only", || {
        (level(&address)? == "cancel_only").then_some(())
    });
    until(SOON, "no own orders", || {
        (stage.books().open() == 0).then_some(())
    });
    let orders = stage.books().orders.len();
    // Not even a kill forgets it.
    daemon.kill();

    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "thirty polls", || {
        let page = body(&address, "/metrics")?;
        (metric(&page, "cambist_http_requests_total", &["depth"]) >= 30.0).then_some(())
    });
    assert_eq!(level(&address).unwrap(), "cancel_only");
    assert_eq!(stage.books().orders.len(), orders, "no new order");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());

    let config = stage.path("daemon.toml").display().to_string();
    let resume = |reason: &str| {
        let args = ["resume", "--json", "--config", &config, "--reason", reason];
        run(stage.folder.path(), "resume", &args, SOON)
    };
    assert_eq!(resume("  ").0, 2, "a reason is a reason");
    let (code, out, log) = resume("cause found");
    assert_eq!(code, 0, "{log}");
    assert!(
        out.contains("\"was\"") && out.contains("cancel_only"),
        "{out}"
    );

    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "quotes again", resting);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_eq!(stage.books().open(), 0);
    let summary = daemon.stdout();
    let last = serde_json::Deserializer::from_str(&summary).into_iter::<serde_json::Value>();
    stage
        .books()
        .assert_ledger(&last.last().unwrap().unwrap().to_string());
    stage.close();
}

#[test]
fn a_halted_store_is_not_started() {
    let stage = Stage::open("halted", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let mut store = Store::open(&stage.path("daemon-state")).unwrap();
    store
        .set_restrictions(
            &Restrictions::of(TradingState::Halted),
            "balances differ",
            false,
        )
        .unwrap();
    drop(store);
    let (code, log) = refused(&stage, "daemon");
    assert_eq!(code, 78, "{log}");
    assert!(
        log.contains("balances differ") && log.contains("cambist resume"),
        "{log}"
    );
    assert_eq!(stage.books().orders.len(), 0);
}

#[test]
fn a_damaged_store_is_not_started_and_not_changed() {
    let stage = Stage::open("damaged", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "quotes", || (stage.books().open() > 0).then_some(()));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(!Keeping::read(&stage.path("daemon-state")).0.is_empty());

    let file = stage.path("daemon-state/cambist.db");
    let bytes = std::fs::read(&file).unwrap();
    let at = find(&bytes, b"maker_only").unwrap();
    let mut damaged = bytes.clone();
    damaged[at] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    let orders = stage.books().orders.len();
    std::fs::remove_file(stage.path("daemon.out")).unwrap();
    let (code, log) = refused(&stage, "daemon");
    assert_eq!(code, 79, "{log}");
    assert!(
        log.contains("damaged") && log.contains("cambist.db"),
        "{log}"
    );
    assert!(
        std::fs::read(&file).unwrap() == damaged,
        "the evidence is left as it was"
    );
    assert_eq!(stage.books().orders.len(), orders);
    stage.close();
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[test]
fn errors_of_the_command_line_name_what_is_wrong() {
    let folder = Folder::new("usage");
    let folder: &Path = folder.path();
    for (args, code) in [
        (&["run"][..], 2),
        (&["fly"], 2),
        (&["demo", "--duration", "fast"], 2),
        (&["--version"], 0),
        (&["--help"], 0),
    ] {
        let (found, out, log) = run(folder, "usage", args, SOON);
        assert_eq!(found, code, "{args:?}: {out}{log}");
    }
    let (code, out, log) = run(
        folder,
        "strategy",
        &["demo", "--json", "--strategy", "bend"],
        SOON,
    );
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &object["exit"]), (2, &2.into()), "{out}");
    assert!(log.contains("did you mean bands?"), "{log}");
}
