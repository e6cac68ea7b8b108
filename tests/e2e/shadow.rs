//! A second configuration beside a daemon that trades: real daemon, real exchange, real tape. The exchange and the
//! daemon do not learn of it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use toml::Table;

use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_mins(1);

/// An exchange, and a daemon that quotes on it.
fn trading(name: &str) -> (Stage, Program) {
    let stage = Stage::open(name, lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        // Small orders: what is held lasts for the whole test.
        file.put("market.0.strategy.0.params.order_amount", 0.05);
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "orders of the daemon", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let books = stage.books();
        (books.orders.len() > 2).then_some(())
    });
    (stage, daemon)
}

/// The daemon's file as a candidate: another mode and folder, no keys.
fn candidate(stage: &Stage, name: &str, edit: impl FnOnce(&mut Table)) -> PathBuf {
    let text = std::fs::read_to_string(stage.path("daemon.toml")).unwrap();
    let mut file: Table = text.parse().unwrap();
    file.remove("keys").unwrap();
    file.remove("tape").unwrap();
    let market = file["market"].as_array_mut().unwrap()[0]
        .as_table_mut()
        .unwrap();
    market.remove("pool");
    let shadow: Table = toml::from_str("tape = 'daemon-tape'").unwrap();
    let paper: Table = toml::from_str(
        "request_latency_ms = 1\nresponse_latency_ms = 1\nacknowledgement_delay_ms = 1\nrate_limit_per_s = 1000",
    )
    .unwrap();
    file.insert("shadow".to_owned(), shadow.into());
    file.insert("paper".to_owned(), paper.into());
    file.put("mode", "shadow")
        .put("store.dir", format!("{name}-state"))
        .put("market.0.base_decimals", 18)
        .put("market.0.quote_decimals", 6)
        .put("market.0.price_decimals", 2);
    edit(&mut file);
    let path = stage.path(&format!("{name}.toml"));
    std::fs::write(&path, file.to_string()).unwrap();
    path
}

#[track_caller]
fn shadow(
    stage: &Stage,
    name: &str,
    config: &std::path::Path,
    more: &[&str],
) -> (i32, Value, String) {
    let config = config.display().to_string();
    let mut args = vec!["run", "--json", "--config", &config];
    args.extend(more);
    let (code, out, log) = run(stage.folder.path(), name, &args, SOON);
    (code, serde_json::from_str(&out).unwrap_or(Value::Null), log)
}

fn number(value: &Value) -> f64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value}"));
    text.parse().unwrap()
}

/// The shadow quoted farther from the mid than the daemon, on one side.
#[track_caller]
fn assert_farther(side: &Value) {
    let count = |key: &str| side[key].as_u64().unwrap();
    assert!(count("both") > 2, "{side}");
    assert_eq!(count("shadow_nearer"), 0, "{side}");
    let [live, shadow] =
        ["live_distance_bps", "shadow_distance_bps"].map(|key| side[key].as_f64().unwrap());
    assert!(shadow - live > 10.0, "{side}");
}

#[test]
fn a_shadow_quotes_on_the_daemons_inputs_and_reports_the_difference_unknown_to_both() {
    let (stage, mut daemon) = trading("shadow-beside");
    let wider = candidate(&stage, "wider", |file| {
        // Farther than the market moves until the later of the two has replaced its order.
        file.put("market.0.strategy.0.params.bid_spread_bps", 100)
            .put("market.0.strategy.0.params.ask_spread_bps", 100);
    });
    let same = candidate(&stage, "same", |_| {});
    // Both at once: neither knows of the other.
    let mut other = {
        let config = same.display().to_string();
        let args = ["run", "--json", "--config", &config, "--for", "15s"];
        Program::start(stage.folder.path(), "same", &args)
    };
    let (code, page, log) = shadow(&stage, "wider", &wider, &["--for", "10s"]);
    assert_eq!(code, 0, "{page} {log}");
    let beside = &page["beside"];
    let report = &page["report"];
    assert_eq!(report["invariants"], serde_json::json!([]), "{report}");
    assert!(
        beside["live"]["orders"]["submitted"].as_u64().unwrap() > 0,
        "{beside}"
    );
    assert!(
        beside["shadow"]["orders"]["submitted"].as_u64().unwrap() > 0,
        "{beside}"
    );
    assert!(beside["live"]["fills"].as_u64().unwrap() > 0, "{beside}");
    for side in beside["quotes"].as_array().unwrap() {
        assert_farther(side);
    }
    for part in ["total", "spread", "holdings", "fees"] {
        let of = |run: &str| number(&beside[run]["pnl"][part]);
        let difference = of("shadow") - of("live");
        assert!(
            (difference - of("difference")).abs() < 1e-6,
            "{part}: {beside}"
        );
    }
    // It began with what the daemon held.
    let held = stage.books();
    assert!(
        !report["opening"].as_object().unwrap().is_empty(),
        "{report}"
    );

    // The same configuration fills as the daemon does: its fills are the market's trades.
    assert_eq!(other.end(SOON), 0, "{}", other.last_words());
    let page: Value = serde_json::from_str(&other.stdout()).unwrap();
    let beside = &page["beside"];
    let [live, shadow] = ["live", "shadow"].map(|run| beside[run]["fills"].as_u64().unwrap());
    assert!(live > 0 && shadow > 0, "{beside}");

    // Every order on the exchange is the daemon's own.
    let ids = held.orders.iter().filter_map(|order| order.client_id);
    let instances: std::collections::BTreeSet<_> = ids.map(|id| id.instance).collect();
    assert_eq!(instances.len(), 1, "{instances:?}");
    let folder = std::fs::read_dir(stage.path("wider-state")).unwrap();
    let html = folder
        .map(|entry| entry.unwrap().path().join("report.html"))
        .find(|path| path.is_file())
        .unwrap();
    let html = std::fs::read_to_string(html).unwrap();
    for words in [
        "Beside the daemon that trades",
        "ask of the shadow",
        "Change of equity",
    ] {
        assert!(html.contains(words), "{words}");
    }
    daemon.close_stdin();
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
    let summary: Value = serde_json::from_str(&daemon.stdout()).unwrap();

    a_backtest_of_the_tape_is_beside_what_the_daemon_did(&stage, &same, &summary);
    stage.close();
}

