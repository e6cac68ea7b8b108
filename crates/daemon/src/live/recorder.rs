//! Records the tape of a live run in a thread of its own, so that a slow disk delays only the tape.
//!
//! Losing the tape loses evidence, not money: a disk that fails or is too slow ends the recording, not the trading.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use anyhow::Context;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::{Engine, MarketSpec, Time};
use cambist_tape::Header;
use cambist_tape::segments::{Folder, Limits, SegmentError, Segments};

use crate::config::daemon::TapeConfig;
use crate::feeds::RunTime;
use crate::live::task_thread::TaskThread;
use crate::recording;
use cambist_host::clock::Clock;

/// Least number of segments within the size limit.
const SEGMENTS: u64 = 8;
/// Smallest segment, bytes.
const SEGMENT_MIN: u64 = 500_000;
/// Largest segment, bytes: `replay --at` replays one at most, within a second.
const SEGMENT_MAX: u64 = 4_000_000;
/// Longest duration of one segment: removal by age happens in steps of it.
const SEGMENT_MS: u64 = 3_600_000;
const DAY_S: u64 = 86_400;

/// Tasks of the thread.
#[expect(clippy::large_enum_variant, reason = "few wait, and none is copied")]
enum Task {
    Event(Time, Event),
    Actions(Vec<Action>),
    Rotate(Vec<u8>),
}

/// Passes events and actions to the thread; does nothing after a failure.
pub struct Recorder {
    /// `None` if no tape is recorded.
    thread: Option<TaskThread<Task, ()>>,
    /// Whether a new segment is due.
    due: Arc<AtomicBool>,
    markets: Vec<MarketSpec>,
}

impl Recorder {
    /// Starts a tape, if it is enabled.
    pub fn begin(
        config: Option<&TapeConfig>,
        header: Header,
        markets: &[MarketSpec],
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let due = Arc::new(AtomicBool::new(false));
        let mut recorder = Self {
            thread: None,
            due: Arc::clone(&due),
            markets: markets.to_vec(),
        };
        let Some(config) = config else {
            return Ok(recorder);
        };
        let name = || format!("tape folder {}", config.dir.display());
        make_folder(&config.dir).with_context(name)?;
        // Segments age by the monotonic clock: a wall clock that is set removes none.
        let time = RunTime::begin(clock);
        let now_s = unix_s(&time);
        let tape = Segments::begin(Folder::new(&config.dir), header, limits(config), now_s);
        let tape = tape.with_context(name)?;
        let run = move |inbox: &Receiver<Task>| write(tape, inbox, &due, &time);
        recorder.thread = Some(TaskThread::start("recorder", run).with_context(name)?);
        Ok(recorder)
    }

    /// Records an event before the engine handles it.
    pub fn record_event(&mut self, now: Time, event: &Event) {
        if self.is_recording() {
            self.enqueue(Task::Event(now, event.clone()));
        }
    }

    /// Records the engine's actions, and starts a new segment when it is due.
    pub fn record_actions(&mut self, actions: &[Action], engine: &Engine) {
        if !self.is_recording() {
            return;
        }
        self.enqueue(Task::Actions(actions.to_vec()));
        if self.due.swap(false, Ordering::AcqRel) {
            match recording::snapshot(engine, &self.markets) {
                Ok(snapshot) => self.enqueue(Task::Rotate(snapshot)),
                Err(error) => {
                    tracing::error!(%error, "cannot start a new segment of the tape; continuing the current one");
                }
            }
        }
    }

    fn is_recording(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_closed())
    }

    /// Whether the recording ended before the run.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(TaskThread::is_closed)
    }

    /// Waits until everything is written.
    pub fn finish(self) {
        drop(self);
    }

    fn enqueue(&mut self, task: Task) {
        // A step has several tasks: after the first that fails, the others are not reported again.
        if let Some(thread) = &mut self.thread
            && !thread.is_closed()
            && thread.enqueue(task).is_err()
        {
            // Full: the disk is too slow. Ended: the thread has reported an error.
            tracing::error!("the recording of the tape has ended; trading continues");
            thread.close();
        }
    }
}

/// Segments within the size limit, so that what is removed is a part of it.
fn limits(config: &TapeConfig) -> Limits {
    let total_bytes = config.max_mb.saturating_mul(1_000_000);
    Limits {
        segment_bytes: (total_bytes / SEGMENTS).clamp(SEGMENT_MIN, SEGMENT_MAX),
        segment_ms: SEGMENT_MS,
        total_bytes,
        keep_s: u64::from(config.keep_days) * DAY_S,
    }
}

/// The thread: writes tasks until the sender is dropped or the disk fails.
fn write(mut tape: Segments<Folder>, inbox: &Receiver<Task>, due: &AtomicBool, time: &RunTime) {
    while let Ok(task) = inbox.recv() {
        if let Err(error) = take(&mut tape, task, inbox, due, time) {
            tracing::error!(%error, "writing the tape failed");
            return;
        }
    }
}

/// Takes a task and all that wait behind it, and passes everything to the operating system: after a kill the tape lacks
/// only what was still waiting.
fn take(
    tape: &mut Segments<Folder>,
    task: Task,
    inbox: &Receiver<Task>,
    due: &AtomicBool,
    time: &RunTime,
) -> Result<(), SegmentError> {
    let mut next = Some(task);
    while let Some(task) = next {
        match task {
            Task::Event(now, event) => tape.write_event(now, &event)?,
            // Requested twice if much was waiting: the first one has been executed.
            Task::Rotate(_) if !tape.is_due() => {}
            Task::Rotate(snapshot) => tape.rotate(&snapshot, unix_s(time))?,
            Task::Actions(actions) => {
                tape.write_actions(&actions)?;
                due.store(tape.is_due(), Ordering::Release);
            }
        }
        next = inbox.try_recv().ok();
    }
    tape.flush()
}

/// Seconds since the Unix epoch.
fn unix_s(time: &RunTime) -> u64 {
    time.now().0.unsigned_abs() / 1_000_000_000
}

fn make_folder(dir: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
