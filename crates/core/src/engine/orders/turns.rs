//! Turns: where the venue takes a number only after all below it, one intent at a time has a number that is not used up.
//! Requests overtake each other, and what comes before its turn is refused; and whatever ends without having used its
//! number leaves no gap below another's.

use crate::notification::Control;
use crate::venue::Spent;

use crate::engine::state::State;

impl State {
    /// Whether another intent may be given a number.
    pub(crate) fn is_number_due(&self) -> bool {
        let rule = self.venue.slots;
        !rule.is_in_turn()
            || self
                .orders
                .numbers(rule)
                .all(|(_, spent)| spent == Spent::Yes)
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
