//! The event loop: one task that owns the engine and handles events in order. It is the live assembly of the driver:
//! request workers are the venue, the seal worker is the store, the host's clock is the clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cambist_core::action::Action;
use cambist_core::books::{Booking, Entry};
use cambist_core::driver::{self, Assembly, Observer, Store, Venue};
use cambist_core::event::{BatchId, Command, Event, Restrictions, SealFailure, TradingState};
use cambist_core::notification::Notification;
use cambist_core::portfolio::VenueEngine;
use cambist_core::request::{Endpoint, Outcome, Query, RequestId};
use cambist_core::{ClientOrderId, Intent, StrategyId, Time, VenueTime};
use cambist_report::Session;
use tokio::sync::mpsc;

use crate::live::LoopMessage;
use crate::live::interval::Interval;
use crate::live::memories::Memories;
use crate::live::operator_commands::{Begun, OperatorCommands, PendingRequest};
use crate::live::pending_replies::Reply;
use crate::live::processes::Processes;
use crate::live::recorder::Recorder;
use crate::live::request_workers::RequestWorkers;
use crate::live::seal_worker::{SealWorker, SealWorkerStuck};
use crate::live::store_loss::StoreLoss;
use crate::notify::{self, Notifier};
use crate::portfolio::Membership;
use crate::telemetry::Telemetry;
use cambist_host::clock::Clock;

/// Longest interval of watchdog messages to the service manager.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// Requests for more start-up time to the service manager.
const EXTENSIONS: Interval = Interval::every_ms(1_000);
/// Removals of old intents.
const REMOVALS: Interval = Interval::every_ms(3_600_000);

/// Views of the limits over all venues.
const PORTFOLIO: Interval = Interval::now_and_every_ms(1_000);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether it is proven that no own order rests.
    pub proven: bool,
    /// The trading state at the end.
    pub level: TradingState,
    /// Whether an invariant was violated.
    pub invariant_failed: bool,
    /// Whether the store failed or was too slow, and the run ended without it.
    pub store_lost: bool,
    /// Orders left at the venue, if that was requested.
    pub left: Option<Left>,
}

/// Orders left at the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of orders that may rest.
    pub orders: u32,
    /// Those in an unknown state.
    pub unknown: u32,
    /// When the last of them has certainly ended.
    pub until: VenueTime,
}

/// The parts of a run.
pub struct EventLoop {
    /// The engine, not yet started.
    pub engine: VenueEngine,
    /// The clock.
    pub clock: Clock,
    /// Sends requests.
    pub request_workers: RequestWorkers,
    /// Signs and stores.
    pub seal_worker: SealWorker,
    /// Processes of strategies.
    pub processes: Processes,
    /// What strategies remember.
    pub memories: Memories,
    /// Records the tape.
    pub recorder: Recorder,
    /// Logs and counts.
    pub telemetry: Arc<Telemetry>,
    /// Accumulates the session's summary.
    pub session: Session,
    /// Bytes of orders and pool transactions that may be alive.
    pub bodies: BTreeMap<ClientOrderId, Arc<[u8]>>,
    /// Requests in flight, for metrics.
    pub in_flight: BTreeMap<RequestId, Endpoint>,
    /// Messages to the service manager.
    pub notifier: Notifier,
    /// Longest duration of draining, for the service manager.
    pub drain: Duration,
    /// Whether the store is lost, and what follows from it.
    pub store_loss: StoreLoss,
    /// Incoming messages.
    pub inbox: mpsc::Receiver<LoopMessage>,
    /// Operator commands.
    pub operator_commands: OperatorCommands,
    /// The result so far.
    pub ended: Ended,
    /// Whether the initial reconciliation is complete.
    pub is_ready: bool,
    /// Work that is done now and then.
    pub routine: Routine,
    /// The actions of a step, kept for their allocation.
    pub actions: Vec<Action>,
    /// The engine has ended.
    pub finished: bool,
    /// The part in a portfolio of venues.
    pub portfolio: Option<Membership>,
}

/// Work that is done now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routine {
    extensions: Interval,
    removals: Interval,
    portfolio: Interval,
}

impl Default for Routine {
    fn default() -> Self {
        Self {
            extensions: EXTENSIONS,
            removals: REMOVALS,
            portfolio: PORTFOLIO,
        }
    }
}

/// How long the loop may sleep: until the engine's next wakeup, and never so long that the service manager's watchdog
/// takes it for hung.
fn sleep_for(wakeup: Option<Time>, now: Time) -> Duration {
    let until_wakeup = wakeup.map(|at| Duration::from_micros(at.micros_since(now)));
    until_wakeup.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
}

/// What the loop handles next.
enum Turn {
    Event(Event),
    Request(PendingRequest),
    ParametersStored { durable: bool },
}

