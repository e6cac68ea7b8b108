//! The gate before every transmission. Only this file can make an [`Approved`], and only what is
//! approved is sealed or transmitted. There is no way around it and no switch that opens one.
//!
//! Everything is judged at its worst: every order that may be alive counts as if it will fill.

use crate::config::{EngineConfig, MarketConfig};
use crate::event::Level;
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::note::Control;
use crate::order::{ClientOrderId, StrategyId};
use crate::time::{Time, VenueTime};
use crate::token::{AMOUNT_MAX, Amount};

use super::ledger::Ledger;
use super::levels::Permits;
use super::orders::{Orders, Tracked};

/// Something that passed the gate. Cannot be made elsewhere.
#[derive(Debug)]
pub(crate) struct Approved<T>(T);

impl<T> Approved<T> {
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

/// A new order before it has ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) side: Side,
    pub(crate) price: Price,
    pub(crate) qty: Qty,
    pub(crate) base: Amount,
    pub(crate) quote: Amount,
}

/// Everything a judgement is made from.
pub(crate) struct Situation<'a> {
    pub(crate) now: Time,
    pub(crate) venue_now: VenueTime,
    pub(crate) config: &'a EngineConfig,
    pub(crate) limits: &'a MarketConfig,
    pub(crate) spec: &'a MarketSpec,
    pub(crate) permits: &'a Permits,
    pub(crate) ready: bool,
    /// Market enabled and account not frozen.
    pub(crate) permitted: bool,
    /// Half ticks, or why nobody should price.
    pub(crate) mid: Result<u64, Control>,
    /// Age of the last ended pass over the orders.
    pub(crate) orders_age_ms: Option<u64>,
    pub(crate) orders: &'a Orders,
    pub(crate) ledger: &'a Ledger,
}

impl Situation<'_> {
    /// Judges a new order against everything.
    pub(crate) fn approve(
        &self,
        strategy: StrategyId,
        new: Proposal,
    ) -> Result<Approved<Proposal>, Control> {
        self.may_trade(new.side, strategy)?;
        self.price_is_sane(new.price)?;
        self.crosses_no_own(new.side, new.price, None)?;
        self.size_is_sane(&new)?;
        if self.orders.count(self.spec.id, new.side) >= self.limits.open_orders_max {
            return Err(Control::OpenOrders);
        }
        self.stays_in_band(new.side, new.base)?;
        let (token, amount) = match new.side {
            Side::Buy => (self.spec.quote.id, new.quote),
            Side::Sell => (self.spec.base.id, new.base),
        };
        if amount > self.ledger.free(token, self.orders.reserved(token)) {
            return Err(Control::Balance);
        }
        Ok(Approved(new))
    }

    /// Judges a sealed order again at the last moment before its bytes leave. Its own reservation is
    /// already among the orders, so size, band and balance were bound when it was approved.
    pub(crate) fn approve_transmission(
        &self,
        tracked: &Tracked,
    ) -> Result<Approved<ClientOrderId>, Control> {
        let order = &tracked.order;
        self.may_trade(order.side, order.client_id.strategy)?;
        self.price_is_sane(order.price)?;
        self.crosses_no_own(order.side, order.price, Some(order.client_id))?;
        let last = tracked.valid_until().minus_ms(self.config.resend_margin_ms);
        if self.venue_now >= last {
            return Err(Control::StaleData);
        }
        Ok(Approved(order.client_id))
    }

    fn may_trade(&self, side: Side, strategy: StrategyId) -> Result<(), Control> {
        if self.permits.level() > Level::Trading {
            return Err(Control::Level);
        }
        let held = self
            .permits
            .hold_back(self.venue_now, self.spec.id, side, strategy);
        if held {
            return Err(Control::Paused);
        }
        if !self.ready {
            return Err(Control::Recovering);
        }
        if !self.permitted {
            return Err(Control::Permission);
        }
        let fresh = |age: Option<u64>, max: u64| age.is_some_and(|age| age <= max);
        let poll = &self.config.poll;
        if !fresh(self.orders_age_ms, poll.orders_age_max_ms)
            || !fresh(self.ledger.age_ms(self.now), poll.balances_age_max_ms)
        {
            return Err(Control::StaleData);
        }
        Ok(())
    }

    fn price_is_sane(&self, price: Price) -> Result<(), Control> {
        let mid = self.mid?;
        if price < self.limits.price_min || price > self.limits.price_max {
            return Err(Control::PriceBand);
        }
        // |price − mid/2| / (mid/2) ≤ collar, in half ticks. The collar guards both directions: a bid
        // far below the market is as much a sign of a wrong unit as one far above.
        let away = u128::from(price.0.saturating_mul(2).abs_diff(mid));
        if away * 10_000 > u128::from(self.limits.collar_bps) * u128::from(mid) {
            return Err(Control::PriceCollar);
        }
        Ok(())
    }

    fn crosses_no_own(
        &self,
        side: Side,
        price: Price,
        except: Option<ClientOrderId>,
    ) -> Result<(), Control> {
        let crosses = self
            .orders
            .of_market(self.spec.id)
            .filter(|t| t.order.side != side && Some(t.order.client_id) != except)
            .any(|t| side.reaches(price, t.order.price));
        if crosses {
            Err(Control::SelfCross)
        } else {
            Ok(())
        }
    }

    fn size_is_sane(&self, new: &Proposal) -> Result<(), Control> {
        let within = |amount: Amount, token: &crate::TokenSpec| {
            amount > 0 && amount <= AMOUNT_MAX && amount >= token.minimum && amount <= token.maximum
        };
        if !within(new.base, &self.spec.base) || !within(new.quote, &self.spec.quote) {
            return Err(Control::OrderAmount);
        }
        if new.quote > self.limits.order_value_max {
            return Err(Control::OrderValue);
        }
        Ok(())
    }

    /// Whether every fill of every order that may be alive leaves the band whole. A token belongs to the
    /// account, not to a market: orders of all markets count.
    fn stays_in_band(&self, side: Side, base: Amount) -> Result<(), Control> {
        let token = self.spec.base.id;
        let (least, most) = self.ledger.bounds(token);
        let inside = match side {
            Side::Buy => {
                let coming = self.orders.incoming(token).saturating_add(base);
                most.saturating_add(coming) <= self.limits.inventory_max
            }
            Side::Sell => least
                .checked_sub(self.orders.reserved(token).saturating_add(base))
                .is_some_and(|left| left >= self.limits.inventory_min),
        };
        if inside {
            Ok(())
        } else {
            Err(Control::InventoryBand)
        }
    }
}
