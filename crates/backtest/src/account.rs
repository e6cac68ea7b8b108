//! Our account at the simulated exchange: balances, and orders with their states.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::{Amounts, Totals};
use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::postings::{Postings, Traded};
use cambist_core::request::{Balance, OrderList, OrdersPage};
use cambist_core::{Amount, Hash, MarketSpec, OrderStatus, Side, TokenId, VenueTime};

/// Number of one of our orders: that of its client order id.
pub type OrderNumber = u64;

/// The hash that the simulated exchange gives an order: its number. Like a real one it begins with zeros.
pub fn hash_of(number: OrderNumber) -> Hash {
    let mut hash = [0; 32];
    hash[24..].copy_from_slice(&number.to_be_bytes());
    Hash(hash)
}

/// The number of the order with this hash.
pub fn number_of(hash: Hash) -> OrderNumber {
    let mut number = [0; 8];
    number.copy_from_slice(&hash.0[24..]);
    OrderNumber::from_be_bytes(number)
}

/// An order that the exchange accepted.
#[derive(Clone, Debug)]
pub struct AccountOrder {
    pub order: UnsignedOrder,
    pub created: VenueTime,
    pub status: OrderStatus,
    pub base_filled: Amount,
    pub quote_filled: Amount,
    pub fee: Amount,
}

impl AccountOrder {
    pub fn new(order: UnsignedOrder, created: VenueTime) -> Self {
        Self {
            order,
            created,
            status: OrderStatus::Processing,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
        }
    }

    /// The amount of the sold token that the order still locks.
    fn locked(&self) -> Amount {
        let paid = match self.order.side {
            Side::Buy => self.quote_filled,
            Side::Sell => self.base_filled,
        };
        self.order.sell_amount.saturating_sub(paid)
    }
}

/// A change of an order.
#[derive(Clone, Debug)]
pub enum Change {
    /// Accepted.
    Accepted(Box<AccountOrder>),
    /// Filled in part or completely.
    Filled(OrderNumber, Traded),
    /// Ended: it cannot fill any more.
    Ended(OrderNumber, OrderStatus),
}

/// Balances and orders.
#[derive(Clone, Debug, Default)]
pub struct Account {
    totals: Totals,
    locked: BTreeMap<TokenId, Amount>,
    /// By acceptance number: creation times never decrease.
    orders: BTreeMap<u64, AccountOrder>,
    positions: BTreeMap<OrderNumber, u64>,
    /// Orders that can fill.
    open: BTreeSet<u64>,
    accepted: u64,
}

impl Account {
    pub fn new(opening: Amounts) -> Self {
        Self {
            totals: opening
                .into_iter()
                .map(|(token, units)| (token, i128::try_from(units).unwrap_or(i128::MAX)))
                .collect(),
            ..Self::default()
        }
    }

    /// Balance of a token.
    pub fn total(&self, token: TokenId) -> Amount {
        let booked = self.totals.get(&token).copied().unwrap_or(0);
        Amount::try_from(booked).unwrap_or(0)
    }

    /// Balance of a token that no order locks.
    pub fn available(&self, token: TokenId) -> Amount {
        let locked = self.locked.get(&token).copied().unwrap_or(0);
        self.total(token).saturating_sub(locked)
    }

    pub fn get(&self, number: OrderNumber) -> Option<&AccountOrder> {
        self.orders.get(self.positions.get(&number)?)
    }

