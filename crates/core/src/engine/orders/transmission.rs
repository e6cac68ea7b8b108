//! Transmissions: first ones, resends of the same bytes, and cancels.

use crate::action::Action;
use crate::fence;
use crate::notification::{Control, End, Notification, Withheld};
use crate::order::ClientOrderId;
use crate::pool::UnsignedPoolTransaction;
use crate::request::{Endpoint, Query};
use crate::time::Time;

use crate::engine::intents::lifecycle::{Lifecycle, Phase};
use crate::engine::risk::gate::Approved;
use crate::engine::state::{RequestPurpose, State};

/// The pause between cancels of one order doubles this many times.
const DOUBLINGS: u32 = 4;

impl State {
    /// The first transmission of a sealed intent, whose token was paid when it was approved. It is judged again,
    /// because conditions may have changed between approval and durability.
    pub(crate) fn transmit_first(
        &mut self,
        now: Time,
        id: ClientOrderId,
        actions: &mut Vec<Action>,
    ) {
        let Some(lifecycle) = self
            .orders
            .lifecycle(id)
            .filter(|l| l.phase == Phase::Sealed)
        else {
            return;
        };
        if lifecycle.cancel.is_some() {
            self.end(now, id, End::NeverSent, actions);
            return;
        }
        let approved = self.approve_leaving(now, id);
        match approved.and_then(|approved| self.keeps_room(now, id).map(|()| approved)) {
            Ok(approved) => {
                let id = approved.into_inner();
                self.transmit(now, id, actions);
            }
            Err(withheld) => {
                if let Some(market) = self.orders.market_of(id) {
                    let control = withheld.control;
                    actions.push(Action::Notify(Notification::RiskRefused {
                        market,
                        control,
                    }));
                }
                self.never_rested(id, withheld);
                self.end(now, id, End::NeverSent, actions);
            }
        }
    }

    /// An order ended before it rested, with the reason.
    pub(crate) fn never_rested(&mut self, id: ClientOrderId, why: Withheld) {
        let Some(tracked) = self.orders.get(id) else {
            return;
        };
        let (market, side, is_swap) = (tracked.order.market, tracked.order.side, tracked.is_swap());
        let market = self.market_mut(market);
        match &mut market.pool {
            Some(pool) if is_swap => pool.withheld = Some(why),
            Some(_) | None => market.unquoted.fail(side, why),
        }
    }

    /// The gate's judgement of bytes that are about to be sent.
    fn approve_leaving(
        &self,
        now: Time,
        id: ClientOrderId,
    ) -> Result<Approved<ClientOrderId>, Withheld> {
        if let Some(tracked) = self.orders.get(id) {
            let situation = self.situation_now(now, tracked.order.market);
            if tracked.is_swap() {
                let pool = self.pool_situation(now, tracked.order.market)?;
                return situation.approve_swap_transmission(&pool, tracked);
            }
            return situation.approve_transmission(tracked);
        }
        let tracked = self
            .orders
            .pool_transactions
            .get(id)
            .ok_or(Control::Permission)?;
        let market = tracked.wanted.market;
        let pool = self.pool_situation(now, market)?;
        let situation = self.situation_now(now, market);
        situation.approve_pool_transaction_transmission(&pool, tracked)
    }

    fn transmit(&mut self, now: Time, id: ClientOrderId, actions: &mut Vec<Action>) {
        let Some(endpoint) = self
            .orders
            .lifecycle(id)
            .map(|lifecycle| lifecycle.endpoint)
        else {
            return;
        };
        self.counters.transmissions.add(now);
        if let Some(tracked) = self.orders.get(id).filter(|t| t.lifecycle.attempts == 0) {
            self.counters.left(tracked.lifecycle.batch, &tracked.order);
        }
        let request = self.register(now, RequestPurpose::Submit(id, endpoint));
        let Some(lifecycle) = self.orders.lifecycle_mut(id) else {
            return;
        };
        lifecycle.leaves(now);
        let attempt = lifecycle.attempts;
        let first = (attempt == 1).then(|| self.first_note(id)).flatten();
        actions.push(Action::Notify(
            first.unwrap_or(Notification::Resent { order: id, attempt }),
        ));
        actions.push(Action::Transmit {
            request,
            order: id,
            endpoint,
        });
        self.latch_if_wild(now, actions);
    }

    fn first_note(&self, id: ClientOrderId) -> Option<Notification> {
        if let Some(tracked) = self.orders.pool_transactions.get(id) {
            return Some(sent_note(&tracked.wanted));
        }
        let order = &self.orders.get(id)?.order;
        if order.is_swap() {
            return Some(Notification::SwapSubmitted {
                order: id,
                market: order.market,
                side: order.side,
                sell: order.sell_amount,
                least: order.buy_amount,
                valid_until_s: order.last_effect_s(),
            });
        }
        Some(Notification::Submitted {
            order: id,
            market: order.market,
            side: order.side,
            price: order.price,
            qty: order.qty,
            valid_until_s: order.last_effect_s(),
        })
    }

