//! Timers: everything that becomes due, earliest first, each at its own time, so that the result does not depend on how
//! often time advances.

use cambist_core::{OrderStatus, VenueTime};
use serde::{Deserialize, Serialize};

use crate::orders::OrderKey;
use crate::venue::Venue;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Due {
    /// An order whose delay ends, or whose cancel takes effect.
    Order(OrderKey),
    /// A submission that changes its stage.
    Submission,
}

impl Venue {
    /// Advances the time: orders expire, timers fire. Within one millisecond expiry comes first.
    pub fn advance(&mut self, now: VenueTime) {
        let now = self.now.max(now);
        while let Some(at) = self.next_wakeup().filter(|at| *at <= now) {
            self.now = self.now.max(at);
            let expired = self.expiries.first().copied();
            if let Some((valid_until_s, key)) = expired
                && VenueTime::from_s(u64::from(valid_until_s)) <= self.now
            {
                self.close(key, OrderStatus::Expired);
            } else if let Some(account) = self.kraken.take_due(self.now) {
                self.cancel_because_of_timer(account);
            } else if let Some(((_, number), due)) = self.due.pop_first() {
                match due {
                    Due::Order(key) => self.wake_order(key),
                    Due::Submission => self.wake_submission(number),
                }
            }
        }
        self.now = now;
    }

    /// The next time at which `advance` has something to do.
    pub fn next_wakeup(&self) -> Option<VenueTime> {
        let expiry = self
            .expiries
            .first()
            .map(|(valid_until_s, _)| VenueTime::from_s(u64::from(*valid_until_s)));
        let due = self.due.first_key_value().map(|((at, _), _)| *at);
        expiry
            .into_iter()
            .chain(due)
            .chain(self.kraken.next_wakeup())
            .min()
    }

    /// Handles an order's timer: its delay ends, or its cancel takes effect.
    fn wake_order(&mut self, key: OrderKey) {
        let order = self.orders.get_mut(key);
        order.due = None;
        match order.status {
            OrderStatus::Waiting => {
                self.activate(key);
            }
            OrderStatus::Cancelling => self.close(key, OrderStatus::Cancelled),
            OrderStatus::Processing
            | OrderStatus::Processed
            | OrderStatus::Cancelled
            | OrderStatus::Expired
            | OrderStatus::Failed
            | OrderStatus::Other => {}
        }
    }

    /// Schedules an order's timer.
    pub(crate) fn schedule_order(&mut self, key: OrderKey, delay_ms: u64) {
        self.unschedule_order(key);
        let at = self.now.plus_ms(delay_ms);
        let order = self.orders.get_mut(key);
        order.due = Some(at);
        self.due.insert((at, order.sequence), Due::Order(key));
    }

    /// Removes an order's timer.
    pub(crate) fn unschedule_order(&mut self, key: OrderKey) {
        let order = self.orders.get_mut(key);
        if let Some(at) = order.due.take() {
            self.due.remove(&(at, order.sequence));
        }
    }

    /// Draws whether a delayed request fails late.
    pub(crate) fn draws_late_failure(&mut self) -> bool {
        let permille = u64::from(self.config.delays.late_failures_permille);
        permille > 0 && self.draw.chance(permille, 1_000)
    }
}
