//! The statement that the venue does not answer: since when, how old the shown books are, and until when own orders may
//! rest without it. It is made of what the log, the books and the report of a run have.

use cambist_core::Time;
use serde_json::{Value, json};

use super::About;
use crate::live::earlier_runs::alive_until;
use crate::telemetry::connectivity::Outage;
use crate::telemetry::last_known::LastKnown;
use cambist_host::times;

/// Own orders that may be alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alive {
    pub(super) orders: u64,
    /// The last expiry of one; the end of time if only a fill or a cancel ends it.
    pub(super) last_expiry_s: Option<u32>,
}

impl Alive {
    /// When the last of them has certainly ended, if that is known.
    fn until_s(self, about: &About) -> Option<u64> {
        let expiry_s = self.last_expiry_s.filter(|s| *s < u32::MAX)?;
        (self.orders > 0).then(|| u64::from(expiry_s).saturating_add(about.grace_s))
    }

    fn text(self, about: &About, now_unix_s: u64) -> String {
        let (orders, expires) = match self.orders {
            0 => return "no own order may be alive".to_owned(),
            1 => ("1 order may be alive".to_owned(), "it expires by itself"),
            many => (
                format!("{many} orders may be alive"),
                "they expire by themselves",
            ),
        };
        match self.until_s(about) {
            Some(until_s) => {
                let until = alive_until(until_s, now_unix_s, self.orders > 1);
                format!("{orders}, {until}; {expires}")
            }
            None => format!("{orders}, and until when is not known"),
        }
    }
}

/// The outage as JSON; null while the venue answers.
pub(super) fn page(about: &About, last: &LastKnown, now: (Time, u64)) -> Value {
    let Some(outage) = last.connectivity.outage() else {
        return Value::Null;
    };
    let answered = last.connectivity.last_answer;
    let until_s = last.alive.and_then(|alive| alive.until_s(about));
    json!({
        "venue": about.venue,
        "since": times::iso(outage.since_unix_s),
        "for_ms": now.0.ms_since(outage.since),
        "cause": outage.cause,
        "last_answer_ms": answered.map(|at| now.0.ms_since(at)),
        "orders": last.alive.map(|alive| alive.orders),
        "alive_until": until_s.map(times::iso),
        "alive_until_s": until_s,
        "text": sentences(about, last, outage, now),
    })
}

/// The outage in a few words; `None` while the venue answers.
pub(super) fn text(about: &About, last: &LastKnown, now: (Time, u64)) -> Option<String> {
    let outage = last.connectivity.outage()?;
    Some(sentences(about, last, outage, now))
}

fn sentences(
    about: &About,
    last: &LastKnown,
    outage: &Outage,
    (now, now_unix_s): (Time, u64),
) -> String {
    let age = |at: Time| times::span(now.ms_since(at) / 1_000);
    let (waited, since) = (age(outage.since), times::iso(outage.since_unix_s));
    let mut parts = vec![format!(
        "the venue {} has not answered for {waited} ({}), since {since}",
        about.venue, outage.cause
    )];
    for (market, depth) in about.markets.iter().zip(&last.depth) {
        let name = &market.name;
        parts.push(depth.map_or_else(
            || format!("the book of {name} was not read yet"),
            |at| format!("the book of {name} is {} old", age(at)),
        ));
    }
    parts.extend(last.alive.map(|alive| alive.text(about, now_unix_s)));
    parts.join("; ")
}

#[cfg(test)]
#[path = "outage_tests.rs"]
mod tests;
