//! Evidence from answers about intents: acknowledgements, complete lists, cuts. The rules of one intent are in
//! `lifecycle`; the effects of a single report are in `execution_reports`, and in `transaction_reports` for joins and
//! exits.
//!
//! An unknown order ends by evidence only: seen final by list or hash; or the venue's clock has passed its expiry and
//! grace **and** a complete list begun after that leaves it out, and, if the venue ever accepted it, a query by hash
//! does not find it. The number of "not found" answers proves nothing.

use crate::action::Action;
use crate::event::{BatchId, TradingState};
use crate::fence::{self, ListScan, Progress, ScanPurpose, VenueEvidence};
use crate::list_scan::answered;
use crate::notification::{Control, End, Notification};
use crate::order::{ClientOrderId, Hash};
use crate::request::{Outcome, Reply, RequestId};
use crate::time::Time;

use crate::engine::account::ledger::ReconciliationResult;
use crate::engine::account::unaccounted::Unaccounted;
use crate::engine::intents::lifecycle::{Phase, TransmissionOutcome};
use crate::engine::intents::unquoted::waits;
use crate::engine::state::State;

impl State {
    /// Handles the answer to a transmission.
    pub(crate) fn handle_submit(
        &mut self,
        now: Time,
        id: ClientOrderId,
        sent: Time,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(market) = self.orders.market_of(id) else {
            return;
        };
        let Some(lifecycle) = self.orders.lifecycle_mut(id) else {
            return;
        };
        let (endpoint, was_in_flight) = (lifecycle.endpoint, lifecycle.phase == Phase::InFlight);
        let after = lifecycle.handle_outcome(now, outcome, &self.venue.refusals);
        let is_refused = matches!(lifecycle.phase, Phase::Unknown { answered: true, .. })
            || after == TransmissionOutcome::ProvenDead;
        if is_refused {
            let pause_ms = self.config.resend_after_ms;
            self.never_rested(id, waits(Control::VenueRefusal, pause_ms));
            // For any refusal: an order that stays unknown does not occupy its quote, so that without a pause each
            // decision would send another one.
            if matches!(outcome, Outcome::Refused(_)) {
                self.backoff_of(market, id).refused(now, pause_ms);
            }
        }
        match after {
            TransmissionOutcome::Accepted { hash, newly } => {
                if newly {
                    let micros = now.micros_since(sent);
                    actions.push(Action::Notify(Notification::Acknowledged {
                        order: id,
                        hash,
                        micros,
                    }));
                }
                self.backoff_of(market, id).taken();
                self.acknowledged(id, outcome);
            }
            TransmissionOutcome::Contradicted => {
                let reply = reply_name(outcome);
                let detail = format!("{} of {id} answered with {reply}", endpoint.name());
                self.violated("submit_answer", detail, actions);
            }
            TransmissionOutcome::ProvenDead => {
                self.end(now, id, End::Refused, actions);
            }
            TransmissionOutcome::ScanNeeded if endpoint.is_pool_transaction() => {
                self.polls.pool_scan_soon();
            }
            TransmissionOutcome::ScanNeeded => self.polls.scan_soon(),
            TransmissionOutcome::Nothing => {}
        }
        // A strategy sees the same of an order in flight and of one that rests, and it counts for the same quote.
        let is_expected = was_in_flight && matches!(after, TransmissionOutcome::Accepted { .. });
        let on_book = self
            .orders
            .get(id)
            .is_some_and(|tracked| !tracked.is_swap());
        let market = self.market_mut(market);
        market.decision_due |=
            !(is_expected && on_book) || market.awaits_acceptance || !market.refused_by.is_empty();
    }

    /// The state in an acknowledgement is not a report: amounts come with the report.
    fn acknowledged(&mut self, id: ClientOrderId, outcome: &Outcome) {
        let is_final =
            matches!(outcome, Outcome::Reply(Reply::Submitted { status, .. }) if status.is_final());
        match self.orders.get_mut(id) {
            Some(tracked) => tracked.read_wanted |= is_final,
            None => self.polls.pool_scan_soon(),
        }
    }

    /// Handles the answer to a cancel. No answer ends the order: fills may have come before.
    pub(crate) fn handle_cancel(&mut self, now: Time, id: ClientOrderId, outcome: &Outcome) {
        let refusals = &self.venue.refusals;
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        if let Some(cancel) = &mut tracked.lifecycle.cancel {
            cancel.in_flight = None;
            let done = match outcome {
                Outcome::Reply(_) => true,
                Outcome::Refused(reason) => refusals.is_nothing_to_cancel(*reason),
                Outcome::NotSent | Outcome::Unknown(_) => false,
            };
            if done {
                cancel.answered = Some(now);
            }
        }
        match outcome {
            Outcome::Reply(_) => self.polls.scan_soon(),
            Outcome::Refused(_) => tracked.read_wanted = true,
            Outcome::NotSent | Outcome::Unknown(_) => {}
        }
    }

