//! What leaves: first transmissions, resends of the same bytes, and cancels.

use crate::action::Action;
use crate::fence;
use crate::note::{End, Note};
use crate::order::ClientOrderId;
use crate::request::{Endpoint, Query};
use crate::time::Time;

use super::orders::{Phase, Tracked};
use super::state::{Purpose, State};

impl State {
    /// The first transmission of a sealed order, whose token was paid when it was approved. Judged again:
    /// between approval and durability the world may have changed.
    pub(crate) fn transmit_first(
        &mut self,
        now: Time,
        id: ClientOrderId,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.get(id).filter(|t| t.phase == Phase::Sealed) else {
            return;
        };
        let market = tracked.order.market;
        if tracked.cancel.is_some() {
            self.end(id, End::NeverSent, actions);
            return;
        }
        match self
            .situation_now(now, market)
            .approve_transmission(tracked)
        {
            Ok(approved) => {
                let id = approved.into_inner();
                self.transmit(now, id, actions);
            }
            Err(control) => {
                actions.push(Action::Note(Note::RiskRefused { market, control }));
                self.end(id, End::NeverSent, actions);
            }
        }
    }

    fn transmit(&mut self, now: Time, id: ClientOrderId, actions: &mut Vec<Action>) {
        let request = self.register(now, Purpose::Submit(id));
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        self.tally.transmissions.add(now);
        if tracked.attempts == 0 {
            self.tally.left(tracked.batch, &tracked.order);
        }
        tracked.phase = Phase::InFlight;
        tracked.attempts = tracked.attempts.saturating_add(1);
        tracked.first_sent.get_or_insert(now);
        tracked.last_sent = Some(now);
        tracked.missed = false;
        let order = &tracked.order;
        actions.push(Action::Note(if tracked.attempts == 1 {
            Note::Submitted {
                order: id,
                market: order.market,
                side: order.side,
                price: order.price,
                qty: order.qty,
                valid_until_s: order.valid_until_s,
            }
        } else {
            Note::Resent {
                order: id,
                attempt: tracked.attempts,
            }
        }));
        actions.push(Action::Transmit { request, order: id });
        self.latch_if_wild(now, actions);
    }

    /// Whether the same bytes may leave once more at all.
    pub(crate) fn may_be_resent(&self, now: Time, tracked: &Tracked) -> bool {
        tracked.attempts < self.config.attempts_max
            && fence::may_be_resent(
                self.clock.at_least(now),
                tracked.valid_until(),
                self.config.resend_margin_ms,
                tracked.cancel.is_some(),
            )
    }

    /// Sends again what got no answer and was not seen since, and what provably never left.
    pub(crate) fn resend(&mut self, now: Time, actions: &mut Vec<Action>) {
        let due: Vec<_> = self
            .orders
            .iter()
            .filter(|t| self.resend_at(t).is_some_and(|at| at <= now))
            .filter(|t| self.may_be_resent(now, t))
            .map(|t| (t.order.client_id, t.order.market))
            .collect();
        for (id, market) in due {
            let Some(tracked) = self.orders.get(id) else {
                continue;
            };
            // A refusal of a resend ends nothing: an earlier copy may rest.
            let Ok(approved) = self
                .situation_now(now, market)
                .approve_transmission(tracked)
            else {
                continue;
            };
            if !self.budget.take(now, Endpoint::Submit) {
                self.denied = true;
                return;
            }
            self.transmit(now, approved.into_inner(), actions);
        }
    }

    /// When an order is due for another transmission, if it ever is.
    pub(crate) fn resend_at(&self, tracked: &Tracked) -> Option<Time> {
        let unanswered = matches!(
            tracked.phase,
            Phase::Unknown {
                answered: false,
                ..
            }
        );
        let never_left = tracked.phase == Phase::Sealed;
        let wanted = (unanswered && tracked.missed) || never_left;
        let last = tracked.last_sent.filter(|_| wanted)?;
        Some(last.plus_ms(self.config.resend_after_ms))
    }

    /// Drops sealed orders that never left when nothing new may leave, they are not wanted any more, or
    /// their time is over.
    pub(crate) fn drop_unsent(&mut self, now: Time, actions: &mut Vec<Action>) {
        let stopped = self.is_stopped();
        let unsent: Vec<_> = self
            .orders
            .iter()
            .filter(|t| t.phase == Phase::Sealed && (stopped || !self.may_be_resent(now, t)))
            .map(|t| t.order.client_id)
            .collect();
        for id in unsent {
            self.end(id, End::NeverSent, actions);
        }
    }

    /// Sends every cancel that is decided and due, by strategy and oldest first. Cancels have the whole
    /// budget; one without a token is tried again soon.
    pub(crate) fn send_cancels(&mut self, now: Time, actions: &mut Vec<Action>) {
        let due: Vec<_> = self
            .orders
            .iter()
            .filter(|t| self.cancel_at(t).is_some_and(|at| at <= now))
            .filter_map(|t| Some((t.order.client_id, t.hash?)))
            .collect();
        for (id, hash) in due {
            if !self.budget.take(now, Endpoint::Cancel) {
                self.denied = true;
                return;
            }
            let request = self.send(now, Purpose::Cancel(id), Query::Cancel(hash), actions);
            self.tally.cancels.add(now);
            actions.push(Action::Note(Note::CancelSent { order: id }));
            if let Some(cancel) = self.orders.get_mut(id).and_then(|t| t.cancel.as_mut()) {
                cancel.in_flight = Some(request);
                cancel.last_sent = Some(now);
                cancel.attempts = cancel.attempts.saturating_add(1);
            }
        }
    }

    /// When a cancel is due to be sent, again or for the first time. An order on its way is not
    /// cancelled before its answer: a cancel that overtakes it finds nothing.
    pub(crate) fn cancel_at(&self, tracked: &Tracked) -> Option<Time> {
        let cancel = tracked.cancel?;
        let reachable = matches!(tracked.phase, Phase::Live | Phase::Unknown { .. });
        if !reachable || cancel.in_flight.is_some() {
            return None;
        }
        Some(match cancel.last_sent {
            None => cancel.decided,
            // Doubling pauses: a venue that does not answer is not helped by more of the same.
            Some(last) => {
                let doubled =
                    self.config.resend_after_ms << cancel.attempts.min(5).saturating_sub(1);
                last.plus_ms(doubled)
            }
        })
    }
}
