//! The timeline on the page: marks of what happened recently, and why each of them happened. Everything comes from the kept
//! entries ([`super::timeline`]); the event loop is not asked.

use cambist_core::event::TradingState;
use cambist_core::inspection::{CancelCause, OrderDecision};
use cambist_core::notification::{End, Notification};
use cambist_core::{MarketSpec, Side};
use serde_json::{Value, json};

use super::timeline::{Entry, Place, What};
use super::{About, Telemetry, observe, order_text, withheld};
use crate::adapter;
use crate::config::money::{mid_text, price, quantity};

/// Most steps of an answer.
const STEPS_MAX: usize = 200;
/// What happened this long before the quotes went belongs to it, milliseconds.
const BEFORE_GAP_MS: u64 = 2_000;

impl Telemetry {
    /// The marks from a number on, oldest first, and the number to continue with.
    pub fn timeline(&self, from: u64) -> Value {
        let (entries, next) = self.timeline.since(from, |entry| kind(entry).is_some());
        let marks = entries.iter().filter_map(|entry| self.mark(entry));
        json!({"next": next, "marks": marks.collect::<Vec<_>>()})
    }

    /// Why something happened: what was known, wanted, refused, sent and answered; and every step. `None` if the entry is
    /// no longer kept.
    pub fn timeline_why(&self, number: u64) -> Option<Value> {
        let (entries, _) = self.timeline.since(0, |_| true);
        let at = entries.iter().position(|entry| entry.number == number)?;
        let entry = &entries[at];
        let steps = match entry.order() {
            Some(order) => entries
                .iter()
                .filter(|entry| entry.order() == Some(order))
                .collect(),
            None if is_gap(entry) => around_gap(&entries, at),
            None => vec![entry],
        };
        let spec = self.spec(steps.iter().find_map(|step| step.place).or(entry.place));
        let skipped = steps.len().saturating_sub(STEPS_MAX);
        let mut why = self.mark(entry).unwrap_or_else(|| json!({}));
        why["steps"] = steps[skipped..]
            .iter()
            .map(|step| self.step(step))
            .collect();
        // What was known when the order was made is what it was made from.
        let placed = steps.iter().find(|step| is_placed(step));
        let view = placed.map_or(entry.view, |step| step.view);
        why["view"] = json!({
            "mid": view.mid.zip(spec).map(|(mid, spec)| mid_text(spec, mid)),
            "book_age_ms": view.age_ms,
        });
        let last = |text: &dyn Fn(&Entry) -> Option<String>| {
            steps.iter().rev().find_map(|step| text(step))
        };
        why["wanted"] = json!(spec.and_then(|spec| last(&|step| wanted(spec, step))));
        why["request"] = json!(spec.and_then(|spec| last(&|step| request(spec, step))));
        why["answer"] = json!(last(&|step| answer(step)));
        why["refused_by"] = json!(spec.and_then(|spec| refused_by(spec, entry, &steps)));
        Some(why)
    }

    fn spec(&self, place: Option<Place>) -> Option<&MarketSpec> {
        observe::market_spec(&self.about, place?.0)
    }

    /// A mark; `None` for an entry that is only a step.
    fn mark(&self, entry: &Entry) -> Option<Value> {
        let kind = kind(entry)?;
        let spec = self.spec(entry.place);
        Some(json!({
            "number": entry.number,
            "at_ms": entry.unix_ms,
            "kind": kind,
            "market": spec.map(|spec| &spec.name),
            "side": entry.place.and_then(|(_, side)| side).map(Side::name),
            "order": entry.order().map(|order| order.to_string()),
            "text": text(&self.about, spec, entry),
        }))
    }

