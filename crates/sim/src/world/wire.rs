//! Transmission of requests to the venue and of answers back.

use crate::invariants::table::Invariant;
use cambist_core::event::Event;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Amend, Endpoint, Outcome, Query, Reply, RequestId, UnknownCause};
use cambist_core::{Amount, ClientOrderId, MarketId, Reason, Side, Time, VenueTime};
use cambist_kraken_venue::rules::CALL;
use cambist_venue::{NewOrder, Request, Response, Submitted};

use crate::exchange::OWN_ACCOUNT;
use crate::faults::kinds::FaultKind;
use crate::faults::network::{Gateway, Inbound, Outbound};
use crate::invariants::sending::{Broken, Leaving};
use crate::remote::Sent;
use crate::sealer::Sealer;
use crate::sequenced;
use crate::venue_adapter;
use crate::workload::pool;

use super::World;
use crate::world::events::WorldEvent;

/// What the daemon sends.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// A request to the exchange, or to what is in front of its matching.
    Venue(Request),
    /// A request to nodes of the chain.
    Chain(Query),
    /// A move of an order to another price, and the order's whole base at it in quote units.
    Amend {
        /// The amend.
        amend: Amend,
        /// Quote units.
        quote: Amount,
    },
    /// The stored bytes of an intent, to nodes of the chain.
    Bundle {
        /// Its intent.
        id: ClientOrderId,
        /// Join or exit.
        endpoint: Endpoint,
        /// Until when it moves anything, in seconds of the chain's time.
        valid_until_s: u32,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

impl Asked {
    /// Its endpoint.
    const fn endpoint(&self) -> Endpoint {
        match self {
            Self::Venue(request) => endpoint_of(request),
            Self::Chain(query) => query.endpoint(),
            Self::Amend { .. } => Endpoint::Amend,
            Self::Bundle { endpoint, .. } => *endpoint,
        }
    }

    /// Until when its bytes create or move something; nothing else has such a time.
    const fn valid_until_s(&self) -> Option<u64> {
        match self {
            Self::Venue(Request::Submit(order)) => Some(order.valid_until_s),
            Self::Venue(Request::Join(join)) => Some(join.valid_until_s),
            Self::Venue(Request::Exit(exit)) => Some(exit.valid_until_s),
            Self::Bundle { valid_until_s, .. } => Some(*valid_until_s as u64),
            Self::Venue(_) | Self::Chain(_) | Self::Amend { .. } => None,
        }
    }
}

/// The end of a request as the daemon receives it.
pub(super) struct Received {
    outcome: Outcome,
    /// The timestamp of the answer.
    venue_time: Option<VenueTime>,
    /// When the exchange generated it, if it did.
    drawn: Option<VenueTime>,
    retry_after_ms: Option<u64>,
}

impl From<Outcome> for Received {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            venue_time: None,
            drawn: None,
            retry_after_ms: None,
        }
    }
}

impl World {
    pub(super) fn transmit_order(&mut self, request: RequestId, id: ClientOrderId) {
        let sealed = self
            .daemon
            .as_ref()
            .and_then(|d| d.sealed.get(&id).cloned());
        let Some((order, hash)) = sealed else {
            return self.checks.fail(
                Invariant::NotSealed,
                format!("{id} is to leave and was never sealed"),
            );
        };
        let again = self.checks.has_left(id);
        self.checks
            .leaving(order.client_id, hash, self.disk.durable());
        self.checks.slot(&order, again, self.config.rules.slots);
        self.leave(order.client_id, order.market, order.accepted_until_s);
        let limits = &self.config.engine.markets[usize::from(order.market.0)];
        self.loss.left(&order, limits.signed_unexpired_max);
        let venue_now = self.exchange.clock(self.now);
        let left = (order.client_id, hash);
        let broken = self.limits.as_mut();
        let broken = broken.map(|l| l.leaving(self.shown, left, venue_now, &self.config.engine));
        self.break_rules(broken.into_iter().flatten());
        if again {
            self.obey_budget(Endpoint::Submit);
        }
        if let Some(connection) = &mut self.connection {
            connection.leaves(request, Sent::Order(Box::new(order.clone())));
        }
        let bundle = self.chain.as_ref().and_then(|link| link.bytes(id));
        if let Some(bytes) = bundle {
            let asked = Asked::Bundle {
                id,
                endpoint: Endpoint::Submit,
                valid_until_s: order.accepted_until_s,
                bytes: bytes.to_vec(),
            };
            return self.send(request, Endpoint::Submit, asked);
        }
        self.exchange.bears_expiry(hash, order.rests_until_s);
        let exchange = self.config.venue.exchange;
        let mut asked =
            venue_adapter::submit(OWN_ACCOUNT, exchange, &order, hash, self.pool_of(&order));
        if let Request::Submit(sent) = &mut asked {
            self.sealer.arrives(OWN_ACCOUNT.0, &order, sent);
        }
        self.send(request, Endpoint::Submit, Asked::Venue(asked));
    }

