//! What answers prove about orders: the fence, fills, ends, and complete lists.
//!
//! An unknown order ends by evidence only: seen final by list or hash; or the venue's clock has passed
//! its expiry and grace **and** a complete list begun after that does not show it. Counting how often it
//! was not found proves nothing.

use crate::action::Action;
use crate::event::Level;
use crate::note::{End, Fill, Note};
use crate::order::{ClientOrderId, Hash, OrderReport, OrderStatus};
use crate::reason::Reason;
use crate::request::{Outcome, Reply, RequestId};
use crate::time::Time;

use super::ledger::Cut;
use super::orders::{Increment, Phase};
use super::passes::{Pass, Progress, Purpose};
use super::state::{Purpose as Asking, State};

/// Foreign orders remembered, so that each is told once.
const FOREIGN_KEPT: usize = 1_024;

/// Fills kept for a strategy that is not asked; older ones are in its holdings anyway.
const FILLS_KEPT: usize = 256;

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
                tracked.seen = true;
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
                if waiting && tracked.disproved == tracked.attempts {
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
                    let never_left = tracked.disproved == tracked.attempts;
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
            self.polls.pass_failed(now);
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
            None => {}
            Some(Cut::Opening(opening)) => {
                self.ready = true;
                self.touch_all();
                let recovered = self.recovered;
                actions.push(Action::Note(Note::Ready { opening, recovered }));
            }
            Some(Cut::Balanced) => {
                actions.push(Action::Note(Note::Balanced));
                self.drain_cut();
            }
            Some(Cut::Differs(tokens)) => {
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

    /// Ends what a complete list, begun after its fence, does not show.
    fn apply_fence(&mut self, pass: &Pass, actions: &mut Vec<Action>) {
        let dead: Vec<_> = self
            .orders
            .iter()
            .filter(|t| t.may_have_left())
            .filter(|t| pass.begun_venue > t.valid_until().plus_ms(self.config.grace_ms))
            .filter(|t| t.hash.is_none_or(|hash| !pass.seen.contains(&hash)))
            .map(|t| t.order.client_id)
            .collect();
        for id in dead {
            self.end(id, End::Fenced, actions);
        }
    }

    /// Takes in what the venue reports about one order.
    pub(crate) fn observe(&mut self, now: Time, report: &OrderReport, actions: &mut Vec<Action>) {
        let Some(id) = self.orders.id_of(report.hash) else {
            self.observe_other(report, actions);
            return;
        };
        let Some(tracked) = self.orders.get_mut(id) else {
            return;
        };
        let (market, side) = (tracked.order.market, tracked.order.side);
        tracked.seen = true;
        tracked.missed = false;
        tracked.read_wanted = false;
        if tracked.phase != Phase::Live {
            if matches!(tracked.phase, Phase::Unknown { .. }) {
                let status = report.status;
                actions.push(Action::Note(Note::Resolved { order: id, status }));
            }
            tracked.phase = Phase::Live;
            self.markets[usize::from(market.0)].dirty = true;
        }
        let known = (tracked.base_filled, tracked.quote_filled, tracked.fee);
        if let Some(step) = Increment::between(known, report) {
            tracked.base_filled += step.base;
            tracked.quote_filled += step.quote;
            tracked.fee += step.fee;
            let over = tracked.is_overfilled();
            self.book(id, market, side, step, actions);
            if over {
                self.violated(
                    "overfill",
                    format!("order {id} filled past its amount"),
                    actions,
                );
            }
        }
        if report.status.is_final() {
            let cancel = self
                .orders
                .get(id)
                .and_then(|t| t.cancel)
                .map(|c| c.decided);
            let end = match report.status {
                OrderStatus::Processed => End::Filled,
                OrderStatus::Expired => End::Expired,
                OrderStatus::Failed => End::FailedLate,
                OrderStatus::Cancelled
                | OrderStatus::Waiting
                | OrderStatus::Processing
                | OrderStatus::Cancelling
                | OrderStatus::Other => End::Cancelled,
            };
            let cancel_micros = cancel.map(|decided| now.micros_since(decided));
            self.end_with(id, end, cancel_micros, actions);
        }
    }

    /// A report about an order that is not among those that may be alive.
    fn observe_other(&mut self, report: &OrderReport, actions: &mut Vec<Action>) {
        if let Some(ended) = self.orders.ended_mut(report.hash) {
            let known = (ended.base_filled, ended.quote_filled, ended.fee);
            let (id, market, side) = (ended.id, ended.market, ended.side);
            if let Some(step) = Increment::between(known, report) {
                ended.base_filled += step.base;
                ended.quote_filled += step.quote;
                ended.fee += step.fee;
                // Money moved: it is booked whatever we believed, and then it is an alarm.
                self.book(id, market, side, step, actions);
                let detail = format!("order {id} filled after its end");
                self.violated("fill_after_end", detail, actions);
            } else if ended.concluded && !report.status.is_final() {
                // An older page may show what has ended since; a conclusion must never be contradicted.
                ended.concluded = false;
                let detail = format!("order {id} is open after it was concluded to be dead");
                self.violated("alive_after_end", detail, actions);
            }
            return;
        }
        if report.status.is_final() {
            return;
        }
        if let Some(id) = report.client_id.filter(|id| id.instance == self.instance) {
            if self.strays.len() < FOREIGN_KEPT && self.strays.insert(report.hash) {
                let detail = format!("order {id} is open at the venue and nobody knows it here");
                self.violated("forgotten_order", detail, actions);
            }
        } else if self.foreign.len() < FOREIGN_KEPT && self.foreign.insert(report.hash) {
            actions.push(Action::Note(Note::Foreign { hash: report.hash }));
        }
    }

    fn book(
        &mut self,
        id: ClientOrderId,
        market: crate::MarketId,
        side: crate::Side,
        step: Increment,
        actions: &mut Vec<Action>,
    ) {
        let mid = self.prices(market).mid;
        let spec = &self.markets[usize::from(market.0)].spec;
        let covered = self.ledger.book(spec, side, step);
        let Increment { base, quote, fee } = step;
        let got = if side == crate::Side::Buy {
            base
        } else {
            quote
        };
        let bips = self.maker_fee_bips.max(self.taker_fee_bips);
        let expected = got.saturating_mul(u128::from(bips)) / 10_000;
        let fill = Fill {
            order: id,
            market,
            side,
            base,
            quote,
            fee,
            mid,
        };
        for seat in &mut self.seats {
            if seat.strategy == id.strategy && seat.market == market {
                if seat.fills.len() >= FILLS_KEPT {
                    seat.fills.remove(0);
                }
                seat.fills.push(fill.clone());
            }
        }
        actions.push(Action::Note(Note::Filled(fill)));
        if fee > expected {
            actions.push(Action::Note(Note::FeeAbove {
                order: id,
                fee,
                expected,
            }));
        }
        if !covered {
            let detail = format!("fills of {id} take more than the ledger holds");
            self.violated("ledger_negative", detail, actions);
        }
        self.market_mut(market).dirty = true;
    }

    /// Ends an order: the only way out of the orders that may be alive.
    pub(crate) fn end(&mut self, id: ClientOrderId, end: End, actions: &mut Vec<Action>) {
        self.end_with(id, end, None, actions);
    }

    fn end_with(
        &mut self,
        id: ClientOrderId,
        end: End,
        cancel_micros: Option<u64>,
        actions: &mut Vec<Action>,
    ) {
        let Some(tracked) = self.orders.end(id, end.is_concluded()) else {
            return;
        };
        self.storage
            .free(tracked.order.sell_token, tracked.order.storage_id);
        let market = tracked.order.market;
        // A depth already asked for may have been drawn up before this end.
        for asked in self.asked.values_mut() {
            if let Asking::Depth { market: of, own } = &mut asked.purpose
                && *of == market
                && tracked.may_have_left()
            {
                let level = tracked.level();
                own.entry(id).or_insert(level);
            }
        }
        self.market_mut(market).dirty = true;
        actions.push(Action::Note(Note::Ended {
            order: id,
            market,
            end,
            cancel_micros,
        }));
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
            }
        }
        for (id, _) in hashes {
            self.transmit_first(now, *id, actions);
        }
    }

    /// Whether a level forbids new orders.
    pub(crate) fn is_stopped(&self) -> bool {
        self.drain.is_some() || self.store_failed || self.effective_level() > Level::Trading
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
