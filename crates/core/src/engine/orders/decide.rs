//! From a changed market to orders: view → strategy → comparison → gate → budget → seal.

use crate::action::Action;
use crate::inspection::{CancelCause, OrderDecision};
use crate::intent::Intent;
use crate::market::{MarketId, Side};
use crate::notification::{Control, Notification, Withheld};
use crate::order::{ClientOrderId, StrategyId, UnsignedOrder};
use crate::request::Endpoint;
use crate::sorted_set::SortedSet;
use crate::strategy::{Holdings, OwnOrder, Quote, Strategy, Targets, View, WantedSwap};
use crate::time::{Time, VenueTime};
use crate::token::Amount;
use crate::withheld::{Compared, Unit};

use crate::engine::intents::lifecycle::{CancelState, Phase};
use crate::engine::intents::registry::Tracked;
use crate::engine::market_data::book::Prices;
use crate::engine::market_data::others::Other;
use crate::engine::orders::builder::WantedQuote;
use crate::engine::orders::diff::{Diff, Missing, Tolerance, Working, WorkingState, diff};
use crate::engine::risk::ramp::{full_size, scaled};

use crate::engine::intents::unquoted::{Findings, waits};
use crate::engine::market::BreakBeforeMake;
use crate::engine::state::{State, StrategySlot};

impl State {
    /// Asks the strategies of every changed market and acts on their targets.
    pub(crate) fn decide(
        &mut self,
        now: Time,
        strategies: &mut [Box<dyn Strategy>],
        actions: &mut Vec<Action>,
    ) {
        if self.is_leaving() {
            return;
        }
        self.use_held_depths(now, actions);
        self.touch_readers(now);
        let batch = self.batch();
        let mut sealed = Vec::new();
        for index in 0..self.markets.len() {
            self.markets[index].decision_due |= self.any_pause_ended(now, index)
                || self.is_asked_for(now, index, strategies)
                || self.has_token_again(now, index);
            if std::mem::take(&mut self.markets[index].decision_due) {
                self.decide_market(now, index, batch, strategies, &mut sealed, actions);
            }
        }
        self.last_decision_at = now;
        if !sealed.is_empty() {
            actions.push(Action::Seal {
                batch,
                intents: sealed,
            });
        }
    }

