//! The driver: the only place that passes events to the engine and executes its actions.
//!
//! An engine runs as an assembly with a clock, a venue, a store and observers. Live trading, paper trading and
//! backtests, simulated worlds, trials of a configuration and tests differ in these four. The execution of actions and
//! its order are the same:
//!
//! 1. the clock is read once; that is the time of the step
//! 2. observers get the event, the engine handles it, observers get its actions
//! 3. the actions are executed in the engine's order, each by the part that its kind belongs to
//!
//! Nothing here waits. The result of an action is a later event; a part that knows the result at once passes it to the
//! next step. [`Engine::next_wakeup`] returns when to wake the engine, by the assembly's own clock. Replay of a tape
//! executes nothing and therefore has no driver: it compares actions (`cambist_tape::replay`).

use crate::action::Action;
use crate::books::Booking;
use crate::engine::Engine;
use crate::event::{BatchId, Event, Restrictions};
use crate::intent::Intent;
use crate::notification::Notification;
use crate::order::{ClientOrderId, StrategyId};
use crate::request::{Endpoint, Query, RequestId};
use crate::time::Time;

/// The engine's clock.
pub trait Clock {
    /// The monotonic time of the engine.
    fn now(&self) -> Time;
}

/// Transmission to the venue. Every request is answered by one `Event::Answer` with its number.
pub trait Venue {
    /// Sends a query or a cancel.
    fn send(&mut self, request: RequestId, query: Query);

    /// Sends the stored bytes of a sealed intent to an endpoint; the same bytes every time.
    fn transmit(&mut self, request: RequestId, order: ClientOrderId, endpoint: Endpoint);
}

/// Makes intents, restrictions and books durable, in the order of the calls.
pub trait Store {
    /// Hashes, signs and stores a batch as a whole; answered by `Event::Sealed` once it is durable, or by
    /// `Event::SealFailed`.
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>);

    /// Stores trading state and pauses; answered by `Event::RestrictionsStored` or `Event::RestrictionsFailed` with
    /// the same value. A lower state is accepted only with `lowers`.
    fn store_restrictions(&mut self, levels: Restrictions, cause: String, lowers: bool);

    /// Stores the changes of orders and books by one event, as a whole or not at all. Not answered.
    fn book(&mut self, booking: Box<Booking>);
}

/// Logs, metrics, tapes, reports, checks: observes a run without an effect on it.
pub trait Observer {
    /// An event that the engine is about to handle at `now`.
    fn event(&mut self, now: Time, event: &Event) {
        let _ = (now, event);
    }

    /// The engine's actions, before any of them is executed.
    fn actions(&mut self, now: Time, event: &Event, actions: &[Action]) {
        let _ = (now, event, actions);
    }

    /// One notification of the engine, in its place among the actions.
    fn notification(&mut self, now: Time, note: Notification);

    /// The engine has ended; whether it is proven that no own order rests. Nothing follows.
    fn finished(&mut self, proven: bool);

    /// Whether the next action is executed. A process that crashes within a step executes no more of it.
    fn goes_on(&mut self) -> bool {
        true
    }
}

/// What handles events: an engine, or that of one venue of a portfolio.
pub trait Steps {
    /// An event that has to be handled before any other. An engine that is alone has none.
    fn due(&mut self, now: Time) -> Option<Event> {
        let _ = now;
        None
    }

    /// As [`Engine::on_event`].
    fn on_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>);

    /// As [`Engine::take_view`].
    fn take_view(&mut self, strategy: StrategyId) -> Option<String>;
}

impl Steps for Engine {
    fn on_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>) {
        Self::on_event(self, now, event, actions);
    }

    fn take_view(&mut self, strategy: StrategyId) -> Option<String> {
        Self::take_view(self, strategy)
    }
}

/// An engine with its environment.
pub trait Assembly: Clock + Venue + Store + Observer {
    /// What handles its events.
    type Engine: Steps;

    /// The engine, while there is one: a process that is down handles no events.
    fn engine(&mut self) -> Option<&mut Self::Engine>;

    /// Gives the process behind a strategy its newest view, as a line without its end; answered by
    /// `Event::Process`, or not at all. An assembly without processes has none to give it to.
    fn send_view(&mut self, strategy: StrategyId, view: String) {
        let _ = (strategy, view);
    }
}

/// Passes one event to the engine and executes its actions, after those of events that have to be handled before.
/// Returns the time of the step; `None` while there is no engine.
///
/// `buffer` is cleared; keeping it between steps saves its allocation.
pub fn step(assembly: &mut impl Assembly, event: &Event, buffer: &mut Vec<Action>) -> Option<Time> {
    let now = assembly.now();
    while let Some(first) = assembly.engine()?.due(now) {
        pass(assembly, now, &first, buffer)?;
    }
    pass(assembly, now, event, buffer)?;
    Some(now)
}

fn pass(
    assembly: &mut impl Assembly,
    now: Time,
    event: &Event,
    buffer: &mut Vec<Action>,
) -> Option<()> {
    assembly.engine()?;
    assembly.event(now, event);
    buffer.clear();
    assembly.engine()?.on_event(now, event, buffer);
    assembly.actions(now, event, buffer);
    for action in buffer.drain(..) {
        if !assembly.goes_on() {
            break;
        }
        execute(assembly, now, action);
    }
    Some(())
}

fn execute(assembly: &mut impl Assembly, now: Time, action: Action) {
    match action {
        Action::Send { request, query } => assembly.send(request, query),
        Action::Transmit {
            request,
            order,
            endpoint,
        } => assembly.transmit(request, order, endpoint),
        Action::Seal { batch, intents } => assembly.seal(batch, intents),
        Action::StoreRestrictions {
            levels,
            cause,
            lowers,
        } => assembly.store_restrictions(levels, cause, lowers),
        Action::Book(booking) => assembly.book(booking),
        Action::SendView { strategy, .. } => {
            let engine = assembly.engine();
            if let Some(view) = engine.and_then(|engine| engine.take_view(strategy)) {
                assembly.send_view(strategy, view);
            }
        }
        Action::Notify(note) => assembly.notification(now, note),
        Action::Finished { proven } => assembly.finished(proven),
    }
}
