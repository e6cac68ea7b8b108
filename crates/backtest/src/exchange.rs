//! The simulated exchange: recorded markets, our account and our orders in them.

use std::collections::VecDeque;

use cambist_core::event::Amounts;
use cambist_core::order::UnsignedOrder;
use cambist_core::postings::Traded;
use cambist_core::request::{Depth, DepthLevel, Listed, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::sorted_set::SortedSet;
use cambist_core::{
    Amount, Hash, MarketId, MarketSpec, OrderKind, OrderStatus, Price, Qty, Reason, Side,
    TokenSpec, VenueTime,
};
use cambist_fill_model::{
    ExecutionReport, Fees, FillSimulator, Liquidity, NewOrder, Options, OrderId, Outcome,
    QueueModel, TimeInForce, TradeSides,
};
use cambist_market_data::{Event, Level, Snapshot, Timestamp};

use crate::account::{Account, AccountOrder, Change, OrderNumber, hash_of, number_of};
use crate::assumptions::Assumptions;
use crate::error::BacktestError;
use crate::fee_bips::FeeBips;
use crate::feed::{common_step, lot_decimals};
use crate::network::nanos;
use crate::resting::Resting;
use crate::sink::OpenOrderRow;

/// A fill of one of our orders, at the exchange.
#[derive(Clone, Debug)]
pub struct Execution {
    pub time: Timestamp,
    pub order: OrderNumber,
    pub market: MarketId,
    pub side: Side,
    pub price: Price,
    pub lots: u64,
    pub traded: Traded,
    pub liquidity: Liquidity,
}

/// A market and what its recording is.
#[derive(Clone, Debug)]
pub struct RecordedMarket {
    pub spec: MarketSpec,
    pub is_snapshots: bool,
    /// The market's lots in one of the recording.
    pub fill_lots: u64,
}

struct Market {
    spec: MarketSpec,
    simulator: FillSimulator,
    is_snapshots: bool,
    /// Changes that may affect the depth, beside the removal of crossed levels.
    changes: u64,
    /// Buffer for the levels of a reply.
    levels: Snapshot,
    resting: Resting,
    /// The largest step that divides the prices of our fills, in ticks; 0 before the first.
    filled_step: u64,
}

/// The exchange.
pub struct SimulatedExchange {
    markets: Vec<Market>,
    specs: Vec<MarketSpec>,
    tokens: Vec<TokenSpec>,
    /// The actual state.
    account: Account,
    /// The state that lists, balances and depth report, if it differs.
    reported_account: Option<Account>,
    /// Changes that are not reported yet.
    unreported: VecDeque<(Timestamp, Change)>,
    lag_nanos: i64,
    depth_levels: usize,
    /// Of orders that rested, and of those that took.
    fees: [FeeBips; 2],
    queue: QueueModel,
    /// Open orders by the end of their validity.
    expiries: SortedSet<(u32, OrderNumber)>,
    /// Open orders by market.
    places: SortedMap<OrderNumber, MarketId>,
    /// Ended orders stay in lists for this time after their creation, in milliseconds.
    kept_ms: u64,
    executions: Vec<Execution>,
    reports: Vec<ExecutionReport>,
}

/// The exchange's clock.
pub fn venue_time(now: Timestamp) -> VenueTime {
    VenueTime(u64::try_from(now.0).unwrap_or(0) / 1_000_000)
}

impl SimulatedExchange {
    pub fn new(
        markets: &[RecordedMarket],
        tokens: Vec<TokenSpec>,
        opening: Amounts,
        assumptions: &Assumptions,
        kept_ms: u64,
    ) -> Result<Self, BacktestError> {
        let account = Account::new(opening);
        let lag_nanos = nanos(assumptions.visibility_lag_us);
        let make = |recorded: &RecordedMarket| {
            let RecordedMarket {
                spec,
                is_snapshots,
                fill_lots,
            } = recorded;
            let options = Options {
                queue: assumptions.queue,
                rule: assumptions.fill_rule,
                // Booked in token amounts by this exchange.
                fees: Fees::default(),
                lot: 10_f64.powi(-i32::from(lot_decimals(spec))),
                fill_lots: *fill_lots,
                traded_share: assumptions.traded_share_ppm,
            };
            let simulator = if *is_snapshots {
                FillSimulator::of_snapshots(options)?
            } else {
                FillSimulator::of_events(options)?
            };
            Ok(Market {
                spec: spec.clone(),
                simulator,
                is_snapshots: *is_snapshots,
                changes: 0,
                levels: Snapshot::default(),
                resting: Resting::default(),
                filled_step: 0,
            })
        };
        Ok(Self {
            markets: markets
                .iter()
                .map(make)
                .collect::<Result<_, BacktestError>>()?,
            specs: markets.iter().map(|market| market.spec.clone()).collect(),
            tokens,
            reported_account: (lag_nanos > 0).then(|| account.clone()),
            account,
            unreported: VecDeque::new(),
            lag_nanos,
            depth_levels: assumptions.depth_levels,
            fees: [assumptions.maker_fee, assumptions.taker_fee],
            queue: assumptions.queue,
            expiries: SortedSet::new(),
            places: SortedMap::new(),
            kept_ms,
            executions: Vec::new(),
            reports: Vec::new(),
        })
    }

    /// Applies events of the recorded market up to and including a time, in their order, but none of a later time than
    /// one at which an order of ours was filled, so that the fill can be booked then. Returns how many.
    pub fn apply_events(&mut self, market: usize, events: &[Event], mut until: Timestamp) -> usize {
        if self.has_executions() {
            until = events.first().map_or(until, |next| next.exchange_time);
        }
        let mut applied = 0;
        loop {
            let market_state = &mut self.markets[market];
            let left = &events[applied..];
            let count = market_state
                .simulator
                .apply_until(left, until, &mut self.reports);
            market_state.changes += count as u64;
            applied += count;
            if self.reports.is_empty() {
                return applied;
            }
            self.take_reports(market);
            until = events[applied - 1].exchange_time;
        }
    }

    /// All rows of one time were applied.
    #[inline]
    pub fn end_message(&mut self, market: usize) {
        self.markets[market].simulator.end_message();
    }

    /// Applies a snapshot of the recorded market.
    pub fn apply_snapshot(&mut self, market: usize, snapshot: &Snapshot) {
        let market_state = &mut self.markets[market];
        market_state.changes += 1;
        market_state
            .simulator
            .apply_snapshot(snapshot, &mut self.reports);
        if !self.reports.is_empty() {
            self.take_reports(market);
        }
    }

    /// A submit takes effect: returns hash and state of the order.
    pub fn submit(
        &mut self,
        now: Timestamp,
        order: &UnsignedOrder,
    ) -> Result<(Hash, OrderStatus), Reason> {
        let number = order.client_id.number;
        let hash = hash_of(number);
        if self.account.get(number).is_some() {
            return Err(Reason::OrderExists);
        }
        let market = usize::from(order.market.0);
        if market >= self.markets.len() {
            return Err(Reason::UnsupportedMarket);
        }
        let clock = venue_time(now);
        if order.lifetime().accepted_until <= clock {
            return Err(Reason::OrderExpired);
        }
        let spec = &self.markets[market].spec;
        // The fee that comes on top of what is paid, at the higher of both rates: an order may trade at once and rest then.
        let fee_on_top = if spec.fee_in.is_on_top(order.side) {
            let [maker, taker] = self.fees;
            maker.max(taker).of(order.sell_amount)
        } else {
            0
        };
        let bound = order.sell_amount.saturating_add(fee_on_top);
        if self.account.available(order.sell_token) < bound {
            return Err(Reason::InsufficientBalance);
        }
        let name = spec.name.as_str().into();
        let accepted = AccountOrder::new(order.clone(), clock, name, fee_on_top);
        self.change(now, Change::Accepted(Box::new(accepted)));
        self.places.insert(number, order.market);
        self.markets[market].resting.begins(now, order.side);
        self.expiries.insert((order.last_effect_s(), number));
        let order_request = NewOrder {
            id: OrderId(number),
            side: order.side,
            price: order.price,
            qty: order.qty,
            time_in_force: match order.kind {
                OrderKind::MakerOnly => TimeInForce::PostOnly,
                OrderKind::Limit => TimeInForce::GoodTillCancel,
                OrderKind::TakerOnly => TimeInForce::ImmediateOrCancel,
            },
        };
        let market_state = &mut self.markets[market];
        market_state.changes += 1;
        market_state
            .simulator
            .submit(now, &order_request, &mut self.reports);
        self.take_reports(market);
        let status = self.account.get(number).map(|order| order.report.status);
        Ok((hash, status.unwrap_or(OrderStatus::Failed)))
    }

    /// A cancel takes effect: returns the state of the order.
    pub fn cancel(&mut self, now: Timestamp, hash: Hash) -> Result<OrderStatus, Reason> {
        let number = number_of(hash);
        let Some(order) = self.account.get(number) else {
            return Err(Reason::NothingToCancel);
        };
        if order.report.status.is_final() {
            return Err(Reason::InvalidArgument);
        }
        self.close(now, number, OrderStatus::Cancelled);
        Ok(OrderStatus::Cancelled)
    }

    /// Ends orders whose validity has passed.
    pub fn expire(&mut self, now: Timestamp) {
        let clock = venue_time(now);
        while let Some(&(valid_until_s, number)) = self.expiries.first()
            && VenueTime::from_s(u64::from(valid_until_s)) <= clock
        {
            self.close(now, number, OrderStatus::Expired);
        }
    }

    /// When the next order expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        let (valid_until_s, _) = self.expiries.first()?;
        Some(Timestamp(i64::from(*valid_until_s) * 1_000_000_000))
    }

    /// Removes an open order from its market.
    fn close(&mut self, now: Timestamp, number: OrderNumber, status: OrderStatus) {
        if let Some(market) = self.places.get(&number) {
            let market_state = &mut self.markets[usize::from(market.0)];
            market_state.changes += 1;
            // The end is booked below.
            let before = self.reports.len();
            market_state
                .simulator
                .cancel(now, OrderId(number), &mut self.reports);
            self.reports.truncate(before);
        }
        self.end(now, number, status);
    }

    fn end(&mut self, now: Timestamp, number: OrderNumber, status: OrderStatus) {
        let place = self.places.remove(&number);
        if let Some(order) = self.account.get(number) {
            let side = order.order.side;
            self.expiries.remove(&(order.order.last_effect_s(), number));
            if let Some(market) = place {
                let market_state = &mut self.markets[usize::from(market.0)];
                market_state.resting.ends(now, side);
            }
        }
        self.change(now, Change::Ended(number, status));
        let before = venue_time(now).minus_ms(self.kept_ms);
        self.account.prune(before);
        if let Some(reported_account) = &mut self.reported_account {
            reported_account.prune(before);
        }
    }

    fn change(&mut self, now: Timestamp, change: Change) {
        self.account.apply(&change, &self.specs);
        if self.reported_account.is_some() {
            self.unreported
                .push_back((now.plus_nanos(self.lag_nanos), change));
        }
    }

    /// Books the reports of the fill model.
    #[cold]
    fn take_reports(&mut self, market: usize) {
        let mut reports = std::mem::take(&mut self.reports);
        for report in reports.drain(..) {
            let number = report.order.0;
            let end = match report.outcome {
                Outcome::Resting | Outcome::CancelRejected => None,
                Outcome::Rejected(_) => Some(OrderStatus::Failed),
                Outcome::Canceled(_) | Outcome::Expired(_) => Some(OrderStatus::Cancelled),
                Outcome::Filled(fill) => {
                    let spec = &self.specs[market];
                    let id = spec.id;
                    let base = spec.base_amount(fill.qty).unwrap_or(Amount::MAX);
                    let quote = spec.quote_amount(fill.price, fill.qty);
                    let quote = quote.unwrap_or(Amount::MAX);
                    let charged = if spec.fee_in.is_base(fill.side) {
                        base
                    } else {
                        quote
                    };
                    let rate = self.fees[usize::from(fill.liquidity == Liquidity::Taker)];
                    let fee = rate.of(charged);
                    let traded = Traded { base, quote, fee };
                    let step = &mut self.markets[market].filled_step;
                    *step = common_step(*step, fill.price);
                    self.change(report.time, Change::Filled(number, traded));
                    self.executions.push(Execution {
                        time: report.time,
                        order: number,
                        market: id,
                        side: fill.side,
                        price: fill.price,
                        lots: fill.qty.0,
                        traded,
                        liquidity: fill.liquidity,
                    });
                    (fill.remaining.0 == 0).then_some(OrderStatus::Processed)
                }
            };
            if let Some(status) = end {
                self.end(report.time, number, status);
            }
        }
        self.reports = reports;
    }

    /// Whether there are executions that were not taken yet.
    #[inline]
    pub const fn has_executions(&self) -> bool {
        !self.executions.is_empty()
    }

    /// Moves the executions since the last call into `into`.
    pub fn take_executions(&mut self, into: &mut Vec<Execution>) {
        into.append(&mut self.executions);
    }

    /// Answers a query at the exchange's time.
    pub fn answer(&mut self, now: Timestamp, query: &Query) -> Result<Reply, Reason> {
        self.report_due(now);
        let account = self.reported_account.as_ref().unwrap_or(&self.account);
        Ok(match query {
            Query::Depth(market) => {
                let market = usize::from(market.0);
                if market >= self.markets.len() {
                    return Err(Reason::UnsupportedDepthMarket);
                }
                Reply::Depth(self.depth(now, market))
            }
            Query::Balances => Reply::Balances(account.balances()),
            Query::Orders(page) => {
                let (orders, total) = account.page(page);
                Reply::Orders { orders, total }
            }
            Query::Order(hash) => {
                let order = account.get(number_of(*hash));
                Reply::Order(order.ok_or(Reason::OrderNotFound)?.report.clone())
            }
            Query::Cancel(hash) => Reply::CancelTaken {
                status: self.cancel(now, *hash)?,
            },
            Query::Markets => Reply::Markets {
                listed: self.specs.iter().map(listed).collect(),
            },
            Query::Account => Reply::Account { frozen: false },
            Query::Tokens => Reply::Tokens(self.tokens.clone()),
            // There are no pools.
            Query::Pools => Reply::Pools(Vec::new()),
            // Orders are cancelled and made again here, and there are no pools.
            Query::Amend(_) | Query::PoolBalance(_) => return Err(Reason::InvalidArgument),
            Query::PoolTransactions(_) => Reply::PoolTransactions {
                moves: Vec::new(),
                total: 0,
            },
        })
    }

    /// Applies changes to the reported state whose visibility lag has passed.
    fn report_due(&mut self, now: Timestamp) {
        let Some(reported_account) = &mut self.reported_account else {
            return;
        };
        while let Some((at, _)) = self.unreported.front()
            && *at <= now
        {
            if let Some((_, change)) = self.unreported.pop_front() {
                reported_account.apply(&change, &self.specs);
            }
        }
    }

    /// The depth of a market: recorded levels and our orders. Recorded levels that cross our orders have traded with
    /// them and are left out. An order whose end is not reported yet is shown only while no recorded level crosses it:
    /// these have not traded with it.
    fn depth(&mut self, now: Timestamp, market: usize) -> Depth {
        let account = self.reported_account.as_ref().unwrap_or(&self.account);
        let Market {
            spec,
            simulator,
            is_snapshots,
            changes,
            levels,
            ..
        } = &mut self.markets[market];
        simulator.write_snapshot(self.depth_levels, levels);
        for order in account.open() {
            let can_fill = || {
                let known = self.account.get(order.order.client_id.number);
                known.is_some_and(|order| !order.report.status.is_final())
            };
            if order.order.market == spec.id && (!crosses(levels, order) || can_fill()) {
                show_own(levels, order, spec);
            }
        }
        let [bids, asks] = Side::BOTH.map(|side| {
            let levels = levels.side(side).iter().map(|level| DepthLevel {
                price: level.price,
                size: spec.lot.saturating_mul(Amount::from(level.qty.0)),
            });
            levels.collect()
        });
        // A snapshot is valid for the time it was taken; a book of incremental changes is valid until the next change.
        let valid = if *is_snapshots {
            levels.exchange_time
        } else {
            now
        };
        Depth {
            market: spec.id,
            // Increases with every change.
            version: *changes + simulator.crossings(),
            timestamp: venue_time(valid),
            bids,
            asks,
        }
    }

    /// Best bid and best ask of the recorded market, in ticks; `None` while a side is empty or the book is crossed.
    pub fn touch(&self, market: usize) -> Option<(Price, Price)> {
        let simulator = &self.markets[market].simulator;
        let touch = simulator.best(Side::Buy).zip(simulator.best(Side::Sell));
        touch.filter(|(bid, ask)| bid < ask)
    }

    /// The largest step that divides the prices of our fills in a market, in ticks; 0 before the first.
    pub fn filled_step(&self, market: usize) -> u64 {
        self.markets[market].filled_step
    }

    /// How queue positions are tracked or estimated.
    pub const fn queue(&self) -> QueueModel {
        self.queue
    }

    /// Whether exact queue positions are asked of a recording that has named no order.
    pub fn lacks_orders(&self, market: usize) -> bool {
        let Market { simulator, .. } = &self.markets[market];
        self.queue == QueueModel::Fifo && !simulator.names_orders()
    }

    /// The best price of our open orders on a side.
    pub fn own_best(&self, market: MarketId, side: Side) -> Option<Price> {
        let open = self.account.open().map(|order| &order.order);
        let prices = open
            .filter(|order| order.market == market && order.side == side)
            .map(|order| order.price);
        match side {
            Side::Buy => prices.max(),
            Side::Sell => prices.min(),
        }
    }

    /// How long our orders rested in a market up to a time.
    pub fn resting(&self, market: usize, now: Timestamp) -> Resting {
        let mut resting = self.markets[market].resting;
        resting.count_to(now);
        resting
    }

    /// Our orders that rest, in the order of acceptance.
    pub fn open_orders(&self) -> Vec<OpenOrderRow> {
        let row = |order: &AccountOrder| {
            let wanted = &order.order;
            let id = OrderId(wanted.client_id.number);
            let simulator = &self.markets[usize::from(wanted.market.0)].simulator;
            let (_, _, remaining) = simulator.resting(id)?;
            Some(OpenOrderRow {
                order: wanted.client_id,
                market: wanted.market,
                side: wanted.side,
                price: wanted.price,
                remaining,
                base_filled: order.report.base_filled,
                in_front: simulator.in_front(id),
                created: order.report.valid_since,
                expires: VenueTime::from_s(u64::from(wanted.last_effect_s())),
            })
        };
        self.account.open().filter_map(row).collect()
    }

    /// Our account.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Number of times the recorded book stayed crossed.
    pub fn crossings(&self, market: usize) -> u64 {
        self.markets[market].simulator.crossings()
    }

    /// At which side of the recorded book trades were.
    pub fn trade_sides(&self, market: usize) -> TradeSides {
        self.markets[market].simulator.trade_sides()
    }

    /// Number of events about orders that the recording had not named.
    pub fn unknown_orders(&self, market: usize) -> u64 {
        self.markets[market].simulator.unknown_orders()
    }
}