    /// Handles the report of one order. "Not found" is evidence only after the fence, and only together with a complete
    /// list.
    pub(crate) fn handle_read(
        &mut self,
        now: Time,
        id: ClientOrderId,
        sent: Time,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        match outcome {
            Outcome::Reply(Reply::Order(report)) => self.observe(now, report, actions),
            // Any other refusal concerns the request.
            Outcome::Refused(reason) if self.venue.refusals.is_not_found(*reason) => {
                let asked_at = self.clock.at_least(now).minus_ms(now.ms_since(sent));
                let grace_ms = self.config.grace_ms;
                if let Some(tracked) = self.orders.get_mut(id)
                    && fence::is_behind(asked_at, tracked.rests_until(), grace_ms)
                {
                    tracked.lifecycle.evidence = VenueEvidence::Denied;
                }
            }
            Outcome::Reply(_) | Outcome::Refused(_) | Outcome::NotSent | Outcome::Unknown(_) => {}
        }
    }

    /// Handles a page of the orders list.
    pub(crate) fn handle_page(
        &mut self,
        now: Time,
        request: RequestId,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(mut pass) = answered(&mut self.scan, request) else {
            return;
        };
        let page = match outcome {
            Outcome::Reply(reply) => reply.page_of_orders().map(|orders| (reply, orders)),
            Outcome::Refused(_) | Outcome::NotSent | Outcome::Unknown(_) => None,
        };
        let Some((reply, orders)) = page else {
            if pass.ask_again() {
                self.scan = Some(pass);
            } else {
                self.polls.scan_failed(pass.purpose, now);
            }
            return;
        };
        for report in orders {
            if !self.orders.is_settled(report) {
                self.observe(now, report, actions);
            }
        }
        let progress = match reply {
            Reply::Orders { total, .. } => pass.take(orders, *total),
            Reply::OrdersUntil { next, .. } => pass.take_until(orders, *next),
            _ => Progress::Abandoned,
        };
        match progress {
            Progress::More => self.scan = Some(pass),
            Progress::Abandoned => self.polls.scan_failed(pass.purpose, now),
            Progress::Complete => self.scan_ended(now, &pass, actions),
        }
    }

    fn scan_ended(&mut self, now: Time, pass: &ListScan, actions: &mut Vec<Action>) {
        if pass.purpose == ScanPurpose::Resting {
            self.polls.resting = now.plus_ms(self.config.poll.meta_ms);
            self.resting_listed_at = Some(pass.begun);
            return;
        }
        self.last_complete_scan_at = Some(pass.begun);
        self.note_listed(pass);
        self.polls.scan_ended(pass.purpose, now);
        let shown = u32::try_from(pass.seen.len()).unwrap_or(u32::MAX);
        actions.push(Action::Notify(Notification::Reconciled { orders: shown }));
        for tracked in self.orders.iter_mut() {
            let missed = tracked.lifecycle.passed(pass);
            tracked.read_wanted |= missed && tracked.lifecycle.evidence != VenueEvidence::None;
        }
        if !self.ready && self.recovery_is_held_up() {
            self.touch_all();
        }
        if pass.purpose == ScanPurpose::Absence {
            self.apply_fence(now, pass, actions);
            self.drain_proved(pass, actions);
        }
        let unaccounted = self.unaccounted(pass);
        let all_seen = unaccounted.as_ref().is_some_and(Unaccounted::is_empty);
        let listed = unaccounted.filter(|_| self.resting_listed_at.is_some());
        let cut = self.ledger.scan_ended(pass.begun, listed.as_ref());
        // Balances that are younger than this scan wait for the next one. Asked again now, they would arrive during
        // that one, and wait again.
        let is_used = self.ledger.candidate_arrived().is_none();
        match cut {
            // A fill came in between, and nothing else prevents the opening.
            None | Some(ReconciliationResult::DiffersAtLeast(_))
                if all_seen && is_used && !self.ready =>
            {
                self.polls.balances_soon();
            }
            None => {}
            Some(cut) => self.reconciled(now, cut, actions),
        }
        self.compare_soon();
    }

