//! Moves a resting order to another price of its side, for simulations of venues that amend orders. Kraken's own amends, with
//! their histories, are in `kraken/amend`.

use cambist_core::{Hash, OrderStatus, Price, Reason, Side};

use crate::account::AccountId;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::request::Caller;
use crate::request::RequestKind;
use crate::response::Refusal;
use crate::venue::Venue;

impl Venue {
    /// Whether an order of this hash rests.
    pub fn rests(&self, account: AccountId, hash: Hash) -> bool {
        self.resting(account, hash).is_some()
    }

    fn resting(&self, account: AccountId, hash: Hash) -> Option<OrderKey> {
        self.find_hash(account, hash).filter(|key| {
            let order = self.orders.get(*key);
            order.status == OrderStatus::Processing && order.rest > 0
        })
    }

    /// Moves what is left of an order to a price, behind all others there. A price that would take is refused, and so is
    /// everything that a new order of this kind would be refused for. A refusal changes nothing.
    pub fn reprice(
        &mut self,
        caller: &Caller,
        account: AccountId,
        hash: Hash,
        price: Price,
    ) -> Result<(), Refusal> {
        self.check_faults(caller, RequestKind::Cancel)?;
        self.check_owner(caller, account)?;
        let key = self.resting(account, hash);
        let key =
            key.ok_or_else(|| Refusal::new(Reason::NothingToCancel, "no such order rests"))?;
        let order = self.orders.get(key);
        let (side, index, rest) = (order.side, usize::from(order.market.0), order.rest);
        let market = &self.markets[index];
        if self.mode != ExchangeMode::Open || !market.config.enabled || !market.listed {
            return Err(Refusal::new(
                Reason::UnknownError,
                "orders are not accepted",
            ));
        }
        let left = match side {
            Side::Buy => market.scale.quote_ceil(rest, price),
            Side::Sell => market.scale.quote_floor(rest, price),
        };
        let left = left.filter(|quote| *quote > 0);
        let left = left.ok_or_else(|| Refusal::new(Reason::AmountTooSmall, "nothing is left"))?;
        if !market.is_within_band(self.now, side, price, [rest, left]) {
            return Err(Refusal::new(Reason::IllegalRate, "outside the band"));
        }
        if market.book.crosses(side, price) {
            return Err(Refusal::new(Reason::InvalidOrder, "it would take"));
        }
        let locked = order.locked();
        let quote = order.quote_filled + left;
        let needed = match side {
            Side::Buy => left.saturating_sub(order.quote - order.quote_filled),
            Side::Sell => 0,
        };
        let sell = match side {
            Side::Buy => market.config.quote,
            Side::Sell => market.config.base,
        };
        let free = self
            .accounts
            .get(&account)
            .map_or(0, |a| a.balance(sell).free());
        // With the fee that comes on top.
        if needed.saturating_mul(2) > free {
            return Err(Refusal::new(
                Reason::InsufficientBalance,
                "not enough is free",
            ));
        }
        let now = self.now;
        self.repriced.insert(hash);
        self.markets[index].book.remove(&mut self.orders, key, now);
        let order = self.orders.get_mut(key);
        (order.level, order.quote, order.updated) = (price, quote, now);
        let after = order.locked();
        let holder = self.account_mut(account);
        holder.unlock(sell, locked);
        holder.lock(sell, after);
        self.markets[index].book.append(&mut self.orders, key, now);
        Ok(())
    }
}
