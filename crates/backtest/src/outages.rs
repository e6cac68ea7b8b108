//! Times without market data. A chart would draw the last values over them, and a book without a new row looks like one
//! that does not move.

use cambist_market_data::Timestamp;
use serde::Serialize;

use crate::chart::Shade;

/// Ticks of a quiet market may be this far apart.
const QUIET_NANOS: i64 = 60_000_000_000;
/// Rows of a regular recording are missing after this many of the usual distances between two.
const USUAL_TIMES: i64 = 10;
/// Distances between rows from which on it is known what is usual.
const KNOWN_AFTER: u64 = 10;
/// Most outages that are shaded in charts. All of them count.
const KEPT_MAX: usize = 1_000;

/// The times without a row of one market's data, as they are found.
#[derive(Clone, Debug)]
pub struct Outages {
    /// The shortest time without a row that counts, whatever is usual.
    least_nanos: i64,
    is_regular: bool,
    last: Option<Timestamp>,
    /// Distances between two rows by the number of their binary digits.
    distances: [u64; 64],
    rows: u64,
    /// Times without a row from before it is known what is usual.
    undecided: Vec<Shade>,
    found: Vec<Shade>,
    count: u64,
    total_nanos: i64,
    longest: Option<Shade>,
}

/// The times without a row of one market's data, in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutageReport {
    /// Times without a row that are longer than this count, in seconds.
    pub longer_than_s: f64,
    /// How many there were.
    pub count: u64,
    /// All of them together, in seconds.
    pub total_s: f64,
    /// The longest one, in seconds.
    pub longest_s: f64,
    /// When the longest one began.
    pub longest_from: Option<String>,
}

