//! A faulty network and a faulty gateway between the real daemon and the real exchange.
//!
//! Whatever is done to requests and answers, the daemon stays alive, makes no order twice, and ends with
//! books that are equal to the exchange's.

use std::time::Duration;

use rustix::process::Signal;

use crate::crash::{assert_ends, assert_known, assert_same_bytes, assert_slots};
use crate::support::http::{body, metric};
use crate::support::proxy::Seen;
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Fault, Keeping, Program, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// How many requests are spoiled before the network is well again.
const FAULTS: u64 = 12;

/// A trouble of the network, and where it must have been counted.
struct Scenario {
    name: &'static str,
    /// What happens to a request that is spoiled.
    fault: fn(&Seen) -> Fault,
    /// Which requests are spoiled.
    spoiled: fn(&Seen) -> bool,
    /// The outcomes by which such trouble is counted.
    counted: &'static [&'static str],
}

fn every_third(seen: &Seen) -> bool {
    seen.nth % 3 == 1
}

fn submits(seen: &Seen) -> bool {
    seen.is_submit() && seen.nth.is_multiple_of(2)
}

fn writes(seen: &Seen) -> bool {
    (seen.is_submit() || seen.is_cancel()) && seen.nth.is_multiple_of(2)
}

fn reads(seen: &Seen) -> bool {
    seen.method == "GET" && seen.nth % 3 == 1
}

fn instead(handed_over: bool, status: &str, kind: &str, more: &str, body: &str) -> Fault {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    );
    Fault::Instead {
        handed_over,
        answer: answer.into_bytes(),
    }
}

const JSON: &str = "application/json";
const GATEWAY: &str = "<html><body><h1>502 Bad Gateway</h1></body></html>";

/// The answer to a submit, about another order.
fn another_hash(body: &str) -> String {
    const BEFORE: &str = "\"hash\":\"0x";
    let Some(at) = body.find(BEFORE) else {
        return body.to_owned();
    };
    let at = at + BEFORE.len() + 40;
    let digit = if body[at..].starts_with('0') {
        "1"
    } else {
        "0"
    };
    format!("{}{digit}{}", &body[..at], &body[at + 1..])
}

/// Nothing usable came back.
const LOST: &[&str] = &["transport", "unknown"];
/// Something was refused, or nothing noticed.
const TOLD: &[&str] = &["ok", "reject"];

