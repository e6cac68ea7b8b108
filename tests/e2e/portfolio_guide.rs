//! The section "Trying it" of the document about portfolios: its commands, as they are written there, with the shipped
//! files.

use std::time::Duration;

use serde_json::Value;

use crate::kraken_daemon::guide::{blocks, copy, start, succeeds};
use crate::kraken_daemon::stage::SOON;
use crate::support::{Edit, Folder, Program, until};

const GUIDE: &str = include_str!("../../docs/portfolio.md");

/// Where an exchange listens.
fn address(folder: &Folder, venue: &mut Program, keys: &str) -> String {
    until(SOON, "an exchange", || {
        assert!(venue.ended().is_none(), "{}", venue.last_words());
        let file = folder.path().join(format!("target/{keys}/venue.address"));
        let text = std::fs::read_to_string(file);
        text.ok()?.strip_suffix('\n').map(str::to_owned)
    })
}

fn both(status: &Value, is: impl Fn(&Value) -> bool) -> bool {
    ["own", "kraken"].iter().all(|name| is(&status[name]))
}

#[test]
fn the_commands_of_the_document_trade_on_two_shipped_exchanges() {
    let folder = Folder::new("portfolio-guide");
    let root = folder.path();
    for name in ["config/venue.toml", "config/venue-kraken.toml"] {
        copy(root, name, |file| {
            file.put("listen.address", "127.0.0.1:0");
        });
    }
    copy(root, "config/demo-portfolio.toml", |_| {});
    let blocks = blocks(GUIDE);
    let [kraken, own, daemon, beside] = &blocks[..] else {
        panic!("{blocks:?}");
    };
    let (serve, keys) = kraken.split_last().unwrap();
    for key in keys {
        succeeds(root, key);
    }
    let mut kraken = start(root, "kraken", serve);
    let [serve] = &own[..] else {
        panic!("{own:?}");
    };
    let mut own = start(root, "own", serve);
    let addresses = [
        address(&folder, &mut own, "two-terminals/keys"),
        address(&folder, &mut kraken, "kraken/exchange"),
    ];
    for (name, address) in ["demo", "demo-kraken"].iter().zip(&addresses) {
        copy(root, &format!("config/{name}.toml"), |file| {
            let metrics: toml::Table = "listen = '127.0.0.1:0'".parse().unwrap();
            file.put("venue.base_url", format!("http://{address}"));
            file.insert("metrics".to_owned(), metrics.into());
        });
    }
    let (trade, looks) = daemon.split_last().unwrap();
    let looks: Vec<_> = looks.iter().map(|look| succeeds(root, look)).collect();
    // `check --online` and `doctor` compare what both accounts hold with the limits.
    for look in &looks[1..] {
        assert!(look.contains("portfolio.tokens.inventory_max"), "{look}");
        assert!(look.contains("at most 0.02 BTC"), "{look}");
    }
    let mut daemon = start(root, "daemon", trade);
    let [status, pause, resume, history, report, drain] = &beside[..] else {
        panic!("{beside:?}");
    };
    until(SOON, "the daemon", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let states = ["kraken", "two-terminals"];
        let mut files = states.map(|name| format!("target/{name}/state/metrics.address"));
        let is_there = |name: &mut String| root.join(name).exists();
        files.iter_mut().all(is_there).then_some(())
    });
    let mut json = status.clone();
    json.push("--json".to_owned());
    let mut page = || -> Value {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        std::thread::sleep(Duration::from_secs(1));
        serde_json::from_str(&succeeds(root, &json)).unwrap()
    };
    let live = |page: &Value, side: &str| page["markets"][0][side].as_u64().unwrap_or(0);
    until(
        Duration::from_mins(4),
        "orders on both sides of both",
        || {
            let page = page();
            let is_quoted = |of: &Value| live(of, "live_buy") > 0 && live(of, "live_sell") > 0;
            both(&page, is_quoted).then_some(())
        },
    );
    let text = succeeds(root, status);
    for part in ["== own", "== kraken", "portfolio", "inventory_max"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    succeeds(root, pause);
    let paused = page();
    let pauses = |of: &Value| of["paused"].as_array().map_or(0, Vec::len);
    let counts = ["own", "kraken"].map(|name| pauses(&paused[name]));
    assert_eq!(counts, [1, 0], "{paused}");
    succeeds(root, resume);
    assert_eq!(pauses(&page()["own"]), 0);
    succeeds(root, history);
    let reported = succeeds(root, report);
    assert!(
        reported.contains("ETH-USDC, bands") && reported.contains("\nXBT "),
        "{reported}"
    );
    succeeds(root, drain);
    assert_eq!(
        daemon.end(Duration::from_secs(150)),
        0,
        "{}",
        daemon.last_words()
    );
    for venue in [&mut own, &mut kraken] {
        venue.close_stdin();
        assert_eq!(venue.end(SOON), 0, "{}", venue.last_words());
    }
}
