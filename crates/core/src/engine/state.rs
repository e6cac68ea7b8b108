//! Everything the engine remembers, and the order of one step.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::config::EngineConfig;
use crate::event::{BatchId, Level, Start};
use crate::intent::RecoveredMove;
use crate::market::MarketId;
use crate::note::{Fill, Note};
use crate::order::{ClientOrderId, Hash, StrategyId};
use crate::planted::{self, Defect};
use crate::request::{Endpoint, Outcome, Query, RequestId, UnknownCause};
use crate::strategy::Strategy;
use crate::time::{Time, VenueTime};

use super::book::OwnLevels;
use super::booking::Pending;
use super::budget::Budget;
use super::clock::VenueClock;
use super::drain::Drain;
use super::foreign::Foreign;
use super::instances::Instances;
use super::ledger::{Ledger, OwnLocks};
use super::levels::Permits;
use super::market::{Market, Rest};
use super::meter::Meter;
use super::orders::{Orders, Tracked};
use super::passes::Pass;
use super::poll::Polls;
use super::pool_moves::TrackedMove;
use super::pools::Pool;
use super::ramp::Ramp;
use super::reconcile::Reconciliation;
use super::signed::Signed;
use super::storage::StorageIds;
use super::tally::Tally;

/// A request whose answer the shell owes for so many of its deadlines is taken for lost.
const LOST_AFTER: u64 = 5;

/// A strategy's place at a market.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Seat {
    pub(crate) strategy: StrategyId,
    pub(crate) market: MarketId,
    /// Fills since it was last asked.
    pub(crate) fills: Vec<Fill>,
}

/// What a request was for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Purpose {
    /// Depth of a market, with the own orders that it may show.
    Depth { market: MarketId, own: OwnLevels },
    /// Balances, with the count of fills and our locks when they were asked for.
    Balances { fills: u64, own_locked: OwnLocks },
    /// A page of the pass under way.
    Page,
    /// Market configuration.
    Markets,
    /// Token configuration.
    Tokens,
    /// Our account.
    Account,
    /// The report of an order.
    Read(ClientOrderId),
    /// What the pools beside the markets allow.
    Pools,
    /// What the pool beside a market holds.
    PoolBalance(MarketId),
    /// A page of the pass over joins and exits under way.
    MovesPage,
    /// A transmission of an order or a move, and where it goes.
    Submit(ClientOrderId, Endpoint),
    /// A cancel of an order.
    Cancel(ClientOrderId),
    /// A cancel or a reading of somebody else's order that is managed.
    Foreign { hash: Hash, reads: bool },
}

/// A request under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) purpose: Purpose,
    pub(crate) sent: Time,
}

/// Everything the engine remembers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) config: EngineConfig,
    pub(crate) markets: Vec<Market>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) clock: VenueClock,
    pub(crate) budget: Budget,
    pub(crate) orders: Orders,
    pub(crate) storage: StorageIds,
    pub(crate) ledger: Ledger,
    pub(crate) polls: Polls,
    pub(crate) pass: Option<Pass>,
    /// When the last complete pass began.
    pub(crate) looked: Option<Time>,
    /// When what rests was last read whole: nothing is quoted before that.
    pub(crate) stood: Option<Time>,
    /// The pass over joins and exits under way.
    pub(crate) moves_pass: Option<Pass>,
    pub(crate) asked: BTreeMap<RequestId, Asked>,
    pub(crate) next_request: u64,
    pub(crate) next_batch: u64,
    pub(crate) next_number: u64,
    pub(crate) instance: u32,
    pub(crate) maker_fee_bips: u16,
    pub(crate) taker_fee_bips: u16,
    pub(crate) permits: Permits,
    /// Ledger against venue.
    pub(crate) reconciliation: Reconciliation,
    /// What is to be made durable at the end of the step.
    pub(crate) pending: Pending,
    /// Ledger and venue were compared, and every order of earlier runs is accounted for.
    pub(crate) ready: bool,
    /// The store failed: nothing can be sealed any more.
    pub(crate) store_failed: bool,
    /// Whether the account is, as the venue said; `None` before it has.
    pub(crate) frozen: Option<bool>,
    pub(crate) recovered: u32,
    /// Open orders of somebody else.
    pub(crate) foreign: Foreign,
    /// Orders of other cambist instances.
    pub(crate) instances: Instances,
    pub(crate) tally: Tally,
    /// Everything signed that is not behind its fence.
    pub(crate) signed: Signed,
    pub(crate) ramp: Ramp,
    /// Joins and exits created up to here may be those of earlier runs.
    pub(crate) born: VenueTime,
    /// Joins and exits of somebody else.
    pub(crate) foreign_moves: BTreeSet<Hash>,
    /// Open orders with an id of ours that were not known here.
    pub(crate) strays: BTreeSet<Hash>,
    pub(crate) drain: Option<Drain>,
    pub(crate) status_due: Time,
    /// Something was denied budget and should be tried again soon.
    pub(crate) denied: bool,
    pub(crate) wake: Time,
    /// When markets were last decided on.
    pub(crate) decided: Time,
    /// When the engine last stepped.
    pub(crate) stepped: Time,
}