const SCENARIOS: [Scenario; 24] = [
    Scenario {
        name: "answer-lost",
        fault: |_| Fault::LoseAnswer,
        spoiled: writes,
        counted: LOST,
    },
    Scenario {
        name: "answer-held",
        fault: |_| Fault::HoldAnswer,
        spoiled: submits,
        counted: LOST,
    },
    Scenario {
        name: "request-lost",
        fault: |_| Fault::LoseRequest,
        spoiled: writes,
        counted: LOST,
    },
    Scenario {
        name: "request-held",
        fault: |_| Fault::HoldRequest,
        spoiled: submits,
        counted: LOST,
    },
    Scenario {
        name: "request-late",
        fault: |_| Fault::Late(Duration::from_millis(900)),
        spoiled: submits,
        counted: LOST,
    },
    Scenario {
        name: "request-very-late",
        fault: |_| Fault::Late(Duration::from_millis(4_500)),
        spoiled: submits,
        counted: LOST,
    },
    Scenario {
        name: "delivered-twice",
        fault: |_| Fault::Twice,
        spoiled: writes,
        counted: TOLD,
    },
    Scenario {
        name: "truncated",
        fault: |_| Fault::Truncate,
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "slow-drip",
        fault: |_| Fault::Drip,
        spoiled: writes,
        counted: LOST,
    },
    Scenario {
        name: "endless-body",
        fault: |_| Fault::Endless,
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "gateway-502",
        fault: |seen| {
            instead(
                seen.nth.is_multiple_of(4),
                "502 Bad Gateway",
                "text/html",
                "",
                GATEWAY,
            )
        },
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "html-200",
        fault: |_| instead(true, "200 OK", "text/html", "", GATEWAY),
        spoiled: writes,
        counted: LOST,
    },
    Scenario {
        name: "too-many",
        fault: |_| {
            let body = r#"{"resultInfo":{"code":429,"message":"too many requests"}}"#;
            instead(
                false,
                "429 Too Many Requests",
                JSON,
                "Retry-After: 1\r\n",
                body,
            )
        },
        spoiled: every_third,
        counted: &["rate_limited"],
    },
    Scenario {
        name: "redirect",
        fault: |_| {
            instead(
                false,
                "307 Temporary Redirect",
                JSON,
                "Location: http://127.0.0.1:9/\r\n",
                "",
            )
        },
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "unknown-error",
        fault: |_| {
            let body = r#"{"resultInfo":{"code":100000,"message":"unknown error"}}"#;
            instead(true, "400 Bad Request", JSON, "", body)
        },
        spoiled: writes,
        counted: TOLD,
    },
    Scenario {
        name: "empty-200",
        fault: |_| instead(true, "200 OK", JSON, "", ""),
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "wrong-types",
        fault: |_| Fault::Mangle(|body| body.replace("\":\"", "\":[\"").replace("\",", "\"],")),
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "huge-numbers",
        fault: |_| {
            Fault::Mangle(|body| body.replace('1', "99999999999999999999999999999999999999999"))
        },
        spoiled: reads,
        counted: LOST,
    },
    Scenario {
        name: "other-lists",
        fault: |_| {
            Fault::Mangle(|body| {
                // An incomplete list that claims to be complete proves nothing it does not show.
                body.replace("\"totalNum\":", "\"total\":")
                    .replace("\"orders\":[", "\"orderz\":[")
            })
        },
        spoiled: reads,
        counted: LOST,
    },
    Scenario {
        name: "forbidden",
        fault: |_| instead(false, "403 Forbidden", "text/html", "", GATEWAY),
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "maintenance",
        fault: |seen| {
            instead(
                seen.nth.is_multiple_of(4),
                "503 Unavailable",
                JSON,
                "",
                "{}",
            )
        },
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "deep-nesting",
        fault: |_| instead(true, "200 OK", JSON, "", &"[".repeat(200_000)),
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "null",
        fault: |_| instead(true, "200 OK", JSON, "", "null"),
        spoiled: every_third,
        counted: LOST,
    },
    Scenario {
        name: "empty-lists",
        fault: |_| instead(true, "200 OK", JSON, "", r#"{"totalNum":0,"orders":[]}"#),
        spoiled: |seen| seen.path == "/api/v3/orders" && seen.nth.is_multiple_of(2),
        counted: TOLD,
    },
];

fn play(scenario: &Scenario) {
    let name = scenario.name;
    let stage = Stage::open(name, |file| {
        lively(file);
        file.put("traders.0.noise", 3)
            .put("traders.0.passive", 2)
            .put("traders.0.informed", 1);
    });
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "first orders", || {
        (!proxy.submits().is_empty()).then_some(())
    });

    let (fault, spoiled) = (scenario.fault, scenario.spoiled);
    proxy.plan(move |seen| {
        if spoiled(seen) {
            fault(seen)
        } else {
            Fault::Pass
        }
    });
    until(SOON, name, || {
        assert!(daemon.ended().is_none(), "{name}: {}", daemon.last_words());
        (proxy.faults() >= FAULTS).then_some(())
    });
    // It goes on working: new orders once the network is well again.
    proxy.plan(|_| Fault::Pass);
    let submits = proxy.submits().len();
    until(SOON, "orders afterwards", || {
        assert!(daemon.ended().is_none(), "{name}: {}", daemon.last_words());
        (proxy.submits().len() > submits).then_some(())
    });
    let page = body(&address, "/metrics").unwrap();
    let violated = metric(&page, "cambist_invariant_violations_total", &[]);
    assert!(violated < 0.5, "{name}: {violated} invariants violated");
    let counted: f64 = scenario
        .counted
        .iter()
        .map(|outcome| {
            let label = format!("outcome=\"{outcome}\"");
            metric(&page, "cambist_http_requests_total", &[&label])
        })
        .sum();
    assert!(
        counted >= 3.0,
        "{name}: {counted} were counted as {:?}",
        scenario.counted
    );
    assert_eq!(daemon.drain(SOON), 0, "{name}: {}", daemon.last_words());
    let log = daemon.stderr();
    // Told once a cause, however often it happened.
    let complaints = log
        .lines()
        .filter(|line| line.contains("\"WARN\"") || line.contains("\"ERROR\""));
    let complaints: Vec<_> = complaints.collect();
    assert!(
        complaints.len() <= 25,
        "{name} floods the log:\n{}",
        complaints.join("\n")
    );

    assert_whole(&stage, &daemon, name);
    assert_same_bytes(&proxy.submits());
    stage.close();
}

