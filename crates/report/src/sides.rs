//! For how much of its time a market was quoted on both sides.

use cambist_core::Time;

/// Counts from the first moment with both sides live until it is closed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    first: Option<Time>,
    since: Option<Time>,
    both_us: u64,
    closed: Option<Time>,
}

impl Sides {
    /// Both sides are live from now on, or no longer.
    pub fn set(&mut self, now: Time, both: bool) {
        if self.closed.is_some() {
            return;
        }
        if both {
            self.first.get_or_insert(now);
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.both_us = self.both_us.saturating_add(now.micros_since(since));
        }
    }

    /// The shutdown begins; nothing counts after it.
    pub fn close(&mut self, now: Time) {
        self.set(now, false);
        self.closed.get_or_insert(now);
    }

    /// The share of time, 0 if there never were both sides.
    pub fn ratio(&self, now: Time) -> f64 {
        let end = self.closed.unwrap_or(now);
        let Some(first) = self.first else { return 0.0 };
        let open_us = self.since.map_or(0, |since| end.micros_since(since));
        let all_us = end.micros_since(first);
        if all_us == 0 {
            // Closed in the moment it began.
            return if self.since.is_some() { 1.0 } else { 0.0 };
        }
        let both_us = self.both_us.saturating_add(open_us);
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        {
            both_us as f64 / all_us as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_first_quote_to_the_shutdown() {
        let at = Time::from_ms;
        let mut sides = Sides::default();
        let percent = |sides: &Sides, ms| (sides.ratio(at(ms)) * 100.0).round();
        assert!(percent(&sides, 50) < 1.0, "never quoted");
        sides.set(at(100), true);
        sides.set(at(150), true);
        assert!((percent(&sides, 200) - 100.0).abs() < 0.5);
        sides.set(at(180), false);
        assert!((percent(&sides, 200) - 80.0).abs() < 0.5);
        sides.set(at(190), true);
        sides.close(at(200));
        sides.set(at(210), true);
        assert!((percent(&sides, 10_000) - 90.0).abs() < 0.5);
    }
}
