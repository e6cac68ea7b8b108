//! Everything that will happen, by time and then by the order in which it was planned.

use std::collections::BTreeMap;

use cambist_core::Time;

/// A queue of what will happen.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    planned: BTreeMap<(Time, u64), T>,
    next: u64,
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self {
            planned: BTreeMap::new(),
            next: 0,
        }
    }

    /// Plans something. What was planned earlier for the same time happens first.
    pub(crate) fn plan(&mut self, at: Time, what: T) {
        self.planned.insert((at, self.next), what);
        self.next += 1;
    }

    /// When the next thing happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.planned.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the next thing.
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        self.planned.pop_first().map(|((at, _), what)| (at, what))
    }
}
