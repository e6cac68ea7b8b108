//! Ledger and venue, over kills and starts: every difference is found, stops trading, is shown in all outputs and waits
//! for an operator; kills cost nothing; losses are reset only on request.

use std::time::Duration;

use serde_json::Value;
use toml::Table;

use crate::support::http::{body, metric, page};
use crate::support::process::run;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// An exchange whose operator can move funds, and a daemon that quotes on it.
fn trading(name: &str, edit: impl Fn(&mut Table)) -> (Stage, Program) {
    let stage = Stage::open(name, |file| {
        lively(file);
        file.put("admin.listen", "127.0.0.1:0")
            .put("admin.token_file", "keys/admin_token");
    });
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        edit(file);
    });
    let mut daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    (stage, daemon)
}

#[track_caller]
fn quotes(stage: &Stage, daemon: &mut Program) {
    until(SOON, "quotes", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.books().open() > 0).then_some(())
    });
}

/// ETH that arrive at the daemon's account without an explanation; 10^18 base units each.
fn deposit(stage: &Stage, units: &str) {
    let venue = stage.path("venue.toml").display().to_string();
    let mut args = vec!["venue", "admin", "--config", &venue];
    args.extend(["deposit", "--account", "10000", "--token", "ETH"]);
    args.extend(["--amount", units]);
    let (code, _, log) = run(stage.folder.path(), "deposit", &args, SOON);
    assert_eq!(code, 0, "{log}");
}

#[track_caller]
fn done(stage: &Stage, line: &str) -> Value {
    let (code, answer, log) = stage.command(line);
    assert_eq!(code, 0, "{line}: {answer} {log}");
    answer
}

/// Waits until status shows that all quotes are withheld for this cause, and compares all other outputs.
#[track_caller]
fn held(stage: &Stage, daemon: &mut Program, cause: &str, differs: &str) {
    let address = stage.metrics("daemon", daemon);
    let status = until(SOON, "the difference in status", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        // The command is named once the amount is exact.
        let books = &page["books"];
        (books["hold"] == cause && books["at_least"] == false).then_some(page)
    });
    assert_eq!(status["state"], "reconciling", "{status}");
    let books = &status["books"];
    assert_eq!(books["state"], "differ", "{books}");
    let text = books["text"].as_str().unwrap();
    assert!(
        text.starts_with("books differ: ") && text.contains(differs),
        "{text}"
    );
    let explain = books["differences"][0]["explain"].as_str().unwrap();
    assert!(explain.contains("cambist account adopt"), "{explain}");
    let (head, readiness) = page(&address, "/readyz").unwrap();
    assert!(head.contains(" 503"), "{head}");
    assert!(readiness.contains(differs), "{readiness}");
    let metrics = body(&address, "/metrics").unwrap();
    let gauge = |name: &str, labels: &[&str]| metric(&metrics, name, labels);
    let cause = format!("cause=\"{cause}\"");
    let is_one = |value: f64| (value - 1.0).abs() < 1e-9;
    assert!(is_one(gauge("cambist_books_differ", &[])));
    assert!(is_one(gauge("cambist_books_hold", &[&cause])));
    assert!(gauge("cambist_books_difference_quote_units", &[]) > 0.0);
    let log = daemon.stderr();
    assert!(log.contains("books differ: "), "{log}");
    until(SOON, "everything is cancelled", || {
        (stage.books().open() == 0).then_some(())
    });
}

/// The differences in the folder of a stopped daemon.
fn stopped(stage: &Stage) -> Value {
    let (code, page, log) = stage.command("status");
    assert_eq!((code, &page["state"]), (1, &"stopped".into()), "{log}");
    page["books"].clone()
}

