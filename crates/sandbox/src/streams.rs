//! The three streams of a process, a thread each: none of them can block the supervisor, and none keeps
//! more than a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use crate::supervisor::{EventSink, Message, Output, ProcessEvent};

/// Longest line of the standard error that is passed on.
const LOG_LINE_MAX: usize = 500;
/// Lines of the standard error that are passed on between two views.
const LOG_LINES: u64 = 20;
/// Bytes of the standard error between two views that end the process.
pub(crate) const LOG_BYTES_MAX: u64 = 1 << 20;

/// Writes lines until there are no more or the process does not read.
pub(crate) fn write(mut to: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if to
            .write_all(line.as_bytes())
            .and_then(|()| to.flush())
            .is_err()
        {
            return;
        }
    }
}

/// Reads lines of at most `line_max` bytes and passes them on.
pub(crate) fn read(from: ChildStdout, line_max: usize, life: u64, to: &SyncSender<Message>) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let most = line_max as u64 + 1;
        let output = match (&mut from).take(most).read_until(b'\n', &mut line) {
            Ok(_) if line.last() == Some(&b'\n') => {
                line.pop();
                Output::Line(line)
            }
            Ok(_) if line.len() > line_max => Output::Overlong,
            Ok(_) | Err(_) => Output::Closed,
        };
        let ends = !matches!(output, Output::Line(_));
        if to.send(Message::Output { life, output }).is_err() || ends {
            return;
        }
    }
}

/// How much of the standard error was read since the last view.
#[derive(Default)]
pub(crate) struct LogUse {
    lines: AtomicU64,
    bytes: AtomicU64,
}

impl LogUse {
    /// A view was sent.
    pub(crate) fn renew(&self) {
        self.lines.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
    }
}

/// Passes lines of the standard error on, cut and counted, and drops what is too much.
pub(crate) fn log(
    from: ChildStderr,
    life: u64,
    to: &SyncSender<Message>,
    used: &Arc<LogUse>,
    sink: &EventSink,
) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = (&mut from)
            .take(LOG_LINE_MAX as u64)
            .read_until(b'\n', &mut line);
        let Ok(length @ 1..) = read else { return };
        if used.bytes.fetch_add(length as u64, Ordering::Relaxed) > LOG_BYTES_MAX {
            let output = Output::LogFlood;
            // Who ended the process does not read this any more.
            let _ = to.send(Message::Output { life, output });
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text: String = text.trim_end().chars().map(printable).collect();
        if !text.is_empty() && used.lines.fetch_add(1, Ordering::Relaxed) < LOG_LINES {
            sink(ProcessEvent::Log(text));
        }
    }
}

/// A process must not move the cursor of a terminal that shows the log.
fn printable(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}
