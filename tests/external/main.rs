//! Tests that need a tool that may be missing. Not part of `cargo test`: `tests/external/run` runs them, and reports
//! which ran and which could not.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod boundaries;
mod cuts;
mod lives;
mod sample;
#[path = "../e2e/support/mod.rs"]
mod support;

use std::time::Duration;

use support::http::body;
use support::stage::{lively, quick};
use support::{Stage, until};

const SOON: Duration = Duration::from_secs(55);

/// Writes a page of metrics of a daemon that has traded to the file named by `METRICS_PAGE`.
#[test]
fn a_page_of_metrics() {
    let target = std::env::var_os("METRICS_PAGE").expect("METRICS_PAGE names the file to write");
    let stage = Stage::open("metrics", lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "ten orders", || {
        (stage.books().orders.len() >= 10).then_some(())
    });
    std::fs::write(target, body(&address, "/metrics").unwrap()).unwrap();
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
