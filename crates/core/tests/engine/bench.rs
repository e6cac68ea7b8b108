//! A test bench: the engine, a strategy with two constant targets, and a simple venue whose answers a test can change.

mod setup;
mod venue;

pub use setup::*;

use cambist_core::sorted_map::SortedMap;
use std::collections::{BTreeMap, VecDeque};

use cambist_core::books::{Booking, Books};
use cambist_core::config::EngineConfig;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{
    BatchId, Command, Event, LossBaseline, RecoveredOrder, Restrictions, Start, TradingState,
};
use cambist_core::notification::{Control, End, Fill, Notification, Status};
use cambist_core::order::{ClientOrderId, Hash, OrderReport, StrategyId, UnsignedOrder};
use cambist_core::pool::PoolBalances;
use cambist_core::request::{
    Amend, Charge, Endpoint, Outcome, Query, Reply, RequestId, UnknownCause,
};
use cambist_core::strategy::Strategy;
use cambist_core::{
    Amount, Engine, Intent, MarketSpec, Price, Reason, Side, Time, TokenSpec, VenueTime,
};

/// The engine and the state of its environment.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent ways in which an outside world misbehaves"
)]
pub struct TestBench {
    pub engine: Engine,
    /// The first event, passed when time first advances.
    pub start: Option<Event>,
    pub now: Time,
    pub depth: (u64, u64),
    /// Prices of further foreign levels: bids below the best ask, asks from there.
    pub more_levels: Vec<u64>,
    pub version: u64,
    /// Whether the shell loses queries, so that they are never answered.
    pub queries_lost: bool,
    /// For how long the machine was stopped together with its clock.
    pub stopped_ms: u64,
    /// Lost queries.
    pub lost_queries: Vec<(RequestId, Query)>,
    /// Every query, and when it was sent.
    pub asked: Vec<(Time, Query)>,
    /// Queries that are never answered, and those whose answer is lost.
    pub unanswered: fn(&Query) -> bool,
    pub fails: fn(&Query) -> bool,
    /// Decimals of listed prices.
    pub price_decimals: u8,
    /// Whether markets are listed as open; otherwise the account is frozen as well.
    pub listed_open: bool,
    pub frozen: bool,
    /// Whether queries about the account get no answer.
    pub account_away: bool,
    /// Listed tokens.
    pub tokens: Vec<TokenSpec>,
    /// The venue time in answers about the depth, if not the true one.
    pub cached: Option<VenueTime>,
    /// Whether the header of such a depth has the present time.
    pub header_errs: bool,
    pub balances: (Amount, Amount),
    /// What the venue has locked of the first quote token.
    pub locked: Amount,
    /// Balance of the other quote token, if not that of the first.
    pub other: Option<Amount>,
    /// If the venue charges for requests: the balance of the coin, its newest charges, and the number of the next.
    pub charged: Option<(Amount, Vec<Charge>, u64)>,
    /// Our orders at the venue.
    pub list: Vec<OrderReport>,
    /// Whether the list leaves out ended orders.
    pub forgets: bool,
    /// Whether lists of resting orders are answered.
    pub resting_listed: bool,
    /// Number of requests for later pages of closed windows, and which of them is lost.
    pub proof_pages: u32,
    pub lost_proof_page: Option<u32>,
    /// Restrictions that a waiting store was given.
    pub writing: Option<Restrictions>,
    /// A refusal instead of an order's report.
    pub reads_refused: Option<Reason>,
    /// Whether list, depth and balance requests are answered by the bench itself.
    pub sealed: BTreeMap<ClientOrderId, (Hash, UnsignedOrder)>,
    pub notifications: Vec<Notification>,
    /// When each was emitted.
    pub noted_at: Vec<Time>,
    /// Number of wake-ups that the engine requested.
    pub wakes: usize,
    pub finished: Option<bool>,
    /// Submits and cancels without an answer yet.
    pub submits: VecDeque<(RequestId, ClientOrderId)>,
    pub cancels: VecDeque<(RequestId, Hash)>,
    /// Amends without an answer yet, and where orders rest that were moved.
    pub amends: VecDeque<(RequestId, Amend)>,
    pub moved: BTreeMap<ClientOrderId, Price>,
    pub reads: Vec<Hash>,
    pub levels: Vec<TradingState>,
    /// Why they changed.
    pub causes: Vec<String>,
    /// Whether each of them allows trading again.
    pub lowers: Vec<bool>,
    /// The last restrictions to store.
    pub stored: Restrictions,
    /// The durable books after all bookings.
    pub books: Books,
    pub bookings: Vec<Booking>,
    /// Whether `Seal` and `StoreRestrictions` are answered.
    pub store_works: bool,
    /// Whether batches wait until `store_answers`.
    pub store_waits: bool,
    pub sealing: Vec<(BatchId, Vec<Intent>)>,
    /// The pool beside the first market, and whether it takes swaps.
    pub pool: Option<(PoolBalances, bool)>,
}