    /// The address of the pool that a swap trades with.
    fn pool_of(&self, order: &UnsignedOrder) -> Option<[u8; 20]> {
        let mut pools = self.pools.iter().filter(|_| order.is_swap());
        let beside = pools.find(|pool| pool.market == order.market);
        beside.map(|pool| pool.address)
    }

    /// Sends a poll or a cancel.
    pub(super) fn ask(&mut self, request: RequestId, query: &Query) {
        self.sending_rules.asks(request, query);
        if let Some(ledger) = &mut self.ledger {
            ledger.asks(request, query);
        }
        if let Query::Cancel(hash) = query
            && self.active_faults.others.contains_key(hash)
        {
            let detail = format!("{hash} is of another instance");
            self.checks.fail(Invariant::CancelledAnothers, detail);
        }
        if let Query::Cancel(hash) = query
            && self
                .ground_truth
                .get(hash)
                .is_some_and(|taken| taken.is_swap)
        {
            self.checks.fail(Invariant::SwapCancelled, hash.to_string());
        }
        self.obey_budget(query.endpoint());
        if let Some(connection) = &mut self.connection {
            connection.leaves(request, Sent::Query(query.clone()));
        }
        let asked = match query {
            Query::Amend(amend) => self.amend_of(amend),
            _ if self.chain.is_some() => Some(Asked::Chain(query.clone())),
            _ => pool::request(OWN_ACCOUNT, &self.pools, query)
                .or_else(|| venue_adapter::request(OWN_ACCOUNT, &self.specs, query))
                .map(Asked::Venue),
        };
        match asked {
            Some(asked) => self.send(request, query.endpoint(), asked),
            None => self
                .checks
                .fail(Invariant::NotSealed, format!("{query:?} cannot be asked")),
        }
    }

    /// Checks an intent whose bytes are about to be sent.
    fn leave(&mut self, id: ClientOrderId, market: MarketId, valid_until_s: u32) {
        let leaving = Leaving {
            id,
            market,
            market_name: &self.specs[usize::from(market.0)].name,
            valid_until_s,
        };
        let engine = &self.config.engine;
        let broken = self.sending_rules.transmit(self.shown, leaving, engine);
        self.break_rules(broken);
        self.books_allow(id);
    }

    pub(super) fn obey_budget(&mut self, endpoint: Endpoint) {
        let engine = &self.config.engine;
        let times = (self.now, self.shown);
        let broken = self.sending_rules.send(times, endpoint, engine);
        self.break_rules(broken);
    }

    pub(super) fn break_rules(&mut self, broken: impl IntoIterator<Item = Broken>) {
        for (rule, detail) in broken {
            self.checks.fail(rule, detail);
        }
    }

