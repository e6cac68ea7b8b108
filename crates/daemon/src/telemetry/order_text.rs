//! What happened to an own order, in words: the same on the page and in `cambist why`.

use cambist_core::inspection::{CancelCause, OrderDecision};
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::strategy::Quote;
use cambist_core::{Amount, MarketSpec, Side};

use super::withheld;
use crate::config::money::{mid_text, price, quantity};

/// The name of what a notification about an order reports.
pub const fn notification_name(notification: &Notification) -> &'static str {
    match notification {
        Notification::Submitted { .. } | Notification::SwapSubmitted { .. } => "sent",
        Notification::Resent { .. } => "sent again",
        Notification::Acknowledged { .. } => "acknowledged",
        Notification::Refused { .. } => "refused",
        Notification::Unknown { .. } => "unknown",
        Notification::CancelSent { .. } => "cancel sent",
        Notification::AmendSent { .. } => "amend sent",
        Notification::AmendEnded { price: Some(_), .. } => "amended",
        Notification::AmendEnded { price: None, .. } => "amend not confirmed",
        Notification::Resolved { .. } => "resolved",
        Notification::Filled(_) => "filled",
        Notification::FeeAbove { .. } => "fee above",
        Notification::Ended { .. } => "ended",
        _ => "reported",
    }
}

/// A notification about an order, without its name; empty if the name is enough.
pub fn notification(spec: &MarketSpec, notification: &Notification) -> String {
    match notification {
        Notification::SwapSubmitted {
            side, sell, least, ..
        } => swap(spec, *side, *sell, *least),
        Notification::Resent { attempt, .. } => format!("the same bytes, attempt {attempt}"),
        Notification::Acknowledged { micros, .. } => format!("after {micros} µs"),
        Notification::Refused {
            endpoint, reason, ..
        } => format!("{}: {reason:?}", endpoint.name()),
        Notification::Unknown {
            endpoint, cause, ..
        } => format!("{}: {}", endpoint.name(), cause.name()),
        Notification::Resolved { status, .. } => {
            format!("the venue shows it as {}", status.name())
        }
        Notification::Filled(fill) => format!(
            "{} for {}",
            spec.base.text(fill.base),
            spec.quote.text(fill.quote)
        ),
        Notification::Ended { end, .. } => end.name().to_owned(),
        Notification::AmendSent { price: to, .. }
        | Notification::AmendEnded {
            price: Some(to), ..
        } => format!("to {}", price(spec, *to)),
        _ => String::new(),
    }
}

/// A decision about an order, without its name. `quotes` is the number of quotes in a row that an order was kept for.
pub fn decision(spec: &MarketSpec, decision: &OrderDecision, quotes: u64) -> String {
    let quote = |wanted: &Quote| quote(spec, wanted);
    match decision {
        OrderDecision::Placed {
            wanted,
            mid,
            replaces,
        } => {
            let mid = mid.map_or_else(String::new, |mid| format!(", mid {}", mid_text(spec, mid)));
            let replaces = replaces.map_or_else(String::new, |order| {
                format!("; replaces {order}, which is close to its expiry")
            });
            format!("wanted {}, without an order{mid}{replaces}", quote(wanted))
        }
        OrderDecision::Kept { wanted } if quotes > 1 => format!(
            "within tolerance of {quotes} quotes in a row, the last {}",
            quote(wanted)
        ),
        OrderDecision::Kept { wanted } => format!("within tolerance of {}", quote(wanted)),
        OrderDecision::Amended { wanted } => format!("moved to {}", quote(wanted)),
        OrderDecision::Expiring { wanted } => format!(
            "close to its expiry; rests until its replacement does, for {}",
            quote(wanted)
        ),
        OrderDecision::Awaited(why) => format!(
            "to be cancelled when its transmission is answered: {}",
            cause(spec, why)
        ),
        OrderDecision::Held(why) => format!(
            "to be cancelled when the venue's counter of cancels and the budget have room: {}",
            cause(spec, why)
        ),
        OrderDecision::Cancelled(why) => cause(spec, why),
    }
}

/// An order: side, quantity and limit; of a swap what it sells, and the least that it accepts.
pub fn order(spec: &MarketSpec, order: &UnsignedOrder) -> String {
    if !order.is_swap() {
        let (qty, at) = (quantity(spec, order.qty), price(spec, order.price));
        return format!("{} {qty} at {at}", order.side.name());
    }
    swap(spec, order.side, order.sell_amount, order.buy_amount)
}

/// A swap: all of what it sells, for at least so much before the fee, or nothing.
fn swap(spec: &MarketSpec, side: Side, sell: Amount, least: Amount) -> String {
    let (sold, bought) = match side {
        Side::Buy => (&spec.quote, &spec.base),
        Side::Sell => (&spec.base, &spec.quote),
    };
    let (sold, least) = (sold.text(sell), bought.text(least));
    format!("swap of {sold} for at least {least}")
}

/// A quote: side, quantity and price.
pub fn quote(spec: &MarketSpec, quote: &Quote) -> String {
    let (qty, at) = (quantity(spec, quote.qty), price(spec, quote.price));
    format!("{} {qty} at {at}", quote.side.name())
}

fn cause(spec: &MarketSpec, cause: &CancelCause) -> String {
    match cause {
        CancelCause::NotQuoted(why) => format!("not quoted: {}", withheld::text(spec, why)),
        CancelCause::Moved { wanted } => {
            // The price may be the same, and the quantity another.
            format!(
                "no quote equals it any more: the nearest is {}",
                quote(spec, wanted)
            )
        }
        CancelCause::Replaced => "close to its expiry, and its replacement rests".to_owned(),
        CancelCause::Surplus => "the quotes of its side have other orders".to_owned(),
        CancelCause::NoStrategy => "no strategy of the configuration made it".to_owned(),
        CancelCause::NoRoom(control) => {
            format!("no room beside its replacement: {}", control.sentence())
        }
    }
}
