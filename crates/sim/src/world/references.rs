//! Sources of reference prices in a world: books of other places that follow the market. While there are faults some of
//! their prices are lost, late, repeated, or nonsense.

use cambist_core::event::Event;
use cambist_core::reference::{ReferenceId, ReferencePrice, ReferenceSource};
use cambist_core::{MarketId, Time};
use cambist_venue::Random;

use crate::invariants::table::Invariant;

use super::World;
use super::events::WorldEvent;

/// Between two polls of a source.
const POLL_MS: u64 = 1_000;

/// The sources of a world.
pub(super) struct References {
    random: Random,
    /// Prices that the running daemon received, by source: the newest by its own time, in the daemon's clock.
    newest: Vec<Option<(Time, u64)>>,
    /// An earlier price of each source, which a cache may repeat.
    cached: Vec<Option<ReferencePrice>>,
}

impl References {
    /// Chance of its own, so that worlds without sources are what they would be without this.
    pub(super) fn new(seed: u64, sources: &[ReferenceSource]) -> Self {
        Self {
            random: Random::new(seed ^ 0x7265_6665_7265_6e63),
            newest: vec![None; sources.len()],
            cached: vec![None; sources.len()],
        }
    }
}

impl World {
    /// The daemon has started, and polls its sources.
    pub(super) fn start_references(&mut self) {
        self.references.newest.fill(None);
        self.references.cached.fill(None);
        for source in (0..).take(self.config.references.len()) {
            self.plan_reference(ReferenceId(source));
        }
    }

    fn plan_reference(&mut self, source: ReferenceId) {
        let Some(daemon) = &self.daemon else { return };
        let incarnation = daemon.incarnation;
        let wait_ms = POLL_MS + self.references.random.below(100);
        self.queue.plan(
            self.now.plus_ms(wait_ms),
            WorldEvent::Reference {
                incarnation,
                source,
            },
        );
    }

    /// A source is polled.
    pub(super) fn reference(&mut self, incarnation: u32, source: ReferenceId) {
        if !self.is_alive(incarnation) {
            return;
        }
        self.plan_reference(source);
        let index = usize::from(source.0);
        let market = self.config.references[index].market;
        let Some(mid) = self.mids()[usize::from(market.0)] else {
            return;
        };
        let Some(daemon) = &self.daemon else { return };
        let shown = daemon.clock.at(self.now);
        let random = &mut self.references.random;
        let price = ReferencePrice {
            source,
            mid: mid + random.below(1 + mid / 2_000),
            at: shown.minus_ms(random.below(300)),
        };
        let faulty = self.active_faults.in_fault_period && !self.calmed;
        let price = if faulty && random.chance(30, 100) {
            match random.below(4) {
                0 => None,
                // A cache repeats what it had, with the time that this had.
                1 => self.references.cached[index],
                2 => Some(ReferencePrice { mid: 0, ..price }),
                _ => Some(ReferencePrice {
                    at: shown.minus_ms(random.below(20_000)),
                    ..price
                }),
            }
        } else {
            self.references.cached[index] = Some(price);
            Some(price)
        };
        let Some(price) = price else { return };
        let newest = &mut self.references.newest[index];
        if price.mid > 0 && newest.is_none_or(|(at, _)| price.at >= at) {
            *newest = Some((price.at, price.mid));
        }
        self.handle_event(&Event::Reference(price));
    }

    /// Other markets that strategies were shown in this step have their newest mids.
    pub(super) fn check_others(&mut self, shown: Time) {
        // In a step that ended with a crash not every notification arrived.
        let (Some(limits), Some(_)) = (&self.limits, &self.daemon) else {
            return;
        };
        let data_age = &self.sending_rules.data_age;
        let wrong = limits.others_at(shown).find_map(|(market, mid)| {
            let why = data_age.other_mid(market, mid)?;
            Some(format!("{market:?}: {why}"))
        });
        if let Some(detail) = wrong {
            self.checks.fail(Invariant::OtherMarkets, detail);
        }
    }

    /// What strategies were shown in this step is the newest price of every source, unless that is too old.
    pub(super) fn check_references(&mut self, shown: Time) {
        if self.config.references.is_empty() {
            return;
        }
        let Some(limits) = &self.limits else { return };
        let expected = |market: MarketId| -> Vec<Option<u64>> {
            let each = self.config.references.iter().zip(&self.references.newest);
            let own = each.filter(|(source, _)| source.market == market);
            own.map(|(source, newest)| {
                let (at, mid) = (*newest)?;
                (shown.micros_since(at) <= source.age_max_ms * 1_000).then_some(mid)
            })
            .collect()
        };
        let wrong = limits.references_at(shown).find_map(|(market, seen)| {
            let expected = expected(market);
            (seen != expected).then(|| format!("{market:?}: {seen:?}, not {expected:?}"))
        });
        if let Some(detail) = wrong {
            self.checks.fail(Invariant::ReferencePrices, detail);
        }
    }
}
