//! Threads that run seeds. A world that panics counts as one that violated an invariant.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use anyhow::anyhow;
use cambist_sim::{Aggregate, Outcome, SeedRun, Violation};

use crate::campaign::results::Failed;
use crate::campaign::seeds::Seeds;

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What became of a world.
pub enum Ran {
    /// It came to its end.
    Ended(Box<Outcome>),
    /// It panicked, with these words.
    Panicked(String),
}

/// A range that has been run.
pub struct Piece {
    /// Which seeds.
    pub range: Seeds,
    /// What they add up to.
    pub tally: Aggregate,
    /// Those that violated an invariant.
    pub failed: Vec<Failed>,
}

impl Ran {
    /// The first violated invariant, or the panic.
    pub fn violation(&self) -> Option<String> {
        match self {
            Self::Ended(outcome) => outcome.violations.first().map(Violation::to_string),
            Self::Panicked(words) => Some(format!("panic: {words}")),
        }
    }

    /// Its stable name: what a smaller world must break as well to be the same case.
    pub fn check(&self) -> Option<&str> {
        match self {
            Self::Ended(outcome) => outcome.violations.first().map(|v| v.check.as_str()),
            Self::Panicked(_) => Some("panic"),
        }
    }
}

/// Runs one world.
pub fn run(trial: &SeedRun) -> anyhow::Result<Ran> {
    guarded(|| trial.run())
}

/// As [`run`], for whatever makes an outcome.
pub fn guarded<E: std::error::Error + Send + Sync + 'static>(
    make: impl FnOnce() -> Result<Outcome, E>,
) -> anyhow::Result<Ran> {
    if let Ok(outcome) = catch_unwind(AssertUnwindSafe(make)) {
        return Ok(Ran::Ended(Box::new(outcome?)));
    }
    let words = PANIC.with_borrow_mut(Option::take);
    Ok(Ran::Panicked(words.unwrap_or_default()))
}

/// From now on a panic is a finding: it ends its world and not the program.
pub fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        PANIC.with_borrow_mut(|words| *words = Some(info.to_string().replace('\n', " ")));
    }));
}

/// Runs ranges on `jobs` threads; every completed one is reported, in the order of completion. After `stop`, worlds that
/// have begun are finished, and of each range what was run is reported.
pub fn work(
    ranges: &[Seeds],
    jobs: usize,
    stop: &AtomicBool,
    trial: impl Fn(u64) -> SeedRun + Sync,
    mut report: impl FnMut(Piece) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let seeds: u64 = ranges.iter().map(|range| range.count).sum();
    // Small enough to be reported often and to end together, large enough to be few lines.
    let piece = (seeds / (jobs as u64 * 16)).clamp(1, 50);
    // Made as they are taken: a campaign may have more of them than memory has room for.
    let queue = Mutex::new(Some(ranges.iter().flat_map(|range| range.pieces(piece))));
    std::thread::scope(|scope| {
        let (done, pieces) = channel();
        for _ in 0..jobs {
            let (queue, trial, done) = (&queue, &trial, done.clone());
            scope.spawn(move || take(queue, stop, trial, &done));
        }
        drop(done);
        for piece in pieces {
            if let Err(error) = piece.and_then(&mut report) {
                if let Ok(mut queue) = queue.lock() {
                    *queue = None;
                }
                return Err(error);
            }
        }
        Ok(())
    })
}

fn take(
    queue: &Mutex<Option<impl Iterator<Item = Seeds>>>,
    stop: &AtomicBool,
    trial: &impl Fn(u64) -> SeedRun,
    done: &Sender<anyhow::Result<Piece>>,
) {
    loop {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let next = queue
            .lock()
            .ok()
            .and_then(|mut queue| queue.as_mut()?.next());
        let Some(range) = next else { return };
        if done.send(run_all(range, stop, trial)).is_err() {
            return;
        }
    }
}

/// Runs a range, up to the first world before which it was stopped; at least one.
fn run_all(
    range: Seeds,
    stop: &AtomicBool,
    trial: &impl Fn(u64) -> SeedRun,
) -> anyhow::Result<Piece> {
    let mut piece = Piece {
        range: Seeds { count: 0, ..range },
        tally: Aggregate::default(),
        failed: Vec::new(),
    };
    for seed in range.first..=range.last() {
        let ran = run(&trial(seed)).map_err(|error| anyhow!("seed {seed}: {error:#}"))?;
        match &ran {
            Ran::Ended(outcome) => piece.tally.add(outcome),
            Ran::Panicked(_) => piece.tally.merge(&Aggregate {
                seeds: 1,
                seeds_failed: 1,
                violations: 1,
                ..Aggregate::default()
            }),
        }
        if let Some(violation) = ran.violation() {
            piece.failed.push(Failed { seed, violation });
        }
        piece.range.count += 1;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(piece)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::sync::atomic::AtomicU64;

    use super::*;

    /// The list of its pieces would need 360 TB.
    #[test]
    fn a_campaign_of_any_length_begins_at_once_and_ends_with_its_first_error() {
        let all = Seeds {
            first: 1,
            count: 1 << 50,
        };
        let mut reported = 0;
        let ended = work(
            &[all],
            2,
            &AtomicBool::new(false),
            |seed| SeedRun::new(seed, 1),
            |piece| {
                reported += piece.range.count;
                Err(anyhow!("the disk is full"))
            },
        );
        assert_eq!(ended.unwrap_err().to_string(), "the disk is full");
        assert!((1..=50).contains(&reported), "{reported}");
    }

    #[test]
    fn of_what_is_stopped_the_worlds_that_ended_are_reported() {
        let all = Seeds {
            first: 1,
            count: 1 << 50,
        };
        let (stop, begun) = (AtomicBool::new(false), AtomicU64::new(0));
        let trial = |seed| {
            // In the middle of a range of fifty.
            if begun.fetch_add(1, Ordering::Relaxed) == 6 {
                stop.store(true, Ordering::Relaxed);
            }
            SeedRun::new(seed, 1)
        };
        let mut reported = 0;
        work(&[all], 2, &stop, trial, |piece| {
            assert_eq!(piece.tally.seeds, piece.range.count);
            reported += piece.range.count;
            Ok(())
        })
        .unwrap();
        assert_eq!(reported, begun.into_inner());
        assert!((7..=9).contains(&reported), "{reported}");
    }
}
