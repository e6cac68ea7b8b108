//! Omissions in lists and denials in single reports. Nothing is left out for good: an order that reached the exchange
//! before its expiry is listed when its grace is over, and a closed window leaves out each entry at most once, so that
//! two equal readings of it are complete.

use cambist_core::{Hash, Reason, VenueTime};
use cambist_venue::{OrderView, Refusal, Request, Response};

use crate::faults::active::Gaps;
use crate::faults::kinds::FaultKind;

use crate::world::World;
use crate::world::answer_faults::AHEAD_MAX_MS;

/// An entry: its hash, its creation time, and until when its bytes are accepted while that has an effect.
type Entry = (Hash, VenueTime, VenueTime);

impl World {
    /// Removes from an answer what active faults hide.
    pub(super) fn leave_out(&mut self, request: &Request, answer: &mut Result<Response, Refusal>) {
        let closed = match request {
            // Where open and closed orders are two lists, the first has no window and is part of every proof.
            Request::Orders(query) => query.end.0 > 0 || self.exchange.gateway().is_some(),
            Request::PoolTransactions(query) => query.end.0 > 0,
            _ => false,
        };
        match answer {
            Ok(Response::Orders(page)) => {
                let before = page.orders.len();
                page.orders.retain(|order| {
                    let until = self.accepted_until(order);
                    self.is_listed((order.hash, order.created, until), closed)
                });
                // Where pages name the next one, it begins where it does whatever this one leaves out.
                if self.exchange.gateway().is_none() {
                    page.total -= (before - page.orders.len()) as u64;
                }
            }
            Ok(Response::PoolTransactions(page)) => {
                let before = page.transactions.len();
                page.transactions.retain(|entry| {
                    let moves = &self.disk.durable().moves;
                    let own = moves.values().find(|sealed| sealed.hash == entry.hash);
                    let until = own.map_or(VenueTime(0), |sealed| {
                        VenueTime::from_s(sealed.transaction.valid_until_s.into())
                    });
                    own.is_none() || self.is_listed((entry.hash, entry.created, until), closed)
                });
                page.total -= (before - page.transactions.len()) as u64;
            }
            Ok(Response::Order(view)) => {
                let until = self.accepted_until(view);
                if self.active_faults.gaps == Gaps::Reports && self.is_in_gap(&view.hash) {
                    let refusal = Refusal::new(Reason::UnknownError, "cannot be read now");
                    *answer = Err(refusal);
                } else if self.is_hidden(view.created, until) {
                    let refusal = Refusal::new(Reason::OrderNotFound, "not yet shown");
                    *answer = Err(refusal);
                }
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn is_listed(&mut self, (hash, created, until): Entry, closed: bool) -> bool {
        if self.is_in_gap(&hash) || self.is_hidden(created, until) {
            return false;
        }
        if !self.active_faults.is(FaultKind::ListSkips)
            || self.ground_truth.get(&hash).is_none() && !self.checks.is_move(&hash)
        {
            return true;
        }
        let skipped = if closed {
            self.active_faults.random.chance(1, 3) && self.active_faults.left_out.insert(hash)
        } else {
            !self.sending_rules.knows(&hash)
        };
        !skipped
    }

    /// Every other order that the daemon knows is missing while lists have gaps.
    fn is_in_gap(&self, hash: &Hash) -> bool {
        let gaps = self.active_faults.is(FaultKind::ListGaps);
        gaps && hash.0[31].is_multiple_of(2) && self.sending_rules.knows(hash)
    }

    /// Until when its bytes are accepted: its end of rest where there is one time for both. Asked only while something
    /// is hidden, as it takes two searches for every entry of every list.
    fn accepted_until(&self, view: &OrderView) -> VenueTime {
        if self.active_faults.hidden_ms == 0 {
            return VenueTime::from_s(view.valid_until_s.into());
        }
        let own = self.ground_truth.get(&view.hash).map(|taken| taken.id);
        let sealed = own.and_then(|id| self.disk.durable().intents.get(&id));
        sealed.map_or_else(
            || VenueTime::from_s(view.valid_until_s.into()),
            |sealed| sealed.order.lifetime().accepted_until,
        )
    }

    /// Whether it is too young to be listed: at most until expiry and grace, by the latest time that the daemon can
    /// assume.
    fn is_hidden(&self, created: VenueTime, until: VenueTime) -> bool {
        if self.active_faults.hidden_ms == 0 {
            return false;
        }
        let now = self.exchange.clock(self.now);
        let ahead_ms = if self
            .config
            .fault_kinds
            .kinds
            .contains(&FaultKind::TimeWrong)
        {
            AHEAD_MAX_MS
        } else {
            0
        };
        let shown_at = until.plus_ms(self.config.engine.grace_ms);
        created > now.minus_ms(self.active_faults.hidden_ms) && now.plus_ms(ahead_ms) <= shown_at
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use cambist_core::Time;

    use crate::config::WorldConfig;
    use crate::faults::disk::Durable;

    use super::*;

    #[test]
    fn hidden_orders_are_listed_when_their_grace_is_over() {
        let mut world = World::new(WorldConfig::calm(1, "ladder")).unwrap();
        world.active_faults.hidden_ms = 600_000;
        let created = world.exchange.clock(world.now);
        let until = created.plus_ms(15_000);
        let grace_ms = world.config.engine.grace_ms;
        world.now = Time::from_ms(15_000 + grace_ms);
        assert!(world.is_hidden(created, until));
        world.now = Time::from_ms(15_001 + grace_ms);
        assert!(!world.is_hidden(created, until));
    }

    #[test]
    fn a_closed_window_leaves_out_each_entry_once_and_an_open_one_unknown_orders() {
        let mut world = World::new(WorldConfig::calm(1, "ladder")).unwrap();
        world.active_faults.active.insert(FaultKind::ListSkips);
        let entry = (Hash([7; 32]), VenueTime(0), VenueTime(0));
        assert!(world.is_listed(entry, false), "not ours");
        world.checks.move_taken(entry.0, &Durable::default());
        assert!(!world.is_listed(entry, false));
        let skipped = (0..200).filter(|_| !world.is_listed(entry, true)).count();
        assert_eq!(skipped, 1);
    }
}
