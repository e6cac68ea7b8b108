//! Other users of the machine: their access to a daemon, and that it continues to trade.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::support::http::{body, metric};
use crate::support::process::CAMBIST;
use crate::support::stage::{lively, quick};
use crate::support::{Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Limit of the daemon's descriptors.
const DESCRIPTORS: f64 = 200.0;

/// Incomplete requests, more than there are descriptors.
const HALVES: usize = 300;

#[test]
fn half_requests_at_its_pages_do_not_blind_the_daemon() {
    let stage = Stage::open("neighbours-halves", lively);
    let config = stage.daemon("daemon", &stage.url(), quick);
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {DESCRIPTORS}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, CAMBIST, "run", "--json", "--config"]);
    command.arg(config).arg("--until-stdin-closes");
    let mut daemon = Program::spawn(stage.folder.path(), "daemon", command);
    let address = stage.metrics("daemon", &mut daemon);
    until(SOON, "quotes", || (stage.books().open() > 0).then_some(()));
    let halves: Vec<_> = (0..HALVES)
        .map(|_| {
            let mut half = TcpStream::connect(&address).unwrap();
            half.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127")
                .unwrap();
            half
        })
        .collect();
    // It continues: new orders, an answer at the socket, its pages for complete requests.
    let before = stage.books().orders.len();
    until(SOON, "new orders", || {
        (stage.books().orders.len() > before + 10).then_some(())
    });
    let (code, page, log) = stage.command("status");
    assert_eq!((code, &page["state"]), (0, &"active".into()), "{log}");
    let page = body(&address, "/metrics").unwrap();
    let open = metric(&page, "process_open_fds", &[]);
    assert!(
        open > 64.0 && open < DESCRIPTORS - 64.0,
        "{open} descriptors"
    );
    drop(halves);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(!daemon.stderr().contains("accepting a connection failed"));
    stage.close();
}

/// Keys are in its memory: no core file, and on Linux no other process of the same user reads it.
#[test]
fn no_other_process_reads_the_memory_of_a_daemon() {
    let stage = Stage::open("neighbours-memory", |_| {});
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    for process in [daemon.id(), stage.venue.id()] {
        let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        let core = limits
            .lines()
            .find(|line| line.starts_with("Max core file size"));
        let words: Vec<_> = core.unwrap().split_whitespace().collect();
        assert_eq!(words[4..6], ["0", "0"], "{limits}");
        // A process that is not dumpable belongs to root, whatever user runs it.
        let memory = std::fs::metadata(format!("/proc/{process}/mem")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::uid(&memory), 0);
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
