//! Stored orders, in a slab whose indices are reused.

use cambist_core::order::FillBy;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Hash, MarketId, OrderKind, OrderStatus, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

use crate::account::AccountId;
use crate::book::Rests;
use crate::scale::Scale;

/// Index of an order in the slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OrderKey(pub u32);

/// One order, open or finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub sequence: u64,
    pub hash: Hash,
    pub client_id: Option<String>,
    pub account: AccountId,
    pub market: MarketId,
    pub side: Side,
    pub kind: OrderKind,
    pub fill_by: FillBy,
    pub base: Amount,
    pub quote: Amount,
    pub level: Price,
    pub storage_id: u32,
    pub valid_until_s: u32,
    pub max_fee_bips: u8,
    pub created: VenueTime,
    pub updated: VenueTime,
    pub status: OrderStatus,
    pub base_filled: Amount,
    pub quote_filled: Amount,
    /// Fee paid so far, in the market's fee token.
    pub fee: Amount,
    /// Which token its fee is taken in.
    #[serde(default)]
    pub fee_in: FeeToken,
    /// Base units offered at the level while resting.
    pub rest: Amount,
    pub before: Option<OrderKey>,
    pub after: Option<OrderKey>,
    /// Index of the pool that it swaps with.
    pub pool: Option<usize>,
    /// When its delay ends or its cancel takes effect.
    pub due: Option<VenueTime>,
    /// Whether it fails instead of being matched.
    pub fails: bool,
}

impl Order {
    /// Most units of the sell token that the order gives.
    pub fn sell_amount(&self) -> Amount {
        match self.side {
            Side::Buy => self.quote,
            Side::Sell => self.base,
        }
    }

    /// Units of the sell token given so far.
    pub fn sold(&self) -> Amount {
        match self.side {
            Side::Buy => self.quote_filled,
            Side::Sell => self.base_filled,
        }
    }

    /// Units of the sell token that it still locks.
    pub fn locked(&self) -> Amount {
        if self.status.is_final() {
            0
        } else {
            self.sell_amount() - self.sold() + self.fee_on_top()
        }
    }

    /// Units of the sell token that fees may still take on top of what it sells.
    fn fee_on_top(&self) -> Amount {
        let most = self
            .fee_in
            .on_top(self.side, self.sell_amount(), self.max_fee_bips);
        // Every fill's fee is rounded down, and the most is rounded up.
        if most > 0 { most - self.fee } else { 0 }
    }

    /// Whether the base amount limits the order (else the quote amount).
    pub fn limited_by_base(&self) -> bool {
        matches!(
            (self.side, self.fill_by),
            (Side::Buy, FillBy::Buy) | (Side::Sell, FillBy::Sell)
        )
    }

    /// Base units that the order can still trade at `price` within its limiting amount.
    pub fn capacity(&self, scale: &Scale, price: Price) -> Amount {
        if self.limited_by_base() {
            self.base - self.base_filled
        } else {
            scale.base_floor(self.quote - self.quote_filled, price)
        }
    }

    /// The client order id, or the hash as text if the client gave none.
    pub fn shown_client_id(&self) -> String {
        self.client_id
            .clone()
            .unwrap_or_else(|| self.hash.to_string())
    }

    /// Whether it has not ended: it is delayed, rests, or is being cancelled.
    pub fn is_open(&self) -> bool {
        !self.status.is_final()
    }
}

/// Orders by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orders {
    entries: Vec<Option<Order>>,
    free: Vec<u32>,
}

impl Orders {
    /// Stores an order.
    pub fn insert(&mut self, order: Order) -> OrderKey {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(order);
            return OrderKey(index);
        }
        let index = u32::try_from(self.entries.len())
            .expect("limits per account keep the number of orders below 2^32");
        self.entries.push(Some(order));
        OrderKey(index)
    }

    /// The order of a key; keys refer to stored orders only.
    pub fn get(&self, key: OrderKey) -> &Order {
        self.entries[key.0 as usize]
            .as_ref()
            .expect("a held key names a kept order")
    }

    /// The order of a key, unless it was dropped.
    pub fn find(&self, key: OrderKey) -> Option<&Order> {
        self.entries.get(key.0 as usize)?.as_ref()
    }

    /// As `get`, mutable.
    pub fn get_mut(&mut self, key: OrderKey) -> &mut Order {
        self.entries[key.0 as usize]
            .as_mut()
            .expect("a held key names a kept order")
    }

    /// Drops an order.
    pub fn remove(&mut self, key: OrderKey) -> Option<Order> {
        let order = self.entries.get_mut(key.0 as usize)?.take();
        if order.is_some() {
            self.free.push(key.0);
        }
        order
    }

    /// All stored orders.
    pub fn iter(&self) -> impl Iterator<Item = (OrderKey, &Order)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let key = OrderKey(u32::try_from(index).ok()?);
                entry.as_ref().map(|order| (key, order))
            })
    }
}

impl Rests for Orders {
    fn rest(&self, key: OrderKey) -> (Side, Price, Amount) {
        let order = self.get(key);
        (order.side, order.level, order.rest)
    }

    fn set_rest(&mut self, key: OrderKey, size: Amount) {
        self.get_mut(key).rest = size;
    }

    fn neighbours(&mut self, key: OrderKey) -> [&mut Option<OrderKey>; 2] {
        let order = self.get_mut(key);
        [&mut order.before, &mut order.after]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn the_index_of_a_dropped_order_is_used_once_more() {
        let mut world = World::new();
        let (hash, _) = world.place(ALICE, Side::Buy, 250_000, ONE);
        let order = world.venue.orders.get(world.venue.by_hash[&hash]).clone();
        let mut orders = Orders::default();
        let [first, second] = [(); 2].map(|()| orders.insert(order.clone()));
        assert!(orders.remove(first).is_some());
        assert_eq!(orders.insert(order.clone()), first);
        assert!(orders.remove(second).is_some());
        assert_eq!(orders.remove(second), None, "it is dropped");
        assert_eq!(orders.insert(order.clone()), second);
        assert_eq!(orders.insert(order), OrderKey(second.0 + 1));
    }
}
