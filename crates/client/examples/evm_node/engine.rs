//! The engine itself on the chain: it polls, joins and leaves the pool through the client, with faults on the way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cambist_client::EvmPools;
use cambist_core::books::{Booking, Books};
use cambist_core::config::{
    BudgetConfig, EmptyBook, EngineConfig, ForeignOrders, LossConfig, MarketConfig, PollConfig,
    PoolConfig, RampConfig, RiskConfig,
};
use cambist_core::driver::{self, Assembly, Clock, Observer, Store, Venue};
use cambist_core::event::{BatchId, Event, Restrictions, SealFailure, Start};
use cambist_core::notification::{End, Notification};
use cambist_core::request::{Endpoint, Query, RequestId};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{
    Amount, ClientOrderId, Engine, Hash, Intent, MarketId, Price, Qty, StrategyId, Time, TokenId,
};
use cambist_evm_venue::account::{Account, Wanted};
use cambist_evm_venue::rules;

use crate::adapter::{FEE_CAP, SLIPPAGE_BPS};
use crate::contracts::{BLOCK_S, COIN, FIRST, ONE, SECOND, SHARES, World};
use crate::engine_requests::submit;
use crate::node::{Drop_, Reorganise, ask};
use crate::{Step, ensure};

/// Finality lags by three blocks, and a window ends up to a block later.
const GRACE_MS: u64 = 5 * BLOCK_S * 1_000;
/// Time between two rounds of the loop.
const ROUND_MS: u64 = 1_000;

/// Holds so many whole shares, a number that changes from outside, give or take a thousandth: a router pays one token in
/// full and rounds the other down, so that a join mints a few units less than it aims for.
struct Hold(Arc<AtomicU64>);

impl Strategy for Hold {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let Some(pool) = &view.pool else { return };
        let wanted = Amount::from(self.0.load(Ordering::Relaxed)) * ONE;
        let is_near = pool.held.abs_diff(wanted) <= wanted / 1_000;
        targets.hold_shares(if is_near { pool.held } else { wanted });
    }
}

/// What the engine asked for.
enum Job {
    Send(RequestId, Query),
    Transmit(RequestId, ClientOrderId),
    Seal(BatchId, Vec<Intent>),
    Restrictions(Restrictions),
}

struct Trader {
    engine: Engine,
    now: Time,
    jobs: VecDeque<Job>,
    sealed: BTreeMap<ClientOrderId, (Hash, Vec<u8>)>,
    books: Books,
    ends: Vec<End>,
    balanced: u64,
    wrong: Vec<String>,
    sent: u64,
}

impl Clock for Trader {
    fn now(&self) -> Time {
        self.now
    }
}

impl Venue for Trader {
    fn send(&mut self, request: RequestId, query: Query) {
        self.jobs.push_back(Job::Send(request, query));
    }

    fn transmit(&mut self, request: RequestId, order: ClientOrderId, _: Endpoint) {
        self.jobs.push_back(Job::Transmit(request, order));
    }
}

impl Store for Trader {
    fn seal(&mut self, batch: BatchId, intents: Vec<Intent>) {
        self.jobs.push_back(Job::Seal(batch, intents));
    }

    fn store_restrictions(&mut self, levels: Restrictions, _: String, _: bool) {
        self.jobs.push_back(Job::Restrictions(levels));
    }

    fn book(&mut self, booking: Box<Booking>) {
        self.books.book(&booking);
    }
}

impl Observer for Trader {
    fn notification(&mut self, _: Time, notification: Notification) {
        match notification {
            Notification::PoolTransactionEnded { end, .. } => self.ends.push(end),
            Notification::Balanced => self.balanced += 1,
            Notification::InvariantFailed { .. } | Notification::Mismatch { .. } => {
                self.wrong.push(format!("{notification:?}"));
            }
            _ => {}
        }
    }

    fn finished(&mut self, _: bool) {}
}

impl Assembly for Trader {
    fn engine(&mut self) -> Option<&mut Engine> {
        Some(&mut self.engine)
    }
}

impl Trader {
    fn handle(&mut self, event: &Event) {
        driver::step(self, event, &mut Vec::new());
    }

    /// One second of the engine: its wake-ups and whatever follows from them.
    async fn round(&mut self, world: &World<'_>, client: &EvmPools) -> Step {
        self.now = self.now.plus_ms(ROUND_MS);
        while self.engine.next_wakeup().is_some_and(|at| at <= self.now) {
            self.handle(&Event::Wake);
            while let Some(job) = self.jobs.pop_front() {
                let event = self.done(world, client, job).await?;
                self.handle(&event);
            }
        }
        ensure!(self.wrong.is_empty(), "{:?}", self.wrong);
        Ok(())
    }