    fn step(&self, entry: &Entry) -> Value {
        let spec = self.spec(entry.place);
        let what = match &entry.what {
            What::Decided(_, decision) => decision.name(),
            What::Notified(notification) if entry.order().is_some() => {
                order_text::notification_name(notification)
            }
            What::Notified(_) => kind(entry).unwrap_or("reported"),
        };
        json!({
            "at_ms": entry.unix_ms,
            "what": what,
            "why": text(&self.about, spec, entry),
            "order": entry.order().map(|order| order.to_string()),
        })
    }
}

/// The kind of a mark; `None` for an entry that is only a step.
fn kind(entry: &Entry) -> Option<&'static str> {
    let What::Notified(notification) = &entry.what else {
        return None;
    };
    Some(match notification {
        Notification::Filled(_) => "fill",
        Notification::Withheld {
            withheld: Some(_), ..
        } => "gap",
        Notification::Withheld { withheld: None, .. } => "quoted",
        Notification::SideEmpty { .. } => "short_gap",
        Notification::CancelSent { .. } => "cancel",
        // What occurs in normal operation is a step only.
        Notification::RiskRefused { control, .. } if control.is_routine() => return None,
        Notification::Refused {
            endpoint, reason, ..
        } if adapter::is_late_cancel(*endpoint, *reason) => return None,
        Notification::Refused { .. } | Notification::RiskRefused { .. } => "refused",
        Notification::Unknown { .. } => "unknown",
        Notification::TradingStateChanged { level, .. } => match level {
            TradingState::Active => "trading",
            TradingState::CancelOnly | TradingState::Halted => "halt",
        },
        Notification::InvariantFailed { .. } => "halt",
        Notification::Paused(_) => "pause",
        Notification::Unpaused { .. } => "unpause",
        Notification::Ready { .. } => "start",
        Notification::Draining => "drain",
        Notification::Slept { .. } => "slept",
        _ => return None,
    })
}

const fn is_gap(entry: &Entry) -> bool {
    matches!(
        entry.what,
        What::Notified(Notification::Withheld { .. } | Notification::SideEmpty { .. })
    )
}

const fn is_placed(entry: &Entry) -> bool {
    matches!(entry.what, What::Decided(_, OrderDecision::Placed { .. }))
}

/// What happened to the orders of a side from just before it had no quotes until it had one again, and to the market as a
/// whole.
fn around_gap(entries: &[Entry], at: usize) -> Vec<&Entry> {
    let gap = &entries[at];
    let ends = |entry: &&Entry| {
        entry.place == gap.place
            && matches!(
                entry.what,
                What::Notified(Notification::Withheld { withheld: None, .. })
            )
    };
    let is_beginning = kind(gap) == Some("gap");
    let end = is_beginning.then(|| entries[at..].iter().find(ends));
    let until = match end {
        Some(Some(end)) => end.number,
        Some(None) => u64::MAX,
        None => gap.number,
    };
    let from_ms = gap.unix_ms.saturating_sub(BEFORE_GAP_MS);
    let market = gap.place.map(|(market, _)| market);
    let concerns = |entry: &&Entry| {
        let is_within = entry.unix_ms >= from_ms && entry.number <= until;
        let of_side = match entry.place {
            Some((of, None)) => Some(of) == market,
            place @ Some(_) => place == gap.place,
            None => entry.order().is_none(),
        };
        is_within && of_side
    };
    entries.iter().filter(concerns).collect()
}

fn wanted(spec: &MarketSpec, entry: &Entry) -> Option<String> {
    let What::Decided(_, decision) = &entry.what else {
        return None;
    };
    Some(order_text::quote(spec, &decision.wanted()?))
}

fn request(spec: &MarketSpec, entry: &Entry) -> Option<String> {
    let What::Notified(notification) = &entry.what else {
        return None;
    };
    match notification {
        Notification::Submitted {
            side,
            price: at,
            qty,
            ..
        } => {
            let (qty, at) = (quantity(spec, *qty), price(spec, *at));
            Some(format!("{} {qty} at {at}", side.name()))
        }
        _ => None,
    }
}

