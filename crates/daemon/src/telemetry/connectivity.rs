//! Reports when the venue stops answering, once per cause, and when it answers again.

use std::collections::BTreeSet;

use cambist_core::Time;

use crate::telemetry::throttle::Throttle;

/// Most causes reported of one outage.
const CAUSES_MAX: usize = 8;

/// Whether the venue answers.
#[derive(Debug, Default)]
pub(super) struct Connectivity {
    outage: Option<Outage>,
    causes: BTreeSet<String>,
    is_logged: bool,
    /// When the last answer was received.
    pub(super) last_answer: Option<Time>,
}

/// A time in which no request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outage {
    /// When the first request ended without an answer.
    pub(super) since: Time,
    /// The same by the host's clock.
    pub(super) since_unix_s: u64,
    /// Why the last one did, in short form.
    pub(super) cause: String,
}

impl Connectivity {
    /// No answer was received. Returns the cause in short form if it should be logged now.
    pub(super) fn silent(
        &mut self,
        (now, now_unix_s): (Time, u64),
        detail: &str,
        throttle: &mut Throttle,
    ) -> Option<String> {
        let cause = short(detail);
        let outage = self.outage.get_or_insert_with(|| Outage {
            since: now,
            since_unix_s: now_unix_s,
            cause: String::new(),
        });
        outage.cause.clone_from(&cause);
        if self.causes.len() >= CAUSES_MAX || !self.causes.insert(cause.clone()) {
            return None;
        }
        // A connection that fails and recovers repeatedly must not flood the log.
        throttle.due(now, &format!("silent {cause}"))?;
        self.is_logged = true;
        Some(cause)
    }

    /// An answer was received. Returns the duration of the outage in milliseconds, if it was logged.
    pub(super) fn answered(&mut self, now: Time) -> Option<u64> {
        self.last_answer = Some(now);
        let outage = self.outage.take()?;
        self.causes.clear();
        std::mem::take(&mut self.is_logged).then(|| now.ms_since(outage.since))
    }

    /// The current outage, if there is one.
    pub(super) const fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }
}

/// The last of a chain of causes, without the system's error number.
fn short(detail: &str) -> String {
    let last = detail.rsplit(": ").next().unwrap_or(detail);
    let last = last.split(" (os error").next().unwrap_or(last);
    let last: String = last.chars().take(80).collect();
    if last.is_empty() {
        "no answer".to_owned()
    } else {
        last.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "error sending request: client error (Connect): tcp connect error: \
                           Connection refused (os error 111)";

    #[test]
    fn a_silence_is_logged_once_per_cause_and_its_end_with_its_length() {
        let (mut connectivity, mut throttle) = (Connectivity::default(), Throttle::default());
        let at = Time::from_ms;
        let both = |ms: u64| (at(ms), 100 + ms / 1_000);
        assert_eq!(connectivity.answered(at(0)), None);
        assert_eq!(connectivity.outage(), None);
        let cause = connectivity.silent(both(1_000), REFUSED, &mut throttle);
        assert_eq!(cause.as_deref(), Some("connection refused"));
        assert_eq!(
            connectivity.silent(both(2_000), REFUSED, &mut throttle),
            None
        );
        let other = connectivity.silent(both(3_000), "operation timed out", &mut throttle);
        assert_eq!(other.as_deref(), Some("operation timed out"));
        // It began with the first request, and its cause is that of the last one, logged or not.
        let outage = |cause: &str| Outage {
            since: at(1_000),
            since_unix_s: 101,
            cause: cause.to_owned(),
        };
        assert_eq!(connectivity.outage(), Some(&outage("operation timed out")));
        assert_eq!(
            connectivity.silent(both(4_000), REFUSED, &mut throttle),
            None
        );
        assert_eq!(connectivity.outage(), Some(&outage("connection refused")));
        assert_eq!(connectivity.last_answer, Some(at(0)));
        assert_eq!(connectivity.answered(at(5_000)), Some(4_000));
        assert_eq!(connectivity.outage(), None);
        assert_eq!(connectivity.answered(at(5_001)), None);
        assert_eq!(connectivity.last_answer, Some(at(5_001)));
        // Again within the minute: neither the beginning nor the end is logged.
        assert_eq!(
            connectivity.silent(both(6_000), REFUSED, &mut throttle),
            None
        );
        assert!(connectivity.outage().is_some());
        assert_eq!(connectivity.answered(at(7_000)), None);
        let later = connectivity.silent(both(70_000), REFUSED, &mut throttle);
        assert_eq!(later.as_deref(), Some("connection refused"));
        assert_eq!(short(""), "no answer");
    }
}
