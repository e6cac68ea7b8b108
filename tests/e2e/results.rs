//! History and profit and loss from the store of a daemon that was killed and started again, against the
//! exchange's own books.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::support::http::body;
use crate::support::process::run;
use crate::support::stage::{lively, with_pool};
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(50);

#[track_caller]
fn done(stage: &Stage, line: &str) -> Value {
    let (code, answer, log) = stage.command(line);
    assert_eq!(code, 0, "{line}: {answer} {log}");
    answer
}

fn rows(stage: &Stage, what: &str) -> Vec<Value> {
    let all = done(stage, &format!("history {what}"));
    all.as_array().unwrap().clone()
}

fn start(stage: &Stage, fills: usize) -> Program {
    let mut daemon = stage.run("daemon");
    until(SOON, "fills", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, page, _) = stage.command("history fills");
        (code == 0 && page.as_array().unwrap().len() >= fills).then_some(())
    });
    daemon
}

/// Whole tokens to base units of 18 decimals, which every amount here fits.
fn exact(text: &Value) -> i128 {
    let text = text.as_str().unwrap();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<24}");
    assert_eq!(part.len(), 24, "{text}");
    let whole: i128 = whole.parse().unwrap();
    sign * (whole * 10_i128.pow(24) + part.parse::<i128>().unwrap())
}

#[test]
fn kills_leave_no_gap_in_history_and_profit() {
    let stage = Stage::open("results-kills", |file| {
        lively(file);
        file.put("admin.listen", "127.0.0.1:0")
            .put("admin.token_file", "keys/admin_token");
    });
    stage.daemon("daemon", &stage.url(), with_pool);
    let mut daemon = start(&stage, 3);
    until(SOON, "a join", || {
        (!rows(&stage, "pools").is_empty()).then_some(())
    });
    daemon.kill();
    let killed = rows(&stage, "fills");
    // Beside no daemon at all.
    let report = done(&stage, "report");
    assert_eq!(report["reconciled"], true, "{report}");
    // Deposits are not profit.
    let venue = stage.path("venue.toml").display().to_string();
    let mut args = vec!["venue", "admin", "--config", &venue, "deposit"];
    args.extend([
        "--account",
        "10000",
        "--token",
        "ETH",
        "--amount",
        "1.5 ETH",
    ]);
    let (code, _, log) = run(stage.folder.path(), "deposit", &args, SOON);
    assert_eq!(code, 0, "{log}");
    done(
        &stage,
        "account adopt --token ETH --amount +1.5 --reason Monday --force",
    );
    let mut daemon = start(&stage, killed.len() + 3);
    // While the daemon runs: all tables at one moment.
    let report = done(&stage, "report");
    assert_eq!(report["reconciled"], true, "{report}");
    metrics_go_on(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());

    let report = done(&stage, "report");
    assert_eq!(report["reconciled"], true, "{report}");
    assert_eq!(report["notes"], serde_json::json!([]), "{report}");
    let fills = rows(&stage, "fills");
    // Everything from before the kill is still there.
    assert_eq!(fills[fills.len() - killed.len()..], killed[..]);

    has_a_page(&stage, &report);
    balances_are_the_exchanges(&stage, &report);
    causes_are_the_whole(&report, fills.len() as u64);
    filters_select(&stage, &fills);
    stage.close();
}

/// Causes in the metrics of a daemon that was killed and started again are those of the report, over both runs.
/// The same figures on one page without anything from elsewhere, which is not written over.
fn has_a_page(stage: &Stage, report: &Value) {
    let file = stage.path("report.html").display().to_string();
    let again = done(stage, &format!("report --html {file}"));
    assert_eq!(again["tokens"], report["tokens"]);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains("<svg") && !page.contains("http"), "{page}");
    for token in report["tokens"].as_array().unwrap() {
        let end = token["end"].as_str().unwrap();
        assert!(page.contains(&format!(">{end}<")), "{end}: {page}");
    }
    let config = stage.path("daemon.toml").display().to_string();
    let args = ["report", "--config", &config, "--html", &file];
    let (code, _, log) = run(stage.folder.path(), "page", &args, SOON);
    assert_eq!(code, 2, "{log}");
    assert!(log.contains("--overwrite"), "{log}");
}

fn metrics_go_on(stage: &Stage, daemon: &mut Program) {
    until(SOON, "metrics of the moment of a report", || {
        let before = done(stage, "report")["quotes"][0]["pnl"].clone();
        let address = stage.metrics("daemon", daemon);
        let page = body(&address, "/metrics")?;
        let after = done(stage, "report")["quotes"][0]["pnl"].clone();
        if before != after {
            return None;
        }
        let mut causes: BTreeMap<String, f64> = BTreeMap::new();
        let series = page.lines().filter_map(|line| {
            let line = line.strip_prefix("cambist_pnl_quote_units{")?;
            line.split_once("} ")
        });
        for (labels, value) in series {
            let (_, rest) = labels.split_once("cause=\"").unwrap();
            let cause = rest.split('"').next().unwrap();
            *causes.entry(cause.to_owned()).or_default() += value.parse::<f64>().unwrap();
        }
        assert_eq!(causes.len(), 6, "{page}");
        let agrees = causes.iter().all(|(cause, value)| {
            let reported: f64 = before[cause].as_str().unwrap().parse().unwrap();
            (reported - value).abs() < 1e-6
        });
        agrees.then_some(())
    });
}

