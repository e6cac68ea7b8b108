//! The event queue: planned events by time and then by the order in which they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cambist_core::Time;

/// A queue of planned events.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    planned: BinaryHeap<Planned<T>>,
    next: u64,
}

/// The ordering is reversed: the next event is the greatest. No two have the same number.
#[derive(Debug)]
struct Planned<T> {
    at: Time,
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

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self {
            planned: BinaryHeap::new(),
            next: 0,
        }
    }

    /// Plans an event. Of several at the same time, the one planned first comes first.
    pub(crate) fn plan(&mut self, at: Time, what: T) {
        let number = self.next;
        self.planned.push(Planned { at, number, what });
        self.next += 1;
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.planned.peek().map(|next| next.at)
    }

    /// Removes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        self.planned.pop().map(|next| (next.at, next.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_processed_by_time_and_then_by_planning() {
        let mut queue = Queue::new();
        for (at, what) in [(5, 'd'), (1, 'a'), (5, 'e'), (2, 'b'), (5, 'f'), (2, 'c')] {
            queue.plan(Time(at), what);
        }
        assert_eq!(queue.next_at(), Some(Time(1)));
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, w)| w).collect();
        assert_eq!(order, "abcdef");
    }
}
