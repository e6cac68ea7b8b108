//! Reports when the venue stops answering, once per cause, and when it answers again.

use std::collections::BTreeSet;

use cambist_core::Time;

use crate::telemetry::throttle::Throttle;

/// Most causes reported of one outage.
const CAUSES_MAX: usize = 8;

/// The current outage, if there is one.
#[derive(Debug, Default)]
pub(super) struct Connectivity {
    since: Option<Time>,
    causes: BTreeSet<String>,
    is_logged: bool,
}

impl Connectivity {
    /// No answer was received. Returns the cause in short form if it should be logged now.
    pub(super) fn silent(
        &mut self,
        now: Time,
        detail: &str,
        throttle: &mut Throttle,
    ) -> Option<String> {
        self.since.get_or_insert(now);
        let cause = short(detail);
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
        let since = self.since.take()?;
        self.causes.clear();
        std::mem::take(&mut self.is_logged).then(|| now.ms_since(since))
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
        assert_eq!(connectivity.answered(at(0)), None);
        let cause = connectivity.silent(at(1_000), REFUSED, &mut throttle);
        assert_eq!(cause.as_deref(), Some("connection refused"));
        assert_eq!(connectivity.silent(at(2_000), REFUSED, &mut throttle), None);
        let other = connectivity.silent(at(3_000), "operation timed out", &mut throttle);
        assert_eq!(other.as_deref(), Some("operation timed out"));
        assert_eq!(connectivity.answered(at(5_000)), Some(4_000));
        assert_eq!(connectivity.answered(at(5_001)), None);
        // Again within the minute: neither the beginning nor the end is logged.
        assert_eq!(connectivity.silent(at(6_000), REFUSED, &mut throttle), None);
        assert_eq!(connectivity.answered(at(7_000)), None);
        let later = connectivity.silent(at(70_000), REFUSED, &mut throttle);
        assert_eq!(later.as_deref(), Some("connection refused"));
        assert_eq!(short(""), "no answer");
    }
}
