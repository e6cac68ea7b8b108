//! The queue of one destination: bounded, slow enough for chat services, patient with one that fails.

use std::collections::VecDeque;

use crate::schedule::Message;

/// Most messages that wait; then the oldest is dropped and counted.
const QUEUE_MAX: usize = 32;
/// So many at once ...
const BURST: u64 = 5;
/// ... and then one in so many seconds.
const PER_MESSAGE_S: u64 = 20;
/// Transmissions of one message.
const ATTEMPTS_MAX: u32 = 8;
/// First wait after a failure, seconds; doubled with each.
const RETRY_S: u64 = 5;
/// Longest wait after a failure, seconds.
const RETRY_MAX_S: u64 = 300;

/// Messages that wait for one destination.
#[derive(Debug, Default)]
pub struct Delivery {
    queue: VecDeque<Message>,
    attempts: u32,
    not_before_s: u64,
    /// Seconds of the budget that are used: a message takes [`PER_MESSAGE_S`], and they pass with time.
    used_s: u64,
    used_at_s: u64,
    dropped: u64,
}

impl Delivery {
    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        if self.queue.len() >= QUEUE_MAX {
            self.drop_first();
        }
        self.queue.push_back(message);
    }

    /// The message to send now, if there is one and the destination may be written to, and how many were
    /// dropped since the last one that arrived.
    pub fn due(&mut self, now_s: u64) -> Option<(&Message, u64)> {
        self.refill(now_s);
        let is_allowed =
            now_s >= self.not_before_s && self.used_s + PER_MESSAGE_S <= BURST * PER_MESSAGE_S;
        let message = self.queue.front().filter(|_| is_allowed)?;
        Some((message, self.dropped))
    }

    /// The message that was due has arrived.
    pub fn sent(&mut self, now_s: u64) {
        self.refill(now_s);
        self.used_s += PER_MESSAGE_S;
        self.queue.pop_front();
        (self.attempts, self.dropped) = (0, 0);
    }

    /// It has not. `retry_after_s` is what the destination asked for. Whether it will be sent again.
    pub fn failed(&mut self, now_s: u64, retry_after_s: Option<u64>) -> bool {
        self.attempts += 1;
        let wait_s = RETRY_S << (self.attempts - 1).min(16);
        let wait_s = retry_after_s.unwrap_or(0).max(wait_s).min(RETRY_MAX_S);
        self.not_before_s = now_s + wait_s;
        if self.attempts < ATTEMPTS_MAX {
            return true;
        }
        self.drop_first();
        false
    }

    fn drop_first(&mut self) {
        if self.queue.pop_front().is_some() {
            self.dropped += 1;
            self.attempts = 0;
        }
    }

    fn refill(&mut self, now_s: u64) {
        let passed_s = now_s.saturating_sub(self.used_at_s);
        self.used_s = self.used_s.saturating_sub(passed_s);
        self.used_at_s = now_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::conditions;
    use crate::schedule::Change;

    fn message(lasts_s: u64) -> Message {
        let condition = conditions(None).remove(0);
        Message {
            change: Change::Raised,
            condition,
            lasts_s,
        }
    }

    fn sent_by(delivery: &mut Delivery, now_s: u64) -> usize {
        let mut sent = 0;
        while delivery.due(now_s).is_some() {
            delivery.sent(now_s);
            sent += 1;
        }
        sent
    }

    fn next_due(delivery: &mut Delivery, now_s: u64) -> Option<u64> {
        delivery.due(now_s).map(|(one, _)| one.lasts_s)
    }

    #[test]
    fn a_burst_then_one_by_one() {
        let mut delivery = Delivery::default();
        for number in 0..12 {
            delivery.push(message(number));
        }
        assert_eq!(sent_by(&mut delivery, 1_000), 5);
        assert_eq!(sent_by(&mut delivery, 1_019), 0);
        assert_eq!(next_due(&mut delivery, 1_020), Some(5), "in their order");
        assert_eq!(sent_by(&mut delivery, 1_020), 1);
        assert_eq!(sent_by(&mut delivery, 1_060), 2);
        assert_eq!(sent_by(&mut delivery, 9_000), 4);
    }

    #[test]
    fn a_failure_is_waited_for_and_given_up() {
        let mut delivery = Delivery::default();
        delivery.push(message(1));
        let mut now_s = 0;
        for wait_s in [5, 10, 20, 40, 80, 160, 300] {
            assert!(delivery.due(now_s).is_some());
            assert!(delivery.failed(now_s, None));
            assert!(delivery.due(now_s + wait_s - 1).is_none(), "{wait_s}");
            now_s += wait_s;
        }
        assert!(!delivery.failed(now_s, None));
        delivery.push(message(2));
        let (next, dropped) = delivery
            .due(now_s + 300)
            .map(|(one, n)| (one.lasts_s, n))
            .unwrap_or_default();
        assert_eq!((next, dropped), (2, 1));
        delivery.sent(now_s + 300);
        // What the destination asks for, up to the longest wait.
        delivery.push(message(3));
        delivery.failed(10_000, Some(60));
        assert!(delivery.due(10_059).is_none());
        assert_eq!(delivery.due(10_060).map(|(_, dropped)| dropped), Some(0));
        delivery.failed(10_060, Some(86_400));
        assert!(delivery.due(10_360).is_some());
        // What arrived begins with the shortest wait again.
        delivery.sent(10_360);
        delivery.push(message(4));
        delivery.failed(10_360, None);
        assert_eq!(next_due(&mut delivery, 10_364), None);
        assert_eq!(next_due(&mut delivery, 10_365), Some(4));
    }

    #[test]
    fn the_queue_is_bounded_and_keeps_the_newest() {
        let mut delivery = Delivery::default();
        for number in 0..40 {
            delivery.push(message(number));
        }
        let first = delivery.due(0).map(|(one, dropped)| (one.lasts_s, dropped));
        assert_eq!(first, Some((8, 8)));
    }
}
