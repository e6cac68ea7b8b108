//! The driver: the one place in which the engine is given an event and its actions are executed.
//!
//! What runs an engine is an assembly of it with a clock, a venue, a store and observers. Live trading, paper trading
//! and backtests, simulated worlds, trials of a configuration and tests differ in these four. What is done with an
//! action, and in which order, does not differ:
//!
//! 1. the clock is read once; that is the time of the step
//! 2. observers get the event, the engine handles it, observers get its actions
//! 3. the actions are executed in the engine's order, each by the part that its kind belongs to
//!
//! Nothing here waits. What comes of an action is a later event, and a part that knows the outcome at once gives it to
//! the next step. When to wake the engine is what [`Engine::next_wakeup`] says, by the assembly's own clock. Replay of
//! a tape executes nothing and therefore has no driver: it compares actions (`cambist_tape::replay`).

use crate::action::Action;
use crate::books::Booking;
use crate::engine::Engine;
use crate::event::{BatchId, Event, Restrictions};
use crate::intent::Intent;
use crate::notification::Notification;
use crate::order::ClientOrderId;
use crate::request::{Endpoint, Query, RequestId};
use crate::time::Time;

/// The engine's clock.
pub trait Clock {
    /// The monotonic time that the engine is given.
    fn now(&self) -> Time;
}

/// The way to the venue. Every request is answered by one `Event::Answer` with its number.
pub trait Venue {
    /// Sends a query or a cancel.
    fn send(&mut self, request: RequestId, query: Query);

    /// Sends the stored bytes of a sealed intent to an endpoint; the same bytes every time.
    fn transmit(&mut self, request: RequestId, order: ClientOrderId, endpoint: Endpoint);
}

/// What makes intents, restrictions and books durable, in the order of its calls.
pub trait Store {
    /// Hashes, signs and stores a batch as a whole; answered by `Event::Sealed` once it is durable, or by
    /// `Event::SealFailed`.
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>);

    /// Stores trading state and pauses; answered by `Event::RestrictionsStored` or `Event::RestrictionsFailed` with
    /// the same value. A lower state is accepted only with `lowers`.
    fn store_restrictions(&mut self, levels: Restrictions, cause: String, lowers: bool);

    /// Stores what one event changed of orders and books, as a whole or not at all. There is no answer.
    fn book(&mut self, booking: Box<Booking>);
}

/// Logs, metrics, tapes, reports, checks: what watches a run and has no part in it.
pub trait Observer {
    /// An event that the engine is about to handle at `now`.
    fn event(&mut self, now: Time, event: &Event) {
        let _ = (now, event);
    }

    /// What the engine wants done, before any of it is.
    fn actions(&mut self, now: Time, event: &Event, actions: &[Action]) {
        let _ = (now, event, actions);
    }

    /// One notification of the engine, in its place among the actions.
    fn notification(&mut self, now: Time, note: Notification);

    /// The engine has ended; whether it is proven that no own order rests. Nothing follows.
    fn finished(&mut self, proven: bool);

    /// Whether the next action is executed. A process that dies in the middle of a step executes no more of it.
    fn goes_on(&mut self) -> bool {
        true
    }
}

/// An engine with everything that it needs around it.
pub trait Assembly: Clock + Venue + Store + Observer {
    /// The engine, while there is one: a process that is down handles no events.
    fn engine(&mut self) -> Option<&mut Engine>;
}

/// Gives the engine one event and executes its actions; the time of the step, or nothing while there is no engine.
///
/// `buffer` is cleared; keeping it between steps saves its allocation.
pub fn step(assembly: &mut impl Assembly, event: &Event, buffer: &mut Vec<Action>) -> Option<Time> {
    let now = assembly.now();
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
    Some(now)
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
        Action::Notify(note) => assembly.notification(now, note),
        Action::Finished { proven } => assembly.finished(proven),
    }
}
