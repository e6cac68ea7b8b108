//! A second engine, made now and then from what the first one saved: told the same, it must want the same.
//! A state that a snapshot does not carry whole shows here.

use crate::invariants::table::Invariant;
use cambist_core::action::Action;
use cambist_core::engine::Snapshot;
use cambist_core::event::Event;
use cambist_core::{Engine, Time};

use crate::world::World;
use crate::world::start::strategies;

/// Steps of the world from one to the next,
const EVERY: u64 = 5_000;
/// and what each of them is told before it goes.
const EVENTS: u32 = 400;

/// The second engine of a daemon.
pub(crate) struct SnapshotReplica {
    engine: Engine,
    left: u32,
}

impl SnapshotReplica {
    /// Hears what the first one heard; what it wants instead, if it is not the same.
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
    /// The engine has heard an event: its twin hears it too, or one is made.
    pub(super) fn tend_twin(&mut self, shown: Time, event: &Event, actions: &[Action]) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if let Some(mut twin) = daemon.twin.take() {
            match twin.compare(shown, event, (&daemon.engine, actions)) {
                Some(detail) => self.checks.fail(Invariant::Snapshot, detail),
                None if twin.left > 0 => daemon.twin = Some(twin),
                None => {}
            }
        } else if self.checks.steps().is_multiple_of(EVERY) {
            let engine = strategies(&self.config, &self.specs)
                .ok()
                .zip(carried(&daemon.engine.save()))
                .and_then(|(strategies, saved)| Engine::restore(strategies, saved).ok());
            match engine {
                Some(engine) => {
                    daemon.twin = Some(SnapshotReplica {
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

/// A snapshot as it comes back from where it was kept.
fn carried(saved: &Snapshot) -> Option<Snapshot> {
    let bytes = postcard::to_allocvec(saved).ok()?;
    postcard::from_bytes(&bytes).ok()
}
