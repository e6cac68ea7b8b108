//! Reasons for missing quotes: common mistakes, found before the start, at the start and during the run; the same
//! reason in status, `/status`, `/readyz`, metrics and the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use toml::Table;

use crate::support::http::{body, metric, page};
use crate::support::process::run;
use crate::support::stage::quick;
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(30);

/// Each check writes separate files.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Exit code, object and log of `cambist check`.
fn check(stage: &Stage, name: &str, online: bool) -> (i32, Value, String) {
    let config = stage.path(&format!("{name}.toml")).display().to_string();
    let mut args = vec!["check", "--json", "--config", &config];
    args.extend(online.then_some("--online"));
    let file = format!("check-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let (code, out, log) = run(stage.folder.path(), &file, &args, SOON);
    (code, serde_json::from_str(&out).unwrap(), log)
}

/// The reason of a side.
fn reason<'a>(page: &'a Value, side: &str) -> &'a Value {
    &page["markets"][0]["withheld"][side]["reason"]
}

/// Waits until status shows these reasons, buy then sell, and compares all other outputs with it.
fn assert_reported(
    stage: &Stage,
    daemon: &mut Program,
    state: &str,
    reasons: [Option<&str>; 2],
) -> Value {
    let address = stage.metrics("daemon", daemon);
    let wanted = reasons.map(Value::from);
    let status = until(SOON, "the reasons", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        let found = ["buy", "sell"].map(|side| reason(&page, side).clone());
        (found == wanted && page["state"] == state).then_some(page)
    });
    let served: Value = serde_json::from_str(&body(&address, "/status").unwrap()).unwrap();
    let (head, readiness) = page(&address, "/readyz").unwrap();
    let metrics = body(&address, "/metrics").unwrap();
    for (side, wanted) in ["buy", "sell"].into_iter().zip(reasons) {
        assert_eq!(reason(&served, side), reason(&status, side), "{side}");
        let gauge = |reason: &str| {
            let labels = [&format!("side=\"{side}\""), &format!("reason=\"{reason}\"")];
            let labels = labels.map(String::as_str);
            metric(&metrics, "cambist_quotes_withheld", &labels)
        };
        let all = metric(
            &metrics,
            "cambist_quotes_withheld",
            &[&format!("side=\"{side}\"")],
        );
        let line = readiness
            .lines()
            .find(|line| line.starts_with(&format!("ETH-USDC {side}: ")));
        if let Some(wanted) = wanted {
            assert!(
                (gauge(wanted) - 1.0).abs() < 1e-9 && (all - 1.0).abs() < 1e-9,
                "{side} {wanted}"
            );
            let line = line.unwrap_or_else(|| panic!("no {side} in {readiness}"));
            assert!(line.contains(wanted), "{line}");
            let log = daemon.stderr();
            assert!(log.contains("not quoted") && log.contains(wanted), "{log}");
        } else {
            assert!(all.abs() < 1e-9 && line.is_none(), "{side}: {readiness}");
        }
    }
    let ready = reasons.iter().any(Option::is_none);
    assert_eq!(
        head.starts_with("HTTP/1.0 200") || head.starts_with("HTTP/1.1 200"),
        ready,
        "{head}"
    );
    status
}

/// One mistake in the file of a daemon.
type Mistake = Box<dyn Fn(&mut Table)>;

/// The mistake; exit codes of check and check --online; state, reasons and key during the run.
type Case<'a> = (Mistake, [i32; 2], &'a str, [Option<&'a str>; 2], &'a str);

#[test]
fn common_mistakes_are_refused_counted_and_reported() {
    let stage = Stage::open("reasons", |_| {});
    let put = |path: &'static str, value: &'static str| -> Mistake {
        Box::new(move |file| {
            quick(file);
            file.put(path, value);
        })
    };
    let ladder = |key: &'static str, value: f64| -> Mistake {
        Box::new(move |file| {
            quick(file);
            file.put(&format!("market.0.strategy.0.params.{key}"), value);
        })
    };
    let never = [Some("order_value"); 2];
    let cases: [Case<'_>; 4] = [
        // Below the venue's minimum of 1 USDC, and below 0.2 ETH at any price that is allowed.
        (
            put("market.0.order_value_max", "0.5 USDC"),
            [77, 77],
            "not_quoting",
            never,
            "market.order_value_max",
        ),
        // The venue accepts no order below 0.001 ETH: only it can report this.
        (
            ladder("order_amount", 0.0005),
            [0, 1],
            "not_quoting",
            [Some("order_amount"); 2],
            "market.strategy.params",
        ),
        // The market is at 2500.
        (
            put("market.0.price_floor", "3000 USDC"),
            [0, 1],
            "not_quoting",
            [Some("price_band"); 2],
            "market.price_floor",
        ),
        // 20 ETH are held and may be sold.
        (
            put("market.0.inventory_max", "10 ETH"),
            [0, 0],
            "active",
            [Some("inventory_band"), None],
            "market.inventory_max",
        ),
    ];
    for (mistake, exits, state, reasons, key) in cases {
        stage.daemon("daemon", &stage.url(), |file| {
            mistake(file);
            if file["market"][0].get("seed_price").is_some() && key == "market.price_floor" {
                file.put("market.0.empty_book", "no-quote");
                file["market"][0]
                    .as_table_mut()
                    .unwrap()
                    .remove("seed_price");
            }
        });
        for (online, exit) in [false, true].into_iter().zip(exits) {
            let (code, mut object, log) = check(&stage, "daemon", online);
            assert_eq!(code, exit, "{key} {online}: {object} {log}");
            // Every limit is listed there, valid or not.
            object.as_object_mut().unwrap().remove("limits");
            let text = object.to_string();
            let found = text.contains(key);
            assert_eq!(found, online || exit != 0, "{key} {online}: {text}");
        }
        let mut daemon = stage.run("daemon");
        let status = assert_reported(&stage, &mut daemon, state, reasons);
        assert_eq!(status["markets"][0]["withheld"]["buy"]["key"], key);
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    }
    stage.close();
}

#[test]
fn a_full_pause_is_not_active() {
    let stage = Stage::open("reasons-pause", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    assert_reported(&stage, &mut daemon, "active", [None, None]);
    let (code, _, log) = stage.command("pause --reason lunch");
    assert_eq!(code, 0, "{log}");
    assert_reported(&stage, &mut daemon, "paused", [Some("paused"); 2]);
    let (code, _, log) = stage.command("resume --reason over");
    assert_eq!(code, 0, "{log}");
    assert_reported(&stage, &mut daemon, "active", [None, None]);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
