//! The state machine behind its lock: one request at a time, audits, and failures.
//!
//! After a panic under the lock the books cannot be trusted; after a failed write the log lacks inputs. From then on
//! every request is refused and the server ends. With a log, an answer is sent only after [`Machine::settled`]. HTTP
//! and files are not known here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::VenueTime;
use cambist_venue::{Caller, Refusal, Request, Response, Venue};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::durable::{Log, LogState};
use crate::market_data::MarketData;
use crate::state::{Answers, Entry, State};

/// Why a request was not executed or has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The venue refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too many bytes wait for the disk: nothing was executed.
    #[error("the exchange is waiting for its disk; the request was not executed, try again")]
    Busy,
    /// A request panicked inside the state machine; no more are executed.
    #[error("the exchange stopped after an internal failure")]
    Broken,
    /// The log could not be written: the effect of this request may be lost, and no more are executed.
    #[error("the exchange stopped because its log cannot be written")]
    NotDurable,
    /// The books do not add up after this request.
    #[error("the books do not add up: {0}")]
    Audit(String),
}

pub(crate) struct Machine {
    inner: Mutex<State>,
    log: Option<Log>,
    clock: Clock,
    audit_every_request: bool,
    audit_failures: AtomicU64,
    broken: Notify,
    /// Receives every trade, if it is served.
    pub market_data: Option<MarketData>,
}

impl Machine {
    pub fn new(
        mut state: State,
        log: Option<Log>,
        clock: Clock,
        audit_every_request: bool,
        market_data: Option<MarketData>,
    ) -> Self {
        if market_data.is_some() {
            state.venue.write_executed();
        }
        // If the system clock was set back, the venue's time does not follow.
        clock.not_before(state.venue.now());
        Self {
            inner: Mutex::new(state),
            log,
            clock,
            audit_every_request,
            audit_failures: AtomicU64::new(0),
            broken: Notify::new(),
            market_data,
        }
    }

    /// Reads the venue's state.
    pub fn read<T>(&self, look: impl FnOnce(&Venue) -> T) -> Result<T, MachineError> {
        Ok(look(&self.lock()?.venue))
    }

    /// The current time, to which the venue advances with its next request.
    pub fn now(&self) -> VenueTime {
        self.clock.now()
    }

    /// Executes a request.
    pub fn handle(&self, caller: &Caller, request: &Request) -> Result<Response, MachineError> {
        let mut state = self.lock()?;
        self.admit()?;
        // Read under the lock, so that times are in the order of the requests.
        let now = self.clock.now();
        // Written after the state machine has executed it: a request that panics must not be replayed.
        let response = state.ask(now, caller, request, |entry, answers| {
            self.keep(entry, answers);
        });
        self.publish(&mut state.venue);
        self.audit_if_asked(&state.venue)?;
        Ok(response?)
    }

    /// Advances the time: timers that are due, then the simulated traders.
    pub fn tick(&self) -> Result<(), MachineError> {
        let mut state = self.lock()?;
        self.admit()?;
        state.pass(self.clock.now(), |entry, answers| {
            self.keep(entry, answers);
        });
        self.publish(&mut state.venue);
        self.audit_if_asked(&state.venue)
    }

    /// Passes on what was executed. The reader that shows it waits until it is durable.
    fn publish(&self, venue: &mut Venue) {
        if let Some(data) = &self.market_data {
            data.add(venue.take_executed());
        }
    }

    /// Waits until everything executed so far is durable. No answer may be sent before.
    pub async fn settled(&self) -> Result<(), MachineError> {
        match &self.log {
            Some(log) if !log.settled().await => Err(MachineError::NotDurable),
            Some(_) | None => Ok(()),
        }
    }

    /// As `settled`, blocking the thread.
    pub fn settled_blocking(&self) -> Result<(), MachineError> {
        match &self.log {
            Some(log) if !log.settled_blocking() => Err(MachineError::NotDurable),
            Some(_) | None => Ok(()),
        }
    }

    /// Batches and bytes written so far.
    pub fn log_written(&self) -> (u64, u64) {
        self.log.as_ref().map_or((0, 0), Log::written)
    }

    /// Milliseconds until the venue's next timer.
    pub fn next_wakeup_ms(&self) -> Option<u64> {
        let next = self.lock().ok()?.venue.next_wakeup()?;
        Some(next.ms_since(self.clock.now()))
    }

    /// Audits the books.
    pub fn audit(&self) -> Result<(), MachineError> {
        self.count_audit(self.lock()?.venue.audit())
    }

    pub fn audit_failures(&self) -> u64 {
        self.audit_failures.load(Ordering::Relaxed)
    }

    /// Completes when the state machine or its log has failed.
    pub async fn broken(&self) -> MachineError {
        if !self.inner.is_poisoned() {
            match &self.log {
                Some(log) => tokio::select! {
                    () = self.broken.notified() => {}
                    () = log.failed() => {}
                },
                None => self.broken.notified().await,
            }
        }
        self.why_broken()
    }

    pub fn is_broken(&self) -> bool {
        self.inner.is_poisoned() || self.log_failed()
    }

    /// The kind of the failure.
    pub fn why_broken(&self) -> MachineError {
        if self.log_failed() && !self.inner.is_poisoned() {
            MachineError::NotDurable
        } else {
            MachineError::Broken
        }
    }

    /// Wakes the waiter for the end if there was a failure.
    pub fn report_if_broken(&self) {
        if self.is_broken() {
            self.broken.notify_one();
        }
    }

    fn admit(&self) -> Result<(), MachineError> {
        match self.log.as_ref().map(Log::state) {
            None | Some(LogState::Open) => Ok(()),
            Some(LogState::Full) => Err(MachineError::Busy),
            Some(LogState::Failed) => Err(MachineError::NotDurable),
        }
    }

    fn keep(&self, entry: &Entry<'_>, answers: Answers) {
        if let Some(log) = &self.log {
            log.append(entry, answers);
        }
    }

    fn log_failed(&self) -> bool {
        self.log
            .as_ref()
            .is_some_and(|log| log.state() == LogState::Failed)
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

    fn lock(&self) -> Result<MutexGuard<'_, State>, MachineError> {
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
    use crate::error_response::ErrorResponse;
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
        let state = State::new(venue.ok()?, Vec::new());
        Some(Machine::new(state, None, clock, true, None))
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
        assert_eq!(ErrorResponse::from(MachineError::Broken).status, 500);
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
        let response = failed.err().map(ErrorResponse::from);
        assert_eq!(response.map(|response| response.status), Some(500));
    }
}
