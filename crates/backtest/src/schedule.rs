//! Planned events, by time and then by the order in which they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cambist_market_data::Timestamp;

/// A queue of planned events.
#[derive(Debug)]
pub struct Schedule<T> {
    planned: BinaryHeap<Planned<T>>,
    next: u64,
}

/// The ordering is reversed: the next event is the greatest. No two have the same number.
#[derive(Debug)]
struct Planned<T> {
    at: Timestamp,
    number: u64,
    what: T,
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Planned<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Planned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Planned<T> {}

impl<T> Schedule<T> {
    pub const fn new() -> Self {
        Self {
            planned: BinaryHeap::new(),
            next: 0,
        }
    }

    /// Plans an event. Of several at the same time, the one planned first comes first.
    pub fn plan(&mut self, at: Timestamp, what: T) {
        let number = self.next;
        self.planned.push(Planned { at, number, what });
        self.next += 1;
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.planned.peek().map(|next| next.at)
    }

    /// Removes and returns the next event that is due.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        self.planned.pop().map(|next| next.what)
    }
}