    fn decide_market(
        &mut self,
        now: Time,
        index: usize,
        batch: crate::event::BatchId,
        strategies: &mut [Box<dyn Strategy>],
        sealed: &mut Vec<Intent>,
        actions: &mut Vec<Action>,
    ) {
        let id = self.markets[index].spec.id;
        let market = &mut self.markets[index];
        (market.counter_frees_at, market.awaits_acceptance) = (None, false);
        let prices = self.prices(id);
        let mid = self.quoting_mid(now, id, &prices);
        let mut findings = Findings::default();
        match mid {
            Ok(_) => self.ramp.begin(now),
            Err(_) => self.ramp.restart(now),
        }
        let recovering = mid.is_err_and(|withheld| withheld.control == Control::Recovering);
        if recovering && !self.recovery_is_held_up() {
            // Orders of an earlier run are judged when it is known which of them rest.
            self.markets[index].unquoted.decide(mid.err(), &findings);
            return;
        }
        let orders = &self.orders;
        let is_alive = |order| orders.get(order).is_some();
        self.markets[index].decisions.begin(is_alive);
        self.cancel_orphans(now, id);
        let mut refused = SortedSet::new();
        let (mut shares, mut swap) = (None, None);
        for (seat, strategy) in strategies.iter_mut().enumerate() {
            if self.slots[seat].market != id {
                continue;
            }
            let working = self.working_of(now, seat);
            let share_bps = self.ramp.share_bps(now, &self.config.ramp);
            let mut targets = match mid {
                Ok(mid) => {
                    let own = at_full_size(&working, share_bps);
                    let before = strategy.view_seq();
                    let targets = self.ask(now, seat, strategy.as_mut(), &own, &prices, mid);
                    self.send_view(seat, strategy.as_ref(), before, actions);
                    targets
                }
                Err(_) => Targets::default(),
            };
            findings.wanted(&targets);
            let because = self.restrict(
                now,
                seat,
                share_bps,
                &mut targets,
                &mut findings,
                &mut refused,
            );
            let because = mid.err().map_or(because, |why| [why; 2]);
            let place = self.compare(now, (index, mid), &targets, &working, because, actions);
            let strategy = self.slots[seat].strategy;
            // One strategy decides about the pool: the first one with a target of shares.
            shares = shares.or(targets.shares().map(|wanted| (strategy, wanted)));
            let wanted = targets.wanted_swap().map(|wanted| wanted.scaled(share_bps));
            swap = swap.or(wanted.map(|wanted| (strategy, wanted)));
            serve(&mut findings, targets.quotes(), &place);
            for missing in &place {
                let Quote { side, qty, .. } = missing.quote;
                self.counters.decided(batch, id, strategy, side, qty);
            }
            for missing in place {
                let alike = |quote: &&Quote| missing.quote.is_like(quote);
                let alike = targets.quotes().iter().filter(alike).count();
                let wanted = WantedQuote {
                    strategy,
                    quote: missing.quote,
                    alike,
                    in_part: targets.is_taken_in_part(missing.quote.side),
                };
                match self.propose(now, index, wanted, mid, batch) {
                    Ok(order) => {
                        self.explain_placed(index, &order, &missing, mid.ok());
                        findings.served(order.side);
                        sealed.push(Intent::Order(order));
                    }
                    Err(withheld) => {
                        let control = withheld.control;
                        self.markets[index].decision_due |= is_tried_again(control);
                        refused.insert(control);
                        findings.refused(missing.quote.side, withheld);
                        self.break_before_make(now, control, &missing);
                    }
                }
            }
        }
        let mut withheld = None;
        for proposed in self.propose_at_pool(now, index, shares, swap, mid, batch) {
            match proposed {
                Ok(intent) => sealed.extend(intent),
                Err(why) => {
                    refused.insert(why.control);
                    withheld = withheld.or(Some(why));
                }
            }
        }
        self.withhold_pool_transaction(index, withheld);
        self.notify_refusals(index, refused, actions);
        self.markets[index].unquoted.decide(mid.err(), &findings);
    }

    /// Removes targets that a pause forbids and scales the others to the ramp's share. Returns why a side has no quotes
    /// then, if it has none.
    fn restrict(
        &self,
        now: Time,
        seat: usize,
        share_bps: u32,
        targets: &mut Targets,
        findings: &mut Findings,
        refused: &mut SortedSet<Control>,
    ) -> [Withheld; 2] {
        let mut because = Side::BOTH.map(|side| why_none(targets, side));
        let held_back = self.drop_held_back(now, seat, targets);
        if held_back.contains(&true) {
            let paused = self.paused(now, self.slots[seat].market);
            refused.insert(Control::Paused);
            findings.taken_out(held_back, paused);
            replace_where(&mut because, held_back, paused);
        }
        let scaled_away = targets.scale(|qty| scaled(qty, share_bps));
        findings.taken_out(scaled_away, ramped(share_bps));
        replace_where(&mut because, scaled_away, ramped(share_bps));
        because
    }

    /// Compares targets with working orders, and moves or cancels what is not wanted any more. Returns the quotes without an
    /// order; `because` is why a side has no quotes.
    fn compare(
        &mut self,
        now: Time,
        (index, mid): (usize, Result<u64, Withheld>),
        targets: &Targets,
        working: &[Working],
        because: [Withheld; 2],
        actions: &mut Vec<Action>,
    ) -> Vec<Missing> {
        let limits = &self.config.markets[index];
        let tolerance = Tolerance {
            price_bps: limits.price_tolerance_bps,
            qty_bps: limits.qty_tolerance_bps,
        };
        let quotes = targets.quotes();
        let mut found = diff(quotes, working, tolerance);
        let amends = self.choose_amends(now, (index, mid), (working, tolerance), &mut found);
        self.let_replacements_wait(now, index, (quotes, working, tolerance), &mut found);
        let Diff {
            cancel,
            place,
            awaits_acceptance,
        } = found;
        let market = &mut self.markets[index];
        market.awaits_acceptance |= awaits_acceptance;
        let decisions = &mut market.decisions;
        decisions.compare(quotes, working, (tolerance, because), &cancel);
        self.send_amends(now, amends, actions);
        for order in cancel {
            self.request_cancel(now, order);
        }
        place
    }

