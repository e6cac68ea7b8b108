//! The engine's state, and the order of one step.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::config::EngineConfig;
use crate::event::{BatchId, Start, TradingState};
use crate::intent::RecoveredPoolTransaction;
use crate::market::MarketId;
use crate::notification::{AS_STORED, Fill, Notification};
use crate::order::{ClientOrderId, Hash, StrategyId};
use crate::portfolio::Portfolio;
use crate::reference::References;
use crate::request::{Endpoint, Outcome, Query, RequestId, UnknownCause};
use crate::sorted_map::SortedMap;
use crate::strategy::{Strategy, Traded};
use crate::time::{Time, VenueTime};
use crate::venue::{FeeToken, VenueRules};

use crate::engine::account::booking::Pending;
use crate::engine::account::expected_flows::ExpectedFlows;
use crate::engine::account::foreign::Foreign;
use crate::engine::account::instances::Instances;
use crate::engine::account::ledger::{Ledger, OwnLocks};
use crate::engine::account::reconciliation::Reconciliation;
use crate::engine::account::slot_numbers::SlotNumbers;
use crate::engine::control::drain::Drain;
use crate::engine::control::status::StatusOutput;
use crate::engine::intents::amends::Amends;
use crate::engine::intents::pool_transactions::TrackedPoolTransaction;
use crate::engine::intents::registry::{Orders, Tracked};
use crate::engine::market::{Backoff, Market};
use crate::engine::market_data::book::OwnLevels;
use crate::engine::market_data::elsewhere::Elsewhere;
use crate::engine::market_data::others::Read;
use crate::engine::pools::positions::Pool;
use crate::engine::risk::counters::Counters;
use crate::engine::risk::loss_meter::LossMeter;
use crate::engine::risk::ramp::Ramp;
use crate::engine::risk::restrictions::RestrictionStore;
use crate::engine::risk::signed_unexpired::Signed;
use crate::engine::venue::budget::Budget;
use crate::engine::venue::clock::VenueClock;
use crate::engine::venue::polling::Polls;
use crate::engine::venue::scan_schedule::Listed;
use crate::engine::venue::trading_counters::TradingCounters;
use crate::list_scan::ListScan;

/// A request without an answer counts as lost after this many time-outs.
const LOST_AFTER: u64 = 5;

/// A strategy at a market.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StrategySlot {
    pub(crate) strategy: StrategyId,
    pub(crate) market: MarketId,
    /// Fills since its last decision.
    pub(crate) fills: Vec<Fill>,
    /// Its parameters, if they were changed since the start.
    pub(crate) parameters: Option<String>,
    /// What it has traded in all runs.
    pub(crate) traded: Traded,
    /// The other markets that it reads, in its order.
    pub(crate) reads: Vec<Read>,
}

/// The strategies of a start.
fn slots_of(start: &Start) -> Vec<StrategySlot> {
    let mut traded = start.traded.iter().copied();
    let slots = start.strategies.iter();
    slots
        .map(|(strategy, market)| StrategySlot {
            strategy: *strategy,
            market: *market,
            fills: Vec::new(),
            parameters: None,
            traded: traded.next().unwrap_or_default(),
            reads: Vec::new(),
        })
        .collect()
}

/// Purpose of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum RequestPurpose {
    /// Depth of a market, with the own orders that it may contain.
    Depth { market: MarketId, own: OwnLevels },
    /// Balances, with the count of fills and our locks at the request.
    Balances { fills: u64, own_locked: OwnLocks },
    /// A page of the current scan of orders.
    OrdersPage,
    /// Market configuration.
    Markets,
    /// Token configuration.
    Tokens,
    /// Our account.
    Account,
    /// The report of an order.
    OrderReport(ClientOrderId),
    /// Permissions of the pools beside the markets.
    Pools,
    /// Balances of the pool beside a market.
    PoolBalance(MarketId),
    /// A page of the current scan of joins and exits.
    PoolTransactionsPage,
    /// A transmission of an order, join or exit, and its endpoint.
    Submit(ClientOrderId, Endpoint),
    /// A cancel of an order.
    Cancel(ClientOrderId),
    /// A move of an order to another price.
    Amend(ClientOrderId),
    /// A cancel or a read of a managed foreign order.
    Foreign { hash: Hash, reads: bool },
}

/// A request without an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InFlightRequest {
    pub(crate) purpose: RequestPurpose,
    pub(crate) sent: Time,
}