    async fn done(&mut self, world: &World<'_>, client: &EvmPools, job: Job) -> Step<Event> {
        let (request, answered) = match job {
            Job::Restrictions(levels) => return Ok(Event::RestrictionsStored(levels)),
            Job::Seal(batch, intents) => return self.seal(world, client, batch, intents).await,
            Job::Send(request, query) => (request, client.query(&query).await),
            Job::Transmit(request, id) => {
                self.sent += 1;
                let (_, bytes) = self.sealed.get(&id).ok_or("not sealed")?;
                (request, client.submit(bytes).await)
            }
        };
        Ok(Event::Answer {
            request,
            outcome: answered.outcome,
            venue_time: answered.venue_time,
            retry_after_ms: answered.retry_after_ms,
        })
    }

    async fn seal(
        &mut self,
        world: &World<'_>,
        client: &EvmPools,
        batch: BatchId,
        intents: Vec<Intent>,
    ) -> Step<Event> {
        let mut account = client.account().lock().await;
        let mut hashes = Vec::new();
        for intent in intents {
            let id = intent.id();
            let nonce = match &intent {
                Intent::Order(order) => order.slot,
                Intent::PoolTransaction(wanted) => {
                    *wanted.storage_ids.first().ok_or("no number")?
                }
            };
            let fees = world.adapter.fees(nonce.into())?;
            let wanted = Wanted::Intent(intent);
            let sealed = account.seal(wanted, nonce.into(), fees, &world.adapter.key);
            let Ok(sealed) = sealed else {
                self.wrong.push(format!("{sealed:?}"));
                let cause = SealFailure::Signature;
                return Ok(Event::SealFailed { batch, cause });
            };
            hashes.push((id, sealed.hash));
            self.sealed.insert(id, (sealed.hash, sealed.bytes));
        }
        Ok(Event::Sealed { batch, hashes })
    }

    /// The hash of the newest intent.
    fn newest(&self) -> Option<Hash> {
        self.sealed.last_key_value().map(|(_, (hash, _))| *hash)
    }

    fn held(&self, token: TokenId) -> i128 {
        let ledger = self.books.ledger.as_ref();
        ledger.and_then(|of| of.get(&token)).copied().unwrap_or(0)
    }
}

fn config() -> EngineConfig {
    EngineConfig {
        ttl_ms: 5 * BLOCK_S * 1_000,
        refresh_before_ms: 20_000,
        grace_ms: GRACE_MS,
        resend_margin_ms: 2_000,
        resend_after_ms: 3_000,
        attempts_max: 3,
        request_timeout_ms: 3_000,
        drain_deadline_ms: 600_000,
        max_fee_bips: 20,
        maker_only: true,
        status_ms: 60_000,
        poll: PollConfig {
            depth_ms: 2_000,
            orders_ms: 4_000,
            balances_ms: 4_000,
            meta_ms: 60_000,
            depth_age_max_ms: 60_000,
            balances_age_max_ms: 120_000,
            orders_age_max_ms: 120_000,
            orders_page: 50,
        },
        budget: BudgetConfig {
            per_s: 20,
            burst: 40,
            cancel_reserve: 8,
            endpoint_per_s: 10,
            endpoint_burst: 20,
            penalty_ms: 2_000,
        },
        risk: RiskConfig {
            gross_max: [FIRST, SECOND, SHARES].map(|id| (id, 1 << 110)).into(),
            mismatch_max: [FIRST, SECOND, SHARES].map(|id| (id, 0)).into(),
            ..RiskConfig::default()
        },
        ramp: RampConfig::OFF,
        foreign: ForeignOrders::Tolerate,
        markets: vec![MarketConfig {
            collar_bps: 500,
            price_min: Price(1_000),
            price_max: Price(10_000_000),
            order_value_max: 1 << 100,
            order_qty_max: Qty(1_000_000_000),
            inventory_min: 0,
            inventory_max: 1 << 100,
            signed_unexpired_max: 1 << 100,
            open_orders_max: 8,
            spread_max_bps: 500,
            depth_min: Qty(1),
            frozen_after_ms: 0,
            empty: EmptyBook::NoQuote,
            price_tolerance_bps: 4,
            qty_tolerance_bps: 2_000,
            loss: LossConfig::UNLIMITED,
        }],
        pools: vec![PoolConfig {
            poll_ms: 2_000,
            age_max_ms: 60_000,
            slippage_bps: SLIPPAGE_BPS,
            divergence_max_bps: 100,
            move_value_max: 1 << 100,
            value_max: 1 << 100,
            fee_max: 0,
            swap_value_max: 0,
            swaps_per_min: 6,
        }],
    }
}

/// What happens to the node while the engine waits for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Dropped,
    Reorganised,
}

