//! The life of a daemon in this process, on a real exchange: it trades, answers its operator, ends proven, and its
//! next start continues with what the store has.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod stage;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cambist_core::event::TradingState;
use cambist_daemon::live::control_client;
use cambist_daemon::live::control_requests::{RequestJson, ScopeJson, ValueJson};
use cambist_daemon::live::daemon::Run;
use cambist_daemon::live::event_loop::Ended;
use cambist_daemon::live::latch::Latch;
use cambist_host::exit::{Exit, Failure};
use cambist_store::history::{self, Filter, RecordKind};
use cambist_store::{StoreError, flows, parameters, view};
use stage::{Running, Stage, until};

fn traded(run: Run) -> (Ended, cambist_report::Session) {
    match run {
        Run::Traded(ended, session, _) => (ended, *session),
        Run::Stopped(_) => panic!("stopped"),
    }
}

fn failure(run: anyhow::Result<Run>) -> (Exit, String) {
    let error = run.map(|_| ()).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    (failure.exit, error.to_string())
}

/// A page of the daemon.
fn page(running: &Running, path: &str) -> String {
    let address = std::fs::read_to_string(running.state().join("metrics.address")).unwrap();
    let mut stream = TcpStream::connect(address.trim()).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The sum of a metric over its labels.
fn metric(page: &str, name: &str) -> f64 {
    let of_name = |line: &&str| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with([' ', '{']))
    };
    let values = page.lines().filter(of_name);
    let values = values.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    values.sum()
}

fn done(reply: Option<serde_json::Value>) -> serde_json::Value {
    let reply = reply.unwrap();
    assert_eq!(reply["done"], true, "{reply}");
    reply
}

/// Every order has an end, with what was filled of it.
fn ends_equal_fills(state: &Path) {
    let orders = view::remembered(state).unwrap();
    assert!(
        orders.values().all(|order| order.end.is_some()),
        "{orders:?}"
    );
    let mut filled = 0;
    history::each(state, RecordKind::Orders, &Filter::default(), |row| {
        let number: u64 = row[12].rsplit('-').next().unwrap().parse().unwrap();
        let order = &orders[&number];
        filled += u32::from(order.filled.base > 0);
        let units = |text: &str, decimals: u32| {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let width = usize::try_from(decimals).unwrap();
            format!("{whole}{part:0<width$}").parse::<u128>().unwrap()
        };
        let fee = if row[3] == "buy" { 18 } else { 6 };
        let end = [units(&row[8], 18), units(&row[9], 6), units(&row[10], fee)];
        let fills = [order.filled.base, order.filled.quote, order.filled.fee];
        assert_eq!(end, fills, "{row:?}");
        Ok::<_, StoreError>(())
    })
    .unwrap();
    assert!(filled > 0);
}

