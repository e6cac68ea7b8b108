//! The client of the control socket against daemons that answer, answer late, fall silent or end.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::{AskError, SILENCE_TIMEOUT, Waiting, ask, timeout_of, unless_absent, wait_for_end};
use crate::live::control_requests::{RequestJson, ScopeJson};
use crate::live::control_socket::NAME;

/// What a connection gets.
enum Turn {
    /// This line, and the end.
    Answer(&'static str),
    /// The end at once.
    End,
    /// The end before the request is read.
    EndUnread,
    /// Nothing: kept open until the other turns are over.
    Keep,
    /// The connection that is kept gets this line.
    AnswerKept(&'static str),
    /// The connection that is kept ends.
    EndKept,
}

/// A daemon that treats its connections so, one after the other; its result is what it was asked, and the connections
/// that it still keeps.
fn daemon(dir: &Path, turns: Vec<Turn>) -> JoinHandle<(Vec<String>, Vec<UnixStream>)> {
    let listener = UnixListener::bind(dir.join(NAME)).unwrap();
    let socket = dir.join(NAME);
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        let mut kept: Vec<UnixStream> = Vec::new();
        for turn in turns {
            match &turn {
                Turn::AnswerKept(line) => {
                    let mut stream = kept.remove(0);
                    stream.write_all(line.as_bytes()).unwrap();
                    continue;
                }
                Turn::EndKept => {
                    kept.remove(0);
                    continue;
                }
                _ => {}
            }
            let (mut stream, _) = listener.accept().unwrap();
            if matches!(turn, Turn::EndUnread) {
                // The rest is unread, so that the other end sees a reset.
                stream.read_exact(&mut [0]).unwrap();
                continue;
            }
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap())
                .read_line(&mut line)
                .unwrap();
            let json: Value = serde_json::from_str(&line).unwrap();
            asked.push(json["wish"].as_str().unwrap().to_owned());
            match turn {
                Turn::Answer(text) => stream.write_all(text.as_bytes()).unwrap(),
                Turn::Keep => kept.push(stream),
                _ => {}
            }
        }
        let _ = std::fs::remove_file(socket);
        (asked, kept)
    })
}

const STATUS: &str = "{\"state\":\"active\"}\n";
const DRAIN: RequestJson = RequestJson::Drain { wait: true };

fn pause() -> RequestJson {
    RequestJson::Pause {
        part: ScopeJson::default(),
        reason: "a test".to_owned(),
    }
}

#[test]
fn a_request_that_must_be_durable_waits_for_a_daemon_that_has_answered() {
    let folder = crate::testing::private_folder();
    assert_eq!(ask(folder.path(), &pause()).unwrap(), None, "none runs");
    let turns = vec![
        Turn::Answer(STATUS),
        Turn::Answer("{\"done\":true}\n"),
        Turn::Answer(STATUS),
    ];
    let daemon = daemon(folder.path(), turns);
    assert_eq!(
        ask(folder.path(), &pause()).unwrap(),
        Some(json!({"done": true}))
    );
    let status = ask(folder.path(), &RequestJson::Status).unwrap();
    assert_eq!(status, Some(json!({"state": "active"})));
    assert_eq!(daemon.join().unwrap().0, ["status", "pause", "status"]);
    let missing = folder.path().join("missing");
    assert_eq!(
        ask(&missing, &pause()).unwrap(),
        None,
        "no folder, no daemon"
    );
}

#[test]
fn a_daemon_that_ends_without_an_answer_is_gone() {
    let folder = crate::testing::private_folder();
    let daemon = daemon(folder.path(), vec![Turn::End]);
    let error = ask(folder.path(), &RequestJson::Status).unwrap_err();
    assert!(matches!(error, AskError::Gone), "{error}");
    daemon.join().unwrap();
}

#[test]
fn a_daemon_that_ends_before_it_reads_the_request_is_gone() {
    let folder = crate::testing::private_folder();
    let running = daemon(folder.path(), vec![Turn::EndUnread]);
    let error = ask(folder.path(), &RequestJson::Status).unwrap_err();
    assert!(matches!(error, AskError::Gone), "{error}");
    running.join().unwrap();
}

#[test]
fn an_answer_that_is_no_json_is_an_error() {
    let folder = crate::testing::private_folder();
    let daemon = daemon(folder.path(), vec![Turn::Answer("{\"done\":\n")]);
    let error = ask(folder.path(), &RequestJson::Status).unwrap_err();
    assert!(matches!(error, AskError::Io(_)), "{error}");
    daemon.join().unwrap();
}

