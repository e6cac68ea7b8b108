//! The machine behind its lock: one request at a time, audits, and what happens when it breaks.
//!
//! A panic under the lock leaves books that nobody can trust: from then on every request is refused
//! and the server ends. Nothing in here knows HTTP.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::VenueTime;
use cambist_venue::agents::Agents;
use cambist_venue::{Caller, Refusal, Request, Response, Venue};
use tokio::sync::Notify;

use crate::clock::Clock;

/// Venue time between two steps of the background traders.
const STEP_MS: u64 = 100;

/// Why the machine gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The machine said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A request panicked inside the machine; it takes no more.
    #[error("the exchange stopped after an internal failure")]
    Broken,
    /// The books do not add up after this request.
    #[error("the books do not add up: {0}")]
    Audit(String),
}

pub(crate) struct Machine {
    inner: Mutex<Inner>,
    clock: Clock,
    audit_every_request: bool,
    audit_failures: AtomicU64,
    broken: Notify,
}

struct Inner {
    venue: Venue,
    agents: Vec<Agents>,
    stepped: Option<VenueTime>,
}

impl Inner {
    /// Lets every population act, at most once a step.
    fn step(&mut self, now: VenueTime) {
        if self
            .stepped
            .is_some_and(|stepped| now.ms_since(stepped) < STEP_MS)
        {
            return;
        }
        self.stepped = Some(now);
        for agents in &mut self.agents {
            for (caller, request) in agents.step(now, &self.venue) {
                // A background trader lives with a refusal as everybody does.
                if let Err(refusal) = self.venue.handle(now, &caller, &request) {
                    tracing::trace!(%refusal, "background trader refused");
                }
            }
        }
    }
}

impl Machine {
    pub fn new(venue: Venue, agents: Vec<Agents>, clock: Clock, audit_every_request: bool) -> Self {
        Self {
            inner: Mutex::new(Inner {
                venue,
                agents,
                stepped: None,
            }),
            clock,
            audit_every_request,
            audit_failures: AtomicU64::new(0),
            broken: Notify::new(),
        }
    }

    /// Looks at the venue.
    pub fn read<T>(&self, look: impl FnOnce(&Venue) -> T) -> Result<T, MachineError> {
        Ok(look(&self.lock()?.venue))
    }

    /// Asks the venue.
    pub fn handle(&self, caller: &Caller, request: &Request) -> Result<Response, MachineError> {
        let mut inner = self.lock()?;
        // Read under the lock, so that times are in the order of the requests.
        let now = self.clock.now();
        let response = inner.venue.handle(now, caller, request);
        self.audit_if_asked(&inner.venue)?;
        Ok(response?)
    }

    /// Lets time pass: expiries, then the background traders.
    pub fn tick(&self) -> Result<(), MachineError> {
        let mut inner = self.lock()?;
        let now = self.clock.now();
        inner.venue.advance(now);
        inner.step(now);
        self.audit_if_asked(&inner.venue)
    }

    /// Milliseconds until the venue has something to do by itself.
    pub fn next_wakeup_ms(&self) -> Option<u64> {
        let next = self.lock().ok()?.venue.next_wakeup()?;
        Some(next.ms_since(self.clock.now()))
    }

    /// Checks the books now.
    pub fn audit(&self) -> Result<(), MachineError> {
        self.count_audit(self.lock()?.venue.audit())
    }

    pub fn audit_failures(&self) -> u64 {
        self.audit_failures.load(Ordering::Relaxed)
    }

    /// Ends when the machine is broken.
    pub async fn broken(&self) {
        if self.inner.is_poisoned() {
            return;
        }
        self.broken.notified().await;
    }

    pub fn is_broken(&self) -> bool {
        self.inner.is_poisoned()
    }

    /// Wakes whoever waits for the end, if this is it.
    pub fn report_if_broken(&self) {
        if self.is_broken() {
            self.broken.notify_one();
        }
    }

    fn audit_if_asked(&self, venue: &Venue) -> Result<(), MachineError> {
        if self.audit_every_request {
            self.count_audit(venue.audit())
        } else {
            Ok(())
        }
    }

    fn count_audit(&self, result: Result<(), String>) -> Result<(), MachineError> {
        result.map_err(|problem| {
            self.audit_failures.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%problem, "the books do not add up");
            MachineError::Audit(problem)
        })
    }

    fn lock(&self) -> Result<MutexGuard<'_, Inner>, MachineError> {
        self.inner.lock().map_err(|poisoned: PoisonError<_>| {
            drop(poisoned);
            self.broken.notify_one();
            MachineError::Broken
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::denial::Denial;
    use cambist_venue::{AccountId, Compat, Limits, VenueConfig};

    fn machine() -> Option<Machine> {
        let venue = Venue::new(VenueConfig {
            chain_id: 1,
            exchange: [1; 20],
            deposit: [2; 20],
            tokens: Vec::new(),
            markets: Vec::new(),
            limits: Limits::default(),
            fee_collector: AccountId(0),
            fee_collector_owner: [3; 20],
            first_account: AccountId(1),
            compat: Compat::Both,
            ..VenueConfig::default()
        });
        let clock = Clock::by_hand(VenueTime(1_000));
        Some(Machine::new(venue.ok()?, Vec::new(), clock, true))
    }

    #[test]
    fn after_a_panic_under_the_lock_nothing_is_answered() {
        let Some(machine) = machine() else {
            panic!("a venue without markets is a venue");
        };
        let asked = machine.handle(&Caller::Public, &Request::Markets);
        assert_eq!(asked, Ok(Response::Markets(Vec::new())));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            machine.read(|_| panic!("a test breaks the machine"))
        }));
        assert!(panicked.is_err() && machine.is_broken());
        let asked = machine.handle(&Caller::Public, &Request::Markets);
        assert_eq!(asked, Err(MachineError::Broken));
        assert_eq!(machine.tick(), Err(MachineError::Broken));
        assert_eq!(Denial::from(MachineError::Broken).status, 500);
    }

    #[test]
    fn a_failed_audit_is_an_internal_failure_and_counted() {
        let Some(machine) = machine() else {
            panic!("a venue without markets is a venue");
        };
        let failed = machine.count_audit(Err("one unit too many".to_owned()));
        assert_eq!(
            failed,
            Err(MachineError::Audit("one unit too many".to_owned()))
        );
        assert_eq!(machine.audit_failures(), 1);
        let denial = failed.err().map(Denial::from);
        assert_eq!(denial.map(|denial| denial.status), Some(500));
    }
}
