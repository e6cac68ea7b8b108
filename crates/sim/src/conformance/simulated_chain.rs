//! The model of a chain as a subject: the adapter's account behind nodes without faults.

use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::request::Query;
use cambist_core::{ClientOrderId, Hash, Intent, PoolSpec, Time, VenueRules, VenueTime};

use crate::WorldConfig;
use crate::chain::link::Link;
use crate::conformance::Answer;
use crate::conformance::pools::PoolSubject;
use crate::world::World;

/// The account and its chain.
pub struct SimulatedChain {
    link: Link,
    rules: VenueRules,
    pool: PoolSpec,
    grace_ms: u64,
    origin: VenueTime,
    now: Time,
    next_block: Time,
}

impl SimulatedChain {
    /// A chain without other traders' influence on what is tried, and without faults.
    pub fn calm() -> Self {
        Self::of(WorldConfig::calm(1, "ladder").evm_pools())
    }

    /// The same with a wide range of a V3 pool, which the price does not leave.
    pub fn calm_in_range() -> Self {
        let mut config = WorldConfig::calm(1, "ladder").evm_pools().in_range();
        let range = config.chain.as_mut().and_then(|of| of.range.as_mut());
        if let Some(range) = range {
            range.ticks = [-204_000, -192_000];
        }
        Self::of(config)
    }

    fn of(config: WorldConfig) -> Self {
        let world = World::new(config.clone()).expect("a world");
        let (link, pool, start) = world.into_chain().expect("a world on a chain");
        let mut subject = Self {
            next_block: Time::from_ms(link.block_ms()),
            link,
            rules: config.rules,
            pool,
            grace_ms: config.engine.grace_ms,
            origin: config.clock.venue_origin,
            now: Time(0),
        };
        subject.link.start(&start);
        subject.pass_ms(subject.grace_ms);
        subject
    }

    /// The same chain, with rules that may not be its own.
    #[must_use]
    pub fn with_rules(self, rules: VenueRules) -> Self {
        Self { rules, ..self }
    }
}

impl PoolSubject for SimulatedChain {
    fn rules(&self) -> VenueRules {
        self.rules.clone()
    }

    fn pool(&self) -> PoolSpec {
        self.pool.clone()
    }

    fn grace_ms(&self) -> u64 {
        self.grace_ms
    }

    fn now(&self) -> VenueTime {
        self.origin.plus_ms(self.now.as_ms())
    }

    fn pass_ms(&mut self, ms: u64) {
        let end = self.now.plus_ms(ms);
        while self.next_block <= end {
            self.now = self.next_block;
            self.link.advance(self.now().as_s(), false);
            self.next_block = self.now.plus_ms(self.link.block_ms());
        }
        self.now = end;
    }

    fn seal(&mut self, wanted: &UnsignedPoolTransaction) -> Option<Hash> {
        let intent = Intent::PoolTransaction(wanted.clone());
        self.link.seal(&intent, true).ok()
    }

    fn transmit(&mut self, id: ClientOrderId) -> Answer {
        let bytes = self.link.bytes(id).unwrap_or_default().to_vec();
        (self.link.submit(&bytes, true, false), None)
    }

    fn ask(&mut self, query: &Query) -> Answer {
        self.link.query(query, false)
    }
}
