//! A faulty network and a faulty gateway between daemon and exchange.
//!
//! Under every fault of requests and answers the daemon keeps running, places no order twice, and ends with books that
//! equal the exchange's.

mod connections;
mod contents;
mod gateways;
mod network;
mod pools;
mod table;
mod tape;

use std::time::Duration;

use crate::support::conditions::{assert_ends, assert_known, assert_same_bytes, assert_slots};
use crate::support::http::{body, metric};
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Fault, Keeping, Program, Proxy, Stage, until};
use table::Scenario;

const SOON: Duration = Duration::from_secs(40);

/// How many requests are spoiled before the network is well again.
const FAULTS: u64 = 12;

fn play(scenario: &Scenario) {
    let name = scenario.name;
    let stage = Stage::open_kept(name, |file| {
        lively(file);
        file.put("traders.0.noise", 3)
            .put("traders.0.passive", 2)
            .put("traders.0.informed", 1);
    });
    let proxy = Proxy::start(&stage.address);
    stage.daemon("daemon", &proxy.url, |file| {
        quick(file);
        (scenario.edit)(file);
    });
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
    // It continues: new orders once the network works again.
    proxy.plan(|_| Fault::Pass);
    let submits = proxy.submits().len();
    until(SOON, "orders afterwards", || {
        assert!(daemon.ended().is_none(), "{name}: {}", daemon.last_words());
        (proxy.submits().len() > submits).then_some(())
    });
    // What was held back is given up only after its time.
    let counted = || {
        let page = body(&address, "/metrics")?;
        let of = |outcome: &&str| {
            let label = format!("outcome=\"{outcome}\"");
            metric(&page, "cambist_http_requests_total", &[&label])
        };
        (scenario.counted.iter().map(of).sum::<f64>() >= 3.0).then_some(page)
    };
    let page = until(SOON, "three outcomes as expected", counted);
    let violated = metric(&page, "cambist_invariant_violations_total", &[]);
    assert!(violated < 0.5, "{name}: {violated} invariants violated");
    assert_eq!(daemon.drain(SOON), 0, "{name}: {}", daemon.last_words());
    let log = daemon.stderr();
    // One log line per cause, however often it occurs.
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
    stage.close_audited(&daemon);
}

/// No order rests, the books are equal, and the store has every order of the exchange with its end.
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
    play_all(&network::LOST_AND_LATE);
}

#[test]
fn cut_answers() {
    play_all(&network::CUT);
}

#[test]
fn lengths_and_emptiness() {
    play_all(&network::LENGTHS);
    play_all(&gateways::EMPTY);
}

#[test]
fn gateways_that_answer_instead() {
    play_all(&gateways::ERRORS);
}

#[test]
fn limiters_and_redirects() {
    play_all(&gateways::LIMITS);
    play_all(&gateways::ELSEWHERE);
}

#[test]
fn caches_and_clocks() {
    play_all(&gateways::CACHES);
}

#[test]
fn nonsense_and_untrue_books() {
    play_all(&contents::NONSENSE);
    play_all(&contents::BOOKS);
}

#[test]
fn untrue_lists() {
    play_all(&contents::LISTS);
}
