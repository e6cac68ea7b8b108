//! Runs one process: starts it, hands it a line at a time, ends it when it does not answer in time or prints too much,
//! and starts it again with growing pauses.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::launch::{Launch, NOT_CONFINED};
use crate::streams::{self, LOG_BYTES_MAX, LogUse};

/// First pause before another start; it doubles with every end.
const PAUSE_MIN: Duration = Duration::from_millis(250);
/// Longest pause before another start.
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// After so many answers the next pause is the first one again.
const HEALTHY_ANSWERS: u64 = 20;
/// The time for an answer is waited for in so many parts.
const PARTS: u32 = 10;
/// Most messages that wait: a view, and output of the streams.
const MESSAGES_MAX: usize = 64;

/// What is run, and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The launcher: a program, and the arguments before those of [`Launch`].
    pub launcher: Vec<OsString>,
    /// What it starts.
    pub launch: Launch,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// The process is ended if a line is not answered within this time.
    pub timeout: Duration,
    /// Most bytes of an answer, without the end of its line; a longer one ends the process.
    pub line_max: usize,
}

/// What happens to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It was started.
    Started,
    /// It answered with this line, without its end.
    Line(Vec<u8>),
    /// It ended, and is started again after a pause.
    Ended {
        /// How.
        why: String,
        /// The pause.
        pause: Duration,
    },
    /// It printed a line on its standard error; cut and counted.
    Log(String),
}

/// Receives events, on threads of the supervisor.
pub type EventSink = Arc<dyn Fn(ProcessEvent) + Send + Sync>;

/// Messages to the supervisor's thread.
pub(crate) enum Message {
    /// A line for the process.
    View(String),
    /// Output of its streams. `life` counts starts: output of an earlier process is ignored.
    Output { life: u64, output: Output },
    /// The end.
    Stop,
}

/// Output of the streams of a process, and what is wrong with it.
pub(crate) enum Output {
    Line(Vec<u8>),
    Overlong,
    Closed,
    LogFlood,
}

/// A process that is run. Dropped, it is killed.
pub struct Supervisor {
    messages: SyncSender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    /// Starts running a process.
    pub fn start(spec: ProcessSpec, sink: EventSink) -> std::io::Result<Self> {
        let (messages, inbox) = sync_channel(MESSAGES_MAX);
        let runner = Runner {
            spec,
            sink,
            messages: messages.clone(),
            life: 0,
        };
        let thread = std::thread::Builder::new()
            .name("strategy".to_owned())
            .spawn(move || runner.run(&inbox))?;
        Ok(Self {
            messages,
            thread: Some(thread),
        })
    }

