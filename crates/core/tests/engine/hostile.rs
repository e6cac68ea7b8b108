//! Answers with extreme and contradictory content: no panic, no overflow, every list bounded, and never more reserved
//! than there is.

use cambist_core::action::Action;
use cambist_core::books::Booking;
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, SealFailure, Start, TradingState};
use cambist_core::notification::Notification;
use cambist_core::order::{Hash, OrderReport, OrderStatus, UnsignedOrder};
use cambist_core::request::{
    Balance, Depth, DepthLevel, Endpoint, Outcome, Query, Reply, RequestId, UnknownCause,
};
use cambist_core::{
    ClientOrderId, Engine, Intent, MarketId, Price, Reason, Side, StrategyId, Time, TokenId,
    VenueTime,
};

use crate::bench::{Always, BASE, BOTH, ORIGIN, QUOTE, config, listed, spec, token};
use cambist_core::sorted_map::SortedMap;

/// A small generator: the test must not depend on a crate's version.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()]
    }

    /// Whether the venue misbehaves this time.
    fn is_odd(&mut self) -> bool {
        self.below(30) == 0
    }

    fn amount(&mut self, usual: u128) -> u128 {
        if !self.is_odd() {
            return usual;
        }
        let some = u128::from(self.below(1_000_000_000));
        self.of(&[0, 1, some, some, u128::from(u64::MAX), 1 << 96, u128::MAX])
    }

    fn price(&mut self, usual: u64) -> Price {
        if !self.is_odd() {
            return Price(usual);
        }
        let near = usual - 100 + self.below(200);
        Price(self.of(&[0, 1, near, near, u64::MAX / 2, u64::MAX]))
    }

    fn time(&mut self, now: Time) -> VenueTime {
        let right = ORIGIN.plus_ms(now.as_ms());
        if !self.is_odd() {
            return right;
        }
        let off = self.below(10_000);
        self.of(&[
            VenueTime(0),
            right.plus_ms(off),
            right.minus_ms(off),
            VenueTime(u64::MAX),
        ])
    }
}

/// A venue that knows every order and answers at random.
struct Hostile {
    dice: Dice,
    now: Time,
    sealed: Vec<(Hash, UnsignedOrder)>,
    waiting: Vec<Event>,
    version: u64,
    engine: Engine,
    /// Submits so far.
    transmitted: usize,
}

impl Hostile {
    fn report(&mut self) -> OrderReport {
        let statuses = [
            OrderStatus::Waiting,
            OrderStatus::Processing,
            OrderStatus::Processed,
            OrderStatus::Cancelling,
            OrderStatus::Cancelled,
            OrderStatus::Expired,
            OrderStatus::Failed,
            OrderStatus::Other,
        ];
        let known = self.sealed.len() as u64;
        let (hash, client_id, side) = if known > 0 && self.dice.below(8) > 0 {
            let at = usize::try_from(self.dice.below(known)).unwrap();
            let (hash, order) = &self.sealed[at];
            (*hash, Some(order.client_id), order.side)
        } else {
            (Hash([255; 32]), None, Side::Buy)
        };
        OrderReport {
            hash,
            client_id,
            market: "T0-T1".into(),
            side,
            status: if self.dice.is_odd() {
                self.dice.of(&statuses)
            } else {
                OrderStatus::Processing
            },
            base_amount: self.dice.amount(1_000),
            quote_amount: self.dice.amount(1_000),
            base_filled: self.dice.amount(0),
            quote_filled: self.dice.amount(0),
            fee: self.dice.amount(0),
            valid_until_s: 0,
            valid_since: self.dice.time(self.now),
        }
    }

    fn version(&mut self) -> u64 {
        self.version += 1;
        if self.dice.is_odd() {
            self.dice.of(&[0, u64::MAX])
        } else {
            self.version
        }
    }

    fn levels(&mut self, side: Side) -> Vec<DepthLevel> {
        let usual = match side {
            Side::Buy => [9_990, 9_980],
            Side::Sell => [10_010, 10_020],
        };
        usual
            .map(|usual| DepthLevel {
                price: self.dice.price(usual),
                size: self.dice.amount(100_000),
            })
            .to_vec()
    }

    fn reply(&mut self, query: &Query) -> Reply {
        match query {
            Query::Depth(market) => Reply::Depth(Depth {
                market: *market,
                version: self.version(),
                timestamp: self.dice.time(self.now),
                bids: self.levels(Side::Buy),
                asks: self.levels(Side::Sell),
            }),
            Query::Balances => Reply::Balances(
                [BASE, QUOTE, TokenId(u16::MAX)]
                    .map(|token| Balance {
                        token,
                        total: self.dice.amount(500_000_000),
                        locked: self.dice.amount(0),
                    })
                    .to_vec(),
            ),
            Query::Orders(_) => {
                let known = self.sealed.len() as u64;
                let orders: Vec<_> = (0..known.min(4)).map(|_| self.report()).collect();
                let mut total = u32::try_from(orders.len()).unwrap();
                if self.dice.is_odd() {
                    total = self.dice.of(&[0, 1, 3, u32::MAX]);
                }
                Reply::Orders { orders, total }
            }
            Query::Order(_) => Reply::Order(self.report()),
            Query::Cancel(_) => Reply::CancelTaken {
                status: OrderStatus::Other,
            },
            Query::Amend(_) => Reply::Amended,
            Query::Markets => Reply::Markets {
                listed: vec![listed("T0-T1", QUOTE)],
            },
            Query::Tokens => Reply::Tokens(vec![token(BASE, 6), token(QUOTE, 6)]),
            Query::Account => Reply::Account { frozen: false },
            Query::Pools | Query::PoolBalance(_) => Reply::Pools(Vec::new()),
            Query::PoolTransactions(_) => Reply::PoolTransactions {
                moves: Vec::new(),
                total: self.dice.of(&[0, 1]),
            },
        }
    }