#[test]
fn what_came_while_no_daemon_ran_is_found_at_the_start_and_waits_for_the_operator() {
    let (stage, mut daemon) = trading("books-start", |_| {});
    daemon.kill();
    deposit(&stage, "5000000000000000000");
    let orders = stage.books().orders.len();
    // Two starts find the same, also after a kill in between: the new balance does not become an opening balance.
    for _ in 0..2 {
        daemon = stage.run("daemon");
        held(&stage, &mut daemon, "start", "the venue has 5 ETH more");
        daemon.kill();
    }
    assert_eq!(stage.books().orders.len(), orders, "nothing was ordered");
    assert_eq!(
        stopped(&stage)["differences"][0]["units"],
        "5000000000000000000"
    );
    // Explained while no daemon runs, in two parts.
    let (code, _, log) = stage.command("account adopt --token ETH --amount -5000 --reason x");
    assert_eq!(code, 1, "there is not as much: {log}");
    let answer = done(
        &stage,
        "account adopt --token ETH --amount +2 --reason Monday",
    );
    assert_eq!(answer["durable"], true, "{answer}");
    assert_eq!(
        stopped(&stage)["differences"][0]["units"],
        "3000000000000000000"
    );
    daemon = stage.run("daemon");
    held(&stage, &mut daemon, "start", "the venue has 3 ETH more");
    daemon.kill();
    done(
        &stage,
        "account adopt --token ETH --amount +3 --reason Tuesday",
    );
    assert_eq!(stopped(&stage)["state"], "agree");
    daemon = stage.run("daemon");
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    assert_eq!(done(&stage, "account flows").as_array().unwrap().len(), 2);

    // Adopted from the venue by a resume of the running daemon, or of the stopped one.
    for running in [true, false] {
        deposit(&stage, "1000000000000000000");
        daemon = stage.run("daemon");
        held(&stage, &mut daemon, "start", "the venue has 1 ETH more");
        if !running {
            daemon.kill();
        }
        let answer = done(&stage, "resume --reason cause-found");
        assert!(answer.to_string().contains("1 ETH"), "{answer}");
        if !running {
            daemon = stage.run("daemon");
        }
        quotes(&stage, &mut daemon);
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
        stage.books().assert_ledger(&daemon.stdout());
    }
    assert_eq!(done(&stage, "account flows").as_array().unwrap().len(), 4);
    stage.close();
}

#[test]
fn a_large_difference_holds_everything_back_at_once_and_a_small_one_does_not() {
    let (stage, mut daemon) = trading("books-limit", |file| {
        file.put("risk.mismatch_max", "100 USDC");
    });
    deposit(&stage, "1000000000000000");
    until(SOON, "the small difference", || {
        let (_, page, _) = stage.command("status");
        (page["books"]["state"] == "differ").then_some(())
    });
    let status = done(&stage, "status");
    assert_eq!(status["books"]["hold"], Value::Null, "{status}");
    quotes(&stage, &mut daemon);
    // A flow that increases a difference is refused, and the differences are named.
    for (token, amount, differs) in [
        ("ETH", "-0.5", "+0.001 ETH"),
        ("ETH", "+0.5", "+0.001 ETH"),
        ("USDC", "+1000000", "agree"),
    ] {
        let line = format!("account adopt --token {token} --amount {amount} --reason x");
        let (code, answer, log) = stage.command(&line);
        assert_eq!((code, &answer["done"]), (1, &false.into()), "{line}: {log}");
        let why = answer["error"].as_str().unwrap();
        assert!(why.contains(differs) && why.contains("--force"), "{why}");
    }
    // A quote that is being replaced at this moment is a reason of its own.
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "ready with a small difference", || {
        let (head, readiness) = page(&address, "/readyz").unwrap();
        assert!(readiness.contains("books differ: "), "{readiness}");
        head.contains(" 200").then_some(())
    });
    deposit(&stage, "5000000000000000000");
    held(&stage, &mut daemon, "limit", "the venue has 5.001 ETH more");
    done(
        &stage,
        "account adopt --token ETH --amount +5.001 --reason both",
    );
    quotes(&stage, &mut daemon);
    // Forced, it is a difference like any other.
    let forced = "account adopt --token ETH --amount +7 --force --reason never-came";
    done(&stage, forced);
    held(&stage, &mut daemon, "limit", "the venue has 7 ETH less");
    done(
        &stage,
        "account adopt --token ETH --amount -7 --reason undone",
    );
    quotes(&stage, &mut daemon);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.books().assert_ledger(&daemon.stdout());
    // Of a stopped daemon what was found last counts.
    let deposited = "account adopt --token ETH --amount +1 --reason x";
    let (code, _, log) = stage.command(deposited);
    assert_eq!(code, 1, "{log}");
    assert!(
        log.contains("explains nothing") && log.contains("--force"),
        "{log}"
    );
    let forced = format!("{deposited} --force");
    assert_eq!(done(&stage, &forced)["durable"], true);
    stage.close();
}

