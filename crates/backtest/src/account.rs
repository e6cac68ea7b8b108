//! Our account at the simulated exchange: balances, and orders with their states.

use std::collections::VecDeque;

use cambist_core::event::{Amounts, Totals};
use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::postings::{Postings, Traded};
use cambist_core::request::{Balance, OrderList, OrdersPage};
use cambist_core::sorted_map::SortedMap;
use cambist_core::sorted_set::SortedSet;
use cambist_core::{Amount, Hash, MarketName, MarketSpec, OrderStatus, Side, TokenId, VenueTime};

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
    /// The order as lists show it: they are read far more often than it changes.
    pub report: OrderReport,
    /// What fees may take of the sold token, beside the amount that is sold.
    fee_on_top: Amount,
}

impl AccountOrder {
    pub fn new(
        order: UnsignedOrder,
        created: VenueTime,
        market: MarketName,
        fee_on_top: Amount,
    ) -> Self {
        let (base_amount, quote_amount) = match order.side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        let report = OrderReport {
            hash: hash_of(order.client_id.number),
            client_id: Some(order.client_id),
            market,
            side: order.side,
            status: OrderStatus::Processing,
            base_amount,
            quote_amount,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            valid_until_s: order.last_effect_s(),
            valid_since: created,
        };
        Self {
            order,
            report,
            fee_on_top,
        }
    }

    /// The amount of the sold token that the order still locks.
    fn locked(&self) -> Amount {
        let paid = match self.order.side {
            Side::Buy => self.report.quote_filled,
            Side::Sell => self.report.base_filled,
        };
        let fees = self.fee_on_top.saturating_sub(self.report.fee);
        self.order
            .sell_amount
            .saturating_sub(paid)
            .saturating_add(fees)
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

/// Orders in the order of acceptance, each with its acceptance number; creation times never decrease.
#[derive(Clone, Debug, Default)]
struct Accepted {
    orders: VecDeque<AccountOrder>,
    /// The number of the first.
    first: u64,
}

impl Accepted {
    fn push(&mut self, order: AccountOrder) -> u64 {
        self.orders.push_back(order);
        self.first + self.orders.len() as u64 - 1
    }

    fn pop_first(&mut self) {
        self.orders.pop_front();
        self.first += 1;
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    fn get(&self, number: u64) -> Option<&AccountOrder> {
        self.orders.get(self.index(number)?)
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut AccountOrder> {
        let index = self.index(number)?;
        self.orders.get_mut(index)
    }
}

/// Acceptance numbers by order number, in its order. Orders are accepted and forgotten nearly in that order, so that
/// almost all come and go at the ends.
#[derive(Clone, Debug, Default)]
struct Positions(VecDeque<(OrderNumber, u64)>);

impl Positions {
    fn find(&self, order: OrderNumber) -> Result<usize, usize> {
        self.0.binary_search_by_key(&order, |(order, _)| *order)
    }

    fn get(&self, order: OrderNumber) -> Option<u64> {
        let place = self.find(order).ok()?;
        Some(self.0[place].1)
    }

    fn insert(&mut self, order: OrderNumber, position: u64) {
        match self.find(order) {
            Ok(place) => self.0[place].1 = position,
            Err(place) => self.0.insert(place, (order, position)),
        }
    }

    fn remove(&mut self, order: OrderNumber) {
        if let Ok(place) = self.find(order) {
            self.0.remove(place);
        }
    }
}

/// Balances and orders.
#[derive(Clone, Debug, Default)]
pub struct Account {
    totals: Totals,
    locked: SortedMap<TokenId, Amount>,
    accepted: Accepted,
    positions: Positions,
    /// Orders that can fill.
    open: SortedSet<u64>,
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
        self.accepted.get(self.positions.get(number)?)
    }

    /// Orders that can fill, in the order of acceptance.
    pub fn open(&self) -> impl Iterator<Item = &AccountOrder> {
        self.open.iter().filter_map(|at| self.accepted.get(*at))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: &Change, markets: &[MarketSpec]) {
        match change {
            Change::Accepted(order) => {
                let locked = self.locked.entry(order.order.sell_token).or_default();
                *locked = locked.saturating_add(order.locked());
                let number = order.order.client_id.number;
                let position = self.accepted.push((**order).clone());
                self.positions.insert(number, position);
                self.open.insert(position);
            }
            Change::Filled(number, traded) => {
                let position = self.positions.get(*number);
                let Some(order) = position.and_then(|at| self.accepted.get_mut(at)) else {
                    return;
                };
                let before = order.locked();
                let report = &mut order.report;
                report.base_filled = report.base_filled.saturating_add(traded.base);
                report.quote_filled = report.quote_filled.saturating_add(traded.quote);
                report.fee = report.fee.saturating_add(traded.fee);
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
                let Some(at) = self.positions.get(*number) else {
                    return;
                };
                self.open.remove(&at);
                let Some(order) = self.accepted.get_mut(at) else {
                    return;
                };
                if !order.report.status.is_final() {
                    let freed = order.locked();
                    unlock(&mut self.locked, order.order.sell_token, freed);
                    order.report.status = *status;
                }
            }
        }
    }

    /// Removes ended orders that were created before a time.
    pub fn prune(&mut self, before: VenueTime) {
        while let Some(order) = self.accepted.orders.front()
            && order.report.status.is_final()
            && order.report.valid_since < before
        {
            self.positions.remove(order.order.client_id.number);
            self.accepted.pop_first();
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
    pub fn page(&self, page: &OrdersPage) -> (Vec<OrderReport>, u32) {
        let orders = &self.accepted.orders;
        let begin = orders.partition_point(|order| order.report.valid_since < page.from);
        let end = match page.to {
            VenueTime(0) => orders.len(),
            to => orders.partition_point(|order| order.report.valid_since <= to),
        };
        let (end, limit) = (end.max(begin), page.limit as usize);
        let is_in = |report: &OrderReport| match page.list {
            OrderList::All => true,
            OrderList::Resting => OrderStatus::RESTING.contains(&report.status),
            OrderList::Closed => report.status.is_final(),
        };
        if page.list == OrderList::All {
            // A range of known length is copied faster than one that is filtered, and every poll copies one.
            let last = end.saturating_sub(page.offset as usize).max(begin);
            let shown = orders.range(last.saturating_sub(limit).max(begin)..last);
            let shown = shown.rev().map(|order| order.report.clone()).collect();
            return (shown, u32::try_from(end - begin).unwrap_or(u32::MAX));
        }
        let newest_first = orders.range(begin..end).rev();
        let most = newest_first.len().min(limit);
        let (mut found, mut total) = (Vec::with_capacity(most), 0_u32);
        for order in newest_first.filter(|order| is_in(&order.report)) {
            if total >= page.offset && found.len() < most {
                found.push(order.report.clone());
            }
            total = total.saturating_add(1);
        }
        (found, total)
    }
}

fn unlock(locked: &mut SortedMap<TokenId, Amount>, token: TokenId, freed: Amount) {
    if let Some(locked) = locked.get_mut(&token) {
        *locked = locked.saturating_sub(freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_orders_that_are_forgotten_are_not_kept() {
        let mut positions = Positions::default();
        for (order, position) in [(5, 0), (7, 1), (6, 2)] {
            positions.insert(order, position);
        }
        positions.remove(6);
        positions.remove(4);
        assert_eq!(positions.0, [(5, 0), (7, 1)]);
        assert_eq!(
            [5, 6, 7].map(|order| positions.get(order)),
            [Some(0), None, Some(1)]
        );
    }
}
