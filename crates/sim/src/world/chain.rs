//! A world whose venue is a chain: its blocks, the daemon's requests to its nodes, and what is checked of it.

use cambist_core::event::{Amounts, Start};
use cambist_core::notification::Notification;
use cambist_core::request::{Outcome, RequestId};
use cambist_core::{ClientOrderId, MarketSpec, PoolSpec, Time, VenueTime};

use crate::chain::ChainCounts;
use crate::chain::link::{Link, REFUSES_CLIENT};
use crate::config::WorldConfig;
use crate::exchange::Exchange;
use crate::faults::kinds::FaultKind;
use crate::invariants::table::Invariant;
use crate::world::World;
use crate::world::events::WorldEvent;
use crate::world::start::header_time;
use crate::world::wire::Asked;

/// The pools of a world; where a range of a V3 pool is configured, their shares are liquidity in it.
pub(super) fn as_ranges(config: &WorldConfig, mut pools: Vec<PoolSpec>) -> Vec<PoolSpec> {
    let range = config.chain.as_ref().and_then(|chain| chain.range.as_ref());
    for pool in &mut pools {
        pool.in_range = range.is_some();
    }
    pools
}

/// The chain of a world, if its venue is one.
pub(super) fn link(
    config: &WorldConfig,
    (markets, pools): (&[MarketSpec], &[PoolSpec]),
    exchange: &Exchange,
) -> Option<Link> {
    let chain = config.chain.as_ref()?;
    let slippage = config.engine.pools.iter().map(|pool| pool.slippage_bps);
    let limits = (config.engine.grace_ms, slippage.min().unwrap_or(0));
    let now_s = exchange.clock(Time(0)).as_s();
    let link = Link::new(
        chain,
        (markets, pools),
        &config.funds,
        limits,
        now_s,
        config.seed,
    );
    Some(link)
}

impl World {
    /// Plans the next block.
    pub(super) fn plan_block(&mut self) {
        if let Some(link) = &self.chain {
            let next = self.now.plus_ms(link.block_ms());
            self.queue.plan(next, WorldEvent::Block);
        }
    }

    /// The chain of a world that has not begun, its pool, and the start of a first daemon.
    pub(crate) fn into_chain(self) -> Option<(Link, PoolSpec, Start)> {
        let start = self.start_event();
        let pool = self.pools.first().cloned();
        self.chain.zip(pool).map(|(link, pool)| (link, pool, start))
    }

    /// What has happened on the chain; `None` where the venue is another.
    pub fn chain_counts(&self) -> Option<ChainCounts> {
        let link = self.chain.as_ref()?;
        Some(ChainCounts {
            executed: link.checks.executed,
            reverted: link.checks.reverted,
            replaced: link.checks.replaced,
            reorganised: link.chain().reorganised,
            taken_out: link.chain().taken_out,
            forks: link.checks.forks,
        })
    }

    /// Whether chain and nodes have faults now.
    const fn chain_is_disturbed(&self) -> bool {
        self.active_faults.in_fault_period && !self.calmed
    }

    /// The next block is due.
    pub(super) fn block(&mut self) {
        let now_s = self.exchange.clock(self.now).as_s();
        let is_disturbed = self.chain_is_disturbed();
        let link = self.chain.as_mut();
        if link.is_some_and(|link| link.advance(now_s, is_disturbed)) {
            self.start_again_after_fork();
        }
        if is_disturbed {
            self.active_faults.obstruct(self.now);
        }
        self.check_blocks();
        self.plan_block();
    }

    /// The node follows the chain again: an operator starts the daemon, whose account has stopped for good.
    fn start_again_after_fork(&mut self) {
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.active_faults.obstruct(again);
        if self.daemon.is_some() && !self.ending {
            self.stop();
            self.queue.plan(again, WorldEvent::Start);
        }
    }

    /// Checks the newest block, and what has become final.
    fn check_blocks(&mut self) {
        let Some(link) = &mut self.chain else { return };
        let chain = link.chain();
        let over = chain.over_approved();
        let over = over.filter(|over| !link.checks.has_lost_a_nonce(over.nonce, chain));
        let (from, to) = (link.checks.seen, chain.finalized());
        let mut taken = Vec::new();
        let (mut executed, mut reverted) = (0, 0);
        let first = from.max(to.saturating_sub(10_000)) + 1;
        for mined in (first..=to).filter_map(|number| chain.at(number)) {
            let of_router = mined.included.iter().filter(|of| of.is_router_call());
            for of in of_router {
                if of.receipt.succeeded {
                    executed += 1;
                    taken.push((cambist_core::Hash(of.waiting.hash.0), of.moved));
                } else {
                    reverted += 1;
                }
            }
        }
        link.checks.seen = to;
        link.checks.executed += executed;
        link.checks.reverted += reverted;
        for (hash, moved) in taken {
            let durable = self.disk.durable();
            self.checks.move_taken(hash, durable);
            let mut open = durable.open.iter().filter_map(|id| durable.intents.get(id));
            if let Some(swap) = open.find(|intent| intent.hash == hash) {
                let moved = (moved[0].unsigned_abs(), moved[1].unsigned_abs());
                let loss = &mut self.loss;
                self.ground_truth
                    .swap_on_chain(self.now, hash, &swap.order, moved, loss);
            }
        }
        if let Some(over) = over {
            let detail = format!(
                "nonce {}: {} of token {} were allowed, and {} are needed",
                over.nonce, over.allowed, over.at, over.needed
            );
            self.checks.fail(Invariant::OverApproved, detail);
        }
    }

