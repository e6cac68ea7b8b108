//! Deliberate defects: how many seeds it takes to find each.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use cambist_core::planted::Defect;
use cambist_sim::SeedRun;

use crate::simulation::worker_pool;
use crate::simulation::worker_pool::Ran;

/// What became of one defect.
pub struct Found {
    /// Which.
    pub defect: Defect,
    /// The first seed that found it, if any did.
    pub seed: Option<u64>,
    /// Seeds tried.
    pub tried: u64,
    /// The promise that it broke.
    pub check: String,
}

/// Tries seeds until every defect is found or `most` seeds are used up; each result is told.
pub fn hunt(
    defects: &[Defect],
    jobs: usize,
    (first, most): (u64, u64),
    trial: impl Fn(u64) -> SeedRun + Sync,
    mut tell: impl FnMut(Found),
) -> anyhow::Result<()> {
    let queue = Mutex::new(defects.iter().copied().collect::<VecDeque<_>>());
    std::thread::scope(|scope| {
        let (done, found) = channel();
        for _ in 0..jobs.min(defects.len()) {
            let (queue, trial, done) = (&queue, &trial, done.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.pop_front());
                    let Some(defect) = next else { return };
                    if done.send(one(defect, first, most, trial)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for result in found {
            tell(result?);
        }
        Ok(())
    })
}

fn one(
    defect: Defect,
    first: u64,
    most: u64,
    trial: &impl Fn(u64) -> SeedRun,
) -> anyhow::Result<Found> {
    for seed in first..first.saturating_add(most) {
        let mut trial = trial(seed);
        trial.planted = Some(defect);
        let ran: Ran = worker_pool::run(&trial)?;
        if let Some(check) = ran.check() {
            return Ok(Found {
                defect,
                seed: Some(seed),
                tried: seed - first + 1,
                check: check.to_owned(),
            });
        }
    }
    Ok(Found {
        defect,
        seed: None,
        tried: most,
        check: String::new(),
    })
}
