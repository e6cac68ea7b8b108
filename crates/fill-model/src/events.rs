//! Incremental events of the recorded market: levels, trades, orders.

use cambist_core::{Price, Qty, Side};
use cambist_market_data::{Event, Timestamp, Update};

use crate::by_order::MarketOrder;
use crate::depth::Depth;
use crate::options::{FillRule, QueueModel};
use crate::order::ExecutionReport;
use crate::resting::Place;
use crate::simulator::{FillSimulator, maker_fill};
use crate::traded::Source;

impl FillSimulator {
    /// Applies an event if it is part of the exchange's view. Reports of fills are appended.
    #[inline]
    pub fn apply_event(&mut self, event: &Event, reports: &mut Vec<ExecutionReport>) {
        if !event.visibility.at_exchange() {
            return;
        }
        if event.exchange_time > self.time {
            self.time = event.exchange_time;
            self.end_message();
        }
        match event.update {
            Update::Level { side, price, qty } | Update::SnapshotLevel { side, price, qty } => {
                self.has_levels |= qty.0 > 0;
                self.level(side, price, qty, reports);
            }
            Update::Trade {
                aggressor,
                price,
                qty,
            } => self.trade(aggressor, price, qty, reports),
            ref update => self.rare(update, reports),
        }
    }

    /// Applies events up to and including a time, in their order, and ends after the first one with reports. Returns
    /// how many.
    #[inline]
    pub fn apply_until(
        &mut self,
        events: &[Event],
        until: Timestamp,
        reports: &mut Vec<ExecutionReport>,
    ) -> usize {
        for (applied, event) in events.iter().enumerate() {
            if event.exchange_time > until {
                return applied;
            }
            self.apply_event(event, reports);
            if !reports.is_empty() {
                return applied + 1;
            }
        }
        events.len()
    }

    /// All rows of the last time were applied: of two levels of a book that is still crossed, the older is removed.
    /// Returns whether there were some. The next row of a later time has the same effect.
    #[inline]
    pub fn end_message(&mut self) -> bool {
        if !self.traded.is_empty() {
            self.traded.clear();
        }
        let Depth::Book(book) = &mut self.depth else {
            return false;
        };
        let was_crossed = self.crossed.settle(book).is_some();
        self.crossings += u64::from(was_crossed);
        was_crossed
    }

    /// A level has a new quantity.
    #[inline]
    fn level(&mut self, side: Side, price: Price, qty: Qty, reports: &mut Vec<ExecutionReport>) {
        let Depth::Book(book) = &mut self.depth else {
            return;
        };
        let before = book.set(side, price, qty);
        self.crossed.level_set(book, side, price, qty);
        self.taken.limit(side, price, qty);
        if self.own(side).may_rest_at(price) {
            self.level_of_own(side, price, qty);
        }
        // The comparison with the old quantity is in a call: a branch on it here would be mispredicted half of the
        // time.
        if self.own(side.opposite()).is_reached_by(price) {
            self.level_reached_own(side, price, (before, qty), reports);
        }
    }

    /// A level's price reaches our orders on the other side.
    #[inline(never)]
    fn level_reached_own(
        &mut self,
        side: Side,
        price: Price,
        (before, now): (Qty, Qty),
        reports: &mut Vec<ExecutionReport>,
    ) {
        if now > before {
            self.fill_reached(side.opposite(), price, now.0 - before.0, reports);
        }
    }

    /// Updates our orders at a level with its new quantity.
    #[inline(never)]
    fn level_of_own(&mut self, side: Side, price: Price, qty: Qty) {
        let (time, model, lot) = (self.time, self.options.queue, self.options.lot);
        for order in self.own_mut(side).list_mut() {
            if order.price == price.0 {
                order.level_changed(time, qty.0, model, lot);
            }
        }
    }

    /// A trade: orders at better prices than the trade's fill; orders at its price move forward and fill in turn.
    #[inline]
    fn trade(
        &mut self,
        aggressor: Side,
        price: Price,
        qty: Qty,
        reports: &mut Vec<ExecutionReport>,
    ) {
        if let Depth::Book(book) = &self.depth {
            self.trade_sides.add(book, aggressor, price);
        }
        let side = aggressor.opposite();
        if self.own(side).is_reached_by(price) && self.options.queue != QueueModel::Fifo {
            let qty = self.traded.add(side, price, Source::Trade, qty);
            self.trade_with_own(side, price, qty, reports);
        }
    }