#[test]
fn a_daemon_trades_answers_its_operator_and_ends_proven() {
    let stage = Stage::open();
    let daemon = stage.daemon(|_| {});
    let state = stage.state();
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let latch = Latch::of(&state);
    latch.keep_proof(1_700_000_000).unwrap();
    let running = Running::start(daemon.clone());
    running.until_active();
    assert_eq!(latch.proof(), None, "a start ends the proof of a panic");
    until("a fill", || {
        let orders = view::remembered(&state).unwrap();
        orders
            .values()
            .any(|order| order.filled.base > 0)
            .then_some(())
    });
    let scope = || ScopeJson {
        market: Some("ETH-USDC".to_owned()),
        ..ScopeJson::default()
    };
    let reason = || "a test".to_owned();
    let paused = done(running.ask(&RequestJson::Pause {
        part: scope(),
        reason: reason(),
    }));
    assert_eq!(paused["durable"], true, "{paused}");
    let status = running.ask(&RequestJson::Status).unwrap();
    assert_eq!(status["paused"][0]["why"], "a test", "{status}");
    done(running.ask(&RequestJson::Unpause {
        part: scope(),
        reason: reason(),
    }));
    // Written by the store's thread, and answered when it is on disk.
    let taken = done(running.ask(&RequestJson::TakeSlot {
        token: "ETH".to_owned(),
    }));
    assert_eq!(taken["durable"], true, "{taken}");
    let metrics = page(&running, "/metrics");
    for name in [
        "cambist_orders_submitted_total",
        "cambist_fills_total",
        "cambist_tape_recording",
    ] {
        assert!(metric(&metrics, name) > 0.0, "{name}: {metrics}");
    }
    let drain = RequestJson::Drain { wait: true };
    let reply = control_client::ask_and_wait(&state, &drain, |status| {
        status.unwrap();
    });
    let reply = done(reply.unwrap());
    assert_eq!(
        (&reply["proven"], &reply["exit"]),
        (&true.into(), &0.into())
    );
    let (ended, session) = traded(running.end().unwrap());
    assert!(ended.proven && !ended.invariant_failed && !ended.store_lost);
    assert_eq!(ended.level, TradingState::Active);
    assert!(ended.left.is_none());
    assert_eq!(session.left(), 0);
    ends_equal_fills(&state);
    let segments = std::fs::read_dir(stage.tape()).unwrap();
    let bytes: u64 = segments
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes > 10_000, "the tape has {bytes} bytes");
}

/// A daemon leaves its orders, and the next start finds them.
#[test]
fn orders_that_were_left_are_those_of_the_next_start() {
    let stage = Stage::open();
    let daemon = stage.daemon(|_| {});
    let state = stage.state();
    let running = Running::start(daemon.clone());
    running.until_active();
    until("open orders", || {
        let orders = view::remembered(&state).unwrap();
        orders
            .values()
            .any(|order| order.end.is_none())
            .then_some(())
    });
    done(running.ask(&RequestJson::Leave { wait: false }));
    let (ended, _) = traded(running.end().unwrap());
    assert!(ended.left.is_some() && !ended.proven);
    let running = Running::start(daemon);
    running.until_active();
    done(running.ask(&RequestJson::Drain { wait: false }));
    let (ended, _) = traded(running.end().unwrap());
    assert!(ended.proven);
    let orders = view::remembered(&state).unwrap();
    assert!(
        orders.values().all(|order| order.end.is_some()),
        "{orders:?}"
    );
}

#[test]
fn the_latch_ends_a_daemon_and_forbids_the_next_start() {
    let stage = Stage::open();
    let daemon = stage.daemon(|_| {});
    let running = Running::start(daemon.clone());
    running.until_active();
    Latch::of(&stage.state())
        .raise("found by another program")
        .unwrap();
    let (ended, _) = traded(running.end().unwrap());
    assert_eq!(ended.level, TradingState::Halted);
    assert!(ended.proven);
    assert_eq!(view::level(&stage.state()).unwrap().0, TradingState::Halted);
    let (exit, text) = failure(Running::start(daemon.clone()).end());
    assert_eq!(exit, Exit::Latched);
    assert!(text.contains("found by another program"), "{text}");
    // The store alone forbids it too.
    Latch::of(&stage.state()).lower().unwrap();
    let (exit, _) = failure(Running::start(daemon).end());
    assert_eq!(exit, Exit::Latched);
}

