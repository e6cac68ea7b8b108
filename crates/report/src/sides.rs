//! Share of the time that a market was quoted on both sides.

use cambist_core::Time;

/// Counts from the first moment with both sides live until it is closed, without the time between two runs of the
/// daemon.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    first: Option<Time>,
    since: Option<Time>,
    both_us: u64,
    /// Since when the daemon is not running; until it quotes both sides again.
    away: Option<Time>,
    away_us: u64,
    closed: Option<Time>,
}

impl Sides {
    /// Sets whether both sides are live from now on.
    pub fn set(&mut self, now: Time, both: bool) {
        if self.closed.is_some() {
            return;
        }
        if both {
            if let Some(away) = self.away.take() {
                self.away_us = self.away_us.saturating_add(now.micros_since(away));
            }
            self.first.get_or_insert(now);
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.both_us = self.both_us.saturating_add(now.micros_since(since));
        }
    }

    /// The daemon is not running: nothing counts until both sides are live again. The length of that is reported
    /// elsewhere.
    pub fn pause(&mut self, now: Time) {
        self.set(now, false);
        if self.first.is_some() && self.closed.is_none() {
            self.away.get_or_insert(now);
        }
    }

    /// The shutdown begins: nothing counts from now on.
    pub fn close(&mut self, now: Time) {
        self.set(now, false);
        self.closed.get_or_insert(now);
    }

    /// The share of time, 0 if there never were both sides.
    pub fn ratio(&self, now: Time) -> f64 {
        let end = self.closed.unwrap_or(now);
        let Some(first) = self.first else { return 0.0 };
        let open_us = self.since.map_or(0, |since| end.micros_since(since));
        let away_us = self.away.map_or(0, |away| end.micros_since(away));
        let all_us = end
            .micros_since(first)
            .saturating_sub(self.away_us.saturating_add(away_us));
        if all_us == 0 {
            // Closed at the moment it began.
            return if self.since.is_some() { 1.0 } else { 0.0 };
        }
        let both_us = self.both_us.saturating_add(open_us);
        #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
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

    #[test]
    fn time_between_two_runs_does_not_count() {
        let at = Time::from_ms;
        let mut sides = Sides::default();
        sides.set(at(100), true);
        sides.pause(at(200));
        assert!((sides.ratio(at(900)) - 1.0).abs() < 0.01);
        sides.set(at(900), true);
        sides.set(at(950), false);
        sides.close(at(1_000));
        assert!((sides.ratio(at(2_000)) - 0.75).abs() < 0.01);
    }
}
