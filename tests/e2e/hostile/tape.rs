//! A tape that cannot be written costs only evidence: the daemon continues to trade, logs it once, and ends normally.

use super::{SOON, assert_whole};
use crate::support::http::{body, metric};
use crate::support::stage::{lively, quick};
use crate::support::{Edit, Stage, until};

#[test]
fn trading_goes_on_without_a_tape() {
    let name = "tape-lost";
    let stage = Stage::open_kept(name, lively);
    stage.daemon("daemon", &stage.url(), |file| {
        quick(file);
        // The smallest possible segments.
        file.put("tape.max_mb", 4).put("poll.orders_ms", 50);
    });
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    let recording = || {
        let page = body(&address, "/metrics").unwrap();
        metric(&page, "cambist_tape_recording", &[]) > 0.5
    };
    assert!(recording());
    // In the place of the next segment is something that no file can be written over.
    std::fs::create_dir(stage.path("daemon-tape/0000000002.tape")).unwrap();
    until(SOON, "the end of the recording", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (!recording()).then_some(())
    });
    let there = stage.books().orders.len();
    until(SOON, "orders after the recording", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.books().orders.len() > there + 5).then_some(())
    });
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let log = daemon.stderr();
    assert_eq!(log.matches("writing the tape failed").count(), 1, "{log}");
    assert_eq!(
        log.matches("the recording of the tape has ended").count(),
        1,
        "{log}"
    );
    assert_whole(&stage, &daemon, name);
    // The next run records again.
    let mut daemon = stage.run("daemon");
    stage.metrics("daemon", &mut daemon);
    assert!(stage.path("daemon-tape/0000000003.tape").is_file());
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close_audited(&daemon);
}
