//! A desk: the engine, a strategy that always wants the same two quotes, and answers typed by hand.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::action::Action;
use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    RampConfig, RiskConfig,
};
use cambist_core::event::{BatchId, Event, Level, Levels, RecoveredOrder, Start};
use cambist_core::note::{End, Fill, Note};
use cambist_core::order::{
    ClientOrderId, Hash, OrderReport, OrderStatus, StrategyId, UnsignedOrder,
};
use cambist_core::request::{Balance, Depth, DepthLevel, Listed, Outcome, Query, Reply, RequestId};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{
    Amount, Engine, Intent, MarketId, MarketSpec, Price, Qty, Reason, Side, Time, TokenId,
    TokenSpec, VenueTime,
};

pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
pub const OTHER: TokenId = TokenId(2);
pub const ORIGIN: VenueTime = VenueTime(1_700_000_000_000);
const LOT: Amount = 100;

/// Wants the same quotes every time.
pub struct Always(pub Vec<(Side, u64, u64)>);

impl Strategy for Always {
    fn decide(&mut self, _: &View<'_>, targets: &mut Targets) {
        for (level, (side, price, qty)) in (0..).zip(&self.0) {
            targets.quote(*side, Price(*price), Qty(*qty), level);
        }
    }
}

/// Wants a bid that many ticks below the mid.
pub struct Below(pub u64);

impl Strategy for Below {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        targets.quote(Side::Buy, Price(view.mid / 2 - self.0), Qty(100), 0);
    }
}

pub fn token(id: TokenId, decimals: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: format!("T{}", id.0),
        decimals,
        precision: decimals,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

pub fn spec() -> MarketSpec {
    // Base with 6 decimals, price with 2, quote with 6: lots of four decimals, 100 base units.
    MarketSpec::new(
        MarketId(0),
        "T0-T1",
        token(BASE, 6),
        token(QUOTE, 6),
        2,
        true,
    )
    .unwrap()
}

/// A market of the base token as the venue lists it.
pub fn listed(name: &str, quote: TokenId) -> Listed {
    Listed {
        name: name.to_owned(),
        base: BASE,
        quote,
        price_decimals: 2,
        enabled: true,
    }
}

pub fn config() -> EngineConfig {
    EngineConfig {
        ttl_ms: 20_000,
        refresh_before_ms: 5_000,
        grace_ms: 3_000,
        resend_margin_ms: 2_000,
        resend_after_ms: 1_000,
        attempts_max: 3,
        request_timeout_ms: 2_000,
        drain_deadline_ms: 60_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 1_000_000,
        poll: PollConfig {
            depth_ms: 500,
            orders_ms: 1_000,
            balances_ms: 1_000,
            meta_ms: 60_000,
            depth_age_max_ms: 3_000,
            balances_age_max_ms: 10_000,
            orders_age_max_ms: 10_000,
            orders_page: 50,
        },
        budget: BudgetConfig {
            per_s: 100,
            burst: 100,
            cancel_reserve: 10,
            endpoint_per_s: 100,
            endpoint_burst: 100,
            penalty_ms: 2_000,
        },
        risk: RiskConfig {
            gross_max: BTreeMap::from([(QUOTE, 1 << 90), (OTHER, 1 << 90)]),
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 500,
            price_min: Price(5_000),
            price_max: Price(20_000),
            order_value_max: 10_000_000_000,
            order_qty_max: Qty(1_000_000),
            inventory_min: 0,
            inventory_max: 1_000_000_000,
            open_orders_max: 4,
            spread_max_bps: 300,
            depth_min: Qty(10),
            frozen_after_ms: 0,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 5,
            qty_tolerance_bps: 1_000,
            loss: LossConfig::UNLIMITED,
        }],
        pools: Vec::new(),
    }
}

