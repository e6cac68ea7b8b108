//! What answers prove about orders: the fence and complete lists. What a single report changes is in
//! `observe`.
//!
//! An unknown order ends by evidence only: seen final by list or hash; or the venue's clock has passed
//! its expiry and grace **and** a complete list begun after that does not show it, nor, if the venue ever
//! took it, does asking by hash. Counting how often it was not found proves nothing.

use crate::action::Action;
use crate::event::Level;
use crate::fence::{self, Pass, Progress, Purpose, Word};
use crate::note::{End, Note};
use crate::order::{ClientOrderId, Hash};
use crate::reason::Reason;
use crate::request::{Outcome, Reply, RequestId};
use crate::time::Time;

use super::ledger::Cut;
use super::orders::Phase;
use super::state::State;

/// Ledger and venue may differ for this long before nothing new is sent.
const DIFFERING_MAX_MS: u64 = 300_000;

impl State {
    /// The answer to a transmission.
    pub(crate) fn hear_submit(
        &mut self,
        now: Time,
        id: ClientOrderId,
        sent: Time,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        let market = tracked.order.market;
        let waiting = tracked.phase == Phase::InFlight;
        let unknown = |answered| Phase::Unknown {
            since: now,
            answered,
        };
        match outcome {
            Outcome::Reply(Reply::Submitted { hash, status, .. })
                if tracked.hash == Some(*hash) =>
            {
                if tracked.phase != Phase::Live {
                    tracked.phase = Phase::Live;
                    let micros = now.micros_since(sent);
                    actions.push(Action::Note(Note::Acknowledged {
                        order: id,
                        hash: *hash,
                        micros,
                    }));
                }
                tracked.word = Word::Known;
                self.markets[usize::from(market.0)].refusals = 0;
                // The word in an acknowledgement is no report: fills come with the report.
                tracked.read_wanted |= status.is_final();
            }
            Outcome::Reply(other) => {
                if waiting {
                    tracked.phase = unknown(false);
                }
                let detail = format!("submit of {id} answered with {}", reply_name(other));
                self.violated("submit_answer", detail, actions);
            }
            Outcome::Refused(reason) if reason.proves_submit_dead() => {
                tracked.disproved = tracked.disproved.saturating_add(1);
                if waiting && fence::are_all_disproved(tracked.attempts, tracked.disproved) {
                    self.end(id, End::Refused, actions);
                    let pause_ms = self.config.resend_after_ms;
                    self.market_mut(market).rest(now, pause_ms);
                } else if waiting {
                    tracked.phase = unknown(true);
                }
            }
            Outcome::Refused(reason) => {
                if waiting {
                    // "Exists" and 429 say nothing against the order: it still stands for its quote.
                    let open = matches!(reason, Reason::OrderExists | Reason::RateLimited);
                    tracked.phase = unknown(!open);
                }
                self.polls.look_soon();
            }
            Outcome::NotSent => {
                tracked.disproved = tracked.disproved.saturating_add(1);
                if waiting {
                    let never_left = fence::are_all_disproved(tracked.attempts, tracked.disproved);
                    tracked.phase = if never_left {
                        Phase::Sealed
                    } else {
                        unknown(false)
                    };
                }
            }
            Outcome::Unknown(_) => {
                if waiting {
                    tracked.phase = unknown(false);
                }
                self.polls.look_soon();
            }
        }
        self.market_mut(market).dirty = true;
    }

    /// The answer to a cancel. Nothing it can say ends the order: fills may have come before.
    pub(crate) fn hear_cancel(&mut self, id: ClientOrderId, outcome: &Outcome) {
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        if let Some(cancel) = &mut tracked.cancel {
            cancel.in_flight = None;
        }
        match outcome {
            Outcome::Reply(_) => self.polls.look_soon(),
            Outcome::Refused(_) => tracked.read_wanted = true,
            Outcome::NotSent | Outcome::Unknown(_) => {}
        }
    }

    /// The report of one order. That it is not there is evidence only behind the fence, and only beside
    /// a complete list.
    pub(crate) fn hear_read(
        &mut self,
        now: Time,
        id: ClientOrderId,
        sent: Time,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        match outcome {
            Outcome::Reply(Reply::Order(report)) => self.observe(now, report, actions),
            Outcome::Refused(reason) if *reason != Reason::RateLimited => {
                let asked_at = self.clock.at_least(now).minus_ms(now.ms_since(sent));
                let grace_ms = self.config.grace_ms;
                if let Some(tracked) = self.orders.get_mut(id)
                    && fence::is_behind(asked_at, tracked.valid_until(), grace_ms)
                {
                    tracked.word = Word::Disowned;
                }
            }
            Outcome::Reply(_) | Outcome::Refused(_) | Outcome::NotSent | Outcome::Unknown(_) => {}
        }
    }

    /// A page of the orders list.
    pub(crate) fn hear_page(
        &mut self,
        now: Time,
        request: RequestId,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let Some(mut pass) = self.pass.take() else {
            return;
        };
        if pass.request != Some(request) {
            self.pass = Some(pass);
            return;
        }
        let Outcome::Reply(Reply::Orders { orders, total }) = outcome else {
            if pass.ask_again() {
                self.pass = Some(pass);
            } else {
                self.polls.pass_failed(now);
            }
            return;
        };
        for report in orders {
            self.observe(now, report, actions);
        }
        match pass.take(orders, *total) {
            Progress::More => self.pass = Some(pass),
            Progress::Abandoned => self.polls.pass_failed(now),
            Progress::Complete => self.pass_ended(now, &pass, actions),
        }
    }

