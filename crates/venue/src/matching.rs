//! Matching by price and time. Funds are exchanged and orders end here.

use cambist_core::{Amount, OrderKind, OrderStatus, Side};

use crate::account::AccountId;
use crate::fill::{Plan, plan};
use crate::kraken::Ended;
use crate::mode::ExchangeMode;
use crate::orders::{Order, OrderKey};
use crate::response::{Executed, Trade};
use crate::venue::Venue;

/// Why matching of an incoming order stopped.
enum Stop {
    /// The order is full, or no resting order crosses it.
    Nothing,
    /// The rest of the order cannot be priced at the best level.
    TooSmall,
    /// The next resting order belongs to the same owner.
    Own,
}

impl Venue {
    /// Matches an admitted order against its book or pool, unless its conditions have changed meanwhile.
    pub(crate) fn activate(&mut self, key: OrderKey) -> Vec<Trade> {
        let order = self.orders.get(key);
        let market = &self.markets[usize::from(order.market.0)];
        let amounts = [order.base, order.quote];
        let is_priced = market.is_within_band(self.now, order.side, order.level, amounts);
        let takes = market.book.crosses(order.side, order.level);
        let open = match (self.mode, order.pool) {
            (ExchangeMode::Open, Some(_)) => true,
            (ExchangeMode::Open, None) => {
                let posts =
                    order.kind == OrderKind::MakerOnly || self.kraken.posts_once(order.sequence);
                market.takes_orders() && !(takes && posts)
            }
            (ExchangeMode::PostOnly, None) => {
                market.takes_orders()
                    && !takes
                    && order.kind != OrderKind::TakerOnly
                    && !self.kraken.needs_open_mode(order.sequence, order.kind)
            }
            (ExchangeMode::PostOnly, Some(_))
            | (ExchangeMode::CancelOnly | ExchangeMode::Halted, _) => false,
        };
        let is_late = self.kraken.is_late(order.sequence, self.now);
        if order.fails || is_late || !open || !is_priced || self.accounts[&order.account].frozen {
            self.close(key, OrderStatus::Failed);
            return Vec::new();
        }
        let (pool, of) = (order.pool, order.market);
        self.renew_reference(of);
        self.orders.get_mut(key).status = OrderStatus::Processing;
        match pool {
            Some(pool) => self.swap(key, pool),
            None => self.trade(key),
        }
    }

    /// Matches an admitted order against the book; the rest then rests or ends.
    pub(crate) fn trade(&mut self, key: OrderKey) -> Vec<Trade> {
        let mut trades = Vec::new();
        let stop = self.take(key, &mut trades);
        let is_own = matches!(stop, Stop::Own);
        let order = self.orders.get(key);
        let market = &self.markets[usize::from(order.market.0)];
        let rest = order.capacity(&market.scale, order.level);
        let traded = order.base_filled > 0;
        let used_up = rest == 0 || (traded && self.is_dust(order, rest));
        let end = match (stop, order.kind) {
            (Stop::Nothing | Stop::TooSmall | Stop::Own, _) if traded && used_up => {
                Some(OrderStatus::Processed)
            }
            (Stop::TooSmall, _) if traded => Some(OrderStatus::Processed),
            (Stop::TooSmall | Stop::Own, _) | (Stop::Nothing, OrderKind::TakerOnly) => {
                Some(OrderStatus::Cancelled)
            }
            (Stop::Nothing, OrderKind::Limit | OrderKind::MakerOnly) if rest == 0 => {
                Some(OrderStatus::Cancelled)
            }
            (Stop::Nothing, OrderKind::Limit | OrderKind::MakerOnly) => None,
        };
        if let Some(status) = end {
            let why = if is_own {
                Ended::SelfTrade
            } else {
                Ended::NoLiquidity
            };
            self.kraken.note_end(self.orders.get(key).sequence, why);
            self.close(key, status);
        } else {
            let order = self.orders.get_mut(key);
            order.rest = rest;
            let market = usize::from(order.market.0);
            self.markets[market]
                .book
                .append(&mut self.orders, key, self.now);
        }
        trades
    }

