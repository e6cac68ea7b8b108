//! The pre-trade gate. Only this file can create an [`Approved`], and only approved values are sealed or transmitted.
//! There is no bypass and no switch that creates one.
//!
//! Everything is judged at its worst: every order that may be alive counts as if it will fill. The conditions are in
//! `controls`, one function for each.

use crate::config::{EngineConfig, MarketConfig};
use crate::fence;
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::notification::{Control, Withheld};
use crate::order::{ClientOrderId, StrategyId};
use crate::strategy::Quote;
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};
use crate::venue::{AmountRule, FeeRule};

mod in_part;
pub(crate) mod pools;
mod swaps;

use crate::engine::account::foreign::Foreign;
use crate::engine::account::ledger::Ledger;
use crate::engine::intents::registry::{Orders, Tracked};
use crate::engine::risk::controls::{AMENDED, LEAVING, NEW, READY, Rule, SANE};
use crate::engine::risk::counters::Counters;
use crate::engine::risk::portfolio::SharedLimits;
use crate::engine::risk::restrictions::RestrictionStore;
use crate::engine::risk::signed_unexpired::Signed;

/// A value that passed the gate. It cannot be created elsewhere.
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

/// The order to judge, before or after it is sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderCandidate<'a> {
    pub(crate) strategy: StrategyId,
    pub(crate) side: Side,
    pub(crate) price: Price,
    pub(crate) qty: Qty,
    pub(crate) base: Amount,
    pub(crate) quote: Amount,
    pub(crate) max_fee_bips: u8,
    /// Time from now to its expiry.
    pub(crate) life_ms: u64,
    /// The sealed order itself.
    pub(crate) sealed: Option<&'a Tracked>,
    /// Number of equal quotes in the targets.
    pub(crate) alike: usize,
    /// It trades on the book; a swap does not.
    pub(crate) on_book: bool,
}

/// The inputs of a judgement.
pub(crate) struct RiskContext<'a> {
    pub(crate) now: Time,
    pub(crate) venue_now: VenueTime,
    pub(crate) config: &'a EngineConfig,
    pub(crate) limits: &'a MarketConfig,
    pub(crate) spec: &'a MarketSpec,
    pub(crate) fees: FeeRule,
    pub(crate) amounts: AmountRule,
    pub(crate) permits: &'a RestrictionStore,
    /// Market enabled and account not frozen.
    pub(crate) permitted: bool,
    /// The listing of the market is that of the start.
    pub(crate) listed: bool,
    /// Half ticks, or why there is none to price from: also whatever stops the market, the books or all trading.
    pub(crate) mid: Result<u64, Withheld>,
    /// Age of the last complete scan of orders.
    pub(crate) orders_age_ms: Option<u64>,
    pub(crate) orders: &'a Orders,
    pub(crate) foreign: &'a Foreign,
    pub(crate) ledger: &'a Ledger,
    pub(crate) counters: &'a Counters,
    pub(crate) signed: &'a Signed,
    /// Value of all holdings and bids in the markets of this quote token; `None` on overflow.
    pub(crate) gross: Option<Amount>,
    /// Limits over all venues, if there are any.
    pub(crate) shared: Option<SharedLimits>,
}

