//! Reads a system-call trace and answers one question: was every order on disk before it was sent?
//!
//! The trace is that of `strace -f -yy -s 65536` over the calls that write, sync and send. Calls of several threads
//! overlap; the order of lines is the order of events, and a call that is interrupted by another thread's begins on one
//! line and ends on a later one.

use std::collections::{BTreeMap, BTreeSet};

/// The file whose sync makes an intent durable.
const LOG: &str = "cambist.db-wal>";
/// The start of a submit.
const SUBMIT: &str = "POST /api/v3/order HTTP/1.1";

/// What a trace showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Orders sent, each counted once.
    pub sent: usize,
    /// Syncs of the log.
    pub syncs: usize,
    /// Orders whose transmission started before a sync covered them.
    pub uncovered: Vec<String>,
}

enum Event {
    /// A write to the log has ended; it held these ids.
    Written(Vec<String>),
    /// A sync of the log has begun.
    SyncBegun(u32),
    /// It has ended well.
    SyncEnded(u32),
    /// A submit starts to be sent.
    Sent(Vec<String>),
}

/// Judges a whole trace.
pub fn judge(trace: &str) -> Verdict {
    let mut verdict = Verdict::default();
    // Ids that a finished write has put into the log, and the number of writes at that time.
    let mut written: BTreeSet<String> = BTreeSet::new();
    let mut covered: BTreeSet<String> = BTreeSet::new();
    // What each running sync will cover: only what was written before it began.
    let mut syncing: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    let mut sent = BTreeSet::new();
    for event in events(trace) {
        match event {
            Event::Written(ids) => written.extend(ids),
            Event::SyncBegun(thread) => {
                syncing.insert(thread, written.clone());
            }
            Event::SyncEnded(thread) => {
                verdict.syncs += 1;
                covered.extend(syncing.remove(&thread).unwrap_or_default());
            }
            Event::Sent(ids) => {
                if ids.is_empty() {
                    verdict
                        .uncovered
                        .push("a submit without a client order id".to_owned());
                }
                for id in ids {
                    if !covered.contains(&id) {
                        verdict.uncovered.push(id.clone());
                    }
                    sent.insert(id);
                }
            }
        }
    }
    verdict.sent = sent.len();
    verdict
}

fn events(trace: &str) -> Vec<Event> {
    let mut events = Vec::new();
    // The first part of an interrupted call by thread.
    let mut begun: BTreeMap<u32, String> = BTreeMap::new();
    for line in trace.lines() {
        let line = line.trim_start_matches("[pid").trim_start();
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let Ok(thread) = thread.trim_end_matches(']').parse::<u32>() else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(call) = rest.strip_suffix("<unfinished ...>") {
            begin(thread, call, &mut events);
            begun.insert(thread, call.to_owned());
        } else if rest.starts_with("<... ") {
            if let Some(call) = begun.remove(&thread) {
                finish(thread, &call, rest, &mut events);
            }
        } else {
            begin(thread, rest, &mut events);
            finish(thread, rest, rest, &mut events);
        }
    }
    events
}

fn begin(thread: u32, call: &str, events: &mut Vec<Event>) {
    if is_sync(call) {
        events.push(Event::SyncBegun(thread));
    } else if call.contains(SUBMIT) && !is_file(call) {
        events.push(Event::Sent(ids(call)));
    }
}

fn finish(thread: u32, call: &str, end: &str, events: &mut Vec<Event>) {
    let result = end
        .rsplit_once(" = ")
        .map_or("", |(_, result)| result.trim());
    let failed = result.starts_with('-') || result.starts_with('?');
    if failed {
        return;
    }
    if is_sync(call) {
        events.push(Event::SyncEnded(thread));
    } else if is_file(call) && call.contains(LOG) && call.contains("write") {
        events.push(Event::Written(ids(call)));
    }
}

fn is_sync(call: &str) -> bool {
    (call.starts_with("fdatasync(") || call.starts_with("fsync(")) && call.contains(LOG)
}

/// Whether the first descriptor of a call is a file and not a socket.
fn is_file(call: &str) -> bool {
    let first = call.split([',', ')']).next().unwrap_or("");
    first.contains("</")
}

/// Client order ids in a text: `c`, eight hexadecimal digits, strategy, number.
fn ids(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("clientOrderId") {
        let rest = text[at + "clientOrderId".len()..].trim_start_matches(['"', '\\', ':', ' ']);
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .unwrap_or(rest.len());
        if rest.starts_with('c') && rest[..end].matches('-').count() == 2 && end < rest.len() {
            found.push(rest[..end].to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "c0000002a-1-7";

    fn write(thread: u32) -> String {
        format!(
            r#"{thread} pwrite64(9</s/cambist.db-wal>, "\r\0x{{\"clientOrderId\":\"{ID}\",\"orderType\":1}}", 4096, 32) = 4096"#
        )
    }

    fn send(thread: u32) -> String {
        format!(
            r#"{thread} sendto(11<TCP:[127.0.0.1:4->127.0.0.1:5]>, "POST /api/v3/order HTTP/1.1\r\n\r\n{{\"clientOrderId\":\"{ID}\",", 900, MSG_NOSIGNAL, NULL, 0) = 900"#
        )
    }

    const SYNC: &str = "8 fdatasync(9</s/cambist.db-wal>) = 0";

    fn judged(lines: &[&str]) -> Verdict {
        judge(&lines.join("\n"))
    }

    #[test]
    fn a_sync_between_write_and_send_covers_it() {
        let verdict = judged(&[&write(8), SYNC, &send(7)]);
        assert_eq!(
            verdict,
            Verdict {
                sent: 1,
                syncs: 1,
                uncovered: vec![]
            }
        );
    }

    #[test]
    fn everything_else_does_not() {
        let failed = SYNC.replace("= 0", "= -1 EIO (Input/output error)");
        let elsewhere = SYNC.replace("cambist.db-wal", "cambist.db");
        let begun = "8 fdatasync(9</s/cambist.db-wal> <unfinished ...>";
        let ended = "8 <... fdatasync resumed>) = 0";
        let (write, send) = (write(8), send(7));
        for lines in [
            &[write.as_str(), send.as_str()][..],
            &[send.as_str(), SYNC],
            &[write.as_str(), send.as_str(), SYNC],
            &[SYNC, write.as_str(), send.as_str()],
            &[write.as_str(), &failed, send.as_str()],
            &[write.as_str(), &elsewhere, send.as_str()],
            // A sync that is still running, and one that began before the write ended.
            &[write.as_str(), begun, send.as_str(), ended],
            &[begun, write.as_str(), ended, send.as_str()],
        ] {
            assert_eq!(judged(lines).uncovered, [ID], "{lines:#?}");
        }
        let verdict = judged(&[&write, begun, ended, &send]);
        assert_eq!(verdict.uncovered, Vec::<String>::new());
        assert_eq!(verdict.sent, 1);
    }

    #[test]
    fn an_interrupted_send_counts_from_its_beginning() {
        let write = write(8);
        let whole = send(7);
        let cut = format!("{}<unfinished ...>", whole.split(", 900").next().unwrap());
        let verdict = judged(&[&write, &cut, SYNC, "7 <... sendto resumed>) = 900"]);
        assert_eq!(verdict.uncovered, [ID]);
    }
}
