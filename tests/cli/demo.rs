//! The demo as a process: signals, killed children, and remaining folders.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, exit, stderr};

/// A demo that has started to trade, with its folder inside the test's.
struct Demo {
    child: std::process::Child,
    stderr: BufReader<std::process::ChildStderr>,
    folder: Folder,
}

impl Demo {
    fn start(name: &str) -> Self {
        let folder = Folder::new(name);
        let mut child = Command::new(env!("CARGO_BIN_EXE_cambist"))
            .args(["demo", "--duration", "60s"])
            .env("TMPDIR", &folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("daemon trades") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
        }
        Self {
            child,
            stderr,
            folder,
        }
    }

    fn signal(&self, signal: Signal) {
        kill(self.child.id(), signal);
    }

    /// Kills the process of the demo that runs this command.
    fn kill(&self, command: &str) {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap();
        let runs = |id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
            line.split(|byte| *byte == 0).nth(1) == Some(command.as_bytes())
        };
        let mut ids = children.split_whitespace().map(|id| id.parse().unwrap());
        kill(ids.find(runs).unwrap(), Signal::KILL);
    }

    /// Its exit code, the rest of stderr and stdout, and the number of folders that remain.
    fn end(mut self) -> (i32, String, usize) {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut text).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        let left = std::fs::read_dir(&self.folder.0).unwrap().count();
        (code, text, left)
    }
}

fn kill(id: u32, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

#[test]
fn a_demo_that_gets_a_signal_ends_with_proof() {
    let demo = Demo::start("demo-term");
    demo.signal(Signal::TERM);
    let (code, text, left) = demo.end();
    assert_eq!((code, left), (0, 0), "{text}");
    // The suggested commands run as printed: with the path by which this program was called.
    let (_, next) = text.split_once("Next:\n").unwrap();
    assert_eq!(next.lines().count(), 5, "{next}");
    for line in next.lines() {
        let program = line.split_whitespace().next();
        assert_eq!(program, Some(env!("CARGO_BIN_EXE_cambist")), "{line}");
    }
}

#[test]
fn a_demo_reports_which_of_its_processes_was_killed() {
    for (command, message) in [
        ("run", "the daemon ended by signal 9 (log: "),
        ("venue", "the exchange ended by signal 9 (log: "),
    ] {
        let demo = Demo::start(&format!("demo-{command}"));
        demo.kill(command);
        let (code, text, left) = demo.end();
        assert_eq!((code, left), (1, 1), "{text}");
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn a_demo_of_an_unknown_strategy_begins_nothing() {
    let folder = Folder::new("demo-nope");
    let output = Command::new(env!("CARGO_BIN_EXE_cambist"))
        .args(["demo", "--strategy", "laddr"])
        .env("TMPDIR", &folder.0)
        .output()
        .unwrap();
    assert_eq!(exit(&output), 2);
    let text = stderr(&output);
    assert!(text.contains("did you mean ladder?"), "{text}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}