/// The engine and a hand that answers.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent ways in which an outside world misbehaves"
)]
pub struct Desk {
    pub engine: Engine,
    /// The first event, heard when time first passes.
    start: Option<Event>,
    pub now: Time,
    pub depth: (u64, u64),
    pub version: u64,
    /// Whether the shell loses queries, so that they are never answered.
    pub deaf: bool,
    /// Queries that were lost.
    pub asked: Vec<(RequestId, Query)>,
    /// Decimals of prices as listed.
    pub price_decimals: u8,
    /// Tokens as listed.
    pub tokens: Vec<TokenSpec>,
    /// The venue time that answers about the depth carry, if not the true one.
    pub cached: Option<VenueTime>,
    /// The header of such a depth tells the present time.
    pub header_errs: bool,
    pub balances: (Amount, Amount),
    /// What the venue knows of our orders.
    pub list: Vec<OrderReport>,
    /// Whether the list leaves out what has ended.
    pub forgets: bool,
    /// Whether list, depth and balance requests are answered by the desk itself.
    pub sealed: BTreeMap<ClientOrderId, (Hash, UnsignedOrder)>,
    pub notes: Vec<Note>,
    /// How often the engine was woken because it wanted to be.
    pub wakes: usize,
    pub finished: Option<bool>,
    /// Submits and cancels that wait for the test to answer.
    pub submits: VecDeque<(RequestId, ClientOrderId)>,
    pub cancels: VecDeque<(RequestId, Hash)>,
    pub reads: Vec<Hash>,
    pub levels: Vec<Level>,
    /// What was last to be stored.
    pub stored: Levels,
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
            open_moves: Vec::new(),
            levels: Levels::default(),
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
            tokens: [BASE, QUOTE, OTHER].map(|id| token(id, 6)).to_vec(),
            cached: None,
            header_errs: false,
            balances: (500_000_000, 100_000_000_000),
            list: Vec::new(),
            forgets: false,
            sealed,
            notes: Vec::new(),
            wakes: 0,
            finished: None,
            submits: VecDeque::new(),
            cancels: VecDeque::new(),
            reads: Vec::new(),
            levels: Vec::new(),
            stored: Levels::default(),
            store_works: true,
            store_waits: false,
            sealing: Vec::new(),
        }
    }

    /// Level and pauses that were stored before.
    pub fn starts_with(&mut self, levels: Levels) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.levels = levels.clone();
            self.stored = levels;
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
            Action::StoreLevel { levels, .. } => {
                // Losses are stored with them.
                let (level, pauses) = (levels.level, levels.pauses.clone());
                if (&self.stored.level, &self.stored.pauses) != (&level, &pauses) {
                    self.levels.push(level);
                }
                if self.store_works {
                    self.stored = levels.clone();
                }
                if self.store_waits {
                    // The test answers.
                } else if self.store_works {
                    self.hear(&Event::LevelStored(levels));
                } else {
                    self.hear(&Event::LevelFailed(levels));
                }
            }
            Action::Note(note) => self.notes.push(note),
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

    /// The book as the venue shows it: one strange level a side and our open orders.
    fn levels(&self, market: MarketId, side: Side) -> Vec<DepthLevel> {
        let strange = match side {
            Side::Buy => self.depth.0,
            Side::Sell => self.depth.1,
        };
        let mut levels = BTreeMap::from([(Price(strange), 1_000 * LOT)]);
        for report in self.list.iter().filter(|report| !report.status.is_final()) {
            let order = self.sealed.values().find(|(hash, _)| *hash == report.hash);
            if let Some((_, order)) = order.filter(|(_, o)| o.market == market && o.side == side) {
                *levels.entry(order.price).or_default() += report.base_amount - report.base_filled;
            }
        }
        let levels = levels
            .into_iter()
            .map(|(price, size)| DepthLevel { price, size });
        match side {
            Side::Buy => levels.rev().collect(),
            Side::Sell => levels.collect(),
        }
    }

    fn answer_query(&mut self, request: RequestId, query: &Query) {
        let reply = match query {
            Query::Depth(market) => Reply::Depth(Depth {
                market: *market,
                version: {
                    self.version += 1;
                    self.version
                },
                timestamp: self.cached.unwrap_or(self.venue_now()),
                bids: self.levels(*market, Side::Buy),
                asks: self.levels(*market, Side::Sell),
            }),
            Query::Balances => Reply::Balances(
                [
                    (BASE, self.balances.0),
                    (QUOTE, self.balances.1),
                    (OTHER, self.balances.1),
                ]
                .map(|(token, total)| Balance {
                    token,
                    total,
                    locked: 0,
                })
                .to_vec(),
            ),
            Query::Orders(page) => {
                let within = |r: &&OrderReport| {
                    r.valid_since >= page.from
                        && (page.to.0 == 0 || r.valid_since <= page.to)
                        && !(self.forgets && r.status.is_final())
                };
                let all: Vec<_> = self.list.iter().filter(within).cloned().collect();
                let total = u32::try_from(all.len()).unwrap();
                let orders = all
                    .into_iter()
                    .skip(page.offset as usize)
                    .take(page.limit as usize)
                    .collect();
                Reply::Orders { orders, total }
            }
            Query::Order(hash) => {
                self.reads.push(*hash);
                match self.list.iter().find(|report| report.hash == *hash) {
                    Some(report) => Reply::Order(report.clone()),
                    None => return self.answer(request, Outcome::Refused(Reason::OrderNotFound)),
                }
            }
            Query::Cancel(hash) => return self.cancels.push_back((request, *hash)),
            Query::Markets => Reply::Markets {
                listed: [("T0-T1", QUOTE), ("T0-T2", OTHER)]
                    .map(|(name, quote)| Listed {
                        price_decimals: self.price_decimals,
                        ..listed(name, quote)
                    })
                    .to_vec(),
            },
            Query::Tokens => Reply::Tokens(self.tokens.clone()),
            Query::Account => Reply::Account { frozen: false },
            Query::Pools | Query::PoolBalance(_) | Query::Moves(_) => {
                return self.answer(request, Outcome::Refused(Reason::UnknownError));
            }
        };
        self.answer(request, Outcome::Reply(reply));
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

    /// The venue takes the oldest waiting submit and lists it.
    pub fn accept(&mut self) -> ClientOrderId {
        let (request, id) = self.submits.pop_front().expect("a submit waits");
        self.show(id, OrderStatus::Processing, 0);
        let hash = self.sealed[&id].0;
        let status = OrderStatus::Processing;
        self.answer(
            request,
            Outcome::Reply(Reply::Submitted {
                hash,
                status,
                idempotent: false,
            }),
        );
        id
    }

    pub fn accept_all(&mut self) {
        while !self.submits.is_empty() {
            self.accept();
        }
    }

    /// Answers the oldest waiting submit.
    pub fn answer_submit(&mut self, outcome: Outcome) -> ClientOrderId {
        let (request, id) = self.submits.pop_front().expect("a submit waits");
        self.answer(request, outcome);
        id
    }

    /// Puts an order on the list, or changes it there. `lots` are filled at its own price, free of fee.
    pub fn show(&mut self, id: ClientOrderId, status: OrderStatus, lots: u64) {
        let (hash, order) = self.sealed[&id].clone();
        let spec = spec();
        let (base_amount, quote_amount) = match order.side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        let report = OrderReport {
            hash,
            client_id: Some(id),
            market: "T0-T1".into(),
            side: order.side,
            status,
            base_amount,
            quote_amount,
            base_filled: spec.base_amount(Qty(lots)).unwrap(),
            quote_filled: spec.quote_amount(order.price, Qty(lots)).unwrap(),
            fee: 0,
            valid_until_s: order.valid_until_s,
            valid_since: order.made_at,
        };
        self.list.retain(|known| known.hash != hash);
        self.list.push(report);
    }

    /// The venue takes the oldest waiting cancel.
    pub fn accept_cancel(&mut self) {
        let (request, hash) = self.cancels.pop_front().expect("a cancel waits");
        let id = *self
            .sealed
            .iter()
            .find(|(_, (h, _))| *h == hash)
            .expect("ours")
            .0;
        let lots = 0;
        self.show(id, OrderStatus::Cancelled, lots);
        let status = OrderStatus::Cancelled;
        self.answer(request, Outcome::Reply(Reply::CancelTaken { status }));
    }

    pub fn ends(&self) -> Vec<(ClientOrderId, End)> {
        self.notes
            .iter()
            .filter_map(|note| match note {
                Note::Ended { order, end, .. } => Some((*order, *end)),
                _ => None,
            })
            .collect()
    }

    pub fn fills(&self) -> Vec<&Fill> {
        self.notes
            .iter()
            .filter_map(|note| match note {
                Note::Filled(fill) => Some(fill),
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
                Note::Submitted { order, .. } | Note::Resent { order, .. } => *order == id,
                _ => false,
            })
            .count()
    }
}

/// The two quotes most tests want: 100 lots each side, a tick inside the book.
pub const BOTH: [(Side, u64, u64); 2] = [(Side::Buy, 9_995, 100), (Side::Sell, 10_005, 100)];
/// Only the bid.
pub const BID: [(Side, u64, u64); 1] = [(Side::Buy, 9_995, 100)];
