//! The wake-up time: the earliest time at which anything is due without an event.

use crate::request::Endpoint;
use crate::time::{Time, VenueTime};

use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::{RequestPurpose, State};

impl State {
    /// The earliest time at which something is due.
    pub(crate) fn earliest(&self, now: Time) -> Time {
        let mut wake = self.status_due;
        // What is overdue for another reason than the budget is tried again soon.
        let again = now.plus_ms(20);
        let mut at = |time: Time| wake = wake.min(if time <= now { again } else { time });
        for endpoint in &self.denied {
            at(self.budget.payable_at(*endpoint, self.reports_awaited()));
        }
        self.earliest_of_polls(now, &mut at);
        for market in &self.markets {
            market.backoff.left(now).into_iter().for_each(&mut at);
            let pool = market.pool.as_ref();
            let pool = pool.and_then(|pool| pool.backoff.left(now));
            pool.into_iter().for_each(&mut at);
        }
        self.next_lapse(now).into_iter().for_each(&mut at);
        if let Some((_, oldest)) = self.in_flight.first() {
            at(self.lost_at(oldest));
        }
        let venue_now = self.clock.at_least(now);
        let local = |then: VenueTime| now.plus_ms(then.ms_since(venue_now).saturating_add(1));
        let outline = self.orders.outline();
        let first_fence = outline.last_effect.plus_ms(self.config.grace_ms);
        let first_refresh = self.refresh_before(outline.rests_until);
        if !self.orders.has_unresolved() && venue_now <= first_fence && venue_now < first_refresh {
            let first = local(first_fence.min(first_refresh)).min(self.first_cancel(now));
            debug_assert!(
                self.no_order_is_due_before(now, first),
                "a wake-up is too late"
            );
            at(first);
        } else {
            self.earliest_of_orders(now, &mut at);
        }
        self.restrictions.retry_at().into_iter().for_each(&mut at);
        self.restrictions
            .next_pause_end()
            .map(local)
            .into_iter()
            .for_each(&mut at);
        for (due, endpoint) in self.foreign.due() {
            at(self.request_at(now, due, endpoint));
        }
        let others_gone = self.instances.gone_at(self.config.grace_ms);
        others_gone.map(local).into_iter().for_each(&mut at);
        let frees = self.signed_frees_at();
        frees.map(local).into_iter().for_each(&mut at);
        let has_room = self.markets.iter().filter_map(|m| m.counter_frees_at);
        has_room.for_each(&mut at);
        self.ramp
            .grows_at(now, &self.config.ramp)
            .into_iter()
            .for_each(&mut at);
        if let Some(drain) = &self.drain {
            at(drain.deadline());
        }
        wake.max(now.plus_ms(1))
    }

    /// When the next price becomes too old that decisions use. Polls that have no budget may wait for longer.
    fn next_lapse(&self, now: Time) -> Option<Time> {
        let depth_age_max_ms = self.config.poll.depth_age_max_ms;
        let markets = self.markets.iter().zip(&self.config.markets);
        let books =
            markets.flat_map(|(market, limits)| market.book.lapses_at(limits, depth_age_max_ms));
        let others = self.references.lapse_at().chain(self.elsewhere.lapse_at());
        books.chain(others).filter(|at| *at > now).min()
    }

    /// When each poll is due that is not asked.
    fn earliest_of_polls(&self, now: Time, at: &mut impl FnMut(Time)) {
        let polls = &self.polls;
        let mut ask = |due, endpoint| at(self.request_at(now, due, endpoint));
        for (index, market) in self.markets.iter().enumerate() {
            let id = market.spec.id;
            if !self.is_asked(|purpose| purpose.is_depth_of(id)) {
                let due = polls.depth.get(index).copied().unwrap_or(now);
                ask(due, Endpoint::Depth);
            }
            if let Some(pool) = &market.pool
                && !self.is_asked(|p| matches!(p, RequestPurpose::PoolBalance(of) if *of == id))
            {
                ask(pool.poll_at, Endpoint::PoolBalance);
            }
        }
        if self.pool_scan.is_none() {
            ask(self.pool_scan_at(now), Endpoint::PoolTransactions);
        }
        if self.has_pools() && !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Pools)) {
            ask(polls.pools, Endpoint::Pools);
        }
        if self.scan.is_none() {
            ask(self.presence_at(), Endpoint::Orders);
            if self.absence_is_needed(now) {
                ask(polls.absence, Endpoint::Orders);
            }
        }
        if !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Balances { .. })) {
            ask(polls.balances, Endpoint::Balances);
        }
        if !self.is_asked(|purpose| {
            matches!(purpose, RequestPurpose::Markets | RequestPurpose::Account)
        }) {
            ask(polls.markets, Endpoint::Markets);
            ask(polls.account, Endpoint::Account);
        }
        if !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Tokens)) {
            ask(polls.tokens, Endpoint::Tokens);
        }
    }

    /// When a request can be sent that is due at `due`. One that is due already waits for its token: no step before that
    /// can send it. One that is due later is tried when it is due, because a lack of budget is reported.
    fn request_at(&self, now: Time, due: Time, endpoint: Endpoint) -> Time {
        if due > now {
            return due;
        }
        due.max(self.budget.payable_at(endpoint, self.reports_awaited()))
    }

    /// When the first cancel of an order can be sent; the end of time without any.
    fn first_cancel(&self, now: Time) -> Time {
        let never = Time(u64::MAX);
        if !self.orders.outline().cancel_wanted {
            return never;
        }
        let each = self.orders.iter();
        let due = each.filter_map(|tracked| self.cancel_at(&tracked.lifecycle));
        due.map(|due| self.request_at(now, due, Endpoint::Cancel))
            .min()
            .unwrap_or(never)
    }

    /// Whether the earliest time by the outline is not behind that of any intent.
    fn no_order_is_due_before(&self, now: Time, first: Time) -> bool {
        let mut is_first = true;
        self.earliest_of_orders(now, |due| is_first &= first <= due);
        is_first
    }

    /// When something is due about each intent.
    fn earliest_of_orders(&self, now: Time, mut at: impl FnMut(Time)) {
        let venue_now = self.clock.at_least(now);
        let local = |then: VenueTime| now.plus_ms(then.ms_since(venue_now).saturating_add(1));
        for (id, lifecycle) in self.orders.lives() {
            if let Some(resend_at) = self.resend_at(lifecycle)
                && self.may_be_resent(now, id, lifecycle)
            {
                at(self.request_at(now, resend_at, lifecycle.endpoint));
            }
            if let Some(due) = self.cancel_at(lifecycle) {
                at(self.request_at(now, due, Endpoint::Cancel));
            }
            if lifecycle.may_have_left() {
                let fence = lifecycle.last_effect().plus_ms(self.config.grace_ms);
                if venue_now <= fence {
                    at(local(fence));
                }
            }
            if lifecycle.phase == Phase::Sealed {
                at(now.plus_ms(100));
            }
        }
        for tracked in self.orders.iter() {
            if tracked.lifecycle.cancel.is_none() && venue_now < self.refresh_at(tracked) {
                at(local(self.refresh_at(tracked)));
            }
        }
    }
}
