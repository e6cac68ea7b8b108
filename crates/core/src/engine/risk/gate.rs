//! The gate before every transmission. Only this file can make an [`Approved`], and only what is
//! approved is sealed or transmitted. There is no way around it and no switch that opens one.
//!
//! Everything is judged at its worst: every order that may be alive counts as if it will fill. What is
//! judged is in `controls`, one small function a control.

use crate::config::{EngineConfig, MarketConfig};
use crate::control::Control;
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::notification::Withheld;
use crate::order::{ClientOrderId, StrategyId};
use crate::time::{Time, VenueTime};
use crate::token::{Amount, TokenId};

pub(crate) mod pools;

use crate::engine::account::foreign::Foreign;
use crate::engine::account::ledger::Ledger;
use crate::engine::intents::registry::{Orders, Tracked};
use crate::engine::risk::controls::{LEAVING, NEW, READY, Rule, SANE};
use crate::engine::risk::counters::Counters;
use crate::engine::risk::restrictions::RestrictionStore;
use crate::engine::risk::signed_unexpired::Signed;

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

/// What is judged, whether it is still a proposal or already sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderCandidate<'a> {
    pub(crate) strategy: StrategyId,
    pub(crate) side: Side,
    pub(crate) price: Price,
    pub(crate) qty: Qty,
    pub(crate) base: Amount,
    pub(crate) quote: Amount,
    pub(crate) max_fee_bips: u8,
    /// From now to its expiry.
    pub(crate) life_ms: u64,
    /// The sealed order itself.
    pub(crate) sealed: Option<&'a Tracked>,
    /// How many equal quotes are wanted.
    pub(crate) alike: usize,
}

/// Everything a judgement is made from.
pub(crate) struct RiskContext<'a> {
    pub(crate) now: Time,
    pub(crate) venue_now: VenueTime,
    pub(crate) config: &'a EngineConfig,
    pub(crate) limits: &'a MarketConfig,
    pub(crate) spec: &'a MarketSpec,
    pub(crate) permits: &'a RestrictionStore,
    /// What holds every market back: `Recovering` or `BooksDiffer`.
    pub(crate) hold: Option<Control>,
    /// Market enabled and account not frozen.
    pub(crate) permitted: bool,
    /// The venue lists the market as it did at the start.
    pub(crate) listed: bool,
    /// Half ticks, or why nobody should price.
    pub(crate) mid: Result<u64, Withheld>,
    /// Age of the last ended pass over the orders.
    pub(crate) orders_age_ms: Option<u64>,
    pub(crate) orders: &'a Orders,
    pub(crate) foreign: &'a Foreign,
    pub(crate) ledger: &'a Ledger,
    pub(crate) tally: &'a Counters,
    pub(crate) signed: &'a Signed,
    /// Value of everything held and bid for in the markets of this quote token; `None` if it cannot be
    /// counted.
    pub(crate) gross: Option<Amount>,
}

impl RiskContext<'_> {
    /// What a new order or move may bind of a token.
    pub(crate) fn free(&self, token: TokenId) -> Amount {
        let still = |id| self.orders.reserved_of(id, token);
        let reserved = self.orders.reserved(token);
        let others = self.foreign.is_any_known();
        self.ledger.free(token, reserved, others, still)
    }

    /// Judges a new order against everything. `alike` says how many equal quotes are wanted.
    pub(crate) fn approve(
        &self,
        strategy: StrategyId,
        new: Proposal,
        alike: usize,
    ) -> Result<Approved<Proposal>, Withheld> {
        let candidate = OrderCandidate {
            strategy,
            side: new.side,
            price: new.price,
            qty: new.qty,
            base: new.base,
            quote: new.quote,
            max_fee_bips: self.config.max_fee_bips,
            life_ms: self.config.ttl_ms,
            sealed: None,
            alike,
        };
        self.judge(&candidate, NEW)?;
        Ok(Approved(new))
    }

    /// Judges a sealed order again at the last moment before its bytes leave. Its own reservation is
    /// already among the orders, so size, band and balance were bound when it was approved.
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
            life_ms: tracked.valid_until().ms_since(self.venue_now),
            sealed: Some(tracked),
            alike: 0,
        };
        self.judge(&candidate, LEAVING)?;
        Ok(Approved(order.client_id))
    }

    fn judge(&self, candidate: &OrderCandidate<'_>, stage: &[Rule]) -> Result<(), Withheld> {
        let ask = |rules: &[Rule]| rules.iter().try_for_each(|rule| self.ask(rule, candidate));
        ask(READY)?;
        // Why there is no price is the book's to say.
        self.mid?;
        ask(SANE)?;
        ask(stage)
    }

    /// What one control says.
    fn ask(&self, rule: &Rule, candidate: &OrderCandidate<'_>) -> Result<(), Withheld> {
        let verdict = (rule.judge)(self, candidate);
        verdict.map_err(|compared| Withheld::compared(rule.control, compared))
    }
}
