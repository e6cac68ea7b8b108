//! Runs the engine on given answers up to its first orders: whether a configuration would quote, and if not, why.
//! Nothing is sent, signed or stored.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::books::{Booking, Books};
use cambist_core::config::EngineConfig;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, Start};
use cambist_core::notification::{Control, Notification, Withheld};
use cambist_core::order::UnsignedOrder;
use cambist_core::reference::{ReferenceId, ReferencePrice, ReferenceSource};
use cambist_core::request::{Endpoint, Outcome, Query, Reply, RequestId, UnknownCause};
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::Strategy;
use cambist_core::{
    ClientOrderId, Engine, Hash, Intent, MarketId, MarketSpec, Side, StrategyId, Time, VenueRules,
    VenueTime,
};

use crate::adapter;
use crate::config::reads;

/// Engine time after which the run ends.
const LONGEST_MS: u64 = 120_000;
/// Events after which the run ends, whatever the time.
const EVENTS_MAX: usize = 20_000;

/// Input of a dry run.
pub struct DryRun {
    /// The engine's configuration, without pools.
    pub config: EngineConfig,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Sources of reference prices. They are taken to agree with the book.
    pub references: Vec<ReferenceSource>,
    /// Strategies and their markets. Markets of other venues that they read are taken to agree with the book.
    pub strategies: Vec<(StrategyId, MarketId, Box<dyn Strategy>)>,
    /// Instance number in the ids of own orders.
    pub instance: u32,
    /// What the venue guarantees.
    pub venue: VenueRules,
    /// The venue's time at the beginning.
    pub venue_time: VenueTime,
}

/// The venue's answers.
pub trait Answers {
    /// The answer to a query; `None` makes it time out.
    fn answer(&mut self, query: &Query, venue_time: VenueTime) -> Option<Reply>;
}

/// What a dry run found.
pub struct Found {
    /// Why each side of each market would not be quoted, buy then sell; `None` for one that would.
    pub reasons: Vec<[Option<Withheld>; 2]>,
    /// The first order of every side of every market that has one.
    pub orders: Vec<UnsignedOrder>,
}

/// Why each side of each market would not be quoted, buy then sell; `None` for one that would.
pub fn reasons(run: DryRun, answers: &mut dyn Answers) -> Vec<[Option<Withheld>; 2]> {
    run_dry(run, answers).reasons
}

/// As `reasons`, with orders that would be made.
pub fn run_dry(run: DryRun, answers: &mut dyn Answers) -> Found {
    let count = run.markets.len();
    let mut stage = Stage::new(run, answers);
    let mut actions = Vec::new();
    for _ in 0..EVENTS_MAX {
        let Some(event) = stage.next() else { break };
        driver::step(&mut stage, &event, &mut actions);
        if stage.is_settled(count) {
            break;
        }
    }
    Found {
        reasons: stage.found(count),
        orders: stage.orders,
    }
}

/// A running engine: every query is answered at once, and everything is stored at once.
struct Stage<'a> {
    answers: &'a mut dyn Answers,
    references: Vec<ReferenceSource>,
    elsewhere: Vec<MarketSpec>,
    engine: Engine,
    now: Time,
    origin: (Time, VenueTime),
    /// Whether numbers of orders are given out one at a time.
    is_in_turn: bool,
    waiting: VecDeque<Event>,
    reasons: BTreeMap<(MarketId, Side), Option<Withheld>>,
    hashes: u64,
    orders: Vec<UnsignedOrder>,
}

impl<'a> Stage<'a> {
    fn new(run: DryRun, answers: &'a mut dyn Answers) -> Self {
        let is_in_turn = run.venue.slots.is_in_turn();
        let mut built = Vec::new();
        let mut slots = Vec::new();
        let mut elsewhere = Vec::new();
        for (id, market, strategy) in run.strategies {
            let own = &run.markets[usize::from(market.0)];
            elsewhere.extend(reads::elsewhere(strategy.as_ref(), own));
            slots.push((id, market));
            built.push(strategy);
        }
        let start = Start {
            config: EngineConfig {
                pools: Vec::new(),
                // Every change of a reason is a notification of its own.
                status_ms: LONGEST_MS,
                ..run.config
            },
            markets: run.markets,
            pools: Vec::new(),
            strategies: slots,
            seed: 0,
            instance: run.instance,
            next_number: 1,
            budget_left: None,
            next_slots: SortedMap::new(),
            open: Vec::new(),
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            memories: Vec::new(),
            traded: Vec::new(),
            lost: SortedMap::new(),
            venue_time: run.venue_time,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
            venue: run.venue,
            references: run.references.clone(),
        };
        let now = Time::from_ms(1_000_000);
        Self {
            is_in_turn,
            answers,
            references: run.references,
            engine: Engine::new(built),
            now,
            origin: (now, run.venue_time),
            elsewhere,
            waiting: VecDeque::from([Event::Start(Box::new(start))]),
            reasons: BTreeMap::new(),
            hashes: 0,
            orders: Vec::new(),
        }
    }