    fn take(&mut self, key: OrderKey, trades: &mut Vec<Trade>) -> Stop {
        loop {
            let taker = self.orders.get(key);
            let market = &self.markets[usize::from(taker.market.0)];
            let full = taker.limited_by_base() && taker.base_filled == taker.base
                || !taker.limited_by_base() && taker.quote_filled == taker.quote;
            let Some((price, maker_key)) = market.book.front(taker.side.opposite()) else {
                return Stop::Nothing;
            };
            if full || !taker.side.reaches(taker.level, price) {
                return Stop::Nothing;
            }
            let maker = self.orders.get(maker_key);
            if maker.account == taker.account {
                return Stop::Own;
            }
            match plan(&market.scale, taker, maker) {
                Plan::Fill { base, quote } => {
                    trades.push(self.settle(key, maker_key, base, quote));
                }
                Plan::TakerTooSmall => return Stop::TooSmall,
                Plan::MakerTooSmall => self.close(maker_key, OrderStatus::Processed),
            }
        }
    }

    /// Exchanges the funds of one fill and reduces or ends the resting order.
    fn settle(
        &mut self,
        taker_key: OrderKey,
        maker_key: OrderKey,
        base: Amount,
        quote: Amount,
    ) -> Trade {
        let taker_side = self.orders.get(taker_key).side;
        let market = &self.markets[usize::from(self.orders.get(taker_key).market.0)].config;
        let (maker_bips, taker_bips) = (market.maker_fee_bips, market.taker_fee_bips);
        let taker_fee = self.exchange_one(taker_key, base, quote, taker_bips);
        let maker_fee = self.exchange_one(maker_key, base, quote, maker_bips);
        let maker = self.orders.get(maker_key);
        let trade = Trade {
            maker: maker.hash,
            maker_account: maker.account,
            taker_side,
            price: maker.level,
            base,
            quote,
            maker_fee,
            taker_fee,
        };
        self.record_fill(taker_key, &trade, false);
        self.record_fill(maker_key, &trade, true);
        let maker = self.orders.get(maker_key);
        if let Some(executed) = &mut self.executed {
            let taker = self.orders.get(taker_key);
            executed.push(Executed {
                at: self.now,
                market: taker.market,
                taker: taker.hash,
                taker_account: taker.account,
                is_market_order: self.kraken.is_market_order(taker.sequence),
                trade: trade.clone(),
            });
        }
        let market = &mut self.markets[usize::from(maker.market.0)];
        let rest = maker.capacity(&market.scale, maker.level);
        if rest == 0 || self.is_dust(self.orders.get(maker_key), rest) {
            self.close(maker_key, OrderStatus::Processed);
        } else {
            self.markets[usize::from(self.orders.get(maker_key).market.0)]
                .book
                .resize(&mut self.orders, maker_key, rest, self.now);
        }
        trade
    }

    /// One party's half of a fill: pays from its locked funds and receives, one of them with the fee. Returns the fee.
    pub(crate) fn exchange_one(
        &mut self,
        key: OrderKey,
        base: Amount,
        quote: Amount,
        bips: u8,
    ) -> Amount {
        let order = self.orders.get_mut(key);
        let market = &self.markets[usize::from(order.market.0)].config;
        let (sell, sold, buy, bought) = match order.side {
            Side::Buy => (market.quote, quote, market.base, base),
            Side::Sell => (market.base, base, market.quote, quote),
        };
        // Amounts are below 2^97 and a fee below 2^6, so the product fits. The signed maximum is never exceeded,
        // whatever the market's current fee.
        let on_top = order.fee_in.is_on_top(order.side);
        let charged = if on_top { sold } else { bought };
        let fee = charged * Amount::from(bips.min(order.max_fee_bips)) / 10_000;
        order.base_filled += base;
        order.quote_filled += quote;
        order.fee += fee;
        order.updated = self.now;
        let owner = order.account;
        let account = self.account_mut(owner);
        if on_top {
            account.pay_locked(sell, sold + fee);
            account.credit(buy, bought);
            self.collect(sell, fee);
        } else {
            account.pay_locked(sell, sold);
            account.credit(buy, bought - fee);
            self.collect(buy, fee);
        }
        fee
    }

