//! From the body of a depth that was received to intents that are ready to be signed: CPU time of decoding, engine,
//! strategy and risk controls, in the steps that create orders. HTTP, signing and storing are not in it, nor is the venue
//! below, which executes the engine's actions.
//!
//! The venue is in memory: it answers every request at once and keeps the list of own orders. Every second its book
//! moves by a hundredth, so that every depth leads to orders.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use cambist_core::action::Action;
use cambist_core::books::{Booking, Books};
use cambist_core::config::{BudgetConfig, EngineConfig, RiskConfig};
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, Start};
use cambist_core::notification::Notification;
use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::request::{
    Balance, Endpoint, Listed, OrderList, OrdersPage, Outcome, Query, Reply, RequestId,
};
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::VenueRules;
use cambist_core::{
    ClientOrderId, Engine, Hash, Intent, MarketId, MarketSpec, OrderStatus, Side, StrategyId, Time,
    VenueTime,
};
use cambist_protocol::decode;
use cpu_time::ThreadTime;
use rust_decimal::Decimal;
use serde::Deserialize;

use crate::measure::{self, median};
use crate::year;

const DECISIONS: usize = 2_000;
const LEVELS: u64 = 50;
const ORIGIN: VenueTime = VenueTime::from_s(1_704_067_200);
const NEVER_MS: u64 = 3_600_000;

/// The depth as other programs would read it.
#[derive(Deserialize)]
#[allow(dead_code, reason = "decoded, not used")]
struct Plain {
    version: u64,
    timestamp: u64,
    bids: Vec<[Decimal; 4]>,
    asks: Vec<[Decimal; 4]>,
}

/// A depth of 50 levels a side around a price in ticks of 0.01.
fn body(version: u64, time: VenueTime, mid: u64) -> Vec<u8> {
    let mut text = format!(
        "{{\"version\":{version},\"timestamp\":{},\"market\":\"ETH-USDC\"",
        time.0
    );
    for (name, sign) in [("bids", -1_i64), ("asks", 1)] {
        write!(text, ",\"{name}\":[").expect("text");
        for level in 0..LEVELS {
            let price = mid.wrapping_add_signed(sign * (10 + level.cast_signed() * 7));
            let size = 1_230_000_000_000_000_000 + u128::from(level) * 70_000_000_000_000_000;
            let volume = size / 1_000_000_000_000 * u128::from(price) / 100;
            let comma = if level == 0 { "" } else { "," };
            write!(
                text,
                "{comma}[\"{}.{:02}\",\"{size}\",\"{volume}\",\"{}\"]",
                price / 100,
                price % 100,
                1 + level % 4
            )
            .expect("text");
        }
        text.push(']');
    }
    text.push('}');
    text.into_bytes()
}

struct World {
    engine: Engine,
    spec: MarketSpec,
    now: Time,
    waiting: VecDeque<Event>,
    depth_asked: Option<RequestId>,
    orders: BTreeMap<u64, (UnsignedOrder, OrderStatus, VenueTime)>,
    sealed: u64,
    /// When the engine had returned the actions of the newest step, before the venue and the store above got any.
    decided: ThreadTime,
}

fn hash_of(number: u64) -> Hash {
    let mut hash = [7; 32];
    hash[24..].copy_from_slice(&number.to_be_bytes());
    Hash(hash)
}

fn number_of(hash: Hash) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&hash.0[24..]);
    u64::from_be_bytes(number)
}

impl World {
    fn venue_time(&self) -> VenueTime {
        ORIGIN.plus_ms(self.now.0 / 1_000)
    }

    fn answer(&mut self, request: RequestId, reply: Reply) {
        self.waiting.push_back(Event::Answer {
            request,
            outcome: Outcome::Reply(reply),
            venue_time: Some(VenueTime::from_s(self.venue_time().as_s())),
            retry_after_ms: None,
            cost_beyond: 0,
        });
    }

    fn balances(&self) -> Vec<Balance> {
        let [base, quote] = year::OPENING;
        let mut balances = [(self.spec.base.id, base, 0), (self.spec.quote.id, quote, 0)];
        for (order, status, _) in self.orders.values() {
            if !status.is_final() {
                let at = usize::from(order.sell_token == self.spec.quote.id);
                balances[at].2 += order.sell_amount;
            }
        }
        let each = balances.into_iter();
        each.map(|(token, total, locked)| Balance {
            token,
            total,
            locked,
        })
        .collect()
    }

