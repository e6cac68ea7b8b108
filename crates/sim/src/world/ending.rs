//! After the faults: quotes must return within a bound, and draining must prove that nothing rests.

use std::collections::BTreeSet;

use crate::invariants::table::Invariant;
use cambist_core::event::Command;
use cambist_core::inspection::OrderState;
use cambist_core::venue::Resting;
use cambist_core::{ClientOrderId, Time};

use crate::portfolio::Part;

use super::World;

/// Time for polls, scans and proofs after a fault, in addition to the fence.
const RECOVERY_MS: u64 = 30_000;

/// The state of a world when its faults end.
#[derive(Clone, Copy)]
pub(crate) struct Recovery {
    /// The most time that a recovery takes,
    bound_ms: u64,
    /// and until when that is.
    pub(crate) limit: Time,
    taken: u64,
    made: u64,
    compared: u64,
}

impl Recovery {
    /// The same, which begins when another one is over at the latest.
    pub(crate) const fn after(self, other: Self) -> Self {
        Self {
            bound_ms: self.bound_ms + other.bound_ms,
            limit: self.limit.plus_ms(other.bound_ms),
            ..self
        }
    }
}

impl World {
    /// Waits, once faults have ended, until an own order rests that was created after them. By then every unknown order
    /// has had time to expire, so that taking longer is a violation.
    pub fn recover(&mut self) {
        let recovery = self.begin_recovery();
        while !self.is_recovered(&recovery)
            && self.queue.next_at().is_some_and(|at| at <= recovery.limit)
        {
            self.step();
        }
        self.check_recovered(&recovery);
    }

    /// What [`World::recover`] waits for, from now on.
    pub(crate) fn begin_recovery(&self) -> Recovery {
        let engine = &self.config.engine;
        let under_way = 3 * self.longest_ms() + 2 * engine.request_timeout_ms;
        let alive_at = self.active_faults.held_until.max(self.dead_until);
        let held = alive_at.ms_since(self.now);
        let bound_ms = under_way
            + held
            + engine.risk.pause_ms
            + self.reloads.recovery_ms()
            + 2 * self.config.store.restart_ms
            + engine.ttl_ms
            + engine.grace_ms
            + RECOVERY_MS;
        Recovery {
            bound_ms,
            limit: self.now.plus_ms(bound_ms),
            taken: self.ground_truth.count(),
            made: self.disk.durable().next_number,
            compared: self.compared(),
        }
    }

    /// Whether it has recovered.
    pub(crate) fn is_recovered(&self, from: &Recovery) -> bool {
        let acts = match self.chain {
            // Nothing rests at a pool.
            Some(_) => self.compared() > from.compared,
            None => self.ground_truth.count() > from.taken,
        };
        acts && self.without_end(from.made).is_none()
    }

    /// Checks that it has recovered, when the time for it is over.
    pub(crate) fn check_recovered(&mut self, from: &Recovery) {
        let bound = from.bound_ms;
        if self.chain.is_some() && self.compared() == from.compared {
            let detail = format!("no comparison for {bound} ms after the last fault");
            self.checks.fail(Invariant::NotCompared, detail);
        }
        let must_quote = self.config.open_leg_max.is_none()
            && self.chain.is_none()
            && self.part.as_ref().is_none_or(Part::quotes)
            && !self.account_forbids_every_target();
        if self.ground_truth.count() == from.taken && must_quote {
            let detail = format!("no order for {bound} ms after the last fault");
            self.checks.fail(Invariant::NotQuoting, detail);
        }
        self.check_account_goes_on();
        if let Some(id) = self.without_end(from.made) {
            let detail = format!("{id} has no end {bound} ms after the last fault");
            self.checks.fail(Invariant::Unresolved, detail);
        }
    }