fn answer(entry: &Entry) -> Option<String> {
    let What::Notified(notification) = &entry.what else {
        return None;
    };
    match notification {
        Notification::Acknowledged { micros, .. } => Some(format!("accepted after {micros} µs")),
        Notification::Refused {
            endpoint, reason, ..
        } if adapter::is_late_cancel(*endpoint, *reason) => {
            Some("the cancel came too late: the order had ended".to_owned())
        }
        Notification::Refused {
            endpoint, reason, ..
        } => Some(format!("refused, {}: {reason:?}", endpoint.name())),
        Notification::Unknown {
            endpoint, cause, ..
        } => Some(format!("unknown, {}: {}", endpoint.name(), cause.name())),
        _ => None,
    }
}

/// The control that refused: the reason of a gap, or of the end of an order.
fn refused_by(spec: &MarketSpec, entry: &Entry, steps: &[&Entry]) -> Option<Value> {
    let reason = |entry: &Entry| match &entry.what {
        What::Notified(Notification::Withheld { withheld, .. }) => *withheld,
        What::Notified(Notification::RiskRefused { control, .. }) => Some((*control).into()),
        What::Decided(_, decision) => match decision.cause()? {
            CancelCause::NotQuoted(why) => Some(why),
            CancelCause::NoRoom(control) => Some(control.into()),
            _ => None,
        },
        What::Notified(_) => None,
    };
    let mut earlier = steps.iter().rev();
    let why = reason(entry).or_else(|| earlier.find_map(|step| reason(step)))?;
    Some(withheld::page(spec, &why))
}

fn text(about: &About, spec: Option<&MarketSpec>, entry: &Entry) -> String {
    let notification = match (&entry.what, spec) {
        (What::Decided(_, decision), Some(spec)) => {
            return order_text::decision(spec, decision, 1);
        }
        (What::Decided(..), None) => return String::new(),
        (What::Notified(notification), _) => notification,
    };
    match (notification, spec) {
        (Notification::Filled(fill), Some(spec)) => {
            let did = match fill.side {
                Side::Buy => "bought",
                Side::Sell => "sold",
            };
            let (base, quote) = (spec.base.text(fill.base), spec.quote.text(fill.quote));
            format!("{did} {base} for {quote}")
        }
        (Notification::Submitted { .. }, Some(spec)) => request(spec, entry).unwrap_or_default(),
        (
            Notification::Withheld {
                withheld: Some(why),
                ..
            },
            Some(spec),
        ) => format!("{}: {}", why.control.name(), withheld::text(spec, why)),
        (Notification::SideEmpty { ms, .. }, _) => {
            format!("no order for {ms} ms between one and its replacement")
        }
        (Notification::RiskRefused { control, .. }, _) => {
            format!("{}: {}", control.name(), control.sentence())
        }
        (Notification::DepthRefused { fault, .. }, _) => format!("book: {}", fault.name()),
        (Notification::TradingStateChanged { level, cause }, _) => {
            format!("{}: {cause}", level.name())
        }
        (Notification::InvariantFailed { name, detail }, _) => format!("{name}: {detail}"),
        (Notification::Paused(pause), _) => {
            format!("{}: {}", observe::part(about, pause.filter), pause.cause)
        }
        (Notification::Unpaused { filter, cause }, _) => {
            format!("{}: {cause}", observe::part(about, *filter))
        }
        (Notification::Ready { recovered, .. }, _) => match recovered {
            0 => "ready".to_owned(),
            found => format!("ready; {found} orders of earlier runs are accounted for"),
        },
        (Notification::Refused { .. }, _) => answer(entry).unwrap_or_default(),
        (Notification::Slept { ms }, _) => format!("nothing was decided for {ms} ms"),
        (Notification::Ended { end, .. }, None) => End::name(*end).to_owned(),
        (notification, Some(spec)) => order_text::notification(spec, notification),
        (_, None) => String::new(),
    }
}