    #[inline(never)]
    pub(crate) fn trade_with_own(
        &mut self,
        side: Side,
        price: Price,
        qty: Qty,
        reports: &mut Vec<ExecutionReport>,
    ) {
        if qty.0 == 0 {
            return;
        }
        let whole = self.options.rule == FillRule::WholeOrder;
        let (time, options) = (self.time, self.options);
        let level = match &self.depth {
            Depth::Book(book) => Some(book.quantity(side, price).0),
            Depth::Snapshot(_) => None,
        };
        let mut volume = qty.0;
        let orders = self.own_mut(side);
        for order in orders.list_mut() {
            if !side.reaches(order.price(), price) {
                break;
            }
            let most = if whole { u64::MAX } else { volume };
            let filled = if order.price() == price {
                // Without partial fills every order may use the whole trade.
                let left = if whole { qty.0 } else { volume };
                match order.traded(time, level, (qty.0, left), &options) {
                    0 => 0,
                    _ if whole => order.remaining,
                    lots => order.remaining.min(lots).min(volume),
                }
            } else {
                // The trade went through the order's price.
                order.remaining.min(most)
            };
            if filled > 0 {
                volume = volume.saturating_sub(filled);
                reports.push(maker_fill(side, order, filled, time, &options.fees));
            }
        }
        orders.remove_filled();
    }

    /// Rare events, and those of feeds by order.
    #[cold]
    fn rare(&mut self, update: &Update, reports: &mut Vec<ExecutionReport>) {
        match *update {
            Update::Clear { side, to } => {
                if let Depth::Book(book) = &mut self.depth {
                    book.clear(side, to);
                }
                if to.is_none() {
                    self.market_orders.clear(side);
                }
            }
            Update::Add {
                order,
                side,
                price,
                qty,
            } => self.add(order, side, price, qty, reports),
            Update::Cancel { order } => {
                if let Some(gone) = self.market_orders.remove(order) {
                    self.leave(&gone, gone.qty, reports);
                }
            }
            Update::Modify { order, price, qty } => self.modify(order, price, qty, reports),
            Update::Fill { order, price, qty } => self.fill_of(order, price, qty, reports),
            Update::Level { .. } | Update::SnapshotLevel { .. } | Update::Trade { .. } => {}
        }
    }

    fn add(
        &mut self,
        id: u64,
        side: Side,
        price: Price,
        qty: Qty,
        reports: &mut Vec<ExecutionReport>,
    ) {
        self.arrivals += 1;
        let order = MarketOrder {
            side,
            price,
            qty,
            arrival: self.arrivals,
        };
        if let Some(before) = self.market_orders.insert(id, order) {
            self.leave(&before, before.qty, reports);
        }
        self.change_level(side, price, |level| level + qty.0, reports);
    }

    fn modify(&mut self, id: u64, price: Price, qty: Qty, reports: &mut Vec<ExecutionReport>) {
        let Some(before) = self.market_orders.get(id) else {
            return;
        };
        if price == before.price && qty <= before.qty {
            let now = MarketOrder { qty, ..before };
            self.market_orders.insert(id, now);
            self.leave(&before, Qty(before.qty.0 - qty.0), reports);
        } else {
            self.market_orders.remove(id);
            self.leave(&before, before.qty, reports);
            self.add(id, before.side, price, qty, reports);
        }
    }

    /// Part of an order no longer rests: the orders behind it move forward.
    fn leave(&mut self, order: &MarketOrder, qty: Qty, reports: &mut Vec<ExecutionReport>) {
        for own in self.own_mut(order.side).list_mut() {
            if own.price == order.price.0
                && own.arrival > order.arrival
                && let Place::Exact(front) = &mut own.place
            {
                *front = front.saturating_sub(qty.0);
            }
        }
        self.change_level(
            order.side,
            order.price,
            |level| level.saturating_sub(qty.0),
            reports,
        );
    }

    fn change_level(
        &mut self,
        side: Side,
        price: Price,
        change: impl Fn(u64) -> u64,
        reports: &mut Vec<ExecutionReport>,
    ) {
        if let Depth::Book(book) = &self.depth {
            let qty = Qty(change(book.quantity(side, price).0));
            self.level(side, price, qty, reports);
        }
    }

    /// A recorded order traded: our orders in front of it would have traded first. A later event changes the resting
    /// quantity of the recorded order.
    fn fill_of(&mut self, id: u64, price: Price, qty: Qty, reports: &mut Vec<ExecutionReport>) {
        let Some(recorded) = self.market_orders.get(id) else {
            return;
        };
        let side = recorded.side;
        if !self.own(side).is_reached_by(price) {
            return;
        }
        if self.options.queue != QueueModel::Fifo {
            let qty = self.traded.add(side, price, Source::Fill, qty);
            return self.trade_with_own(side, price, qty, reports);
        }
        let whole = self.options.rule == FillRule::WholeOrder;
        let (time, fees) = (self.time, self.options.fees);
        let mut volume = qty.0;
        let orders = self.own_mut(side);
        for order in orders.list_mut() {
            if !side.reaches(order.price(), price)
                || (order.price() == price && order.arrival > recorded.arrival)
            {
                break;
            }
            let most = if whole { u64::MAX } else { volume };
            let filled = order.remaining.min(most);
            if filled > 0 {
                volume = volume.saturating_sub(filled);
                reports.push(maker_fill(side, order, filled, time, &fees));
            }
        }
        orders.remove_filled();
    }
}