impl TestBench {
    pub fn new(quotes: &[(Side, u64, u64)]) -> Self {
        Self::with(quotes, config(), Vec::new())
    }

    pub fn with(
        quotes: &[(Side, u64, u64)],
        config: EngineConfig,
        open: Vec<RecoveredOrder>,
    ) -> Self {
        Self::of(Box::new(Always(quotes.to_vec())), config, open)
    }

    /// A bench with another strategy.
    pub fn of(
        strategy: Box<dyn Strategy>,
        config: EngineConfig,
        open: Vec<RecoveredOrder>,
    ) -> Self {
        Self::at(vec![spec()], vec![strategy], config, open)
    }

    /// A bench with one market and several strategies.
    pub fn shared(strategies: Vec<Box<dyn Strategy>>, config: EngineConfig) -> Self {
        let seats = strategies.len();
        let mut bench = Self::at(vec![spec()], strategies, config, Vec::new());
        if let Some(Event::Start(start)) = &mut bench.start {
            let seats = (0..).map(StrategyId).take(seats);
            start.strategies = seats.map(|id| (id, start.markets[0].id)).collect();
        }
        bench
    }

    /// A bench with several markets, a strategy for each.
    pub fn at(
        markets: Vec<MarketSpec>,
        strategies: Vec<Box<dyn Strategy>>,
        config: EngineConfig,
        open: Vec<RecoveredOrder>,
    ) -> Self {
        let seats = (0..).map(StrategyId).zip(markets.iter().map(|m| m.id));
        let seats = seats.collect();
        let engine = Engine::new(strategies);
        let sealed = open
            .iter()
            .map(|o| (o.order.client_id, (o.hash, o.order.clone())))
            .collect();
        let next_number = 1 + open.len() as u64;
        let start = Event::Start(Box::new(Start {
            references: Vec::new(),
            config,
            markets,
            pools: Vec::new(),
            strategies: seats,
            seed: 1,
            instance: 7,
            next_number,
            budget_left: None,
            next_slots: SortedMap::new(),
            open,
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            memories: Vec::new(),
            traded: Vec::new(),
            lost: SortedMap::new(),
            venue_time: ORIGIN,
            maker_fee_bips: 0,
            taker_fee_bips: 20,
            venue: cambist_core::VenueRules::exchange(),
        }));
        Self {
            engine,
            start: Some(start),
            now: Time::from_ms(1_000),
            depth: (9_990, 10_010),
            more_levels: Vec::new(),
            version: 1,
            queries_lost: false,
            stopped_ms: 0,
            lost_queries: Vec::new(),
            asked: Vec::new(),
            unanswered: |_| false,
            fails: |_| false,
            price_decimals: 2,
            listed_open: true,
            frozen: false,
            account_away: false,
            tokens: [BASE, QUOTE, OTHER].map(|id| token(id, 6)).to_vec(),
            cached: None,
            header_errs: false,
            balances: (500_000_000, 100_000_000_000),
            locked: 0,
            other: None,
            charged: None,
            list: Vec::new(),
            forgets: false,
            resting_listed: true,
            proof_pages: 0,
            lost_proof_page: None,
            reads_refused: None,
            writing: None,
            sealed,
            notifications: Vec::new(),
            noted_at: Vec::new(),
            wakes: 0,
            finished: None,
            submits: VecDeque::new(),
            cancels: VecDeque::new(),
            amends: VecDeque::new(),
            moved: BTreeMap::new(),
            reads: Vec::new(),
            levels: Vec::new(),
            causes: Vec::new(),
            lowers: Vec::new(),
            stored: Restrictions::default(),
            books: Books::default(),
            bookings: Vec::new(),
            store_works: true,
            store_waits: false,
            sealing: Vec::new(),
            pool: None,
        }
    }

