//! A child process of the demo. It has a process group of its own, so that Ctrl-C reaches this program only, and ends
//! when its standard input is closed because this program has ended.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::{CommandExt, ExitStatusExt};

use super::status;

/// Timeout of a child's start.
pub const READY: Duration = Duration::from_secs(20);
/// Polling interval of children.
pub const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A running child. Dropping it kills it.
pub struct Child {
    name: &'static str,
    process: std::process::Child,
    log: PathBuf,
    out: PathBuf,
}

impl Child {
    /// Starts this program with other arguments; its output goes to files in the folder.
    pub fn start(name: &'static str, folder: &Path, args: &[&str]) -> anyhow::Result<Self> {
        Self::start_as(name, name, folder, args)
    }

    /// As `start`, with other names for the files.
    pub fn start_as(
        name: &'static str,
        files: &str,
        folder: &Path,
        args: &[&str],
    ) -> anyhow::Result<Self> {
        let args = args.iter().map(OsString::from).collect::<Vec<_>>();
        Self::spawn(name, files, folder, &args, None)
    }

    /// As `start_as`, with the folder in place of the user's home.
    pub fn start_with_home(
        name: &'static str,
        files: &str,
        folder: &Path,
        args: &[OsString],
    ) -> anyhow::Result<Self> {
        Self::spawn(name, files, folder, args, Some(folder))
    }

    fn spawn(
        name: &'static str,
        files: &str,
        folder: &Path,
        args: &[OsString],
        home: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program's own path")?;
        let log = folder.join(format!("{files}.log"));
        let out = folder.join(format!("{files}.out"));
        let file = |path: &Path| File::create(path).with_context(|| path.display().to_string());
        let mut command = Command::new(program);
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let process = command
            .args(args)
            .stdin(Stdio::piped())
            .stdout(file(&out)?)
            .stderr(file(&log)?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting the {name}"))?;
        Ok(Self {
            name,
            process,
            log,
            out,
        })
    }

    /// Waits until the child has written its address.
    pub async fn address(&mut self, file: &Path, timeout: Duration) -> anyhow::Result<String> {
        let written = || {
            let text = std::fs::read_to_string(file).ok()?;
            text.strip_suffix('\n').map(str::to_owned)
        };
        self.ready(written, timeout).await
    }

    /// Waits until the child has printed a line that begins like this; the rest of the line.
    pub async fn announced(&mut self, begin: &str, timeout: Duration) -> anyhow::Result<String> {
        let out = self.out.clone();
        let printed = || {
            let text = std::fs::read_to_string(&out).ok()?;
            let (whole, _) = text.rsplit_once('\n')?;
            let mut lines = whole.lines();
            lines.find_map(|line| line.strip_prefix(begin).map(str::to_owned))
        };
        self.ready(printed, timeout).await
    }

    async fn ready(
        &mut self,
        found: impl Fn() -> Option<String>,
        timeout: Duration,
    ) -> anyhow::Result<String> {
        let mut waited = Duration::ZERO;
        while waited < timeout {
            if let Some(found) = found() {
                return Ok(found);
            }
            if let Some(status) = self.exited()? {
                bail!("{} at its start:\n{}", self.how(status), self.last_words());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
        }
        bail!(
            "the {} was not ready within {} s",
            self.name,
            timeout.as_secs()
        )
    }

    /// Waits until the daemon with these metrics has finished its start.
    pub async fn begun(&mut self, metrics: &str, timeout: Duration) -> anyhow::Result<()> {
        let mut waited = Duration::ZERO;
        while !status::has_begun(metrics).await {
            if let Some(status) = self.exited()? {
                bail!("{} at its start:\n{}", self.how(status), self.last_words());
            }
            if waited >= timeout {
                let (name, s) = (self.name, timeout.as_secs());
                bail!(
                    "the {name} did not begin within {s} s:\n{}",
                    self.last_words()
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
        }
        Ok(())
    }

    /// The exit status, if the child has ended.
    pub fn exited(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.process
            .try_wait()
            .with_context(|| format!("waiting for the {}", self.name))
    }

    /// Sends SIGTERM.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        if let Ok(id) = i32::try_from(self.process.id())
            && let Some(pid) = Pid::from_raw(id)
        {
            // A child that has ended needs no signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Kills the child with SIGKILL, and waits until it has ended.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let killed = self.process.kill().and_then(|()| self.process.wait());
        killed
            .map(|_| ())
            .with_context(|| format!("killing the {}", self.name))
    }

    /// Aborts the child with SIGABRT, and waits until it has ended.
    pub fn abort(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::ABORT);
        self.process
            .wait()
            .map(|_| ())
            .with_context(|| format!("aborting the {}", self.name))
    }

    /// Waits for the end of the child.
    pub async fn end(&mut self, timeout: Duration) -> anyhow::Result<ExitStatus> {
        let mut waited = Duration::ZERO;
        while waited < timeout {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            waited += POLL_INTERVAL;
        }
        bail!(
            "the {} did not end within {} s:\n{}",
            self.name,
            timeout.as_secs(),
            self.last_words()
        )
    }

    /// Waits for the unexpected end of the child.
    pub async fn gone(&mut self) -> anyhow::Error {
        loop {
            match self.exited() {
                Ok(None) => tokio::time::sleep(POLL_INTERVAL).await,
                Ok(Some(status)) => return anyhow::anyhow!(self.how(status)),
                Err(error) => return error,
            }
        }
    }

    /// Describes the end of the child and names its log.
    pub fn how(&self, status: ExitStatus) -> String {
        let how = status.signal().map_or_else(
            || {
                status
                    .code()
                    .map_or_else(String::new, |code| format!("with exit code {code}"))
            },
            |signal| format!("by signal {signal}"),
        );
        format!(
            "the {} ended {how} (log: {})",
            self.name,
            self.log.display()
        )
    }

    /// The child's standard output.
    pub fn output(&self) -> anyhow::Result<String> {
        std::fs::read_to_string(&self.out).with_context(|| self.out.display().to_string())
    }

    /// The last lines of the child's log.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
