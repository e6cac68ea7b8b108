//! A new trader of the exchange: the two commands of `docs/hosting.md` as they are written there, and a daemon that
//! trades with the keys they made. And the exchange's page, which such a trader sees first.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use cambist_core::Side;
use cambist_signing::ecdsa::EthKey;
use toml::Table;

use crate::support::http::{body, page};
use crate::support::process::run;
use crate::support::stage::{READY, lively, quick};
use crate::support::{Edit, Stage, until};

const SOON: Duration = Duration::from_mins(1);
const GUIDE: &str = include_str!("../../docs/hosting.md");
const WALLET: &str = "0x089228899e1b855cacd9dcc32a83ff0461cc089656995db5a5f248eb3d458ace";

/// Lively traders, and the operator's listener.
pub fn operator(file: &mut Table) {
    lively(file);
    let admin: Table =
        toml::from_str("listen = '127.0.0.1:0'\ntoken_file = 'keys/admin_token'").unwrap();
    file.insert("admin".to_owned(), admin.into());
}

/// A command of the guide as a shell splits it.
fn command(beginning: &str) -> Vec<String> {
    let line = GUIDE
        .lines()
        .find(|line| line.starts_with(beginning))
        .unwrap();
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.skip(1).collect()
}

#[test]
fn the_two_commands_of_the_guide_make_an_account_that_trades() {
    let stage = Stage::open("onboarding", operator);
    let wallet = stage.path("owner_key");
    fs::write(&wallet, format!("{WALLET}\n")).unwrap();
    fs::set_permissions(&wallet, fs::Permissions::from_mode(0o600)).unwrap();
    let places = |word: &String| match word.as_str() {
        "venue.toml" => stage.path("venue.toml").display().to_string(),
        "owner_key" => wallet.display().to_string(),
        "keys" => stage.path("trader").display().to_string(),
        "https://exchange.example" => stage.url(),
        other => other.to_owned(),
    };
    let execute = |name: &str, beginning: &str| {
        let words: Vec<_> = command(beginning).iter().map(places).collect();
        let mut args: Vec<_> = words.iter().map(String::as_str).collect();
        args.push("--json");
        run(stage.folder.path(), name, &args, READY)
    };
    let (code, out, log) = execute("onboard", "cambist venue onboard");
    assert_eq!(code, 0, "{log}");
    let opened: serde_json::Value = serde_json::from_str(&out).unwrap();
    let (code, _, log) = execute("onboard-again", "cambist venue onboard");
    assert_eq!(code, 1, "an owner has one account: {log}");
    let known = format!("has account {}", opened["account_id"]);
    assert!(log.contains(&known), "{log}");
    assert!(log.contains("deposit --account"), "how to go on: {log}");
    let (code, out, log) = execute("open", "cambist account open");
    assert_eq!(code, 0, "{log}");
    let trader: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(trader["account_id"], opened["account_id"]);
    let key = fs::read_to_string(stage.path("trader/eddsa_key")).unwrap();
    for name in ["eddsa_key", "api_key"] {
        let mode = fs::metadata(stage.path("trader").join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    // Again, as after a lost answer: the same key.
    let (code, _, log) = execute("open-again", "cambist account open");
    assert_eq!(code, 0, "{log}");
    assert_eq!(
        fs::read_to_string(stage.path("trader/eddsa_key")).unwrap(),
        key
    );
    fs::rename(stage.path("trader"), stage.path("lost")).unwrap();
    let (code, _, log) = execute("open-lost", "cambist account open");
    assert_eq!(code, 1, "a registered key is not replaced: {log}");
    assert!(log.contains("update-key"), "{log}");
    fs::rename(stage.path("lost"), stage.path("trader")).unwrap();

    let owner = EthKey::from_hex(WALLET).unwrap().address().to_string();
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("venue.owner", owner.as_str())
            .put("venue.account_id", trader["account_id"].as_i64().unwrap())
            .put("keys.api_key_file", "trader/api_key")
            .put("keys.eddsa_key_file", "trader/eddsa_key")
            .put("market.0.inventory_min", "0.1")
            .put("market.0.inventory_max", "3.5");
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "orders of the new trader", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, orders, _) = stage.command("account orders");
        let sides = orders.as_array()?.iter();
        let side = |side: Side| sides.clone().any(|order| order["side"] == side.name());
        (code == 0 && side(Side::Buy) && side(Side::Sell)).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}

#[test]
fn the_exchange_serves_its_page_and_nothing_else_can_run_in_it() {
    let stage = Stage::open("exchange-page", lively);
    for path in ["/", "/page"] {
        let (head, html) = page(&stage.address, path).unwrap();
        assert!(head.contains(" 200 OK"), "{head}");
        let head = head.to_lowercase();
        for word in [
            "text/html",
            "default-src 'none'",
            "frame-ancestors 'none'",
            "nosniff",
        ] {
            assert!(head.contains(word), "{path}: {head}");
        }
        assert!(html.contains("<noscript>"), "{html}");
    }
    for (path, kind) in [("/page.css", "text/css"), ("/page.js", "text/javascript")] {
        let (head, _) = page(&stage.address, path).unwrap();
        assert!(head.to_lowercase().contains(kind), "{head}");
    }
    // What its script reads.
    for path in [
        "/api/v3/exchange/info",
        "/api/v3/exchange/markets",
        "/api/v3/exchange/tokens",
        "/api/v3/amm/pools",
        "/api/ext/v1/ticker?market=ETH-USDC",
        "/api/ext/v1/candles?interval=1m&limit=240&market=ETH-USDC",
        "/api/ext/v1/trades?limit=60&market=ETH-USDC",
        "/health",
    ] {
        assert!(body(&stage.address, path).is_some(), "{path}");
    }
    stage.close();
    let bare = Stage::open("exchange-bare", |file| {
        file.put("exchange.market_data", false);
    });
    assert!(
        body(&bare.address, "/").is_none(),
        "off with the market data"
    );
    bare.close();
}
