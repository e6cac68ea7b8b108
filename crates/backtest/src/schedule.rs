//! Planned events, by time and then by the order in which they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cambist_market_data::Timestamp;

/// A queue of planned events.
#[derive(Debug)]
pub struct Schedule<T> {
    planned: BinaryHeap<Planned>,
    next: u64,
    /// The events lie still, while the heap moves their times.
    events: Vec<Option<T>>,
    free: Vec<usize>,
}

/// The ordering is reversed: the next event is the greatest. No two have the same number.
#[derive(Debug)]
struct Planned {
    at: Timestamp,
    number: u64,
    place: usize,
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Planned {}

impl<T> Schedule<T> {
    pub const fn new() -> Self {
        Self {
            planned: BinaryHeap::new(),
            next: 0,
            events: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Plans an event. Of several at the same time, the one planned first comes first.
    pub fn plan(&mut self, at: Timestamp, what: T) {
        let number = self.next;
        let place = self.free.pop().unwrap_or(self.events.len());
        match self.events.get_mut(place) {
            Some(event) => *event = Some(what),
            None => self.events.push(Some(what)),
        }
        self.planned.push(Planned { at, number, place });
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
        let place = self.planned.pop()?.place;
        self.free.push(place);
        self.events.get_mut(place)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_planned() {
        let mut schedule = Schedule::new();
        for (at, what) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b')] {
            schedule.plan(Timestamp(at), what);
        }
        assert_eq!(schedule.pop_due(Timestamp(0)), None);
        assert_eq!(schedule.pop_due(Timestamp(2)), Some('a'));
        // It takes the place of the one that has gone.
        schedule.plan(Timestamp(3), 'e');
        assert_eq!(schedule.next_at(), Some(Timestamp(2)));
        let rest: String = std::iter::from_fn(|| schedule.pop_due(Timestamp(9))).collect();
        assert_eq!(rest, "bcde");
        assert_eq!((schedule.next_at(), schedule.events.len()), (None, 4));
    }
}
