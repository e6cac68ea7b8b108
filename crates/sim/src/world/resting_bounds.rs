//! What is cancelled goes, and nothing rests where nothing may: within a bound of time in which nobody stood
//! in the way.

use crate::invariants::table::Invariant;
use crate::world::World;

/// Between two looks.
const LOOK_MS: u64 = 1_000;
/// The longest pause between two cancels of an order is this many times the shortest.
const PAUSES: u64 = 16;
/// For the ways there and back, and for the list in between.
const SPARE_MS: u64 = 5_000;

impl World {
    /// Looks now and then at what rests though it should not.
    pub(super) fn look_for_lingering(&mut self) {
        let Some(daemon) = self.daemon.as_ref().filter(|_| self.now >= self.linger_at) else {
            return;
        };
        self.linger_at = self.now.plus_ms(LOOK_MS);
        let engine = &self.config.engine;
        let bound_ms = 2 * engine.request_timeout_ms + PAUSES * engine.resend_after_ms + SPARE_MS;
        if self.now.ms_since(self.storms.obstructed) < bound_ms || self.now < self.storms.obstructed
        {
            return;
        }
        let shown = daemon.clock.at(self.now);
        self.exchange.advance(self.now);
        self.take_trades();
        self.truth.prune(self.exchange.venue());
        let stopped = self.conduct.stopped_for_ms(shown);
        for (_, taken) in self.truth.open() {
            let id = taken.id;
            if let Some(ms) = stopped.filter(|ms| *ms > bound_ms) {
                let detail = format!("{id} rests {ms} ms after everything was to be cancelled");
                self.checks.fail(Invariant::RestsWhileStopped, detail);
            }
            let cancelled = self.conduct.cancelled_for_ms(id, shown);
            if let Some(ms) = cancelled.filter(|ms| *ms > bound_ms) {
                let detail = format!("{id} rests {ms} ms after its cancel was sent");
                self.checks.fail(Invariant::CancelLingers, detail);
            }
        }
    }
}