/// The engine holds one target after the other, each with a fault.
pub async fn run(world: &mut World<'_>) -> Step<String> {
    world.finalize().await?;
    let chain = world.adapter.chain.clone();
    let market = world.adapter.market.clone();
    let first = world.adapter.next_nonce();
    let account = Account::new(chain, vec![market.clone()], GRACE_MS, FEE_CAP, first);
    let client = EvmPools::new(world.process.nodes()?, account);
    // What an operator would have allowed before.
    for token in [FIRST, SECOND, SHARES] {
        let amount = 100_000 * ONE;
        for amount in [0, amount] {
            submit(world, &client, Wanted::Approval { token, amount }).await?;
        }
    }
    world.finalize().await?;
    let target = Arc::new(AtomicU64::new(0));
    let mut trader = Trader {
        engine: Engine::new(vec![Box::new(Hold(Arc::clone(&target)))]),
        now: Time::from_ms(1_000),
        jobs: VecDeque::new(),
        sealed: BTreeMap::new(),
        books: Books::default(),
        ends: Vec::new(),
        balanced: 0,
        wrong: Vec::new(),
        sent: 0,
    };
    let next = client.account().lock().await.next_nonce();
    let start = Start {
        config: config(),
        markets: vec![market],
        pools: world.adapter.chain.pools.clone(),
        strategies: vec![(StrategyId(0), MarketId(0))],
        memories: Vec::new(),
        traded: Vec::new(),
        seed: 1,
        instance: 7,
        next_number: 1,
        next_slots: [(
            COIN,
            u32::try_from(next).map_err(|error| error.to_string())?,
        )]
        .into(),
        open: Vec::new(),
        open_pool_transactions: Vec::new(),
        signed: Vec::new(),
        restrictions: Restrictions::default(),
        books: Books::default(),
        lost: BTreeMap::new(),
        venue_time: world.adapter.view.venue_time(),
        maker_fee_bips: 0,
        taker_fee_bips: 0,
        venue: rules::rules(COIN, BLOCK_S * 1_000),
        references: Vec::new(),
    };
    trader.handle(&Event::Start(Box::new(start)));
    for (shares, fault) in [
        (100, Fault::None),
        (250, Fault::Dropped),
        (120, Fault::Reorganised),
        (0, Fault::None),
    ] {
        target.store(shares, Ordering::Relaxed);
        let reached = until(world, &client, &mut trader, shares, fault).await;
        reached.map_err(|why| format!("{shares} shares, {fault:?}: {why}"))?;
    }
    let ends = trader.ends.clone();
    ensure!(
        ends.contains(&End::Fenced),
        "nothing ended at its fence: {ends:?}"
    );
    let account = client.account().lock().await;
    world.adapter.settled_below = account.next_nonce();
    world.adapter.look(&world.node, &world.nodes).await?;
    world.adapter.open(&world.node).await?;
    // The engine's stored books against the chain's finalized balances, which were just read.
    for token in [FIRST, SECOND, SHARES] {
        let (booked, held) = (trader.held(token), world.adapter.totals[&token]);
        ensure!(
            booked == held,
            "token {}: {booked} booked, {held} held",
            token.0
        );
    }
    Ok(format!(
        "{} transactions ended ({} transmissions), books equal to the chain's at {} comparisons",
        ends.len(),
        trader.sent,
        trader.balanced
    ))
}

/// Runs until the engine holds what is wanted, nothing is undecided, and ledger and chain were compared since.
async fn until(
    world: &mut World<'_>,
    client: &EvmPools,
    trader: &mut Trader,
    shares: u64,
    fault: Fault,
) -> Step {
    let wanted = i128::from(shares) * i128::try_from(ONE).unwrap_or(i128::MAX);
    let mut left = fault;
    let sealed_before = trader.sealed.len();
    let mut compared = None;
    for second in 1..=3_000 {
        trader.round(world, client).await?;
        let newest = trader
            .newest()
            .filter(|_| trader.sealed.len() > sealed_before);
        if second % BLOCK_S == 0 {
            // The node forgets every copy until the engine has no transmission left.
            if let (Fault::Dropped, Some(hash)) = (left, newest) {
                ask(&world.node, &Drop_ { hash }).await?;
            }
            if trader.ends.contains(&End::Fenced) {
                left = Fault::None;
            }
            world.mine().await?;
            if left == Fault::Reorganised && newest.is_some() {
                ask(&world.node, &Reorganise { depth: 1 }).await?;
                left = Fault::None;
            }
            world.adapter.look(&world.node, &world.nodes).await?;
        }
        let is_held = (trader.held(SHARES) - wanted).abs() <= wanted / 1_000;
        if !is_held || left != Fault::None {
            compared = None;
        } else if *compared.get_or_insert(trader.balanced) < trader.balanced {
            return Ok(());
        }
    }
    Err(format!(
        "{} held after fifty minutes, {} compared, ends {:?}",
        trader.held(SHARES),
        trader.balanced,
        trader.ends
    ))
}
