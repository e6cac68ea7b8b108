//! Checks of a submitted order, in the order of `docs/venue-rules.md`: account, fields (from the request alone),
//! signature, business rules (which depend on the state).

use cambist_core::order::FillBy;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, OrderKind, Price, Reason, Side, VenueTime};

use crate::account::AccountId;
use crate::mode::ExchangeMode;
use crate::orders::OrderKey;
use crate::pool::PoolStatus;
use crate::request::{Caller, NewOrder};
use crate::response::Refusal;
use crate::slots::SlotAnswer;
use crate::venue::Venue;

/// Most bytes of a client order id.
pub const CLIENT_ID_MAX_BYTES: usize = 120;

/// Highest fee an order may accept, in ten-thousandths.
pub const MAX_FEE_BIPS: u64 = 63;

/// The interpretation of an order from its fields alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub market: MarketId,
    pub side: Side,
    pub base: Amount,
    pub quote: Amount,
    pub level: Price,
    pub storage_id: u32,
    pub valid_until_s: u32,
    pub max_fee_bips: u8,
    /// The pool of a swap.
    pub pool: Option<usize>,
    /// Which token its fees are taken in.
    pub fee_in: FeeToken,
}

fn refuse<T>(reason: Reason, detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(reason, detail))
}

impl Venue {
    /// Refuses an order for an account that does not exist with its own code; otherwise the usual check.
    pub(crate) fn check_submitter(
        &self,
        caller: &Caller,
        account: AccountId,
    ) -> Result<(), Refusal> {
        if !matches!(caller, Caller::Public) && !self.accounts.contains_key(&account) {
            return refuse(
                Reason::InvalidOrderAccount,
                format!("account {} does not exist", account.0),
            );
        }
        self.check_owner(caller, account)
    }

    /// The field checks.
    pub(crate) fn place(&self, order: &NewOrder) -> Result<Placement, Refusal> {
        if order.exchange != self.config.exchange {
            return refuse(Reason::WrongExchange, "the order names another exchange");
        }
        for token in [order.sell_token, order.buy_token] {
            if !self.is_listed_token(token) {
                return refuse(
                    Reason::UnsupportedToken,
                    format!("token {} is not listed", token.0),
                );
            }
        }
        let Some((market, side)) = self.market_of_pair(order.sell_token, order.buy_token) else {
            return refuse(
                Reason::UnsupportedMarket,
                format!(
                    "no market sells token {} for token {}",
                    order.buy_token.0, order.sell_token.0
                ),
            );
        };
        let pool = self.pool_of(order)?;
        let Ok(storage_id) = u32::try_from(order.storage_id) else {
            return refuse(Reason::InvalidOrderId, "the storage id exceeds 32 bits");
        };
        for amount in [order.sell_amount, order.buy_amount] {
            if amount == 0 {
                return refuse(Reason::AmountTooSmall, "an amount is zero");
            }
            if amount > AMOUNT_MAX {
                return refuse(Reason::AmountTooLarge, "an amount exceeds 96 bits");
            }
        }
        let max_fee_bips = match u8::try_from(order.max_fee_bips) {
            Ok(bips @ 1..) if order.max_fee_bips <= MAX_FEE_BIPS => bips,
            Ok(_) | Err(_) => {
                return refuse(
                    Reason::IllegalRate,
                    format!("maxFeeBips {} is not within 1 to 63", order.max_fee_bips),
                );
            }
        };
        let (base, quote) = match side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        let scale = &self.markets[usize::from(market.0)].scale;
        let level = match (scale.level(side, base, quote), pool) {
            (Some(level), _) => level,
            // A swap does not rest and needs no level.
            (None, Some(_)) => Price(0),
            (None, None) => {
                return refuse(Reason::IllegalRate, "no price level can hold this ratio");
            }
        };
        let Ok(valid_until_s) = u32::try_from(order.valid_until_s) else {
            return refuse(
                Reason::InvalidOrder,
                "validUntil exceeds 32 bits; it is a time in seconds",
            );
        };
        if order.all_or_none {
            return refuse(Reason::InvalidOrder, "all-or-none orders are not supported");
        }
        if order.taker != [0; 20] {
            return refuse(
                Reason::InvalidOrder,
                "orders for a named taker are not supported",
            );
        }
        if order
            .client_id
            .as_ref()
            .is_some_and(|id| id.len() > CLIENT_ID_MAX_BYTES)
        {
            return refuse(
                Reason::InvalidOrder,
                "the client order id exceeds 120 bytes",
            );
        }
        Ok(Placement {
            market,
            side,
            base,
            quote,
            level,
            storage_id,
            valid_until_s,
            max_fee_bips,
            pool,
            // A swap pays out of what it buys (R-SWP-04).
            fee_in: match pool {
                Some(_) => FeeToken::Bought,
                None => self.markets[usize::from(market.0)].config.fee_in,
            },
        })
    }

