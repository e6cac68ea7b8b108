//! One market's book: price levels in a tree, the orders of a level in a linked list through the slab.
//!
//! It stores which orders rest where and how much base they offer; balances are elsewhere.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cambist_core::{Amount, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

use crate::orders::OrderKey;

/// The storage of the orders, as far as a book needs it.
pub trait Rests {
    /// Side, price and offered base units.
    fn rest(&self, key: OrderKey) -> (Side, Price, Amount);
    /// Sets the offered base units.
    fn set_rest(&mut self, key: OrderKey, size: Amount);
    /// Its neighbours in its level: the next older and the next newer.
    fn neighbours(&mut self, key: OrderKey) -> [&mut Option<OrderKey>; 2];
}

/// The orders of one price, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelQueue {
    /// The oldest.
    pub first: OrderKey,
    /// The newest.
    pub last: OrderKey,
    /// Base units offered by all of them.
    pub size: Amount,
    /// Number of orders.
    pub count: u32,
}

/// Both sides of a market.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    bids: BTreeMap<Price, LevelQueue>,
    asks: BTreeMap<Price, LevelQueue>,
    /// Increases with every change of the content.
    pub version: u64,
    /// Time of the last change.
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

    /// The first resting order that an incoming order of the other side trades with.
    pub fn front(&self, side: Side) -> Option<(Price, OrderKey)> {
        match side {
            Side::Buy => self.bids.last_key_value(),
            Side::Sell => self.asks.first_key_value(),
        }
        .map(|(price, level)| (*price, level.first))
    }

    /// Whether an order at `level` would trade immediately.
    pub fn crosses(&self, side: Side, level: Price) -> bool {
        self.best(side.opposite())
            .is_some_and(|best| side.reaches(level, best))
    }

    /// Appends an order at the end of its level.
    pub fn append(&mut self, orders: &mut impl Rests, key: OrderKey, now: VenueTime) {
        let (side, price, size) = orders.rest(key);
        let before = match self.side_mut(side).entry(price) {
            Entry::Occupied(mut level) => {
                let level = level.get_mut();
                level.size += size;
                level.count += 1;
                Some(std::mem::replace(&mut level.last, key))
            }
            Entry::Vacant(place) => {
                place.insert(LevelQueue {
                    first: key,
                    last: key,
                    size,
                    count: 1,
                });
                None
            }
        };
        if let Some(before) = before {
            *orders.neighbours(before)[1] = Some(key);
        }
        let [older, younger] = orders.neighbours(key);
        (*older, *younger) = (before, None);
        self.touch(now);
    }

    /// Removes an order from its level.
    pub fn remove(&mut self, orders: &mut impl Rests, key: OrderKey, now: VenueTime) {
        let (side, price, size) = orders.rest(key);
        let [before, after] = orders.neighbours(key).map(Option::take);
        if let Some(before) = before {
            *orders.neighbours(before)[1] = after;
        }
        if let Some(after) = after {
            *orders.neighbours(after)[0] = before;
        }
        let Entry::Occupied(mut level) = self.side_mut(side).entry(price) else {
            unreachable!("a resting order has its level");
        };
        let queue = level.get_mut();
        queue.size -= size;
        queue.count -= 1;
        match (before, after) {
            (None, None) => drop(level.remove()),
            (None, Some(after)) => queue.first = after,
            (Some(before), None) => queue.last = before,
            (Some(_), Some(_)) => {}
        }
        self.touch(now);
    }

    /// Sets the remaining quantity that an order offers.
    pub fn resize(&mut self, orders: &mut impl Rests, key: OrderKey, size: Amount, now: VenueTime) {
        let (side, price, old) = orders.rest(key);
        orders.set_rest(key, size);
        let level = self
            .side_mut(side)
            .get_mut(&price)
            .expect("a resting order has its level");
        level.size = level.size - old + size;
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