    /// Orders that can fill, in the order of acceptance.
    pub fn open(&self) -> impl Iterator<Item = &AccountOrder> {
        self.open.iter().filter_map(|at| self.orders.get(at))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change, markets: &[MarketSpec]) {
        match change {
            Change::Accepted(order) => {
                let locked = self.locked.entry(order.order.sell_token).or_default();
                *locked = locked.saturating_add(order.locked());
                let number = order.order.client_id.number;
                self.positions.insert(number, self.accepted);
                self.orders.insert(self.accepted, (**order).clone());
                self.open.insert(self.accepted);
                self.accepted += 1;
            }
            Change::Filled(number, traded) => {
                let position = self.positions.get(number);
                let Some(order) = position.and_then(|at| self.orders.get_mut(at)) else {
                    return;
                };
                let before = order.locked();
                order.base_filled = order.base_filled.saturating_add(traded.base);
                order.quote_filled = order.quote_filled.saturating_add(traded.quote);
                order.fee = order.fee.saturating_add(traded.fee);
                let freed = before - order.locked();
                unlock(&mut self.locked, order.order.sell_token, freed);
                if let Some(spec) = markets.get(usize::from(order.order.market.0)) {
                    let postings = Postings::of_trade(spec, order.order.side, *traded);
                    // What it pays was locked at acceptance.
                    let covered = postings.book(&mut self.totals);
                    debug_assert!(covered, "an order paid more than it bound");
                }
            }
            Change::Ended(number, status) => {
                let Some(at) = self.positions.get(number) else {
                    return;
                };
                self.open.remove(at);
                let Some(order) = self.orders.get_mut(at) else {
                    return;
                };
                if !order.status.is_final() {
                    let freed = order.locked();
                    unlock(&mut self.locked, order.order.sell_token, freed);
                    order.status = *status;
                }
            }
        }
    }

    /// Removes ended orders that were created before a time.
    pub fn prune(&mut self, before: VenueTime) {
        while let Some(entry) = self.orders.first_entry() {
            let order = entry.get();
            if !order.status.is_final() || order.created >= before {
                return;
            }
            self.positions.remove(&order.order.client_id.number);
            entry.remove();
        }
    }

    pub fn balances(&self) -> Vec<Balance> {
        let balance = |token: &TokenId| Balance {
            token: *token,
            total: self.total(*token),
            locked: self.locked.get(token).copied().unwrap_or(0),
        };
        self.totals.keys().map(balance).collect()
    }

    /// One page of the list, newest first, and the number of entries.
    pub fn page(&self, page: &OrdersPage, markets: &[MarketSpec]) -> (Vec<OrderReport>, u32) {
        let newest_first = self.orders.values().rev();
        let matching = newest_first
            .take_while(|order| order.created >= page.from)
            .filter(|order| page.to.0 == 0 || order.created <= page.to)
            .filter(|order| match page.list {
                OrderList::All => true,
                OrderList::Resting => OrderStatus::RESTING.contains(&order.status),
                OrderList::Closed => order.status.is_final(),
            });
        let capacity = self.orders.len().min(page.limit as usize).min(64);
        let (mut found, mut total) = (Vec::with_capacity(capacity), 0_u32);
        for order in matching {
            if total >= page.offset && (found.len() as u64) < u64::from(page.limit) {
                found.push(report(order, markets));
            }
            total = total.saturating_add(1);
        }
        (found, total)
    }
}

fn unlock(locked: &mut BTreeMap<TokenId, Amount>, token: TokenId, freed: Amount) {
    if let Some(locked) = locked.get_mut(&token) {
        *locked = locked.saturating_sub(freed);
    }
}

/// An order as the exchange reports it.
pub fn report(order: &AccountOrder, markets: &[MarketSpec]) -> OrderReport {
    let order_request = &order.order;
    let (base, quote) = match order_request.side {
        Side::Buy => (order_request.buy_amount, order_request.sell_amount),
        Side::Sell => (order_request.sell_amount, order_request.buy_amount),
    };
    let market = markets.get(usize::from(order_request.market.0));
    OrderReport {
        hash: hash_of(order_request.client_id.number),
        client_id: Some(order_request.client_id),
        market: market.map(|spec| spec.name.clone()).unwrap_or_default(),
        side: order_request.side,
        status: order.status,
        base_amount: base,
        quote_amount: quote,
        base_filled: order.base_filled,
        quote_filled: order.quote_filled,
        fee: order.fee,
        valid_until_s: order_request.last_effect_s(),
        valid_since: order.created,
    }
}