    /// Ends an order: removes it from the book, releases funds and slot, trims the history.
    pub(crate) fn close(&mut self, key: OrderKey, status: OrderStatus) {
        let owner = self.end(key, status);
        self.account_mut(owner).finished.push_back(key);
        self.trim(owner);
    }

    /// Ends an order that another one of the book continues, and drops it: it takes no place in the history.
    pub(crate) fn close_continued(&mut self, key: OrderKey) {
        let owner = self.end(key, OrderStatus::Cancelled);
        self.drop_order(owner, key);
    }

    /// Removes an order from the book, and releases funds and slot. Returns its owner.
    fn end(&mut self, key: OrderKey, status: OrderStatus) -> AccountId {
        self.unschedule_order(key);
        let order = self.orders.get(key);
        let market = usize::from(order.market.0);
        if order.rest > 0 {
            self.markets[market]
                .book
                .remove(&mut self.orders, key, self.now);
        }
        let sell = match self.orders.get(key).side {
            Side::Buy => self.markets[market].config.quote,
            Side::Sell => self.markets[market].config.base,
        };
        let order = self.orders.get_mut(key);
        let locked = order.locked();
        order.rest = 0;
        order.status = status;
        order.updated = self.now;
        let (owner, storage_id) = (order.account, order.storage_id);
        self.expiries.remove(&(order.valid_until_s, key));
        let account = self.account_mut(owner);
        account.unlock(sell, locked);
        if let Some(table) = account.slots.get_mut(&sell) {
            table.release(storage_id);
        }
        account.open_orders -= 1;
        owner
    }

    /// Drops the oldest finished orders of an account beyond its history.
    fn trim(&mut self, owner: AccountId) {
        let limits = &self.config.limits;
        let (external, internal) = (
            limits.history_orders_max,
            limits.internal_history_orders_max,
        );
        let account = self
            .accounts
            .get_mut(&owner)
            .expect("orders belong to accounts");
        let kept = if account.internal { internal } else { external };
        let beyond = account.finished.len().saturating_sub(kept as usize);
        let oldest: Vec<_> = account.finished.drain(..beyond).collect();
        for key in oldest {
            self.drop_order(owner, key);
        }
    }

    /// Drops a finished order.
    fn drop_order(&mut self, owner: AccountId, key: OrderKey) {
        let Some(order) = self.orders.remove(key) else {
            return;
        };
        let account = self.account_mut(owner);
        account.orders.remove(&order.sequence);
        // Of Kraken's interface, a later order may have the same one.
        if let Some(id) = &order.client_id
            && account.client_ids.get(id) == Some(&key)
        {
            account.client_ids.remove(id);
        }
        self.by_hash.remove(&order.hash);
        self.kraken.forget(order.sequence);
    }

    /// Whether a rest counts as filled: below the dust of either token.
    fn is_dust(&self, order: &Order, rest: Amount) -> bool {
        let market = &self.markets[usize::from(order.market.0)];
        let dust = |token| self.tokens.get(token).map_or(0, |token| token.spec.dust);
        let value = market
            .scale
            .quote_floor(rest, order.level)
            .unwrap_or(Amount::MAX);
        rest < dust(&market.config.base) || value < dust(&market.config.quote)
    }

    pub(crate) fn account_mut(&mut self, id: AccountId) -> &mut crate::account::Account {
        self.accounts
            .get_mut(&id)
            .expect("orders and fees belong to accounts")
    }
}
