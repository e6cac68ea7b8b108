//! After the faults: quotes must return within a bound, and draining must prove that nothing rests.

use crate::invariants::table::Invariant;
use cambist_core::event::Command;

use super::World;

/// Time for polls, scans and proofs after a fault, in addition to the fence.
const RECOVERY_MS: u64 = 30_000;

impl World {
    /// Waits, once faults have ended, until an own order rests that was created after them. By then every unknown order
    /// has had time to expire, so that taking longer is a violation.
    pub fn recover(&mut self) {
        let engine = &self.config.engine;
        let under_way = 3 * self.longest_ms() + 2 * engine.request_timeout_ms;
        let alive_at = self.active_faults.held_until.max(self.dead_until);
        let held = alive_at.ms_since(self.now);
        let bound = under_way
            + held
            + engine.risk.pause_ms
            + self.reloads.recovery_ms()
            + 2 * self.config.store.restart_ms
            + engine.ttl_ms
            + engine.grace_ms
            + RECOVERY_MS;
        let limit = self.now.plus_ms(bound);
        let taken = self.ground_truth.count();
        let made = self.disk.durable().next_number;
        let compared = self.compared();
        let is_done = |world: &Self| {
            let acts = match world.chain {
                // Nothing rests at a pool.
                Some(_) => world.compared() > compared,
                None => world.ground_truth.count() > taken,
            };
            acts && world.disk.unresolved(made).is_none()
        };
        while !is_done(self) && self.queue.next_at().is_some_and(|at| at <= limit) {
            self.step();
        }
        if self.chain.is_some() && self.compared() == compared {
            let detail = format!("no comparison for {bound} ms after the last fault");
            self.checks.fail(Invariant::NotCompared, detail);
        }
        let must_quote = self.config.open_leg_max.is_none()
            && self.chain.is_none()
            && !self.band_forbids_every_target();
        if self.ground_truth.count() == taken && must_quote {
            let detail = format!("no order for {bound} ms after the last fault");
            self.checks.fail(Invariant::NotQuoting, detail);
        }
        self.check_account_goes_on();
        if let Some(id) = self.disk.unresolved(made) {
            let detail = format!("{id} has no end {bound} ms after the last fault");
            self.checks.fail(Invariant::Unresolved, detail);
        }
    }

    pub(super) const fn longest_ms(&self) -> u64 {
        self.config.network.latency_max_ms + self.config.network.reorder_ms
    }

    /// Ends market making: drains, waits until the daemon has finished and no copy of a request is in transit, and
    /// compares the books. False if it did not finish with proof.
    pub fn end(&mut self) -> bool {
        self.explain_all();
        self.command(Command::Drain);
        self.ending = true;
        let engine = &self.config.engine;
        let limit = self.now.plus_ms(
            self.config.store.restart_ms + engine.drain_deadline_ms + 2 * engine.request_timeout_ms,
        );
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
