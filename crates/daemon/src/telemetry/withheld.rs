//! Reasons for missing quotes in the same words in the log, `/readyz`, `/status` and `cambist status`; and the
//! resulting state of the daemon.

use std::fmt::Write;

use cambist_core::market::MarketSpec;
use cambist_core::notification::{Control, Withheld};
use cambist_core::withheld::Unit;
use cambist_core::{ClientOrderId, MarketId, Side, Time, VenueTime};
use serde_json::{Value, json};
use tracing::{debug, error, info, warn};

use super::About;
use super::metrics::Metrics;
use crate::config::money;
use crate::telemetry::last_known::LastKnown;
use crate::telemetry::portfolio::PortfolioStatus;

/// The reasons of a market, buy then sell.
pub(super) type Reasons = [Option<Withheld>; 2];

/// State of quoting over all markets, if nothing else forbids it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// A side of some market is quoted, or none should be.
    Active,
    /// Everything is paused.
    Paused,
    /// Another instance trades on the account.
    BesideInstance,
    /// No side is quoted.
    Not,
}

/// Determines the state of quoting.
pub(super) fn quoting(markets: &[Reasons]) -> Quoting {
    let mut reasons = markets.iter().flatten();
    let relevant = |why: &Option<Withheld>| !why.is_some_and(|why| why.control.is_by_design());
    let mut relevant = reasons.by_ref().filter(|why| relevant(why)).peekable();
    if relevant.peek().is_none() {
        return Quoting::Active;
    }
    let controls: Option<Vec<_>> = relevant.map(|why| why.map(|why| why.control)).collect();
    match controls {
        None => Quoting::Active,
        Some(all) => {
            let are = |control| all.iter().all(|found| *found == control);
            if are(Control::Paused) {
                Quoting::Paused
            } else if are(Control::OtherInstance) {
                Quoting::BesideInstance
            } else {
                Quoting::Not
            }
        }
    }
}

/// Whether a market quotes a side, or should quote none.
pub(super) fn is_served(reasons: &Reasons) -> bool {
    quoting(std::slice::from_ref(reasons)) == Quoting::Active
}

/// Takes in a reason from the engine: gauge and log. Changed numbers with the same reason are not logged.
pub(super) fn update(
    about: &About,
    m: &Metrics,
    last: &mut LastKnown,
    now: Time,
    (market, side): (MarketId, Side),
    withheld: Option<Withheld>,
) {
    let at = usize::from(market.0);
    let (Some(spec), Some(known)) = (about.markets.get(at), last.withheld.get_mut(at)) else {
        return;
    };
    let before = std::mem::replace(&mut known[side as usize], withheld);
    let gauge = |why: Withheld| {
        let labels = [spec.name.as_str(), side.name(), why.control.name()];
        m.withheld.with_label_values(&labels)
    };
    if let Some(before) = before {
        gauge(before).set(0);
    }
    if let Some(why) = withheld {
        gauge(why).set(1);
    }
    let same = match (&before, &withheld) {
        (None, None) => true,
        (Some(before), Some(why)) => before.is_alike(why),
        (None, Some(_)) | (Some(_), None) => false,
    };
    if !same {
        log(last, now, spec, side, withheld);
    }
}

fn log(last: &mut LastKnown, now: Time, spec: &MarketSpec, side: Side, withheld: Option<Withheld>) {
    let (market, place) = (spec.name.as_str(), (spec.id, side));
    let Some(why) = withheld else {
        // The end is logged only if the beginning was.
        if let Some(since) = last.logged_withheld.remove(&place) {
            let for_s = now.ms_since(since) / 1_000;
            info!(market, side = side.name(), for_s, "quoted again");
        }
        return;
    };
    let text = text_beside(spec, &why, last.portfolio.as_ref());
    let reason = why.control.name();
    let side_name = side.name();
    if why.control.is_by_design() || (last.draining && why.control == Control::Ending) {
        debug!(market, side = side_name, reason, "not quoted: {text}");
        return;
    }
    // A process that is awaited, and one that is too slow, are two things.
    let awaited = if why.is_awaited() { " awaited" } else { "" };
    let key = format!("withheld {} {side_name} {reason}{awaited}", spec.id.0);
    let Some(times) = last.throttle.due(now, &key) else {
        return;
    };
    last.logged_withheld.entry(place).or_insert(now);
    let key = why.key();
    if why.is_routine() {
        info!(
            market,
            side = side_name,
            reason,
            key,
            times,
            "not quoted: {text}"
        );
    } else {
        let remedy = why.remedy();
        warn!(
            market,
            side = side_name,
            reason,
            key,
            times,
            remedy,
            "not quoted: {text}"
        );
    }
}

/// Logs an order of another instance, with what to do.
pub(super) fn other_instance(
    about: &About,
    m: &Metrics,
    last: &mut LastKnown,
    now: Time,
    order: ClientOrderId,
    (until, later): (VenueTime, bool),
) {
    m.other_instance.inc();
    let instance = format!("{:08x}", order.instance);
    let key = format!("other instance {instance} {later}");
    // At most one line per minute, with the newest; status lists all.
    let Some(times) = last.throttle.due(now, &key) else {
        return;
    };
    let alive_until_s = until.as_s();
    if later {
        error!(
            %order, instance, times, alive_until_s,
            "another cambist instance trades on this account: no new orders are placed; stop one of the two, then run cambist resume"
        );
    } else {
        let adopt = format!(
            "cambist account adopt-orders --config {} --instance {instance} --reason TEXT",
            about.config
        );
        warn!(
            %order, instance, times, alive_until_s, adopt,
            "an order of another cambist instance is open on this account. If no other daemon runs, a lost state folder left it: wait until it expires, or adopt it with the command in the field adopt"
        );
    }
}