#[test]
fn losses_are_forgotten_only_if_that_is_asked_for() {
    let (stage, mut daemon) = trading("books-losses", |file| {
        file.put("market.0.loss_hour_max", "0.5 USDC")
            .put("market.0.loss_day_max", "0.5 USDC")
            .put("market.0.drawdown_max", "0.5 USDC")
            .put("market.0.loss_total_max", "100000 USDC");
    });
    // Held are tens of ETH: the first tick against us stops it.
    until(SOON, "a limit of losses", || {
        let (_, page, _) = stage.command("status");
        (page["level"] == "cancel_only").then_some(())
    });
    let refusal = |answer: &Value, log: &str| {
        let why = answer["error"].as_str().unwrap_or(log).to_owned();
        for words in ["has lost", "USDC", "_max is 0.5 USDC", "--forget-losses"] {
            assert!(why.contains(words), "{why}");
        }
    };
    until(SOON, "a refusal while it is below", || {
        let (code, answer, log) = stage.command("resume --reason x");
        if code == 0 {
            // The price had come back meanwhile.
            return None;
        }
        refusal(&answer, &log);
        Some(())
    });
    daemon.kill();
    let level = |stage: &Stage| stage.command("status").1["level"].clone();
    let (code, answer, log) = stage.command("resume --reason x");
    if code == 0 {
        assert_eq!(
            answer["losses_forgotten"],
            serde_json::json!([]),
            "{answer}"
        );
    } else {
        refusal(&answer, &log);
        assert_eq!(level(&stage), "cancel_only", "nothing was changed");
    }
    let (code, answer, log) = stage.command("resume --forget-losses --reason written-off");
    assert_eq!(code, 0, "{answer} {log}");
    let forgotten = answer["losses_forgotten"].to_string();
    assert!(
        forgotten.contains("ETH-USDC") && forgotten.contains("USDC"),
        "{forgotten}"
    );
    assert_eq!(level(&stage), "trading");
    let (code, _, _) = stage.command("resume --market ETH-USDC --forget-losses --reason x");
    assert_eq!(code, 2, "losses are of everything");
    stage.close();
}

/// An exchange that comes back without its data lists none of the daemon's orders. What these cannot have filled is a
/// difference at once, and not only after their end.
#[test]
fn an_exchange_with_other_data_holds_everything_back_before_orders_end() {
    let (mut stage, mut daemon) = trading("books-other-data", |file| {
        file.put("orders.ttl_s", 120)
            .put("orders.refresh_before_s", 20)
            .put("shutdown.deadline_s", 140)
            .put("risk.mismatch_max", "1000 USDC");
    });
    deposit(&stage, "5000000000000000000");
    held(&stage, &mut daemon, "limit", "the venue has 5 ETH more");
    done(
        &stage,
        "account adopt --token ETH --amount +5 --reason gift",
    );
    quotes(&stage, &mut daemon);
    stage.restart_venue();
    // Orders that were made before it went rest for 120 s more.
    let books = until(SOON, "a lower bound of the difference", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        (page["books"]["hold"] == "limit").then(|| page["books"].clone())
    });
    assert_eq!(books["at_least"], true, "{books}");
    let log = daemon.stderr();
    assert!(log.contains("at least"), "{}", daemon.last_words());
    daemon.kill();
    stage.close();
}
