//! The maker to compare with before the exchange: the same simulated traders and the same faulty network as the engine's
//! world, without engine, store and disk.

use std::collections::BTreeMap;

use cambist_core::request::{Endpoint, Outcome, RequestId, UnknownCause};
use cambist_core::{Amount, Hash, MarketSpec, Side, Time};
use cambist_venue::{Random, Request};

use crate::config::{WorldConfig, WorldError};
use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::faults::network::{Inbound, Network, Outbound};
use crate::queue::Queue;
use crate::tournament::constant_spread::{ConstantSpread, Maker};
use crate::tournament::game::GameError;
use crate::tournament::measures::{Flows, Played};
use crate::venue_adapter;
use crate::world::{specs, turned};

/// A planned event.
enum MakerEvent {
    /// Simulated traders act.
    Trade,
    /// The maker decides.
    Tick,
    /// A request arrives at the exchange. Copies are not answered.
    Arrival {
        id: RequestId,
        request: Box<Request>,
        copy: bool,
    },
    /// A request ends, unless it has ended before.
    Answer {
        id: RequestId,
        outcome: Box<Outcome>,
    },
}

/// An own order that the exchange has taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    side: Side,
    /// Base, quote and fee traded.
    traded: (Amount, Amount, Amount),
    /// What it had traded when the maker forgot it, base units.
    forgotten: Option<Amount>,
}

/// Exchange, network and maker.
pub(super) struct MakerWorld {
    now: Time,
    queue: Queue<MakerEvent>,
    exchange: Exchange,
    network: Network,
    spec: MarketSpec,
    maker: Maker,
    tick_ms: u64,
    timeout_ms: u64,
    orders: BTreeMap<Hash, Taken>,
    fills: u64,
}

impl MakerWorld {
    pub(super) fn new(config: &WorldConfig, rules: ConstantSpread) -> Result<Self, GameError> {
        // The same streams as in the engine's world: equal seeds give equal traders.
        let mut random = Random::new(config.seed);
        let exchange = Exchange::new(config, random.next_u64(), false)?;
        let network = Network::new(config.network.clone(), random.fork());
        let spec = specs(config, &exchange)?
            .into_iter()
            .next()
            .ok_or(GameError::Market)?;
        let venue = exchange.venue();
        let scale = venue.market_id(&spec.name).and_then(|id| venue.scale(id));
        let scale = scale.ok_or_else(|| WorldError::Unlisted(spec.name.clone()))?;
        let (tick_ms, timeout_ms) = (rules.tick_ms.max(1), rules.timeout_ms);
        let maker = Maker::new(rules, spec.clone(), *scale, config.venue.exchange);
        let mut queue = Queue::new();
        if let Some(next) = exchange.next_trade() {
            queue.plan(next, MakerEvent::Trade);
        }
        queue.plan(Time::from_ms(config.start_ms), MakerEvent::Tick);
        Ok(Self {
            now: Time(0),
            queue,
            exchange,
            network,
            spec,
            maker,
            tick_ms,
            timeout_ms,
            orders: BTreeMap::new(),
            fills: 0,
        })
    }

    pub(super) const fn spec(&self) -> &MarketSpec {
        &self.spec
    }

    pub(super) const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    pub(super) fn run_until(&mut self, end: Time) {
        while self.queue.next_at().is_some_and(|at| at <= end) {
            let Some((at, what)) = self.queue.pop() else {
                break;
            };
            self.now = at;
            self.happen(what);
            self.take_trades();
        }
        self.now = self.now.max(end);
    }

    pub(super) fn rests_on_both(&mut self) -> bool {
        self.exchange.advance(self.now);
        self.take_trades();
        let venue = self.exchange.venue();
        Side::BOTH.into_iter().all(|side| {
            let mut orders = self.orders.iter();
            orders.any(|(hash, order)| order.side == side && venue.is_open(hash))
        })
    }

    pub(super) fn flows(&self) -> Flows {
        let mut flows = Flows::default();
        for order in self.orders.values() {
            flows.add(order.side, order.traded);
        }
        flows
    }

    pub(super) fn counted(&self) -> Played {
        let [requests, orders] = self.maker.counted();
        let venue = self.exchange.venue();
        let is_orphan = |(hash, order): &(&Hash, &Taken)| {
            order
                .forgotten
                .is_some_and(|base| venue.is_open(hash) || order.traded.0 > base)
        };
        Played {
            requests,
            orders,
            fills: self.fills,
            orphans: self.orders.iter().filter(is_orphan).count() as u64,
            ..Played::default()
        }
    }

