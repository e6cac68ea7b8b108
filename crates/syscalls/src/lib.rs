//! For tests: which calls that write, sync, send, rename or remove a child process made, in their order.
//!
//! Whether something is on disk *before* something else leaves cannot be seen from outside: a killed process loses
//! nothing that it has written, synced or not. So a library that records such calls is loaded into the child before
//! its C library (`LD_PRELOAD`). Calls that bypass the C library are not seen: a test must also assert that it saw as
//! many as there were.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Bytes to a file or a socket.
    Write,
    /// What was written to a file or a folder becomes durable.
    Sync,
    /// A file has another name; the former one is the data.
    Rename,
    /// A file is removed.
    Remove,
}

/// Which end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is about to begin.
    Begun,
    /// It has ended.
    Ended,
}

/// One end of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The thread that calls.
    pub thread: u32,
    /// What it calls.
    pub call: Call,
    /// Which end of it.
    pub phase: Phase,
    /// The file, folder or socket (`socket:[…]`).
    pub target: String,
    /// What is written: the first 64 KiB.
    pub data: Vec<u8>,
    /// What an ended call returned: negative is a failure.
    pub result: i64,
}

impl Record {
    /// Whether a call has ended without a failure.
    pub const fn succeeded(&self) -> bool {
        matches!(self.phase, Phase::Ended) && self.result >= 0
    }

    /// Whether the target is a socket.
    pub fn is_socket(&self) -> bool {
        self.target.starts_with("socket:")
    }
}

/// The file to which a child records.
#[derive(Clone, Debug)]
pub struct Recording(PathBuf);

impl Recording {
    /// Makes a child record to this file, which it creates or continues.
    pub fn of(command: &mut Command, file: &Path) -> Self {
        command
            .env("LD_PRELOAD", env!("CAMBIST_SYSCALLS_RECORDER"))
            .env("CAMBIST_SYSCALLS", file);
        Self(file.to_owned())
    }

    /// What was recorded until now.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a recording.
    pub fn read(&self) -> io::Result<Vec<Record>> {
        parse(&std::fs::read(&self.0)?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a recording"))
    }
}

/// Reads records: each a head of 24 bytes (`struct head` in `recorder.c`), the target, the data.
fn parse(mut bytes: &[u8]) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(24)?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let target = usize::from(u16::from_le_bytes(head.get(16..18)?.try_into().ok()?));
        let (target, rest) = rest.split_at_checked(target)?;
        let (data, rest) = rest.split_at_checked(usize::try_from(number(12)?).ok()?)?;
        records.push(Record {
            thread: number(8)?,
            call: match head.get(18)? {
                0 => Call::Write,
                1 => Call::Sync,
                2 => Call::Rename,
                3 => Call::Remove,
                _ => return None,
            },
            phase: match head.get(19)? {
                0 => Phase::Begun,
                1 => Phase::Ended,
                _ => return None,
            },
            target: String::from_utf8_lossy(target).into_owned(),
            data: data.to_vec(),
            result: i64::from_le_bytes(head.get(..8)?.try_into().ok()?),
        });
        bytes = rest;
    }
    Some(records)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_writes_renames_and_removes_is_recorded_in_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo hello > a; mv a b; sync b; rm b"])
            .current_dir(folder.path());
        let recording = Recording::of(&mut command, &folder.path().join("calls"));
        assert!(command.status().unwrap().success());
        let records = recording.read().unwrap();
        let ended: Vec<_> = records.iter().filter(|one| one.succeeded()).collect();
        let position = |call: Call, target: &str| {
            ended
                .iter()
                .position(|one| one.call == call && one.target.ends_with(target))
        };
        let written = position(Call::Write, "/a").unwrap();
        assert_eq!(ended[written].data, b"hello\n");
        assert!(written < position(Call::Sync, "/b").unwrap());
        for begun in records.iter().filter(|one| one.phase == Phase::Begun) {
            let end = |one: &&Record| one.phase == Phase::Ended && one.thread == begun.thread;
            assert!(records.iter().any(|one| end(&one)), "{begun:?}");
        }
    }

    #[test]
    fn what_is_cut_is_no_recording() {
        assert_eq!(parse(&[]), Some(Vec::new()));
        assert_eq!(parse(&[0; 23]), None);
        let mut head = [0; 24];
        head[12] = 1;
        assert_eq!(parse(&head), None);
        head[12] = 0;
        head[18] = 4;
        assert_eq!(parse(&head), None);
    }
}