    /// The orders that may have changed the balances that wait for a scan, and that this one did not list; `None` if there
    /// are no such balances, or if what was changed is not bounded.
    fn unaccounted(&self, pass: &ListScan) -> Option<Unaccounted> {
        let arrived = self.ledger.candidate_arrived()?;
        // A pool transaction is booked when it ends; until then its part of the balances is unknown.
        let mut transactions = self.orders.pool_transactions.iter();
        let bounded = transactions.all(|t| t.lifecycle.is_accounted(arrived, None))
            && (self.ready || !self.instances_prevent_opening());
        let unlisted = self.orders.iter();
        let unlisted = unlisted.filter(|t| !t.lifecycle.is_accounted(arrived, Some(pass)));
        let unaccounted = Unaccounted::of(unlisted);
        // A start opens, and compares for the first time, when every order is accounted for.
        (bounded && (self.ready || unaccounted.is_empty())).then_some(unaccounted)
    }

    /// Ends the intents that a complete list, begun after their fence, leaves out. One that the venue once accepted or
    /// listed must also be unknown to it by hash.
    fn apply_fence(&mut self, now: Time, pass: &ListScan, actions: &mut Vec<Action>) {
        let grace_ms = self.config.grace_ms;
        let dead: Vec<_> = self
            .orders
            .iter()
            .filter(|t| t.lifecycle.is_dead_by(pass, grace_ms))
            .map(|t| t.order.client_id)
            .collect();
        for id in dead {
            self.end(now, id, End::Fenced, actions);
        }
    }

    /// A batch is durable: its intents may be sent.
    pub(crate) fn handle_sealed(
        &mut self,
        now: Time,
        batch: BatchId,
        hashes: &[(ClientOrderId, Hash)],
        actions: &mut Vec<Action>,
    ) {
        for (id, hash) in hashes {
            self.orders.set_hash(*id, *hash);
            if let Some(lifecycle) = self.orders.lifecycle_mut(*id)
                && lifecycle.phase == Phase::Sealing
            {
                lifecycle.phase = Phase::Sealed;
            }
        }
        // Only what waited for the store is decided again: a strategy sees the same of an order that is stored and of one
        // that is sent.
        for market in &mut self.markets {
            market.decision_due |= market.refused_by.contains(&Control::Store);
        }
        self.refused_by_signer(now, batch, actions);
        for (id, _) in hashes {
            self.transmit_first(now, *id, actions);
        }
    }

    /// What is left of a batch that was sealed has no signature: what holds the key refused, or did not answer. It is
    /// never sent, and nothing new follows for as long as after a refusal of the venue.
    fn refused_by_signer(&mut self, now: Time, batch: BatchId, actions: &mut Vec<Action>) {
        let refused: Vec<_> = self
            .orders
            .lives()
            .filter(|(_, lifecycle)| lifecycle.phase == Phase::Sealing && lifecycle.batch == batch)
            .map(|(id, _)| id)
            .collect();
        let pause_ms = self.config.resend_after_ms;
        for id in refused {
            let Some(market) = self.orders.market_of(id) else {
                continue;
            };
            self.never_rested(id, waits(Control::Signer, pause_ms));
            self.backoff_of(market, id).refused_by_signer(now, pause_ms);
            self.end(now, id, End::NeverSent, actions);
        }
    }

    /// Whether the trading state forbids new orders.
    pub(crate) fn is_stopped(&self) -> bool {
        self.drain.is_some()
            || self.store_failed
            || self.restrictions.level() > TradingState::Active
    }
}

fn reply_name(outcome: &Outcome) -> &'static str {
    let Outcome::Reply(reply) = outcome else {
        return "no reply";
    };
    match reply {
        Reply::Depth(_) => "a depth",
        Reply::Balances(_) | Reply::ChargedBalances(_) => "balances",
        Reply::Orders { .. } | Reply::OrdersUntil { .. } => "orders",
        Reply::Order(_) => "an order",
        Reply::Submitted { .. } => "another order's hash",
        Reply::CancelTaken { .. } => "a cancel",
        Reply::Amended => "an amend",
        Reply::Markets { .. } => "markets",
        Reply::Tokens(_) => "tokens",
        Reply::Account { .. } => "an account",
        Reply::Pools(_) => "pools",
        Reply::PoolBalance(_) => "a pool's balances",
        Reply::PoolTransactions { .. } => "joins and exits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{hash, id, state};
    use crate::sorted_set::SortedSet;

    /// Whichever market the stored orders belong to: what waits for the store waits for all of it.
    #[test]
    fn what_waited_for_the_store_is_decided_when_orders_are_stored() {
        let now = Time::from_ms(1_000);
        let mut state = state(now);
        for (refused_by, is_due) in [
            (SortedSet::new(), false),
            (SortedSet::from([Control::Balance]), false),
            (SortedSet::from([Control::Balance, Control::Store]), true),
        ] {
            state.markets[0].decision_due = false;
            state.markets[0].refused_by = refused_by;
            let hashes = [(id(1), hash(1))];
            state.handle_sealed(now, BatchId(7), &hashes, &mut Vec::new());
            assert_eq!(state.markets[0].decision_due, is_due);
        }
    }
}
