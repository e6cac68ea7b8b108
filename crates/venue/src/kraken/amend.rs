//! Amends. A smaller volume keeps the order's place in the queue; everything else makes it another order of the book,
//! which continues the first under its number. A volume that is filled already ends the order.

use cambist_core::{Amount, OrderKind, OrderStatus, Price, Side};

use super::order::{Beside, InLots, NEVER_S};
use super::{
    Amended, KrakenAmend, KrakenError, KrakenOrderType, KrakenReply, NewKrakenOrder, OrderFields,
};
use crate::account::AccountId;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::venue::Venue;

impl Venue {
    pub(super) fn kraken_amend(
        &mut self,
        account: AccountId,
        amend: &KrakenAmend,
    ) -> Result<KrakenReply, KrakenError> {
        self.check_deadline(amend.deadline)?;
        let published = self.kraken.rules.are_published();
        if published {
            self.check_may_amend(account)?;
        }
        let keys = self.open_orders_named(account, &amend.order);
        let [key] = keys[..] else {
            return Err(KrakenError::UnknownOrder);
        };
        let order = self.orders.get(key);
        // A delayed order, or one that is being cancelled, is not on the book.
        if order.status != OrderStatus::Processing || order.rest == 0 {
            return Err(KrakenError::InvalidAmend);
        }
        if amend.volume.is_none() && amend.price.is_none() {
            return Err(KrakenError::InvalidAmend);
        }
        let before = self.filled_before(order.sequence);
        let filled = before[0] + order.base_filled;
        let volume = amend.volume.unwrap_or(before[0] + order.base);
        let left = volume.checked_sub(filled).filter(|left| *left > 0);
        let price = amend.price.unwrap_or(order.level);
        let in_lots = InLots::of_amend(amend);
        let changed = match left {
            Some(left) if price == order.level && left <= order.rest => {
                self.reduce(key, left, in_lots)
            }
            Some(left) => self.continue_order(account, key, left, price, amend),
            // What is left is cancelled.
            None if published && filled > 0 => self.cancel_keys(vec![key]).map(drop),
            None => Err(KrakenError::InvalidVolume),
        };
        changed.map_err(|error| match error {
            // The parameter of an amend has another name.
            KrakenError::InvalidVolume if published => KrakenError::InvalidQuantity,
            error => error,
        })?;
        self.kraken.amend_number += 1;
        Ok(KrakenReply::Amended(self.kraken.amend_number))
    }

    /// Whether the account and the mode of the exchange allow an amend at all. One that keeps its place in the queue is
    /// no new order, and is accepted where cancels are.
    fn check_may_amend(&self, account: AccountId) -> Result<(), KrakenError> {
        let holder = self.accounts.get(&account).ok_or(KrakenError::Frozen)?;
        if holder.frozen {
            return Err(KrakenError::Frozen);
        }
        match self.mode {
            ExchangeMode::Halted => Err(KrakenError::Halted),
            ExchangeMode::Open | ExchangeMode::PostOnly | ExchangeMode::CancelOnly => Ok(()),
        }
    }

    /// Base, quote and fee that an order traded before it was continued.
    pub(super) fn filled_before(&self, sequence: u64) -> [Amount; 3] {
        let fields = self.kraken.orders.get(&sequence);
        fields.map_or([0; 3], |fields| fields.filled_before)
    }

    /// Reduces what an order offers.
    fn reduce(&mut self, key: OrderKey, left: Amount, in_lots: InLots) -> Result<(), KrakenError> {
        let order = self.orders.get(key);
        let market = usize::from(order.market.0);
        let scale = &self.markets[market].scale;
        let base = order.base_filled + left;
        let quote = match in_lots {
            // Nothing changes.
            InLots::Nothing => order.quote,
            _ => in_lots.value(scale, order.side, base, order.level)?,
        };
        in_lots.check(scale, base, order.level)?;
        let is_large_enough = self.check_large_enough(market, left, order.level);
        if !self.kraken.rules.are_published() && is_large_enough.is_err() {
            return Err(KrakenError::InvalidVolume);
        }
        is_large_enough?;
        let sequence = order.sequence;
        let locked = order.locked();
        let (owner, sell) = (order.account, self.sell_token_of(key));
        let now = self.now;
        let order = self.orders.get_mut(key);
        order.base = base;
        order.quote = quote;
        order.updated = now;
        let released = locked - order.locked();
        self.account_mut(owner).unlock(sell, released);
        let book = &mut self.markets[market].book;
        book.resize(&mut self.orders, key, left, now);
        if self.kraken.rules.are_published() {
            self.kraken.orders.entry(sequence).or_default().amended = Amended::Changed;
        }
        Ok(())
    }