/// The engine's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) config: EngineConfig,
    /// What the venue guarantees.
    pub(crate) venue: VenueRules,
    /// Prices of other places.
    pub(crate) references: References,
    /// What counts beside this venue, and limits over all of them; `None` for a venue of its own.
    pub(crate) portfolio: Option<Portfolio>,
    /// Markets of other venues that strategies read.
    pub(crate) elsewhere: Elsewhere,
    pub(crate) markets: Vec<Market>,
    pub(crate) slots: Vec<StrategySlot>,
    pub(crate) clock: VenueClock,
    pub(crate) budget: Budget,
    pub(crate) trading: TradingCounters,
    pub(crate) orders: Orders,
    pub(crate) slot_numbers: SlotNumbers,
    pub(crate) ledger: Ledger,
    pub(crate) polls: Polls,
    pub(crate) scan: Option<ListScan>,
    /// When the last complete scan began.
    pub(crate) last_complete_scan_at: Option<Time>,
    /// What complete scans have listed.
    pub(crate) listed: Listed,
    /// When everything that rests was last listed: nothing is quoted before that.
    pub(crate) resting_listed_at: Option<Time>,
    /// The scan of joins and exits in progress.
    pub(crate) pool_scan: Option<ListScan>,
    pub(crate) in_flight: SortedMap<RequestId, InFlightRequest>,
    pub(crate) next_request: u64,
    pub(crate) next_batch: u64,
    pub(crate) next_number: u64,
    pub(crate) instance: u32,
    pub(crate) maker_fee_bips: u16,
    pub(crate) taker_fee_bips: u16,
    pub(crate) restrictions: RestrictionStore,
    /// Comparison of ledger and venue.
    pub(crate) reconciliation: Reconciliation,
    /// Flows that operators have announced.
    pub(crate) expected_flows: ExpectedFlows,
    /// Changes to make durable at the end of the step.
    pub(crate) pending: Pending,
    /// Ledger and venue were compared, and every order of earlier runs is accounted for.
    pub(crate) ready: bool,
    /// The store failed: nothing can be sealed any more.
    pub(crate) store_failed: bool,
    /// Whether the account is frozen, by the venue's report; `None` before the first one.
    pub(crate) frozen: Option<bool>,
    pub(crate) recovered: u32,
    /// Open foreign orders.
    pub(crate) foreign: Foreign,
    /// Orders of other instances.
    pub(crate) instances: Instances,
    pub(crate) counters: Counters,
    /// Signed orders whose fence has not passed.
    pub(crate) signed: Signed,
    pub(crate) ramp: Ramp,
    /// Joins and exits created up to this time may be those of earlier runs.
    pub(crate) pool_transactions_since: VenueTime,
    /// Foreign joins and exits.
    pub(crate) foreign_pool_transactions: BTreeSet<Hash>,
    /// Open orders with an id of ours that are not known here.
    pub(crate) unrecognised_own_ids: BTreeSet<Hash>,
    pub(crate) drain: Option<Drain>,
    pub(crate) status_due: Time,
    /// How the status leaves the engine; of this process, not of the state.
    #[serde(skip)]
    pub(crate) status: StatusOutput,
    /// A request had no budget and should be tried again soon.
    pub(crate) budget_denied: bool,
    /// When the first of them has it; of the last step only.
    #[serde(skip)]
    pub(crate) payable_at: Time,
    pub(crate) next_wakeup_at: Time,
    /// Time of the last decision about markets.
    pub(crate) last_decision_at: Time,
    /// Time of the last step.
    pub(crate) last_step_at: Time,
}