#[track_caller]
fn balances_are_the_exchanges(stage: &Stage, report: &Value) {
    // Every balance equals the exchange's, and changed by trades and flows.
    let books = stage.books();
    let decimals = |symbol: &str| match symbol {
        "USDC" => 6,
        "LP-ETH-USDC" => 8,
        _ => 18,
    };
    let tokens = report["tokens"].as_array().unwrap();
    for token in tokens {
        let symbol = token["token"].as_str().unwrap();
        let units = books.totals.get(symbol).copied().unwrap_or(0);
        let held = i128::try_from(units).unwrap() * 10_i128.pow(24 - decimals(symbol));
        assert_eq!(exact(&token["end"]), held, "{symbol}");
        assert_eq!(token["unexplained"], "0", "{symbol}");
    }
    let of = |symbol: &str| {
        tokens
            .iter()
            .find(|token| token["token"] == symbol)
            .unwrap()
    };
    assert_eq!(of("ETH")["flows"], "1.5");
    assert_ne!(of("LP-ETH-USDC")["traded"], "0");
}

#[track_caller]
fn causes_are_the_whole(report: &Value, fills: u64) {
    // Causes sum to profit and loss, which is the change of equity less flows; days sum to the whole.
    let [quote] = report["quotes"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    let pnl = &quote["pnl"];
    let causes = ["spread", "holdings", "fees", "pool"].map(|cause| exact(&pnl[cause]));
    assert_eq!(causes.iter().sum::<i128>(), exact(&pnl["total"]));
    let change = exact(&quote["equity_end"]) - exact(&quote["equity_start"]);
    assert_eq!(change - exact(&quote["flows"]), exact(&pnl["total"]));
    assert_eq!(quote["unattributed"], "0");
    let days = report["days"].as_array().unwrap();
    let total: i128 = days.iter().map(|day| exact(&day["pnl"]["total"])).sum();
    assert_eq!(total, exact(&pnl["total"]));
    let counted: u64 = days.iter().map(|day| day["fills"].as_u64().unwrap()).sum();
    assert_eq!(counted, fills);
    let mut by_strategy: BTreeMap<&str, u64> = BTreeMap::new();
    for day in days {
        *by_strategy
            .entry(day["strategy"].as_str().unwrap())
            .or_default() += day["fills"].as_u64().unwrap();
    }
    assert_eq!(by_strategy.get("ladder"), Some(&(fills)), "{by_strategy:?}");
    assert_eq!(by_strategy.get("account").copied().unwrap_or(0), 0);
}

#[track_caller]
fn filters_select(stage: &Stage, fills: &[Value]) {
    // Filters, tables and CSV of the same rows.
    let bought = rows(stage, "fills --side buy");
    let sold = rows(
        stage,
        "fills --side sell --market ETH-USDC --strategy ladder",
    );
    assert_eq!(bought.len() + sold.len(), fills.len());
    assert!(rows(stage, "fills --to 2020-01-01").is_empty());
    let (code, csv, _) = stage.prose("history fills --csv");
    assert_eq!((code, csv.lines().count()), (0, fills.len() + 1));
    assert!(
        csv.starts_with("time,market,strategy,side,kind,price,"),
        "{csv}"
    );
    let orders = rows(stage, "orders");
    assert!(
        orders.iter().all(|order| order["state"] != "open"),
        "{orders:?}"
    );
    assert_eq!(rows(stage, "flows")[0]["reason"], "Monday");
    let (code, _, log) = stage.prose("history flows --side buy");
    assert_eq!(code, 2);
    assert!(log.contains("--side does not apply to flows"), "{log}");
    // A name that exists nowhere is refused; one of the file or of a row may have no row.
    for (command, names) in [
        ("history fills --market ETH-USD", "ETH-USDC"),
        ("history orders --strategy lader", "ladder"),
    ] {
        let (code, out, log) = stage.prose(command);
        assert_eq!((code, out.as_str()), (2, ""), "{command}: {log}");
        assert!(
            log.contains("no row has this name") && log.contains(names),
            "{log}"
        );
    }
    let (code, _, log) = stage.prose("report --from 2026-01-01T00:30Z");
    assert_eq!(code, 2);
    assert!(log.contains("by the hour"), "{log}");
}