/// A copy of the store lacks what was signed since: the venue shows it, and the operator has to decide.
#[test]
fn a_store_that_is_older_than_its_orders_is_refused_once() {
    let stage = Stage::open();
    let daemon = stage.daemon(|_| {});
    let state = stage.state();
    let order = |known: u64| {
        until("a newer order", || {
            let newest = *view::remembered(&state).ok()?.last_key_value()?.0;
            (newest > known).then_some(newest)
        })
    };
    let running = Running::start(daemon.clone());
    running.until_active();
    let known = order(0);
    done(running.ask(&RequestJson::Drain { wait: false }));
    assert!(traded(running.end().unwrap()).0.proven);
    let file = state.join(cambist_store::FILE);
    let copy = std::fs::read(&file).unwrap();
    let running = Running::start(daemon.clone());
    running.until_active();
    order(known);
    done(running.ask(&RequestJson::Drain { wait: false }));
    assert!(traded(running.end().unwrap()).0.proven);
    std::fs::write(&file, copy).unwrap();
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(state.join(format!("{}{ending}", cambist_store::FILE)));
    }
    let (exit, text) = failure(Running::start(daemon.clone()).end());
    assert_eq!(exit, Exit::Latched);
    assert!(text.contains("older than its orders"), "{text}");
    assert!(text.contains("cambist panic --config "), "{text}");
    // Once the operator has decided, it starts, behind the numbers that the venue has seen.
    cambist_store::Store::open(&state)
        .unwrap()
        .clear_level("checked")
        .unwrap();
    let running = Running::start(daemon);
    until("the start is over", || {
        let status = running.ask(&RequestJson::Status)?;
        (status["state"] != "starting").then_some(())
    });
    done(running.ask(&RequestJson::Drain { wait: false }));
    let (ended, _) = traded(running.end().unwrap());
    assert_eq!(ended.level, TradingState::Active);
}

fn refused(reply: Option<serde_json::Value>, why: &str) {
    let reply = reply.unwrap();
    assert_eq!(reply["done"], false, "{reply}");
    let error = reply["error"].as_str().unwrap();
    assert!(error.contains(why), "{reply}");
}

fn set(path: &str, value: Option<&str>, allow_loosening: bool) -> RequestJson {
    RequestJson::Set {
        values: vec![ValueJson {
            market: None,
            strategy: "ladder".to_owned(),
            path: path.to_owned(),
            value: value.map(str::to_owned),
        }],
        reason: "a test".to_owned(),
        allow_loosening,
    }
}

#[test]
fn every_request_of_an_operator_is_answered_with_what_it_changed() {
    let stage = Stage::open();
    let daemon = stage.daemon(|_| {});
    let state = stage.state();
    let file = daemon.source.path.canonicalize().unwrap();
    let running = Running::start(daemon);
    running.until_active();
    let ask = |request: RequestJson| running.ask(&request);
    let reason = || "a test".to_owned();
    // Parameters: stored, used, and restored.
    let stored = done(ask(set("order_amount", Some("0.1"), false)));
    assert_eq!(stored["durable"], true, "{stored}");
    let set_now = parameters::set(&state).unwrap();
    assert_eq!(set_now.len(), 1);
    assert_eq!(set_now[0].value.as_deref(), Some("0.1"));
    let status = ask(RequestJson::Status).unwrap();
    assert!(status.to_string().contains("order_amount"), "{status}");
    refused(ask(set("order_amount", Some("-1"), true)), "order_amount");
    refused(
        ask(set("no_such_parameter", Some("1"), true)),
        "no_such_parameter",
    );
    refused(ask(set("order_amount", None, false)), "looser");
    done(ask(set("order_amount", None, true)));
    assert_eq!(parameters::set(&state).unwrap(), []);
    // The file: its own, and as a whole or not at all.
    let reload = |file: &Path| RequestJson::Reload {
        file: file.to_owned(),
        allow_loosening: false,
    };
    let text = std::fs::read_to_string(&file).unwrap();
    done(ask(reload(&file)));
    refused(ask(reload(Path::new("/another.toml"))), "was not read");
    std::fs::write(&file, "config_version = 9\n").unwrap();
    refused(ask(reload(&file)), "config_version");
    std::fs::write(&file, &text).unwrap();
    done(ask(reload(&file)));
    // Flows: those that explain nothing need force.
    let adopt = |amount: &str, force| RequestJson::Adopt {
        token: "ETH".to_owned(),
        amount: amount.to_owned(),
        reason: reason(),
        force,
    };
    until("the books were compared", || {
        let reply = ask(adopt("+1", false)).unwrap();
        let error = reply["error"].as_str().unwrap();
        error.contains("explains nothing").then_some(())
    });
    let adopted = done(ask(adopt("+0.5", true)));
    assert_eq!(adopted["durable"], true);
    assert!(
        adopted["detail"].as_str().unwrap().contains("adopted"),
        "{adopted}"
    );
    done(ask(adopt("-0.5", true)));
    let flows = flows::explained(&state).unwrap();
    let amounts: Vec<_> = flows
        .iter()
        .map(|flow| (flow.symbol.as_str(), flow.amount))
        .collect();
    let half = 5 * 10_i128.pow(17);
    assert_eq!(amounts, [("ETH", half), ("ETH", -half)]);
    done(ask(RequestJson::Expect {
        token: "ETH".to_owned(),
        units: "5".to_owned(),
        reason: "a deposit".to_owned(),
    }));
    done(ask(RequestJson::ExpectNoMore {
        reason: "a deposit".to_owned(),
    }));
    // The trading state.
    let kill = |cancel_only| RequestJson::Kill {
        cancel_only,
        reason: reason(),
    };
    let killed = done(ask(kill(true)));
    assert_eq!(killed["durable"], true);
    assert_eq!(view::level(&state).unwrap().0, TradingState::CancelOnly);
    done(ask(RequestJson::Lower {
        reason: reason(),
        forget_losses: false,
    }));
    assert_eq!(view::level(&state).unwrap().0, TradingState::Active);
    done(ask(kill(false)));
    let (ended, _) = traded(running.end().unwrap());
    assert_eq!(ended.level, TradingState::Halted);
    assert!(ended.proven);
}

