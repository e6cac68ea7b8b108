//! The snapshot replica: a second engine, restored at intervals from a snapshot of the first, that handles the same
//! events and must emit the same actions. It detects state that a snapshot leaves out.

use crate::invariants::table::Invariant;
use cambist_core::action::Action;
use cambist_core::engine::Snapshot;
use cambist_core::event::Event;
use cambist_core::{Engine, Time};

use crate::world::World;
use crate::world::start::strategies;

/// Steps of the world between two replicas,
const EVERY: u64 = 5_000;
/// and the number of events each one handles.
const EVENTS: u32 = 400;

/// The second engine of a daemon.
pub(crate) struct SnapshotReplica {
    engine: Engine,
    left: u32,
}

impl SnapshotReplica {
    /// Handles the event of the first engine; returns the difference of the actions, if any.
    fn compare(
        &mut self,
        shown: Time,
        event: &Event,
        first: (&Engine, &[Action]),
    ) -> Option<String> {
        let (engine, actions) = first;
        let mut own = Vec::new();
        self.engine.on_event(shown, event, &mut own);
        self.left = self.left.saturating_sub(1);
        if own != actions {
            return Some(format!("{own:?} instead of {actions:?}"));
        }
        let (own, wakeup) = (self.engine.next_wakeup(), engine.next_wakeup());
        (own != wakeup).then(|| format!("a wake at {own:?} instead of {wakeup:?}"))
    }
}

impl World {
    /// Passes an event to the replica, or creates one.
    pub(super) fn update_replica(&mut self, shown: Time, event: &Event, actions: &[Action]) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if let Some(mut replica) = daemon.replica.take() {
            match replica.compare(shown, event, (&daemon.engine.get(), actions)) {
                Some(detail) => self.checks.fail(Invariant::Snapshot, detail),
                None if replica.left > 0 => daemon.replica = Some(replica),
                None => {}
            }
        } else if self.checks.steps().is_multiple_of(EVERY) {
            let engine = strategies(&self.config, &self.specs)
                .ok()
                .zip(carried(&daemon.engine.get().save()))
                .and_then(|(strategies, saved)| Engine::restore(strategies, saved).ok());
            match engine {
                Some(engine) => {
                    daemon.replica = Some(SnapshotReplica {
                        engine,
                        left: EVENTS,
                    });
                }
                None => self
                    .checks
                    .fail(Invariant::Snapshot, "it cannot be restored".to_owned()),
            }
        }
    }
}

/// A snapshot after serialisation and deserialisation.
fn carried(saved: &Snapshot) -> Option<Snapshot> {
    let bytes = postcard::to_allocvec(saved).ok()?;
    postcard::from_bytes(&bytes).ok()
}
