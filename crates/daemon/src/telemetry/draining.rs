//! What a run that ends waits for, and until when.

use cambist_core::Time;
use cambist_core::inspection::{DrainWait, Draining};
use serde_json::{Value, json};

use crate::telemetry::last_known::LastKnown;
use cambist_host::times;

/// A drain in progress, with its deadline by the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DrainStatus {
    pub(super) draining: Draining,
    until_s: u64,
}

impl DrainStatus {
    /// What is shown of a drain from now on, after `before`.
    pub(super) fn new(
        draining: Draining,
        before: Option<Self>,
        (now, now_unix_s): (Time, u64),
    ) -> Self {
        let left_s = draining.deadline.ms_since(now).div_ceil(1_000);
        // The deadline of a drain stays, and so does the time that is shown.
        let before = before.filter(|before| before.draining.deadline == draining.deadline);
        let until_s = before.map_or(now_unix_s.saturating_add(left_s), |before| before.until_s);
        Self { draining, until_s }
    }
}

/// The drain as JSON; null without one.
pub(super) fn page(last: &LastKnown, now: Time) -> Value {
    let Some(status) = last.drain else {
        return Value::Null;
    };
    json!({
        "waits_for": status.draining.waits_for.name(),
        "until": times::iso(status.until_s),
        "until_s": status.until_s,
        "left_ms": status.draining.deadline.ms_since(now),
        "text": sentence(last, status),
    })
}

/// The drain in a sentence; `None` without one.
pub(super) fn text(last: &LastKnown) -> Option<String> {
    Some(sentence(last, last.drain?))
}

fn sentence(last: &LastKnown, status: DrainStatus) -> String {
    let many = last.alive.map_or(0, |alive| alive.orders);
    let what = match status.draining.waits_for {
        DrainWait::Answers => "the answers to requests about orders, which are left".to_owned(),
        DrainWait::Orders if many == 0 => "the proven end of every order".to_owned(),
        DrainWait::Orders => format!("the proven end of {many} orders that may be alive"),
        DrainWait::List => "a complete list that shows none of our orders".to_owned(),
        // On a chain, the nodes are known.
        DrainWait::Balances if last.nodes.is_some() => {
            "the balances of the account in a final block, which are compared with the books"
                .to_owned()
        }
        DrainWait::Balances => {
            "balances of the venue, which are compared with the books".to_owned()
        }
        DrainWait::Confirmation => {
            "a list of orders that confirms the balances, which are compared with the books"
                .to_owned()
        }
    };
    let until = times::iso(status.until_s);
    let otherwise = match status.draining.waits_for {
        DrainWait::Answers => "the run ends without them",
        _ => "the run ends without proof",
    };
    format!("draining: waits for {what}; at {until} {otherwise}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::telemetry::outage::Alive;

    const DEADLINE: Time = Time::from_ms(30_000);

    fn draining(waits_for: DrainWait) -> Draining {
        Draining {
            waits_for,
            deadline: DEADLINE,
        }
    }

    #[test]
    fn the_deadline_of_a_drain_is_shown_once_and_stays() {
        let new = |waits_for, before, ms| {
            let now = (Time::from_ms(ms), 43_200 + ms / 1_000);
            DrainStatus::new(draining(waits_for), before, now)
        };
        let first = new(DrainWait::Orders, None, 10_001);
        assert_eq!(first.until_s, 43_230);
        // The clocks may differ by a second meanwhile.
        let later = new(DrainWait::Balances, Some(first), 19_999);
        assert_eq!(
            (later.until_s, later.draining.waits_for),
            (43_230, DrainWait::Balances)
        );
        let other = Draining {
            deadline: DEADLINE.plus_ms(1),
            ..draining(DrainWait::Orders)
        };
        let other = DrainStatus::new(other, Some(later), (DEADLINE, 50_000));
        assert_eq!(other.until_s, 50_001, "another drain");
    }

    #[test]
    fn a_drain_shows_what_it_waits_for_and_until_when() {
        let mut last = LastKnown::new(1, Time(0));
        assert_eq!((text(&last), page(&last, Time(0))), (None, Value::Null));
        let mut shown = |waits_for: DrainWait, orders, has_nodes: bool| {
            let now = (Time::from_ms(10_000), 43_210);
            last.drain = Some(DrainStatus::new(draining(waits_for), None, now));
            last.nodes = has_nodes.then(|| [json!([]), json!({}), json!({})]);
            last.alive = Some(Alive {
                orders,
                last_expiry_s: None,
            });
            let page = page(&last, Time::from_ms(12_500));
            assert_eq!(page["text"], text(&last).unwrap());
            assert_eq!(page["waits_for"], waits_for.name());
            assert_eq!(
                (&page["left_ms"], &page["until_s"]),
                (&json!(17_500), &json!(43_230))
            );
            text(&last).unwrap()
        };
        let end = "; at 1970-01-01T12:00:30Z the run ends without";
        for (wait, orders, has_nodes, expected) in [
            (
                DrainWait::Orders,
                3,
                false,
                "the proven end of 3 orders that may be alive",
            ),
            (DrainWait::Orders, 0, false, "the proven end of every order"),
            (
                DrainWait::List,
                0,
                false,
                "a complete list that shows none of our orders",
            ),
            (
                DrainWait::Balances,
                0,
                false,
                "balances of the venue, which are compared with the books",
            ),
            (
                DrainWait::Balances,
                0,
                true,
                "the balances of the account in a final block, which are compared with the books",
            ),
            (
                DrainWait::Confirmation,
                0,
                false,
                "a list of orders that confirms the balances, which are compared with the books",
            ),
        ] {
            let text = shown(wait, orders, has_nodes);
            assert_eq!(text, format!("draining: waits for {expected}{end} proof"));
        }
        let left = shown(DrainWait::Answers, 2, false);
        assert!(left.ends_with(&format!("are left{end} them")), "{left}");
    }
}
