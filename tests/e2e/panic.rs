//! `cambist panic`: beside a daemon, after one, with orders in flight, through a bad network, and with an unreachable
//! exchange. Resting orders are read from the exchange.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use cambist_core::OrderStatus;
use cambist_core::pool::PoolTransactionStatus;
use cambist_core::request::Outcome;
use serde_json::Value;

use crate::support::books::{asynchronously, client};
use crate::support::faults::Hook;
use crate::support::process::run;
use crate::support::stage::{lively, quick, with_pool};
use crate::support::{Edit, Fault, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Runs the command; its object, its log, its exit.
fn panic(stage: &Stage, config: &str, more: &[&str]) -> (i32, Value, String) {
    let config = stage.path(&format!("{config}.toml")).display().to_string();
    let args = [&["panic", "--yes", "--json", "--config", &config][..], more].concat();
    let (code, out, log) = run(stage.folder.path(), "panic", &args, SOON);
    // There are several if it was run before.
    let objects = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    let object = objects.last().unwrap_or_else(|| panic!("{out}\n{log}"));
    (code, object.unwrap(), log)
}

/// A daemon whose orders rest, behind a proxy.
fn trading(name: &str) -> (Stage, Proxy, Program) {
    let stage = Stage::open(name, lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let daemon = stage.run("daemon");
    until(SOON, "orders at the exchange", || {
        (stage.books().open() >= 2).then_some(())
    });
    (stage, proxy, daemon)
}

/// Client order ids of all orders that the exchange shows.
fn ids(stage: &Stage) -> Vec<String> {
    let orders = stage.books().orders;
    let ids = orders.iter().filter_map(|order| order.client_id);
    ids.map(|id| id.to_string()).collect()
}

fn assert_proven(stage: Stage, code: i32, object: &Value) {
    assert_eq!(code, 0, "{object}");
    assert_eq!(object["proven"], true, "{object}");
    assert_eq!(object["left"], serde_json::json!([]), "{object}");
    // Not before ttl and grace have passed: an order may be in flight.
    assert!(object["took_s"].as_f64().unwrap() > 6.0, "{object}");
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

#[test]
fn beside_a_daemon_it_raises_the_latch_first() {
    let (stage, _proxy, mut daemon) = trading("panic-beside");
    let (code, object, _) = panic(&stage, "daemon", &["--reason", "fat finger"]);
    assert_eq!(object["latch"], "raised");
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    // Nothing trades until an operator resumes.
    let config = stage.path("daemon.toml").display().to_string();
    let folder = stage.folder.path().to_owned();
    let args = ["run", "--config", &config, "--until-stdin-closes"];
    let (refused, _, log) = run(&folder, "refused", &args, SOON);
    assert_eq!(refused, 78, "{log}");
    assert!(
        log.contains("fat finger") && log.contains("cambist resume"),
        "{log}"
    );
    let args = [
        "resume",
        "--json",
        "--config",
        &config,
        "--reason",
        "cause found",
    ];
    let (resumed, out, log) = run(&folder, "resume", &args, SOON);
    assert_eq!(resumed, 0, "{log}");
    let was: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&was["was"], &was["now"]),
        (&"halted".into(), &"trading".into())
    );
    assert_eq!(was["latch"], "panic: fat finger");
    let mut again = stage.run("daemon");
    until(SOON, "orders again", || {
        assert!(again.ended().is_none(), "{}", again.last_words());
        (stage.books().open() > 0).then_some(())
    });
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    assert_proven(stage, code, &object);
}

/// A file that was changed while the daemon runs, wrongly: what stops the daemon needs little of it.
#[test]
fn errors_of_the_file_do_not_keep_a_daemon_trading() {
    let (stage, _proxy, mut daemon) = trading("panic-errors");
    let file = stage.path("daemon.toml");
    let sound = std::fs::read_to_string(&file).unwrap();
    let limit = sound.lines().find(|line| line.starts_with("inventory_max"));
    let wrong = sound
        .replacen(limit.unwrap(), "inventory_max = \"35 USDC\"", 1)
        .replacen("[orders]\n", "[orders]\nspread = 3\n", 1);
    std::fs::write(&file, wrong).unwrap();
    for (line, wanted) in [
        ("status", 0),
        ("top --once", 0),
        ("history", 0),
        ("pause --side buy --reason wrong", 0),
        ("check", 77),
        ("reload", 77),
    ] {
        let (code, _, log) = stage.command(line);
        assert_eq!(code, wanted, "{line}: {log}");
        assert!(log.contains("unknown key orders.spread"), "{line}: {log}");
        assert_eq!(log.contains("does not need"), wanted == 0, "{line}: {log}");
    }
    let (code, answer, log) = stage.command("kill --reason wrong");
    assert_eq!((code, &answer["latch"]), (0, &Value::from(true)), "{log}");
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    let (code, object, log) = panic(&stage, "daemon", &["--reason", "wrong"]);
    assert!(log.contains("this amount is in USDC"), "{log}");
    // Its limits are those of the file.
    let (refused, _, log) = stage.command("resume --reason wrong");
    assert_eq!(refused, 77, "{log}");
    std::fs::write(&file, sound).unwrap();
    assert_proven(stage, code, &object);
}

#[test]
fn it_needs_neither_daemon_nor_store() {
    let (stage, _proxy, mut daemon) = trading("panic-alone");
    daemon.kill();
    std::fs::remove_dir_all(stage.path("daemon-state")).unwrap();
    let (code, object, _) = panic(&stage, "daemon", &[]);
    assert!(object["found"].as_u64().unwrap() > 0, "{object}");
    assert!(stage.path("daemon-state/latch").exists());
    assert_proven(stage, code, &object);
}

#[test]
fn a_proof_shows_in_status_until_the_next_start() {
    let (stage, _proxy, mut daemon) = trading("panic-status");
    daemon.kill();
    let status = || stage.command("status").1;
    let open = status()["not_proven_gone"].as_u64().unwrap();
    assert!(open >= 2, "{open}");
    assert_eq!(status()["panic"], Value::Null);
    let (code, object, _) = panic(&stage, "daemon", &[]);
    let page = status();
    assert_eq!(page["not_proven_gone"], 0, "{page}");
    assert_eq!(page["panic"]["without_end"], open, "{page}");
    let text = page["panic"]["text"].as_str().unwrap();
    assert!(text.contains("none of them is alive"), "{text}");
    // Also when trading is allowed again, until a daemon trades.
    let (resumed, _, log) = stage.command("resume --reason cause-found");
    assert_eq!(resumed, 0, "{log}");
    assert_eq!(status()["not_proven_gone"], 0);
    let mut again = stage.run("daemon");
    until(SOON, "orders again", || {
        assert!(again.ended().is_none(), "{}", again.last_words());
        (stage.books().open() > 0).then_some(())
    });
    again.kill();
    let page = status();
    assert!(page["not_proven_gone"].as_u64().unwrap() > 0, "{page}");
    assert_eq!(page["panic"], Value::Null, "{page}");
    let mut last = stage.run("daemon");
    until(SOON, "it trades", || {
        assert!(last.ended().is_none(), "{}", last.last_words());
        (status()["state"] == "active").then_some(())
    });
    assert_eq!(last.drain(SOON), 0, "{}", last.last_words());
    assert_proven(stage, code, &object);
}

#[test]
fn without_the_latch_it_does_not_say_that_trading_is_off() {
    let (stage, _proxy, mut daemon) = trading("panic-unlatched");
    daemon.kill();
    // A folder that no user can write to.
    std::fs::remove_dir_all(stage.path("daemon-state")).unwrap();
    std::fs::write(stage.path("daemon-state"), "").unwrap();
    let (code, out, log) = stage.prose("panic --yes");
    assert_eq!(code, 80, "{out}{log}");
    assert!(out.contains("TRADING IS NOT OFF"), "{out}");
    assert!(!out.contains("stays off"), "{out}");
    assert!(log.contains("the latch was not set"), "{log}");
    assert_eq!(
        stage.books().open(),
        0,
        "everything is cancelled all the same"
    );
    stage.close();
}

#[test]
fn an_order_that_arrives_later_is_found() {
    let (stage, proxy, mut daemon) = trading("panic-late");
    proxy.plan(|seen| {
        if seen.is_submit() {
            Fault::Late(Duration::from_secs(3))
        } else {
            Fault::Pass
        }
    });
    until(SOON, "a submit under way", || {
        (proxy.faults() > 0).then_some(())
    });
    daemon.kill();
    let there: Vec<String> = ids(&stage);
    let late: Vec<String> = proxy
        .submits()
        .iter()
        .map(|body| serde_json::from_str::<Value>(body).unwrap())
        .map(|order| order["clientOrderId"].as_str().unwrap().to_owned())
        .filter(|id| !there.contains(id))
        .collect();
    assert!(!late.is_empty(), "all are there already");
    proxy.plan(|_| Fault::Pass);
    let (code, object, _) = panic(&stage, "daemon", &[]);
    // The market has moved meanwhile: a crossing order would be refused and not listed.
    let arrived = ids(&stage);
    assert!(
        late.iter().any(|id| arrived.contains(id)),
        "one of {late:?} has arrived: {arrived:?}"
    );
    assert_proven(stage, code, &object);
}

/// Signed with a longer time to live than the command was given, and delivered after an empty list was read: the next
/// list must show it.
#[test]
fn an_order_between_two_lists_is_found() {
    // Liquidity providers alone, at a price that stays: nothing fills the order before the next list.
    let stage = Stage::open("panic-between", |file| {
        for (key, value) in [
            ("noise", 0),
            ("informed", 0),
            ("arbitrageurs", 0),
            ("jumps_per_hour", 0),
            ("volatility_centi_bps_per_sqrt_s", 0),
        ] {
            file.put(&format!("traders.0.{key}"), value);
        }
    });
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("orders.ttl_s", 60).put("shutdown.deadline_s", 90);
    });
    stage.daemon("panic", &proxy.url, quick);
    proxy.plan(|seen| {
        if seen.is_submit() {
            Fault::LoseRequest
        } else {
            Fault::Pass
        }
    });
    let mut daemon = stage.run("daemon");
    until(SOON, "submits", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (proxy.submits().len() >= 2).then_some(())
    });
    daemon.kill();
    assert!(stage.books().orders.is_empty(), "all of them were lost");
    let (bodies, url, keys) = (proxy.submits(), stage.url(), stage.path("keys"));
    let deliver: Hook = Arc::new(move || {
        let client = client(&url, &keys);
        let mut taken = bodies.iter().map(|body| {
            let answered = asynchronously(client.submit(body.as_bytes()));
            matches!(answered.outcome, Outcome::Reply(_))
        });
        assert!(taken.any(|is_taken| is_taken), "one of {}", bodies.len());
    });
    let reads = AtomicUsize::new(0);
    proxy.plan(move |seen| {
        // A scan reads the list twice: this is the end of the second scan; an earlier one was empty.
        if seen.is_read_of("orders") && reads.fetch_add(1, Ordering::Relaxed) == 3 {
            Fault::OnAnswer(Arc::clone(&deliver))
        } else {
            Fault::Pass
        }
    });
    let (code, object, log) = panic(&stage, "panic", &["--within", "15s"]);
    assert!(log.contains("nothing is open; 0 were found"), "{log}");
    let orders = stage.books().orders;
    assert_eq!(
        (code, &object["found"]),
        (80, &1.into()),
        "{object} {orders:?}"
    );
    assert_eq!(object["left"], serde_json::json!([]), "{object}");
    // It was cancelled, and orders signed beside it may live as long.
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].status, OrderStatus::Cancelled);
    let dead_at_s = object["dead_at_s"].as_u64().unwrap();
    assert!(dead_at_s > orders[0].valid_until_s.into(), "{object}");
    stage.close();
}

