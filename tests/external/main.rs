//! Tests that need a tool that may be missing. Not part of `cargo test`: `tests/external/run` runs them, and reports
//! which ran and which could not.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod boundaries;
mod cuts;
mod lives;
mod sample;
#[path = "../e2e/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Duration;

use support::http::body;
use support::process::CAMBIST;
use support::stage::{lively, quick};
use support::{Program, Stage, trace, until};

const SOON: Duration = Duration::from_secs(55);

/// Needs strace. Kill -9 alone passes without any sync, so this is what shows durability.
#[test]
fn every_submit_is_on_disk_before_it_leaves() {
    let stage = Stage::open("trace", lively);
    let config = stage
        .daemon("daemon", &stage.url(), quick)
        .display()
        .to_string();
    let file = stage.path("trace.txt");
    let mut command = Command::new("strace");
    let calls = "trace=write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,sendmmsg,fsync,fdatasync,sync_file_range";
    command
        .args(["-f", "-yy", "-s", "65536", "-e", calls, "-o"])
        .arg(&file)
        .arg(CAMBIST);
    command.args(["run", "--json", "--config", &config, "--until-stdin-closes"]);
    let mut daemon = Program::spawn(stage.folder.path(), "daemon", command);
    stage.metrics("daemon", &mut daemon);
    until(SOON, "fifty orders", || {
        (stage.books().orders.len() >= 50).then_some(())
    });
    // strace passes the request on when its standard input, which is the daemon's, ends.
    daemon.close_stdin();
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());

    let verdict = trace::judge(&std::fs::read_to_string(&file).unwrap());
    let orders = stage.books().orders.len();
    println!(
        "{} orders sent, {} syncs of the log",
        verdict.sent, verdict.syncs
    );
    assert!(
        verdict.uncovered.is_empty(),
        "sent before they were on disk: {:?}",
        verdict.uncovered
    );
    assert!(
        verdict.sent >= orders,
        "{} of {orders} orders were seen in the trace",
        verdict.sent
    );
    stage.close();
}

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