    /// Records why an order is made.
    fn explain_placed(
        &mut self,
        index: usize,
        order: &UnsignedOrder,
        missing: &Missing,
        mid: Option<u64>,
    ) {
        let decision = OrderDecision::Placed {
            wanted: missing.quote,
            mid,
            replaces: missing.replaces,
        };
        let decisions = &mut self.markets[index].decisions;
        decisions.record(order.client_id, decision);
    }

    /// Turns a target of shares, and a wanted swap, into intents at the pool beside a market.
    fn propose_at_pool(
        &mut self,
        now: Time,
        index: usize,
        shares: Option<(StrategyId, Amount)>,
        swap: Option<(StrategyId, WantedSwap)>,
        mid: Result<u64, Withheld>,
        batch: crate::event::BatchId,
    ) -> [Result<Option<Intent>, Withheld>; 2] {
        let transaction = shares.map_or(Ok(None), |(strategy, wanted)| {
            self.propose_pool_transaction(now, index, strategy, wanted, mid, batch)
        });
        let swap = swap.map_or(Ok(None), |wanted| {
            self.propose_swap(now, index, wanted, mid, batch)
        });
        [
            transaction.map(|wanted| wanted.map(Intent::PoolTransaction)),
            swap.map(|order| order.map(Intent::Order)),
        ]
    }

    /// A strategy that decides elsewhere has a new view for its process.
    fn send_view(
        &self,
        slot: usize,
        strategy: &dyn Strategy,
        before: u64,
        actions: &mut Vec<Action>,
    ) {
        let view_seq = strategy.view_seq();
        if view_seq != before {
            let strategy = self.slots[slot].strategy;
            actions.push(Action::SendView { strategy, view_seq });
        }
    }

    /// Emits the controls that refuse in this decision and did not in the previous one.
    fn notify_refusals(
        &mut self,
        index: usize,
        refused: SortedSet<Control>,
        actions: &mut Vec<Action>,
    ) {
        let market = &mut self.markets[index];
        let known = &market.refused_by;
        for control in refused.iter().filter(|control| !known.contains(control)) {
            actions.push(Action::Notify(Notification::RiskRefused {
                market: market.spec.id,
                control: *control,
            }));
        }
        market.refused_by = refused;
    }

    /// Records why a wanted join, exit or swap was not made.
    fn withhold_pool_transaction(&mut self, index: usize, withheld: Option<Withheld>) {
        let market = &mut self.markets[index];
        market.decision_due |= withheld.is_some_and(|why| is_tried_again(why.control));
        if let Some(pool) = &mut market.pool {
            pool.withheld = withheld;
        }
    }

    /// The list has been read and an order of an earlier run is still unknown: readiness may have to wait for its
    /// fence, and until then nothing would manage the ones that rest.
    pub(crate) fn recovery_is_held_up(&self) -> bool {
        let mut lives = self.orders.lives();
        self.last_complete_scan_at.is_some()
            && lives.any(|(_, lifecycle)| lifecycle.unknown_since().is_some())
    }

    /// Cancels orders of an earlier run whose strategy no longer quotes this market.
    fn cancel_orphans(&mut self, now: Time, market: MarketId) {
        let has_seat = |strategy: StrategyId| {
            self.slots
                .iter()
                .any(|seat| seat.strategy == strategy && seat.market == market)
        };
        let orphans: Vec<_> = self
            .orders
            .of_market(market)
            .map(|t| t.order.client_id)
            .filter(|id| !has_seat(id.strategy))
            .collect();
        for id in orphans {
            let decision = OrderDecision::Cancelled(CancelCause::NoStrategy);
            self.market_mut(market).decisions.record(id, decision);
            self.request_cancel(now, id);
        }
    }

