//! Event handlers. Every answer advances the venue clock, ends its request and updates the state; decisions follow in
//! the step.

use crate::action::Action;
use crate::event::{BatchId, Event, SealFailure, TradingState};
use crate::market::MarketId;
use crate::notification::{DepthFault, End, Notification};
use crate::order::ClientOrderId;
use crate::reason::Reason;
use crate::request::{Depth, Endpoint, Outcome, Reply, RequestId, UnknownCause};
use crate::time::{Time, VenueTime};
use crate::token::TokenSpec;
use crate::venue::Refusal;

use crate::engine::intents::lifecycle::Phase;
use crate::engine::market_data::book::{HeldDepth, OwnLevels};
use crate::engine::state::{InFlightRequest, RequestPurpose, State};

/// Longest pause that a venue's retry-after can impose on an endpoint: cancels may need it.
const RETRY_AFTER_MAX_MS: u64 = 60_000;

impl RequestPurpose {
    pub(crate) fn endpoint(&self) -> Endpoint {
        match self {
            Self::Depth { .. } => Endpoint::Depth,
            Self::Balances { .. } => Endpoint::Balances,
            Self::OrdersPage => Endpoint::Orders,
            Self::Markets => Endpoint::Markets,
            Self::Tokens => Endpoint::Tokens,
            Self::Account => Endpoint::Account,
            Self::Pools => Endpoint::Pools,
            Self::PoolBalance(_) => Endpoint::PoolBalance,
            Self::PoolTransactionsPage => Endpoint::PoolTransactions,
            Self::Submit(_, endpoint) => *endpoint,
            Self::OrderReport(_) | Self::Foreign { reads: true, .. } => Endpoint::Order,
            Self::Cancel(_) | Self::Foreign { reads: false, .. } => Endpoint::Cancel,
            Self::Amend(_) => Endpoint::Amend,
        }
    }

    pub(crate) fn is_depth_of(&self, wanted: MarketId) -> bool {
        matches!(self, Self::Depth { market, .. } if *market == wanted)
    }

    /// Whether it is a submit, a cancel or an amend.
    pub(crate) fn is_about_an_order(&self) -> bool {
        self.order().is_some()
    }

    fn order(&self) -> Option<ClientOrderId> {
        match self {
            Self::Submit(id, _) | Self::Cancel(id) | Self::Amend(id) => Some(*id),
            Self::Depth { .. }
            | Self::Balances { .. }
            | Self::OrdersPage
            | Self::Markets
            | Self::Tokens
            | Self::Account
            | Self::Foreign { .. }
            | Self::Pools
            | Self::PoolBalance(_)
            | Self::PoolTransactionsPage
            | Self::OrderReport(_) => None,
        }
    }
}

