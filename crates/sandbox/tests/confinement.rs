#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
#![cfg(target_os = "linux")]
//! What a confined process cannot do, tried by one that tries; and what becomes of processes that misbehave.

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambist_sandbox::launch::Launch;
use cambist_sandbox::supervisor::{ProcessEvent, ProcessSpec, Supervisor, check};

const LAUNCHER: &str = env!("CARGO_BIN_EXE_cambist-confine");
const PYTHON: &str = "/usr/bin/python3";

fn escape_script() -> String {
    format!("{}/tests/escape.py", env!("CARGO_MANIFEST_DIR"))
}

fn launch(read: &[&str], command: &[&str]) -> Launch {
    Launch {
        read: read.iter().map(Into::into).collect(),
        memory_mb: 256,
        confine: true,
        command: command.iter().map(Into::into).collect(),
    }
}

#[test]
fn everything_that_a_strategy_might_try_is_refused() {
    let folder = std::env::temp_dir().join(format!("cambist-escape-{}", std::process::id()));
    let state = folder.join("state");
    std::fs::create_dir_all(&state).unwrap();
    let secret = folder.join("key");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::write(state.join("cambist.db"), "store").unwrap();
    let _control = UnixListener::bind(state.join("socket")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port().to_string();
    let left_open = std::fs::File::open(&secret).unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let script = escape_script();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (key, store) = (text(&secret), text(&state));
    let left = left_open.as_raw_fd().to_string();
    // It replaces the daemon.
    let mut daemon = Command::new("/bin/sleep").arg("600").spawn().unwrap();
    let pid = daemon.id().to_string();
    let command = [PYTHON, &script, &key, &store, &port, &left, &pid];
    let run = |confine| {
        let launch = Launch {
            confine,
            ..launch(&[&script], &command)
        };
        let output = Command::new(LAUNCHER)
            .args(launch.arguments())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success(),
            "{}\n{text}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    };
    let confined = run(true);
    let done: Vec<_> = confined
        .lines()
        .filter(|line| line.ends_with(": done"))
        .collect();
    assert!(done.is_empty(), "{done:#?}\n{confined}");
    assert_eq!(confined.lines().count(), 28, "{confined}");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    // Where nothing is confined the same attempts succeed, but for some that the host may refuse.
    let free = run(false);
    let refused: Vec<_> = free
        .lines()
        .filter(|line| !line.ends_with(": done"))
        .collect();
    let by_the_host = [
        "make a ring",
        "read what was left open",
        "read the memory of the daemon",
        "trace the daemon",
        "limit the daemon",
        "raise the limit on memory",
        "unshare",
    ];
    let unexplained: Vec<_> = refused
        .iter()
        .filter(|line| !by_the_host.iter().any(|name| line.starts_with(name)))
        .collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    for left in ["/tmp/cambist-escaped", "/dev/shm/cambist-escaped"] {
        std::fs::remove_file(left).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn whether_confinement_works_is_known_without_a_process() {
    check(&[LAUNCHER.into()]).unwrap();
    let missing = check(&["/nonexistent/launcher".into()]).unwrap_err();
    assert!(missing.to_string().contains("launcher"), "{missing}");
}

/// A process under supervision, and what happens to it.
struct Run {
    supervisor: Option<Supervisor>,
    events: Receiver<ProcessEvent>,
}

impl Run {
    fn new(command: &[&str], timeout_ms: u64) -> Self {
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let launcher: OsString = LAUNCHER.into();
        let spec = ProcessSpec {
            launcher: vec![launcher],
            launch: launch(&[], command),
            folder: "/".into(),
            timeout: Duration::from_millis(timeout_ms),
            line_max: 1_000,
        };
        let sink = move |event| drop(sender.lock().unwrap().send(event));
        Self {
            supervisor: Some(Supervisor::start(spec, Arc::new(sink)).unwrap()),
            events,
        }
    }

    fn shell(script: &str, timeout_ms: u64) -> Self {
        Self::new(&["/bin/sh", "-c", script], timeout_ms)
    }

    fn python(script: &str) -> Self {
        Self::new(&[PYTHON, "-c", script], 60_000)
    }

    fn send(&self, line: &str) {
        self.supervisor.as_ref().unwrap().send(line.to_owned());
    }

    fn next(&self) -> ProcessEvent {
        self.events.recv_timeout(Duration::from_mins(1)).unwrap()
    }

    /// How it ended, and the pause; what it logs before is left out.
    fn end(&self) -> (String, Duration) {
        loop {
            match self.next() {
                ProcessEvent::Ended { why, pause } => return (why, pause),
                ProcessEvent::Log(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn lines_are_answered_and_what_is_logged_is_passed_on() {
    let run = Run::shell(
        "while read line; do echo note >&2; echo \"got $line\"; done",
        60_000,
    );
    assert_eq!(run.next(), ProcessEvent::Started);
    for line in ["one", "two"] {
        run.send(line);
        let mut seen = [run.next(), run.next()];
        // The two streams are read by two threads.
        seen.sort_by_key(|event| matches!(event, ProcessEvent::Log(_)));
        let answer = format!("got {line}").into_bytes();
        let log = ProcessEvent::Log("note".to_owned());
        assert_eq!(seen, [ProcessEvent::Line(answer), log]);
    }
}

#[test]
fn a_process_that_dies_is_started_again_after_growing_pauses() {
    let run = Run::shell("exit 3", 60_000);
    let mut pauses = Vec::new();
    for _ in 0..3 {
        assert_eq!(run.next(), ProcessEvent::Started);
        let (why, pause) = run.end();
        assert!(why.contains("exit status: 3"), "{why}");
        pauses.push(pause.as_millis());
    }
    assert_eq!(pauses, [250, 500, 1_000]);
}

/// The supervisor's own signal is not reported as its end.
#[test]
fn a_process_that_closes_its_output_is_ended_and_the_reason_names_that() {
    let run = Run::shell("exec >&-; while :; do read line; done", 60_000);
    assert_eq!(run.next(), ProcessEvent::Started);
    assert_eq!(run.end().0, "it closed its standard output");
}

#[test]
fn a_silent_process_is_ended() {
    let run = Run::shell("while read line; do :; done", 100);
    assert_eq!(run.next(), ProcessEvent::Started);
    run.send("one");
    assert_eq!(run.end().0, "it did not answer for 100 ms");
}

#[test]
fn a_process_that_does_not_read_is_ended() {
    let run = Run::python("import time; time.sleep(1000)");
    assert_eq!(run.next(), ProcessEvent::Started);
    // Dropped below with a line in its pipe: it is killed, and the test ends.
    run.send(&"x".repeat(1 << 20));
}

#[test]
fn too_much_output_ends_a_process() {
    for (script, why) in [
        (
            "import sys\nwhile True: sys.stdout.write('x' * 65536)",
            "a line of more than 1000 bytes",
        ),
        ("while True: print('x')", "a line without a request"),
        (
            "import sys\nwhile True: sys.stderr.write('y' * 65536)",
            "more than 1048576 bytes on its standard error",
        ),
    ] {
        let run = Run::python(script);
        assert_eq!(run.next(), ProcessEvent::Started);
        let mut logged = 0;
        let ended = loop {
            match run.next() {
                ProcessEvent::Ended { why, .. } => break why,
                ProcessEvent::Log(line) => {
                    assert!(line.len() <= 500);
                    logged += 1;
                }
                other => panic!("{other:?}"),
            }
        };
        assert!(ended.contains(why), "{ended}");
        assert!(logged <= 20, "{logged}");
    }
}

#[test]
fn a_program_that_does_not_exist_is_reported() {
    let run = Run::new(&["/nonexistent/strategy"], 1_000);
    assert_eq!(run.next(), ProcessEvent::Started);
    // Its output is read by another thread than the one that waits for its end: either may be first.
    let (mut line, mut end) = (None, None);
    while line.is_none() || end.is_none() {
        match run.next() {
            ProcessEvent::Log(text) => line = Some(text),
            ProcessEvent::Ended { why, .. } => end = Some(why),
            other => panic!("{other:?}"),
        }
    }
    let (line, end) = (line.unwrap(), end.unwrap());
    assert!(line.contains("/nonexistent/strategy"), "{line}");
    assert!(end.contains("127"), "{end}");
}
