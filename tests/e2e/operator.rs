//! Operator commands to a running daemon, over its socket and by signals: the effect at the exchange, what survives a
//! kill, what is refused.

use std::os::unix::fs::DirBuilderExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cambist_core::Side;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Fault, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(40);

fn trading(name: &str) -> (Stage, Program) {
    let stage = Stage::open(name, lively);
    stage.daemon("daemon", &stage.url(), quick);
    let daemon = started(&stage);
    (stage, daemon)
}

fn started(stage: &Stage) -> Program {
    let mut daemon = stage.run("daemon");
    until(SOON, "both sides at the exchange", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        [Side::Buy, Side::Sell]
            .iter()
            .all(|side| open(stage, *side) > 0)
            .then_some(())
    });
    daemon
}

fn open(stage: &Stage, side: Side) -> usize {
    let books = stage.books();
    let open = books.orders.iter().filter(|order| !order.status.is_final());
    open.filter(|order| order.side == side).count()
}

fn none_open(stage: &Stage, side: Side) {
    until(SOON, "that side is gone", || {
        (open(stage, side) == 0).then_some(())
    });
}

fn ask(stage: &Stage, line: &str) -> (i32, Value, String) {
    stage.command(line)
}

fn taken(stage: &Stage, line: &str) -> Value {
    let (code, object, log) = ask(stage, line);
    assert_eq!(code, 0, "{line}: {object} {log}");
    object
}

#[test]
fn a_side_is_held_back_through_a_kill_until_it_is_lifted() {
    let (stage, mut daemon) = trading("operator-pause");
    let page = taken(&stage, "status");
    assert_eq!(
        (&page["state"], &page["latch"]),
        (&"active".into(), &Value::Null)
    );
    let answer = taken(&stage, "pause --market ETH-USDC --side buy --reason news");
    assert_eq!(
        (&answer["done"], &answer["durable"]),
        (&true.into(), &true.into())
    );
    // It was durable before the reply.
    daemon.kill();
    let (code, page, _) = ask(&stage, "status");
    assert_eq!((code, &page["state"]), (1, &"stopped".into()));
    daemon = stage.run("daemon");
    until(SOON, "it trades", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (code, page, _) = ask(&stage, "status");
        (code == 0 && page["state"] == "active").then_some(())
    });
    until(SOON, "only asks", || {
        (open(&stage, Side::Sell) > 0 && open(&stage, Side::Buy) == 0).then_some(())
    });
    taken(&stage, "pause --market ETH-USDC --side buy --reason again");
    let page = taken(&stage, "status");
    let paused = page["paused"].as_array().unwrap();
    for (pause, why) in paused.iter().zip(["news", "again"]) {
        assert_eq!(pause["what"], "ETH-USDC, buy, every strategy");
        assert_eq!(pause["why"], why);
    }
    assert_eq!(paused.len(), 2, "{page}");
    for wrong in [
        "pause --market BTC-USDC --reason x",
        "pause --strategy unknown --reason x",
    ] {
        let (code, answer, log) = ask(&stage, wrong);
        assert_eq!((code, &answer["done"]), (1, &false.into()), "{log}");
        assert!(log.contains("no "), "{log}");
    }
    taken(&stage, "resume --market ETH-USDC --side buy --reason over");
    until(SOON, "bids again", || {
        (open(&stage, Side::Buy) > 0).then_some(())
    });
    taken(&stage, "drain");
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());
    let (code, _, log) = ask(&stage, "drain");
    assert_eq!(code, 1);
    assert!(log.contains("no daemon runs"), "{log}");
    assert_eq!(stage.books().open(), 0);
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

/// `check --online` reports that the state folder holds everything back, first for this reason.
fn held_back(stage: &Stage, reason: &str) {
    let (code, checked, log) = ask(stage, "check --online");
    assert_eq!(code, 1, "{checked} {log}");
    let held = checked["online"]["held_back"][0].as_str().unwrap();
    assert!(held.starts_with(reason), "{held}");
    assert_eq!(checked["online"]["ok"], false, "{checked}");
}