/// Whether recorded levels cross an order of ours.
fn crosses(levels: &Snapshot, order: &AccountOrder) -> bool {
    let (side, price) = (order.order.side, order.order.price);
    let best = levels.side(side.opposite()).first();
    best.is_some_and(|level| side.reaches(price, level.price))
}

/// Adds the rest of an order of ours to the levels of its market, in place of the levels that cross it.
fn show_own(levels: &mut Snapshot, order: &AccountOrder, spec: &MarketSpec) {
    let (side, price) = (order.order.side, order.order.price);
    let base = spec.base_amount(order.order.qty).unwrap_or(0);
    let qty = spec.lots_floor(base.saturating_sub(order.report.base_filled));
    let (own, other) = match side {
        Side::Buy => (&mut levels.bids, &mut levels.asks),
        Side::Sell => (&mut levels.asks, &mut levels.bids),
    };
    let crossing = other.partition_point(|level| side.reaches(price, level.price));
    other.drain(..crossing);
    let better = |level: &Level| !side.reaches(price, level.price);
    let at = own.partition_point(better);
    match own.get_mut(at) {
        Some(level) if level.price == price => {
            level.qty = Qty(level.qty.0.saturating_add(qty.0));
        }
        _ => own.insert(at, Level { price, qty }),
    }
}

fn listed(spec: &MarketSpec) -> Listed {
    Listed {
        name: spec.name.clone(),
        base: spec.base.id,
        quote: spec.quote.id,
        price_decimals: spec.price_decimals,
        enabled: spec.enabled,
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