impl EventLoop {
    /// Runs until the engine has finished. Returns the result, the session, and the replies that wait for it.
    pub async fn run(mut self, start: Event) -> (Ended, Session, Vec<Reply>) {
        let mut finished = self.handle_event(&start);
        while !finished {
            let turn = self.next().await;
            finished = match turn {
                Turn::Event(event) => self.handle_event(&event),
                Turn::Request(request) => self.execute(request),
                Turn::ParametersStored { durable } => self.parameters_stored(durable),
            };
            self.show_portfolio();
            self.prune();
            self.memories
                .save_if_changed(self.clock.now(), &self.engine.get());
        }
        // Nothing is read any more: a seal worker that wants to answer must not block.
        self.inbox.close();
        self.recorder.finish();
        self.memories.finish(&self.engine.get());
        // Sealing may wait for the answer to a poll, which needs this thread; so may the engines of other venues.
        let worker = self.seal_worker;
        let finished = tokio::task::spawn_blocking(move || worker.finish()).await;
        let is_stored = finished.unwrap_or_default();
        self.ended.store_lost = self.store_loss.is_lost() || !is_stored;
        let waiting = self.operator_commands.take_waiting_for_the_end();
        (self.ended, self.session, waiting)
    }

    /// Shows the use of limits over all venues.
    fn show_portfolio(&mut self) {
        let now = self.clock.now();
        if let Some(member) = &self.portfolio
            && self.routine.portfolio.is_due(now)
        {
            let status = member.status(|market| self.engine.get().publish(market));
            self.telemetry.portfolio(status);
        }
    }

    /// The next event, or a wake-up when the engine wants one.
    async fn next(&mut self) -> Turn {
        if let Some(event) = self.store_loss.next_event() {
            return Turn::Event(event);
        }
        let sleep = sleep_for(self.engine.get().next_wakeup(), self.clock.now());
        Turn::Event(tokio::select! {
            message = self.inbox.recv() => match message {
                Some(LoopMessage::Event(event)) => event,
                Some(LoopMessage::Sealed { batch, hashes, bodies }) => {
                    self.bodies.extend(bodies);
                    Event::Sealed { batch, hashes }
                }
                Some(LoopMessage::ParametersStored { durable }) => {
                    return Turn::ParametersStored { durable };
                }
                Some(LoopMessage::Booked { durable }) => {
                    self.operator_commands.booked(durable);
                    Event::Wake
                }
                // The workers hold a sender, so the inbox cannot be closed before the loop ends.
                None => Event::Wake,
            },
            request = self.operator_commands.next() => return Turn::Request(request),
            () = tokio::time::sleep(sleep) => Event::Wake,
        })
    }

    /// Executes an operator request. True when the engine has finished.
    fn execute(&mut self, request: PendingRequest) -> bool {
        match self.operator_commands.begin(request, &self.telemetry) {
            Begun::Answered => false,
            Begun::Command(command) => self.command(command),
            Begun::Parameters(command) => {
                // Judged before it is stored, so that the next start does not begin with what was refused.
                let judged = self.engine.get().judge(&command);
                if let Some(set) = self.operator_commands.judged(judged) {
                    let passed = self.seal_worker.parameters(set);
                    if passed.is_err() {
                        self.operator_commands.parameters_stored(false);
                    }
                    self.on_store_result(passed, None);
                }
                false
            }
        }
    }

    /// Uses parameters that are stored. True when the engine has finished.
    fn parameters_stored(&mut self, durable: bool) -> bool {
        let command = self.operator_commands.parameters_stored(durable);
        command.is_some_and(|command| self.command(command))
    }

    /// Passes a command to the engine and its answer to the operator. True when the engine has finished.
    fn command(&mut self, command: Command) -> bool {
        if let Some(why) = self.engine.refuses(self.clock.now(), &command) {
            let command = command.name().to_owned();
            let refused = Notification::CommandRefused { command, why };
            self.operator_commands.handle_notification(&refused);
            self.operator_commands.end(false);
            return false;
        }
        let changes_parameters = matches!(command, Command::Reconfigure { .. });
        let finished = self.handle_event(&Event::Operator(command));
        self.operator_commands
            .end(self.engine.get().restrictions_are_pending());
        if changes_parameters {
            let differences = self.operator_commands.differences();
            self.telemetry.parameters(differences);
            if let Some(member) = &mut self.portfolio {
                member.reconfigured(self.operator_commands.configuration());
            }
        }
        finished
    }

    /// Passes one event to the engine and executes its actions. True when it has finished.
    fn handle_event(&mut self, event: &Event) -> bool {
        let mut actions = std::mem::take(&mut self.actions);
        let step = driver::step(self, event, &mut actions);
        self.actions = actions;
        if let Some(now) = step {
            self.telemetry.tick(self.clock.now().micros_since(now));
            self.report_progress(now);
        }
        self.finished
    }

