//! The shell around the engine: passes events, executes actions, wakes it.

use crate::invariants::table::Invariant;
use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::{Event, TradingState};
use cambist_core::notification::Notification;

use crate::faults::disk::Write;

use crate::world::World;
use crate::world::events::WorldEvent;

impl World {
    /// Passes an event to the engine and executes its actions.
    pub(super) fn hear(&mut self, event: &Event) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        let shown = daemon.clock.at(self.now);
        self.shown = shown;
        self.conduct.hear(event);
        if let Some(limits) = &mut self.limits {
            limits.hear(shown, event);
        }
        daemon.engine.on_event(shown, event, &mut actions);
        let idle = actions.is_empty() && *event == Event::Wake;
        self.counts.idle_wakes += u64::from(idle);
        self.trace.take(self.now, event, &actions);
        self.tend_twin(shown, event, &actions);
        let venue_now = self.exchange.clock(self.now);
        let broken = self.unquoted.step(shown, venue_now, event, &actions);
        self.break_rules(broken);
        if let Some(tap) = &mut self.tap {
            tap(shown, event, &actions);
        }
        for action in actions.drain(..) {
            match &mut self.crash_after {
                Some(0) => {
                    self.crash();
                    break;
                }
                Some(left) => *left -= 1,
                None => {}
            }
            self.perform(shown, action);
        }
        if let Some(limits) = &mut self.limits {
            limits.look(shown, &self.config.engine);
        }
        actions.clear();
        self.actions = actions;
        self.plan_wake();
    }

    fn plan_wake(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let wake = daemon
            .engine
            .next_wakeup()
            .map(|shown| daemon.clock.when(shown).max(self.now));
        if daemon.wake == wake && wake.is_some_and(|at| at > self.now) {
            return;
        }
        daemon.wake = wake;
        if let Some(at) = wake {
            let incarnation = daemon.incarnation;
            self.queue.plan(at, WorldEvent::Wake { incarnation });
        }
    }

    fn perform(&mut self, shown: Time, action: Action) {
        match action {
            Action::Send { request, query } => {
                self.ask(request, &query);
            }
            Action::Seal { batch, intents } => self.seal(batch, intents),
            Action::Transmit {
                request,
                order,
                endpoint,
            } if endpoint.is_pool_transaction() => self.transmit_move(request, order, endpoint),
            Action::Transmit { request, order, .. } => self.transmit(request, order),
            Action::StoreRestrictions { levels, .. } => self.store_levels(levels),
            Action::Book(booking) => {
                self.write(Write::Booked(booking));
                self.plan_flush();
            }
            Action::Notify(note) => self.note(shown, &note),
            Action::Finished { proven } => {
                self.finished = Some(proven);
                if proven {
                    self.exchange.advance(self.now);
                    self.take_trades();
                    self.truth.prune(self.exchange.venue());
                    let durable = self.disk.durable();
                    self.checks.ends_proven(&self.truth, durable);
                }
                self.daemon = None;
            }
        }
    }

    pub(super) fn note(&mut self, shown: Time, note: &Notification) {
        self.counts.observe(note);
        let broken = self.conduct.note(shown, note, &self.config.engine);
        self.break_rules(broken);
        self.limits_hear(shown, note);
        if let (Notification::TradingStateChanged { level, .. }, Some(daemon)) =
            (note, &mut self.daemon)
        {
            daemon.level = *level;
            if *level > TradingState::Active {
                self.lose_control();
            }
        }
        if let Notification::DepthTaken {
            market,
            mid: Some(mid),
            ..
        } = note
        {
            let venue_now = self.exchange.clock(self.now);
            self.loss.sees(venue_now, *market, *mid);
        }
        if let Notification::OtherInstance { hash, .. } = note {
            match self.storms.others.get_mut(hash) {
                Some(told) => *told = true,
                None => self
                    .checks
                    .fail(Invariant::OwnCalledOther, format!("{hash} is nobody's")),
            }
        }
        if let (Notification::Books(books), Some(daemon)) = (note, &mut self.daemon) {
            daemon.hold = books.hold;
            daemon.at_least = books.at_least;
        }
        if let (Notification::PoolTransactionEnded { order, .. }, Some(daemon)) =
            (note, &mut self.daemon)
        {
            daemon.moves.remove(order);
        }
        if let Notification::Ended { order, .. } = note {
            if let Some(daemon) = &mut self.daemon {
                daemon.sealed.remove(order);
            }
            self.exchange.advance(self.now);
            self.take_trades();
        }
        self.books_told(shown, note);
        self.session.observe(shown, note);
        let broken = self.profit.note(note, &self.session);
        self.break_rules(broken);
        let venue = self.exchange.venue();
        self.checks
            .note(note, self.disk.durable(), &self.truth, venue);
    }

    /// No order is created while an order of another instance is open that the daemon has reported.
    pub(super) fn check_beside_instance(&mut self, makes: bool) {
        let venue = self.exchange.venue();
        let mut told = self.storms.others.iter().filter(|(_, told)| **told);
        let beside = told.find(|(hash, _)| venue.is_open(hash));
        if let Some((hash, _)) = beside.filter(|_| makes) {
            let detail = format!("{hash} is open, and orders are made");
            self.checks.fail(Invariant::OrderedBesideInstance, detail);
        }
    }
}