#[test]
fn lists_that_never_agree_prove_nothing() {
    static ROUND: AtomicU64 = AtomicU64::new(0);
    let (stage, proxy, mut daemon) = trading("panic-disagree");
    daemon.kill();
    proxy.plan(|seen| {
        if seen.is_read_of("orders") {
            // One order differs in every answer.
            Fault::Mangle(|body| {
                let round = ROUND.fetch_add(1, Ordering::Relaxed);
                let (before, after) = body.split_once("\"hash\":\"0x").unwrap();
                format!("{before}\"hash\":\"0x{round:08x}{}", &after[8..])
            })
        } else {
            Fault::Pass
        }
    });
    let (code, object, _) = panic(&stage, "daemon", &["--within", "9s"]);
    assert_eq!((code, &object["lists"]), (80, &0.into()), "{object}");
    assert!(ROUND.load(Ordering::Relaxed) > 10);
    // The orders that they showed were cancelled.
    assert_eq!(stage.books().open(), 0, "{object}");
    stage.close();
}

#[test]
fn orders_of_others_are_left_alone_if_that_is_wanted() {
    let (stage, _proxy, mut daemon) = trading("panic-own");
    daemon.kill();
    // The second command waits for its expiry: its signer may have signed more.
    let foreign = stage.place_by_hand(16_000, "by-hand-1", 25);
    let open = || -> Vec<_> {
        let orders = stage.books().orders.into_iter();
        let open = orders.filter(|order| !order.status.is_final());
        open.map(|order| order.hash).collect()
    };
    assert!(open().len() > 1 && open().contains(&foreign));
    let (code, object, _) = panic(&stage, "daemon", &["--own-only"]);
    assert_eq!((code, &object["left_alone"]), (0, &1.into()), "{object}");
    assert_eq!(open(), [foreign], "{object}");
    assert_eq!(object["bound"]["USDC"]["whole"], "200", "{object}");
    let (code, object, _) = panic(&stage, "daemon", &[]);
    assert_eq!(
        (&object["found"], &object["left_alone"], &object["bound"]),
        (&1.into(), &0.into(), &serde_json::json!({})),
        "{object}"
    );
    assert_proven(stage, code, &object);
}