/// A venue that does not answer: the start waits, and can be stopped, restricted and asked.
#[test]
fn a_start_that_waits_for_its_venue_answers_its_operator() {
    let stage = Stage::open();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let daemon = stage.daemon(|file| {
        let venue = file["venue"].as_table_mut().unwrap();
        venue.insert("base_url".to_owned(), format!("http://{closed}").into());
    });
    let state = stage.state();
    let reason = || "a test".to_owned();
    let running = Running::start(daemon.clone());
    let status = until("a status", || running.ask(&RequestJson::Status));
    assert_eq!(status["state"], "starting", "{status}");
    let slot = RequestJson::TakeSlot {
        token: "ETH".to_owned(),
    };
    refused(running.ask(&slot), "still starting");
    let kill = |cancel_only| RequestJson::Kill {
        cancel_only,
        reason: reason(),
    };
    let restricted = done(running.ask(&kill(true)));
    assert_eq!(restricted["durable"], true);
    done(running.ask(&kill(true)));
    let cause = view::level(&state).unwrap();
    assert_eq!(cause, (TradingState::CancelOnly, reason()));
    done(running.ask(&RequestJson::Drain { wait: true }));
    assert!(matches!(running.end().unwrap(), Run::Stopped(_)));
    // A kill forbids the next start.
    let running = Running::start(daemon.clone());
    until("a status", || running.ask(&RequestJson::Status));
    done(running.ask(&kill(false)));
    let (exit, text) = failure(running.end());
    assert_eq!(exit, Exit::Latched);
    assert!(text.contains("a test"), "{text}");
    let (exit, _) = failure(Running::start(daemon.clone()).end());
    assert_eq!(exit, Exit::Latched);
    // So does a latch that is set meanwhile.
    Latch::of(&state).lower().unwrap();
    let running = Running::start(daemon);
    until("a status", || running.ask(&RequestJson::Status));
    Latch::of(&state).raise("found by another program").unwrap();
    let (exit, text) = failure(running.end());
    assert_eq!(exit, Exit::Latched);
    assert!(text.contains("found by another program"), "{text}");
}