    /// A bench with a pool beside its market.
    pub fn beside(strategy: Box<dyn Strategy>, config: EngineConfig) -> Self {
        let mut bench = Self::of(strategy, config, Vec::new());
        if let Some(Event::Start(start)) = &mut bench.start {
            start.pools = vec![crate::pool_bench::pool_spec()];
        }
        bench.pool = Some((crate::pool_bench::POOL, true));
        bench
    }

    /// Starts with stored restrictions.
    pub fn starts_with(&mut self, levels: Restrictions) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.restrictions = levels.clone();
            self.stored = levels;
        }
    }

    /// Starts with stored books.
    pub fn starts_with_books(&mut self, books: Books) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.books = books.clone();
            self.books = books;
        }
    }

    /// Starts with an order of an earlier run that may be alive.
    pub fn add_recovered(&mut self, order: UnsignedOrder, hash: Hash) {
        self.sealed.insert(order.client_id, (hash, order.clone()));
        if let Some(Event::Start(start)) = &mut self.start {
            start.next_number = order.client_id.number + 1;
            start.open.push(RecoveredOrder {
                order,
                hash,
                base_filled: 0,
                quote_filled: 0,
                fee: 0,
            });
        }
    }

    /// Starts with losses from a store before version 5.
    pub fn starts_with_lost(&mut self, lost: SortedMap<cambist_core::MarketId, LossBaseline>) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.lost = lost;
        }
    }

    /// A bench after recovery.
    pub fn ready(quotes: &[(Side, u64, u64)]) -> Self {
        let mut bench = Self::new(quotes);
        bench.until_a_submit_waits();
        bench
    }

    /// Advances time until something is submitted.
    pub fn until_a_submit_waits(&mut self) {
        for _ in 0..5_000 {
            if !self.submits.is_empty() {
                return;
            }
            self.run_ms(1);
        }
        panic!("nothing was submitted within five seconds");
    }

    /// The venue's clock, in step with the engine's.
    pub fn venue_now(&self) -> VenueTime {
        ORIGIN.plus_ms(self.now.as_ms() - 1_000 + self.stopped_ms)
    }

    pub fn handle_event(&mut self, event: &Event) {
        driver::step(self, event, &mut Vec::new());
    }

    pub fn answer(&mut self, request: RequestId, outcome: Outcome) {
        let cached = self
            .cached
            .filter(|_| matches!(outcome, Outcome::Reply(Reply::Depth(_))));
        let cached = cached.filter(|_| !self.header_errs);
        let venue_time = Some(cached.unwrap_or(self.venue_now()));
        self.handle_event(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
            cost_beyond: 0,
        });
    }

    /// As `answer`, with a retry-after.
    pub fn answer_later(
        &mut self,
        request: RequestId,
        outcome: Outcome,
        retry_after_ms: Option<u64>,
    ) {
        let venue_time = Some(self.venue_now());
        self.handle_event(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms,
            cost_beyond: 0,
        });
    }

    /// The store completes what waits for it.
    pub fn store_answers(&mut self) {
        for (batch, intents) in std::mem::take(&mut self.sealing) {
            let mut hashes = Vec::new();
            for intent in intents {
                let mut hash = [0; 32];
                hash[..8].copy_from_slice(&intent.id().number.to_be_bytes());
                hashes.push((intent.id(), Hash(hash)));
                if let Intent::Order(order) = intent {
                    self.sealed.insert(order.client_id, (Hash(hash), order));
                }
            }
            self.handle_event(&Event::Sealed { batch, hashes });
        }
    }

    /// All sealed orders, oldest first.
    pub fn sealed_ids(&self) -> Vec<ClientOrderId> {
        self.sealed.keys().copied().collect()
    }

    /// Advances time and wakes the engine as requested.
    pub fn run_ms(&mut self, ms: u64) {
        if let Some(start) = self.start.take() {
            self.handle_event(&start);
        }
        let end = self.now.plus_ms(ms);
        for _ in 0..100_000 {
            match self.engine.next_wakeup() {
                Some(at) if at <= end => {
                    self.wakes += 1;
                    assert!(at >= self.now, "time goes forward");
                    self.now = at.max(self.now);
                    self.handle_event(&Event::Wake);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the engine wakes without end");
    }

    pub fn ends(&self) -> Vec<(ClientOrderId, End)> {
        self.notifications
            .iter()
            .filter_map(|notification| match notification {
                Notification::Ended { order, end, .. } => Some((*order, *end)),
                _ => None,
            })
            .collect()
    }

    /// Times at which queries of an endpoint were sent.
    pub fn asked_at(&self, endpoint: Endpoint) -> Vec<Time> {
        times_of(&self.asked, endpoint)
    }

    /// The control that refused something first.
    pub fn first_refusal(&self) -> Option<Control> {
        self.notifications.iter().find_map(|note| match note {
            Notification::RiskRefused { control, .. } => Some(*control),
            _ => None,
        })
    }

    pub fn count(&self, wanted: impl Fn(&Notification) -> bool) -> usize {
        self.notifications.iter().filter(|n| wanted(n)).count()
    }

    /// The last status that was emitted.
    pub fn status(&self) -> &Status {
        let statuses = self.notifications.iter().rev();
        let mut statuses = statuses.filter_map(|notification| match notification {
            Notification::Status(status) => Some(&**status),
            _ => None,
        });
        statuses.next().expect("a status was emitted")
    }

    pub fn fills(&self) -> Vec<&Fill> {
        self.notifications
            .iter()
            .filter_map(|notification| match notification {
                Notification::Filled(fill) => Some(fill),
                _ => None,
            })
            .collect()
    }

    pub fn end_of(&self, id: ClientOrderId) -> Option<End> {
        self.ends()
            .into_iter()
            .find(|(order, _)| *order == id)
            .map(|(_, end)| end)
    }

    /// Number of transmissions of an order, answered or not.
    pub fn transmissions(&self, id: ClientOrderId) -> usize {
        self.notifications
            .iter()
            .filter(|notification| match notification {
                Notification::Submitted { order, .. }
                | Notification::SwapSubmitted { order, .. }
                | Notification::Resent { order, .. } => *order == id,
                _ => false,
            })
            .count()
    }
}

impl Clock for TestBench {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for TestBench {
    fn send(&mut self, request: RequestId, query: Query) {
        self.asked.push((self.now, query.clone()));
        if self.queries_lost || (self.unanswered)(&query) {
            self.lost_queries.push((request, query));
        } else if (self.fails)(&query) {
            self.answer(request, Outcome::Unknown(UnknownCause::Timeout));
        } else {
            self.answer_query(request, &query);
        }
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, _: Endpoint) {
        self.submits.push_back((request, order));
    }
}

impl Store for TestBench {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        if !self.store_works {
            let cause = cambist_core::event::SealFailure::Store;
            return self.handle_event(&Event::SealFailed { batch, cause });
        }
        let opened = self.books.ledger.is_some();
        assert!(opened, "sealed before the opening balances are booked");
        self.sealing.push((batch, intents));
        if !self.store_waits {
            self.store_answers();
        }
    }

    fn store_restrictions(&mut self, levels: Restrictions, cause: String, lowers: bool) {
        if self.stored != levels {
            self.levels.push(levels.state);
            self.causes.push(cause);
            self.lowers.push(lowers);
        }
        if self.store_works {
            self.stored = levels.clone();
        }
        if self.store_waits {
            // The test answers.
            self.writing = Some(levels);
        } else if self.store_works {
            self.handle_event(&Event::RestrictionsStored(levels));
        } else {
            self.handle_event(&Event::RestrictionsFailed(levels));
        }
    }

    fn book(&mut self, booking: Box<Booking>) {
        self.books.book(&booking);
        self.bookings.push(*booking);
    }
}

impl Observer for TestBench {
    fn notification(&mut self, now: Time, notification: Notification) {
        self.noted_at.push(now);
        self.notifications.push(notification);
    }

    fn finished(&mut self, proven: bool) {
        self.finished = Some(proven);
    }
}

impl Assembly for TestBench {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}

/// Times at which queries of an endpoint were sent.
pub fn times_of(asked: &[(Time, Query)], endpoint: Endpoint) -> Vec<Time> {
    let sent = asked.iter();
    let sent = sent.filter(|(_, query)| query.endpoint() == endpoint);
    sent.map(|(at, _)| *at).collect()
}

/// Gives an operator's command; its reply, or why it was refused.
pub fn execute(bench: &mut TestBench, command: Command) -> Result<String, String> {
    bench.handle_event(&Event::Operator(command));
    let reply = bench
        .notifications
        .iter()
        .rev()
        .find_map(|notification| match notification {
            Notification::CommandAccepted { detail, .. } => Some(Ok(detail.clone())),
            Notification::CommandRefused { why, .. } => Some(Err(why.clone())),
            _ => None,
        });
    reply.expect("every command has a reply")
}
