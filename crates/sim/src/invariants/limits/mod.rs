//! Limits: whether everything sealed and sent is within every limit of the configuration in force. Each is derived a
//! second time, from the events and targets that the engine received, its requests, and the exchange's executions; no
//! code of the gate is shared.
//!
//! Where the engine may know less than the truth, the truth is on the stricter side of its knowledge, so that a limit
//! violated here was violated there.

pub(crate) mod exposure;
mod losses;
mod order;
mod pauses;
pub(crate) mod recent;
pub(crate) mod strategy_calls;
mod swaps;

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::config::EngineConfig;
use cambist_core::control::Control;
use cambist_core::event::{Command, Event, Start};
use cambist_core::level::Rate;
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::portfolio::Portfolio;
use cambist_core::request::{Outcome, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::Quote;
use cambist_core::{
    Amount, ClientOrderId, Hash, MarketId, MarketSpec, Price, Qty, Side, StrategyId, Time, TokenId,
    VenueTime,
};

use crate::invariants::ground_truth::GroundTruth;
use crate::invariants::sending::Broken;

pub(crate) use crate::invariants::limits::losses::Booked;
use crate::invariants::limits::losses::Losses;
use crate::invariants::limits::order::{check_book, sane};
use crate::invariants::limits::pauses::Pauses;
use crate::invariants::limits::recent::{MINUTE_MS, Recent};
pub(crate) use crate::invariants::limits::strategy_calls::{StrategyCall, StrategyCalls};

/// Observations are kept for this time.
const KEPT_MS: u64 = 120_000;
const WHOLE_BPS: u128 = 10_000;

/// An order that may be alive.
#[derive(Clone, Debug)]
struct LiveOrder {
    order: UnsignedOrder,
    hash: Option<Hash>,
}

/// What makes two orders equal.
type Like = (MarketId, StrategyId, Side, Price, Qty);

/// Observations of a market.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The mid of the last accepted depth, if it had one.
    mid: Option<u64>,
    /// Depths accepted.
    depths: u64,
    /// The lowest mid of this run.
    lowest: Option<u64>,
}

/// The inputs of all limits, for one run of the daemon.
#[derive(Debug)]
pub(crate) struct Limits {
    specs: Vec<MarketSpec>,
    seats: Vec<(StrategyId, MarketId)>,
    calls: StrategyCalls,
    alive: BTreeMap<ClientOrderId, LiveOrder>,
    observed: SortedMap<MarketId, Seen>,
    /// Base units signed by token, with expiry.
    signed: Vec<(TokenId, u32, Amount)>,
    sealed: Recent<Like>,
    swaps: Recent<()>,
    /// Joins and exits that may be undecided, with their markets.
    pool_transactions: BTreeMap<ClientOrderId, MarketId>,
    /// When the last join, exit or swap of a pool ended, and when a pool's balances were last received.
    pool_ended: SortedMap<MarketId, Time>,
    pool_read: Option<Time>,
    cancels: Recent<()>,
    sent: Recent<()>,
    fills: Recent<()>,
    filled: Recent<()>,
    /// Whether more orders were sent, or filled completely, than any budget explains.
    wild: bool,
    /// When balances and a page of orders were last received.
    balances: Option<Time>,
    orders: Option<Time>,
    /// Since when size may have increased.
    healthy: Option<Time>,
    pauses: Pauses,
    losses: Losses,
    /// What counts beside the venue, as the engine got it last.
    portfolio: Portfolio,
    /// Purchases that were handed over for sealing, by the bought token.
    purchases: SortedMap<TokenId, u64>,
}

/// Our balance at the exchange.
pub(crate) type Held<'a> = &'a dyn Fn(TokenId) -> Amount;

impl Limits {
    /// A run that starts with this state.
    pub(crate) fn begin(
        specs: &[MarketSpec],
        calls: StrategyCalls,
        start: &Start,
        booked: Booked<'_>,
    ) -> Self {
        let recovered = start.open.iter().map(|open| {
            let (order, hash) = (open.order.clone(), Some(open.hash));
            (open.order.client_id, LiveOrder { order, hash })
        });
        Self {
            specs: specs.to_vec(),
            seats: start.strategies.clone(),
            calls,
            alive: recovered.collect(),
            observed: SortedMap::new(),
            signed: start.signed.clone(),
            sealed: Recent::of(KEPT_MS),
            swaps: Recent::of(KEPT_MS),
            pool_transactions: start
                .open_pool_transactions
                .iter()
                .map(|open| (open.transaction.client_id, open.transaction.market))
                .collect(),
            pool_ended: SortedMap::new(),
            pool_read: None,
            cancels: Recent::of(KEPT_MS),
            sent: Recent::of(KEPT_MS),
            fills: Recent::of(KEPT_MS),
            filled: Recent::of(KEPT_MS),
            wild: false,
            balances: None,
            orders: None,
            healthy: None,
            pauses: Pauses::begin(&start.restrictions),
            portfolio: Portfolio::default(),
            purchases: SortedMap::new(),
            losses: Losses::begin(start, booked),
        }
    }

