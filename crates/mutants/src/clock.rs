//! The only file of this program that reads clocks.

use std::time::{Duration, Instant};

/// Time since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[expect(clippy::disallowed_methods, reason = "the one file that reads clocks")]
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    /// Since it began.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
