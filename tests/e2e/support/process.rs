//! The program as a child process: its output in files, waited for, killed when dropped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::clock::within;

/// The program under test.
pub const CAMBIST: &str = env!("CARGO_BIN_EXE_cambist");

/// The program that holds a signing key for it.
pub const SIGNER: &str = env!("CARGO_BIN_EXE_cambist-signer");

pub struct Program {
    child: Child,
    pub out: PathBuf,
    pub log: PathBuf,
}

impl Program {
    /// Starts the program; its output goes to `NAME.out` and `NAME.log` in the folder.
    pub fn start(folder: &Path, name: &str, args: &[&str]) -> Self {
        let mut command = Command::new(CAMBIST);
        command.args(args);
        Self::spawn(folder, name, command)
    }

    /// Starts a command, with standard input held open for as long as this value lives.
    pub fn spawn(folder: &Path, name: &str, mut command: Command) -> Self {
        let out = folder.join(format!("{name}.out"));
        let log = folder.join(format!("{name}.log"));
        let append = |path: &Path| {
            File::options()
                .create(true)
                .append(true)
                .open(path)
                .unwrap()
        };
        // A killed demo leaves its own folder: inside the test's, which is removed.
        let child = command
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(append(&out))
            .stderr(append(&log))
            .spawn()
            .unwrap();
        Self { child, out, log }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Ends its standard input, which a service started with `--until-stdin-closes` understands.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Kills it, and waits until the system has removed it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The exit code, once it has ended by itself.
    pub fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().unwrap()?;
        Some(status.code().unwrap_or(-1))
    }

    /// Waits for its end; -1 means that a signal ended it.
    #[track_caller]
    pub fn end(&mut self, limit: Duration) -> i32 {
        match within(limit, || self.ended()) {
            Some(code) => {
                self.assert_plain_log();
                code
            }
            None => panic!("{} did not end:\n{}", self.log.display(), self.last_words()),
        }
    }

    /// Requests a drain, and waits for its end.
    #[track_caller]
    pub fn drain(&mut self, limit: Duration) -> i32 {
        self.signal(Signal::TERM);
        self.end(limit)
    }

    /// Our lines of a JSON log hold values, not what Rust calls them.
    #[track_caller]
    fn assert_plain_log(&self) {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let ours = |line: &&str| line.starts_with('{') && line.contains("\"target\":\"cambist");
        for line in log.lines().filter(ours) {
            for rust in ["Some(", "AccountId(", "TokenId(", "MarketId("] {
                assert!(!line.contains(rust), "{line}");
            }
        }
    }

    pub fn stdout(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    pub fn stderr(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let text = self.stderr();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(25)..].join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the program to its end: exit code, stdout, stderr.
#[track_caller]
pub fn run(folder: &Path, name: &str, args: &[&str], limit: Duration) -> (i32, String, String) {
    let mut program = Program::start(folder, name, args);
    let code = program.end(limit);
    (code, program.stdout(), program.stderr())
}
