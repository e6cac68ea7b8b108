//! A system clock that was wrong: the exchange's time continues, and its lead is reported.

use std::path::Path;

use cambist_core::VenueTime;
use cambist_server::{Clock, DataError, ServerConfig};
use serde_json::json;

use super::admin::OperatorListener;
use super::crash::{Folder, customer, populated};
use super::support::{Call, Exchange, Want, config, taken};

const YEAR_MS: u64 = 31_536_000_000;

/// Runs the exchange of a folder with a clock.
fn run<T>(data: &Path, clock: Clock, task: impl FnOnce(&Exchange) -> T) -> T {
    let folder = taken(data);
    let durable = folder
        .recover()
        .unwrap()
        .unwrap_or_else(|| folder.begin(populated(), Vec::new()).unwrap());
    let config = ServerConfig { clock, ..config() };
    let exchange = Exchange::durable_by(&config, durable);
    task(&exchange)
}

/// An order that is valid for an hour from `now`.
fn order(number: u8, slot: u32, now: VenueTime) -> Call {
    let mut customer = customer(number);
    customer.next_storage_id = slot;
    let mut order = customer.order(Want::Sell, 100_000, 1);
    order["validUntil"] = json!(now.as_s() + 3_600);
    customer.sign(&mut order);
    customer.post_order(&order)
}

#[test]
fn after_a_start_with_a_wrong_clock_time_continues_and_its_lead_is_reported() {
    let folder = Folder::new("wrong-year");
    let wall = Clock::system().now();
    let wrong = wall.plus_ms(YEAR_MS);
    run(folder.path(), Clock::by_hand(wrong), |exchange| {
        exchange.ask(&order(1, 0, wrong)).good();
        let health = exchange.ask(&Call::get("/health"));
        assert_eq!(health.good()["clockAheadMs"], 0);
        assert_eq!(health.good()["status"], "ok");
    });
    run(folder.path(), Clock::system(), |exchange| {
        let first = exchange.clock.reading();
        let ahead = |ms: u64| (YEAR_MS - 600_000..=YEAR_MS).contains(&ms);
        assert!(first.now >= wrong && ahead(first.ahead_ms), "{first:?}");
        // Time advances: orders still expire, and none expires early.
        let later = loop {
            let reading = exchange.clock.reading();
            if reading.now.0 > first.now.0 + 20 {
                break reading;
            }
            std::thread::yield_now();
        };
        let (went, passed) = (
            later.now.ms_since(first.now),
            later.monotonic_ms - first.monotonic_ms,
        );
        assert!(went <= passed + 1, "{went} {passed}");
        exchange.ask(&order(1, 2, later.now)).good();

        let health = exchange.ask(&Call::get("/health"));
        let health = health.good();
        assert_eq!(health["status"], "clock_ahead");
        assert!(ahead(health["clockAheadMs"].as_u64().unwrap()), "{health}");
        assert!(health["time"].as_u64().unwrap() >= later.now.0, "{health}");
        let operator = OperatorListener::open(exchange);
        let status = operator.look("status", "");
        assert!(ahead(status.good()["clockAheadMs"].as_u64().unwrap()));
        let page = operator.call(Call::get("/metrics"));
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(
            page.header("content-type")
                .unwrap()
                .starts_with("text/plain")
        );
        let value = |name: &str| -> u64 {
            let mut lines = page.text.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.unwrap().replace('.', "").parse().unwrap()
        };
        assert!(ahead(value("cambist_venue_clock_ahead_seconds")));
        assert!(value("cambist_venue_time_seconds") >= later.now.0);
        assert_eq!(value("cambist_venue_open_orders"), 2);
        // The alert rules name existing metrics only, this one among them.
        let rules = include_str!("../../../../config/monitoring/alerts.yml");
        let rules = rules
            .lines()
            .filter_map(|line| line.trim().strip_prefix("expr: "));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = rules.flat_map(|rule| rule.split(|c| !is_word(c)));
        let watched: Vec<_> = words
            .filter(|word| word.starts_with("cambist_venue_"))
            .collect();
        assert!(watched.contains(&"cambist_venue_clock_ahead_seconds"));
        for name in watched {
            value(name);
        }
        // It requires the token, and is not reachable through the exchange's own address.
        let mut bare = super::support::Connection::open(operator.address);
        assert_eq!(bare.ask(&Call::get("/metrics")).status, 401);
        assert_eq!(operator.call(Call::new("POST", "/metrics")).status, 405);
        assert_eq!(exchange.ask(&Call::get("/metrics")).status, 404);
    });
}

