//! Recent occurrences, kept separately: slow, exact, and independent of the engine's windows.

use std::collections::VecDeque;

use cambist_core::Time;

/// Lower bound of a minute as the engine counts it: in whole seconds.
pub(crate) const MINUTE_MS: u64 = 59_000;

/// Values with their times.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    kept_ms: u64,
    values: VecDeque<(Time, T)>,
}

impl<T> Recent<T> {
    pub(crate) const fn of(kept_ms: u64) -> Self {
        Self {
            kept_ms,
            values: VecDeque::new(),
        }
    }

    pub(crate) fn add(&mut self, now: Time, what: T) {
        let kept_ms = self.kept_ms;
        while self
            .values
            .front()
            .is_some_and(|(at, _)| now.ms_since(*at) > kept_ms)
        {
            self.values.pop_front();
        }
        self.values.push_back((now, what));
    }

    /// Adds a value and drops earlier ones that are not above it: what is left has the same maximum within any time up to
    /// the newest.
    pub(crate) fn add_peak(&mut self, now: Time, what: T)
    where
        T: Ord,
    {
        while self.values.back().is_some_and(|(_, last)| *last <= what) {
            self.values.pop_back();
        }
        self.add(now, what);
    }

    /// Changes every value.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut T)) {
        self.values
            .iter_mut()
            .map(|(_, what)| what)
            .for_each(change);
    }

    /// Values that are younger than a time.
    pub(crate) fn within(&self, now: Time, window_ms: u64) -> impl Iterator<Item = &T> {
        let recent = self.values.iter().rev();
        let recent = recent.take_while(move |(at, _)| now.ms_since(*at) < window_ms);
        recent.map(|(_, what)| what)
    }

    pub(crate) fn count(&self, now: Time, window_ms: u64) -> u64 {
        self.within(now, window_ms).count() as u64
    }
}
