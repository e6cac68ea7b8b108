//! A test bench with one pool: the engine, and a venue whose answers a test decides.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::VenueRules;
use cambist_core::books::{Booking, Books};
use cambist_core::config::{EngineConfig, PoolConfig};
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, SealFailure, Start};
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::notification::{Control, End, Notification, PoolTransactionSettlement, Status};
use cambist_core::order::{ClientOrderId, Hash, OrderStatus, StrategyId};
use cambist_core::pool::{
    PoolBalances, PoolListed, PoolSpec, PoolTransactionAmounts, PoolTransactionKind,
    PoolTransactionReport, PoolTransactionStatus, UnsignedPoolTransaction,
};
use cambist_core::request::{
    Balance, Depth, DepthLevel, Endpoint, Outcome, Query, Reply, RequestId, UnknownCause,
};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{Amount, Engine, Intent, MarketId, Price, Time, TokenId, VenueTime};

use crate::bench::{BASE, ORIGIN, QUOTE, config, listed, spec, times_of, token};
use cambist_core::sorted_map::SortedMap;
pub(crate) const LP: TokenId = TokenId(9);
/// A thousand base and a hundred thousand quote at 100.00; the value of a share is 0.2 quote.
pub(crate) const POOL: PoolBalances =
    PoolBalances::constant_product([1_000_000_000, 100_000_000_000], 1_000_000);

/// Has this many shares as target, always.
pub(crate) struct Hold(Amount);

impl Strategy for Hold {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        if view.pool.is_some() {
            targets.hold_shares(self.0);
        }
    }
}

pub(crate) fn pool_spec() -> PoolSpec {
    PoolSpec {
        market: MarketId(0),
        name: "AMM-T0-T1".to_owned(),
        address: [1; 20],
        pooled: [BASE, QUOTE],
        lp: token(LP, 8),
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 20,
        in_range: false,
    }
}

pub(crate) fn pool_config() -> PoolConfig {
    PoolConfig {
        poll_ms: 500,
        age_max_ms: 3_000,
        slippage_bps: 100,
        divergence_max_bps: 100,
        move_value_max: 1_000_000_000,
        value_max: 1_000_000_000,
        fee_max: 0,
        swap_value_max: 0,
        collect_value: 0,
        swaps_per_min: 6,
    }
}

pub(crate) fn limits() -> EngineConfig {
    EngineConfig {
        pools: vec![pool_config()],
        ..config()
    }
}

/// A join or an exit that was transmitted and not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) request: RequestId,
    pub(crate) id: ClientOrderId,
    pub(crate) endpoint: Endpoint,
}

/// The engine, and a venue with one pool whose answers a test decides.
pub(crate) struct Beside {
    pub(crate) engine: Engine,
    pub(crate) start: Option<Event>,
    pub(crate) now: Time,
    pub(crate) pool: PoolBalances,
    pub(crate) held: BTreeMap<TokenId, Amount>,
    /// The venue's list, with its settlements.
    pub(crate) list: Vec<PoolTransactionReport>,
    pub(crate) sealed: BTreeMap<ClientOrderId, (Hash, UnsignedPoolTransaction)>,
    pub(crate) store_works: bool,
    pub(crate) listed: bool,
    pub(crate) version: u64,
    pub(crate) sent: VecDeque<Sent>,
    pub(crate) notifications: Vec<Notification>,
    /// Every query, and when it was sent.
    pub(crate) asked: Vec<(Time, Query)>,
    /// Queries that are never answered, and those whose answer is lost.
    pub(crate) unanswered: fn(&Query) -> bool,
    pub(crate) fails: fn(&Query) -> bool,
    /// Number of wake-ups that the engine requested.
    pub(crate) wakes: usize,
    /// The order of the pooled tokens: base first, or quote first.
    pub(crate) base_at: usize,
    /// What the price follows from, if that is not what the pool holds.
    pub(crate) virtual_reserves: Option<[Amount; 2]>,
    pub(crate) finished: Option<bool>,
    /// The durable books.
    pub(crate) books: Books,
}

