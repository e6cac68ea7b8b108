//! Healthy time, and the share of it with own orders on both sides.

use cambist_core::config::MarketConfig;
use cambist_core::market::MarketSpec;
use cambist_core::{Amount, Time};

use crate::exchange::OWN_ACCOUNT;

use crate::world::World;

/// Interval between samples of own orders at the venue.
const SAMPLE_MS: u64 = 200;

impl World {
    /// Samples at equal intervals before an event, in healthy time, whether own orders rest on both sides of every market.
    /// Samples at events would be more frequent where a daemon wakes often, as while it waits.
    pub(super) fn sample_before(&mut self, event_at: Time) {
        while self.sample_at < event_at {
            self.now = self.now.max(self.sample_at);
            self.sample_at = self.sample_at.plus_ms(SAMPLE_MS);
            self.sample();
        }
    }

    fn sample(&mut self) {
        if self.ending || self.ground_truth.count() == 0 || !self.is_healthy() {
            return;
        }
        self.exchange.advance(self.now);
        self.take_trades();
        self.ground_truth.prune(self.exchange.venue());
        self.counts.samples += 1;
        let both = self
            .specs
            .iter()
            .all(|spec| self.ground_truth.rests_on_both(spec.id));
        self.counts.samples_both += u64::from(both);
    }

    /// No fault within time to live and grace, and enough of both tokens of every market for an order of every strategy
    /// on both sides, within the band.
    fn is_healthy(&self) -> bool {
        let engine = &self.config.engine;
        let felt = self
            .active_faults
            .disturbed
            .plus_ms(engine.ttl_ms + engine.grace_ms);
        self.now > felt
            && self.daemon.is_some()
            && !self.reloads.is_tight(engine)
            && !self.others.limit()
            && self
                .specs
                .iter()
                .zip(&engine.markets)
                .all(|(spec, limits)| self.has_both(spec, limits))
    }

    fn has_both(&self, spec: &MarketSpec, limits: &MarketConfig) -> bool {
        let Some(own) = self.exchange.venue().account(OWN_ACCOUNT) else {
            return false;
        };
        let wanted = self
            .config
            .seats
            .iter()
            .filter(|seat| usize::from(seat.market.0) == usize::from(spec.id.0))
            .map(|seat| seat.order_base)
            .sum::<Amount>();
        let Some(quote) = spec.quote_amount(limits.price_max, spec.lots_floor(wanted)) else {
            return false;
        };
        let (base_held, quote_held) = (
            own.balance(spec.base.id).total,
            own.balance(spec.quote.id).total,
        );
        base_held >= limits.inventory_min + wanted
            && base_held + wanted <= limits.inventory_max
            && quote_held >= quote
    }
}