    /// A flow was explained while no daemon ran, at the prices of the durable baselines.
    pub(crate) fn explained_offline(
        &mut self,
        flow: (TokenId, i128),
        stored: &dyn Fn(MarketId) -> Option<Rate>,
    ) {
        self.losses.explain(&self.specs, flow, stored);
    }

    /// Compares the start of a run with the bookings.
    pub(crate) fn differs(&self, start: &Start, booked: Booked<'_>) -> Option<Broken> {
        self.losses.differs(start, booked)
    }

    /// Another run starts: nothing was lowered since this one.
    pub(crate) fn forgotten(&self, start: &Start) -> Option<Broken> {
        self.losses.forgotten(start)
    }

    /// Records an event of the daemon.
    pub(crate) fn handle_event(&mut self, shown: Time, event: &Event) {
        self.pauses.handle_event(event);
        if matches!(event, Event::Operator(Command::Lower { .. })) {
            self.wild = false;
            self.losses = Losses::default();
        }
        if let Event::Portfolio(portfolio) = event {
            self.portfolio.clone_from(portfolio);
        }
        let Event::Answer {
            outcome: Outcome::Reply(reply),
            ..
        } = event
        else {
            return;
        };
        match reply {
            Reply::Balances(_) | Reply::ChargedBalances(_) => self.balances = Some(shown),
            Reply::PoolBalance(_) => self.pool_read = Some(shown),
            Reply::Orders { .. } | Reply::OrdersUntil { .. } => self.orders = Some(shown),
            _ => {}
        }
    }

    /// Checks a notification of the daemon.
    pub(crate) fn observe(
        &mut self,
        shown: Time,
        notification: &Notification,
        engine: &EngineConfig,
    ) -> Vec<Broken> {
        match notification {
            Notification::DepthAccepted { market, mid, .. } => {
                let observed = self.observed.entry(*market).or_default();
                observed.mid = *mid;
                observed.lowest = match (observed.lowest, *mid) {
                    (Some(lowest), Some(mid)) => Some(lowest.min(mid)),
                    (lowest, mid) => lowest.or(mid),
                };
                observed.depths += 1;
                if let Some(mid) = mid {
                    self.pauses.moved(shown, *market, *mid, &engine.risk);
                    let at = usize::from(market.0);
                    let observed = (&self.specs[at], *mid);
                    self.losses
                        .observe_mid(shown, observed, &engine.markets[at]);
                }
            }
            Notification::Filled(fill) => {
                self.fills.add(shown, ());
                let fee_in = self.specs[usize::from(fill.market.0)].fee_in;
                self.losses.fill(fee_in, fill);
            }
            Notification::PoolTransactionSubmitted { order, market, .. } => {
                self.pool_transactions.insert(*order, *market);
            }
            Notification::PoolTransactionEnded { order, market, .. } => {
                self.pool_transactions.remove(order);
                self.pool_ended.insert(*market, shown);
            }
            Notification::Ended {
                order, end, market, ..
            } => {
                if self
                    .alive
                    .get(order)
                    .is_some_and(|alive| alive.order.is_swap())
                {
                    self.pool_ended.insert(*market, shown);
                }
                if *end == cambist_core::notification::End::Filled {
                    self.filled.add(shown, ());
                    self.grow_wild(shown, engine);
                }
                self.alive.remove(order);
            }
            Notification::CancelSent { .. } => self.cancels.add(shown, ()),
            Notification::Ready { .. } => {
                let depths = |market| {
                    self.observed
                        .get(&market)
                        .map_or(0, |observed| observed.depths)
                };
                self.losses.opens(&depths);
            }
            // The pause applies from now on; it is reported when stored, which may be later.
            Notification::RiskRefused {
                market,
                control: Control::LossHour,
            } => self.losses.paused(*market),
            Notification::Unpaused { filter, .. } => {
                if let Some(market) = filter.market {
                    self.losses.pause_ended(market);
                }
            }
            Notification::Adopted { token, amount, .. } => {
                let flow = (*token, *amount);
                self.losses.explain(&self.specs, flow, &|_| None);
            }
            Notification::Slept { .. } | Notification::InvariantFailed { .. } => {
                self.healthy = self.healthy.map(|_| shown);
            }
            _ => {}
        }
        self.pauses.observe(notification, &engine.risk)
    }

    fn grow_wild(&mut self, shown: Time, engine: &EngineConfig) {
        let most = u64::from(engine.risk.executions_per_min);
        self.wild |= self.sent.count(shown, MINUTE_MS) >= most
            || self.filled.count(shown, MINUTE_MS) >= most;
    }