    /// Passes the view of a market to a strategy, and takes its targets.
    pub(crate) fn ask(
        &mut self,
        now: Time,
        seat: usize,
        strategy: &mut dyn Strategy,
        own: &[OwnOrder],
        prices: &Prices,
        mid: u64,
    ) -> Targets {
        let fills = std::mem::take(&mut self.slots[seat].fills);
        let spec = &self.market(self.slots[seat].market).spec;
        let others = self.others(now, seat);
        let markets: Vec<_> = others.iter().map(Other::view).collect();
        let view = View {
            now,
            market: spec,
            bids: &prices.bids,
            asks: &prices.asks,
            mid,
            holdings: Holdings {
                base: self.ledger.total(spec.base.id),
                quote: self.ledger.total(spec.quote.id),
            },
            pool: self.pool_view(now, spec.id),
            references: &self.references.of(spec.id, now),
            markets: &markets,
            own,
            fills: &fills,
            traded: self.slots[seat].traded,
            unknown: self.unknown_amounts(now, seat),
            taker_fee_bips: self.taker_fee_bips,
        };
        let mut targets = Targets::default();
        strategy.decide(&view, &mut targets);
        targets
    }

    /// Base units that orders of unknown state of a strategy slot may still trade, by side.
    fn unknown_amounts(&self, now: Time, seat: usize) -> [Amount; 2] {
        let StrategySlot {
            strategy, market, ..
        } = self.slots[seat];
        let mut amounts = [0; 2];
        if !self.orders.outline().unresolved {
            return amounts;
        }
        for tracked in self.orders.of_strategy(market, strategy) {
            let venue_now = self.clock.at_least(now);
            if self.working(now, venue_now, tracked).state == WorkingState::Unknown {
                let amount: &mut Amount = &mut amounts[tracked.order.side as usize];
                *amount = amount.saturating_add(tracked.base_left(tracked.base_amount()));
            }
        }
        amounts
    }

    /// Whether a strategy of the market wanted to be asked again by now.
    fn is_asked_for(&self, now: Time, index: usize, strategies: &[Box<dyn Strategy>]) -> bool {
        let id = self.markets[index].spec.id;
        let passed = |at: Time| self.last_decision_at < at && at <= now;
        let own = self.slots.iter().zip(strategies);
        own.filter(|(slot, _)| slot.market == id)
            .any(|(_, strategy)| strategy.next_decision().is_some_and(passed))
    }

    /// Whether a target that lacked a request token is decided again, because there is one. Until then the market waits
    /// for it, unless something else changes.
    fn has_token_again(&mut self, now: Time, index: usize) -> bool {
        let reports = self.reports_awaited();
        let market = &self.markets[index];
        if market.decision_due || !market.refused_by.contains(&Control::Budget) {
            return false;
        }
        let at_pool = [Endpoint::Join, Endpoint::Exit];
        let has_pool = market.pool.is_some();
        let at_pool = at_pool.into_iter().filter(|_| has_pool);
        let endpoints = std::iter::once(Endpoint::Submit).chain(at_pool);
        let has_token = |endpoint| self.budget.has(now, endpoint, reports);
        if endpoints.clone().any(has_token) {
            return true;
        }
        for endpoint in endpoints {
            self.lack_budget(endpoint, reports);
        }
        false
    }

    /// Removes targets that a pause forbids; returns by side whether there were any.
    fn drop_held_back(&self, now: Time, seat: usize, targets: &mut Targets) -> [bool; 2] {
        let venue_now = self.clock.at_least(now);
        let StrategySlot {
            strategy, market, ..
        } = self.slots[seat];
        let held = |side| {
            self.restrictions
                .hold_back(venue_now, market, side, strategy)
        };
        targets.retain(|quote| !held(quote.side))
    }