#[test]
fn levels_go_up_at_once_and_down_with_a_reason() {
    let (stage, mut daemon) = trading("operator-levels");
    taken(&stage, "kill --cancel-only --reason prices");
    for side in [Side::Buy, Side::Sell] {
        none_open(&stage, side);
    }
    assert_eq!(taken(&stage, "status")["level"], "cancel_only");
    held_back(&stage, "the trading state is cancel_only (prices)");
    let (code, _, _) = ask(&stage, "resume --reason  ");
    assert_eq!(code, 2, "a reason is needed");
    taken(&stage, "resume --reason fine");
    until(SOON, "bids again", || {
        (open(&stage, Side::Buy) > 0).then_some(())
    });
    taken(&stage, "pause --reason everything");
    none_open(&stage, Side::Buy);
    taken(&stage, "resume --reason fine");
    until(SOON, "bids again", || {
        (open(&stage, Side::Buy) > 0).then_some(())
    });
    daemon.signal(Signal::USR1);
    none_open(&stage, Side::Buy);
    let answer = taken(&stage, "kill --reason wrong");
    assert_eq!(answer["durable"], true);
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    taken(&stage, "resume --reason right");
    // Without a daemon, `kill` prevents every start.
    let answer = taken(&stage, "kill --reason holidays");
    assert!(
        answer["detail"].as_str().unwrap().contains("latch"),
        "{answer}"
    );
    assert_eq!(ask(&stage, "status").1["latch"], "holidays");
    held_back(&stage, "the latch is raised (holidays)");
    let mut refused = stage.run("daemon");
    assert_eq!(refused.end(SOON), 78);
    taken(&stage, "resume --reason back");
    let (code, checked, log) = ask(&stage, "check --online");
    assert_eq!(code, 0, "{checked} {log}");
    assert!(checked["online"]["held_back"].is_null(), "{checked}");
    let mut again = started(&stage);
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    stage.close();
}

/// A daemon that accepts connections and does not answer: reported within seconds, and latched.
#[test]
fn a_frozen_daemon_is_reported_as_frozen_and_latched() {
    let (stage, mut daemon) = trading("operator-frozen");
    let config = stage.path("daemon.toml").display().to_string();
    let quickly = |name: &str, line: &str| {
        let mut args: Vec<_> = line.split(' ').collect();
        args.extend(["--json", "--config", &config]);
        let limit = Duration::from_secs(10);
        let (code, out, log) = run(stage.folder.path(), name, &args, limit);
        (code, serde_json::from_str::<Value>(&out).unwrap(), log)
    };
    daemon.signal(Signal::STOP);
    let (code, page, _) = quickly("frozen-status", "status");
    assert_eq!((code, &page["state"]), (1, &"silent".into()), "{page}");
    let error = page["error"].as_str().unwrap();
    let process = format!("process {}", daemon.id());
    assert!(
        error.contains(&process) && error.contains("frozen"),
        "{error}"
    );
    assert!(page["advice"].as_str().unwrap().contains("cambist panic"));
    assert!(page["not_proven_gone"].as_u64().unwrap() > 0, "{page}");
    let (code, reply, _) = quickly("frozen-pause", "pause --reason x");
    assert_eq!(code, 1, "{reply}");
    assert!(
        reply["error"]
            .as_str()
            .unwrap()
            .contains("does not answer within 2 s")
    );
    assert!(!stage.path("daemon-state/latch").exists());
    let (code, reply, log) = quickly("frozen-cancel", "kill --cancel-only --reason x");
    assert_eq!(code, 1, "{reply}");
    assert!(
        !stage.path("daemon-state/latch").exists(),
        "only of a kill: {log}"
    );
    let (code, reply, _) = quickly("frozen-kill", "kill --reason stuck");
    assert_eq!(code, 1, "{reply}");
    let error = reply["error"].as_str().unwrap();
    for words in ["the latch is set", "cambist panic --config", &process] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(quickly("frozen-latched", "status").1["latch"], "stuck");
    daemon.signal(Signal::CONT);
    assert_eq!(daemon.end(SOON), 78, "{}", daemon.last_words());
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

#[test]
fn a_drain_reports_what_it_began_and_returns_when_it_is_proven_on_request() {
    let (stage, mut daemon) = trading("operator-drain");
    let drained = taken(&stage, "drain --wait");
    assert_eq!(
        (&drained["proven"], &drained["exit"]),
        (&true.into(), &0.into())
    );
    assert_eq!(stage.books().open(), 0);
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());

    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        file.put("shutdown.deadline_s", 7);
    });
    let mut daemon = started(&stage);
    proxy.close();
    let begun = taken(&stage, "drain");
    assert!(
        begun["detail"]
            .as_str()
            .unwrap()
            .contains("orders may be alive"),
        "{begun}"
    );
    let (code, unproven, log) = ask(&stage, "drain --wait");
    assert_eq!((code, &unproven["exit"]), (1, &1.into()), "{log}");
    let error = unproven["error"].as_str().unwrap();
    assert!(error.contains("not proven within 7 s"), "{error}");
    assert!(log.contains("draining: "), "progress: {log}");
    assert_eq!(daemon.end(SOON), 1, "{}", daemon.last_words());
    // A client that waits for a daemon that is killed gets an error.
    proxy.open();
    let mut daemon = started(&stage);
    proxy.close();
    let config = stage.path("daemon.toml").display().to_string();
    let args = ["drain", "--wait", "--json", "--config", &config];
    let mut waiting = Program::start(stage.folder.path(), "waiting", &args);
    until(SOON, "progress", || {
        waiting.stderr().contains("draining: ").then_some(())
    });
    daemon.kill();
    assert_eq!(waiting.end(SOON), 1);
    assert!(waiting.stdout().contains("ended without an answer"));
    proxy.open();
    let mut daemon = started(&stage);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