    fn pass_ended(&mut self, now: Time, pass: &Pass, actions: &mut Vec<Action>) {
        self.looked = Some(pass.begun);
        self.polls.pass_ended(pass.purpose, now);
        let shown = u32::try_from(pass.seen.len()).unwrap_or(u32::MAX);
        actions.push(Action::Note(Note::Reconciled { orders: shown }));
        for tracked in self.orders.iter_mut() {
            let shown = tracked.hash.is_some_and(|hash| pass.seen.contains(&hash));
            if !shown && tracked.last_sent.is_none_or(|sent| sent < pass.begun) {
                tracked.missed = true;
                tracked.read_wanted |= tracked.word != Word::None;
            }
        }
        if !self.ready && self.recovery_is_held_up() {
            self.touch_all();
        }
        if pass.purpose == Purpose::Proof {
            self.apply_fence(pass, actions);
            self.drain_proved(pass, actions);
        }
        let all_seen = self.ledger.candidate_arrived().is_some_and(|arrived| {
            self.orders.iter().filter(|t| t.may_have_left()).all(|t| {
                t.first_sent.is_some_and(|sent| sent >= arrived)
                    || t.hash.is_some_and(|hash| pass.seen.contains(&hash))
            })
        });
        match self.ledger.pass_ended(pass.begun, all_seen) {
            // A fill came between, and nothing else is in the way of the opening.
            None if all_seen && !self.ready => self.polls.balances_soon(),
            None => {}
            Some(Cut::Opening(opening)) => {
                self.ready = true;
                self.open_meters();
                self.touch_all();
                let recovered = self.recovered;
                actions.push(Action::Note(Note::Ready { opening, recovered }));
            }
            Some(Cut::Balanced) => {
                self.differing_since = None;
                actions.push(Action::Note(Note::Balanced));
                self.drain_cut();
            }
            Some(Cut::Differs(tokens)) => {
                self.books_differ(now, actions);
                for (token, ledger, venue) in tokens {
                    actions.push(Action::Note(Note::Mismatch {
                        token,
                        ledger,
                        venue,
                    }));
                }
                self.drain_cut();
            }
        }
    }

    /// Every base token is carried by the first market that trades it.
    fn open_meters(&mut self) {
        let mut carried = std::collections::BTreeSet::new();
        for market in &mut self.markets {
            let base = market.spec.base.id;
            let held = if carried.insert(base) {
                self.ledger.total(base)
            } else {
                0
            };
            market.meter.open(held);
        }
    }

    /// Books that differ for long have a cause that nobody knows, and every limit rests on them.
    fn books_differ(&mut self, now: Time, actions: &mut Vec<Action>) {
        let since = *self.differing_since.get_or_insert(now);
        if now.ms_since(since) >= DIFFERING_MAX_MS {
            self.raise(Level::CancelOnly, "balance_mismatch", actions);
        }
    }

    /// Ends what a complete list, begun after its fence, does not show. What the venue once took or
    /// showed has to be unknown to it by hash as well.
    fn apply_fence(&mut self, pass: &Pass, actions: &mut Vec<Action>) {
        let dead: Vec<_> = self
            .orders
            .iter()
            .filter(|t| t.may_have_left())
            .filter(|t| {
                let shown = t.hash.is_some_and(|hash| pass.seen.contains(&hash));
                let grace_ms = self.config.grace_ms;
                fence::is_proven_dead(pass.begun_venue, t.valid_until(), grace_ms, shown, t.word)
            })
            .map(|t| t.order.client_id)
            .collect();
        for id in dead {
            self.end(id, End::Fenced, actions);
        }
    }

    /// A batch is durable: its orders may leave.
    pub(crate) fn hear_sealed(
        &mut self,
        now: Time,
        hashes: &[(ClientOrderId, Hash)],
        actions: &mut Vec<Action>,
    ) {
        for (id, hash) in hashes {
            self.orders.set_hash(*id, *hash);
            if let Some(tracked) = self.orders.get_mut(*id)
                && tracked.phase == Phase::Sealing
            {
                tracked.phase = Phase::Sealed;
                // What waited for the store is thought over again.
                let market = tracked.order.market;
                self.market_mut(market).dirty = true;
            }
        }
        for (id, _) in hashes {
            self.transmit_first(now, *id, actions);
        }
    }

    /// Whether a level forbids new orders.
    pub(crate) fn is_stopped(&self) -> bool {
        self.drain.is_some() || self.store_failed || self.permits.level() > Level::Trading
    }
}

fn reply_name(reply: &Reply) -> &'static str {
    match reply {
        Reply::Depth(_) => "a depth",
        Reply::Balances(_) => "balances",
        Reply::Orders { .. } => "orders",
        Reply::Order(_) => "an order",
        Reply::Submitted { .. } => "another order's hash",
        Reply::CancelTaken { .. } => "a cancel",
        Reply::Markets { .. } => "markets",
        Reply::Account { .. } => "an account",
    }
}
