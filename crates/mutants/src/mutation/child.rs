//! Children of a campaign: executables of tests, stopped at the first failure that counts, or when they hang.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;

use crate::clock::Stopwatch;

/// Interval of polling a running child.
const STEP: Duration = Duration::from_millis(20);
/// A child that waits instead of working, as one does on a busy machine, has so many times its processor time.
const WAITS_MAX: u32 = 5;
/// Ticks of the kernel's clock in a second, in which it states processor time.
const TICKS_PER_S: u64 = 100;

/// How an executable of tests ended.
#[derive(Debug)]
pub enum Ended {
    /// Every test passed.
    Well,
    /// A test failed, or the process died: what the harness wrote.
    Failed(String),
    /// It used up its time.
    Hung,
}

/// A run of an executable of tests.
#[derive(Debug)]
pub struct Tests<'a> {
    executable: &'a Path,
    folder: &'a Path,
    /// The mutant that is on; 0 for none.
    pub switch: u32,
    /// Arguments of the harness.
    pub arguments: &'a [&'a str],
    /// If stated, the first failure of a test that is not among these ends the run.
    pub ignored: Option<&'a BTreeSet<String>>,
}

impl<'a> Tests<'a> {
    /// All tests of an executable, in its package's folder, without a mutant.
    pub const fn new(executable: &'a Path, folder: &'a Path) -> Self {
        Self {
            executable,
            folder,
            switch: 0,
            arguments: &[],
            ignored: None,
        }
    }

    /// Runs them for at most so much processor time.
    pub fn run(&self, most: Duration) -> anyhow::Result<Ended> {
        let output = tempfile::tempfile()?;
        let mut child = Command::new(self.executable)
            .args(self.arguments)
            .current_dir(self.folder)
            .env("CAMBIST_SWITCH", self.switch.to_string())
            .env("CARGO_MANIFEST_DIR", self.folder)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| self.executable.display().to_string())?;
        let failed = || {
            self.ignored.is_some_and(|ignored| {
                let failed = failed_tests(&written(&output));
                failed.iter().any(|test| !ignored.contains(test))
            })
        };
        let status = wait(&mut child, most, &failed)?;
        let text = written(&output);
        Ok(match status {
            Some(status) if status.success() => Ended::Well,
            None if !failed() => Ended::Hung,
            _ => Ended::Failed(text),
        })
    }
}

/// What a child has written so far; read without moving the place at which it writes.
fn written(output: &File) -> String {
    let length = output.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let read = output.read_at(&mut bytes, 0).unwrap_or_default();
    bytes.truncate(read);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for a child. It is killed, with the children it has, and nothing is returned, when it should stop or has
/// used up its time.
pub fn wait(
    child: &mut Child,
    most: Duration,
    stop: &dyn Fn() -> bool,
) -> anyhow::Result<Option<ExitStatus>> {
    let watch = Stopwatch::begin();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let waited = watch.elapsed();
        let hangs = waited > most && (waited > most * WAITS_MAX || worked(child.id()) > most);
        if hangs || stop() {
            kill(child)?;
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

fn kill(child: &mut Child) -> anyhow::Result<()> {
    let group = i32::try_from(child.id()).ok();
    if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
        // It may lead no group of its own, and have ended.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Processor time of a child and of its children that ended; none if it is not known.
fn worked(id: u32) -> Duration {
    let line = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // proc_pid_stat(5): the name, which may contain spaces, ends with the last parenthesis; utime, stime, cutime and
    // cstime are the fields 14 to 17.
    let fields = line.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1_000 / TICKS_PER_S)
}

/// Names of tests that failed.
pub fn failed_tests(output: &str) -> Vec<String> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test "));
    let failed = lines.filter_map(|line| line.strip_suffix(" ... FAILED"));
    failed
        .map(|name| name.split(" - ").next().unwrap_or(name).to_owned())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn failed_tests_are_read_from_what_the_harness_writes() {
        let output = "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d - should panic ... FAILED\n";
        assert_eq!(failed_tests(output), ["a::c", "d"]);
    }

    #[test]
    fn a_run_ends_at_the_first_failure_that_counts() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("tests.sh");
        let text = "#!/bin/sh\necho 'test a ... FAILED'\nsleep 1000 &\nwait\n";
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut tests = Tests::new(&script, folder.path());
        let none = BTreeSet::new();
        tests.ignored = Some(&none);
        let Ended::Failed(text) = tests.run(Duration::from_mins(10)).unwrap() else {
            panic!("it did not fail");
        };
        assert_eq!(failed_tests(&text), ["a"]);
        // The same failure does not count, and the child only waits: it is stopped after a multiple of its time.
        let a = BTreeSet::from(["a".to_owned()]);
        tests.ignored = Some(&a);
        let ended = tests.run(Duration::from_millis(20)).unwrap();
        assert!(matches!(ended, Ended::Hung));
    }
}