impl RiskContext<'_> {
    /// Amount of a token that a new intent may lock.
    pub(crate) fn free(&self, token: TokenId) -> Amount {
        let still = |id| self.orders.reserved_of(id, token);
        let reserved = self.orders.reserved(token);
        let others = self.foreign.is_any_known();
        self.ledger.free(token, reserved, others, still)
    }

    /// Base units of orders that have no end of their own, that the venue has taken, and whose bytes have lapsed:
    /// what their signatures may still do is to rest.
    pub(crate) fn signed_without_end(&self, token: TokenId) -> Amount {
        let lapsed = |t: &&Tracked| {
            let lifetime = t.lifecycle.lifetime;
            let lapsed = fence::is_behind(
                self.venue_now,
                lifetime.accepted_until,
                self.config.grace_ms,
            );
            lifetime.rests_until.is_none() && lapsed && t.order.base().0 == token
        };
        let resting = self.orders.iter().filter(lapsed);
        resting.fold(0, |sum, t| sum.saturating_add(t.order.base().1))
    }

    /// Judges an order for a quote by all controls. `alike` is the number of equal quotes in the targets.
    pub(crate) fn approve_quote(
        &self,
        strategy: StrategyId,
        wanted: &Quote,
        alike: usize,
    ) -> Result<Approved<Proposal>, Withheld> {
        let amounts = self
            .spec
            .base_amount(wanted.qty)
            .zip(self.spec.quote_amount(wanted.price, wanted.qty));
        let (base, quote) = amounts.ok_or(Control::OrderAmount)?;
        let new = Proposal {
            side: wanted.side,
            price: wanted.price,
            qty: wanted.qty,
            base,
            quote,
        };
        let candidate = OrderCandidate {
            strategy,
            side: new.side,
            price: new.price,
            qty: new.qty,
            base: new.base,
            quote: new.quote,
            max_fee_bips: self.fees.of_order(self.config.max_fee_bips),
            life_ms: self.config.ttl_ms,
            sealed: None,
            alike,
            on_book: true,
        };
        self.judge(&candidate, NEW)?;
        Ok(Approved(new))
    }

    /// Judges a sealed order again immediately before its bytes are sent. Its own reservation is already counted, so
    /// size, band and balance were checked when it was approved.
    pub(crate) fn approve_transmission(
        &self,
        tracked: &Tracked,
    ) -> Result<Approved<ClientOrderId>, Withheld> {
        let order = &tracked.order;
        let (base, quote) = match order.side {
            Side::Buy => (order.buy_amount, order.sell_amount),
            Side::Sell => (order.sell_amount, order.buy_amount),
        };
        let candidate = OrderCandidate {
            strategy: order.client_id.strategy,
            side: order.side,
            price: order.price,
            qty: order.qty,
            base,
            quote,
            max_fee_bips: order.max_fee_bips,
            life_ms: tracked
                .lifecycle
                .lifetime
                .of_signature()
                .ms_since(self.venue_now),
            sealed: Some(tracked),
            alike: 0,
            on_book: !tracked.is_swap(),
        };
        self.judge(&candidate, LEAVING)?;
        Ok(Approved(order.client_id))
    }

    /// Judges the move of an order that rests to another price. Its quantity stays what it was.
    pub(crate) fn approve_amend(
        &self,
        tracked: &Tracked,
        price: Price,
    ) -> Result<Approved<Price>, Withheld> {
        let order = &tracked.order;
        let is_within_signed = match order.side {
            Side::Buy => price <= order.price,
            Side::Sell => price >= order.price,
        };
        let amounts = self
            .spec
            .base_amount(order.qty)
            .zip(self.spec.quote_amount(price, order.qty));
        let (base, quote) = amounts
            .filter(|_| is_within_signed)
            .ok_or(Control::OrderAmount)?;
        let candidate = OrderCandidate {
            strategy: order.client_id.strategy,
            side: order.side,
            price,
            qty: order.qty,
            base,
            quote,
            max_fee_bips: order.max_fee_bips,
            life_ms: tracked
                .lifecycle
                .lifetime
                .of_signature()
                .ms_since(self.venue_now),
            sealed: Some(tracked),
            alike: 0,
            on_book: true,
        };
        self.judge(&candidate, AMENDED)?;
        Ok(Approved(price))
    }

    fn judge(&self, candidate: &OrderCandidate<'_>, stage: &[Rule]) -> Result<(), Withheld> {
        self.ask_all(READY, candidate)?;
        // The reason for a missing mid is the book's.
        self.mid?;
        self.ask_all(SANE, candidate)?;
        self.ask_all(stage, candidate)
    }

    /// Evaluates controls in their order.
    fn ask_all(&self, rules: &[Rule], candidate: &OrderCandidate<'_>) -> Result<(), Withheld> {
        rules.iter().try_for_each(|rule| self.ask(rule, candidate))
    }

    /// Evaluates one control.
    fn ask(&self, rule: &Rule, candidate: &OrderCandidate<'_>) -> Result<(), Withheld> {
        let result = (rule.judge)(self, candidate);
        result.map_err(|compared| Withheld::compared(rule.control, compared))
    }
}
