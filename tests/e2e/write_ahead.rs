//! What must be on disk before something else happens, in the order of the calls of a running program: an order before
//! it is sent, the store's folder before the first order, the latch of `panic` before its first request.
//!
//! A killed process loses nothing that it has written, synced or not, so kills show nothing about syncs.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use cambist_syscalls::{Call, Phase, Record, Recording};

use crate::support::process::CAMBIST;
use crate::support::stage::{lively, quick};
use crate::support::{Program, Stage, until};

const SOON: Duration = Duration::from_secs(55);

/// The file whose sync makes an intent durable.
const LOG: &str = "/cambist.db-wal";
/// The start of a submit.
const SUBMIT: &[u8] = b"POST /api/v3/order HTTP/1.1";

#[test]
fn every_submit_is_on_disk_before_it_leaves() {
    let stage = Stage::open("write-ahead", lively);
    let config = stage.daemon("daemon", &stage.url(), quick);
    let mut command = Command::new(CAMBIST);
    command.args(["run", "--json", "--until-stdin-closes", "--config"]);
    command.arg(config);
    let recording = Recording::of(&mut command, &stage.path("calls"));
    let mut daemon = Program::spawn(stage.folder.path(), "daemon", command);
    stage.metrics("daemon", &mut daemon);
    until(SOON, "twenty orders", || {
        (stage.books().orders.len() >= 20).then_some(())
    });
    daemon.close_stdin();
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());

    let records = recording.read().unwrap();
    let judged = judge(&records);
    let orders = stage.books().orders.len();
    assert_eq!(judged.uncovered, Vec::<String>::new());
    assert!(judged.sent >= orders, "{} of {orders} orders", judged.sent);

    // The name of the log is in its folder, and the folder's own in the one above, before anything relies on it.
    let first = records.iter().position(is_submit).unwrap();
    let folder = stage.path("daemon-state").canonicalize().unwrap();
    for folder in [folder.as_path(), folder.parent().unwrap()] {
        let synced = |one: &Record| {
            one.call == Call::Sync && one.succeeded() && one.target == folder.to_string_lossy()
        };
        assert!(records[..first].iter().any(synced), "{}", folder.display());
    }
    stage.close();
}

#[test]
fn the_latch_is_on_disk_before_panic_asks_anything_of_the_exchange() {
    let stage = Stage::open("latch-synced", lively);
    let config = stage.daemon("daemon", &stage.url(), quick);
    let mut command = Command::new(CAMBIST);
    command.args(["panic", "--yes", "--json", "--config"]);
    command.arg(config);
    let recording = Recording::of(&mut command, &stage.path("calls"));
    let mut panic = Program::spawn(stage.folder.path(), "panic", command);
    assert_eq!(panic.end(SOON), 0, "{}", panic.last_words());

    let records = recording.read().unwrap();
    let folder = stage.path("daemon-state").canonicalize().unwrap();
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let folder = folder.to_string_lossy().into_owned();
    let position = |call: Call, target: &str, from: usize| {
        let done = |one: &Record| one.call == call && one.succeeded() && one.target == target;
        let found = records[from..].iter().position(done);
        from + found.unwrap_or_else(|| panic!("no {call:?} of {target} from record {from} on"))
    };
    let request = |one: &Record| one.is_socket() && one.phase == Phase::Begun;
    let first_request = records.iter().position(request).unwrap();
    let written = position(Call::Write, &file("latch"), 0);
    let synced = position(Call::Sync, &file("latch"), written);
    assert!(position(Call::Sync, &folder, synced) < first_request);
    // What it proved is durable too when it ends.
    let written = position(Call::Write, &file("panic.proven"), first_request);
    let synced = position(Call::Sync, &file("panic.proven"), written);
    position(Call::Sync, &folder, synced);
    stage.close();
}

