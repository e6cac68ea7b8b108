//! A desk: the engine, a strategy that always wants the same two quotes, and answers typed by hand.

mod setup;
mod venue;

pub use setup::*;

use std::collections::{BTreeMap, VecDeque};

use cambist_core::action::Action;
use cambist_core::books::{Booking, Books};
use cambist_core::config::EngineConfig;
use cambist_core::event::{
    BatchId, Event, LossBaseline, RecoveredOrder, Restrictions, Start, TradingState,
};
use cambist_core::notification::{End, Fill, Notification};
use cambist_core::order::{ClientOrderId, Hash, OrderReport, StrategyId, UnsignedOrder};
use cambist_core::request::{Outcome, Query, Reply, RequestId};
use cambist_core::strategy::Strategy;
use cambist_core::{Amount, Engine, Intent, MarketSpec, Reason, Side, Time, TokenSpec, VenueTime};

/// The engine and a hand that answers.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent ways in which an outside world misbehaves"
)]
pub struct Desk {
    pub engine: Engine,
    /// The first event, heard when time first passes.
    pub start: Option<Event>,
    pub now: Time,
    pub depth: (u64, u64),
    pub version: u64,
    /// Whether the shell loses queries, so that they are never answered.
    pub deaf: bool,
    /// Queries that were lost.
    pub asked: Vec<(RequestId, Query)>,
    /// Decimals of prices as listed.
    pub price_decimals: u8,
    /// Whether markets are listed as open, and the account is told to be frozen.
    pub listed_open: bool,
    pub frozen: bool,
    /// Questions about the account get no answer.
    pub account_away: bool,
    /// Tokens as listed.
    pub tokens: Vec<TokenSpec>,
    /// The venue time that answers about the depth carry, if not the true one.
    pub cached: Option<VenueTime>,
    /// The header of such a depth tells the present time.
    pub header_errs: bool,
    pub balances: (Amount, Amount),
    /// Of the other quote token, if not as much as of the first.
    pub other: Option<Amount>,
    /// What the venue knows of our orders.
    pub list: Vec<OrderReport>,
    /// Whether the list leaves out what has ended.
    pub forgets: bool,
    /// Whether lists of what rests are answered.
    pub resting_listed: bool,
    /// Later pages of closed windows that were asked for, and which of them is lost.
    pub proof_pages: u32,
    pub lost_proof_page: Option<u32>,
    /// What was given to a store that waits.
    pub writing: Option<Restrictions>,
    /// What it says instead of an order's report.
    pub reads_refused: Option<Reason>,
    /// Whether list, depth and balance requests are answered by the desk itself.
    pub sealed: BTreeMap<ClientOrderId, (Hash, UnsignedOrder)>,
    pub notes: Vec<Notification>,
    /// How often the engine was woken because it wanted to be.
    pub wakes: usize,
    pub finished: Option<bool>,
    /// Submits and cancels that wait for the test to answer.
    pub submits: VecDeque<(RequestId, ClientOrderId)>,
    pub cancels: VecDeque<(RequestId, Hash)>,
    pub reads: Vec<Hash>,
    pub levels: Vec<TradingState>,
    /// What was last to be stored.
    pub stored: Restrictions,
    /// The durable books, and everything that was booked.
    pub books: Books,
    pub bookings: Vec<Booking>,
    /// Whether `Seal` and `StoreLevel` are answered by the desk.
    pub store_works: bool,
    /// Whether batches wait until `store_answers`.
    pub store_waits: bool,
    pub sealing: Vec<(BatchId, Vec<Intent>)>,
}

impl Desk {
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

    /// A desk of another strategy.
    pub fn of(
        strategy: Box<dyn Strategy>,
        config: EngineConfig,
        open: Vec<RecoveredOrder>,
    ) -> Self {
        Self::at(vec![spec()], vec![strategy], config, open)
    }

    /// A desk of one market with several strategies.
    pub fn shared(strategies: Vec<Box<dyn Strategy>>, config: EngineConfig) -> Self {
        let seats = strategies.len();
        let mut desk = Self::at(vec![spec()], strategies, config, Vec::new());
        if let Some(Event::Start(start)) = &mut desk.start {
            let seats = (0..).map(StrategyId).take(seats);
            start.strategies = seats.map(|id| (id, start.markets[0].id)).collect();
        }
        desk
    }

