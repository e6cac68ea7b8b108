//! The orders that a recording names, for feeds by order: they make up the levels, and determine exactly which orders
//! are in front of ours.

use std::collections::BTreeMap;

use cambist_core::{Price, Qty, Side};

/// Most orders held. Further orders count only in the quantity of their level, and are counted.
const ORDERS_MAX: usize = 4 << 20;

/// An order of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketOrder {
    pub side: Side,
    pub price: Price,
    pub qty: Qty,
    /// Position among all arrivals at the exchange, ours included.
    pub arrival: u64,
}

/// All orders that rest in the recording.
#[derive(Clone, Debug, Default)]
pub struct MarketOrders {
    orders: BTreeMap<u64, MarketOrder>,
    /// Number of events about unknown orders, and of orders that were not held.
    unknown: u64,
    /// Whether an order was ever added.
    named: bool,
}

impl MarketOrders {
    /// Adds an order; returns the earlier order of the same id, if the recording has one.
    pub fn insert(&mut self, id: u64, order: MarketOrder) -> Option<MarketOrder> {
        self.named = true;
        if self.orders.len() >= ORDERS_MAX && !self.orders.contains_key(&id) {
            self.unknown += 1;
            return None;
        }
        self.orders.insert(id, order)
    }

    /// A resting order; a missing one is counted.
    pub fn get(&mut self, id: u64) -> Option<MarketOrder> {
        let order = self.orders.get(&id).copied();
        self.unknown += u64::from(order.is_none());
        order
    }

    pub fn remove(&mut self, id: u64) -> Option<MarketOrder> {
        let order = self.orders.remove(&id);
        self.unknown += u64::from(order.is_none());
        order
    }

    pub fn clear(&mut self, side: Option<Side>) {
        self.orders
            .retain(|_, order| side.is_some_and(|side| side != order.side));
    }

    /// Whether the recording has named an order so far.
    pub const fn is_named(&self) -> bool {
        self.named
    }

    pub const fn unknown(&self) -> u64 {
        self.unknown
    }
}
