//! Group commit: inputs that arrive while a batch is being synced form the next batch.
//!
//! One thread writes. All others append under the state machine's lock, so that the log has the machine's order, and
//! wait outside the lock.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::durable::log_format::{Batch, Place};
use crate::durable::log_writer::Writer;
use crate::state::{Answers, Entry};

/// Most bytes that wait for the disk. Beyond that requests are refused before they have any effect.
const PENDING_BYTES_MAX: usize = 8 << 20;

/// Whether the log accepts inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogState {
    /// It does.
    Open,
    /// Too many bytes wait for the disk; try again later.
    Full,
    /// A write failed: the log accepts nothing more in this process.
    Failed,
}

/// The log of a running exchange. Dropping it writes the pending batch.
pub(crate) struct Log {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    done: Condvar,
    progress: watch::Sender<Progress>,
    batches: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Progress {
    synced: u64,
    failed: bool,
}

struct Queue {
    batch: Batch,
    /// Number of inputs appended, written or not.
    position: u64,
    ending: bool,
}

impl Log {
    /// Starts the writer thread. It sends the position of each new segment to `segments`, which the snapshot thread
    /// `snapshotter` receives.
    pub fn start(writer: Writer, segments: SyncSender<u64>, snapshotter: JoinHandle<()>) -> Self {
        let Place { position, .. } = writer.place();
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                batch: Batch::default(),
                position,
                ending: false,
            }),
            filled: Condvar::new(),
            done: Condvar::new(),
            progress: watch::Sender::new(Progress {
                synced: position,
                failed: false,
            }),
            batches: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("server-log".to_owned())
            .spawn(move || {
                let ended = Ended(for_thread);
                if let Err(error) = ended.0.write_all(writer, &segments) {
                    tracing::error!(%error, "cannot write the log; all requests are refused from now on and the exchange stops");
                }
            });
        let mut threads = Vec::new();
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                tracing::error!(%error, "cannot start the log's writer thread");
                shared.fail();
            }
        }
        threads.push(snapshotter);
        Self { shared, threads }
    }

    /// Whether an input can be appended now.
    pub fn state(&self) -> LogState {
        if self.shared.progress.borrow().failed {
            LogState::Failed
        } else if self.shared.lock().batch.payload.len() >= PENDING_BYTES_MAX {
            LogState::Full
        } else {
            LogState::Open
        }
    }

    /// Appends an input that the state machine has executed, and the digest of its answers.
    pub fn append(&self, entry: &Entry<'_>, answers: Answers) {
        let mut queue = self.shared.lock();
        match queue.batch.push(entry, answers) {
            Ok(()) => {
                queue.position += 1;
                drop(queue);
                self.shared.filled.notify_one();
            }
            Err(error) => {
                // The state machine is now ahead of the log.
                drop(queue);
                tracing::error!(%error, "cannot encode an input for the log");
                self.shared.fail();
            }
        }
    }

    /// Waits until everything appended so far is durable; false if it never will be.
    pub async fn settled(&self) -> bool {
        let position = self.shared.lock().position;
        let progress = *self.shared.progress.borrow();
        if progress.failed || progress.synced >= position {
            return !progress.failed;
        }
        let mut progress = self.shared.progress.subscribe();
        let reached = progress
            .wait_for(|progress| progress.failed || progress.synced >= position)
            .await;
        reached.is_ok_and(|progress| !progress.failed)
    }

    /// As `settled`, blocking the thread.
    pub fn settled_blocking(&self) -> bool {
        let mut queue = self.shared.lock();
        let position = queue.position;
        loop {
            let progress = *self.shared.progress.borrow();
            if progress.failed || progress.synced >= position {
                return !progress.failed;
            }
            queue = self
                .shared
                .done
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Completes when a write has failed.
    pub async fn failed(&self) {
        let mut progress = self.shared.progress.subscribe();
        // The sender lives as long as this log.
        let _ = progress.wait_for(|progress| progress.failed).await;
    }

    /// Batches and bytes written so far.
    pub fn written(&self) -> (u64, u64) {
        (
            self.shared.batches.load(Ordering::Relaxed),
            self.shared.bytes.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported before.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut writer: Writer, segments: &SyncSender<u64>) -> io::Result<()> {
        let mut batch = Batch::default();
        loop {
            let mut queue = self.lock();
            while queue.batch.count == 0 {
                if queue.ending {
                    return Ok(());
                }
                queue = self
                    .filled
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            batch.clear();
            std::mem::swap(&mut batch, &mut queue.batch);
            drop(queue);

            let before = writer.place().position;
            let began_segment = writer.write(&batch)?;
            self.batches.fetch_add(1, Ordering::Relaxed);
            self.bytes
                .fetch_add(batch.payload.len() as u64, Ordering::Relaxed);
            self.progress.send_modify(|progress| {
                progress.synced = writer.place().position;
            });
            // Under the lock, so that a waiter cannot miss the notification.
            drop(self.lock());
            self.done.notify_all();
            if began_segment {
                // If the snapshot thread is still busy, it handles a later segment.
                let _ = segments.try_send(before);
            }
        }
    }

    fn fail(&self) {
        self.progress.send_modify(|progress| progress.failed = true);
        drop(self.lock());
        self.done.notify_all();
    }
}

/// Wakes all waiters when the thread ends, for whatever reason.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fail();
    }
}