    /// Sends a join or an exit: only durable bytes, the same every time.
    pub(super) fn transmit_move(
        &mut self,
        request: RequestId,
        id: ClientOrderId,
        endpoint: Endpoint,
    ) {
        self.obey_budget(endpoint);
        self.check_pool_transaction(id);
        let sealed = self.daemon.as_ref().and_then(|d| d.moves.get(&id));
        let durable = self.disk.durable().moves.get(&id);
        let asked = match &self.chain {
            Some(link) => sealed.zip(link.bytes(id)).map(|((wanted, _), bytes)| {
                let (valid_until_s, bytes) = (wanted.valid_until_s, bytes.to_vec());
                Asked::Bundle {
                    id,
                    endpoint,
                    valid_until_s,
                    bytes,
                }
            }),
            None => sealed
                .and_then(|(wanted, hash)| pool::submit(&self.pools, wanted, *hash))
                .map(Asked::Venue),
        };
        match (asked, durable.map(|durable| &durable.transaction)) {
            (Some(asked), Some(wanted)) => {
                let (market, valid_until_s) = (wanted.market, wanted.valid_until_s);
                self.leave(id, market, valid_until_s);
                self.send(request, endpoint, asked);
            }
            _ => self.checks.fail(
                Invariant::NotSealed,
                format!("move {id} is to leave and is not durable"),
            ),
        }
    }

