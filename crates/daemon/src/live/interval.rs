//! What is done at most once in so many milliseconds.

use cambist_core::Time;

/// Counts from when it was done last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    every_ms: u64,
    /// When it was last done, or first asked about; `None` before.
    last: Option<Time>,
    is_due_at_once: bool,
}

impl Interval {
    /// Due at once.
    pub const fn now_and_every_ms(every_ms: u64) -> Self {
        Self {
            every_ms,
            last: None,
            is_due_at_once: true,
        }
    }

    /// Due for the first time this long after it was first asked about.
    pub const fn every_ms(every_ms: u64) -> Self {
        Self {
            every_ms,
            last: None,
            is_due_at_once: false,
        }
    }

    /// Whether it is due; counts as done if it is.
    pub fn is_due(&mut self, now: Time) -> bool {
        let due = self.last.map_or(self.is_due_at_once, |last| {
            now.ms_since(last) >= self.every_ms
        });
        if due || self.last.is_none() {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_due_once_in_its_time() {
        let mut interval = Interval::every_ms(700);
        let at = |ms: u64| Time(5_000).plus_ms(ms);
        for (ms, due) in [
            (0, false),
            (699, false),
            (700, true),
            (701, false),
            (1_399, false),
            (1_400, true),
            (9_000, true),
            (9_699, false),
            (9_700, true),
        ] {
            assert_eq!(interval.is_due(at(ms)), due, "{ms}");
        }
    }

    #[test]
    fn some_are_due_at_once() {
        let mut interval = Interval::now_and_every_ms(700);
        let at = |ms: u64| Time(0).plus_ms(ms);
        for (ms, due) in [(5, true), (6, false), (704, false), (705, true)] {
            assert_eq!(interval.is_due(at(ms)), due, "{ms}");
        }
    }
}