impl Beside {
    pub(crate) fn new(
        shares: Amount,
        config: EngineConfig,
        open: Vec<RecoveredPoolTransaction>,
    ) -> Self {
        Self::with_rules(shares, config, open, VenueRules::exchange())
    }

    /// The same at a venue with other rules.
    pub(crate) fn with_rules(
        shares: Amount,
        config: EngineConfig,
        open: Vec<RecoveredPoolTransaction>,
        venue: VenueRules,
    ) -> Self {
        let sealed = open.iter().map(|open| {
            let id = open.transaction.client_id;
            (id, (open.hash, open.transaction.clone()))
        });
        let sealed = sealed.collect();
        let start = Event::Start(Box::new(Start {
            references: Vec::new(),
            config,
            markets: vec![spec()],
            pools: vec![pool_spec()],
            strategies: vec![(StrategyId(0), MarketId(0))],
            seed: 1,
            instance: 7,
            next_number: 1 + open.len() as u64,
            budget_left: None,
            next_slots: SortedMap::new(),
            open: Vec::new(),
            open_pool_transactions: open,
            signed: Vec::new(),
            restrictions: Restrictions::default(),
            books: Books::default(),
            memories: Vec::new(),
            traded: Vec::new(),
            lost: SortedMap::new(),
            venue_time: ORIGIN,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
            venue,
        }));
        Self {
            engine: Engine::new(vec![Box::new(Hold(shares))]),
            start: Some(start),
            now: Time::from_ms(1_000),
            pool: POOL,
            held: BTreeMap::from([(BASE, 500_000_000), (QUOTE, 100_000_000_000)]),
            list: Vec::new(),
            sealed,
            store_works: true,
            listed: true,
            version: 0,
            sent: VecDeque::new(),
            notifications: Vec::new(),
            asked: Vec::new(),
            unanswered: |_| false,
            fails: |_| false,
            wakes: 0,
            base_at: 0,
            virtual_reserves: None,
            finished: None,
            books: Books::default(),
        }
    }

    /// The same with the quote token first in the pool.
    pub(crate) fn reversed(shares: Amount, config: EngineConfig) -> Self {
        let mut bench = Self::new(shares, config, Vec::new());
        bench.base_at = 1;
        bench.pool.pooled.reverse();
        if let Some(Event::Start(start)) = &mut bench.start {
            start.pools[0].pooled.reverse();
        }
        bench
    }

    /// The last status that was emitted.
    pub(crate) fn status(&self) -> &Status {
        let statuses = self.notifications.iter().rev();
        let mut statuses = statuses.filter_map(|notification| match notification {
            Notification::Status(status) => Some(&**status),
            _ => None,
        });
        statuses.next().expect("a status was emitted")
    }

    /// Starts with stored books.
    pub(crate) fn starts_with_books(&mut self, books: Books) {
        if let Some(Event::Start(start)) = &mut self.start {
            start.books = books.clone();
            self.books = books;
        }
    }

    pub(crate) fn venue_now(&self) -> VenueTime {
        ORIGIN.plus_ms(self.now.as_ms() - 1_000)
    }

    pub(crate) fn handle_event(&mut self, event: &Event) {
        driver::step(self, event, &mut Vec::new());
    }