    /// Sends a request, unless it is not sent.
    fn send(&mut self, request: RequestId, endpoint: Endpoint, asked: Asked) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        daemon.waiting.insert(request, 0);
        self.counts.requests += 1;
        let from = (daemon.incarnation, request);
        let timeout = self.now.plus_ms(self.config.engine.request_timeout_ms);
        let ends = |at, outcome: Outcome| (at, Received::from(outcome));
        let now = self.now;
        let after = |us| Time(now.0 + us);
        let away = self
            .active_faults
            .away
            .filter(|(kind, _)| *kind == endpoint);
        let away = away.filter(|_| self.active_faults.is(FaultKind::OneAway));
        let outbound = if self.active_faults.is(FaultKind::ExchangeDown)
            && self.active_faults.random.chance(1, 2)
        {
            Outbound::NotSent { after_us: 1_000 }
        } else if let Some((_, refusal)) = away {
            refusal.map_or(Outbound::Lost { broken_us: None }, |reason| {
                Outbound::Turned {
                    after_us: 1_000,
                    answer: Gateway::Refusal(reason),
                }
            })
        } else if let Some(late) = self.late(asked.valid_until_s()) {
            late
        } else {
            self.network.outbound(endpoint)
        };
        if let Asked::Bundle { id, .. } = asked
            && !matches!(outbound, Outbound::NotSent { .. })
        {
            self.leave_for_chain(id);
        }
        let (at, end) = match outbound {
            Outbound::NotSent { after_us } => ends(after(after_us), Outcome::NotSent),
            Outbound::Turned { after_us, answer } => {
                let retry_after_ms = self.retry_after_ms(answer);
                let received = Received {
                    retry_after_ms,
                    ..Received::from(turned(answer))
                };
                (after(after_us), received)
            }
            Outbound::Lost {
                broken_us: Some(us),
            } => ends(after(us), Outcome::Unknown(UnknownCause::Transport)),
            Outbound::Lost { broken_us: None } => {
                ends(timeout, Outcome::Unknown(UnknownCause::Timeout))
            }
            Outbound::Arrives { after_us, copy_us } => {
                let first = after(after_us);
                let copies = copy_us.map(after);
                if let Some(at) = copies {
                    let copy = WorldEvent::Arrival {
                        from,
                        request: Box::new(asked.clone()),
                        copy: true,
                    };
                    self.queue.plan(at, copy);
                }
                let arrival = WorldEvent::Arrival {
                    from,
                    request: Box::new(asked),
                    copy: false,
                };
                self.queue.plan(first, arrival);
                ends(timeout, Outcome::Unknown(UnknownCause::Timeout))
            }
        };
        let received = Box::new(end);
        self.queue
            .plan(at, WorldEvent::Answer { to: from, received });
    }

    /// Half of the refusals because of a rate limit have a retry-after.
    fn retry_after_ms(&mut self, answer: Gateway) -> Option<u64> {
        match answer {
            Gateway::Limited if self.active_faults.random.chance(1, 2) => {
                Some(self.active_faults.random.between(1_000, 10_000))
            }
            Gateway::Limited | Gateway::ServerError | Gateway::Redirect | Gateway::Refusal(_) => {
                None
            }
        }
    }

    /// A request arrives at the venue.
    pub(super) fn arrive(&mut self, from: (u32, RequestId), asked: &Asked, copy: bool) {
        if self.active_faults.is(FaultKind::ExchangeDown) {
            return;
        }
        match asked {
            Asked::Venue(request) => return self.arrive_at_exchange(from, request, copy),
            Asked::Amend { amend, quote } => {
                return self.amend_arrives(from, (amend, *quote), copy);
            }
            Asked::Chain(_) | Asked::Bundle { .. } => {}
        }
        let Some((outcome, venue_time)) = self.arrive_at_chain(from, asked, copy) else {
            return;
        };
        self.answer_comes(from, asked.endpoint(), outcome, venue_time);
    }

    fn amend_arrives(&mut self, from: (u32, RequestId), asked: (&Amend, Amount), copy: bool) {
        self.exchange.advance(self.now);
        self.take_trades();
        let (answer, timestamp) = self.amended(from, asked);
        if answer.is_ok() {
            self.ground_truth.moved(&asked.0.order, asked.0.price);
        }
        if !copy {
            let outcome = match answer {
                Ok(()) => Outcome::Reply(Reply::Amended),
                Err(refusal) => Outcome::Refused(refusal.reason),
            };
            self.answer_comes(from, Endpoint::Amend, outcome, Some(timestamp));
        }
    }

    /// What an amend moves the order to, with its whole base in quote units there. `None` for what is no order of ours, and
    /// for a price that is better for the other side than the one that was stored before the order was sent.
    fn amend_of(&self, amend: &Amend) -> Option<Asked> {
        let taken = self.ground_truth.get(&amend.order)?;
        let sealed = &self.disk.durable().intents.get(&taken.id)?.order;
        let is_within_sealed = match sealed.side {
            Side::Buy => amend.price <= sealed.price,
            Side::Sell => amend.price >= sealed.price,
        };
        if !is_within_sealed {
            return None;
        }
        let spec = &self.specs[usize::from(amend.market.0)];
        let quote = spec.quote_amount(amend.price, spec.lots_floor(taken.base))?;
        Some(Asked::Amend {
            amend: *amend,
            quote,
        })
    }

    fn arrive_at_exchange(&mut self, from: (u32, RequestId), request: &Request, copy: bool) {
        if let Request::Submit(order) = request {
            self.submitted(order);
            if !self.is_waited_for(from) {
                // It could not be cancelled before.
                let felt_ms = self.config.engine.request_timeout_ms + self.longest_ms();
                self.active_faults.obstruct(self.now.plus_ms(felt_ms));
            }
        }
        let (answer, timestamp) = self.answered(request);
        if let (Request::Submit(order), Ok(Response::Submitted(submitted))) = (request, &answer) {
            self.taken(order, submitted);
        }
        if let Ok(Response::Submission(taken)) = &answer
            && !taken.idempotent
        {
            self.checks.move_taken(taken.hash, self.disk.durable());
        }
        if copy {
            return;
        }
        let outcome = pool::outcome(&self.pools, &answer)
            .unwrap_or_else(|| venue_adapter::outcome(&self.specs, answer));
        let (outcome, timestamp) = match self.sealer {
            Sealer::Digest | Sealer::Name => (outcome, timestamp),
            Sealer::Wire => as_on_the_wire(outcome, timestamp),
        };
        let outcome = if self.exchange.gateway().is_some() {
            sequenced::outcome(request, outcome)
        } else {
            outcome
        };
        let ledger = self.exchange.take_ledger();
        self.charge(from, ledger.calls);
        let outcome = if ledger.is_unfinished {
            Outcome::Unknown(UnknownCause::Undecodable)
        } else {
            outcome
        };
        let there = self.connection.as_mut().and_then(|connection| {
            let now = self.exchange.clock(self.now);
            let own = (self.config.venue.exchange, OWN_ACCOUNT.0);
            connection.arrives(now, from.1, own)
        });
        let (outcome, venue_time) = there.unwrap_or((outcome, Some(timestamp)));
        self.answer_comes(from, endpoint_of(request), outcome, venue_time);
    }

    /// An answer is on its way back.
    fn answer_comes(
        &mut self,
        from: (u32, RequestId),
        endpoint: Endpoint,
        outcome: Outcome,
        venue_time: Option<VenueTime>,
    ) {
        let (after_us, outcome, venue_time) = match self.network.inbound(endpoint) {
            Inbound::Lost { broken_us: None } => return,
            Inbound::Lost {
                broken_us: Some(us),
            } => (us, Outcome::Unknown(UnknownCause::Transport), None),
            Inbound::Garbled { after_us } => (
                after_us,
                Outcome::Unknown(UnknownCause::Undecodable),
                venue_time,
            ),
            Inbound::ServerError { after_us } => {
                (after_us, Outcome::Unknown(UnknownCause::ServerError), None)
            }
            Inbound::Arrives { after_us } => (after_us, outcome, venue_time),
        };
        let received = Box::new(Received {
            outcome,
            venue_time,
            drawn: Some(self.exchange.clock(self.now)),
            retry_after_ms: None,
        });
        let at = Time(self.now.0 + after_us);
        self.queue
            .plan(at, WorldEvent::Answer { to: from, received });
    }

    /// A request of the daemon cost so many calls beside its own.
    fn charge(&mut self, (incarnation, request): (u32, RequestId), calls: u32) {
        let daemon = self.daemon.as_mut();
        let daemon = daemon.filter(|daemon| daemon.incarnation == incarnation);
        if let Some(cost) = daemon.and_then(|daemon| daemon.waiting.get_mut(&request)) {
            *cost += calls * CALL;
        }
    }

    fn is_waited_for(&self, (incarnation, request): (u32, RequestId)) -> bool {
        let mut daemon = self.daemon.iter();
        daemon.any(|d| d.incarnation == incarnation && d.waiting.contains_key(&request))
    }

    /// A submit of ours is about to be judged by the venue.
    fn submitted(&mut self, order: &NewOrder) {
        let id: Option<ClientOrderId> = order.client_id.as_ref().and_then(|id| id.parse().ok());
        let Some(id) = id else { return };
        self.exchange.advance(self.now);
        self.take_trades();
        self.ground_truth.prune(self.exchange.venue());
        if self.loss.is_newer(id.number) {
            self.end_span();
        }
        let durable = self.disk.durable();
        self.checks
            .arriving(order.hash, id, durable, &self.ground_truth);
    }

    /// The venue accepted an order of ours.
    fn taken(&mut self, asked: &NewOrder, submitted: &Submitted) {
        let hash = asked.hash;
        let durable = self.disk.durable();
        let id: Option<ClientOrderId> = submitted.client_id.parse().ok();
        let intent = id.and_then(|id| durable.intents.get(&id));
        let before = self.ground_truth.get(&hash).is_some();
        let order = intent
            .filter(|intent| intent.hash == hash)
            .map(|intent| (&intent.order, before && !submitted.idempotent));
        self.checks.taken(order, hash, durable);
        let added = order.map(|(order, _)| (order.market, order.side));
        if let Some((order, _)) = order
            && !before
        {
            self.ground_truth.take(self.now, hash, order);
            self.taken_unclaimed(order.client_id, hash);
        }
        self.take_trades();
        for trade in &submitted.trades {
            if trade.maker_account == OWN_ACCOUNT {
                let detail = format!("{hash} took {}", trade.maker);
                self.checks.fail(Invariant::SelfTrade, detail);
            }
        }
        let venue = self.exchange.venue();
        self.ground_truth.prune(venue);
        let limits = &self.config.engine.markets;
        self.checks
            .book(&self.ground_truth, &self.specs, limits, venue, added);
    }

    /// A request of the daemon ends, unless it has ended before.
    pub(super) fn answer(&mut self, (incarnation, request): (u32, RequestId), received: Received) {
        let waits = self
            .daemon
            .as_mut()
            .filter(|daemon| daemon.incarnation == incarnation)
            .and_then(|daemon| daemon.waiting.remove(&request));
        if let Some(cost_beyond) = waits {
            self.update_data_age(&received);
            self.handle_event(&Event::Answer {
                request,
                outcome: received.outcome,
                venue_time: received.venue_time,
                retry_after_ms: received.retry_after_ms,
                cost_beyond,
            });
        }
    }
}