    /// Whether the same bytes may be sent once more at all.
    pub(crate) fn may_be_resent(
        &self,
        now: Time,
        id: ClientOrderId,
        lifecycle: &Lifecycle,
    ) -> bool {
        let cancelled = lifecycle.cancel.is_some();
        let venue_now = self.clock.at_least(now);
        let margin_ms = self.config.resend_margin_ms;
        let left = lifecycle.attempts < self.config.attempts_max;
        let accepted_until = lifecycle.lifetime.accepted_until;
        left && !self.is_number_passed(id)
            && fence::may_be_resent(venue_now, accepted_until, margin_ms, cancelled)
    }

    /// Resends intents that got no answer and were not listed since, and those that provably were never sent.
    pub(crate) fn resend(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.orders.has_unresolved() {
            return;
        }
        let due: Vec<_> = self
            .orders
            .lives()
            .filter(|(_, lifecycle)| self.resend_at(lifecycle).is_some_and(|at| at <= now))
            .filter(|(id, lifecycle)| self.may_be_resent(now, *id, lifecycle))
            .map(|(id, lifecycle)| (id, lifecycle.endpoint))
            .collect();
        for (id, endpoint) in due {
            let market = self.orders.market_of(id);
            let is_order = endpoint == Endpoint::Submit;
            let market = market.filter(|_| is_order);
            if market.is_some_and(|market| self.room_for_order(now, market).is_err()) {
                continue;
            }
            // A refused resend ends nothing: an earlier copy may have been accepted.
            let Ok(approved) = self.approve_leaving(now, id) else {
                continue;
            };
            if !self.take_token(now, endpoint) {
                return;
            }
            if let Some(market) = market {
                self.trading.count_order(now, market);
            }
            self.transmit(now, approved.into_inner(), actions);
        }
    }

    /// When an intent is due for another transmission, if ever.
    pub(crate) fn resend_at(&self, lifecycle: &Lifecycle) -> Option<Time> {
        let unanswered = matches!(
            lifecycle.phase,
            Phase::Unknown {
                answered: false,
                ..
            }
        );
        let never_left = lifecycle.phase == Phase::Sealed;
        let wanted = (unanswered && lifecycle.missed) || never_left;
        let last = lifecycle.last_sent.filter(|_| wanted)?;
        Some(last.plus_ms(self.config.resend_after_ms))
    }

    /// Drops sealed intents that were never sent, when nothing new may be sent, they are no longer targets, or they
    /// expire.
    pub(crate) fn drop_unsent(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.orders.has_unresolved() {
            return;
        }
        let stopped = self.is_stopped();
        let unsent: Vec<_> = self
            .orders
            .lives()
            .filter(|(_, lifecycle)| lifecycle.phase == Phase::Sealed)
            .filter(|(id, lifecycle)| stopped || !self.may_be_resent(now, *id, lifecycle))
            .map(|(id, _)| id)
            .collect();
        for id in unsent {
            self.end(now, id, End::NeverSent, actions);
        }
    }

    /// Sends every decided cancel that is due, by strategy and oldest first. Cancels may use the whole budget; one
    /// without a token is retried soon.
    pub(crate) fn send_cancels(&mut self, now: Time, actions: &mut Vec<Action>) {
        if !self.orders.outline().cancel_wanted {
            return;
        }
        // Joins and exits cannot be cancelled.
        let due: Vec<_> = self
            .orders
            .iter()
            .filter(|t| self.cancel_at(&t.lifecycle).is_some_and(|at| at <= now))
            .filter_map(|t| Some((t.order.client_id, t.lifecycle.hash?)))
            .collect();
        for (id, hash) in due {
            if !self.take_token(now, Endpoint::Cancel) {
                return;
            }
            let request = self.send(
                now,
                RequestPurpose::Cancel(id),
                Query::Cancel(hash),
                actions,
            );
            self.counters.cancels.add(now);
            self.count_cancel(now, id);
            actions.push(Action::Notify(Notification::CancelSent { order: id }));
            if let Some(cancel) = self
                .orders
                .lifecycle_mut(id)
                .and_then(|lifecycle| lifecycle.cancel.as_mut())
            {
                cancel.in_flight = Some(request);
                cancel.last_sent = Some(now);
                cancel.attempts = cancel.attempts.saturating_add(1);
            }
        }
    }

    /// When a cancel is due to be sent, again or for the first time.
    pub(crate) fn cancel_at(&self, lifecycle: &Lifecycle) -> Option<Time> {
        let cancel = lifecycle.cancel.filter(|_| lifecycle.may_be_cancelled())?;
        // Only the list shows whether an answered cancel had an effect: until it was read, another cancel costs budget
        // without information. Without a list, the longest pause applies.
        let unread = cancel
            .answered
            .is_some_and(|at| self.last_complete_scan_at < Some(at));
        Some(match cancel.last_sent {
            None => cancel.decided,
            // The pause doubles: repeated cancels do not help a venue that does not answer.
            Some(last) => {
                let doublings = if unread {
                    DOUBLINGS
                } else {
                    cancel.attempts.saturating_sub(1).min(DOUBLINGS)
                };
                last.plus_ms(self.config.resend_after_ms << doublings)
            }
        })
    }
}

fn sent_note(wanted: &UnsignedPoolTransaction) -> Notification {
    Notification::PoolTransactionSubmitted {
        order: wanted.client_id,
        market: wanted.market,
        kind: wanted.kind,
        amounts: wanted.amounts,
        lp: wanted.lp_amount,
        valid_until_s: wanted.valid_until_s,
    }
}