impl State {
    /// The state at the first event: nothing is known of the venue but the time, and every recovered
    /// order is unknown.
    pub(crate) fn new(now: Time, start: &Start, actions: &mut Vec<Action>) -> Self {
        let (storage, orders) = recovered(now, start);
        let pool = |market: MarketId| {
            let at = start.pools.iter().position(|pool| pool.market == market)?;
            let config = start.config.pools.get(at)?.clone();
            Some(Pool::new(start.pools[at].clone(), at, config))
        };
        let markets = start
            .markets
            .iter()
            .map(|spec| {
                let pool = pool(spec.id);
                let position = start.books.positions.get(&spec.id);
                let position = position.filter(|_| start.books.ledger.is_some());
                let lost = start.lost.get(&spec.id).copied();
                let meter = Meter::resume(spec, position, lost, pool.is_some());
                Market::new(spec.clone(), meter, pool)
            })
            .collect();
        let seats = start
            .strategies
            .iter()
            .map(|(strategy, market)| Seat {
                strategy: *strategy,
                market: *market,
                fills: Vec::new(),
            })
            .collect();
        if start.levels.level > Level::Trading {
            let (level, cause) = (start.levels.level, "as stored".to_owned());
            actions.push(Action::Note(Note::LevelChanged { level, cause }));
        }
        for pause in start.levels.holding(start.venue_time) {
            actions.push(Action::Note(Note::Paused(pause.clone())));
        }
        let mut budget = Budget::new(now, start.config.budget.clone());
        if start.next_number > 1 && !planted::armed(Defect::BudgetRenewed) {
            budget.spend_all(now);
        }
        Self {
            config: start.config.clone(),
            markets,
            seats,
            clock: VenueClock::new(now, start.venue_time),
            budget,
            orders,
            storage,
            ledger: Ledger::new(planted::unless(
                Defect::BooksGuessed,
                start.books.ledger.clone(),
            )),
            polls: Polls::default(),
            pass: None,
            looked: None,
            stood: None,
            moves_pass: None,
            asked: BTreeMap::new(),
            next_request: 1,
            next_batch: 1,
            next_number: start.next_number,
            instance: start.instance,
            maker_fee_bips: start.maker_fee_bips,
            taker_fee_bips: start.taker_fee_bips,
            permits: Permits::new(start.levels.clone(), start.venue_time),
            reconciliation: Reconciliation::default(),
            pending: Pending::after(now, &start.books.positions),
            ready: false,
            store_failed: false,
            frozen: None,
            recovered: u32::try_from(start.open.len() + start.open_moves.len()).unwrap_or(u32::MAX),
            foreign: Foreign::default(),
            instances: Instances::new(start.venue_time),
            tally: Tally::default(),
            signed: Signed::of(&start.signed),
            ramp: Ramp::default(),
            // A header tells whole seconds.
            born: start.venue_time.plus_ms(1_000),
            foreign_moves: BTreeSet::new(),
            strays: BTreeSet::new(),
            drain: None,
            status_due: now,
            denied: false,
            wake: now,
            decided: now,
            stepped: now,
        }
    }

    /// Everything that follows from what is now known.
    pub(crate) fn step(
        &mut self,
        now: Time,
        strategies: &mut [Box<dyn Strategy>],
        actions: &mut Vec<Action>,
    ) {
        self.denied = false;
        self.stepped = now;
        self.notice_gap(now, actions);
        self.give_up_lost(now, actions);
        self.tend_levels(now, actions);
        self.tend_instances(now);
        self.tend_signed(now);
        self.drop_unsent(now, actions);
        self.send_cancels(now, actions);
        self.cancel_foreign(now, actions);
        self.poll_lapsing(now, actions);
        self.decide(now, strategies, actions);
        self.send_cancels(now, actions);
        self.resend(now, actions);
        self.poll_due(now, actions);
        self.book_pending(now, actions);
        self.finish_drain(now, actions);
        self.tell_status(now, actions);
        self.wake = self.earliest(now);
    }

