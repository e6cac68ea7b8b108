//! The inputs of gate and strategies: the book, the mid, the permissions, the exposure.

use std::sync::Arc;

use crate::market::MarketId;
use crate::notification::{Control, Withheld};
use crate::time::Time;
use crate::token::{Amount, TokenId};

use crate::engine::intents::lifecycle::Lifecycle;
use crate::engine::intents::unquoted::waits;
use crate::engine::market_data::book::Prices;
use crate::engine::risk::gate::RiskContext;
use crate::engine::state::State;
use crate::market::value_at;

impl State {
    /// The mid to quote from, in half ticks, or why there are no quotes.
    pub(crate) fn quoting_mid(
        &self,
        now: Time,
        market: MarketId,
        prices: &Prices,
    ) -> Result<u64, Withheld> {
        if let Some(closed) = self.closed(now, market) {
            return Err(closed);
        }
        let limits = &self.config.markets[usize::from(market.0)];
        self.market(market)
            .book
            .usable_mid(now, prices, limits, self.config.poll.depth_age_max_ms)
    }

    /// Whether the venue reported that the account may trade; false before its first report.
    fn account_is_open(&self) -> bool {
        self.frozen == Some(false)
    }

    /// Why nothing may be quoted, independent of the book.
    pub(crate) fn closed(&self, now: Time, market: MarketId) -> Option<Withheld> {
        if self.drain.is_some() {
            return Some(Control::Ending.into());
        }
        if let Some(beside) = self.beside_instance(now) {
            return Some(beside);
        }
        if self.is_stopped() {
            return Some(Control::Level.into());
        }
        if !self.ready || self.frozen.is_none() {
            return Some(self.recovering(now));
        }
        if let Some(differs) = self.books_withhold(market) {
            return Some(differs);
        }
        if !self.market(market).is_as_listed() {
            return Some(Control::Listing.into());
        }
        // A loss could not be measured while the value of some holdings is unknown.
        if self.shares_due(market).is_none() {
            return Some(Control::StaleData.into());
        }
        let barred = !self.market(market).spec.enabled || !self.account_is_open();
        barred.then(|| Control::Permission.into())
    }

    /// How long an intent of unknown state may still delay recovery.
    fn recovering(&self, now: Time) -> Withheld {
        let venue_now = self.clock.at_least(now);
        let unknown = self.orders.lives().map(|(_, lifecycle)| lifecycle);
        let unknown = unknown.filter(|lifecycle| lifecycle.unknown_since().is_some());
        let fence = |lifecycle: &Lifecycle| lifecycle.last_effect().plus_ms(self.config.grace_ms);
        match unknown.map(fence).max() {
            Some(last) if last > venue_now => waits(Control::Recovering, last.ms_since(venue_now)),
            // The lists behind the last fence are not complete.
            _ => Control::Recovering.into(),
        }
    }

    /// The inputs of the gate.
    pub(crate) fn situation(
        &self,
        now: Time,
        index: usize,
        mid: Result<u64, Withheld>,
    ) -> RiskContext<'_> {
        let market = &self.markets[index];
        RiskContext {
            now,
            venue_now: self.clock.at_least(now),
            config: &self.config,
            limits: &self.config.markets[index],
            spec: &market.spec,
            fees: self.venue.fees,
            amounts: self.venue.amounts,
            permits: &self.restrictions,
            permitted: market.spec.enabled && self.account_is_open(),
            listed: market.is_as_listed(),
            mid,
            orders_age_ms: self
                .last_complete_scan_at
                .map(|scan_began| now.ms_since(scan_began)),
            orders: &self.orders,
            foreign: &self.foreign,
            ledger: &self.ledger,
            counters: &self.counters,
            signed: &self.signed,
            gross: self.gross(market.spec.quote.id),
            shared: self.shared_limits(&market.spec),
        }
    }

    /// Value at the mid of all holdings, pool shares and bids in the markets of a quote token; without a mid, at the
    /// ceiling. `None` on overflow.
    pub(crate) fn gross(&self, quote: TokenId) -> Option<Amount> {
        let mut gross: Amount = 0;
        for (index, (market, limits)) in self.markets.iter().zip(&self.config.markets).enumerate() {
            let base = market.spec.base.id;
            if market.spec.quote.id != quote {
                continue;
            }
            let ceiling = limits.price_max.0.saturating_mul(2);
            let mid = market.mid.unwrap_or(ceiling);
            gross = gross.checked_add(self.shares_exposure(market, mid)?)?;
            let mut before = self.markets[..index].iter().map(|market| &market.spec);
            if before.any(|spec| spec.quote.id == quote && spec.base.id == base) {
                continue;
            }
            let (_, held) = self.ledger.bounds(base);
            let coming = self.orders.incoming(base);
            let most = held
                .checked_add(coming)?
                .checked_add(self.foreign.bringing(base))?;
            let worth = value_at(&market.spec, most, mid)?;
            gross = gross.checked_add(worth)?;
        }
        Some(gross)
    }

    /// As [`State::situation`], with the current mid.
    pub(crate) fn situation_now(&self, now: Time, market: MarketId) -> RiskContext<'_> {
        let mid = self.quoting_mid(now, market, &self.prices(market));
        self.situation(now, usize::from(market.0), mid)
    }

    /// The book of a market without all own orders that may be in it.
    pub(crate) fn prices(&self, market: MarketId) -> Arc<Prices> {
        let state = self.market(market);
        state.book.prices(&state.spec)
    }
}