    /// The stored bytes of an intent leave.
    pub(super) fn leave_for_chain(&mut self, id: ClientOrderId) {
        let broken = self.chain.as_mut().map(|link| link.leaving(id));
        self.break_rules(broken.into_iter().flatten());
    }

    /// A request of the daemon arrives at a node. `None` if its answer is not waited for.
    pub(super) fn arrive_at_chain(
        &mut self,
        from: (u32, RequestId),
        asked: &Asked,
        copy: bool,
    ) -> Option<(Outcome, Option<VenueTime>)> {
        let is_disturbed = self.chain_is_disturbed();
        let is_refused = self.active_faults.is(FaultKind::KeyRefused);
        let is_alive = self.is_alive(from.0);
        let link = self.chain.as_mut()?;
        if is_refused {
            return (!copy).then_some((Outcome::Refused(REFUSES_CLIENT), None));
        }
        match asked {
            Asked::Venue(_) | Asked::Amend { .. } => None,
            // The account is the daemon's: what a node answers a dead one changes nothing.
            Asked::Chain(_) if copy || !is_alive => None,
            Asked::Chain(query) => Some(link.query(query, is_disturbed)),
            Asked::Bundle { bytes, .. } => {
                let outcome = link.submit(bytes, is_alive, is_disturbed);
                (!copy).then_some((outcome, None))
            }
        }
    }

    /// The daemon has ended.
    pub(super) fn stop_on_chain(&mut self) {
        let durable = self.disk.durable();
        if let Some(link) = &mut self.chain {
            link.stop(&|id| durable.moves.contains_key(&id) || durable.open.contains(&id));
        }
    }

    /// A notification about the books.
    pub(super) fn observe_on_chain(&mut self, notification: &Notification) {
        let durable = self.disk.durable();
        let link = self.chain.as_mut();
        let broken = link.and_then(|link| link.observe(notification, durable));
        self.break_rules(broken);
    }

    /// What the account holds at the venue: on a chain, in its finalized block.
    pub(super) fn held(&self) -> Amounts {
        match &self.chain {
            Some(link) => link.held_below(self.booked_below()),
            None => self.exchange.held(&self.specs),
        }
    }

    /// The nonce of the next charge of the books: everything below it is in them.
    fn booked_below(&self) -> u64 {
        let known = self.chain.as_ref().and_then(|link| link.checks.next_charge);
        known.unwrap_or_else(|| self.disk.durable().books.charged_below)
    }

    /// A time that the venue's clock has passed.
    pub(super) fn passed_time(&self) -> VenueTime {
        match &self.chain {
            Some(link) => VenueTime::from_s(link.chain().newest().block.timestamp_s),
            None => header_time(self.exchange.clock(self.now)),
        }
    }

    /// How often ledger and chain were compared and agreed.
    pub(super) fn compared(&self) -> u64 {
        let link = self.chain.as_ref();
        link.map_or(0, |link| link.checks.compared)
    }

    /// After a proven end: nothing that was not booked has moved anything since, and the account did not stop by itself.
    pub(super) fn end_on_chain(&mut self) {
        let Some(link) = &self.chain else { return };
        let (mut booked, mut held) = (link.held_below(self.booked_below()), link.held());
        // Approvals and burns of ended intents may still be mined; they cost gas.
        for amounts in [&mut booked, &mut held] {
            amounts.remove(&crate::chain::COIN);
        }
        if booked != held {
            let detail = format!("{booked:?} is booked, and {held:?} is held");
            self.checks.fail(Invariant::Residual, detail);
        }
    }

    /// The account stopped by itself, although no other holder has its key and no finalized block was replaced.
    pub(super) fn check_account_goes_on(&mut self) {
        let stopped = self.chain.as_ref().and_then(Link::stopped);
        if let Some(why) = stopped {
            self.checks
                .fail(Invariant::StoppedByItself, why.to_string());
        }
    }
}
