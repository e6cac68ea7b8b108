//! The account of a run on a simulated exchange: its orders with their queue positions, fills and equity, for status and
//! metrics. Nothing of it is known to any exchange.

use cambist_core::order::ClientOrderId;
use cambist_core::{Amount, MarketId, Price, Qty, Side, VenueTime};
use serde_json::{Value, json};

use super::Telemetry;
use super::observe::{market_spec, whole};
use crate::config::money;
use cambist_host::times;

/// The account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedAccount {
    /// Orders that rest, oldest first.
    pub orders: Vec<SimulatedOrder>,
    /// Fills so far.
    pub fills: u64,
    /// Value of all holdings at the mids, in quote units of the first market; `None` while a mid is missing.
    pub equity: Option<Amount>,
    /// The same at the beginning.
    pub opening_equity: Option<Amount>,
}

/// An order that rests at the simulated exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedOrder {
    /// Its id.
    pub order: ClientOrderId,
    /// The market.
    pub market: MarketId,
    /// Side.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots that rest.
    pub remaining: Qty,
    /// Base units filled so far.
    pub base_filled: Amount,
    /// Lots of others in front of it at its price; `None` if the depth does not reach its price.
    pub in_front: Option<Qty>,
    /// When it was accepted.
    pub created: VenueTime,
    /// When it expires.
    pub expires: VenueTime,
}

impl Telemetry {
    /// Sets the state of the simulated account.
    pub fn simulated(&self, account: SimulatedAccount) {
        let mut last = self.last();
        for market in &self.about.markets {
            for side in Side::BOTH {
                let own = account.orders.iter();
                let own = own.filter(|order| (order.market, order.side) == (market.id, side));
                let best = match side {
                    Side::Buy => own.max_by_key(|order| order.price),
                    Side::Sell => own.min_by_key(|order| order.price),
                };
                let in_front = best.and_then(|order| market.base_amount(order.in_front?));
                let lots = in_front.map_or(f64::NAN, |base| whole(base, &market.base));
                let labels = [market.name.as_str(), side.name()];
                self.metrics
                    .queue_in_front
                    .with_label_values(&labels)
                    .set(lots);
            }
        }
        last.simulated = Some(account);
    }

    /// The simulated account as JSON. Amounts are decimal strings of whole tokens.
    pub(super) fn simulated_page(&self, account: &SimulatedAccount) -> Value {
        let quote = self.about.markets.first().map(|market| &market.quote);
        let value = |units: Amount| quote.map(|quote| money::whole(units, quote.decimals));
        let profit = account.equity.zip(account.opening_equity);
        let profit = profit.and_then(|(now, opening)| {
            let sign = if now < opening { "-" } else { "" };
            Some(format!("{sign}{}", value(now.abs_diff(opening))?))
        });
        let orders = account.orders.iter();
        json!({
            "orders": orders.map(|order| self.order_page(order)).collect::<Value>(),
            "fills": account.fills,
            "value_token": quote.map(|quote| &quote.symbol),
            "equity": account.equity.and_then(value),
            "equity_at_start": account.opening_equity.and_then(value),
            "change_of_equity": profit,
        })
    }

    fn order_page(&self, order: &SimulatedOrder) -> Value {
        let spec = market_spec(&self.about, order.market);
        let base = |units: Amount| spec.map(|spec| money::whole(units, spec.base.decimals));
        let lots = |qty: Qty| base(spec?.base_amount(qty)?);
        json!({
            "order": order.order.to_string(),
            "market": spec.map(|spec| &spec.name),
            "side": order.side.name(),
            "price": spec.map(|spec| money::whole(order.price.0.into(), spec.price_decimals)),
            "remaining": lots(order.remaining),
            "filled": base(order.base_filled),
            "queue_in_front": order.in_front.and_then(lots),
            "accepted": times::iso(order.created.as_s()),
            "expires": times::iso(order.expires.as_s()),
        })
    }
}