    /// The pool that a swap names. Swaps are limited by their sell amount.
    fn pool_of(&self, order: &NewOrder) -> Result<Option<usize>, Refusal> {
        let Some(address) = order.pool else {
            return Ok(None);
        };
        let pair = [order.sell_token, order.buy_token];
        let fits = |index: &usize| {
            let [base, quote] = self.pools[*index].config.pooled;
            pair == [base, quote] || pair == [quote, base]
        };
        let Some(pool) = self.find_pool(&address).filter(fits) else {
            return refuse(Reason::UnsupportedMarket, "no such pool for these tokens");
        };
        if order.fill_by == FillBy::Buy {
            return refuse(
                Reason::InvalidOrder,
                "a swap is limited by its sell amount: fillAmountBOrS must be false",
            );
        }
        Ok(Some(pool))
    }

    /// The business checks; returns the open order whose slot the new one takes over, if there is one.
    pub(crate) fn check_business(
        &self,
        order: &NewOrder,
        placement: &Placement,
    ) -> Result<Option<OrderKey>, Refusal> {
        let account = &self.accounts[&order.account];
        let market = &self.markets[usize::from(placement.market.0)];
        if self.by_hash.contains_key(&order.hash) {
            return refuse(Reason::OrderExists, "this order was submitted before");
        }
        if let Some(id) = client_id(order)
            && self.find_client_id(order.account, id).is_some()
        {
            return refuse(Reason::OrderExists, "the client order id is in use");
        }
        if VenueTime::from_s(u64::from(placement.valid_until_s)) <= self.now {
            return refuse(Reason::OrderExpired, "the order has expired");
        }
        if account.frozen {
            return refuse(Reason::SubmitFailed, "the account is frozen");
        }
        let open = match placement.pool {
            Some(pool) => {
                self.pools[pool].listed && self.pools[pool].config.status.has(PoolStatus::SWAP)
            }
            None => market.takes_orders(),
        };
        if !open {
            return refuse(Reason::UnsupportedMarket, "the market or pool is closed");
        }
        self.check_amounts(placement)?;
        let kind = match placement.pool {
            Some(_) => OrderKind::TakerOnly,
            None => order.kind,
        };
        let fee = match kind {
            OrderKind::Limit => market
                .config
                .maker_fee_bips
                .max(market.config.taker_fee_bips),
            OrderKind::MakerOnly => market.config.maker_fee_bips,
            OrderKind::TakerOnly => market.config.taker_fee_bips,
        };
        if placement.max_fee_bips < fee {
            return refuse(
                Reason::IllegalRate,
                format!(
                    "maxFeeBips {} is below the market's fee of {fee}",
                    placement.max_fee_bips
                ),
            );
        }
        let amounts = [placement.base, placement.quote];
        if let Some([lowest, highest]) = market.band_edges(self.now)
            && !market.is_within_band(self.now, placement.side, placement.level, amounts)
        {
            return refuse(
                Reason::IllegalRate,
                format!(
                    "outside the price band: bids up to {} ticks and asks from {} ticks are accepted now",
                    highest.0, lowest.0
                ),
            );
        }
        let replaced = self.check_slot(order, placement)?;
        let open = account.open_orders - u32::from(replaced.is_some());
        if open >= self.config.limits.open_orders_max {
            return refuse(Reason::SubmitFailed, "too many open orders");
        }
        if kind == OrderKind::MakerOnly && market.book.crosses(placement.side, placement.level) {
            return refuse(Reason::InvalidOrder, "a maker-only order would take");
        }
        self.check_mode(kind, placement)?;
        let released = replaced.map_or(0, |key| self.orders.get(key).locked());
        let (side, bips) = (placement.side, placement.max_fee_bips);
        let on_top = placement.fee_in.on_top(side, order.sell_amount, bips);
        if account.balance(order.sell_token).free() + released < order.sell_amount + on_top {
            return refuse(
                Reason::InsufficientBalance,
                format!(
                    "the free balance of token {} is less than the amount",
                    order.sell_token.0
                ),
            );
        }
        Ok(replaced)
    }

