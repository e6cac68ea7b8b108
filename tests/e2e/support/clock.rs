//! The one file of these tests that reads a clock: waiting for something, never longer than allowed.

use std::time::{Duration, Instant};

/// Poll interval.
const LOOK: Duration = Duration::from_millis(20);

/// A point in time to measure from.
#[derive(Clone, Copy, Debug)]
pub struct Since(Instant);

impl Since {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads a clock"
    )]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Polls until there is a value; fails the test with `what` after `limit`.
#[track_caller]
pub fn until<T>(limit: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    match within(limit, look) {
        Some(found) => found,
        None => panic!("waited {} s in vain for {what}", limit.as_secs_f32()),
    }
}

/// As `until`, but nothing is an answer too.
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Since::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if begun.elapsed() >= limit {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}
