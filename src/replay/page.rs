//! A moment of a recording as JSON: amounts and prices are decimals, times are ISO 8601.

use cambist_core::MarketSpec;
use cambist_core::inspection::{MarketInspection, OrderInspection};
use cambist_core::notification::Control;
use cambist_core::strategy::BookLevel;
use cambist_tape::Header;
use serde_json::{Map, Value, json};

use super::moment::{Moment, iso_ms};
use super::{difference_page, is_own};
use cambist_config::money::{mid_text, price, quantity, whole};
use cambist_daemon::telemetry::withheld;

/// A moment as a JSON value.
pub fn page(moment: &Moment) -> Value {
    let (inspection, header) = (&moment.inspection, &moment.header);
    let status = &inspection.status;
    json!({
        "at": iso_ms(inspection.venue_time),
        "recording": moment.path.display().to_string(),
        "also_in": moment.also_in.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "program": header.program,
        "same_build": is_own(&header.program),
        "events": moment.events,
        "last_event": iso_ms(moment.last_event),
        "first_difference": moment.difference.as_ref().map(difference_page),
        "trading_state": status.level.name(),
        "ready": status.ready,
        "draining": status.draining,
        "pauses": status.pauses.len(),
        "ramp_bps": status.ramp_bps,
        "limits_used_bps": used(&status.used),
        "markets": inspection.markets.iter().map(|market| market_page(market, moment)).collect::<Vec<_>>(),
    })
}

fn market_page(inspection: &MarketInspection, moment: &Moment) -> Value {
    let spec = &inspection.market;
    let status = &moment.inspection.status;
    let of_market = status.markets.get(usize::from(spec.id.0));
    let held = |token: &cambist_core::TokenSpec| {
        let units = status.ledger.get(&token.id);
        units.map(|units| whole(*units, token.decimals))
    };
    let levels = |levels: &[BookLevel]| -> Vec<Value> {
        let each = levels.iter();
        each.map(|level| json!({"price": price(spec, level.price), "quantity": quantity(spec, level.qty)}))
            .collect()
    };
    let targets = inspection.strategies.iter().flat_map(|strategy| {
        let name = strategy_name(&moment.header, strategy.strategy.0);
        strategy.quotes.iter().map(move |quote| {
            json!({
                "strategy": name,
                "side": quote.side.name(),
                "price": price(spec, quote.price),
                "quantity": quantity(spec, quote.qty),
                "level": quote.level,
            })
        })
    });
    let reasons = of_market.map(|market| withheld::sides(spec, &market.withheld));
    json!({
        "market": spec.name,
        "mid": inspection.mid.map(|mid| mid_text(spec, mid)),
        "quoting_mid": inspection.quoting_mid.ok().map(|mid| mid_text(spec, mid)),
        "not_quoting": inspection.quoting_mid.err().map(|why| withheld::page(spec, &why)),
        "depth_time": inspection.depth_time.map(iso_ms),
        "depth_age_ms": inspection.depth_age_ms,
        "holdings": {"base": held(&spec.base), "quote": held(&spec.quote)},
        "bids": levels(&inspection.bids),
        "asks": levels(&inspection.asks),
        "wanted": targets.collect::<Vec<_>>(),
        "orders": inspection.orders.iter().map(|order| order_page(spec, order)).collect::<Vec<_>>(),
        "withheld": reasons,
        "refused_by": inspection.refused_by.iter().map(|control| control.name()).collect::<Vec<_>>(),
        "limits_used_bps": of_market.map(|market| used(&market.used)),
    })
}

fn order_page(spec: &MarketSpec, order: &OrderInspection) -> Value {
    json!({
        "id": order.id.to_string(),
        "side": order.side.name(),
        "price": price(spec, order.price),
        "quantity": quantity(spec, order.qty),
        "remaining": quantity(spec, order.remaining),
        "state": order.state.name(),
        "cancelling": order.cancelling,
        "decision": order.decision.map(|decision| decision.name()),
        "cause": order.decision.and_then(|decision| decision.cause()).map(|cause| cause.name()),
        "valid_until": iso_ms(order.valid_until),
    })
}

fn used(limits: &[(Control, u64)]) -> Map<String, Value> {
    let each = limits.iter();
    each.map(|(control, bps)| (control.name().to_owned(), (*bps).into()))
        .collect()
}

/// The name of a strategy by its number; strategies of a recording are in order of numbers.
pub fn strategy_name(header: &Header, number: u8) -> String {
    let found = header.strategies.get(usize::from(number));
    found.map_or_else(|| number.to_string(), |text| text.name.clone())
}
