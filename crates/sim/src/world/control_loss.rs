//! Losses of control: when they occur, the worst market move, and the resulting loss.

use cambist_core::{Side, Time};

use crate::exchange::OWN_ACCOUNT;
use crate::invariants::stated_loss::Spot;
use crate::profiles::control_loss::way;

use crate::world::World;
use crate::world::events::WorldEvent;

/// Delay if a price move would hit no order.
const AGAIN_MS: u64 = 5_000;

impl World {
    /// Plans the next loss of control, unless faults have ended.
    pub(super) fn plan_fall(&mut self) {
        let mean_us = self.config.falls.mean_ms * 1_000;
        if mean_us > 0 && !self.calmed {
            let at = Time(self.now.0 + self.chance.between(mean_us / 2, mean_us * 3 / 2));
            self.queue.plan(at, WorldEvent::Fall);
        }
    }

    /// The daemon crashes and stays down until all its orders are dead; the market sweeps the resting ones and moves.
    pub(super) fn fall(&mut self) {
        if self.calmed || self.ending {
            return;
        }
        let way = way(self.fallen);
        if self.daemon.is_none() || !self.is_exposed(way) {
            let again = self.now.plus_ms(AGAIN_MS);
            return self.queue.plan(again, WorldEvent::Fall);
        }
        self.plan_fall();
        self.stop();
        self.counts.crashes += 1;
        let engine = &self.config.engine;
        let dead_ms = engine.ttl_ms + engine.grace_ms;
        let again = self.now.plus_ms(dead_ms.max(self.config.store.restart_ms));
        self.active_faults.obstruct(again);
        self.queue.plan(again, WorldEvent::Start);
        self.fallen += 1;
        self.dead_until = again;
        for spec in &self.specs {
            self.exchange
                .fall(self.now, spec, way, self.config.falls.gap_bps);
        }
    }

    /// Whether an own order rests that would be swept.
    fn is_exposed(&mut self, way: Side) -> bool {
        self.ground_truth.prune(self.exchange.venue());
        self.ground_truth.open().any(|(_, taken)| taken.side != way)
    }

    /// Nothing new can be sent from here on.
    pub(super) fn lose_control(&mut self) {
        if self.ending || self.loss.is_in_one() {
            return;
        }
        self.exchange.advance(self.now);
        self.take_trades();
        self.end_span();
        let venue = self.exchange.venue();
        let own = venue.account(OWN_ACCOUNT);
        let spots = self.specs.iter().map(|spec| {
            let oracle = self.exchange.oracle();
            let mid = oracle.mid_of_others(spec.base.id, spec.quote.id)?;
            let held = |token| own.map(|own| own.balance(token).total);
            let held = (held(spec.base.id)?, held(spec.quote.id)?);
            Some(Spot::new(mid, held, spec.fee_in))
        });
        let spots = spots.collect();
        let venue_now = self.exchange.clock(self.now);
        self.loss.begin(venue_now, &self.config.engine, spots);
    }

    /// Ends the open span when all orders that were sent are dead and the market has a mid.
    pub(super) fn end_finished_span(&mut self) {
        if !self.loss.is_over(self.exchange.clock(self.now)) {
            return;
        }
        self.exchange.advance(self.now);
        self.take_trades();
        if self.mids().iter().all(Option::is_some) {
            self.end_span();
        }
    }

    /// Ends the open span now.
    pub(super) fn end_span(&mut self) {
        let mids = self.mids();
        let terms = (&self.config.engine, &self.config.rules.lifetime);
        let found = self.loss.end(&self.specs, terms, &mids);
        self.break_rules(found);
    }

    pub(super) fn mids(&self) -> Vec<Option<u64>> {
        let oracle = self.exchange.oracle();
        let mid =
            |spec: &cambist_core::MarketSpec| oracle.mid_of_others(spec.base.id, spec.quote.id);
        self.specs.iter().map(mid).collect()
    }
}