    /// The prices of sources that strategies were shown in the last step, which was at this time, with their markets.
    pub(crate) fn references_at(
        &self,
        shown: Time,
    ) -> impl Iterator<Item = (MarketId, Vec<Option<u64>>)> + '_ {
        let seats = self.seats.iter().enumerate();
        seats.filter_map(move |(seat, (_, market))| {
            let references = self.calls.take_references(seat, shown)?;
            Some((*market, references))
        })
    }

    /// The mids of other markets that strategies were shown in the last step, which was at this time.
    pub(crate) fn others_at(&self, shown: Time) -> impl Iterator<Item = (MarketId, u64)> + '_ {
        (0..self.seats.len())
            .flat_map(move |seat| self.calls.take_others(seat, shown))
            .filter_map(|(market, mid)| Some((market, mid?)))
    }

    /// The other markets whose mids the decision about an order was shown.
    pub(crate) fn others_of(
        &self,
        order: &UnsignedOrder,
        shown: Time,
    ) -> impl Iterator<Item = MarketId> + use<> {
        let call = self.call_of(order).filter(|call| call.at == shown);
        let others = call.map_or_else(Vec::new, |call| call.others);
        let with_mid = others.into_iter().filter(|(_, mid)| mid.is_some());
        with_mid.map(|(market, _)| market)
    }

    /// Samples the views of the strategies since the last step.
    pub(crate) fn sample_views(&mut self, shown: Time, engine: &EngineConfig) {
        for (seat, (_, market)) in self.seats.iter().enumerate() {
            let Some(call) = self.calls.at(seat, shown) else {
                continue;
            };
            self.healthy.get_or_insert(shown);
            let spec = &self.specs[usize::from(market.0)];
            let limits = &engine.markets[usize::from(market.0)];
            let depths = self
                .observed
                .get(market)
                .map_or(0, |observed| observed.depths);
            self.losses.measure(shown, depths, (spec, call.mid), limits);
        }
    }

    /// Checks orders of one decision that are handed over for sealing.
    pub(crate) fn sealing(
        &mut self,
        (shown, venue_now): (Time, VenueTime),
        orders: &[UnsignedOrder],
        engine: &EngineConfig,
        (ground_truth, held): (&GroundTruth, Held<'_>),
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        for order in orders {
            let index = usize::from(order.market.0);
            let (spec, limits) = (self.specs[index].clone(), &engine.markets[index]);
            let call = self.call_of(order).filter(|call| call.at == shown);
            if order.is_swap() {
                let rules = (&spec, engine);
                self.check_swap(shown, order, call.as_ref(), rules, &mut broken);
                self.swaps.add(shown, ());
            } else if let Some(call) = call {
                self.check_target(shown, order, &call, engine, &mut broken);
                check_book(order, &call, limits, &mut broken);
            } else {
                let detail = format!("{} belongs to no decision", order.client_id);
                broken.push((Invariant::Unwanted, detail));
            }
            sane(order, &spec, engine, &mut broken);
            let alive = LiveOrder {
                order: order.clone(),
                hash: None,
            };
            self.alive.insert(order.client_id, alive);
            self.counts(shown, order, engine, &mut broken);
            self.signs(venue_now, order, &spec, engine, &mut broken);
            self.exposes(order, &spec, engine, (ground_truth, held), &mut broken);
        }
        self.check_decision(shown, orders, engine, &mut broken);
        broken.extend(self.may_trade(shown, None, orders.iter(), engine));
        broken
    }

    /// Checks an order whose bytes are sent, for the first time or again.
    pub(crate) fn leaving(
        &mut self,
        shown: Time,
        (id, hash): (ClientOrderId, Hash),
        venue_now: VenueTime,
        engine: &EngineConfig,
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        if self.wild {
            let detail = format!("{id} leaves after too much was sent or filled");
            broken.push((Invariant::Executions, detail));
        }
        self.sent.add(shown, ());
        self.grow_wild(shown, engine);
        let Some(alive) = self.alive.get_mut(&id) else {
            return broken;
        };
        alive.hash = Some(hash);
        let order = alive.order.clone();
        broken.extend(self.may_trade(shown, Some(venue_now), std::iter::once(&order), engine));
        broken
    }

    /// Checks a join or an exit that is sent: a restriction of either side of its market forbids it.
    pub(crate) fn moving(
        &self,
        shown: Time,
        venue_now: VenueTime,
        (id, market): (ClientOrderId, MarketId),
    ) -> Vec<Broken> {
        let sides = Side::BOTH.into_iter();
        let of_side = |side| {
            self.pauses
                .forbid(shown, Some(venue_now), (id, market, side))
        };
        sides.flat_map(of_side).collect()
    }

    /// Conditions of everything that is sealed or sent.
    fn may_trade<'a>(
        &self,
        shown: Time,
        venue_now: Option<VenueTime>,
        orders: impl Iterator<Item = &'a UnsignedOrder>,
        engine: &EngineConfig,
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        for order in orders {
            let id = order.client_id;
            let limits = &engine.markets[usize::from(order.market.0)];
            let observed = self.observed.get(&order.market);
            match observed.and_then(|observed| observed.mid) {
                Some(mid) => {
                    let away = u128::from((order.price.0 * 2).abs_diff(mid));
                    if away * WHOLE_BPS > u128::from(limits.collar_bps) * u128::from(mid) {
                        let detail = format!("{id} at {} with the mid at {mid}/2", order.price.0);
                        broken.push((Invariant::PriceCollar, detail));
                    }
                }
                None => {
                    broken.push((Invariant::NoPrice, format!("{id} without a mid")));
                }
            }
            let poll = &engine.poll;
            let known = [
                ("balances", self.balances, poll.balances_age_max_ms),
                ("orders", self.orders, poll.orders_age_max_ms),
            ];
            for (what, at, most_ms) in known {
                if at.is_none_or(|at| shown.ms_since(at) > most_ms) {
                    let detail = format!("{id} leaves with {what} of {at:?}");
                    broken.push((Invariant::StaleBooks, detail));
                }
            }
            broken.extend(
                self.pauses
                    .forbid(shown, venue_now, (id, order.market, order.side)),
            );
            broken.extend(self.losses.forbid(order));
        }
        broken
    }

    fn call_of(&self, order: &UnsignedOrder) -> Option<StrategyCall> {
        let seat = (order.client_id.strategy, order.market);
        let at = self.seats.iter().position(|known| *known == seat)?;
        self.calls.of(at)
    }

    /// The share of full size that healthy time allows, in ten-thousandths.
    fn share_bps(&self, shown: Time, engine: &EngineConfig) -> u128 {
        let ramp = engine.ramp;
        let healthy_ms = self.healthy.map_or(0, |since| shown.ms_since(since));
        let steps = u128::from(healthy_ms / ramp.step_ms.max(1));
        (u128::from(ramp.start_bps) + steps * u128::from(ramp.step_bps)).min(WHOLE_BPS)
    }

    /// The strategy has a target at that price, of at least this size, and as many of them.
    fn check_target(
        &self,
        shown: Time,
        order: &UnsignedOrder,
        call: &StrategyCall,
        engine: &EngineConfig,
        broken: &mut Vec<Broken>,
    ) {
        let id = order.client_id;
        let share_bps = self.share_bps(shown, engine);
        let like = |quote: &&Quote| quote.side == order.side && quote.price == order.price;
        let targets = call.quotes.iter().filter(like);
        let Some(most) = targets.clone().map(|quote| quote.qty.0).max() else {
            let detail = format!("{id} at {}, which is no target", order.price.0);
            return broken.push((Invariant::Unwanted, detail));
        };
        if u128::from(order.qty.0) * WHOLE_BPS > u128::from(most) * share_bps {
            let detail = format!("{id}: {} lots of {most} at {share_bps} bps", order.qty.0);
            broken.push((Invariant::Ramp, detail));
        }
        let like = like_of(order);
        let recent = self.sealed.within(shown, engine.risk.duplicate_ms);
        let equal_orders = recent.filter(|made| **made == like).count();
        if equal_orders >= targets.count() {
            broken.push((
                Invariant::Duplicate,
                format!("{id} is like {equal_orders} before it"),
            ));
        }
    }

    /// All orders of a decision together are within it, by strategy, market and side.
    fn check_decision(
        &self,
        shown: Time,
        orders: &[UnsignedOrder],
        engine: &EngineConfig,
        broken: &mut Vec<Broken>,
    ) {
        let part = |o: &UnsignedOrder| (o.client_id.strategy, o.market, o.side);
        let on_book = || orders.iter().filter(|o| !o.is_swap());
        for part_of in on_book().map(part).collect::<BTreeSet<_>>() {
            let of_part: Vec<_> = on_book().filter(|o| part(o) == part_of).collect();
            let lots: u128 = of_part.iter().map(|o| u128::from(o.qty.0)).sum();
            let call = of_part.first().and_then(|order| self.call_of(order));
            let targets = call.map_or(0, |call| {
                let quotes = call.quotes.iter().filter(|q| q.side == part_of.2);
                quotes.map(|q| u128::from(q.qty.0)).sum::<u128>()
            });
            if lots * WHOLE_BPS > targets * self.share_bps(shown, engine) {
                let detail = format!("{lots} lots sealed of {targets} wanted");
                broken.push((Invariant::ParentChild, detail));
            }
        }
    }
}

const fn like_of(order: &UnsignedOrder) -> Like {
    let strategy = order.client_id.strategy;
    (order.market, strategy, order.side, order.price, order.qty)
}