/// What must become durable has the time of an answer and of a request; the status and the kill do not wait.
#[test]
fn requests_have_the_time_that_they_need() {
    let reason = || "a test".to_owned();
    let quick = [
        RequestJson::Status,
        RequestJson::Kill {
            cancel_only: true,
            reason: reason(),
        },
    ];
    for json in quick {
        assert_eq!(
            timeout_of(&json),
            (false, Duration::from_secs(2)),
            "{json:?}"
        );
    }
    let token = || "ETH".to_owned();
    for json in [
        pause(),
        RequestJson::Unpause {
            part: ScopeJson::default(),
            reason: reason(),
        },
        RequestJson::Lower {
            reason: reason(),
            forget_losses: false,
        },
        RequestJson::Drain { wait: false },
        RequestJson::Leave { wait: false },
        RequestJson::Reload {
            file: PathBuf::from("/x"),
            allow_loosening: false,
        },
        RequestJson::TakeSlot { token: token() },
        RequestJson::ExpectNoMore { reason: reason() },
    ] {
        assert_eq!(
            timeout_of(&json),
            (true, Duration::from_secs(25)),
            "{json:?}"
        );
    }
}

/// Short times, so that a daemon that is silent is silent soon.
const SHORT: Waiting = Waiting {
    poll: Duration::from_millis(20),
    silence: Duration::from_millis(200),
    silent_max: 2,
};

/// What a client that waits was shown: `true` for a status.
fn waited(dir: &Path) -> (Result<Option<Value>, AskError>, Vec<bool>) {
    let mut shown = Vec::new();
    let answer = wait_for_end(dir, &DRAIN, SHORT, |status| {
        if let Ok(status) = status {
            assert_eq!(status["state"], "active");
        }
        shown.push(status.is_ok());
    });
    (answer, shown)
}

#[test]
fn a_client_that_waits_is_shown_statuses_and_gets_the_result() {
    let folder = crate::testing::private_folder();
    let (answer, shown) = waited(folder.path());
    assert_eq!((answer.unwrap(), shown), (None, vec![]), "none runs");
    let turns = vec![
        Turn::Answer(STATUS),
        Turn::Keep,
        Turn::Answer(STATUS),
        Turn::Answer(STATUS),
        Turn::AnswerKept("{\"done\":true,\"proven\":true}\n"),
    ];
    let daemon = daemon(folder.path(), turns);
    let (answer, shown) = waited(folder.path());
    assert_eq!(answer.unwrap().unwrap()["proven"], true);
    assert_eq!(shown, [true, true]);
    assert_eq!(
        daemon.join().unwrap().0,
        ["status", "drain", "status", "status"]
    );
}

#[test]
fn a_daemon_that_ends_while_it_is_waited_for_is_gone() {
    let folder = crate::testing::private_folder();
    let turns = vec![
        Turn::Answer(STATUS),
        Turn::Keep,
        Turn::Answer(STATUS),
        Turn::EndKept,
    ];
    let daemon = daemon(folder.path(), turns);
    let (answer, shown) = waited(folder.path());
    assert!(matches!(answer, Err(AskError::Gone)), "{answer:?}");
    assert_eq!(shown, [true]);
    daemon.join().unwrap();
}

/// Silence in a row is counted: a status in between begins again.
#[test]
fn waiting_ends_after_so_many_polls_without_an_answer() {
    let folder = crate::testing::private_folder();
    let turns = vec![
        Turn::Answer(STATUS),
        Turn::Keep,
        Turn::Keep,
        Turn::Answer(STATUS),
        Turn::Keep,
        Turn::Keep,
        Turn::Keep,
    ];
    let daemon = daemon(folder.path(), turns);
    let (answer, shown) = waited(folder.path());
    assert!(matches!(answer, Err(AskError::Silent { .. })), "{answer:?}");
    assert_eq!(shown, [false, true, false, false]);
    daemon.join().unwrap();
}

#[test]
fn a_socket_that_fails_is_an_error_and_no_silence() {
    let folder = crate::testing::private_folder();
    let turns = vec![
        Turn::Answer(STATUS),
        Turn::Keep,
        Turn::Answer("{\n"),
        Turn::Answer("{\n"),
        Turn::Answer("{\n"),
    ];
    let daemon = daemon(folder.path(), turns);
    let (answer, shown) = waited(folder.path());
    assert!(matches!(answer, Err(AskError::Io(_))), "{answer:?}");
    assert_eq!(shown, [false, false]);
    daemon.join().unwrap();
}

#[test]
fn a_daemon_that_ends_while_the_request_is_written_is_gone() {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, PermissionDenied};
    let failed = |kind: io::ErrorKind| {
        unless_absent::<()>(Err(kind.into()), None, SILENCE_TIMEOUT).unwrap_err()
    };
    for kind in [BrokenPipe, ConnectionReset] {
        assert!(matches!(failed(kind), AskError::Gone), "{kind}");
    }
    assert!(matches!(failed(PermissionDenied), AskError::Io(_)));
}