    /// The pause of the market, or of a part of it, with its end.
    fn paused(&self, now: Time, market: MarketId) -> Withheld {
        let venue_now = self.clock.at_least(now);
        let concerns = |id: &Option<MarketId>| id.is_none_or(|id| id == market);
        let holding = self.newest().holding(venue_now);
        let ends = holding.filter(|pause| concerns(&pause.filter.market));
        let ends: Option<Vec<_>> = ends.map(|pause| pause.until).collect();
        // A pause without an end is lifted only by an operator.
        let last = ends.and_then(|ends| ends.into_iter().max());
        last.map_or_else(
            || Control::Paused.into(),
            |last| waits(Control::Paused, last.ms_since(venue_now)),
        )
    }

    /// The orders of a strategy slot as the comparison uses them, oldest first.
    pub(crate) fn working_of(&self, now: Time, seat: usize) -> Vec<Working> {
        let StrategySlot {
            strategy, market, ..
        } = self.slots[seat];
        let mut working = Vec::with_capacity(self.orders.len());
        let own = self.orders.of_strategy(market, strategy);
        let venue_now = self.clock.at_least(now);
        working.extend(own.map(|t| self.working(now, venue_now, t)));
        working
    }

    /// Where funds or limits do not allow old and new order at once, the expiring one is cancelled first.
    fn break_before_make(&mut self, now: Time, control: Control, missing: &Missing) {
        let short = matches!(
            control,
            Control::Balance | Control::InventoryBand | Control::OpenOrders | Control::SelfCross
        );
        if let (true, Some(old)) = (short, missing.replaces) {
            if let Some(market) = self.orders.get(old).map(|t| t.order.market) {
                let broken =
                    &mut self.market_mut(market).break_before_make[missing.quote.side as usize];
                if *broken == BreakBeforeMake::No {
                    *broken = BreakBeforeMake::Decided;
                }
                let decision = OrderDecision::Cancelled(CancelCause::NoRoom(control));
                self.market_mut(market).decisions.record(old, decision);
            }
            self.request_cancel(now, old);
        }
    }

    /// Decides to cancel an order. Its bytes are not sent any more; what may rest is cancelled at the venue as the
    /// budget allows, and an order that was never sent is dropped.
    pub(crate) fn request_cancel(&mut self, now: Time, id: ClientOrderId) {
        if let Some(tracked) = self.orders.get_mut(id)
            && tracked.lifecycle.cancel.is_none()
        {
            tracked.lifecycle.cancel = Some(CancelState {
                decided: now,
                last_sent: None,
                in_flight: None,
                answered: None,
                attempts: 0,
            });
        }
    }

    fn working(&self, now: Time, venue_now: VenueTime, tracked: &Tracked) -> Working {
        let spec = &self.market(tracked.order.market).spec;
        let state = match tracked.lifecycle.phase {
            _ if tracked.lifecycle.cancel.is_some() => WorkingState::Cancelling,
            Phase::InFlight => WorkingState::InFlight,
            Phase::Sealing | Phase::Sealed => WorkingState::Pending,
            Phase::Unknown {
                answered: false, ..
            } if self.may_be_resent(now, tracked.order.client_id, &tracked.lifecycle) => {
                WorkingState::Pending
            }
            Phase::Unknown { .. } => WorkingState::Unknown,
            Phase::Live if tracked.amends.moving_to().is_some() => WorkingState::InFlight,
            Phase::Live => WorkingState::Live,
        };
        Working {
            id: tracked.order.client_id,
            side: tracked.order.side,
            price: tracked.amends.moving_to().unwrap_or(tracked.price()),
            remaining: spec.lots_floor(tracked.base_left(tracked.base_amount())),
            state,
            expiring: venue_now >= self.refresh_at(tracked),
        }
    }

    /// The venue time at which an order is due for replacement.
    pub(crate) fn refresh_at(&self, tracked: &Tracked) -> VenueTime {
        self.refresh_before(tracked.rests_until())
    }

    /// The same for one that rests until then.
    pub(crate) fn refresh_before(&self, rests_until: VenueTime) -> VenueTime {
        rests_until.minus_ms(self.config.refresh_before_ms)
    }