#[test]
fn while_a_join_is_under_way_nothing_is_proven() {
    let stage = Stage::open("panic-join", |file| {
        lively(file);
        file.put("delays.processing_ms", 25_000);
    });
    stage.daemon("daemon", &stage.url(), with_pool);
    let mut daemon = stage.run("daemon");
    let undecided = || {
        let moves = stage.moves();
        moves
            .iter()
            .any(|one| one.status == PoolTransactionStatus::Processing)
    };
    until(SOON, "a join under way", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        undecided().then_some(())
    });
    daemon.kill();
    // Long enough to prove the end of every order.
    let (code, object, log) = panic(&stage, "daemon", &["--within", "12s"]);
    assert!(undecided());
    assert_eq!(code, 80, "{object}");
    assert!(object["lists"].as_u64().unwrap() > 5, "{object}");
    assert_eq!(object["left"], serde_json::json!([]), "{object}");
    let moves = object["moves"].as_array().unwrap();
    assert_eq!((moves.len(), &moves[0]["kind"]), (1, &"join".into()));
    assert!(log.contains("1 joins and exits under way"), "{log}");
    // The command waits for it.
    let (code, object, _) = panic(&stage, "daemon", &[]);
    assert!(!undecided());
    assert_eq!(object["moves"], serde_json::json!([]), "{object}");
    assert_eq!(stage.moves().len(), 1);
    assert_proven(stage, code, &object);
}

