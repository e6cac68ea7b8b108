//! Submits that arrive at the last moment: immediately before they expire, or after, when the exchange itself refuses
//! them. A daemon that treats silence as failure, or a fence as passed too early, fails then.

use cambist_core::{Time, VenueTime};

use crate::faults::kinds::FaultKind;
use crate::faults::network::Outbound;

use crate::world::World;

impl World {
    /// How long a delayed submit may be in transit.
    pub(super) fn late_ms(&self) -> u64 {
        let late = self
            .config
            .fault_kinds
            .kinds
            .contains(&FaultKind::SubmitsLate);
        if late { self.config.engine.ttl_ms } else { 0 }
    }

    /// The delay of a submit, if it is delayed; half of them also arrive at once, without an answer.
    pub(super) fn late(&mut self, valid_until_s: Option<u64>) -> Option<Outbound> {
        let valid_until_s = valid_until_s?;
        let random = &mut self.active_faults.random;
        if !self.active_faults.active.contains(&FaultKind::SubmitsLate) || !random.chance(7, 8) {
            return None;
        }
        let expires = self.exchange.when(VenueTime::from_s(valid_until_s));
        let spread_us = 1_000 * [500, 5_000, 20_000][usize::try_from(random.below(3)).unwrap_or(0)];
        let early_us = random.below(spread_us);
        let at = if random.chance(1, 8) {
            expires.0 + early_us
        } else {
            expires.0.saturating_sub(early_us)
        };
        let after_us = Time(at).micros_since(self.now).max(1_000);
        let way_us = 1_000 * self.config.network.latency_max_ms;
        let copy_us = random.chance(1, 2).then_some(way_us);
        Some(Outbound::Arrives { after_us, copy_us })
    }
}