/// Nothing rests, the books are equal, and the store knows every order at the exchange with its end.
fn assert_whole(stage: &Stage, daemon: &Program, name: &str) {
    let (books, keeping) = (stage.books(), Keeping::read(&stage.path("daemon-state")));
    assert_eq!(books.open(), 0, "{name}: something rests");
    books.assert_ledger(&daemon.stdout());
    assert_known(&books, &keeping, name);
    assert_ends(&books, &keeping);
    assert_slots(&keeping);
}

/// Plays scenarios side by side, in a few threads, and names every one that failed.
fn play_all(scenarios: &[Scenario]) {
    let failed: Vec<_> = std::thread::scope(|scope| {
        let playing: Vec<_> = scenarios
            .iter()
            .map(|scenario| (scenario.name, scope.spawn(|| play(scenario))))
            .collect();
        playing
            .into_iter()
            .filter_map(|(name, thread)| thread.join().is_err().then_some(name))
            .collect()
    });
    assert!(failed.is_empty(), "failed: {failed:?}");
}

#[test]
fn lost_late_and_repeated_messages() {
    play_all(&SCENARIOS[..7]);
}

#[test]
fn broken_and_endless_answers() {
    play_all(&SCENARIOS[7..13]);
}

#[test]
fn answers_of_others_and_nonsense() {
    play_all(&SCENARIOS[13..19]);
}

#[test]
fn gateways_caches_and_liars() {
    play_all(&SCENARIOS[19..]);
}

/// Whatever answers there, it is not the venue that the interface describes: a person has to look.
#[test]
fn an_acknowledgement_of_another_order_stops_trading() {
    let stage = Stage::open("another-hash", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "orders", || (stage.books().open() > 0).then_some(()));
    proxy.plan(|seen| {
        if seen.is_submit() {
            Fault::Mangle(another_hash)
        } else {
            Fault::Pass
        }
    });
    until(SOON, "the end of trading", || {
        let stopped = body(&address, "/status")?.contains("cancel_only");
        (stopped && stage.books().open() == 0).then_some(())
    });
    assert!(daemon.stderr().contains("another order's hash"));
    assert_eq!(daemon.drain(SOON), 79, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "another hash");
    stage.close();
}

#[test]
fn a_start_survives_a_network_that_is_not_well_yet() {
    let stage = Stage::open("bad-start", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    proxy.plan(|seen| match (seen.path.ends_with("/order"), seen.nth) {
        (false, 0) => instead(true, "502 Bad Gateway", "text/html", "", GATEWAY),
        (false, 1) => Fault::Truncate,
        _ => Fault::Pass,
    });
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    until(SOON, "orders", || (stage.books().open() > 0).then_some(()));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "bad start");
    stage.close();
}

#[test]
fn either_side_may_stand_still_for_a_while() {
    let stage = Stage::open("pause", lively);
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    let quoting = || {
        let submits = proxy.submits().len();
        until(SOON, "new orders", || {
            (proxy.submits().len() > submits).then_some(())
        });
    };
    quoting();
    // The exchange for longer than answers are waited for, the daemon for longer than its orders live.
    stage.venue.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(2_500));
    stage.venue.signal(Signal::CONT);
    quoting();
    daemon.signal(Signal::STOP);
    until(SOON, "no order left", || {
        (stage.books().open() == 0).then_some(())
    });
    daemon.signal(Signal::CONT);
    quoting();
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_whole(&stage, &daemon, "pause");
    assert_same_bytes(&proxy.submits());
    stage.close();
}
