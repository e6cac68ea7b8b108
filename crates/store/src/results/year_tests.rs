//! A year of fills is answered without reading it: by index searches, not by scans.
//!
//! Times with a million fills: `FILLS_PER_HOUR=115 cargo test --release -p cambist-store a_year -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cambist_core::Side;
use cambist_host::clock::Clock;
use rusqlite::Connection;

use super::HOUR_US;
use super::period::{self, Hours};
use super::tests::{Account, FIRST_HOUR, Random};
use crate::history::{self, Filter, RecordKind};
use crate::view;

const HOURS: u64 = 365 * 24;
/// A year in which two strategies trade and the price moves.
fn year(fills_per_hour: u64) -> Account {
    let mut random = Random(7);
    let mut account = Account::open(500 * 10_i128.pow(18), 2_000_000_000_000);
    account.write_unsynced();
    for hour in 0..HOURS {
        let at_us = (FIRST_HOUR + hour) * HOUR_US;
        account.set_mid(480_000 + random.below(40_000));
        for fill in 0..fills_per_hour {
            let side = Side::BOTH[usize::from(fill % 2 == 1)];
            let strategy = u8::from(random.below(3) == 0);
            account.trade(
                strategy,
                side,
                1 + u128::from(random.below(9)),
                at_us + fill,
            );
        }
    }
    account
}

/// The result of a reading, the steps that it took, and microseconds.
fn counted<T>(account: &Account, read: impl FnOnce(&Connection) -> T) -> (T, u64, u64) {
    let database = view::open_current(&account.file()).unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let step = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        false
    };
    // After every step of SQLite's virtual machine.
    database.progress_handler(1, Some(step)).unwrap();
    let clock = Clock::new();
    let result = read(&database);
    (result, count.load(Ordering::Relaxed), clock.now().0)
}

#[test]
fn a_year_is_reported_and_listed_by_searches() {
    let asked = std::env::var("FILLS_PER_HOUR").ok();
    let fills_per_hour = asked.map_or(1, |text| text.parse().unwrap());
    let account = year(fills_per_hour);
    let fills = HOURS * fills_per_hour;

    let (report, steps, micros) = counted(&account, |database| {
        period::read_from(database, Hours::default())
    });
    let report = report.map_err(|_| "damaged").unwrap();
    println!("report of a year with {fills} fills: {steps} steps, {micros} µs");
    assert_eq!(report.days.iter().map(|day| day.fills).sum::<u64>(), fills);
    assert!(!report.differs && report.notes.is_empty(), "{report:?}");
    assert!(report.days.len() > 2 * 364, "{}", report.days.len());
    assert!(steps < 1_000_000, "{steps}");

    let list = |filter: Filter| {
        let (rows, steps, micros) = counted(&account, |database| {
            history::each_from(database, RecordKind::Fills, &filter, |_| Ok(()))
        });
        let rows = rows.map_err(|_| "damaged").unwrap();
        println!("{rows} fills of {filter:?}: {steps} steps, {micros} µs");
        assert!(steps < 50_000, "{filter:?}: {steps}");
        rows
    };
    let newest = Filter {
        limit: Some(50),
        ..Filter::default()
    };
    assert_eq!(list(newest.clone()), 50);
    let begin_s = FIRST_HOUR * 3_600;
    let day = Filter {
        from_ms: Some((begin_s + 100 * 86_400) * 1_000),
        to_ms: Some((begin_s + 101 * 86_400) * 1_000),
        ..newest
    };
    assert_eq!(list(day), 50.min(24 * fills_per_hour));
}
