//! One market's book: price levels in a tree, orders of a level in a linked list through the slab.
//!
//! Knows nothing of money: it keeps who rests where and how much base is offered.

use std::collections::BTreeMap;

use cambist_core::{Amount, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

use crate::orders::{OrderKey, Orders};

/// The orders of one price, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LevelQueue {
    pub first: OrderKey,
    pub last: OrderKey,
    /// Base units offered by all of them.
    pub size: Amount,
    pub count: u32,
}

/// Both sides of a market.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Book {
    bids: BTreeMap<Price, LevelQueue>,
    asks: BTreeMap<Price, LevelQueue>,
    /// Rises with every change of content.
    pub version: u64,
    pub changed: VenueTime,
}

impl Book {
    /// Levels of a side, best first.
    pub fn levels(&self, side: Side) -> Box<dyn Iterator<Item = (Price, &LevelQueue)> + '_> {
        match side {
            Side::Buy => Box::new(self.bids.iter().rev().map(|(price, level)| (*price, level))),
            Side::Sell => Box::new(self.asks.iter().map(|(price, level)| (*price, level))),
        }
    }

    /// The best price of a side.
    pub fn best(&self, side: Side) -> Option<Price> {
        match side {
            Side::Buy => self.bids.last_key_value(),
            Side::Sell => self.asks.first_key_value(),
        }
        .map(|(price, _)| *price)
    }

    /// The order that an incoming order of the other side meets first.
    pub fn front(&self, side: Side) -> Option<(Price, OrderKey)> {
        match side {
            Side::Buy => self.bids.last_key_value(),
            Side::Sell => self.asks.first_key_value(),
        }
        .map(|(price, level)| (*price, level.first))
    }

    /// Whether an order at `level` would trade at once.
    pub fn crosses(&self, side: Side, level: Price) -> bool {
        self.best(side.opposite())
            .is_some_and(|best| side.reaches(level, best))
    }

    /// Puts an order behind all others of its level.
    pub fn append(&mut self, orders: &mut Orders, key: OrderKey, now: VenueTime) {
        let order = orders.get(key);
        let (side, price, rest) = (order.side, order.level, order.rest);
        let levels = self.side_mut(side);
        let before = if let Some(level) = levels.get_mut(&price) {
            let last = level.last;
            level.last = key;
            level.size += rest;
            level.count += 1;
            Some(last)
        } else {
            let level = LevelQueue {
                first: key,
                last: key,
                size: rest,
                count: 1,
            };
            levels.insert(price, level);
            None
        };
        if let Some(last) = before {
            orders.get_mut(last).after = Some(key);
        }
        let order = orders.get_mut(key);
        order.before = before;
        order.after = None;
        self.touch(now);
    }

    /// Takes an order out, wherever it stands in its level.
    pub fn remove(&mut self, orders: &mut Orders, key: OrderKey, now: VenueTime) {
        let order = orders.get_mut(key);
        let (side, price, rest) = (order.side, order.level, order.rest);
        let (before, after) = (order.before.take(), order.after.take());
        if let Some(before) = before {
            orders.get_mut(before).after = after;
        }
        if let Some(after) = after {
            orders.get_mut(after).before = before;
        }
        let levels = self.side_mut(side);
        let level = levels
            .get_mut(&price)
            .expect("a resting order has its level");
        if level.count == 1 {
            levels.remove(&price);
        } else {
            level.size -= rest;
            level.count -= 1;
            if before.is_none() {
                level.first = after.unwrap_or(level.first);
            }
            if after.is_none() {
                level.last = before.unwrap_or(level.last);
            }
        }
        self.touch(now);
    }

    /// Sets what an order still offers.
    pub fn resize(&mut self, orders: &mut Orders, key: OrderKey, rest: Amount, now: VenueTime) {
        let order = orders.get_mut(key);
        let (side, price, old) = (order.side, order.level, order.rest);
        order.rest = rest;
        let level = self
            .side_mut(side)
            .get_mut(&price)
            .expect("a resting order has its level");
        level.size = level.size - old + rest;
        self.touch(now);
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<Price, LevelQueue> {
        match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        }
    }

    fn touch(&mut self, now: VenueTime) {
        self.version += 1;
        self.changed = now;
    }
}