impl World {
    /// The daemon receives an answer that the exchange generated then.
    fn update_data_age(&mut self, received: &Received) {
        let (Some(daemon), Some(drawn)) = (&self.daemon, received.drawn) else {
            return;
        };
        let shown = daemon.clock.at(self.now);
        let data_age = &mut self.sending_rules.data_age;
        // A wrong time is no information; a past time is, about the past.
        if let Some(timestamp) = received.venue_time.filter(|timestamp| *timestamp <= drawn) {
            data_age.time(shown, timestamp);
        }
        match &received.outcome {
            Outcome::Reply(Reply::Balances(_) | Reply::ChargedBalances(_)) => {
                data_age.answer(Endpoint::Balances, drawn);
            }
            Outcome::Reply(Reply::Orders { .. } | Reply::OrdersUntil { .. }) => {
                data_age.answer(Endpoint::Orders, drawn);
            }
            _ => {}
        }
    }
}

/// The endpoint of a request of our account.
const fn endpoint_of(request: &Request) -> Endpoint {
    match request {
        Request::Submit(_) => Endpoint::Submit,
        Request::Cancel { .. } => Endpoint::Cancel,
        Request::Join(_) => Endpoint::Join,
        Request::Exit(_) => Endpoint::Exit,
        Request::Order { .. } => Endpoint::Order,
        Request::Orders(_) => Endpoint::Orders,
        Request::Balances { .. } => Endpoint::Balances,
        Request::Account(_) => Endpoint::Account,
        Request::Markets => Endpoint::Markets,
        Request::Tokens => Endpoint::Tokens,
        Request::Pools => Endpoint::Pools,
        Request::PoolBalance { .. } => Endpoint::PoolBalance,
        Request::PoolTransactions(_) => Endpoint::PoolTransactions,
        _ => Endpoint::Depth,
    }
}