/// What a recording shows of the orders sent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Judged {
    /// Orders sent, each counted once.
    sent: usize,
    /// Syncs of the log.
    syncs: usize,
    /// Orders whose transmission began before a sync covered them.
    uncovered: Vec<String>,
}

fn is_submit(record: &Record) -> bool {
    record.call == Call::Write
        && record.phase == Phase::Begun
        && record.is_socket()
        && record.data.starts_with(SUBMIT)
}

fn judge(records: &[Record]) -> Judged {
    let mut judged = Judged::default();
    let mut written: BTreeSet<String> = BTreeSet::new();
    let mut covered: BTreeSet<String> = BTreeSet::new();
    // What each running sync will cover: only what was written before it began.
    let mut syncing: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    let mut sent = BTreeSet::new();
    for record in records {
        let log = record.target.ends_with(LOG);
        match (record.call, record.phase) {
            (Call::Write, Phase::Ended) if log && record.succeeded() => {
                written.extend(ids(&record.data));
            }
            (Call::Sync, Phase::Begun) if log => {
                syncing.insert(record.thread, written.clone());
            }
            (Call::Sync, Phase::Ended) if log => {
                let covers = syncing.remove(&record.thread).unwrap_or_default();
                if record.succeeded() {
                    judged.syncs += 1;
                    covered.extend(covers);
                }
            }
            _ if is_submit(record) => {
                let ids = ids(&record.data);
                if ids.is_empty() {
                    let none = "a submit without a client order id".to_owned();
                    judged.uncovered.push(none);
                }
                for id in ids {
                    if !covered.contains(&id) {
                        judged.uncovered.push(id.clone());
                    }
                    sent.insert(id);
                }
            }
            _ => {}
        }
    }
    judged.sent = sent.len();
    judged
}

/// Client order ids in bytes: `c`, eight hexadecimal digits, strategy, number.
fn ids(bytes: &[u8]) -> Vec<String> {
    const KEY: &str = "\"clientOrderId\":\"";
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for (at, _) in text.match_indices(KEY) {
        if let Some((id, _)) = text[at + KEY.len()..].split_once('"')
            && id.starts_with('c')
            && id.matches('-').count() == 2
        {
            found.push(id.to_owned());
        }
    }
    found
}

#[test]
fn only_a_sync_between_write_and_send_covers_an_order() {
    const ID: &str = "c0000002a-1-7";
    let record = |call, phase, target: &str, data: &str| Record {
        thread: 8,
        call,
        phase,
        target: target.to_owned(),
        data: data.as_bytes().to_vec(),
        result: 0,
    };
    let log = "/s/cambist.db-wal";
    let body = format!(r#"{{"clientOrderId":"{ID}","orderType":1}}"#);
    let write = &record(Call::Write, Phase::Ended, log, &format!("\r\0{body}"));
    let request = format!("POST /api/v3/order HTTP/1.1\r\n\r\n{body}");
    let send = &record(Call::Write, Phase::Begun, "socket:[7]", &request);
    let begun = &record(Call::Sync, Phase::Begun, log, "");
    let ended = &record(Call::Sync, Phase::Ended, log, "");
    let elsewhere = &record(Call::Sync, Phase::Ended, "/s/cambist.db", "");
    let failed = &Record {
        result: -1,
        ..ended.clone()
    };
    let uncovered = |records: &[&Record]| {
        let records: Vec<_> = records.iter().map(|one| (*one).clone()).collect();
        let judged = judge(&records);
        assert_eq!(judged.sent, 1);
        judged.uncovered
    };
    assert!(uncovered(&[write, begun, ended, send]).is_empty());
    for records in [
        &[write, send][..],
        &[send, begun, ended],
        &[write, send, begun, ended],
        &[begun, ended, write, send],
        &[write, begun, failed, send],
        &[write, elsewhere, send],
        // A sync that is still running, and one that began before the write ended.
        &[write, begun, send, ended],
        &[begun, write, ended, send],
    ] {
        assert_eq!(uncovered(records), [ID], "{records:#?}");
    }
}
