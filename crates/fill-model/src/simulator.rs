//! The exchange's side of a simulation: the recorded market and our orders in it.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::{Book, CrossedRows, Snapshot, Timestamp};

use crate::by_order::MarketOrders;
use crate::depth::{Depth, Taken};
use crate::options::{FillRule, Options, OptionsError, QueueModel};
use crate::order::{
    ExecutionReport, Fill, Liquidity, NewOrder, OrderId, Outcome, RejectReason, TimeInForce,
};
use crate::resting::{Orders, Place, Resting};
use crate::trade_sides::TradeSides;
use crate::traded::Traded;

/// Fills our orders by the events of a recorded market.
///
/// It has no clock and no latency. The caller passes events and requests in the order of their times at the exchange (a
/// request that arrives at the time of an event comes after it) and delivers the reports when they would arrive. The
/// recorded market does not react to our orders.
#[derive(Clone, Debug)]
pub struct FillSimulator {
    pub(crate) options: Options,
    pub(crate) depth: Depth,
    /// Our orders: bids, then asks.
    pub(crate) own: [Orders; 2],
    pub(crate) market_orders: MarketOrders,
    pub(crate) taken: Taken,
    /// Exchange time of the last event.
    pub(crate) time: Timestamp,
    pub(crate) crossed: CrossedRows,
    /// Trades at `time` that reached our orders.
    pub(crate) traded: Traded,
    /// Number of times the recorded book stayed crossed.
    pub(crate) crossings: u64,
    pub(crate) trade_sides: TradeSides,
    /// Number of orders that have arrived, recorded ones and ours.
    pub(crate) arrivals: u64,
    /// The recording states quantities of levels, whose orders it does not name.
    pub(crate) has_levels: bool,
}

impl FillSimulator {
    /// A market without orders that is driven by incremental events.
    pub fn of_events(options: Options) -> Result<Self, OptionsError> {
        Self::new(options, Depth::Book(Box::default()))
    }

    /// A market without orders that is driven by snapshots.
    pub fn of_snapshots(options: Options) -> Result<Self, OptionsError> {
        if options.queue == QueueModel::Fifo {
            return Err(OptionsError::FifoNeedsOrders);
        }
        Self::new(options, Depth::Snapshot(Box::default()))
    }

    fn new(options: Options, depth: Depth) -> Result<Self, OptionsError> {
        options.check()?;
        Ok(Self {
            options,
            depth,
            own: Side::BOTH.map(Orders::new),
            market_orders: MarketOrders::default(),
            taken: Taken::default(),
            time: Timestamp(i64::MIN),
            crossed: CrossedRows::default(),
            traded: Traded::default(),
            crossings: 0,
            trade_sides: TradeSides::default(),
            arrivals: 0,
            has_levels: false,
        })
    }

    /// Whether the recording has named orders so far, and no quantity without its orders, as exact queue positions need.
    pub const fn names_orders(&self) -> bool {
        self.market_orders.is_named() && !self.has_levels
    }

    /// An order arrives. Its reports are appended.
    pub fn submit(&mut self, now: Timestamp, order: &NewOrder, reports: &mut Vec<ExecutionReport>) {
        let mut report = |outcome| {
            reports.push(ExecutionReport {
                time: now,
                order: order.id,
                outcome,
            });
        };
        if let Some(reason) = self.refusal(order) {
            return report(Outcome::Rejected(reason));
        }
        let mut remaining = order.qty.0;
        if order.time_in_force != TimeInForce::PostOnly {
            self.take(order, &mut remaining, &mut report);
        }
        if remaining == 0 {
            return;
        }
        match order.time_in_force {
            TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill => {
                report(Outcome::Expired(Qty(remaining)));
            }
            TimeInForce::PostOnly | TimeInForce::GoodTillCancel => {
                let shown = self.depth.quantity(order.side, order.price);
                let level = shown.map(|qty| qty.0);
                let place = Place::new(self.options.queue, level, self.options.lot);
                self.arrivals += 1;
                let arrival = self.arrivals;
                self.own_mut(order.side).insert(Resting {
                    id: order.id,
                    price: order.price.0,
                    remaining,
                    arrival,
                    place,
                    by_trades: None,
                });
                report(Outcome::Resting);
            }
        }
    }