impl Outages {
    /// Of data whose book is too old for quotes after `age_max_ms`. Snapshots are regular; ticks come when something
    /// changes.
    pub fn new(age_max_ms: u64, is_regular: bool) -> Self {
        let age_nanos = i64::try_from(age_max_ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        let least_nanos = if is_regular {
            age_nanos
        } else {
            age_nanos.max(QUIET_NANOS)
        };
        Self {
            least_nanos,
            is_regular,
            last: None,
            distances: [0; 64],
            rows: 0,
            undecided: Vec::new(),
            found: Vec::new(),
            count: 0,
            total_nanos: 0,
            longest: None,
        }
    }

    /// Rows from one time to another came; between them nothing is missing.
    #[inline]
    pub fn rows(&mut self, first: Timestamp, last: Timestamp) {
        if let Some(before) = self.last {
            let nanos = first.nanos_since(before);
            if nanos > self.least_nanos {
                self.passed(Shade {
                    from: before,
                    to: first,
                });
            }
            if self.is_regular && nanos > 0 {
                self.add(nanos);
            }
        }
        self.last = Some(last);
    }

    /// Adds a distance between two rows.
    fn add(&mut self, nanos: i64) {
        self.distances[digits(nanos)] += 1;
        self.rows += 1;
        if self.rows == KNOWN_AFTER {
            self.decide();
        }
    }

    /// The run begins: what was missing before it does not count.
    pub fn begin(&mut self, at: Timestamp) {
        self.last = self.last.map(|last| last.max(at));
        self.undecided.clear();
        self.found.clear();
        (self.count, self.total_nanos, self.longest) = (0, 0, None);
    }

    /// The run ends: a time without a row up to here counts.
    pub fn end(&mut self, at: Timestamp) {
        self.decide();
        if let Some(from) = self.last.take() {
            self.judge(Shade { from, to: at });
        }
    }

    fn decide(&mut self) {
        for outage in std::mem::take(&mut self.undecided) {
            self.judge(outage);
        }
    }

    #[cold]
    fn passed(&mut self, outage: Shade) {
        if self.is_regular && self.rows < KNOWN_AFTER {
            self.undecided.push(outage);
        } else {
            self.judge(outage);
        }
    }

    /// Counts a time without a row, if it is longer than usual.
    fn judge(&mut self, outage: Shade) {
        let nanos = outage.to.nanos_since(outage.from);
        if nanos <= self.longest_usual() {
            return;
        }
        self.count += 1;
        self.total_nanos = self.total_nanos.saturating_add(nanos);
        let longest = self.longest.get_or_insert(outage);
        if nanos > longest.to.nanos_since(longest.from) {
            *longest = outage;
        }
        if self.found.len() < KEPT_MAX {
            self.found.push(outage);
        }
    }

    /// The longest time without a row that is none of missing data.
    fn longest_usual(&self) -> i64 {
        let half = self.rows.div_ceil(2);
        let mut counted = 0;
        let usual = self.distances.iter().position(|count| {
            counted += count;
            self.rows > 0 && counted >= half
        });
        // Less than twice the median.
        let usual = usual.map_or(0, |digits| {
            1_i64
                .checked_shl(u32::try_from(digits).unwrap_or(63))
                .unwrap_or(i64::MAX)
        });
        self.least_nanos.max(usual.saturating_mul(USUAL_TIMES))
    }

    /// What was found.
    pub fn report(&self) -> OutageReport {
        let longest = self
            .longest
            .map_or(0, |outage| outage.to.nanos_since(outage.from));
        OutageReport {
            longer_than_s: seconds(self.longest_usual()),
            count: self.count,
            total_s: seconds(self.total_nanos),
            longest_s: seconds(longest),
            longest_from: self.longest.map(|outage| outage.from.to_string()),
        }
    }

    /// The outages for charts.
    pub fn found(&self) -> &[Shade] {
        &self.found
    }
}

impl OutageReport {
    /// In words; `None` if there was none.
    pub fn text(&self, duration_s: f64) -> Option<String> {
        let from = self.longest_from.as_ref()?;
        let share = if duration_s > 0.0 {
            format!(" ({:.1} % of the run)", self.total_s / duration_s * 100.0)
        } else {
            String::new()
        };
        let times = if self.count == 1 { "time" } else { "times" };
        Some(format!(
            "{} {times} without a row for longer than {:.1} s, together {:.1} s{share}; the longest, {:.1} s, from {from}",
            self.count, self.longer_than_s, self.total_s, self.longest_s
        ))
    }
}

/// Binary digits of a positive number.
const fn digits(nanos: i64) -> usize {
    (64 - nanos.leading_zeros()) as usize
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
const fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const AGE_MS: u64 = 15_000;

    fn at(second: i64) -> Timestamp {
        Timestamp(second * SECOND)
    }

    /// Snapshots every second, but for the seconds between these.
    fn every_second(until: i64, missing: &[(i64, i64)]) -> Outages {
        let mut outages = Outages::new(AGE_MS, true);
        for second in 0..until {
            if !missing
                .iter()
                .any(|(from, to)| second > *from && second < *to)
            {
                outages.rows(at(second), at(second));
            }
        }
        outages
    }

    #[test]
    fn a_time_without_a_row_counts_when_it_is_longer_than_a_book_may_be_old() {
        let mut outages = every_second(400, &[(100, 115), (200, 216), (300, 350)]);
        outages.end(at(400));
        let report = outages.report();
        assert_eq!(
            (report.count, report.longest_from),
            (2, Some(at(300).to_string()))
        );
        assert!((report.total_s - 66.0).abs() < 1e-9 && (report.longest_s - 50.0).abs() < 1e-9);
        assert!((report.longer_than_s - 15.0).abs() < 1e-9);
        let shade = |from, to| Shade {
            from: at(from),
            to: at(to),
        };
        assert_eq!(outages.found(), [shade(200, 216), shade(300, 350)]);
    }

    #[test]
    fn a_run_that_goes_on_after_the_last_row_ends_in_an_outage() {
        let mut outages = every_second(100, &[]);
        outages.end(at(114));
        assert_eq!(outages.report().count, 0);
        let mut outages = every_second(100, &[]);
        outages.end(at(115));
        assert_eq!(outages.report().count, 1);
    }

    #[test]
    fn what_was_missing_before_the_run_does_not_count() {
        let mut outages = every_second(101, &[(20, 60)]);
        outages.begin(at(110));
        outages.rows(at(125), at(125));
        assert_eq!(outages.report().count, 0);
        outages.rows(at(141), at(141));
        assert_eq!(
            outages.found(),
            [Shade {
                from: at(125),
                to: at(141)
            }]
        );
    }

    #[test]
    fn rows_that_are_rare_are_compared_with_what_is_usual_of_them() {
        let mut outages = Outages::new(AGE_MS, true);
        for minute in (0..60).chain(70..130) {
            outages.rows(at(minute * 60), at(minute * 60));
        }
        assert_eq!(
            outages.report().count,
            0,
            "eleven minutes of rows a minute apart"
        );
        for minute in 160..170 {
            outages.rows(at(minute * 60), at(minute * 60));
        }
        let report = outages.report();
        assert_eq!(report.count, 1);
        assert!(
            (600.0..1_200.0).contains(&report.longer_than_s),
            "{report:?}"
        );
    }

    #[test]
    fn ticks_may_be_a_minute_apart() {
        let mut outages = Outages::new(AGE_MS, false);
        for second in [0, 1, 61, 122, 123] {
            outages.rows(at(second), at(second));
        }
        assert_eq!(outages.report().count, 1);
        let text = outages.report().text(123.0);
        let expected = "1 time without a row for longer than 60.0 s, together 61.0 s (49.6 % of the run); the longest, 61.0 s, from 1970-01-01T00:01:01Z";
        assert_eq!(text.as_deref(), Some(expected));
        assert_eq!(Outages::new(AGE_MS, false).report().text(1.0), None);
    }

    #[test]
    fn all_count_and_the_first_are_kept() {
        let mut outages = Outages::new(AGE_MS, false);
        for minute in 0..2_000 {
            outages.rows(at(minute * 61), at(minute * 61));
        }
        assert_eq!(
            (outages.report().count, outages.found().len()),
            (1_999, KEPT_MAX)
        );
    }
}