/// A reason in a sentence, with the compared numbers and the configuration key.
pub fn text(spec: &MarketSpec, why: &Withheld) -> String {
    let sentence = why.sentence();
    let number =
        |n: Option<i128>| n.map_or_else(|| "unknown".to_owned(), |n| number(spec, why.unit, n));
    let key = why.key();
    let compared = match (why.unit, why.value, why.limit) {
        (Unit::None, ..) => None,
        (Unit::Ms, left, None) => Some(format!("{} left", number(left))),
        (_, Some(value), None) => Some(number(Some(value))),
        // A part of it was explained since: what is left holds all the same.
        (_, Some(value), Some(limit)) if why.control == Control::BooksDiffer && value <= limit => {
            let (left, limit) = (number(Some(value)), number(Some(limit)));
            Some(format!("{left} is left of more than {limit}"))
        }
        // The age of a book that was not read.
        (Unit::Ms, None, Some(limit)) if why.control == Control::StaleData => {
            let limit = number(Some(limit));
            Some(format!("its age is unknown, at most {limit} are allowed"))
        }
        (_, value, limit) => Some(format!("{} against {}", number(value), number(limit))),
    };
    match (compared, key) {
        (None, None) => sentence.to_owned(),
        (None, Some(key)) => format!("{sentence} ({key})"),
        (Some(compared), None) => format!("{sentence}: {compared}"),
        (Some(compared), Some(key)) => format!("{sentence}: {compared} ({key})"),
    }
}

/// As [`text`], with what the limits over all venues add to it.
fn text_beside(spec: &MarketSpec, why: &Withheld, portfolio: Option<&PortfolioStatus>) -> String {
    let text = text(spec, why);
    match portfolio.and_then(|status| status.detail(spec, why)) {
        Some(detail) => format!("{text}; {detail}"),
        None => text,
    }
}

/// A reason as JSON. Numbers are decimals with their symbol.
pub fn page(spec: &MarketSpec, why: &Withheld) -> Value {
    let number = |n: Option<i128>| n.map(|n| number(spec, why.unit, n));
    json!({
        "reason": why.control.name(),
        "why": text(spec, why),
        "value": number(why.value),
        "limit": number(why.limit),
        "key": why.key(),
        "remedy": why.remedy(),
    })
}

/// Both sides as JSON.
pub fn sides(spec: &MarketSpec, reasons: &[Option<Withheld>; 2]) -> Value {
    let [buy, sell] = reasons.map(|why| why.map(|why| page(spec, &why)));
    json!({"buy": buy, "sell": sell})
}

/// Both sides as JSON, with what the limits over all venues add to the reasons.
pub(super) fn sides_beside(
    spec: &MarketSpec,
    reasons: &Reasons,
    portfolio: Option<&PortfolioStatus>,
) -> Value {
    let [buy, sell] = reasons.map(|why| {
        why.map(|why| {
            let mut page = page(spec, &why);
            page["why"] = json!(text_beside(spec, &why, portfolio));
            page
        })
    });
    json!({"buy": buy, "sell": sell})
}

/// Every reason as a line.
pub(super) fn lines(
    about: &About,
    markets: &[Reasons],
    portfolio: Option<&PortfolioStatus>,
) -> String {
    let mut text = String::new();
    for (spec, reasons) in about.markets.iter().zip(markets) {
        for (side, why) in Side::BOTH.into_iter().zip(reasons) {
            let Some(why) = why else { continue };
            let (market, side, reason) = (&spec.name, side.name(), why.control.name());
            let why = text_beside(spec, why, portfolio);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{market} {side}: {reason}: {why}");
        }
    }
    text
}

fn number(spec: &MarketSpec, unit: Unit, n: i128) -> String {
    let sign = if n < 0 { "-" } else { "" };
    let size = n.unsigned_abs();
    let (base, quote) = (&spec.base, &spec.quote);
    let price = |half_ticks: u128| {
        let text = money::whole(half_ticks.saturating_mul(5), spec.price_decimals + 1);
        format!("{sign}{text} {}", quote.symbol)
    };
    match unit {
        Unit::None => String::new(),
        Unit::Ticks => price(size.saturating_mul(2)),
        Unit::HalfTicks => price(size),
        Unit::Lots => {
            let units = size.saturating_mul(spec.lot);
            format!(
                "{sign}{} {}",
                money::whole(units, base.decimals),
                base.symbol
            )
        }
        Unit::Base => format!(
            "{sign}{} {}",
            money::whole(size, base.decimals),
            base.symbol
        ),
        Unit::Quote => format!(
            "{sign}{} {}",
            money::whole(size, quote.decimals),
            quote.symbol
        ),
        Unit::Bps => format!("{sign}{size} bps"),
        Unit::Ms => format!("{sign}{}.{} s", size / 1_000, size % 1_000 / 100),
        Unit::Count => format!("{sign}{size}"),
    }
}

#[cfg(test)]
#[path = "withheld_tests.rs"]
mod tests;
