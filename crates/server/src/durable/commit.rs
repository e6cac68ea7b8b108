//! Group commit: inputs gather while the last batch is being synced, then go together as the next.
//!
//! One thread writes. Everybody else appends under the machine's lock, so that the log has the order
//! of the machine, and waits outside of it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::durable::log_format::{Batch, Place};
use crate::durable::log_writer::Writer;
use crate::state::{Answers, Entry};

/// Bytes that may wait for the disk; beyond them requests are turned away before they do anything.
const PENDING_BYTES_MAX: usize = 8 << 20;

/// Whether the log takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogState {
    /// It does.
    Open,
    /// The disk is behind; later.
    Full,
    /// A write failed: never again in this process.
    Failed,
}

/// The log of a running machine. Dropping it writes what waits.
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
    /// Inputs appended, written or not.
    position: u64,
    ending: bool,
}

impl Log {
    /// Starts the thread. `segments` hears where new segments begin; `keeper` is the thread that
    /// listens there.
    pub fn start(writer: Writer, segments: SyncSender<u64>, keeper: JoinHandle<()>) -> Self {
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
                    tracing::error!(%error, "the log cannot be written: nothing is answered any more");
                }
            });
        let mut threads = Vec::new();
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                tracing::error!(%error, "the log has no thread");
                shared.fail();
            }
        }
        threads.push(keeper);
        Self { shared, threads }
    }

    /// Whether an input could be appended now.
    pub fn state(&self) -> LogState {
        if self.shared.progress.borrow().failed {
            LogState::Failed
        } else if self.shared.lock().batch.payload.len() >= PENDING_BYTES_MAX {
            LogState::Full
        } else {
            LogState::Open
        }
    }

    /// Appends an input that the machine has taken in, and what it was answered.
    pub fn append(&self, entry: &Entry<'_>, answers: Answers) {
        let mut queue = self.shared.lock();
        match queue.batch.push(entry, answers) {
            Ok(()) => {
                queue.position += 1;
                drop(queue);
                self.shared.filled.notify_one();
            }
            Err(error) => {
                // The machine is now ahead of any log.
                drop(queue);
                tracing::error!(%error, "an input cannot be written");
                self.shared.fail();
            }
        }
    }

    /// Waits until everything appended so far is durable; false if it will never be.
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

    /// As `settled`, for threads.
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

    /// Ends when a write has failed.
    pub async fn failed(&self) {
        let mut progress = self.shared.progress.subscribe();
        // The sender lives as long as this log.
        let _ = progress.wait_for(|progress| progress.failed).await;
    }

    /// Batches and bytes of inputs written so far.
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
            // A thread that panicked has said so.
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
            // Under the lock, so that nobody looks before and waits after.
            drop(self.lock());
            self.done.notify_all();
            if began_segment {
                // Still busy with the last one: the next will do.
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

/// However the thread ends, nobody waits for it in vain.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fail();
    }
}