#[test]
fn resume_with_nothing_to_lift_reports_that_and_a_second_pause_keeps_both_reasons() {
    let (stage, mut daemon) = trading("operator-words");
    let nothing = taken(&stage, "resume --reason x");
    assert_eq!(
        nothing["detail"],
        "nothing to lower: the trading state is trading; nothing to lift: there is no such pause"
    );
    taken(&stage, "pause --reason news");
    let second = taken(&stage, "pause --reason lunch");
    assert!(
        second["detail"]
            .as_str()
            .unwrap()
            .contains("already (news)"),
        "{second}"
    );
    // Immediately: `status` agrees with the reply.
    let page = taken(&stage, "status");
    let reasons: Vec<_> = page["paused"].as_array().unwrap().iter().collect();
    let reasons: Vec<_> = reasons.iter().map(|pause| &pause["why"]).collect();
    assert_eq!(reasons, ["news", "lunch"], "{page}");
    let lifted = taken(&stage, "resume --reason fine");
    assert!(
        lifted["detail"].as_str().unwrap().contains("2 pauses end"),
        "{lifted}"
    );
    let page = taken(&stage, "status");
    assert_eq!(page["paused"], serde_json::json!([]), "{page}");
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let (code, stopped, _) = ask(&stage, "resume --reason x");
    assert_eq!((code, &stopped["latch"]), (0, &Value::Null));
    stage.close();
}

#[test]
fn a_reload_tightens_loosens_only_on_request_and_survives_mistakes() {
    let (stage, mut daemon) = trading("operator-reload");
    let write = |edit: &dyn Fn(&mut toml::Table)| {
        stage.daemon("daemon", &stage.url(), |file| {
            quick(file);
            edit(file);
        });
    };
    write(&|file| {
        file.put("market.0.collar_bps", 150);
    });
    let answer = taken(&stage, "reload");
    assert!(
        answer["detail"]
            .as_str()
            .unwrap()
            .contains("configuration reloaded"),
        "{answer}"
    );
    let own = stage.path("daemon.toml");
    let own = own.canonicalize().unwrap().display().to_string();
    assert!(
        answer["detail"].as_str().unwrap().contains(&own),
        "{answer}"
    );
    // Another file with the same state folder is not read, and not reported as read.
    let other = stage.daemon("other", &stage.url(), |file| {
        quick(file);
        file.put("store.dir", "daemon-state")
            .put("tape.dir", "daemon-tape")
            .put("market.0.collar_bps", 140);
    });
    let other = other.canonicalize().unwrap().display().to_string();
    let args = ["reload", "--json", "--config", &other];
    let (code, answer, _) = run(stage.folder.path(), "reload-other", &args, SOON);
    assert_eq!(code, 1, "{answer}");
    assert!(answer.contains(&other) && answer.contains(&own), "{answer}");
    write(&|file| {
        file.put("market.0.collar_bps", 160);
    });
    let (code, answer, _) = ask(&stage, "reload");
    assert_eq!(code, 1, "{answer}");
    let why = answer["error"].as_str().unwrap();
    assert!(
        why.contains("collar_bps") && why.contains("looser"),
        "{why}"
    );
    taken(&stage, "reload --allow-loosening");
    write(&|file| {
        file.put("store.keep_days", 7);
    });
    let (code, answer, _) = ask(&stage, "reload");
    assert_eq!(code, 1);
    assert!(
        answer["error"].as_str().unwrap().contains("[store]"),
        "{answer}"
    );
    // Invalid: the position is reported, and the daemon continues.
    write(&|file| {
        file.put("market.0.collar_bps", 0);
    });
    let (code, answer, log) = ask(&stage, "reload");
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("nothing was reloaded"), "{log}");
    assert!(
        answer["error"].as_str().unwrap().contains("daemon.toml:"),
        "{answer}"
    );
    daemon.signal(Signal::HUP);
    until(SOON, "the refusal", || {
        daemon
            .stderr()
            .contains("the configuration was not reloaded")
            .then_some(())
    });
    write(&|_| {});
    daemon.signal(Signal::HUP);
    until(SOON, "bids", || (open(&stage, Side::Buy) > 0).then_some(()));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    stage.close();
}

