//! A thread that executes tasks in order, behind a queue with a bound: adding to it never waits.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Most tasks that may wait before the thread counts as stuck.
pub const WAITING_MAX: usize = 4_096;

/// The queue is full, or the thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck;

/// Handle of a thread. Dropping it lets the thread finish its tasks.
pub struct TaskThread<T, R> {
    tasks: Option<SyncSender<T>>,
    thread: Option<JoinHandle<R>>,
}

impl<T: Send + 'static, R: Send + 'static> TaskThread<T, R> {
    /// Starts a thread, which runs until its tasks end.
    pub fn start(
        name: &str,
        run: impl FnOnce(&Receiver<T>) -> R + Send + 'static,
    ) -> std::io::Result<Self> {
        let (tasks, inbox) = sync_channel(WAITING_MAX);
        let span = tracing::Span::current();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || span.in_scope(|| run(&inbox)))?;
        Ok(Self {
            tasks: Some(tasks),
            thread: Some(thread),
        })
    }
}

impl<T, R> TaskThread<T, R> {
    /// Adds a task.
    pub fn enqueue(&self, task: T) -> Result<(), Stuck> {
        let tasks = self.tasks.as_ref().ok_or(Stuck)?;
        tasks.try_send(task).map_err(|_| Stuck)
    }

    /// Adds nothing more.
    pub fn close(&mut self) {
        self.tasks = None;
    }

    /// Whether nothing more is added.
    pub const fn is_closed(&self) -> bool {
        self.tasks.is_none()
    }

    /// Waits for all tasks, and returns the thread's result; `None` if it panicked, or was waited for before.
    pub fn finish(&mut self) -> Option<R> {
        self.close();
        self.thread.take()?.join().ok()
    }
}

impl<T, R> Drop for TaskThread<T, R> {
    fn drop(&mut self) {
        self.close();
        if let Some(thread) = self.thread.take() {
            // A panic there has already ended the process.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn tasks_are_executed_in_order_until_the_end() {
        let mut thread = TaskThread::start("adder", |inbox| inbox.iter().collect::<Vec<u32>>());
        let thread = thread.as_mut().unwrap();
        for task in [3, 1, 2] {
            thread.enqueue(task).unwrap();
        }
        assert!(!thread.is_closed());
        assert_eq!(thread.finish(), Some(vec![3, 1, 2]));
        assert!(thread.is_closed());
        assert_eq!(thread.enqueue(4), Err(Stuck));
        assert_eq!(thread.finish(), None);
    }

    #[test]
    fn a_thread_that_takes_none_is_stuck_at_the_bound() {
        let (start, started) = channel::<()>();
        let mut thread = TaskThread::start("late", move |inbox| {
            started.recv().unwrap();
            inbox.iter().sum::<usize>()
        });
        let thread = thread.as_mut().unwrap();
        for _ in 0..4_096 {
            thread.enqueue(1).unwrap();
        }
        assert_eq!(thread.enqueue(1), Err(Stuck));
        start.send(()).unwrap();
        assert_eq!(thread.finish(), Some(4_096));
    }

    #[test]
    fn a_thread_that_has_ended_is_stuck_too() {
        let (ended, end) = channel();
        let thread = TaskThread::start("short", move |inbox: &Receiver<u32>| {
            let first = inbox.recv();
            ended.send(first).unwrap();
        });
        let thread = thread.unwrap();
        thread.enqueue(7).unwrap();
        assert_eq!(end.recv().unwrap(), Ok(7));
        // Its end of the queue is dropped with it.
        while thread.enqueue(8).is_ok() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn dropping_the_handle_waits_for_the_tasks() {
        let (done, all) = channel();
        let thread = TaskThread::start("counter", move |inbox| {
            for task in inbox {
                done.send(task).unwrap();
            }
        });
        let thread = thread.unwrap();
        for task in 0..100 {
            thread.enqueue(task).unwrap();
        }
        drop(thread);
        assert_eq!(all.try_iter().count(), 100);
    }
}