    /// A request to cancel arrives. Its report is appended.
    pub fn cancel(&mut self, now: Timestamp, id: OrderId, reports: &mut Vec<ExecutionReport>) {
        let mut outcome = Outcome::CancelRejected;
        for orders in &mut self.own {
            if let Some(at) = orders.position(id) {
                outcome = Outcome::Canceled(orders.remove(at).remaining());
            }
        }
        reports.push(ExecutionReport {
            time: now,
            order: id,
            outcome,
        });
    }

    fn refusal(&self, order: &NewOrder) -> Option<RejectReason> {
        let price = order.price.0;
        if price == 0 || price == u64::MAX || order.qty.0 == 0 {
            return Some(RejectReason::Malformed);
        }
        if self.find(order.id).is_some() {
            return Some(RejectReason::DuplicateId);
        }
        let other = order.side.opposite();
        let takes = self
            .depth
            .best(other)
            .is_some_and(|best| order.side.reaches(order.price, best));
        if takes && order.time_in_force == TimeInForce::PostOnly {
            return Some(RejectReason::WouldTake);
        }
        let own = self.own(other);
        own.is_reached_by(order.price)
            .then_some(RejectReason::WouldTradeWithOwn)
    }

    /// Takes liquidity within the order's limit, as far as the fill rule allows.
    fn take(&mut self, order: &NewOrder, remaining: &mut u64, report: &mut impl FnMut(Outcome)) {
        let other = order.side.opposite();
        let fill = |price: Price, qty: u64, remaining: u64| {
            Outcome::Filled(Fill {
                side: order.side,
                price,
                qty: Qty(qty),
                remaining: Qty(remaining),
                liquidity: Liquidity::Taker,
                fee: self
                    .options
                    .fees
                    .of(order.side, price, Qty(qty), Liquidity::Taker),
            })
        };
        if self.options.rule == FillRule::WholeOrder {
            if let Some(level) = self.depth.reached(other, order.price).next() {
                let qty = std::mem::take(remaining);
                report(fill(level.price, qty, 0));
            }
            return;
        }
        let levels = || {
            let levels = self.depth.reached(other, order.price);
            levels.map(|level| (level.price, self.taken.left(other, level)))
        };
        if order.time_in_force == TimeInForce::FillOrKill {
            let mut missing = *remaining;
            for (_, left) in levels() {
                missing = missing.saturating_sub(left);
                if missing == 0 {
                    break;
                }
            }
            if missing > 0 {
                return;
            }
        }
        let mut taken = Vec::new();
        for (price, left) in levels() {
            let qty = left.min(*remaining);
            if qty > 0 {
                *remaining -= qty;
                taken.push((price, qty));
                report(fill(price, qty, *remaining));
            }
            if *remaining == 0 {
                break;
            }
        }
        for (price, qty) in taken {
            self.taken.take(other, price, qty);
        }
    }

    /// Our resting orders of a side.
    #[inline]
    pub(crate) const fn own(&self, side: Side) -> &Orders {
        &self.own[side as usize]
    }

    #[inline]
    pub(crate) const fn own_mut(&mut self, side: Side) -> &mut Orders {
        &mut self.own[side as usize]
    }