impl State {
    /// The state at the first event: nothing is known of the venue but its time, and every recovered intent is unknown.
    pub(crate) fn new(now: Time, start: &Start, actions: &mut Vec<Action>) -> Self {
        let (slot_numbers, orders) = recovered(now, start);
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
                let meter = LossMeter::resume(spec, position, lost, pool.is_some());
                Market::new(spec.clone(), meter, pool)
            })
            .collect();
        let slots = slots_of(start);
        if start.restrictions.state > TradingState::Active {
            let (level, cause) = (start.restrictions.state, AS_STORED.to_owned());
            actions.push(Action::Notify(Notification::TradingStateChanged {
                level,
                cause,
            }));
        }
        for pause in start.restrictions.holding(start.venue_time) {
            actions.push(Action::Notify(Notification::Paused(pause.clone())));
        }
        let mut budget = Budget::new(now, start.config.budget.clone(), start.venue.costs.clone());
        let mut trading = TradingCounters::new(start.venue.trading.clone());
        if let Some(left) = start.budget_left.or((start.next_number > 1).then_some(0)) {
            budget.spend_all_but(now, left);
        }
        if start.next_number > 1 {
            trading.fill_all(now, start.markets.iter().map(|spec| spec.id));
        }
        Self {
            config: start.config.clone(),
            venue: start.venue.clone(),
            references: References::new(&start.references),
            portfolio: None,
            elsewhere: Elsewhere::default(),
            markets,
            slots,
            clock: VenueClock::new(now, start.venue_time),
            budget,
            trading,
            orders,
            slot_numbers,
            ledger: Ledger::new(start.books.ledger.clone(), start.books.charged_below),
            polls: Polls::default(),
            scan: None,
            last_complete_scan_at: None,
            listed: Listed::default(),
            resting_listed_at: None,
            pool_scan: None,
            in_flight: SortedMap::default(),
            next_request: 1,
            next_batch: 1,
            next_number: start.next_number,
            instance: start.instance,
            maker_fee_bips: start.maker_fee_bips,
            taker_fee_bips: start.taker_fee_bips,
            restrictions: RestrictionStore::new(start.restrictions.clone(), start.venue_time),
            reconciliation: Reconciliation::default(),
            expected_flows: ExpectedFlows::default(),
            pending: Pending::after(now, &start.books.positions),
            ready: false,
            store_failed: false,
            frozen: None,
            recovered: u32::try_from(start.open.len() + start.open_pool_transactions.len())
                .unwrap_or(u32::MAX),
            foreign: Foreign::default(),
            instances: Instances::new(start.venue_time),
            counters: Counters::default(),
            signed: Signed::of(&start.signed),
            ramp: Ramp::default(),
            pool_transactions_since: start.venue_time.plus_ms(start.venue.clock.resolution_ms),
            foreign_pool_transactions: BTreeSet::new(),
            unrecognised_own_ids: BTreeSet::new(),
            drain: None,
            status_due: now,
            status: StatusOutput::Emitted,
            budget_denied: false,
            payable_at: Time(u64::MAX),
            next_wakeup_at: now,
            last_decision_at: now,
            last_step_at: now,
        }
    }

    /// Everything that follows from the current state.
    pub(crate) fn step(
        &mut self,
        now: Time,
        strategies: &mut [Box<dyn Strategy>],
        actions: &mut Vec<Action>,
    ) {
        (self.budget_denied, self.payable_at) = (false, Time(u64::MAX));
        self.last_step_at = now;
        self.notice_gap(now, actions);
        self.end_lost_requests(now, actions);
        self.maintain_restrictions(now, actions);
        self.maintain_instances(now);
        self.maintain_signed(now);
        self.drop_unsent(now, actions);
        self.tend_turns();
        self.send_cancels(now, actions);
        self.cancel_foreign(now, actions);
        self.poll_lapsing(now, actions);
        self.book_opening(now, actions);
        self.decide(now, strategies, actions);
        self.send_cancels(now, actions);
        self.resend(now, actions);
        self.poll_due(now, actions);
        self.book_pending(now, actions);
        self.finish_drain(now, actions);
        self.emit_status(now, actions);
        self.next_wakeup_at = self.earliest(now);
        if !self.is_leaving()
            && let Some(at) = next_decision(now, strategies)
        {
            self.next_wakeup_at = self.next_wakeup_at.min(at);
        }
    }

    /// Ends requests without an answer. The shell answers every request; an answer that is lost anyway must not block
    /// further requests of its kind.
    fn end_lost_requests(&mut self, now: Time, actions: &mut Vec<Action>) {
        while let Some((&request, asked)) = self.in_flight.first_key_value()
            && now >= self.lost_at(asked)
        {
            let lost = Outcome::Unknown(UnknownCause::Timeout);
            let endpoint = self.in_flight.get(&request).map(|a| a.purpose.endpoint());
            self.handle_answer(now, request, &lost, None, actions);
            self.charge_beyond(now, (endpoint, &lost), false, 0);
        }
    }

    /// When a request without an answer is ended.
    pub(crate) fn lost_at(&self, asked: &InFlightRequest) -> Time {
        let deadline_ms = self.config.request_timeout_ms.max(1);
        asked.sent.plus_ms(deadline_ms.saturating_mul(LOST_AFTER))
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.drain.as_ref().is_some_and(Drain::is_finished)
    }

    pub(crate) fn wakeup(&self) -> Time {
        self.next_wakeup_at
    }

    /// Sends a query whose budget is charged.
    pub(crate) fn send(
        &mut self,
        now: Time,
        purpose: RequestPurpose,
        query: Query,
        actions: &mut Vec<Action>,
    ) -> RequestId {
        let request = self.register(now, purpose);
        actions.push(Action::Send { request, query });
        request
    }

    /// Registers a request and returns its number.
    pub(crate) fn register(&mut self, now: Time, purpose: RequestPurpose) -> RequestId {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.in_flight
            .insert(request, InFlightRequest { purpose, sent: now });
        request
    }

    /// Returns the number of a new batch.
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

    /// The pause after refusals of an intent: orders of the book have one, joins, exits and swaps another.
    pub(crate) fn backoff_of(&mut self, market: MarketId, id: ClientOrderId) -> &mut Backoff {
        let with_pool = self.orders.pool_transactions.get(id).is_some() || self.is_swap(id);
        let market = self.market_mut(market);
        match &mut market.pool {
            Some(pool) if with_pool => &mut pool.backoff,
            Some(_) | None => &mut market.backoff,
        }
    }

    /// Marks every market for a new decision.
    pub(crate) fn touch_all(&mut self) {
        self.markets
            .iter_mut()
            .for_each(|market| market.decision_due = true);
    }

    /// Reports a failed invariant, and stops new orders.
    pub(crate) fn violated(&mut self, name: &str, detail: String, actions: &mut Vec<Action>) {
        actions.push(Action::Notify(Notification::InvariantFailed {
            name: name.to_owned(),
            detail,
        }));
        self.ramp.restart(self.last_step_at);
        self.raise(TradingState::CancelOnly, name, actions);
    }
}