#[test]
fn a_bad_network_delays_it_and_changes_nothing() {
    let (stage, proxy, mut daemon) = trading("panic-network");
    daemon.kill();
    proxy.plan(|seen| match seen.nth % 9 {
        1 => Fault::LoseAnswer,
        2 => Fault::LoseRequest,
        3 => Fault::Truncate,
        5 => Fault::HoldAnswer,
        6 => Fault::Instead {
            handed_over: false,
            answer: b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\nhtml".to_vec(),
        },
        7 => Fault::Mangle(|body| body.replace("\"orders\"", "\"others\"")),
        _ => Fault::Pass,
    });
    let (code, object, _) = panic(&stage, "daemon", &[]);
    assert!(object["failures"].as_u64().unwrap() > 0, "{object}");
    assert_proven(stage, code, &object);
}

#[test]
fn against_an_exchange_that_is_gone_nothing_is_proven() {
    let (stage, proxy, mut daemon) = trading("panic-gone");
    daemon.kill();
    proxy.plan(|_| Fault::LoseRequest);
    let (code, object, log) = panic(&stage, "daemon", &["--within", "3s"]);
    assert_eq!(code, 80, "{object}");
    assert_eq!(object["proven"], false);
    assert_eq!(object["lists"], 0);
    // Orders in the store, and one being signed at that moment, may live that long.
    let dead_at_s = object["dead_at_s"].as_u64().unwrap();
    let newest = stage
        .books()
        .orders
        .iter()
        .map(|order| order.valid_until_s)
        .max();
    assert!(dead_at_s > newest.unwrap().into(), "{object}");
    assert!(log.contains("no complete list yet"), "{log}");
    // Lists with a false length prove nothing either.
    proxy.plan(|seen| {
        if seen.method == "GET" && seen.path == "/api/v3/orders" {
            Fault::Mangle(|body| body.replace("\"totalNum\":", "\"totalNum\":9"))
        } else {
            Fault::Pass
        }
    });
    let (code, object, _) = panic(&stage, "daemon", &["--within", "8s"]);
    assert_eq!((code, &object["lists"]), (80, &0.into()), "{object}");
    stage.close();
}

#[test]
fn without_a_terminal_the_answer_is_no() {
    let stage = Stage::open("panic-ask", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let config = stage.path("daemon.toml").display().to_string();
    let args = ["panic", "--config", &config];
    let (code, out, log) = run(stage.folder.path(), "panic", &args, SOON);
    assert_eq!((code, out.as_str()), (2, ""), "{log}");
    assert!(log.contains("--yes"), "{log}");
    assert!(!stage.path("daemon-state").exists());
    stage.close();
}