    fn happen(&mut self, what: MakerEvent) {
        match what {
            MakerEvent::Trade => {
                self.exchange.trade(self.now);
                if let Some(next) = self.exchange.next_trade() {
                    self.queue.plan(next.max(self.now), MakerEvent::Trade);
                }
            }
            MakerEvent::Tick => {
                let mut sent = Vec::new();
                self.maker.tick(self.now, &mut sent);
                self.send(sent);
                let next = self.now.plus_ms(self.tick_ms);
                self.queue.plan(next, MakerEvent::Tick);
            }
            MakerEvent::Arrival { id, request, copy } => self.arrive(id, &request, copy),
            MakerEvent::Answer { id, outcome } => {
                let mut sent = Vec::new();
                let clock = self.exchange.clock(self.now);
                self.maker
                    .answer((self.now, clock), id, *outcome, &mut sent);
                self.note_forgotten();
                self.send(sent);
            }
        }
    }

    fn send(&mut self, sent: Vec<(RequestId, Request)>) {
        for (id, request) in sent {
            let timeout = self.now.plus_ms(self.timeout_ms);
            let now = self.now;
            let after = |us| Time(now.0 + us);
            let timed_out = Outcome::Unknown(UnknownCause::Timeout);
            let (at, outcome) = match self.network.outbound(endpoint_of(&request)) {
                Outbound::NotSent { after_us } => (after(after_us), Outcome::NotSent),
                Outbound::Turned { after_us, answer } => (after(after_us), turned(answer)),
                Outbound::Lost {
                    broken_us: Some(us),
                } => (after(us), Outcome::Unknown(UnknownCause::Transport)),
                Outbound::Lost { broken_us: None } => (timeout, timed_out),
                Outbound::Arrives { after_us, copy_us } => {
                    let copies = copy_us.into_iter().map(|us| (us, true));
                    for (us, copy) in copies.chain([(after_us, false)]) {
                        let request = Box::new(request.clone());
                        let arrival = MakerEvent::Arrival { id, request, copy };
                        self.queue.plan(after(us), arrival);
                    }
                    (timeout, timed_out)
                }
            };
            let outcome = Box::new(outcome);
            self.queue.plan(at, MakerEvent::Answer { id, outcome });
        }
    }

    fn arrive(&mut self, id: RequestId, request: &Request, copy: bool) {
        let answer = self.exchange.ask(self.now, request);
        if let (Request::Submit(order), Ok(_)) = (request, &answer) {
            let side = if order.sell_token == self.spec.base.id {
                Side::Sell
            } else {
                Side::Buy
            };
            self.orders.entry(order.hash).or_insert(Taken {
                side,
                traded: (0, 0, 0),
                forgotten: None,
            });
            self.note_forgotten();
        }
        if copy {
            return;
        }
        let outcome = venue_adapter::outcome(std::slice::from_ref(&self.spec), answer);
        let (after_us, outcome) = match self.network.inbound(endpoint_of(request)) {
            Inbound::Lost { broken_us: None } => return,
            Inbound::Lost {
                broken_us: Some(us),
            } => (us, Outcome::Unknown(UnknownCause::Transport)),
            Inbound::Garbled { after_us } => {
                (after_us, Outcome::Unknown(UnknownCause::Undecodable))
            }
            Inbound::ServerError { after_us } => {
                (after_us, Outcome::Unknown(UnknownCause::ServerError))
            }
            Inbound::Arrives { after_us } => (after_us, outcome),
        };
        let at = Time(self.now.0 + after_us);
        let outcome = Box::new(outcome);
        self.queue.plan(at, MakerEvent::Answer { id, outcome });
    }

    /// Orders that the exchange still has and the maker no longer claims are forgotten from now on.
    fn note_forgotten(&mut self) {
        let venue = self.exchange.venue();
        for (hash, order) in &mut self.orders {
            if order.forgotten.is_none() && venue.is_open(hash) && !self.maker.claims(hash) {
                order.forgotten = Some(order.traded.0);
            }
        }
    }

    fn take_trades(&mut self) {
        for executed in self.exchange.executed() {
            let trade = &executed.trade;
            let maker =
                (trade.maker_account == OWN_ACCOUNT).then_some((trade.maker, trade.maker_fee));
            let taker = (executed.taker_account == OWN_ACCOUNT)
                .then_some((executed.taker, trade.taker_fee));
            for (hash, fee) in maker.into_iter().chain(taker) {
                if let Some(order) = self.orders.get_mut(&hash) {
                    order.traded.0 += trade.base;
                    order.traded.1 += trade.quote;
                    order.traded.2 += fee;
                    self.fills += 1;
                }
            }
        }
    }
}

const fn endpoint_of(request: &Request) -> Endpoint {
    match request {
        Request::Submit(_) => Endpoint::Submit,
        Request::Cancel { .. } => Endpoint::Cancel,
        Request::Order { .. } => Endpoint::Order,
        Request::Balances { .. } => Endpoint::Balances,
        _ => Endpoint::Depth,
    }
}