    /// The first intent below a number that has no end. Where orders rest until they are cancelled, one that is open at
    /// the exchange, and that the daemon knows to be live and does not cancel, needs none.
    fn without_end(&self, below: u64) -> Option<ClientOrderId> {
        let first = self.disk.unresolved(below)?;
        let daemon = self.daemon.as_ref();
        let ends = self.config.rules.lifetime.resting != Resting::UntilCancelled;
        let Some(watched) = daemon.and_then(|daemon| daemon.engine.get().watch(self.shown)) else {
            return Some(first);
        };
        let orders = watched.markets.iter().flat_map(|market| &market.orders);
        let live = orders.filter(|order| order.state == OrderState::Live && !order.cancelling);
        let live: BTreeSet<_> = live.map(|order| order.id).collect();
        let (durable, venue) = (self.disk.durable(), self.exchange.venue());
        let rests = |id: &ClientOrderId| {
            let intent = durable.intents.get(id);
            live.contains(id) && intent.is_some_and(|intent| venue.is_open(&intent.hash))
        };
        let mut open = durable.open.iter().chain(durable.moves.keys());
        open.find(|id| id.number < below && (ends || !rests(id)))
            .copied()
    }

    pub(super) const fn longest_ms(&self) -> u64 {
        self.config.network.latency_max_ms + self.config.network.reorder_ms
    }

    /// Ends market making: drains, waits until the daemon has finished and no copy of a request is in transit, and
    /// compares the books. False if it did not finish with proof.
    pub fn end(&mut self) -> bool {
        let engine = &self.config.engine;
        let within_ms =
            self.config.store.restart_ms + engine.drain_deadline_ms + 2 * engine.request_timeout_ms;
        let limit = self.now.plus_ms(within_ms);
        self.explain_until(limit);
        self.command(Command::Drain);
        self.ending = true;
        let limit = self.now.plus_ms(within_ms);
        while self.finished.is_none() && self.queue.next_at().is_some_and(|at| at <= limit) {
            self.step();
        }
        let proven = self.finished == Some(true);
        if !proven {
            let detail = format!("draining ended with {:?}", self.finished);
            self.checks.fail(Invariant::NotProven, detail);
        }
        self.settle(proven);
        proven
    }

    /// Lets messages in transit arrive, then compares everything.
    fn settle(&mut self, proven: bool) {
        self.run_until(self.now.plus_ms(self.late_ms() + 3 * self.longest_ms()));
        self.exchange.advance(self.now);
        if proven {
            let held = self.held();
            let ledger = self.session.status().ledger.clone();
            self.checks
                .at_the_end(&self.ground_truth, &self.exchange, &ledger, &held);
            if self.chain.is_some() {
                return self.end_on_chain();
            }
            let (oracle, venue) = (self.exchange.oracle(), self.exchange.venue());
            let (durable, foreign) = (self.disk.durable(), self.active_faults.foreign_made);
            let found = oracle.at_the_end(venue, &ledger, durable, foreign.into());
            self.break_rules(found);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use cambist_core::Time;

    use super::*;
    use crate::config::WorldConfig;

    #[test]
    fn only_an_order_that_is_known_to_rest_until_it_is_cancelled_needs_no_end() {
        let calm = || WorldConfig::calm(3, "ladder");
        for (config, rests) in [(calm().sequenced(), true), (calm(), false)] {
            let mut world = World::new(config).unwrap();
            let made = |world: &World| world.disk.durable().next_number;
            let is_resting = |world: &World| {
                world.disk.unresolved(made(world)).is_some() && world.shown > Time(0)
            };
            world.run_until(Time::from_ms(60_000));
            while !(is_resting(&world) && world.without_end(made(&world)).is_none() == rests) {
                assert!(world.now < Time::from_ms(120_000), "{rests}");
                world.step();
            }
            let numbers = made(&world);
            world.crash();
            assert!(world.disk.unresolved(numbers).is_some());
            assert_eq!(
                world.without_end(numbers),
                world.disk.unresolved(numbers),
                "what no daemon knows"
            );
        }
    }
}
