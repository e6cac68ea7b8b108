//! Reads orders: one order, or a page of the list.

use cambist_core::{Hash, OrderStatus, Reason, Side};

use crate::account::AccountId;
use crate::config::Compat;
use crate::orders::Order;
use crate::request::{Caller, OrdersQuery};
use crate::response::{OrderView, OrdersView, Refusal};
use crate::venue::Venue;

impl Venue {
    pub(crate) fn order_of(
        &self,
        caller: &Caller,
        account: AccountId,
        hash: Hash,
    ) -> Result<OrderView, Refusal> {
        self.check_owner(caller, account)?;
        self.find_hash(account, hash)
            .map(|key| self.view(self.orders.get(key)))
            .ok_or_else(|| Refusal::new(Reason::OrderNotFound, "no such order"))
    }

    pub(crate) fn list_orders(
        &self,
        caller: &Caller,
        query: &OrdersQuery,
    ) -> Result<OrdersView, Refusal> {
        self.check_owner(caller, query.account)?;
        let limits = &self.config.limits;
        let limit = query
            .limit
            .unwrap_or(u64::from(limits.orders_page))
            .min(u64::from(limits.orders_page_max));
        let mut found = OrdersView {
            total: 0,
            orders: Vec::new(),
        };
        let Some(account) = self.accounts.get(&query.account) else {
            return Ok(found);
        };
        let newest_first = account
            .orders
            .values()
            .rev()
            .map(|key| self.orders.get(*key))
            // Creation times never decrease, so the first older order ends the search.
            .take_while(|order| order.created >= query.start);
        for order in newest_first {
            if !self.matches(query, order) {
                continue;
            }
            if found.total >= query.offset && (found.orders.len() as u64) < limit {
                found.orders.push(self.view(order));
            }
            found.total += 1;
        }
        Ok(found)
    }

    fn matches(&self, query: &OrdersQuery, order: &Order) -> bool {
        let market = |name| name == self.market_name(order);
        (query.end.0 == 0 || order.created <= query.end)
            && query.market.as_deref().is_none_or(market)
            && (query.sides.is_empty() || query.sides.contains(&order.side))
            && (query.statuses.is_empty() || self.has_status_of(query, order))
            && kind_matches(query, order)
    }

    /// No filter is named `waiting`: a delayed order counts as processing.
    fn has_status_of(&self, query: &OrdersQuery, order: &Order) -> bool {
        let status = self.shown_status(order);
        let named = match status {
            OrderStatus::Waiting => query.statuses.contains(&OrderStatus::Processing),
            _ => query.statuses.contains(&order.status),
        };
        named || query.statuses.contains(&status)
    }

    /// The pool's name for a swap, else the market's.
    fn market_name(&self, order: &Order) -> &str {
        match order.pool {
            Some(pool) => &self.pools[pool].config.name,
            None => &self.markets[usize::from(order.market.0)].config.name,
        }
    }

    /// The interface has no status for failed orders.
    fn shown_status(&self, order: &Order) -> OrderStatus {
        match (self.config.compat, order.status) {
            (Compat::Strict, OrderStatus::Failed) => OrderStatus::Cancelled,
            (Compat::Strict | Compat::Both, status) => status,
        }
    }

    fn view(&self, order: &Order) -> OrderView {
        let market = &self.markets[usize::from(order.market.0)].config;
        let (sell_token, buy_token) = match order.side {
            Side::Buy => (market.quote, market.base),
            Side::Sell => (market.base, market.quote),
        };
        OrderView {
            hash: order.hash,
            client_id: order.shown_client_id(),
            account: order.account,
            market: self.market_name(order).to_owned(),
            side: order.side,
            kind: order.kind,
            pool: order.pool.map(|pool| self.pools[pool].config.address),
            fill_by: order.fill_by,
            status: self.shown_status(order),
            price: order.level,
            price_decimals: market.price_decimals,
            base_amount: order.base,
            quote_amount: order.quote,
            base_filled: order.base_filled,
            quote_filled: order.quote_filled,
            fee: order.fee,
            fee_token: if order.fee_in.is_base(order.side) {
                market.base
            } else {
                market.quote
            },
            sell_token,
            buy_token,
            storage_id: order.storage_id,
            max_fee_bips: order.max_fee_bips,
            valid_until_s: order.valid_until_s,
            created: order.created,
            updated: order.updated,
        }
    }
}

/// A filter finds a swap both as a swap and as the kind under which it is shown.
fn kind_matches(query: &OrdersQuery, order: &Order) -> bool {
    let all = !query.swaps && query.kinds.as_ref().is_some_and(Vec::is_empty);
    let kinds = query.kinds.as_deref().unwrap_or_default();
    all || kinds.contains(&order.kind) || query.swaps && order.pool.is_some()
}
