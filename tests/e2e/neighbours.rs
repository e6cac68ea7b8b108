//! Other users of the machine: what they can reach of a daemon, and that it trades on.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::support::http::body;
use crate::support::process::CAMBIST;
use crate::support::stage::{lively, quick};
use crate::support::{Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// Descriptors that the daemon may have.
const DESCRIPTORS: usize = 200;

/// Half-requests, more than there are descriptors.
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
    // It goes on: new orders, an answer at the socket, its pages for whoever asks in full.
    let before = stage.books().orders.len();
    until(SOON, "new orders", || {
        (stage.books().orders.len() > before + 10).then_some(())
    });
    let (code, page, log) = stage.command("status");
    assert_eq!((code, &page["state"]), (0, &"active".into()), "{log}");
    assert!(
        body(&address, "/metrics")
            .unwrap()
            .contains("process_open_fds")
    );
    let open = std::fs::read_dir(format!("/proc/{}/fd", daemon.id())).unwrap();
    let open = open.count();
    assert!(open < DESCRIPTORS - 64, "{open} descriptors");
    drop(halves);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(!daemon.stderr().contains("no connection accepted"));
    stage.close();
}
