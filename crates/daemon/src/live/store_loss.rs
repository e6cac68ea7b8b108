//! A store that no longer takes what must be durable: nothing new is sealed, resting orders are cancelled, and the
//! engine gets the events that the store can no longer send.

use std::collections::VecDeque;

use cambist_core::event::{Command, Event};

/// Whether the store is lost, and the events that follow from it.
#[derive(Debug, Default)]
pub struct StoreLoss {
    is_lost: bool,
    events: VecDeque<Event>,
}

impl StoreLoss {
    /// With events that are handled before all others.
    pub fn after(events: Vec<Event>) -> Self {
        Self {
            is_lost: false,
            events: events.into(),
        }
    }

    /// The store did not take something; `instead` is the event that it would have sent. True the first time.
    pub fn refused(&mut self, instead: Option<Event>) -> bool {
        let is_first = !std::mem::replace(&mut self.is_lost, true);
        if is_first {
            self.events.push_back(Event::Operator(Command::Drain));
        }
        self.events.extend(instead);
        is_first
    }

    /// Whether the store is lost.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The next event, before those of the inbox.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_refusal_drains_and_every_one_is_answered() {
        let mut loss = StoreLoss::after(vec![Event::Wake]);
        assert!(!loss.is_lost());
        assert_eq!(loss.next_event(), Some(Event::Wake));
        assert_eq!(loss.next_event(), None);
        let mut behind = StoreLoss::after(vec![Event::Wake]);
        assert!(behind.refused(None));
        assert_eq!(behind.next_event(), Some(Event::Wake), "in their order");
        let leave = || Event::Operator(Command::Leave);
        assert!(loss.refused(Some(leave())));
        assert!(loss.is_lost());
        assert!(!loss.refused(Some(Event::Wake)));
        assert!(!loss.refused(None));
        let drain = Event::Operator(Command::Drain);
        let events: Vec<_> = std::iter::from_fn(|| loss.next_event()).collect();
        assert_eq!(events, [drain, leave(), Event::Wake]);
        assert!(loss.is_lost());
    }
}