    /// The next event; advances the time if there is none.
    fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(event);
        }
        self.now = self.engine.next_wakeup()?.max(self.now);
        let passed = self.now.ms_since(self.origin.0);
        (passed < LONGEST_MS).then_some(Event::Wake)
    }

    /// The venue's clock.
    fn venue_time(&self) -> VenueTime {
        self.origin.1.plus_ms(self.now.ms_since(self.origin.0))
    }

    fn answer(&mut self, request: RequestId, outcome: Outcome) {
        self.waiting.push_back(Event::Answer {
            request,
            outcome,
            venue_time: Some(self.venue_time()),
            retry_after_ms: None,
            cost_beyond: 0,
        });
    }

    fn hash(&mut self) -> Hash {
        self.hashes += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.hashes.to_be_bytes());
        Hash(hash)
    }

    /// Whether every side has an order in flight, or a reason that does not end with time.
    fn is_settled(&self, markets: usize) -> bool {
        self.reasons.len() == 2 * markets
            && self
                .reasons
                .values()
                .all(|why| why.is_none_or(|why| !passes(why.control)))
    }

    fn found(&self, markets: usize) -> Vec<[Option<Withheld>; 2]> {
        let ids = (0..u16::MAX).map(MarketId).take(markets);
        ids.map(|id| {
            Side::BOTH.map(|side| {
                let found = self.reasons.get(&(id, side)).copied();
                found.unwrap_or(Some(Control::Undecided.into()))
            })
        })
        .collect()
    }
}

impl Clock for Stage<'_> {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for Stage<'_> {
    fn send(&mut self, request: RequestId, query: Query) {
        let reply = self.answers.answer(&query, self.venue_time());
        let outcome = reply.map_or(Outcome::Refused(adapter::NO_ANSWER), Outcome::Reply);
        self.answer(request, outcome);
    }

    fn transmit(&mut self, request: RequestId, _: ClientOrderId, _: Endpoint) {
        // The approval is what is asked for. An answer about an order that nothing else shows would stop new orders, at
        // the markets that are decided later as well.
        if self.is_in_turn {
            // Without an outcome the next order has no number.
            self.answer(request, Outcome::Unknown(UnknownCause::Timeout));
        }
    }
}

impl Store for Stage<'_> {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        for intent in &intents {
            if let Intent::Order(order) = intent {
                let place = (order.market, order.side);
                let mut known = self.orders.iter();
                if known.all(|known| (known.market, known.side) != place) {
                    self.orders.push(order.clone());
                }
            }
        }
        let hashes = intents.iter().map(Intent::id);
        let hashes = hashes.map(|id| (id, self.hash())).collect();
        self.waiting.push_back(Event::Sealed { batch, hashes });
    }

    fn store_restrictions(&mut self, restrictions: Restrictions, _: String, _: bool) {
        self.waiting
            .push_back(Event::RestrictionsStored(restrictions));
    }

    fn book(&mut self, _: Box<Booking>) {}
}

impl Observer for Stage<'_> {
    fn notification(&mut self, _: Time, note: Notification) {
        if let Notification::DepthAccepted {
            market,
            mid: Some(mid),
            ..
        } = note
        {
            let read = self.elsewhere.iter().filter(|other| other.id == market);
            let read: Vec<_> = read.map(|other| reads::published(other, mid)).collect();
            if !read.is_empty() {
                self.waiting.push_back(Event::Elsewhere(read));
            }
            let own = (0..).map(ReferenceId).zip(&self.references);
            let own = own.filter(|(_, source)| source.market == market);
            let events = own.map(|(source, _)| {
                Event::Reference(ReferencePrice {
                    source,
                    mid,
                    at: self.now,
                })
            });
            self.waiting.extend(events);
        }
        if let Notification::Withheld {
            market,
            side,
            withheld,
        } = note
        {
            // An order that was made would be quoted, whatever becomes of it here: the answers know of no order.
            let known = self.reasons.entry((market, side)).or_insert(withheld);
            *known = known.and(withheld);
        }
    }

    fn finished(&mut self, _: bool) {}
}

impl Assembly for Stage<'_> {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}

/// A reason that occurs before the first order, or between two requests.
const fn passes(control: Control) -> bool {
    matches!(
        control,
        Control::Recovering
            | Control::Budget
            | Control::Store
            | Control::StorageIds
            | Control::Duplicate
    )
}
