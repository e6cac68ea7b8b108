//! Cancelled orders must end, and nothing may rest where nothing is allowed, within a bound of time without
//! obstruction.

use crate::invariants::table::Invariant;
use crate::world::World;

/// Interval between checks.
const LOOK_MS: u64 = 1_000;
/// The longest pause between two cancels of an order is this many times the shortest.
const PAUSES: u64 = 16;
/// Allowance for latencies, and for reading the list in between.
const SPARE_MS: u64 = 5_000;

impl World {
    /// Checks at intervals for orders that rest although they should not.
    pub(super) fn check_resting(&mut self) {
        let Some(daemon) = self.daemon.as_ref().filter(|_| self.now >= self.linger_at) else {
            return;
        };
        self.linger_at = self.now.plus_ms(LOOK_MS);
        let engine = &self.config.engine;
        let bound_ms = 2 * engine.request_timeout_ms + PAUSES * engine.resend_after_ms + SPARE_MS;
        if self.now.ms_since(self.active_faults.obstructed) < bound_ms
            || self.now < self.active_faults.obstructed
        {
            return;
        }
        let shown = daemon.clock.at(self.now);
        self.exchange.advance(self.now);
        self.take_trades();
        self.ground_truth.prune(self.exchange.venue());
        let stopped = self.sending_rules.stopped_for_ms(shown);
        for (_, taken) in self.ground_truth.open() {
            let id = taken.id;
            if let Some(ms) = stopped.filter(|ms| *ms > bound_ms) {
                let detail = format!("{id} rests {ms} ms after everything was to be cancelled");
                self.checks.fail(Invariant::RestsWhileStopped, detail);
            }
            let cancelled = self.sending_rules.cancelled_for_ms(id, shown);
            if let Some(ms) = cancelled.filter(|ms| *ms > bound_ms) {
                let detail = format!("{id} rests {ms} ms after its cancel was sent");
                self.checks.fail(Invariant::CancelLingers, detail);
            }
        }
    }
}
