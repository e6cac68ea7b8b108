//! The gate for swaps: the controls of orders that apply, and those of pools.
//!
//! A swap is judged at its worst: it pays all that it sells, it receives no more than the least that it signs where
//! that is a loss, and its most where what is held is limited.

use crate::control::Control;
use crate::market::Side;
use crate::order::StrategyId;
use crate::strategy::WantedSwap;
use crate::swap::{self, Terms};
use crate::withheld::{Compared, Unit, Withheld};

use super::pools::PoolSituation;
use super::{Approved, OrderCandidate, RiskContext};
use crate::engine::intents::registry::Tracked;
use crate::engine::risk::controls::{SANE, SIGNED_AMOUNTS, SWAP};
use crate::order::ClientOrderId;

impl RiskContext<'_> {
    /// Judges a new swap by all controls.
    pub(crate) fn approve_swap(
        &self,
        pool: &PoolSituation<'_>,
        strategy: StrategyId,
        wanted: WantedSwap,
        terms: Terms,
    ) -> Result<Approved<Terms>, Withheld> {
        self.may_transact(strategy)?;
        pool.takes_swaps()?;
        let mid = self.mid?;
        if !pool.is_read_since_last {
            let compared =
                Compared::unknown(Unit::Ms, "market.pool.age_max_ms", pool.config.age_max_ms);
            return Err(Withheld::compared(Control::StaleData, compared));
        }
        let (base, quote) = match wanted.side {
            Side::Buy => (wanted.least, wanted.sell),
            Side::Sell => (wanted.sell, wanted.least),
        };
        let signed = OrderCandidate {
            strategy,
            side: wanted.side,
            price: terms.price,
            qty: terms.qty,
            base,
            quote,
            max_fee_bips: self.fees.of_order(self.config.max_fee_bips),
            life_ms: self.config.ttl_ms,
            sealed: None,
            alike: 0,
            on_book: false,
        };
        self.ask_all(SANE, &signed)?;
        self.ask_all(SIGNED_AMOUNTS, &signed)?;
        let (key, most) = ("market.pool.swap_value_max", pool.config.swap_value_max);
        let value = swap::value(self.spec, &terms, mid);
        if value.is_none_or(|value| value > most) {
            let compared = Compared::of(Unit::Quote, key, value, most);
            return Err(Withheld::compared(Control::OrderValue, compared));
        }
        let slippage_bps = pool.config.slippage_bps;
        let least = swap::least(terms.paid, slippage_bps).ok_or(Control::OrderAmount)?;
        if wanted.least < least {
            let unit = [Unit::Base, Unit::Quote][usize::from(wanted.side == Side::Sell)];
            let compared = Compared::new(unit, "market.pool.slippage_bps", wanted.least, least);
            return Err(Withheld::compared(Control::PoolSlippage, compared));
        }
        if pool.swaps >= pool.config.swaps_per_min {
            let key = "market.pool.swaps_per_min";
            let compared = Compared::new(Unit::Count, key, pool.swaps, pool.config.swaps_per_min);
            return Err(Withheld::compared(Control::MessageRate, compared));
        }
        let at_most = OrderCandidate {
            base: terms.base,
            quote: terms.quote,
            ..signed
        };
        self.ask_all(SWAP, &at_most)?;
        Ok(Approved(terms))
    }

    /// Judges a sealed swap again immediately before its bytes are sent: as an order, and by its pool.
    pub(crate) fn approve_swap_transmission(
        &self,
        pool: &PoolSituation<'_>,
        tracked: &Tracked,
    ) -> Result<Approved<ClientOrderId>, Withheld> {
        self.may_transact(tracked.order.client_id.strategy)?;
        pool.takes_swaps()?;
        self.approve_transmission(tracked)
    }
}