    /// A desk of several markets, a strategy each.
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
            config,
            markets,
            pools: Vec::new(),
            strategies: seats,
            seed: 1,
            instance: 7,
            next_number,
            next_storage: BTreeMap::new(),
            open,
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            lost: BTreeMap::new(),
            venue_time: ORIGIN,
            maker_fee_bips: 0,
            taker_fee_bips: 20,
        }));
        Self {
            engine,
            start: Some(start),
            now: Time::from_ms(1_000),
            depth: (9_990, 10_010),
            version: 1,
            deaf: false,
            asked: Vec::new(),
            price_decimals: 2,
            listed_open: true,
            frozen: false,
            account_away: false,
            tokens: [BASE, QUOTE, OTHER].map(|id| token(id, 6)).to_vec(),
            cached: None,
            header_errs: false,
            balances: (500_000_000, 100_000_000_000),
            other: None,
            list: Vec::new(),
            forgets: false,
            resting_listed: true,
            proof_pages: 0,
            lost_proof_page: None,
            reads_refused: None,
            writing: None,
            sealed,
            notes: Vec::new(),
            wakes: 0,
            finished: None,
            submits: VecDeque::new(),
            cancels: VecDeque::new(),
            reads: Vec::new(),
            levels: Vec::new(),
            stored: Restrictions::default(),
            books: Books::default(),
            bookings: Vec::new(),
            store_works: true,
            store_waits: false,
            sealing: Vec::new(),
        }
    }

    /// Level and pauses that were stored before.
    pub fn starts_with(&mut self, levels: Restrictions) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.restrictions = levels.clone();
            self.stored = levels;
        }
    }

    /// Books that were stored before.
    pub fn starts_with_books(&mut self, books: Books) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.books = books.clone();
            self.books = books;
        }
    }

    /// An order of the run before that may be alive.
    pub fn recovers(&mut self, order: UnsignedOrder, hash: Hash) {
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

    /// What a store before version 5 says of losses.
    pub fn starts_with_lost(&mut self, lost: BTreeMap<cambist_core::MarketId, LossBaseline>) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.lost = lost;
        }
    }

    /// A desk past recovery.
    pub fn ready(quotes: &[(Side, u64, u64)]) -> Self {
        let mut desk = Self::new(quotes);
        desk.until_a_submit_waits();
        desk
    }

    /// Lets time pass until something is submitted.
    pub fn until_a_submit_waits(&mut self) {
        for _ in 0..5_000 {
            if !self.submits.is_empty() {
                return;
            }
            self.run_ms(1);
        }
        panic!("nothing was submitted within five seconds");
    }

    /// The venue's clock, which the desk keeps in step with ours.
    pub fn venue_now(&self) -> VenueTime {
        ORIGIN.plus_ms(self.now.as_ms() - 1_000)
    }

    pub fn hear(&mut self, event: &Event) {
        let mut actions = Vec::new();
        self.engine.on_event(self.now, event, &mut actions);
        for action in actions {
            self.act(action);
        }
    }

    pub fn answer(&mut self, request: RequestId, outcome: Outcome) {
        let cached = self
            .cached
            .filter(|_| matches!(outcome, Outcome::Reply(Reply::Depth(_))));
        let cached = cached.filter(|_| !self.header_errs);
        let venue_time = Some(cached.unwrap_or(self.venue_now()));
        self.hear(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
        });
    }

    /// As `answer`, with a wish to be left alone.
    pub fn answer_later(
        &mut self,
        request: RequestId,
        outcome: Outcome,
        retry_after_ms: Option<u64>,
    ) {
        let venue_time = Some(self.venue_now());
        self.hear(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms,
        });
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send { request, query } if self.deaf => self.asked.push((request, query)),
            Action::Send { request, query } => self.answer_query(request, &query),
            Action::Seal { batch, intents } => {
                if !self.store_works {
                    let cause = cambist_core::event::SealFailure::Store;
                    return self.hear(&Event::SealFailed { batch, cause });
                }
                self.sealing.push((batch, intents));
                if !self.store_waits {
                    self.store_answers();
                }
            }
            Action::Transmit { request, order, .. } => self.submits.push_back((request, order)),
            Action::StoreRestrictions { levels, .. } => {
                if self.stored != levels {
                    self.levels.push(levels.state);
                }
                if self.store_works {
                    self.stored = levels.clone();
                }
                if self.store_waits {
                    // The test answers.
                    self.writing = Some(levels);
                } else if self.store_works {
                    self.hear(&Event::RestrictionsStored(levels));
                } else {
                    self.hear(&Event::RestrictionsFailed(levels));
                }
            }
            Action::Book(booking) => {
                self.books.book(&booking);
                self.bookings.push(*booking);
            }
            Action::Notify(note) => self.notes.push(note),
            Action::Finished { proven } => self.finished = Some(proven),
        }
    }

    /// The store has made durable what waits for it.
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
            self.hear(&Event::Sealed { batch, hashes });
        }
    }

    /// Every order sealed so far, oldest first.
    pub fn sealed_ids(&self) -> Vec<ClientOrderId> {
        self.sealed.keys().copied().collect()
    }

    /// Lets time pass, waking the engine when it wants to be woken.
    pub fn run_ms(&mut self, ms: u64) {
        if let Some(start) = self.start.take() {
            self.hear(&start);
        }
        let end = self.now.plus_ms(ms);
        for _ in 0..100_000 {
            match self.engine.next_wakeup() {
                Some(at) if at <= end => {
                    self.wakes += 1;
                    assert!(at >= self.now, "time goes forward");
                    self.now = at.max(self.now);
                    self.hear(&Event::Wake);
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
        self.notes
            .iter()
            .filter_map(|note| match note {
                Notification::Ended { order, end, .. } => Some((*order, *end)),
                _ => None,
            })
            .collect()
    }

    pub fn fills(&self) -> Vec<&Fill> {
        self.notes
            .iter()
            .filter_map(|note| match note {
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

    /// Transmissions of every order so far, answered or not.
    pub fn transmissions(&self, id: ClientOrderId) -> usize {
        self.notes
            .iter()
            .filter(|note| match note {
                Notification::Submitted { order, .. } | Notification::Resent { order, .. } => {
                    *order == id
                }
                _ => false,
            })
            .count()
    }
}
