//! The wake-up time: the earliest time at which anything is due without an event.

use crate::request::Endpoint;
use crate::time::{Time, VenueTime};

use crate::engine::intents::lifecycle::Phase;
use crate::engine::state::{RequestPurpose, State};

/// The end of time.
const NEVER: Time = Time(u64::MAX);

impl State {
    /// The earliest time at which something is due, and has its budget.
    pub(crate) fn earliest(&self, now: Time) -> Time {
        let mut wake = self.status_due;
        let mut at = |time: Time| wake = wake.min(time);
        let payable = |endpoint, due| self.payable_from(now, endpoint, due);
        for (index, market) in self.markets.iter().enumerate() {
            let asked = self.is_asked(|purpose| purpose.is_depth_of(market.spec.id));
            if !asked {
                let due = self.polls.depth.get(index).copied().unwrap_or(now);
                at(payable(Endpoint::Depth, due));
            }
            market.backoff.left(now).into_iter().for_each(&mut at);
            if let Some(pool) = &market.pool {
                let id = market.spec.id;
                if !self.is_asked(|p| matches!(p, RequestPurpose::PoolBalance(of) if *of == id)) {
                    at(payable(Endpoint::PoolBalance, pool.poll_at));
                }
                pool.backoff.left(now).into_iter().for_each(&mut at);
            }
        }
        if self.pool_scan.is_none() {
            at(payable(Endpoint::PoolTransactions, self.pool_scan_at(now)));
        }
        if self.has_pools() && !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Pools)) {
            at(payable(Endpoint::Pools, self.polls.pools));
        }
        if self.scan.is_none() {
            at(payable(Endpoint::Orders, self.presence_at()));
            if self.absence_is_needed(now) {
                at(payable(Endpoint::Orders, self.polls.absence));
            }
        }
        if !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Balances { .. }))
            && !self.scan_confirms_balances()
        {
            at(payable(Endpoint::Balances, self.polls.balances));
        }
        if !self.is_asked(|purpose| {
            matches!(purpose, RequestPurpose::Markets | RequestPurpose::Account)
        }) {
            at(payable(Endpoint::Markets, self.polls.markets));
            at(payable(Endpoint::Account, self.polls.account));
        }
        if !self.is_asked(|purpose| matches!(purpose, RequestPurpose::Tokens)) {
            at(payable(Endpoint::Tokens, self.polls.tokens));
        }
        if let Some((_, oldest)) = self.in_flight.first_key_value() {
            at(self.lost_at(oldest));
        }
        let venue_now = self.clock.at_least(now);
        let local = |then: VenueTime| now.plus_ms(then.ms_since(venue_now).saturating_add(1));
        let outline = self.orders.outline();
        let first_fence = outline.last_effect.plus_ms(self.config.grace_ms);
        let first_refresh = self.refresh_before(outline.rests_until);
        if !self.orders.has_unresolved() && venue_now <= first_fence && venue_now < first_refresh {
            let first = local(first_fence.min(first_refresh)).min(self.first_cancel());
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
        for (endpoint, due) in self.foreign.due() {
            at(payable(endpoint, due));
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
        if self.budget_denied {
            at(self.payable_at);
        }
        // What is overdue for another reason than its budget is tried again soon.
        let again = now.plus_ms(20);
        if wake <= now {
            again
        } else {
            wake.max(now.plus_ms(1))
        }
    }

    /// When the first cancel of an order is due and can be paid; the end of time without any.
    fn first_cancel(&self) -> Time {
        if !self.orders.outline().cancel_wanted {
            return NEVER;
        }
        let each = self.orders.iter();
        each.filter_map(|tracked| self.cancel_at(&tracked.lifecycle))
            .min()
            .map_or(NEVER, |due| due.max(self.cancels_payable_at()))
    }

    fn cancels_payable_at(&self) -> Time {
        let payable_at = self
            .budget
            .payable_at(Endpoint::Cancel, self.reports_awaited());
        payable_at.unwrap_or(NEVER)
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
                at(self.payable_from(now, lifecycle.endpoint, resend_at));
            }
            if let Some(cancel_at) = self.cancel_at(lifecycle) {
                at(cancel_at.max(self.cancels_payable_at()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::config::BudgetConfig;
    use crate::engine::testing::state;
    use crate::engine::venue::budget::Budget;
    use crate::venue::RequestCosts;

    /// What is due and has no budget is not tried before it has.
    #[test]
    fn a_request_without_budget_is_due_when_it_has_it() {
        let now = Time::from_ms(1_000);
        let mut state = state(now);
        let config = BudgetConfig {
            per_s: 4,
            burst: 10,
            cancel_reserve: 0,
            endpoint_per_s: 2,
            endpoint_burst: 3,
            penalty_ms: 0,
        };
        state.status_due = Time(u64::MAX);
        state.budget = Budget::new(now, config, RequestCosts::default());
        state.budget.spend_all_but(now, 0);
        for (spent, frees_ms) in [(0, 500), (7, 2_000)] {
            state.budget.charge(now, spent);
            state.payable_at = Time(u64::MAX);
            let mut actions = Vec::new();
            state.poll_due(now, &mut actions);
            let sent = |action: &Action| matches!(action, Action::Send { .. });
            assert!(!actions.iter().any(sent));
            let due = state.earliest(now);
            assert_eq!(due, now.plus_ms(frees_ms));
            state.clone().poll_due(Time(due.0 - 1), &mut actions);
            assert!(!actions.iter().any(sent), "a microsecond before");
            state.clone().poll_due(due, &mut actions);
            assert!(actions.iter().any(sent));
        }
    }
}