    /// Reports to metrics and the service manager that the loop runs.
    fn report_progress(&mut self, now: Time) {
        self.telemetry.queue_depth(self.inbox.len() as u64);
        self.telemetry.recording(!self.recorder.has_failed());
        notify::watchdog();
        if !self.is_ready && self.routine.extensions.is_due(now) {
            self.notifier.still_starting();
        }
    }

    /// Counts requests in flight, and reports those that were not sent.
    fn count_answer(&mut self, event: &Event) {
        if let Event::Answer {
            request, outcome, ..
        } = event
            && let Some(endpoint) = self.in_flight.remove(request)
        {
            if *outcome == Outcome::NotSent {
                self.telemetry.not_sent(endpoint);
            }
            self.telemetry.in_flight(self.in_flight.len() as u64);
        }
    }

    fn request_started(&mut self, request: RequestId, endpoint: Endpoint) {
        self.in_flight.insert(request, endpoint);
        self.telemetry.in_flight(self.in_flight.len() as u64);
    }

    /// Continues without a store that is too slow: nothing new is sealed, resting orders are cancelled, and the engine
    /// gets the events that the store can no longer send.
    fn on_store_result(&mut self, passed: Result<(), SealWorkerStuck>, instead: Option<Event>) {
        let Err(error) = passed else { return };
        if self.store_loss.refused(instead) {
            tracing::error!(%error, "the store is too slow: cancelling everything and ending without it");
        }
    }

    fn handle_notification(&mut self, now: Time, notification: &Notification) {
        // The decision is the cause, so it comes first.
        if let Notification::CancelSent { order } | Notification::AmendSent { order, .. } =
            notification
            && let Some(decision) = self.engine.get().decision(*order)
        {
            self.telemetry.decided(*order, None, decision);
        }
        self.session.observe(now, notification);
        self.telemetry.observe(notification);
        self.operator_commands.handle_notification(notification);
        match notification {
            Notification::Ended { order, .. }
            | Notification::PoolTransactionEnded { order, .. } => {
                self.bodies.remove(order);
            }
            Notification::TradingStateChanged { level, .. } => self.ended.level = *level,
            Notification::InvariantFailed { .. } => self.ended.invariant_failed = true,
            Notification::Ready { .. } => {
                self.is_ready = true;
                self.notifier.trading();
            }
            Notification::Left {
                orders,
                unknown,
                until,
            } => {
                self.ended.left = Some(Left {
                    orders: *orders,
                    unknown: *unknown,
                    until: *until,
                });
            }
            Notification::Draining => self.notifier.draining(self.drain),
            Notification::Status(_) => {
                if self.telemetry.is_watched()
                    && let Some(watched_state) = self.engine.get().watch(now)
                {
                    self.telemetry.watched(watched_state);
                }
                let line = cambist_report::text::line(&self.session);
                self.notifier.status(&line);
                self.telemetry.line(line);
                let (orders, expiry_s) = (self.session.left(), self.session.last_expiry_s());
                self.telemetry.alive(orders, expiry_s);
                self.telemetry.draining(self.engine.get().draining());
            }
            Notification::Filled(_)
            | Notification::PoolTransactionSettled(_)
            | Notification::Adopted { .. }
            | Notification::Books(_)
            | Notification::Submitted { .. }
            | Notification::SwapSubmitted { .. }
            | Notification::Resent { .. }
            | Notification::Acknowledged { .. }
            | Notification::Refused { .. }
            | Notification::Unknown { .. }
            | Notification::Answered { .. }
            | Notification::CancelSent { .. }
            | Notification::AmendSent { .. }
            | Notification::AmendEnded { .. }
            | Notification::Resolved { .. }
            | Notification::DepthAccepted { .. }
            | Notification::DepthRefused { .. }
            | Notification::RiskRefused { .. }
            | Notification::Withheld { .. }
            | Notification::OtherInstance { .. }
            | Notification::BudgetDenied { .. }
            | Notification::Foreign { .. }
            | Notification::PoolTransactionSubmitted { .. }
            | Notification::ForeignPoolTransaction { .. }
            | Notification::Reconciled { .. }
            | Notification::Mismatch { .. }
            | Notification::Balanced
            | Notification::FeeAbove { .. }
            | Notification::BothSides { .. }
            | Notification::MemoryRefused { .. }
            | Notification::ProcessAnswerRefused { .. }
            | Notification::Paused(_)
            | Notification::Unpaused { .. }
            | Notification::RestrictionsNotStored
            | Notification::CommandAccepted { .. }
            | Notification::CommandRefused { .. }
            | Notification::ForeignAdopted { .. }
            | Notification::SideEmpty { .. }
            | Notification::Slept { .. } => {}
        }
    }