/// The shell's outcome of a gateway's answer.
pub(crate) const fn turned(answer: Gateway) -> Outcome {
    match answer {
        Gateway::Limited => Outcome::Refused(Reason::RateLimited),
        Gateway::ServerError => Outcome::Unknown(UnknownCause::ServerError),
        Gateway::Redirect => Outcome::Unknown(UnknownCause::Redirect),
        Gateway::Refusal(reason) => Outcome::Refused(reason),
    }
}

/// Times as the interface states them: of orders in whole seconds, of a depth in milliseconds, which is then the time of
/// the answer.
fn as_on_the_wire(mut outcome: Outcome, timestamp: VenueTime) -> (Outcome, VenueTime) {
    let mut time = timestamp;
    match &mut outcome {
        Outcome::Reply(Reply::Orders { orders, .. }) => {
            for order in orders {
                order.valid_since = header_time(order.valid_since);
            }
        }
        Outcome::Reply(Reply::Order(order)) => order.valid_since = header_time(order.valid_since),
        Outcome::Reply(Reply::Depth(depth)) => time = timestamp.max(depth.timestamp),
        _ => {}
    }
    (outcome, time)
}

/// A clock as a Date header shows it: whole seconds.
pub(super) const fn header_time(clock: VenueTime) -> VenueTime {
    VenueTime::from_s(clock.as_s())
}