    fn page(&self, page: &OrdersPage) -> Reply {
        let orders: Vec<_> = self
            .orders
            .iter()
            .rev()
            .filter(|(_, (_, status, made))| {
                *made >= page.from
                    && (page.to.0 == 0 || *made <= page.to)
                    && !(page.list == OrderList::Resting && status.is_final())
            })
            .map(|(number, (order, status, made))| self.report(*number, order, *status, *made))
            .collect();
        let total = u32::try_from(orders.len()).expect("few");
        let from = page.offset as usize;
        let orders = orders
            .into_iter()
            .skip(from)
            .take(page.limit as usize)
            .collect();
        Reply::Orders { orders, total }
    }

    fn report(
        &self,
        number: u64,
        order: &UnsignedOrder,
        status: OrderStatus,
        made: VenueTime,
    ) -> OrderReport {
        let (base, quote) = match order.side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        OrderReport {
            hash: hash_of(number),
            client_id: Some(order.client_id),
            market: self.spec.name.as_str().into(),
            side: order.side,
            status,
            base_amount: base,
            quote_amount: quote,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            valid_until_s: order.last_effect_s(),
            valid_since: made,
        }
    }
}

impl Clock for World {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for World {
    fn send(&mut self, request: RequestId, query: Query) {
        let reply = match query {
            Query::Depth(_) => {
                self.depth_asked = Some(request);
                return;
            }
            Query::Balances => Reply::Balances(self.balances()),
            Query::Orders(page) => self.page(&page),
            Query::Order(hash) => {
                let number = number_of(hash);
                let (order, status, made) = &self.orders[&number];
                Reply::Order(self.report(number, order, *status, *made))
            }
            Query::Cancel(hash) => {
                let order = self
                    .orders
                    .get_mut(&number_of(hash))
                    .expect("an order of ours");
                order.1 = OrderStatus::Cancelled;
                Reply::CancelTaken { status: order.1 }
            }
            Query::Markets => Reply::Markets {
                listed: vec![Listed {
                    name: self.spec.name.clone(),
                    base: self.spec.base.id,
                    quote: self.spec.quote.id,
                    price_decimals: self.spec.price_decimals,
                    enabled: true,
                }],
            },
            Query::Account => Reply::Account { frozen: false },
            Query::Tokens => Reply::Tokens(vec![self.spec.base.clone(), self.spec.quote.clone()]),
            Query::Pools | Query::PoolBalance(_) | Query::PoolTransactions(_) => {
                unreachable!("there are no pools")
            }
            Query::Amend(_) => unreachable!("no order is moved at this venue"),
        };
        self.answer(request, reply);
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, _: Endpoint) {
        let status = self.orders[&order.number].1;
        let hash = hash_of(order.number);
        let idempotent = false;
        self.answer(
            request,
            Reply::Submitted {
                hash,
                status,
                idempotent,
            },
        );
    }
}

impl Store for World {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        self.sealed += intents.len() as u64;
        let mut hashes = Vec::new();
        let time = self.venue_time();
        for intent in intents {
            hashes.push((intent.id(), hash_of(intent.id().number)));
            if let Intent::Order(order) = intent {
                self.orders.insert(
                    order.client_id.number,
                    (order, OrderStatus::Processing, time),
                );
            }
        }
        self.waiting.push_back(Event::Sealed { batch, hashes });
    }

    fn store_restrictions(&mut self, levels: Restrictions, cause: String, _: bool) {
        panic!("{levels:?}: {cause}");
    }

    fn book(&mut self, _: Box<Booking>) {}
}

impl Observer for World {
    fn actions(&mut self, _: Time, _: &Event, _: &[Action]) {
        self.decided = ThreadTime::now();
    }

    fn notification(&mut self, _: Time, note: Notification) {
        if let Notification::InvariantFailed { name, detail } = note {
            panic!("{name}: {detail}");
        }
    }

    fn finished(&mut self, _: bool) {}
}

impl Assembly for World {
    type Engine = Engine;

    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}

fn world() -> World {
    const MANY: u32 = 1_000_000_000;
    let spec = year::market();
    let config = year::config();
    let config = EngineConfig {
        status_ms: NEVER_MS,
        budget: BudgetConfig {
            per_s: 10_000,
            burst: 10_000,
            endpoint_per_s: 10_000,
            endpoint_burst: 10_000,
            ..config.budget
        },
        risk: RiskConfig {
            orders_per_min: MANY,
            cancels_per_min: MANY,
            executions_per_min: MANY,
            ..config.risk
        },
        ..config
    };
    let start = Start {
        config,
        markets: vec![spec.clone()],
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
        restrictions: Restrictions::default(),
        books: Books::default(),
        memories: Vec::new(),
        traded: Vec::new(),
        lost: SortedMap::new(),
        venue_time: ORIGIN,
        maker_fee_bips: 0,
        taker_fee_bips: 0,
        venue: VenueRules::exchange(),
        references: Vec::new(),
    };
    World {
        engine: Engine::new(vec![year::strategy(&spec)]),
        spec,
        now: Time(0),
        waiting: VecDeque::from([Event::Start(Box::new(start))]),
        depth_asked: None,
        orders: BTreeMap::new(),
        sealed: 0,
        decided: ThreadTime::now(),
    }
}

