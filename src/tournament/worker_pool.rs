//! Threads that play games, in no particular order, until all are played or it is stopped.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use cambist_sim::tournament::Played;

use crate::tournament::plan::Place;

/// A game and its result.
type Done = anyhow::Result<(Place, Played)>;

/// Plays games on so many threads; `take` is given every result, in the order of completion. The first error ends
/// everything, and so does `stop`: games that have begun are finished, and taken if nothing failed.
pub fn work(
    places: Vec<Place>,
    jobs: usize,
    stop: &AtomicBool,
    play: impl Fn(Place) -> anyhow::Result<Played> + Sync,
    mut take: impl FnMut(Place, Played) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let threads = jobs.min(places.len());
    let queue = Mutex::new(VecDeque::from(places));
    let next = || {
        let is_stopped = stop.load(Ordering::Relaxed);
        let queue = queue.lock().ok().filter(|_| !is_stopped);
        queue.and_then(|mut queue| queue.pop_front())
    };
    std::thread::scope(|scope| {
        let (done, results) = channel::<Done>();
        for _ in 0..threads {
            let (next, play, done) = (&next, &play, done.clone());
            scope.spawn(move || {
                while let Some(place) = next() {
                    let result = play(place).map(|played| (place, played));
                    if done.send(result).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for result in results {
            let taken = result.and_then(|(place, played)| take(place, played));
            if let Err(error) = taken {
                if let Ok(mut queue) = queue.lock() {
                    queue.clear();
                }
                return Err(error);
            }
        }
        Ok(())
    })
}
