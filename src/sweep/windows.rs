//! Windows of time for walk-forward: trials are chosen on one part of the data and reported on the next.

use cambist_market_data::{Recording, Timestamp};

use super::space::WalkForward;

/// From a time to a later one.
pub type Span = (Timestamp, Timestamp);

/// A train window and the test window that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where trials are compared.
    pub train: Span,
    /// Where the best of them is reported.
    pub test: Span,
}

const NANOS: u64 = 1_000_000_000;

fn nanos(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(NANOS)).unwrap_or(i64::MAX)
}

/// Every pair of windows that fits into a span, in order.
pub fn windows(walk: &WalkForward, (from, to): Span) -> Vec<Window> {
    let (train, test, step) = (nanos(walk.train_s), nanos(walk.test_s), nanos(walk.step_s));
    let mut windows = Vec::new();
    let mut begin = from;
    loop {
        let split = begin.plus_nanos(train);
        let end = split.plus_nanos(test);
        if end > to {
            return windows;
        }
        windows.push(Window {
            train: (if walk.anchored { from } else { begin }, split),
            test: (split, end),
        });
        begin = begin.plus_nanos(step);
    }
}

/// When recordings have all begun, and when the first of them ends. Every row is read.
pub fn span(recordings: &mut [Recording]) -> cambist_market_data::Result<Option<Span>> {
    let mut all: Option<Span> = None;
    for recording in recordings {
        let mut own: Option<Span> = None;
        while let Some(time) = next_time(recording)? {
            own = Some(own.map_or((time, time), |(first, _)| (first, time)));
        }
        let Some((first, last)) = own else {
            return Ok(None);
        };
        all = Some(all.map_or((first, last), |(from, to)| (from.max(first), to.min(last))));
    }
    Ok(all)
}

fn next_time(recording: &mut Recording) -> cambist_market_data::Result<Option<Timestamp>> {
    Ok(match recording {
        Recording::Events(source) => source.next_event()?.map(|event| event.exchange_time),
        Recording::Snapshots(source) => source.next_snapshot()?.map(|row| row.exchange_time),
        // Files are no live source.
        Recording::Live(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(second: i64) -> Timestamp {
        Timestamp(second * 1_000_000_000)
    }

    fn walk(anchored: bool, step_s: u64) -> WalkForward {
        WalkForward {
            train_s: 60,
            test_s: 20,
            step_s,
            anchored,
        }
    }

    #[test]
    fn test_windows_follow_their_train_windows_and_each_other() {
        let window = |a, b, c| Window {
            train: (at(a), at(b)),
            test: (at(b), at(c)),
        };
        let span = (at(0), at(120));
        assert_eq!(
            windows(&walk(false, 20), span),
            [window(0, 60, 80), window(20, 80, 100), window(40, 100, 120)]
        );
        assert_eq!(
            windows(&walk(true, 40), span),
            [window(0, 60, 80), window(0, 100, 120)]
        );
        // One that does not fit whole is none.
        assert_eq!(windows(&walk(false, 20), (at(0), at(79))), []);
        assert_eq!(windows(&walk(false, 20), (at(0), at(80))).len(), 1);
    }
}
