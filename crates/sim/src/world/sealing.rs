//! Sealing and syncing: nothing is reported as durable before it is.

use cambist_core::event::{BatchId, Event, Restrictions, SealFailure};
use cambist_core::request::Endpoint;
use cambist_core::{Hash, Intent, Time};

use crate::chain::link::Unsealed;
use crate::exchange::OWN_ACCOUNT;
use crate::faults::disk::Write;
use crate::faults::kinds::FaultKind;
use crate::workload::pool;

use crate::world::World;
use crate::world::events::WorldEvent;

impl World {
    fn sync_us(&mut self) -> Time {
        let store = &self.config.store;
        let took = self
            .random
            .between(store.seal_min_ms * 1_000, store.seal_max_ms * 1_000);
        let begins = self.disk_busy.max(self.now);
        let slow_us = if self.active_faults.is(FaultKind::StoreSlow) {
            self.active_faults.random.below(8_000_000)
        } else {
            0
        };
        self.disk_busy = Time(begins.0 + took + slow_us);
        self.disk_busy
    }

    pub(super) fn incarnation(&self) -> u32 {
        self.daemon.as_ref().map_or(0, |daemon| daemon.incarnation)
    }

    pub(super) fn plan_sync(&mut self, upto: u64, event: Option<Event>) {
        let at = self.sync_us();
        let happening = WorldEvent::Synced {
            incarnation: self.incarnation(),
            upto,
            event: event.map(Box::new),
        };
        self.queue.plan(at, happening);
    }

    pub(super) fn plan_flush(&mut self) {
        if !self.flushing {
            self.flushing = true;
            let happening = WorldEvent::Synced {
                incarnation: self.incarnation(),
                upto: u64::MAX,
                event: None,
            };
            let at = self.now.plus_ms(self.config.store.flush_ms);
            self.queue.plan(at, happening);
        }
    }

    pub(super) fn synced(&mut self, incarnation: u32, upto: u64, event: Option<Box<Event>>) {
        if !self.is_alive(incarnation) && self.finished.is_none() {
            return;
        }
        self.disk.sync(upto);
        if event.is_none() {
            self.flushing = false;
        }
        if let Some(event) = event {
            if let Event::RestrictionsStored(levels) = &*event {
                self.checks.level(levels.state);
            }
            if let (Event::Sealed { hashes, .. }, Some(link)) = (&*event, &mut self.chain) {
                let ids: Vec<_> = hashes.iter().map(|(id, _)| *id).collect();
                link.synced(&ids);
            }
            self.handle_event(&event);
        }
    }

    /// Adds a write that the next sync makes durable. A store that has failed accepts nothing more.
    pub(super) fn write(&mut self, write: Write) -> u64 {
        if self
            .daemon
            .as_ref()
            .is_some_and(|daemon| daemon.store_failed)
        {
            self.active_faults.explained_in_vain(&write);
            0
        } else {
            self.disk.write(write)
        }
    }

    pub(super) fn seal_batch(&mut self, batch: BatchId, intents: Vec<Intent>) {
        let (mut orders, mut moves) = (Vec::new(), Vec::new());
        let mut has_failed = false;
        for intent in intents {
            match (self.hash_of(&intent), intent) {
                (Ok(hash), Intent::Order(order)) => orders.push((order, hash)),
                (Ok(hash), Intent::PoolTransaction(wanted)) => moves.push((wanted, hash)),
                (Err(Unsealed::LeftOut), _) => {}
                (Err(Unsealed::Failed), _) => has_failed = true,
            }
        }
        if let Some(daemon) = &mut self.daemon {
            let kept = moves.iter().cloned();
            daemon
                .moves
                .extend(kept.map(|sealed| (sealed.0.client_id, sealed)));
        }
        self.check_beside_instance(!orders.is_empty() || !moves.is_empty());
        let unsigned: Vec<_> = orders.iter().map(|(order, _)| order.clone()).collect();
        self.check_orders(&unsigned);
        for (order, hash) in &orders {
            // An approved intent has its tokens: it may be sent later, possibly together with others.
            self.obey_budget(Endpoint::Submit);
            self.checks.sealing(order, self.disk.durable());
            if let Some(daemon) = &mut self.daemon {
                daemon
                    .sealed
                    .insert(order.client_id, (order.clone(), *hash));
            }
        }
        let store_failed = self.daemon.as_ref().is_some_and(|d| d.store_failed);
        let cause = if has_failed || self.active_faults.is(FaultKind::SigningFailed) {
            Some(SealFailure::Signature)
        } else {
            store_failed.then_some(SealFailure::Store)
        };
        if let Some(cause) = cause {
            return self.plan_sync(0, Some(Event::SealFailed { batch, cause }));
        }
        let hashes = orders
            .iter()
            .map(|(order, hash)| (order.client_id, *hash))
            .chain(moves.iter().map(|(wanted, hash)| (wanted.client_id, *hash)))
            .collect();
        let event = Event::Sealed { batch, hashes };
        let upto = self.write(Write::Intents(orders, moves));
        self.plan_sync(upto, Some(event));
    }

    /// Seals an intent.
    fn hash_of(&mut self, intent: &Intent) -> Result<Hash, Unsealed> {
        let fails = self.active_faults.is(FaultKind::SigningFailed);
        let is_written = self.daemon.as_ref().is_some_and(|d| !d.store_failed);
        match (&mut self.chain, intent) {
            (Some(_), _) if fails => Err(Unsealed::Failed),
            (Some(link), _) => link.seal(intent, is_written),
            (None, Intent::PoolTransaction(wanted)) => Ok(pool::hash(wanted)),
            (None, Intent::Order(order)) => {
                let exchange = self.config.venue.exchange;
                Ok(self.sealer.hash(exchange, OWN_ACCOUNT.0, order))
            }
        }
    }

    pub(super) fn store_levels(&mut self, levels: Restrictions) {
        let failed = self.daemon.as_ref().is_some_and(|d| d.store_failed);
        let upto = self.write(Write::Levels(levels.clone()));
        let event = if failed {
            Event::RestrictionsFailed(levels)
        } else {
            Event::RestrictionsStored(levels)
        };
        self.plan_sync(upto, Some(event));
    }
}