    /// Hands it a line. One that comes while another is unanswered, or while nothing runs, is dropped.
    pub fn send(&self, line: String) {
        // Full or closed: a later line counts.
        let _ = self.messages.try_send(Message::View(line));
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // Its thread reads until this comes.
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What [`check`] found.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be confined.
    #[error("it cannot be confined: {0}")]
    NotConfined(String),
    /// The launcher did not run.
    #[error("its launcher did not run: {0}")]
    Launcher(String),
}

/// Tries whether processes can be confined here, without starting one.
pub fn check(launcher: &[OsString]) -> Result<(), CheckError> {
    let launch = Launch {
        read: Vec::new(),
        memory_mb: 64,
        confine: true,
        command: Vec::new(),
    };
    let wrong = |what: String| CheckError::Launcher(what);
    let mut command = command(launcher, &launch).map_err(|error| wrong(error.to_string()))?;
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| wrong(error.to_string()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(()),
        Some(code) if code == i32::from(NOT_CONFINED) => Err(CheckError::NotConfined(stderr)),
        Some(_) | None => Err(wrong(format!("{}: {stderr}", output.status))),
    }
}

/// Where a program that is named without a folder is searched.
pub const SEARCHED: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command with nothing of our environment.
fn command(launcher: &[OsString], launch: &Launch) -> std::io::Result<Command> {
    let Some((program, arguments)) = launcher.split_first() else {
        return Err(std::io::Error::other("no launcher is named"));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(launch.arguments())
        .env_clear()
        .env("PATH", SEARCHED)
        .env("LANG", "C.UTF-8")
        .env("HOME", "/nonexistent");
    // Signals of a terminal are the daemon's.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Ok(command)
}

struct Runner {
    spec: ProcessSpec,
    sink: EventSink,
    messages: SyncSender<Message>,
    life: u64,
}

/// How a life ended.
enum End {
    /// The process is no longer needed.
    Stopped,
    /// It ended, or was ended.
    Ended { why: String, answers: u64 },
}

impl Runner {
    fn run(mut self, inbox: &Receiver<Message>) {
        let mut pause = PAUSE_MIN;
        loop {
            let End::Ended { why, answers } = self.live(inbox) else {
                return;
            };
            if answers >= HEALTHY_ANSWERS {
                pause = PAUSE_MIN;
            }
            (self.sink)(ProcessEvent::Ended { why, pause });
            loop {
                match inbox.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => break,
                    Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    // Of the life that has ended.
                    Ok(Message::View(_) | Message::Output { .. }) => {}
                }
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn live(&mut self, inbox: &Receiver<Message>) -> End {
        self.life += 1;
        let ended = |why: String| End::Ended { why, answers: 0 };
        let mut child = match self.spawn() {
            Ok(child) => child,
            Err(error) => return ended(format!("it could not be started: {error}")),
        };
        let used = Arc::new(LogUse::default());
        let lines = match self.attach(&mut child, &used) {
            Ok(lines) => lines,
            Err(error) => {
                kill(&mut child);
                return ended(format!("it could not be started: {error}"));
            }
        };
        (self.sink)(ProcessEvent::Started);
        let mut answers = 0;
        let why = self.serve(inbox, &lines, &used, &mut answers);
        drop(lines);
        let has_ended = matches!(why, Some(None)) && ends_soon(&mut child);
        let status = kill(&mut child);
        match why {
            None => End::Stopped,
            Some(Some(why)) => End::Ended { why, answers },
            Some(None) => End::Ended {
                why: if has_ended {
                    status_text(status)
                } else {
                    "it closed its standard output".to_owned()
                },
                answers,
            },
        }
    }

    /// Hands lines over and passes answers on. Returns nothing when the process is no longer needed, and
    /// otherwise why it is to end; without a text it ended by itself.
    #[expect(
        clippy::option_option,
        reason = "stopped, ended by itself, ended for a reason"
    )]
    fn serve(
        &self,
        inbox: &Receiver<Message>,
        lines: &SyncSender<String>,
        used: &LogUse,
        answers: &mut u64,
    ) -> Option<Option<String>> {
        let timeout = self.spec.timeout;
        let mut is_unanswered = false;
        loop {
            let message = if is_unanswered {
                // Only answers come while one is awaited, so that the time counts from the line.
                match within(inbox, timeout) {
                    Ok(message) => message,
                    Err(RecvTimeoutError::Timeout) => {
                        let ms = timeout.as_millis();
                        return Some(Some(format!("it did not answer for {ms} ms")));
                    }
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            } else {
                inbox.recv().ok()?
            };
            match message {
                Message::Stop => return None,
                Message::View(line) if !is_unanswered => {
                    used.renew();
                    // The writer is idle, or has found that the process does not read.
                    let _ = lines.try_send(line);
                    is_unanswered = true;
                }
                Message::Output { life, output } if life == self.life => match output {
                    Output::Line(line) if is_unanswered => {
                        is_unanswered = false;
                        *answers += 1;
                        (self.sink)(ProcessEvent::Line(line));
                    }
                    Output::Line(_) => {
                        return Some(Some("it printed a line without a request".to_owned()));
                    }
                    Output::Overlong => {
                        let most = self.spec.line_max;
                        return Some(Some(format!("it printed a line of more than {most} bytes")));
                    }
                    Output::LogFlood => {
                        let what = format!(
                            "it printed more than {LOG_BYTES_MAX} bytes on its standard error between two views"
                        );
                        return Some(Some(what));
                    }
                    Output::Closed => return Some(None),
                },
                Message::View(_) | Message::Output { .. } => {}
            }
        }
    }

    fn spawn(&self) -> std::io::Result<Child> {
        command(&self.spec.launcher, &self.spec.launch)?
            .current_dir(&self.spec.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }

    /// A thread for each stream. They end with the process.
    fn attach(&self, child: &mut Child, used: &Arc<LogUse>) -> std::io::Result<SyncSender<String>> {
        let missing = || std::io::Error::other("a stream is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (lines, written) = sync_channel(1);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("strategy-in").spawn(move || streams::write(stdin, &written))?;
        let (life, line_max, to) = (self.life, self.spec.line_max, self.messages.clone());
        thread("strategy-out").spawn(move || streams::read(stdout, line_max, life, &to))?;
        let (to, used, sink) = (self.messages.clone(), Arc::clone(used), self.sink.clone());
        thread("strategy-log").spawn(move || streams::log(stderr, life, &to, &used, &sink))?;
        Ok(lines)
    }
}

/// The next message, if it comes while this program runs for this time. A part of the time counts once, however long the
/// program was stopped in it: what a process answered meanwhile is read in the parts that are left, and in one more.
fn within<T>(inbox: &Receiver<T>, time: Duration) -> Result<T, RecvTimeoutError> {
    for _ in 0..PARTS {
        match inbox.recv_timeout(time / PARTS) {
            Err(RecvTimeoutError::Timeout) => {}
            received => return received,
        }
    }
    inbox.recv_timeout(time / PARTS)
}

/// Whether a process that has closed its output ends by itself within a short time, so that its own exit is reported.
fn ends_soon(child: &mut Child) -> bool {
    for _ in 0..40 {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Kills the process and what it may have started, and returns how it ended.
fn kill(child: &mut Child) -> Option<ExitStatus> {
    let ended = child.try_wait().ok().flatten();
    if ended.is_none() {
        let group = i32::try_from(child.id()).ok();
        if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
            // It may have ended in this moment.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = child.kill();
    }
    let status = child.wait().ok();
    ended.or(status)
}

fn status_text(status: Option<ExitStatus>) -> String {
    status.map_or_else(
        || "it ended".to_owned(),
        |status| format!("it ended with {status}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_awaited_in_every_part_of_the_time_and_no_longer() {
        let (sender, inbox) = sync_channel(1);
        let silent = within::<u8>(&inbox, Duration::from_millis(20));
        assert_eq!(silent, Err(RecvTimeoutError::Timeout));
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            sender.send(7)
        });
        assert_eq!(within(&inbox, Duration::from_mins(1)), Ok(7));
        assert_eq!(late.join().map_err(drop), Ok(Ok(())));
        let gone = within(&inbox, Duration::from_mins(1));
        assert_eq!(gone, Err(RecvTimeoutError::Disconnected));
    }
}
