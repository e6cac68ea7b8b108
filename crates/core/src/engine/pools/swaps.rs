//! Swaps with the pool beside a market: from a wanted swap to a complete unsigned order.
//!
//! A swap is an order that trades with a pool: it is numbered, sealed, sent, read again, fenced and booked like every
//! order, and ends at once. It is on no book, so that it is never compared with quotes, counted among resting orders,
//! or cancelled. At most one join, exit or swap is undecided at a pool, and the next one is decided on balances that
//! were read after the last one ended.

use crate::event::BatchId;
use crate::market::MarketId;
use crate::notification::{Control, Withheld};
use crate::order::{ClientOrderId, FillBy, OrderKind, StrategyId, Swap, UnsignedOrder};
use crate::request::Endpoint;
use crate::strategy::{SwapTerms, WantedSwap};
use crate::swap;
use crate::time::Time;

use crate::engine::account::slot_numbers::SlotUse;
use crate::engine::intents::registry::Tracked;
use crate::engine::pools::positions::Pool;
use crate::engine::risk::counters::OrderShape;
use crate::engine::state::State;

impl State {
    /// Whether a join, an exit or a swap of a market's pool is undecided.
    pub(crate) fn is_pool_busy(&self, id: MarketId) -> bool {
        self.orders.pool_transactions.of_market(id).is_some() || self.orders.swap_of(id).is_some()
    }

    /// The terms of a swap with a pool, as strategies see them.
    pub(crate) fn swap_terms(&self, id: MarketId, pool: &Pool) -> SwapTerms {
        let possible = pool.spec.swaps
            && pool.config.swap_value_max > 0
            && !self.is_pool_busy(id)
            && pool.is_read_since_last();
        SwapTerms {
            possible,
            fee_bips: pool.spec.fee_bips,
            taker_fee_bips: self.taker_fee_bips,
            slippage_bps: pool.config.slippage_bps,
            value_max: pool.config.swap_value_max,
        }
    }

    /// Turns a wanted swap into an order, if nothing is undecided at the pool, and passes it to the store.
    pub(crate) fn propose_swap(
        &mut self,
        now: Time,
        index: usize,
        (strategy, wanted): (StrategyId, WantedSwap),
        mid: Result<u64, Withheld>,
        batch: BatchId,
    ) -> Result<Option<UnsignedOrder>, Withheld> {
        let id = self.markets[index].spec.id;
        if self.markets[index].pool.is_none() || self.is_pool_busy(id) {
            return Ok(None);
        }
        let pool = self.pool_situation(now, id)?;
        let spec = &self.markets[index].spec;
        let reserves = pool.reserves();
        let (fee, slippage) = (pool.spec.fee_bips, pool.config.slippage_bps);
        let terms = swap::terms(spec, &wanted, reserves, fee, slippage);
        let terms = terms.ok_or(Control::OrderAmount)?;
        let situation = self.situation(now, index, mid);
        let approved = situation.approve_swap(&pool, strategy, wanted, terms)?;
        if self.store_lags(batch) {
            return Err(Control::Store.into());
        }
        let pool = self.markets[index].pool.as_ref();
        if let Some(why) = pool.and_then(|pool| pool.backoff.withheld(now)) {
            return Err(why);
        }
        if !self.is_number_due() {
            return Err(Control::StorageIds.into());
        }
        if !self.take_token(now, Endpoint::Submit) {
            return Err(Control::Budget.into());
        }
        let sell_token = self.markets[index].spec.sell_token(wanted.side);
        let slot = self
            .slot_numbers
            .take(sell_token, SlotUse::Order)
            .ok_or(Control::StorageIds)?;
        let order = self.complete_swap(now, index, strategy, wanted, approved.into_inner(), slot);
        self.signed.add_order(&order);
        let terms = (self.markets[index].spec.fee_in, self.venue.amounts);
        self.orders
            .insert(Tracked::sealing(order.clone(), terms, batch));
        let shape = OrderShape {
            market: id,
            strategy,
            side: order.side,
            price: order.price,
            qty: order.qty,
        };
        self.counters
            .decided(batch, id, strategy, order.side, order.qty);
        self.counters.made(now, shape);
        if let Some(pool) = &mut self.markets[index].pool {
            pool.swaps.add(now);
        }
        Ok(Some(order))
    }

    fn complete_swap(
        &mut self,
        now: Time,
        index: usize,
        strategy: StrategyId,
        wanted: WantedSwap,
        terms: swap::Terms,
        slot: u32,
    ) -> UnsignedOrder {
        let client_id = self.next_id(strategy);
        let spec = &self.markets[index].spec;
        let made_at = self.clock.at_least(now);
        let accepted_until_s = self.accepted_until_s(made_at);
        UnsignedOrder {
            client_id,
            market: spec.id,
            side: wanted.side,
            price: terms.price,
            qty: terms.qty,
            kind: OrderKind::TakerOnly,
            swap: Some(Swap { most: terms.most }),
            sell_token: spec.sell_token(wanted.side),
            sell_amount: wanted.sell,
            buy_token: spec.buy_token(wanted.side),
            buy_amount: wanted.least,
            fill_by: FillBy::Sell,
            slot,
            accepted_until_s,
            // Nothing of it rests: what the bytes can create, they create while they are accepted.
            rests_until_s: Some(accepted_until_s),
            max_fee_bips: self.venue.fees.of_order(self.config.max_fee_bips),
            made_at,
        }
    }

    /// A swap has ended: its pool is read again before the next one, and the account's balances at once, so that they
    /// arrive before the next one leaves. Where each follows the one before it, at the pace of polls, balances would
    /// else be read while one of them is undecided every time, and never be compared.
    pub(crate) fn swap_ended(&mut self, now: Time, id: MarketId) {
        if let Some(pool) = &mut self.market_mut(id).pool {
            pool.last_transaction_at = Some(now);
            pool.poll_at = now;
            self.polls.balances_soon();
        }
    }

    /// Whether an intent is a swap.
    pub(crate) fn is_swap(&self, id: ClientOrderId) -> bool {
        self.orders.get(id).is_some_and(Tracked::is_swap)
    }
}