    pub(crate) fn answer(&mut self, request: RequestId, outcome: Outcome) {
        let venue_time = Some(self.venue_now());
        self.handle_event(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
            cost_beyond: 0,
        });
    }

    pub(crate) fn reply(&mut self, query: &Query) -> Reply {
        let level = |price| {
            vec![DepthLevel {
                price: Price(price),
                size: 1_000_000,
            }]
        };
        match query {
            Query::Depth(market) => {
                self.version += 1;
                Reply::Depth(Depth {
                    market: *market,
                    version: self.version,
                    timestamp: self.venue_now(),
                    bids: level(9_990),
                    asks: level(10_010),
                })
            }
            Query::Balances => {
                let balance = |(token, total): (&TokenId, &Amount)| Balance {
                    token: *token,
                    total: *total,
                    locked: 0,
                };
                Reply::Balances(self.held.iter().map(balance).collect())
            }
            Query::Orders(_) => Reply::Orders {
                orders: Vec::new(),
                total: 0,
            },
            Query::Markets => Reply::Markets {
                listed: vec![listed("T0-T1", QUOTE)],
            },
            Query::Tokens => Reply::Tokens(vec![token(BASE, 6), token(QUOTE, 6)]),
            Query::Account => Reply::Account { frozen: false },
            Query::Pools => Reply::Pools(vec![PoolListed {
                market: MarketId(0),
                joins: self.listed,
                exits: self.listed,
                swaps: self.listed,
                fee_bips: 20,
            }]),
            Query::PoolBalance(_) => Reply::PoolBalance(PoolBalances {
                reserves: self.virtual_reserves.unwrap_or(self.pool.pooled),
                ..self.pool
            }),
            Query::PoolTransactions(page) => {
                let within = |r: &&PoolTransactionReport| {
                    r.created >= page.from && (page.to.0 == 0 || r.created <= page.to)
                };
                let moves: Vec<_> = self.list.iter().filter(within).cloned().collect();
                let total = u32::try_from(moves.len()).unwrap();
                Reply::PoolTransactions { moves, total }
            }
            Query::Order(_) | Query::Cancel(_) | Query::Amend(_) => panic!("there are no orders"),
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        if let Some(start) = self.start.take() {
            self.handle_event(&start);
        }
        let end = self.now.plus_ms(ms);
        for _ in 0..100_000 {
            match self.engine.next_wakeup() {
                Some(at) if at <= end => {
                    self.wakes += 1;
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

    /// Advances time until a join or an exit is transmitted.
    pub(crate) fn until_sent(&mut self) -> Sent {
        for _ in 0..3_000 {
            if let Some(sent) = self.sent.pop_front() {
                return sent;
            }
            self.run_ms(1);
        }
        panic!("nothing was sent within three seconds");
    }

    /// The venue settles a join or an exit, unless it is settled already.
    pub(crate) fn settle(&mut self, id: ClientOrderId) {
        let (hash, wanted) = self.sealed[&id].clone();
        if self.list.iter().any(|report| report.hash == hash) {
            return;
        }
        // In a range the price may be outside: one of the tokens is due nothing.
        let at = usize::from(self.pool.pooled[0] == 0);
        let lp = match wanted.kind {
            PoolTransactionKind::Join => {
                wanted.amounts[at] * self.pool.supply / self.pool.pooled[at]
            }
            PoolTransactionKind::Exit => wanted.lp_amount,
        };
        let share = |at: usize| self.pool.pooled[at] * lp / self.pool.supply;
        let shares = [share(0), share(1)];
        let joins = wanted.kind == PoolTransactionKind::Join;
        // An exit pays out what is owed as well.
        let owed = self.pool.owed.filter(|_| !joins).unwrap_or_default();
        if !joins {
            self.pool.owed = self.pool.owed.map(|_| [0, 0]);
        }
        let moved = PoolTransactionAmounts {
            pooled: [shares[0] + owed[0], shares[1] + owed[1]],
            lp,
            fee: 0,
        };
        let mut change = |token, amount: Amount, grows: bool| {
            let held = self.held.entry(token).or_default();
            *held = if grows {
                *held + amount
            } else {
                *held - amount
            };
        };
        change(BASE, moved.pooled[self.base_at], !joins);
        change(QUOTE, moved.pooled[1 - self.base_at], !joins);
        change(LP, lp, joins);
        for (pooled, part) in self.pool.pooled.iter_mut().zip(shares) {
            *pooled = if joins {
                *pooled + part
            } else {
                *pooled - part
            };
        }
        self.pool.supply = if joins {
            self.pool.supply + lp
        } else {
            self.pool.supply - lp
        };
        self.show(id, PoolTransactionStatus::Processed, moved);
    }

    /// Adds a join or an exit to the list, or changes it there.
    pub(crate) fn show(
        &mut self,
        id: ClientOrderId,
        status: PoolTransactionStatus,
        moved: PoolTransactionAmounts,
    ) {
        let (hash, wanted) = &self.sealed[&id];
        self.list.retain(|known| known.hash != *hash);
        self.list.push(PoolTransactionReport {
            hash: *hash,
            kind: wanted.kind,
            status,
            amounts: moved,
            created: wanted.made_at.plus_ms(2),
        });
    }

    pub(crate) fn take(&mut self, sent: Sent) {
        let hash = self.sealed[&sent.id].0;
        self.answer(
            sent.request,
            Outcome::Reply(Reply::Submitted {
                hash,
                status: OrderStatus::Processing,
                idempotent: false,
            }),
        );
    }

    pub(crate) fn lose(&mut self, sent: Sent) {
        self.answer(sent.request, Outcome::Unknown(UnknownCause::Timeout));
    }

    pub(crate) fn booked(&self) -> Vec<&PoolTransactionSettlement> {
        let mut booked = Vec::new();
        for notification in &self.notifications {
            if let Notification::PoolTransactionSettled(moved) = notification {
                booked.push(moved);
            }
        }
        booked
    }

    /// Times at which queries of an endpoint were sent.
    pub(crate) fn asked_at(&self, endpoint: Endpoint) -> Vec<Time> {
        times_of(&self.asked, endpoint)
    }

    pub(crate) fn ends(&self) -> Vec<End> {
        let end = |notification: &Notification| match notification {
            Notification::PoolTransactionEnded { end, .. } => Some(*end),
            _ => None,
        };
        self.notifications.iter().filter_map(end).collect()
    }

    pub(crate) fn refused(&self, wanted: Control) -> bool {
        let is = |notification: &Notification| matches!(notification, Notification::RiskRefused { control, .. } if *control == wanted);
        self.notifications.iter().any(is)
    }

    pub(crate) fn invariants(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for notification in &self.notifications {
            if let Notification::InvariantFailed { name, .. } = notification {
                names.push(name.as_str());
            }
        }
        names
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Notification) -> bool) -> usize {
        self.notifications
            .iter()
            .filter(|notification| wanted(notification))
            .count()
    }

    /// Checks that the books agree at a cut and no invariant has failed.
    pub(crate) fn is_balanced(&mut self) {
        self.notifications
            .retain(|notification| !matches!(notification, Notification::Balanced));
        self.run_ms(5_000);
        assert!(
            self.count(|n| matches!(n, Notification::Balanced)) > 0,
            "compared"
        );
        assert_eq!(
            self.count(|n| matches!(n, Notification::Mismatch { .. })),
            0
        );
        assert_eq!(self.invariants(), [""; 0]);
    }
}

impl Clock for Beside {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for Beside {
    fn send(&mut self, request: RequestId, query: Query) {
        self.asked.push((self.now, query.clone()));
        if (self.unanswered)(&query) {
            return;
        }
        if (self.fails)(&query) {
            return self.answer(request, Outcome::Unknown(UnknownCause::Timeout));
        }
        let reply = self.reply(&query);
        self.answer(request, Outcome::Reply(reply));
    }

    fn transmit(&mut self, request: RequestId, id: ClientOrderId, endpoint: Endpoint) {
        self.sent.push_back(Sent {
            request,
            id,
            endpoint,
        });
    }
}

impl Store for Beside {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        if !self.store_works {
            let cause = SealFailure::Store;
            return self.handle_event(&Event::SealFailed { batch, cause });
        }
        let mut hashes = Vec::new();
        for intent in intents {
            let Intent::PoolTransaction(wanted) = intent else {
                panic!("unexpected order")
            };
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&wanted.client_id.number.to_be_bytes());
            hashes.push((wanted.client_id, Hash(hash)));
            self.sealed.insert(wanted.client_id, (Hash(hash), wanted));
        }
        self.handle_event(&Event::Sealed { batch, hashes });
    }

    fn store_restrictions(&mut self, levels: Restrictions, _: String, _: bool) {
        self.handle_event(&Event::RestrictionsStored(levels));
    }

    fn book(&mut self, booking: Box<Booking>) {
        self.books.book(&booking);
    }
}

impl Observer for Beside {
    fn notification(&mut self, _: Time, notification: Notification) {
        self.notifications.push(notification);
    }

    fn finished(&mut self, proven: bool) {
        self.finished = Some(proven);
    }
}

impl Assembly for Beside {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}
