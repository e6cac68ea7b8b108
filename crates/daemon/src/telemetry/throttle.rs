//! Limits repeated log lines: the first is logged immediately, then at most one per minute with a count.
//!
//! Layers that throttle all of `tracing` count by call site and read clocks; here the engine's time and the cause decide.

use std::collections::BTreeMap;

use cambist_core::Time;

/// Shortest time between two lines of one cause.
const PAUSE_MS: u64 = 60_000;

/// Most causes remembered; causes come from closed sets, so this is only a bound.
const CAUSES_MAX: usize = 1_024;

/// Time of the last line of each cause, and its number of occurrences since.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    causes: BTreeMap<String, (Time, u64)>,
}

impl Throttle {
    /// Number of occurrences since the last line, this one included; `None` if it should not be logged now.
    pub(super) fn due(&mut self, now: Time, cause: &str) -> Option<u64> {
        if let Some((logged_at, suppressed)) = self.causes.get_mut(cause) {
            if now.ms_since(*logged_at) < PAUSE_MS {
                *suppressed += 1;
                return None;
            }
            let times = *suppressed + 1;
            (*logged_at, *suppressed) = (now, 0);
            return Some(times);
        }
        if self.causes.len() >= CAUSES_MAX {
            return None;
        }
        self.causes.insert(cause.to_owned(), (now, 0));
        Some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_causes_are_logged_once_a_minute_with_their_number() {
        let mut throttle = Throttle::default();
        let at = Time::from_ms;
        assert_eq!(throttle.due(at(0), "a"), Some(1));
        assert_eq!(throttle.due(at(0), "b"), Some(1));
        for ms in 1..100 {
            assert_eq!(throttle.due(at(ms), "a"), None);
        }
        assert_eq!(throttle.due(at(60_000), "a"), Some(100));
        assert_eq!(throttle.due(at(60_001), "a"), None);
    }

    #[test]
    fn causes_are_bounded() {
        let mut throttle = Throttle::default();
        for cause in 0..2 * CAUSES_MAX {
            throttle.due(Time(0), &cause.to_string());
        }
        assert_eq!(throttle.causes.len(), CAUSES_MAX);
    }
}
