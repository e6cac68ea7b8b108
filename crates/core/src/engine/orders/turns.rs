//! Turns: where the venue takes numbers in their order only, one intent at a time has a number whose use is not settled,
//! because requests can overtake each other.
//!
//! In a row without gaps a number is settled when the venue has taken it: the venue refuses a later number before, and
//! an intent that ends without having used its number leaves no gap below another's. In a row that only rises a number
//! is settled when its intent was sent and has an outcome, also an unknown one: if a later number arrived first, the
//! venue would refuse the earlier one. Once a later number was given out, the earlier bytes are not sent again.

use crate::notification::Control;
use crate::order::ClientOrderId;
use crate::venue::{SlotRule, Spent};

use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::State;

impl State {
    /// Whether another intent may be given a number.
    pub(crate) fn is_number_due(&self) -> bool {
        let rule = self.venue.slots;
        match rule {
            SlotRule::Strided { .. } => true,
            SlotRule::Consecutive { .. } => self
                .orders
                .numbers(rule)
                .all(|(_, spent)| spent == Spent::Yes),
            SlotRule::Rising { .. } => self.orders.lives().all(|(_, lifecycle)| {
                matches!(lifecycle.phase, Phase::Unknown { .. } | Phase::Live)
            }),
        }
    }

    /// Whether a later number than that of an intent was given out, in a row that only rises.
    pub(crate) fn is_number_passed(&self, id: ClientOrderId) -> bool {
        if !matches!(self.venue.slots, SlotRule::Rising { .. }) {
            return false;
        }
        let order = self.orders.get(id);
        let order = order.map(|tracked| (tracked.order.sell_token, tracked.order.slot));
        let pool = self.orders.pool_transactions.get(id);
        let pool = pool.into_iter().flat_map(|tracked| tracked.wanted.slots());
        let mut numbers = order.into_iter().chain(pool);
        numbers.any(|(sold, number)| self.slot_numbers.is_passed(sold, number))
    }

    /// Markets that waited for a number are decided again.
    pub(crate) fn tend_turns(&mut self) {
        if !self.venue.slots.is_in_turn() || !self.is_number_due() {
            return;
        }
        for market in &mut self.markets {
            let pool = market.pool.as_ref().and_then(|pool| pool.withheld);
            let waits = market.refused_by.contains(&Control::StorageIds)
                || pool.is_some_and(|why| why.control == Control::StorageIds);
            market.decision_due |= waits;
        }
    }
}