    /// Refuses what the current mode of the exchange does not allow.
    fn check_mode(&self, kind: OrderKind, placement: &Placement) -> Result<(), Refusal> {
        let market = &self.markets[usize::from(placement.market.0)];
        let takes = placement.pool.is_some()
            || kind == OrderKind::TakerOnly
            || market.book.crosses(placement.side, placement.level);
        match self.mode {
            ExchangeMode::Open => Ok(()),
            ExchangeMode::PostOnly if !takes => Ok(()),
            ExchangeMode::PostOnly => refuse(
                Reason::SubmitFailed,
                "the exchange is in post-only mode: it accepts maker-only orders",
            ),
            ExchangeMode::CancelOnly => {
                refuse(Reason::SubmitFailed, "the exchange is in cancel-only mode")
            }
            ExchangeMode::Halted => refuse(Reason::SubmitFailed, "the exchange is halted"),
        }
    }

    /// Each token's minimum and maximum; digits below its precision count as zero.
    fn check_amounts(&self, placement: &Placement) -> Result<(), Refusal> {
        let market = &self.markets[usize::from(placement.market.0)];
        for (id, amount) in [
            (market.config.base, placement.base),
            (market.config.quote, placement.quote),
        ] {
            let token = &self.tokens[&id].spec;
            if !token.enabled {
                return refuse(
                    Reason::UnsupportedToken,
                    format!("token {} is closed", id.0),
                );
            }
            let step = token.step().unwrap_or(1);
            if amount - amount % step < token.minimum {
                return refuse(
                    Reason::AmountTooSmall,
                    format!(
                        "the amount is below the minimum of {} of token {}",
                        token.minimum, id.0
                    ),
                );
            }
            if amount > token.maximum {
                return refuse(
                    Reason::AmountTooLarge,
                    format!(
                        "the amount is above the maximum of {} of token {}",
                        token.maximum, id.0
                    ),
                );
            }
        }
        Ok(())
    }

    fn check_slot(
        &self,
        order: &NewOrder,
        placement: &Placement,
    ) -> Result<Option<OrderKey>, Refusal> {
        let table = self.accounts[&order.account].slots.get(&order.sell_token);
        match table.map(|table| table.ask(placement.storage_id)) {
            None => Ok(None),
            Some(SlotAnswer::Free { replaces }) => Ok(replaces),
            Some(SlotAnswer::Used) => refuse(
                Reason::OrderExists,
                format!("storage id {} was used", placement.storage_id),
            ),
            Some(SlotAnswer::Older) => refuse(
                Reason::InvalidOrderId,
                format!(
                    "a larger storage id than {} was used in its slot",
                    placement.storage_id
                ),
            ),
        }
    }
}

/// The client order id; an empty one counts as absent.
pub(crate) fn client_id(order: &NewOrder) -> Option<&str> {
    order.client_id.as_deref().filter(|id| !id.is_empty())
}