impl State {
    /// Handles one event.
    pub(crate) fn handle_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>) {
        match event {
            // A halt found at the start: resting orders are cancelled, and the program ends.
            Event::Start(_) if self.restrictions.level() == TradingState::Halted => {
                self.start_drain(now, actions);
            }
            // The strategy has taken in what happened to its process, and the command was executed.
            Event::Start(_) | Event::Wake | Event::Process { .. } | Event::Operator(_) => {}
            Event::Answer {
                request,
                outcome,
                venue_time,
                retry_after_ms,
                cost_beyond,
            } => {
                if let Some(venue_time) = venue_time {
                    let carried = self.clock.at_least(now);
                    self.clock.observe(now, *venue_time);
                    let leap_ms = self.clock.at_least(now).ms_since(carried);
                    self.notice_leap(now, leap_ms, actions);
                    let venue_now = self.clock.for_ages(now);
                    for market in &mut self.markets {
                        market.book.update_age(now, venue_now);
                    }
                }
                let endpoint = self.in_flight.get(request).map(|a| a.purpose.endpoint());
                let fills = self.pending.fills();
                self.handle_answer(now, *request, outcome, *venue_time, actions);
                let shows_new = self.pending.fills() > fills;
                self.charge_beyond(now, (endpoint, outcome), shows_new, *cost_beyond);
                if let (Some(endpoint), Some(ms)) = (endpoint, retry_after_ms) {
                    self.budget
                        .rest(now, endpoint, (*ms).min(RETRY_AFTER_MAX_MS));
                }
            }
            Event::Sealed { batch, hashes } => self.handle_sealed(now, *batch, hashes, actions),
            Event::SealFailed { batch, cause } => {
                self.handle_seal_failed(now, *batch, *cause, actions);
            }
            Event::RestrictionsStored(levels) => {
                self.handle_restrictions_stored(now, levels, actions);
            }
            Event::RestrictionsFailed(_) => self.handle_restrictions_failed(now, actions),
            Event::Portfolio(portfolio) => {
                // It changes with every price elsewhere: the next decision is soon enough.
                self.portfolio = Some(portfolio.clone());
            }
            Event::Elsewhere(markets) => {
                for market in markets {
                    if self.elsewhere.take(now, market) {
                        self.market_mut(market.reader).decision_due = true;
                    }
                }
            }
            Event::Reference(price) => {
                if let Some(market) = self.references.take(*price) {
                    self.market_mut(market).decision_due = true;
                }
            }
        }
    }

    /// Charges what an answer cost beyond its endpoint: what its adapter states, and at least what the questions about new
    /// trades cost if it shows some, or if it is lost and may have cost that.
    pub(crate) fn charge_beyond(
        &mut self,
        now: Time,
        (endpoint, outcome): (Option<Endpoint>, &Outcome),
        shows_new: bool,
        stated: u32,
    ) {
        let may_report = endpoint.is_some_and(Endpoint::may_report_trades);
        let may_have = may_report && matches!(outcome, Outcome::Unknown(_));
        let at_least = if shows_new || may_have {
            self.venue.costs.new_fills
        } else {
            0
        };
        self.budget.charge(now, stated.max(at_least));
    }

    fn handle_seal_failed(
        &mut self,
        now: Time,
        batch: BatchId,
        cause: SealFailure,
        actions: &mut Vec<Action>,
    ) {
        let sealing: Vec<_> = self
            .orders
            .lives()
            .filter(|(_, lifecycle)| lifecycle.phase == Phase::Sealing && lifecycle.batch == batch)
            .map(|(id, _)| id)
            .collect();
        for id in sealing {
            self.end(now, id, End::NeverSent, actions);
        }
        match cause {
            // A failed sync is never retried: what has reached the disk is not known.
            SealFailure::Store => {
                self.store_failed = true;
                self.raise(TradingState::CancelOnly, "store", actions);
            }
            SealFailure::Signature => self.raise(TradingState::Halted, "signature", actions),
        }
    }

    pub(crate) fn handle_answer(
        &mut self,
        now: Time,
        request: RequestId,
        outcome: &Outcome,
        venue_time: Option<VenueTime>,
        actions: &mut Vec<Action>,
    ) {
        let Some(InFlightRequest { purpose, sent }) = self.in_flight.remove(&request) else {
            return;
        };
        let endpoint = purpose.endpoint();
        if let Some(venue_time) = venue_time.filter(|_| endpoint.is_of_the_account()) {
            let back_ms = self.clock.compare(now, sent, venue_time, self.venue.clock);
            self.notice_leap(now, back_ms, actions);
        }
        let order = purpose.order();
        actions.push(Action::Notify(Notification::Answered {
            endpoint,
            micros: now.micros_since(sent),
        }));
        match outcome {
            Outcome::Refused(reason) => {
                actions.push(Action::Notify(Notification::Refused {
                    endpoint,
                    order,
                    reason: *reason,
                }));
                self.handle_refusal(now, endpoint, *reason, actions);
            }
            Outcome::Unknown(cause) => {
                actions.push(Action::Notify(Notification::Unknown {
                    endpoint,
                    order,
                    cause: *cause,
                }));
            }
            Outcome::Reply(_) | Outcome::NotSent => {}
        }
        if !matches!(outcome, Outcome::Reply(_)) {
            self.polls.unanswered(now, endpoint);
        }
        match purpose {
            RequestPurpose::Submit(id, _) => self.handle_submit(now, id, sent, outcome, actions),
            RequestPurpose::Cancel(id) => {
                self.handle_cancel(now, id, outcome);
            }
            RequestPurpose::Amend(id) => self.handle_amend(now, id, outcome, actions),
            RequestPurpose::OrdersPage => self.handle_page(now, request, outcome, actions),
            RequestPurpose::Depth { market, mut own } => {
                if let Outcome::Reply(Reply::Depth(depth)) = outcome {
                    // A depth has two times; a cache or a wrong clock may have affected either.
                    let venue_time = venue_time.map_or(depth.timestamp, |venue_time| {
                        venue_time.min(depth.timestamp)
                    });
                    let generated_at = self.generated_at(now, sent, Some(venue_time));
                    self.market(market)
                        .book
                        .include_departed(generated_at, &mut own);
                    self.handle_depth(now, generated_at, (market, own), depth, actions);
                }
            }
            RequestPurpose::Balances { fills, own_locked } => {
                self.handle_balances((sent, now), fills, own_locked, outcome, actions);
            }
            RequestPurpose::PoolBalance(market) => {
                let generated_at = self.generated_at(now, sent, venue_time);
                self.handle_pool_balance(now, generated_at, market, outcome);
            }
            RequestPurpose::Pools => self.handle_pools(outcome),
            RequestPurpose::PoolTransactionsPage => {
                self.handle_pool_transactions_page(now, request, outcome, actions);
            }
            RequestPurpose::Markets => self.handle_markets(outcome),
            RequestPurpose::Tokens => self.handle_tokens(outcome),
            RequestPurpose::Account => {
                if let Outcome::Reply(Reply::Account { frozen }) = outcome
                    && self.frozen.replace(*frozen) != Some(*frozen)
                {
                    self.touch_all();
                }
            }
            RequestPurpose::OrderReport(id) => self.handle_read(now, id, sent, outcome, actions),
            RequestPurpose::Foreign { hash, reads } => {
                self.handle_foreign(now, (hash, reads), outcome, actions);
            }
        }
    }

    /// When an answer was generated at the latest. An answer whose own clock is behind was generated that long ago,
    /// however fast it arrived, because a cache in front of the venue answers at once.
    fn generated_at(&self, now: Time, sent: Time, venue_time: Option<VenueTime>) -> Time {
        let behind = venue_time.map_or(0, |venue_time| {
            self.clock.for_ages(now).ms_since(venue_time)
        });
        sent.min(now.minus_ms(behind))
    }

    fn handle_refusal(
        &mut self,
        now: Time,
        endpoint: Endpoint,
        reason: Reason,
        actions: &mut Vec<Action>,
    ) {
        match self.venue.refusals.of(reason) {
            Refusal::RateLimited => self.budget.back_off(now, endpoint),
            Refusal::KeysRefused => {
                let cause = format!("keys refused for {}", endpoint.name());
                self.raise(TradingState::Halted, &cause, actions);
            }
            Refusal::KillsBytes
            | Refusal::KillsCopy
            | Refusal::NotProcessed
            | Refusal::ProvesNothing => {}
        }
    }

    /// Whether the depth shows less than an own order that rested before it was generated: most likely a fill. This is
    /// no evidence, but a reason to read the list at once.
    fn lacks_own(&self, market: MarketId, generated_at: Time) -> bool {
        let book = &self.market(market).book;
        self.orders
            .of_market(market)
            .filter(|t| t.lifecycle.phase == Phase::Live && t.lifecycle.cancel.is_none())
            .filter(|t| {
                t.lifecycle
                    .last_sent
                    .is_some_and(|sent| sent < generated_at)
                    && t.amends.is_settled_at(generated_at)
            })
            .any(|t| book.has_less_than(&t.level()))
    }

    /// Uses the depths that were held until it was known where all own orders of earlier runs rest.
    pub(crate) fn use_held_depths(&mut self, now: Time, actions: &mut Vec<Action>) {
        for index in 0..self.markets.len() {
            let market = self.markets[index].spec.id;
            if self.orders.is_unlocated_at(market) {
                continue;
            }
            let book = &mut self.markets[index].book;
            if let Some(held) = book.take_held() {
                let of = (market, held.own);
                self.handle_depth(now, held.generated_at, of, &held.depth, actions);
            }
        }
    }

    fn handle_depth(
        &mut self,
        now: Time,
        generated_at: Time,
        (market, mut own): (MarketId, OwnLevels),
        depth: &Depth,
        actions: &mut Vec<Action>,
    ) {
        // Orders sent meanwhile may be in it; orders filled meanwhile may be in it unfilled.
        for (id, level) in self.orders.levels(market) {
            own.entry(id).or_insert(level).may_also_be(&level);
        }
        if depth.market != market {
            let (endpoint, cause) = (Endpoint::Depth, UnknownCause::Undecodable);
            actions.push(Action::Notify(Notification::Unknown {
                endpoint,
                order: None,
                cause,
            }));
            return;
        }
        self.clock.observe(now, depth.timestamp);
        if self.orders.is_unlocated_at(market) {
            self.market_mut(market).book.hold(HeldDepth {
                generated_at,
                own,
                depth: depth.clone(),
            });
            return;
        }
        let taken = if depth.timestamp > self.clock.at_least(now) {
            // A time that the venue clock rejects would make every later snapshot look old.
            Err(DepthFault::Malformed)
        } else {
            let book = &mut self.market_mut(market).book;
            book.take(generated_at, now, depth, own)
        };
        if let Err(fault) = taken {
            actions.push(Action::Notify(Notification::DepthRefused { market, fault }));
            return;
        }
        if self.lacks_own(market, generated_at) {
            self.polls.scan_soon();
        }
        self.market_mut(market).decision_due = true;
        self.market_mut(market).shown.changed();
        let mid = self.prices(market).mid;
        self.polls
            .mid_moved(usize::from(market.0), generated_at, mid);
        self.watch(now, market, actions);
        actions.push(Action::Notify(Notification::DepthAccepted {
            market,
            mid,
            timestamp: depth.timestamp,
        }));
    }

    /// Amounts were scaled and bounded by the listing at the start: a token with another listing, or none, is not
    /// quoted.
    fn handle_tokens(&mut self, outcome: &Outcome) {
        let Outcome::Reply(Reply::Tokens(listed)) = outcome else {
            return;
        };
        let judged = |t: &TokenSpec| (t.decimals, t.precision, t.minimum, t.maximum);
        let fits = |known: &TokenSpec| {
            let mut listed = listed.iter();
            let found = listed.find(|listed| listed.id == known.id);
            found.is_some_and(|found| found.enabled && judged(found) == judged(known))
        };
        for market in &mut self.markets {
            let differs = !(fits(&market.spec.base) && fits(&market.spec.quote));
            market.decision_due |= market.listing_change.token != differs;
            market.listing_change.token = differs;
        }
    }

    fn handle_markets(&mut self, outcome: &Outcome) {
        let Outcome::Reply(Reply::Markets { listed }) = outcome else {
            return;
        };
        for market in &mut self.markets {
            let spec = &mut market.spec;
            let found = listed.iter().find(|listed| listed.name == spec.name);
            let enabled = found.is_some_and(|listed| listed.enabled);
            // Amounts and prices were scaled by the listing at the start: a market with another listing is not quoted.
            let differs = found.is_some_and(|listed| {
                (listed.base, listed.quote, listed.price_decimals)
                    != (spec.base.id, spec.quote.id, spec.price_decimals)
            });
            market.decision_due |=
                spec.enabled != enabled || market.listing_change.market != differs;
            (spec.enabled, market.listing_change.market) = (enabled, differs);
        }
    }
}