    /// Whether a decision is due for another reason than the book or the orders: an order is due for replacement,
    /// prices became too old, or quoting was allowed or forbidden.
    fn any_pause_ended(&self, now: Time, index: usize) -> bool {
        let market = &self.markets[index];
        let (id, limits) = (market.spec.id, &self.config.markets[index]);
        let age_max_ms = self.config.poll.depth_age_max_ms;
        let barred = self
            .closed(now, id)
            .or_else(|| market.book.lapsed(now, limits, age_max_ms));
        let changed = match barred {
            Some(why) => !market.unquoted.barred.is_some_and(|was| was.is_alike(&why)),
            // Reasons of the book were evaluated when it was accepted.
            None => matches!(
                market.unquoted.barred.map(|why| why.control),
                Some(
                    Control::Level
                        | Control::Recovering
                        | Control::OtherInstance
                        | Control::BooksDiffer
                        | Control::Permission
                        | Control::Listing
                        | Control::StaleData
                        | Control::FrozenBook
                )
            ),
        };
        let venue_now = self.clock.at_least(now);
        let expires = |t: &Tracked| t.lifecycle.cancel.is_none() && venue_now >= self.refresh_at(t);
        let any_expires = venue_now >= self.refresh_before(self.orders.outline().rests_until);
        let grown = self.ramp.share_bps(now, &self.config.ramp)
            != self
                .ramp
                .share_bps(self.last_decision_at, &self.config.ramp);
        let lapsed = self.references.lapsed(id, self.last_decision_at, now);
        let has_room = market.counter_frees_at.is_some_and(|at| at <= now);
        let expires = any_expires && self.orders.of_market(id).any(expires);
        changed || grown || lapsed || has_room || expires
    }
}

/// Whether a refused target is decided again at the next wake-up, because a pause after refusals may have ended.
fn is_tried_again(control: Control) -> bool {
    matches!(control, Control::VenueRefusal | Control::Signer)
}

/// Sides on which a target has its order.
fn serve(findings: &mut Findings, quotes: &[Quote], place: &[Missing]) {
    for side in Side::BOTH {
        let wanted = quotes.iter().filter(|quote| quote.side == side);
        let missing = place.iter().filter(|missing| missing.quote.side == side);
        if wanted.count() > missing.count() {
            findings.served(side);
        }
    }
}

/// Why a strategy has no quotes on a side, if it has none.
fn why_none(targets: &Targets, side: Side) -> Withheld {
    targets.withheld(side).unwrap_or(Control::NotWanted.into())
}

/// Replaces the reasons of some sides.
fn replace_where(because: &mut [Withheld; 2], sides: [bool; 2], why: Withheld) {
    for (because, _) in because.iter_mut().zip(sides).filter(|(_, is)| *is) {
        *because = why;
    }
}

/// The ramp's share leaves less than a lot.
fn ramped(share_bps: u32) -> Withheld {
    let compared = Compared::new(Unit::Bps, "ramp.start_bps", share_bps, 10_000);
    Withheld::compared(Control::Ramp, compared)
}

/// Own orders as a strategy sees them. Its targets are scaled to the ramp's share, so the strategy sees its orders at
/// full size: otherwise an order that it keeps would be scaled once more.
pub(crate) fn at_full_size(working: &[Working], share_bps: u32) -> Vec<OwnOrder> {
    let mut own = Vec::with_capacity(working.len());
    own.extend(working.iter().filter_map(own_order));
    for order in &mut own {
        order.remaining = full_size(order.remaining, share_bps);
    }
    own
}

fn own_order(working: &Working) -> Option<OwnOrder> {
    let cancelling = match working.state {
        WorkingState::Live | WorkingState::InFlight | WorkingState::Pending => false,
        WorkingState::Cancelling => true,
        WorkingState::Unknown => return None,
    };
    Some(OwnOrder {
        id: working.id,
        side: working.side,
        price: working.price,
        remaining: working.remaining,
        expiring: working.expiring,
        cancelling,
    })
}
