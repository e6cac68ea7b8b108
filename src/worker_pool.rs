//! Threads that do many independent computations, in no particular order, until all are done or they are stopped.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

/// Computes every item on so many threads; `take` is given every result, in the order of completion. The first error ends
/// everything: what has begun is finished and thrown away. After `stop`, what has begun is finished and taken.
pub fn work<T: Copy + Send, R: Send>(
    items: Vec<T>,
    jobs: usize,
    stop: &AtomicBool,
    compute: impl Fn(T) -> anyhow::Result<R> + Sync,
    mut take: impl FnMut(T, R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let threads = jobs.min(items.len());
    let queue = Mutex::new(VecDeque::from(items));
    let next = || {
        let is_stopped = stop.load(Ordering::Relaxed);
        let queue = queue.lock().ok().filter(|_| !is_stopped);
        queue.and_then(|mut queue| queue.pop_front())
    };
    std::thread::scope(|scope| {
        let (done, results) = channel();
        for _ in 0..threads {
            let (next, compute, done) = (&next, &compute, done.clone());
            scope.spawn(move || {
                while let Some(item) = next() {
                    let result = compute(item).map(|result| (item, result));
                    if done.send(result).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for result in results {
            if let Err(error) = result.and_then(|(item, result)| take(item, result)) {
                if let Ok(mut queue) = queue.lock() {
                    queue.clear();
                }
                return Err(error);
            }
        }
        Ok(())
    })
}