    /// Fills our resting orders of a side, best first, whose price an order of the other side with a limit reaches:
    /// `volume` in total, or each completely. Returns the remaining volume.
    pub(crate) fn fill_reached(
        &mut self,
        side: Side,
        limit: Price,
        mut volume: u64,
        reports: &mut Vec<ExecutionReport>,
    ) -> u64 {
        let whole = self.options.rule == FillRule::WholeOrder;
        let (time, fees) = (self.time, self.options.fees);
        let orders = self.own_mut(side);
        for order in orders.list_mut() {
            let reached = side.reaches(order.price(), limit);
            let qty = if whole {
                order.remaining
            } else {
                order.remaining.min(volume)
            };
            if !reached || qty == 0 {
                break;
            }
            volume = volume.saturating_sub(qty);
            reports.push(maker_fill(side, order, qty, time, &fees));
        }
        orders.remove_filled();
        volume
    }

    /// Lots in front of a resting order, if exact or estimated.
    pub fn in_front(&self, id: OrderId) -> Option<Qty> {
        let lot = self.options.lot;
        let order = self.find(id)?;
        order.place.in_front(lot).map(Qty)
    }

    /// Side, price and remaining quantity of a resting order.
    pub fn resting(&self, id: OrderId) -> Option<(Side, Price, Qty)> {
        Side::BOTH.into_iter().find_map(|side| {
            let orders = self.own(side);
            let order = &orders.list()[orders.position(id)?];
            Some((side, order.price(), order.remaining()))
        })
    }

    fn find(&self, id: OrderId) -> Option<&Resting> {
        let mut orders = self.own.iter().flat_map(Orders::list);
        orders.find(|order| order.id == id)
    }

    /// Number of our resting orders.
    pub fn open_orders(&self) -> usize {
        self.own.iter().map(|orders| orders.list().len()).sum()
    }

    /// The best recorded price of a side.
    #[inline]
    pub fn best(&self, side: Side) -> Option<Price> {
        self.depth.best(side)
    }

    /// The recorded book, if it is driven by incremental events.
    pub fn book(&self) -> Option<&Book> {
        match &self.depth {
            Depth::Book(book) => Some(book),
            Depth::Snapshot(_) => None,
        }
    }

    /// Writes the recorded market as the exchange lists it now: the best levels, without our orders and without the
    /// liquidity they took.
    pub fn write_snapshot(&self, depth: usize, snapshot: &mut Snapshot) {
        snapshot.exchange_time = self.time;
        match &self.depth {
            Depth::Book(book) => book.write_levels(depth, snapshot),
            Depth::Snapshot(last) => {
                snapshot.copy_from(last);
                snapshot.bids.truncate(depth);
                snapshot.asks.truncate(depth);
            }
        }
        if !self.taken.is_empty() {
            for (side, levels) in [
                (Side::Buy, &mut snapshot.bids),
                (Side::Sell, &mut snapshot.asks),
            ] {
                levels.retain_mut(|level| {
                    level.qty = Qty(self.taken.left(side, *level));
                    level.qty.0 > 0
                });
            }
        }
    }

    /// Number of times the recorded book was still crossed when its time advanced. The older levels were removed.
    pub const fn crossings(&self) -> u64 {
        self.crossings
    }

    /// At which side of the recorded book trades were.
    pub const fn trade_sides(&self) -> TradeSides {
        self.trade_sides
    }

    /// Number of events about orders that the recording had not named, and of orders beyond those that are held.
    pub const fn unknown_orders(&self) -> u64 {
        self.market_orders.unknown()
    }
}

/// Fills a part of a resting order.
pub(crate) fn maker_fill(
    side: Side,
    order: &mut Resting,
    qty: u64,
    time: Timestamp,
    fees: &crate::fees::Fees,
) -> ExecutionReport {
    order.remaining -= qty;
    ExecutionReport {
        time,
        order: order.id,
        outcome: Outcome::Filled(Fill {
            side,
            price: order.price(),
            qty: Qty(qty),
            remaining: order.remaining(),
            liquidity: Liquidity::Maker,
            fee: fees.of(side, order.price(), Qty(qty), Liquidity::Maker),
        }),
    }
}