/// CPU nanoseconds of a decoding and of the step after it, for each depth that led to orders.
fn measured() -> (Vec<[f64; 2]>, u64) {
    let mut world = world();
    let mut actions: Vec<Action> = Vec::new();
    let mut times = Vec::new();
    let (mut version, mut sealed) = (0, 0);
    while times.len() < DECISIONS {
        if let Some(event) = world.waiting.pop_front() {
            driver::step(&mut world, &event, &mut actions);
            continue;
        }
        let Some(request) = world.depth_asked.take() else {
            world.now = world.engine.next_wakeup().expect("it runs").max(world.now);
            driver::step(&mut world, &Event::Wake, &mut actions);
            // Orders that ended long ago are not listed any more.
            let old = world.venue_time().minus_ms(600_000);
            world
                .orders
                .retain(|_, (_, status, made)| !status.is_final() || *made >= old);
            continue;
        };
        version += 1;
        let time = world.venue_time();
        let bytes = body(version, time, 250_000 + version % 2 * 2_500);
        let before = world.sealed;
        let start = ThreadTime::now();
        let depth = decode::plain_depth(&bytes, &world.spec).expect("a depth");
        let decoded = start.elapsed();
        let event = Event::Answer {
            request,
            outcome: Outcome::Reply(Reply::Depth(depth)),
            venue_time: Some(VenueTime::from_s(time.as_s())),
            retry_after_ms: None,
            cost_beyond: 0,
        };
        driver::step(&mut world, &event, &mut actions);
        let all = world.decided.duration_since(start);
        if world.sealed > before {
            sealed += world.sealed - before;
            times.push([decoded, all].map(|time| time.as_secs_f64() * 1e9));
        }
    }
    (times, sealed)
}

/// Measures and prints.
pub fn run() {
    let (times, sealed) = measured();
    let bytes = body(1, ORIGIN, 250_000);
    let rounds = |work: &dyn Fn()| {
        let rounds = (0..DECISIONS).map(|_| {
            let start = ThreadTime::now();
            work();
            start.elapsed().as_secs_f64() * 1e9
        });
        median(&rounds.collect::<Vec<_>>())
    };
    // The clock of a thread is read by a system call, which is no part of the work between two readings.
    let reading = rounds(&|| {});
    let time = |work: &dyn Fn()| rounds(work) - reading;
    let plain = time(&|| drop(serde_json::from_slice::<Plain>(&bytes).expect("a depth")));
    let spec = year::market();
    let tree = time(&|| {
        let json = decode::parse(&bytes).expect("JSON");
        drop(decode::depth(&json, &spec).expect("a depth"));
    });
    let part = |of: fn(&[f64; 2]) -> f64| median(&times.iter().map(of).collect::<Vec<_>>());
    let decode = part(|time| time[0]) - reading;
    let step = part(|time| time[1] - time[0]) - reading;
    let all = part(|time| time[1]) - 2.0 * reading;
    println!(
        "A body of {} bytes, {LEVELS} levels a side; {DECISIONS} decisions of `bands`, {:.1} orders each; CPU time of the \
         thread, medians, less what reading its clock costs ({:.2} µs a time).\n",
        bytes.len(),
        sealed as f64 / DECISIONS as f64,
        reading / 1e3
    );
    println!("| | CPU | × serde_json into rust_decimal |\n|---|---|---|");
    for (name, ns) in [
        ("serde_json into rust_decimal, the same body", plain),
        (
            "cambist, body to depth in ticks, by a tree of values (other forms)",
            tree,
        ),
        ("cambist, body to depth in ticks, in one pass", decode),
        ("cambist, engine, strategy and controls", step),
        ("cambist, body to intents that are ready to be signed", all),
    ] {
        println!("| {name} | {:.2} µs | {:.2} |", ns / 1e3, ns / plain);
    }
    measure::aims(&[(
        "from the body of a depth to intents, CPU",
        all / 1e3,
        9.0,
        "µs",
    )]);
}
