//! The world as an assembly of the driver: the simulated network, disk and clock are the engine's venue, store and
//! clock, and what is checked observes.

use crate::invariants::table::Invariant;
use cambist_core::action::Action;
use cambist_core::books::Booking;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, TradingState};
use cambist_core::notification::{End, Notification};
use cambist_core::portfolio::VenueEngine;
use cambist_core::request::{Endpoint, Query, RequestId};
use cambist_core::{ClientOrderId, Intent, StrategyId, Time};

use crate::faults::disk::Write;

use crate::world::World;
use crate::world::events::WorldEvent;

impl World {
    /// Passes an event to the engine and executes its actions.
    pub(super) fn handle_event(&mut self, event: &Event) {
        let mut actions = std::mem::take(&mut self.actions);
        let step = driver::step(self, event, &mut actions);
        self.actions = actions;
        let Some(shown) = step else { return };
        if let Some(limits) = &mut self.limits {
            limits.sample_views(shown, &self.config.engine);
        }
        self.check_references(shown);
        self.check_others(shown);
        self.plan_wakeup();
    }

    fn plan_wakeup(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let wake = daemon
            .engine
            .get()
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

    pub(super) fn check_notification(&mut self, shown: Time, notification: &Notification) {
        self.counts.observe(notification);
        let broken = self
            .sending_rules
            .observe(shown, notification, &self.config.engine);
        self.break_rules(broken);
        self.observe_limits(shown, notification);
        if let (Notification::TradingStateChanged { level, .. }, Some(daemon)) =
            (notification, &mut self.daemon)
        {
            daemon.level = *level;
            if *level > TradingState::Active {
                self.lose_control();
            }
        }
        if let Notification::DepthAccepted {
            market,
            mid: Some(mid),
            ..
        } = notification
        {
            let venue_now = self.exchange.clock(self.now);
            self.loss.observe_mid(venue_now, *market, *mid);
        }
        if let Notification::OtherInstance { hash, .. } = notification {
            match self.active_faults.others.get_mut(hash) {
                Some(reported) => *reported = true,
                None => self
                    .checks
                    .fail(Invariant::OwnCalledOther, format!("{hash} is ours")),
            }
        }
        if let (Notification::Books(books), Some(daemon)) = (notification, &mut self.daemon) {
            daemon.hold = books.hold;
            daemon.at_least = books.at_least;
        }
        if let (Notification::PoolTransactionEnded { order, .. }, Some(daemon)) =
            (notification, &mut self.daemon)
        {
            daemon.moves.remove(order);
        }
        if let Notification::Ended { order, end, .. } = notification {
            let daemon = self.daemon.as_mut();
            let ended = daemon.and_then(|daemon| daemon.sealed.remove(order));
            let swapped = ended.as_ref().is_some_and(|(order, _)| order.is_swap());
            self.counts.swapped += u64::from(swapped && *end == End::Filled);
            self.exchange.advance(self.now);
            self.take_trades();
            if let Some((_, hash)) = ended {
                self.forget(hash);
            }
        }
        self.observe_books(shown, notification);
        self.observe_on_chain(notification);
        self.session.observe(shown, notification);
        let broken = self.profit.observe(notification, &self.session);
        self.break_rules(broken.map(|(rule, detail)| (Invariant::of_profit(rule), detail)));
        let venue = self.exchange.venue();
        self.checks
            .observe(notification, self.disk.durable(), &self.ground_truth, venue);
    }

    /// No order is created while an order of another instance is open that the daemon has reported.
    pub(super) fn check_beside_instance(&mut self, makes: bool) {
        let venue = self.exchange.venue();
        let mut reported = self
            .active_faults
            .others
            .iter()
            .filter(|(_, reported)| **reported);
        let beside = reported.find(|(hash, _)| venue.is_open(hash));
        if let Some((hash, _)) = beside.filter(|_| makes) {
            let detail = format!("{hash} is open, and orders are made");
            self.checks.fail(Invariant::OrderedBesideInstance, detail);
        }
    }
}

impl Clock for World {
    /// The daemon's clock; while no daemon runs, the world's.
    fn now(&self) -> Time {
        let daemon = self.daemon.as_ref();
        daemon.map_or(self.now, |daemon| daemon.clock.at(self.now))
    }
}

impl Venue for World {
    fn send(&mut self, request: RequestId, query: Query) {
        self.ask(request, &query);
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, endpoint: Endpoint) {
        if endpoint.is_pool_transaction() {
            self.transmit_move(request, order, endpoint);
        } else {
            self.transmit_order(request, order);
        }
    }
}

impl Store for World {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        self.seal_batch(batch, intents);
    }

    fn store_restrictions(&mut self, levels: Restrictions, _: String, _: bool) {
        self.store_levels(levels);
    }

    fn book(&mut self, booking: Box<Booking>) {
        self.write(Write::Booked(booking));
        self.plan_flush();
    }
}

impl Observer for World {
    fn event(&mut self, now: Time, event: &Event) {
        self.shown = now;
        self.sending_rules.handle_event(event);
        if let Some(ledger) = &mut self.ledger {
            ledger.handle_event(event);
        }
        if let Some(limits) = &mut self.limits {
            limits.handle_event(now, event);
        }
    }

    fn actions(&mut self, now: Time, event: &Event, actions: &[Action]) {
        let idle = actions.is_empty() && *event == Event::Wake;
        self.counts.idle_wakeups += u64::from(idle);
        self.trace.take(self.now, event, actions);
        self.update_replica(now, event, actions);
        let venue_now = self.exchange.clock(self.now);
        let broken = self.unquoted.step(now, venue_now, event, actions);
        self.break_rules(broken);
        if let Some(tap) = &mut self.tap {
            tap(now, event, actions);
        }
    }

    fn notification(&mut self, now: Time, notification: Notification) {
        self.check_notification(now, &notification);
    }

    fn finished(&mut self, proven: bool) {
        self.finished = Some(proven);
        if proven {
            self.exchange.advance(self.now);
            self.take_trades();
            self.ground_truth.prune(self.exchange.venue());
            let durable = self.disk.durable();
            self.checks.ends_proven(&self.ground_truth, durable);
        }
        self.daemon = None;
        self.explain_again();
        self.stop_on_chain();
    }

    /// A planned crash happens between two actions.
    fn goes_on(&mut self) -> bool {
        match &mut self.crash_after {
            Some(0) => {
                self.crash();
                false
            }
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}

impl Assembly for World {
    type Engine = VenueEngine;

    fn engine(&mut self) -> Option<&mut VenueEngine> {
        self.daemon.as_mut().map(|daemon| &mut daemon.engine)
    }

    fn send_view(&mut self, strategy: StrategyId, view: String) {
        self.show_process(strategy, &view);
    }
}