    fn answer(&mut self, request: RequestId, reply: Reply) {
        let outcome = match self.dice.below(40) {
            0 => Outcome::NotSent,
            1 => Outcome::Unknown(UnknownCause::Undecodable),
            2 => Outcome::Refused(self.dice.of(&Reason::LISTED[..20])),
            _ => Outcome::Reply(reply),
        };
        let venue_time = Some(self.dice.time(self.now)).filter(|_| self.dice.below(4) > 0);
        self.waiting.push(Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
            cost_beyond: 0,
        });
    }
}

impl Clock for Hostile {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for Hostile {
    fn send(&mut self, request: RequestId, query: Query) {
        let reply = self.reply(&query);
        self.answer(request, reply);
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, _: Endpoint) {
        self.transmitted += 1;
        let known = self.sealed.iter().find(|(_, o)| o.client_id == order);
        let hash = known.expect("only what is sealed is sent").0;
        let hash = self.dice.of(&[hash, hash, hash, Hash([7; 32])]);
        let status = OrderStatus::Processing;
        let idempotent = false;
        let reply = Reply::Submitted {
            hash,
            status,
            idempotent,
        };
        self.answer(request, reply);
    }
}

impl Store for Hostile {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        if self.dice.below(500) == 0 {
            let cause = SealFailure::Store;
            return self.waiting.push(Event::SealFailed { batch, cause });
        }
        let orders = intents.into_iter().filter_map(|intent| match intent {
            Intent::Order(order) => Some(order),
            Intent::PoolTransaction(_) => None,
        });
        let orders: Vec<_> = orders.collect();
        let hashes = orders.iter().map(|order| {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&order.client_id.number.to_be_bytes());
            (order.client_id, Hash(hash))
        });
        let hashes: Vec<_> = hashes.collect();
        let sealed = hashes.iter().map(|(_, hash)| *hash).zip(orders);
        self.sealed.extend(sealed);
        self.waiting.push(Event::Sealed { batch, hashes });
    }

    // Restrictions are not stored: otherwise the run would soon stop trading.
    fn store_restrictions(&mut self, _: Restrictions, _: String, _: bool) {}

    fn book(&mut self, _: Box<Booking>) {}
}

impl Observer for Hostile {
    fn actions(&mut self, now: Time, _: &Event, actions: &[Action]) {
        assert!(actions.len() < 1_000, "at {now:?}: a step is bounded");
    }

    fn notification(&mut self, _: Time, _: Notification) {}

    fn finished(&mut self, _: bool) {}
}

impl Assembly for Hostile {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}

#[test]
fn hostile_answers_neither_panic_nor_grow_without_bound() {
    let mut sent = 0;
    for seed in 0..200 {
        let mut venue = Hostile {
            dice: Dice(seed),
            now: Time::from_ms(1_000),
            sealed: Vec::new(),
            waiting: Vec::new(),
            version: 0,
            engine: Engine::new(vec![Box::new(Always(BOTH.to_vec()))]),
            transmitted: 0,
        };
        let mut actions = Vec::new();
        let mut event = Event::Start(Box::new(Start {
            references: Vec::new(),
            config: config(),
            markets: vec![spec()],
            pools: Vec::new(),
            strategies: vec![(StrategyId(0), MarketId(0))],
            seed: 1,
            instance: 7,
            next_number: 1,
            budget_left: None,
            next_slots: SortedMap::new(),
            open: Vec::new(),
            open_pool_transactions: Vec::new(),
            signed: Vec::new(),
            restrictions: Restrictions::of(TradingState::Active),
            books: cambist_core::books::Books::default(),
            memories: Vec::new(),
            traded: Vec::new(),
            lost: SortedMap::new(),
            venue_time: ORIGIN,
            maker_fee_bips: 0,
            taker_fee_bips: 20,
            venue: cambist_core::VenueRules::exchange(),
        }));
        for _ in 0..600 {
            driver::step(&mut venue, &event, &mut actions);
            let wake = venue.engine.next_wakeup().expect("never finished");
            assert!(wake > venue.now, "seed {seed}: waking goes forward");
            let waiting = venue.waiting.len() as u64;
            event = if waiting > 0 && venue.dice.below(3) > 0 {
                let at = usize::try_from(venue.dice.below(waiting)).unwrap();
                venue.now = venue.now.plus_ms(venue.dice.below(200));
                venue.waiting.swap_remove(at)
            } else {
                venue.now = wake;
                Event::Wake
            };
        }
        sent += venue.transmitted;
    }
    assert!(sent > 200, "orders were sent at all: {sent}");
}