/// The rows of docs/metrics.md about the exchange: name, type, help text.
fn listed() -> Vec<&'static str> {
    let document = include_str!("../../../../docs/metrics.md");
    let mut parts = document.split("\n## ");
    let exchange = parts.find(|part| part.starts_with("The exchange"));
    let lines = exchange.unwrap().lines();
    lines.filter(|line| line.starts_with("| `")).collect()
}

/// The same of a page.
fn shown_rows(page: &str) -> Vec<String> {
    let described = page.split("# HELP ").skip(1);
    let mut rows: Vec<_> = described
        .map(|metric| {
            let (name, rest) = metric.split_once(' ').unwrap();
            let (help, rest) = rest.split_once("\n# TYPE ").unwrap();
            let kind = rest.lines().next().unwrap().trim_start_matches(name).trim();
            format!("| `{name}` | {kind} | {help} |")
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn the_free_space_of_the_data_folder_is_a_metric() {
    let page = |exchange: &Exchange| {
        let operator = OperatorListener::open(exchange);
        operator.call(Call::get("/metrics")).text
    };
    let value = |page: &str, name: &str| -> Option<u64> {
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    };
    let names = [
        "cambist_venue_disk_free_bytes",
        "cambist_venue_disk_free_min_bytes",
    ];
    let folder = Folder::new("free-space");
    let data = taken(folder.path()).with_free_min(123);
    let durable = data.begin(populated(), Vec::new()).unwrap();
    let exchange = Exchange::durable_by(&config(), durable);
    let shown = page(&exchange);
    let free = value(&shown, names[0]).unwrap();
    assert!((1..1 << 60).contains(&free), "{free}");
    assert_eq!(value(&shown, names[1]), Some(123));
    assert_eq!(listed(), shown_rows(&shown), "rows of docs/metrics.md");
    // Where nothing is written there is no disk.
    let shown = page(&Exchange::start());
    assert_eq!(
        names.map(|name| value(&shown, name)),
        [None, None],
        "{shown}"
    );
}

#[test]
fn a_folder_far_ahead_of_the_clock_is_refused_before_anything_is_written() {
    let folder = Folder::new("far-ahead");
    let wrong = VenueTime(2_000_000_000_000);
    run(folder.path(), Clock::by_hand(wrong), |exchange| {
        exchange.ask(&order(1, 0, wrong)).good();
    });
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let resumed = |wall: u64, ahead_max_ms: u64| {
        let folder = taken(folder.path());
        let bound = folder.with_time_bound(VenueTime(wall), ahead_max_ms);
        bound.recover().map(|exchange| exchange.map(drop))
    };
    // One millisecond beyond the bound, and at the bound.
    let Err(DataError::TimeAhead { ahead_s, max_s, .. }) = resumed(wrong.0 - 60_001, 60_000) else {
        panic!("refused");
    };
    assert_eq!((ahead_s, max_s), (61, 60));
    assert_eq!(names(), before);
    assert_eq!(resumed(wrong.0 - 60_000, 60_000).unwrap(), Some(()));
    // A system clock that is later is always accepted.
    assert_eq!(resumed(wrong.0 + YEAR_MS, 0).unwrap(), Some(()));
}