    fn check_large_enough(
        &self,
        market: usize,
        base: Amount,
        level: Price,
    ) -> Result<(), KrakenError> {
        let market = &self.markets[market];
        let least = |token| self.tokens.get(token).map_or(0, |token| token.spec.minimum);
        let value = market.scale.quote_floor(base, level).unwrap_or(0);
        if base < least(&market.config.base) {
            Err(KrakenError::BelowOrderMinimum)
        } else if value < least(&market.config.quote) {
            Err(KrakenError::BelowCostMinimum)
        } else {
            Ok(())
        }
    }

    fn sell_token_of(&self, key: OrderKey) -> cambist_core::TokenId {
        let order = self.orders.get(key);
        let config = &self.markets[usize::from(order.market.0)].config;
        match order.side {
            Side::Buy => config.quote,
            Side::Sell => config.base,
        }
    }

    /// Ends an order of the book and continues it as another.
    fn continue_order(
        &mut self,
        account: AccountId,
        key: OrderKey,
        left: Amount,
        price: Price,
        amend: &KrakenAmend,
    ) -> Result<(), KrakenError> {
        let published = self.kraken.rules.are_published();
        // The end of a delay is known, so an amend that would be matched too late changes nothing.
        let matched = self.now.plus_ms(self.config.delays.order_ms);
        if published && amend.deadline.is_some_and(|deadline| deadline < matched) {
            return Err(KrakenError::DeadlineElapsed);
        }
        let order = self.orders.get(key);
        // `post_only` is of this amend: the order may take later.
        let stays_maker = amend.post_only && !published;
        let is_maker = stays_maker || order.kind == OrderKind::MakerOnly;
        let order_type = if is_maker {
            KrakenOrderType::PostOnly(price)
        } else {
            KrakenOrderType::Limit(price)
        };
        let expires_s = (order.valid_until_s != NEVER_S).then_some(order.valid_until_s);
        let new = NewKrakenOrder {
            market: order.market,
            side: order.side,
            order_type,
            volume: left,
            expires_s: None,
            fee_in: order.fee_in,
            // Named below: here it would be a duplicate.
            client_id: None,
            user_ref: None,
        };
        let beside = Beside {
            continues: Some(key),
            posts: amend.post_only,
            in_lots: InLots::of_amend(amend),
            earlier: None,
        };
        let mut checked = self.kraken_check(account, &new, &beside)?;
        // An expiry that is near was accepted before.
        checked.keep(order.client_id.clone(), expires_s);
        let sequence = order.sequence;
        let [base, quote, fee] = self.filled_before(sequence);
        let traded = [order.base_filled, order.quote_filled, order.fee];
        let opened = order.created;
        let number = self.kraken.shown_number(sequence);
        let fields = self.kraken.orders.entry(sequence).or_default();
        fields.is_continued = true;
        let mut continuing = OrderFields {
            number: Some(number),
            filled_before: [base + traded[0], quote + traded[1], fee + traded[2]],
            opened: Some(fields.opened.unwrap_or(opened)),
            user_ref: fields.user_ref,
            ..OrderFields::default()
        };
        if published {
            continuing.amended = if amend.post_only {
                Amended::Posted
            } else {
                Amended::Changed
            };
            continuing.deadline = amend.deadline;
            self.close_continued(key);
        } else {
            self.close(key, OrderStatus::Cancelled);
        }
        self.kraken.continued.insert(number, self.sequence);
        self.kraken_enter(&checked, continuing);
        Ok(())
    }
}
