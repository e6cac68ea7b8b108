//! Logs clock problems: the venue's time ahead of the wall clock, and jumps of the wall clock.

use crate::clock::Reading;

/// From this lead on the venue's time is reported as ahead; NTP corrections stay below it.
pub(crate) const AHEAD_MS: u64 = 1_000;

/// A wall clock that advances by this much more than the monotonic clock has jumped.
const JUMP_MS: u64 = 1_000;

/// Interval between repeated reports of a lead.
const AGAIN_MS: u64 = 3_600_000;

/// Compares successive clock readings.
#[derive(Debug, Default)]
pub(crate) struct ClockWatch {
    previous: Option<Reading>,
    /// Monotonic time of the last report of a lead.
    reported_ms: Option<u64>,
}

/// What a reading reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Jumped { by_ms: u64 },
    Ahead { by_ms: u64 },
    Caught,
}

impl ClockWatch {
    /// Processes a reading and logs what is new.
    pub fn look(&mut self, reading: Reading) {
        for news in self.news(reading).into_iter().flatten() {
            match news {
                News::Jumped { by_ms } => tracing::warn!(
                    by_ms,
                    "the system clock jumped forward: it was set, or the machine was suspended; orders expire by this clock"
                ),
                News::Ahead { by_ms } => tracing::error!(
                    by_ms,
                    "the exchange's time is ahead of the system clock and advances with the monotonic clock: orders of clients that use another clock may arrive expired; check the system clock (NTP)"
                ),
                News::Caught => {
                    tracing::info!("the system clock has caught up with the exchange's time");
                }
            }
        }
    }

    fn news(&mut self, reading: Reading) -> [Option<News>; 2] {
        let jumped = self.previous.and_then(|previous| {
            let went_ms = reading.now.ms_since(previous.now);
            let passed_ms = reading.monotonic_ms.saturating_sub(previous.monotonic_ms);
            let by_ms = went_ms.saturating_sub(passed_ms);
            (by_ms >= JUMP_MS).then_some(News::Jumped { by_ms })
        });
        self.previous = Some(reading);
        let by_ms = reading.ahead_ms;
        let ahead = match self.reported_ms {
            Some(_) if by_ms == 0 => {
                self.reported_ms = None;
                Some(News::Caught)
            }
            Some(reported) if reading.monotonic_ms.saturating_sub(reported) < AGAIN_MS => None,
            Some(_) | None if by_ms >= AHEAD_MS => {
                self.reported_ms = Some(reading.monotonic_ms);
                Some(News::Ahead { by_ms })
            }
            Some(_) | None => None,
        };
        [jumped, ahead]
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::VenueTime;

    use super::*;

    #[test]
    fn a_jump_is_reported_once_and_a_lead_every_hour() {
        let mut watch = ClockWatch::default();
        let mut at = |now: u64, ahead_ms: u64, monotonic_ms: u64| {
            watch.news(Reading {
                now: VenueTime(now),
                ahead_ms,
                monotonic_ms,
            })
        };
        assert_eq!(at(1_000_000, 0, 0), [None, None]);
        // Both sides of the bounds.
        assert_eq!(at(1_001_099, 0, 100), [None, None]);
        assert_eq!(
            at(1_002_199, 0, 200),
            [Some(News::Jumped { by_ms: 1_000 }), None]
        );
        assert_eq!(at(1_002_299, 999, 300), [None, None]);
        let ahead = |by_ms| [None, Some(News::Ahead { by_ms })];
        assert_eq!(at(1_002_399, 1_000, 400), ahead(1_000));
        assert_eq!(at(1_002_400, 900, 3_600_399), [None, None]);
        assert_eq!(at(1_002_401, 900, 3_600_400), [None, None]);
        assert_eq!(at(1_002_402, 5_000, 3_600_401), ahead(5_000));
        assert_eq!(at(1_002_403, 0, 3_600_402), [None, Some(News::Caught)]);
        assert_eq!(at(1_002_404, 0, 3_600_403), [None, None]);
    }
}
