//! Swap orders: the whole sell amount against a pool immediately, or nothing.

use cambist_core::{Amount, Hash, OrderStatus, Side};

use super::{PoolStatus, curve};
use crate::orders::OrderKey;
use crate::response::Trade;
use crate::venue::Venue;

impl Venue {
    /// Executes an admitted swap with its pool; the order ends in any case.
    pub(crate) fn swap(&mut self, key: OrderKey, pool: usize) -> Vec<Trade> {
        let order = self.orders.get(key);
        let market = &self.markets[usize::from(order.market.0)].config;
        let (sold, wanted) = match order.side {
            Side::Buy => (order.quote, order.base),
            Side::Sell => (order.base, order.quote),
        };
        let side = order.side;
        let (level, bips) = (order.level, market.taker_fee_bips);
        let (inward, outward) = match side {
            Side::Buy => (1, 0),
            Side::Sell => (0, 1),
        };
        let Some(bought) = self.swap_result(pool, inward, sold).filter(|bought| {
            *bought >= wanted && self.pools[pool].config.status.has(PoolStatus::SWAP)
        }) else {
            self.close(key, OrderStatus::Cancelled);
            return Vec::new();
        };
        let (base, quote) = match side {
            Side::Buy => (bought, sold),
            Side::Sell => (sold, bought),
        };
        let taker_fee = self.exchange_one(key, base, quote, bips);
        let reserves = &mut self.pools[pool].balances;
        reserves[inward] += sold;
        reserves[outward] -= bought;
        self.close(key, OrderStatus::Processed);
        vec![Trade {
            maker: Hash([0; 32]),
            maker_account: self.config.fee_collector,
            taker_side: side,
            price: level,
            base,
            quote,
            maker_fee: 0,
            taker_fee,
        }]
    }

    /// Output of a pool for `sold` of its first (0) or second (1) token; `None` if it is zero.
    pub(crate) fn swap_result(&self, pool: usize, inward: usize, sold: Amount) -> Option<Amount> {
        let pool = &self.pools[pool];
        let (x, y) = (pool.balances[inward], pool.balances[1 - inward]);
        curve::swap(x, y, sold, pool.config.fee_bips).filter(|bought| *bought > 0)
    }
}