    fn prune(&mut self) {
        if self.routine.removals.is_due(self.clock.now()) {
            let passed = self.seal_worker.prune();
            self.on_store_result(passed, None);
        }
    }
}

impl driver::Clock for EventLoop {
    fn now(&self) -> Time {
        self.clock.now()
    }
}

impl Venue for EventLoop {
    fn send(&mut self, request: RequestId, query: Query) {
        self.request_started(request, query.endpoint());
        self.request_workers.query(request, query);
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, endpoint: Endpoint) {
        self.request_started(request, endpoint);
        match self.bodies.get(&order) {
            Some(body) => self
                .request_workers
                .submit(request, endpoint, Arc::clone(body)),
            None => self.request_workers.nothing_to_send(request),
        }
    }
}

impl Store for EventLoop {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        for intent in &intents {
            if let Intent::Order(order) = intent
                && let Some(decision) = self.engine.get().decision(order.client_id)
            {
                let place = (order.market, order.side);
                self.telemetry
                    .decided(order.client_id, Some(place), decision);
            }
        }
        let passed = self.seal_worker.seal(batch, intents);
        let cause = SealFailure::Store;
        self.on_store_result(passed, Some(Event::SealFailed { batch, cause }));
    }

    fn store_restrictions(&mut self, restrictions: Restrictions, cause: String, lowers: bool) {
        self.telemetry.restricting(restrictions.state, &cause);
        let passed = self
            .seal_worker
            .restrictions(restrictions.clone(), cause, lowers);
        self.on_store_result(passed, Some(Event::RestrictionsFailed(restrictions)));
    }

    fn book(&mut self, booking: Box<Booking>) {
        let asked_for = booking.is_asked_for();
        let flows = booking.entries.iter().filter_map(|entry| match entry {
            Entry::Flow { token, .. } => Some((*token, self.telemetry.symbol(*token))),
            _ => None,
        });
        let symbols = flows.collect();
        let pools = self.engine.get().pool_balances().collect();
        let passed = self.seal_worker.book(booking, symbols, pools);
        if asked_for {
            self.operator_commands.booking_passed(passed.is_ok());
        }
        self.on_store_result(passed, None);
    }
}

impl Observer for EventLoop {
    fn event(&mut self, now: Time, event: &Event) {
        self.recorder.record_event(now, event);
        self.count_answer(event);
    }

    fn actions(&mut self, _: Time, event: &Event, actions: &[Action]) {
        self.recorder.record_actions(actions, &self.engine.get());
        match event {
            // If requests arrived during an older write, they wait for the next one.
            Event::RestrictionsStored(_) if self.engine.get().restrictions_are_pending() => {}
            Event::RestrictionsStored(_) => self.operator_commands.restrictions_stored(true),
            Event::RestrictionsFailed(_) => self.operator_commands.restrictions_stored(false),
            _ => {}
        }
    }

    fn notification(&mut self, now: Time, notification: Notification) {
        self.handle_notification(now, &notification);
    }

    fn finished(&mut self, proven: bool) {
        self.ended.proven = proven;
        self.finished = true;
    }
}

impl Assembly for EventLoop {
    type Engine = VenueEngine;

    fn engine(&mut self) -> Option<&mut VenueEngine> {
        Some(&mut self.engine)
    }

    fn send_view(&mut self, strategy: StrategyId, view: String) {
        self.processes.send(strategy, view);
    }
}

#[cfg(test)]
#[path = "event_loop_tests.rs"]
mod loop_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_sleeps_until_the_next_wakeup_and_a_second_at_most() {
        let now = Time(5_000_000);
        for (wakeup, slept) in [
            (None, 1_000_000),
            (Some(Time(5_000_000)), 0),
            (Some(Time(4_000_000)), 0),
            (Some(Time(5_000_001)), 1),
            (Some(Time(5_999_999)), 999_999),
            (Some(Time(6_000_000)), 1_000_000),
            (Some(Time(6_000_001)), 1_000_000),
        ] {
            let micros = Duration::from_micros(slept);
            assert_eq!(sleep_for(wakeup, now), micros, "{wakeup:?}");
        }
    }

    #[test]
    fn old_intents_are_removed_every_hour_and_a_start_is_extended_every_second() {
        let mut routine = Routine::default();
        let at = |ms: u64| Time(0).plus_ms(ms);
        assert!(!routine.removals.is_due(at(0)) && !routine.extensions.is_due(at(0)));
        assert!(!routine.removals.is_due(at(3_599_999)));
        assert!(routine.removals.is_due(at(3_600_000)));
        assert!(!routine.extensions.is_due(at(999)));
        assert!(routine.extensions.is_due(at(1_000)));
    }
}