/// The same tape as data of a backtest: the daemon's fills are trades there as well. `summary` is what the daemon stated at
/// its end.
fn a_backtest_of_the_tape_is_beside_what_the_daemon_did(
    stage: &Stage,
    config: &std::path::Path,
    summary: &Value,
) {
    let (config, out) = (
        config.display().to_string(),
        stage.path("out").display().to_string(),
    );
    let tape = format!("tape:{}", stage.path("daemon-tape").display());
    let args = [
        "backtest",
        "--json",
        "--config",
        &config,
        "--data",
        &tape,
        "--out",
        &out,
        "--rate-limit",
        "none",
        "--skip",
        "gap",
    ];
    let (code, text, log) = run(stage.folder.path(), "backtest", &args, SOON);
    assert_eq!(code, 0, "{log}");
    let page: Value = serde_json::from_str(&text).unwrap();
    let report = &page["report"];
    assert!(report["fills"].as_u64().unwrap() > 0, "{report}");
    let assumed = report["assumed"].to_string();
    assert!(
        assumed.contains("fills of the daemon that recorded the data count as trades"),
        "{assumed}"
    );
    // What the daemon did is beside what the backtest did.
    let run = &page["beside"]["recorded_runs"][0];
    let recorded = &run["recorded"];
    let [all, counted] = [summary, recorded].map(|of| of["fills"].as_u64().unwrap());
    // One that it learnt of after its last depth is after the end of the data, and so is a later mid for what it held.
    assert!(
        counted > 0 && (counted..=counted + 2).contains(&all),
        "{run} {summary}"
    );
    if counted == all {
        for part in ["spread", "fees"] {
            assert_eq!(recorded[part], summary["pnl"][0][part], "{part}: {run}");
        }
    }
    assert_eq!(
        (&recorded["simulated_fills"], &run["unknown"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(run["backtest"]["fills"], report["fills"]);
    assert_eq!(run["backtest"]["total"], report["pnl"]["total"]);
    let html = std::fs::read_to_string(stage.path("out/report.html")).unwrap();
    assert!(html.contains("Beside the run that recorded the data"));
}

#[test]
fn a_shadow_takes_no_keys_and_needs_a_tape_and_a_folder_of_its_own() {
    let (stage, mut daemon) = trading("shadow-refused");
    let refused = |name: &str, more: &[&str], words: &str, edit: &dyn Fn(&mut Table)| {
        let config = candidate(&stage, name, edit);
        let args: Vec<_> = ["--for", "5s"].iter().chain(more).copied().collect();
        let (code, _, log) = shadow(&stage, name, &config, &args);
        assert_eq!(code, 77, "{name}: {log}");
        assert!(log.contains(words), "{name}: {words}: {log}");
    };
    refused("keys", &[], "sends nothing and takes no keys", &|file| {
        let keys: Table =
            toml::from_str("api_key_file = 'keys/api_key'\neddsa_key_file = 'keys/eddsa_key'")
                .unwrap();
        file.insert("keys".to_owned(), keys.into());
    });
    refused(
        "no-tape",
        &[],
        "needs the tape of the daemon beside it",
        &|file| {
            file.remove("shadow");
        },
    );
    refused(
        "nowhere",
        &["--beside", "/nonexistent"],
        "there is no such folder",
        &|_| {},
    );
    std::fs::create_dir(stage.path("state-only")).unwrap();
    std::fs::write(stage.path("state-only/cambist.db"), "").unwrap();
    refused(
        "no-recordings",
        &["--beside", &stage.path("state-only").display().to_string()],
        "a state folder without recordings",
        &|_| {},
    );
    refused(
        "folder",
        &[],
        "is the state folder of a daemon that trades",
        &|file| {
            file.put("store.dir", "daemon-state");
        },
    );
    refused(
        "own-tape",
        &[],
        "a shadow needs a store.dir of its own",
        &|file| {
            let tape: Table = toml::from_str("dir = 'daemon-tape'").unwrap();
            file.insert("tape".to_owned(), tape.into());
        },
    );
    refused(
        "market",
        &[],
        "is not on the tape of the daemon beside this run",
        &|file| {
            file.put("market.0.name", "XYZ-USDC");
            let text = file
                .to_string()
                .replace(" ETH\"", " XYZ\"")
                .replace(" ETH'", " XYZ'");
            *file = text.parse().unwrap();
        },
    );
    refused(
        "units",
        &[],
        "its units (decimals, precision) differ",
        &|file| {
            file.put("market.0.price_decimals", 1);
        },
    );
    // The daemon was not disturbed.
    daemon.close_stdin();
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
