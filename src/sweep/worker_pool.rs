//! Threads that do runs, in no particular order.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use super::run::Row;

/// Does runs on so many threads; `take` is given every row, in the order of completion. The first error ends
/// everything: runs that have begun are finished and thrown away.
pub fn work(
    runs: &[u64],
    jobs: usize,
    run: impl Fn(u64) -> anyhow::Result<Row> + Sync,
    mut take: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let queue: Mutex<VecDeque<u64>> = Mutex::new(runs.iter().copied().collect());
    std::thread::scope(|scope| {
        let (done, rows) = channel();
        for _ in 0..jobs.min(runs.len()) {
            let (queue, run, done) = (&queue, &run, done.clone());
            scope.spawn(move || worker(queue, run, &done));
        }
        drop(done);
        for row in rows {
            if let Err(error) = row.and_then(&mut take) {
                if let Ok(mut queue) = queue.lock() {
                    queue.clear();
                }
                return Err(error);
            }
        }
        Ok(())
    })
}

fn worker(
    queue: &Mutex<VecDeque<u64>>,
    run: &impl Fn(u64) -> anyhow::Result<Row>,
    done: &Sender<anyhow::Result<Row>>,
) {
    loop {
        let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
        let Some(number) = next else { return };
        if done.send(run(number)).is_err() {
            return;
        }
    }
}
