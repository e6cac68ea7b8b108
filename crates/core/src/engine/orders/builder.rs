//! From a quote without an order to a complete unsigned order: gate → budget → ids → amounts.
//!
//! Which quotes have no order, and what follows from a refusal, is decided elsewhere.

use crate::event::BatchId;
use crate::market::Side;
use crate::notification::{Control, Withheld};
use crate::order::{ClientOrderId, FillBy, OrderKind, StrategyId, UnsignedOrder};
use crate::request::Endpoint;
use crate::strategy::Quote;
use crate::time::{Time, VenueTime};

use crate::engine::account::slot_numbers::SlotUse;
use crate::engine::intents::lifecycle::Phase;
use crate::engine::intents::registry::Tracked;
use crate::engine::risk::counters::OrderShape;
use crate::engine::risk::gate::{Approved, Proposal};
use crate::engine::state::State;

/// A quote that needs an order.
#[derive(Clone, Copy)]
pub(crate) struct WantedQuote {
    pub(crate) strategy: StrategyId,
    pub(crate) quote: Quote,
    /// Number of equal quotes in the targets.
    pub(crate) alike: usize,
    /// An order for less may take its place.
    pub(crate) in_part: bool,
}

impl State {
    /// Passes one quote through gate and budget, and starts sealing its order.
    pub(crate) fn propose(
        &mut self,
        now: Time,
        index: usize,
        wanted: WantedQuote,
        mid: Result<u64, Withheld>,
        batch: BatchId,
    ) -> Result<UnsignedOrder, Withheld> {
        let WantedQuote {
            strategy,
            quote,
            alike,
            in_part,
        } = wanted;
        let context = self.situation(now, index, mid);
        let approved = if in_part {
            context.approve_in_part(strategy, &quote, alike)
        } else {
            context.approve_quote(strategy, &quote, alike)
        }?;
        if self.store_lags(batch) {
            return Err(Control::Store.into());
        }
        if let Some(why) = self.markets[index].backoff.withheld(now) {
            return Err(why);
        }
        if !self.is_number_due() {
            return Err(Control::StorageIds.into());
        }
        let id = self.markets[index].spec.id;
        if let Err((why, frees_at)) = self.room_for_order(now, id) {
            self.wait_for_counter(index, frees_at);
            return Err(why);
        }
        if !self.take_token(now, Endpoint::Submit) {
            return Err(Control::Budget.into());
        }
        self.trading.count_order(now, id);
        let sell_token = self.markets[index].spec.sell_token(quote.side);
        let slot = self
            .slot_numbers
            .take(sell_token, SlotUse::Order)
            .ok_or(Control::StorageIds)?;
        let order = self.complete(now, index, strategy, approved, slot);
        self.signed.add_order(&order);
        let terms = (self.markets[index].spec.fee_in, self.venue.amounts);
        self.orders
            .insert(Tracked::sealing(order.clone(), terms, batch));
        let like = OrderShape {
            market: order.market,
            strategy,
            side: order.side,
            price: order.price,
            qty: order.qty,
        };
        self.counters.made(now, like);
        Ok(order)
    }

    /// Whether an earlier batch is still being stored: an order that waits behind it would be too old afterwards.
    pub(crate) fn store_lags(&self, batch: BatchId) -> bool {
        let mut lives = self.orders.lives();
        let may_lag = self.orders.outline().sealing || !self.orders.pool_transactions.is_empty();
        may_lag
            && lives
                .any(|(_, lifecycle)| lifecycle.phase == Phase::Sealing && lifecycle.batch != batch)
    }

    /// Assigns ids, amounts by token, and expiry to an approved proposal.
    fn complete(
        &mut self,
        now: Time,
        index: usize,
        strategy: StrategyId,
        approved: Approved<Proposal>,
        slot: u32,
    ) -> UnsignedOrder {
        let Proposal {
            side,
            price,
            qty,
            base,
            quote,
        } = approved.into_inner();
        let client_id = self.next_id(strategy);
        let spec = &self.markets[index].spec;
        let venue_now = self.clock.at_least(now);
        let lifetime = self.venue.lifetime;
        let (accepted_until_s, rests_until_s) = lifetime.of_order(venue_now, self.config.ttl_ms);
        let (sell_amount, buy_amount, fill_by) = match side {
            Side::Buy => (quote, base, FillBy::Buy),
            Side::Sell => (base, quote, FillBy::Sell),
        };
        UnsignedOrder {
            client_id,
            market: spec.id,
            side,
            price,
            qty,
            kind: if self.config.maker_only {
                OrderKind::MakerOnly
            } else {
                OrderKind::Limit
            },
            swap: None,
            sell_token: spec.sell_token(side),
            sell_amount,
            buy_token: spec.buy_token(side),
            buy_amount,
            fill_by,
            slot,
            accepted_until_s,
            rests_until_s,
            max_fee_bips: self.venue.fees.of_order(self.config.max_fee_bips),
            made_at: venue_now,
        }
    }

    /// Assigns the number of an intent.
    pub(crate) fn next_id(&mut self, strategy: StrategyId) -> ClientOrderId {
        let number = self.next_number;
        self.next_number += 1;
        ClientOrderId {
            instance: self.instance,
            strategy,
            number,
        }
    }

    /// Last second at which the bytes of a join or an exit created now are accepted.
    pub(crate) fn accepted_until_s(&self, venue_now: VenueTime) -> u32 {
        self.venue
            .lifetime
            .of_order(venue_now, self.config.ttl_ms)
            .0
    }
}
