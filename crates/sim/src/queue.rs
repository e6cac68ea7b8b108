//! The event queue: planned events by time and then by the order in which they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cambist_core::Time;

/// A queue of planned events.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    planned: BinaryHeap<Planned<T>>,
    next: u64,
    /// When the event that was removed last was due at first, and its number.
    removed: (Time, u64),
}

/// The ordering is reversed: the next event is the greatest. No two have the same number.
#[derive(Debug)]
struct Planned<T> {
    at: Time,
    /// When it was due before it was postponed.
    due: Time,
    number: u64,
    what: T,
}

impl<T> Ord for Planned<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |event: &Self| (event.at, event.due, event.number);
        order(other).cmp(&order(self))
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
            removed: (Time(0), 0),
        }
    }

    /// Plans an event. Of several at the same time, the one planned first comes first.
    pub(crate) fn plan(&mut self, at: Time, what: T) {
        let number = self.next;
        self.planned.push(Planned {
            at,
            due: at,
            number,
            what,
        });
        self.next += 1;
    }

    /// Plans the event that was removed last for later. Of several that are postponed to the same time, the one that was
    /// due first comes first, however often each was postponed.
    pub(crate) fn postpone(&mut self, at: Time, what: T) {
        let (due, number) = self.removed;
        self.planned.push(Planned {
            at,
            due,
            number,
            what,
        });
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.planned.peek().map(|next| next.at)
    }

    /// Removes the next event.
    pub(crate) fn pop(&mut self) -> Option<(Time, T)> {
        let next = self.planned.pop()?;
        self.removed = (next.due, next.number);
        Some((next.at, next.what))
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

    #[test]
    fn postponed_events_keep_their_order() {
        let mut queue = Queue::new();
        let events = [(9, 'e'), (2, 'b'), (1, 'a'), (4, 'd'), (3, 'c')];
        for (at, what) in events {
            queue.plan(Time(at), what);
        }
        let mut order = String::new();
        while let Some((at, what)) = queue.pop() {
            match (at.0, what) {
                // Postponed to 3, and again to 9, to which others are postponed at once.
                (1, 'a') => queue.postpone(Time(3), what),
                (2..9, _) => queue.postpone(Time(9), what),
                _ => order.push(what),
            }
        }
        assert_eq!(order, "abcde");
    }
}