#[test]
fn orders_left_on_purpose_are_reported_and_recovered() {
    let stage = Stage::open("operator-leave", lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        file.put("orders.ttl_s", 30)
            .put("shutdown.deadline_s", 60)
            .put("shutdown.on_shutdown", "leave");
    });
    let mut daemon = started(&stage);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let reply: Value = serde_json::from_str(&daemon.stdout()).unwrap();
    assert!(reply["left"]["orders"].as_u64().unwrap() > 0, "{reply}");
    assert!(stage.books().open() > 0, "they were left");
    let mut again = stage.run("daemon");
    until(SOON, "it trades", || {
        assert!(again.ended().is_none(), "{}", again.last_words());
        let (code, page, _) = ask(&stage, "status");
        (code == 0 && page["state"] == "active").then_some(())
    });
    taken(&stage, "drain");
    assert_eq!(again.end(SOON), 0, "{}", again.last_words());
    assert_eq!(stage.books().open(), 0);
    stage.books().assert_ledger(&again.stdout());
    stage.close();
}

#[test]
fn a_deposit_is_not_guessed_but_explained() {
    let stage = Stage::open("operator-adopt", |file| {
        lively(file);
        file.put("admin.listen", "127.0.0.1:0")
            .put("admin.token_file", "keys/admin_token");
    });
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = started(&stage);
    let venue = stage.path("venue.toml").display().to_string();
    let admin = |request: &[&str]| {
        let args = [&["venue", "admin", "--config", &venue][..], request].concat();
        let (code, out, log) = run(stage.folder.path(), request[0], &args, SOON);
        assert_eq!(code, 0, "{log}");
        out
    };
    admin(&[
        "deposit",
        "--account",
        "10000",
        "--token",
        "ETH",
        "--amount",
        "1.5 ETH",
    ]);
    let log = admin(&["log", "--limit", "1"]);
    assert!(log.contains("amount: 1.5 ETH\n"), "{log}");
    assert!(!log.contains("1500000000000000000"), "{log}");
    until(SOON, "the difference", || {
        daemon
            .stderr()
            .contains("ledger and venue differ")
            .then_some(())
    });
    // While fills are not booked yet, the difference is stated as at least so much.
    until(SOON, "the exact difference", || {
        daemon
            .stderr()
            .contains("daemon.toml --token ETH --amount +1.5 --reason TEXT")
            .then_some(())
    });
    let (code, _, log) = ask(
        &stage,
        "account adopt --token ETH --amount 1,5 --reason Monday",
    );
    assert_eq!(code, 1);
    assert!(log.contains("is not an amount of ETH"), "{log}");
    let adopted = taken(
        &stage,
        "account adopt --token ETH --amount +1.5 --reason Monday",
    );
    assert_eq!(adopted["durable"], true, "{adopted}");
    let detail = adopted["detail"].as_str().unwrap();
    assert!(detail.starts_with("+1.5 ETH adopted; "), "{detail}");
    assert!(detail.ends_with(" ETH"), "{detail}");
    let (_, orders, _) = stage.prose("account orders --all");
    assert!(
        orders.contains(" USDC  "),
        "prices in their token: {orders}"
    );
    assert!(orders.contains(" ETH  "), "{orders}");
    assert!(!orders.contains("00000000000"), "no base units: {orders}");
    assert!(
        taken(&stage, "account orders --all")
            .as_array()
            .unwrap()
            .len()
            >= 2
    );
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let balances = taken(&stage, "account balances");
    assert_eq!(
        balances["ETH"]["units"],
        stage.books().totals["ETH"].to_string()
    );
    stage.books().assert_ledger(&daemon.stdout());
    // Explained flows are kept by the daemon, and by the next one.
    let flows = taken(&stage, "account flows");
    let reply = |name: &str| flows[0][name].as_str().unwrap().to_owned();
    assert_eq!(flows.as_array().unwrap().len(), 1, "{flows}");
    assert_eq!(
        (reply("token"), reply("reason")),
        ("ETH".to_owned(), "Monday".to_owned())
    );
    assert_eq!(reply("units"), "1500000000000000000");
    assert_eq!(reply("amount"), "+1.5");
    let (_, listed, _) = stage.prose("account flows");
    let row = listed.lines().nth(1).unwrap();
    let words: Vec<_> = row.split_whitespace().collect();
    assert_eq!(words[1..], ["+1.5", "ETH", "Monday"], "{row}");
    assert_eq!(
        (words[0], words[0].len()),
        (reply("at").as_str(), 20),
        "{row}"
    );
    let mut again = stage.run("daemon");
    stage.metrics("daemon", &mut again);
    assert_eq!(taken(&stage, "account flows"), flows);
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    stage.close();
}