    /// The shell answers every request; an answer that it loses all the same must not block its kind of
    /// request for ever.
    fn give_up_lost(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some((request, asked)) = self.asked.first_key_value()
            && now >= self.lost_at(asked)
        {
            let (request, lost) = (*request, Outcome::Unknown(UnknownCause::Timeout));
            self.hear_answer(now, request, &lost, None, actions);
        }
    }

    /// When the answer to a request is given up.
    pub(crate) fn lost_at(&self, asked: &Asked) -> Time {
        let deadline_ms = self.config.request_timeout_ms.max(1);
        asked.sent.plus_ms(deadline_ms.saturating_mul(LOST_AFTER))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.drain.as_ref().is_some_and(Drain::is_finished)
    }

    pub(crate) fn wakeup(&self) -> Time {
        self.wake
    }

    /// Sends a poll or a cancel that the budget has paid for.
    pub(crate) fn send(
        &mut self,
        now: Time,
        purpose: Purpose,
        query: Query,
        actions: &mut Vec<Action>,
    ) -> RequestId {
        let request = self.register(now, purpose);
        actions.push(Action::Send { request, query });
        request
    }

    /// Numbers a request.
    pub(crate) fn register(&mut self, now: Time, purpose: Purpose) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.asked.insert(request, Asked { purpose, sent: now });
        request
    }

    /// Numbers a batch.
    pub(crate) fn batch(&mut self) -> BatchId {
        let batch = BatchId(self.next_batch);
        self.next_batch += 1;
        batch
    }

    pub(crate) fn market_mut(&mut self, id: MarketId) -> &mut Market {
        &mut self.markets[usize::from(id.0)]
    }

    pub(crate) fn market(&self, id: MarketId) -> &Market {
        &self.markets[usize::from(id.0)]
    }

    /// The pause after refusals at an endpoint of a market: orders have one, moves of its pool another.
    pub(crate) fn rest_of(&mut self, market: MarketId, endpoint: Endpoint) -> &mut Rest {
        let market = self.market_mut(market);
        match &mut market.pool {
            Some(pool) if endpoint.is_move() => &mut pool.rest,
            Some(_) | None => &mut market.rest,
        }
    }

    /// Every market is thought over again.
    pub(crate) fn touch_all(&mut self) {
        self.markets
            .iter_mut()
            .for_each(|market| market.dirty = true);
    }

    /// Reports a rule that did not hold, and stops new orders.
    pub(crate) fn violated(&mut self, name: &str, detail: String, actions: &mut Vec<Action>) {
        actions.push(Action::Note(Note::InvariantFailed {
            name: name.to_owned(),
            detail,
        }));
        self.ramp.begin_again(self.stepped);
        self.raise(Level::CancelOnly, name, actions);
    }
}

/// What earlier runs left: every intent is unknown, and its storage slots are taken.
fn recovered(now: Time, start: &Start) -> (StorageIds, Orders) {
    let mut storage = StorageIds::new(start.next_storage.clone());
    let mut orders = Orders::default();
    for recovered in &start.open {
        storage.occupy(recovered.order.sell_token, recovered.order.storage_id);
        let mut tracked = Tracked::sealing(recovered.order.clone(), BatchId::default());
        let life = &mut tracked.life;
        life.recover(now, recovered.hash, start.config.attempts_max);
        if !planted::armed(Defect::RecoveredFillsForgotten) {
            tracked.base_filled = recovered.base_filled;
            tracked.quote_filled = recovered.quote_filled;
            tracked.fee = recovered.fee;
        }
        orders.insert(tracked);
    }
    for RecoveredMove { wanted, hash } in &start.open_moves {
        for (token, id) in wanted.slots() {
            storage.occupy(token, id);
        }
        let mut tracked = TrackedMove::sealing(wanted.clone(), wanted.amounts, BatchId::default());
        let life = &mut tracked.life;
        life.recover(now, *hash, start.config.attempts_max);
        orders.moves.insert(tracked);
    }
    (storage, orders)
}