/// When the first strategy wants to be asked again. One whose time has passed waits for something to
/// change: its market may not be quoted, and it was not asked.
fn next_decision(now: Time, strategies: &[Box<dyn Strategy>]) -> Option<Time> {
    let each = strategies
        .iter()
        .filter_map(|strategy| strategy.next_decision());
    each.filter(|at| *at > now).min()
}

/// The intents of earlier runs: each is unknown, and its slots are occupied.
fn recovered(now: Time, start: &Start) -> (SlotNumbers, Orders) {
    let mut slot_numbers = SlotNumbers::new(start.venue.slots, start.next_slots.clone());
    let mut orders = Orders::default();
    for recovered in &start.open {
        slot_numbers.occupy(recovered.order.sell_token, recovered.order.slot);
        let order = recovered.order.clone();
        let spec = start.markets.get(usize::from(order.market.0));
        let fee_in = spec.map_or(FeeToken::default(), |spec| spec.fee_in);
        let terms = (fee_in, start.venue.amounts);
        let mut tracked = Tracked::sealing(order, terms, BatchId::default());
        if start.venue.amends_orders {
            tracked.amends = Amends::of_earlier_run();
        }
        let lifecycle = &mut tracked.lifecycle;
        lifecycle.recover(now, recovered.hash, start.config.attempts_max);
        tracked.base_filled = recovered.base_filled;
        tracked.quote_filled = recovered.quote_filled;
        tracked.fee = recovered.fee;
        orders.insert(tracked);
    }
    for RecoveredPoolTransaction {
        transaction: wanted,
        hash,
    } in &start.open_pool_transactions
    {
        for (token, id) in wanted.slots() {
            slot_numbers.occupy(token, id);
        }
        let mut tracked =
            TrackedPoolTransaction::sealing(wanted.clone(), wanted.amounts, BatchId::default());
        let lifecycle = &mut tracked.lifecycle;
        lifecycle.recover(now, *hash, start.config.attempts_max);
        orders.pool_transactions.insert(tracked);
    }
    (slot_numbers, orders)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::state;

    /// A tape states the numbers: an engine with other numbers would not repeat an older tape.
    #[test]
    fn requests_are_numbered_from_one_without_gaps() {
        let now = Time::from_ms(1_000);
        let mut state = state(now);
        let numbers = [(); 3].map(|()| state.register(now, RequestPurpose::Markets));
        assert_eq!(numbers, [1, 2, 3].map(RequestId));
    }
}