#[test]
fn a_store_from_an_old_backup_does_not_trade_until_an_operator_resumes() {
    let (stage, mut daemon) = trading("operator-older");
    daemon.kill();
    let (state, backup) = (stage.path("daemon-state"), stage.path("backup"));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&backup)
        .unwrap();
    for name in ["cambist.db", "cambist.db-wal"] {
        std::fs::copy(state.join(name), backup.join(name)).unwrap();
    }
    let before = stage.books().orders.len();
    let mut daemon = stage.run("daemon");
    until(SOON, "newer orders", || {
        (stage.books().orders.len() > before + 4).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::rename(&backup, &state).unwrap();
    // The list that shows it may be unavailable at first: no start proceeds without it.
    let proxy = Proxy::start(&stage.address);
    let lost = AtomicU32::new(0);
    proxy.plan(move |seen| {
        let list = seen.is_read_of("orders") && lost.fetch_add(1, Ordering::Relaxed) < 3;
        if list { Fault::LoseAnswer } else { Fault::Pass }
    });
    stage.daemon("daemon", &proxy.url, quick);
    for _ in 0..2 {
        let mut refused = stage.run("daemon");
        assert_eq!(refused.end(SOON), 78, "{}", refused.last_words());
        assert!(
            refused.stderr().contains("old backup"),
            "{}",
            refused.stderr()
        );
    }
    assert_eq!(proxy.faults(), 3, "it was asked for again");
    taken(&stage, "resume --reason checked");
    let mut again = stage.run("daemon");
    // Trades since the backup are not in the books: an operator has to confirm them as well.
    until(SOON, "both sides, or what is missing", || {
        assert!(again.ended().is_none(), "{}", again.last_words());
        let (_, page, _) = ask(&stage, "status");
        if page["books"]["hold"] == "start" {
            taken(&stage, "resume --reason traded-since-the-backup");
        }
        let sides = [Side::Buy, Side::Sell];
        sides
            .iter()
            .all(|side| open(&stage, *side) > 0)
            .then_some(())
    });
    assert_eq!(again.drain(SOON), 0, "{}", again.last_words());
    stage.books().assert_ledger(&again.stdout());
    let ids: std::collections::BTreeSet<_> = stage
        .books()
        .orders
        .iter()
        .map(|order| order.client_id)
        .collect();
    assert_eq!(
        ids.len(),
        stage.books().orders.len(),
        "no id was given twice"
    );
    stage.close();
}
