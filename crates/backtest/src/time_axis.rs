//! Ticks of a time axis: round times in UTC, or round times since the start of runs.

use std::fmt::Write;

use cambist_market_data::Timestamp;

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MILLI;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Distances between ticks, smallest first. Each divides a day or is whole days.
const STEPS: [i64; 37] = [
    MILLI,
    2 * MILLI,
    5 * MILLI,
    10 * MILLI,
    20 * MILLI,
    50 * MILLI,
    100 * MILLI,
    200 * MILLI,
    500 * MILLI,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    5 * DAY,
    10 * DAY,
    20 * DAY,
    50 * DAY,
    100 * DAY,
    200 * DAY,
    500 * DAY,
    1_000 * DAY,
    10_000 * DAY,
];

/// What a time axis shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAxis {
    /// Times of day in UTC, and dates.
    Utc,
    /// Times since the start of each run. The start is at [`Timestamp`] 0.
    SinceStart,
}

/// A tick and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The time.
    pub time: Timestamp,
    /// The label: a time of day, a date, or a time since the start.
    pub text: String,
    /// The date below a time of day: at the first tick, and where a day begins.
    pub date: Option<String>,
}

impl TimeAxis {
    /// Name of the axis, with its unit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utc => "UTC",
            Self::SinceStart => "since the start of each run, h:min",
        }
    }

    /// Round times within a span, so few that their labels have room. `width` is that of the axis, `per_char` that of a
    /// character, in the same unit. A span without a round time has a tick at its beginning.
    pub fn ticks(self, (from, to): (Timestamp, Timestamp), width: f64, per_char: f64) -> Vec<Tick> {
        let nanos = to.nanos_since(from).max(1);
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let fits = |step: &&i64| {
            let apart = **step as f64 / nanos as f64 * width;
            // Two characters between labels.
            apart >= self.longest(**step, to) * per_char + 2.0 * per_char
        };
        let step = STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
        let first = from.0.div_euclid(*step) + i64::from(from.0.rem_euclid(*step) > 0);
        let times = (first..=to.0.div_euclid(*step)).map(|count| Timestamp(count * step));
        let mut times: Vec<_> = times.collect();
        if times.is_empty() {
            times.push(from);
        }
        let mut ticks: Vec<_> = times.iter().map(|time| self.tick(*time, *step)).collect();
        self.add_first_date(&mut ticks, *step);
        ticks
    }

    /// Characters of the longest label, which is the last one. Dates below labels have room as well: days begin at least
    /// two ticks apart.
    #[expect(clippy::cast_precision_loss, reason = "a few characters")]
    fn longest(self, step: i64, to: Timestamp) -> f64 {
        self.tick(to, step).text.len() as f64
    }

    fn tick(self, time: Timestamp, step: i64) -> Tick {
        let (text, date) = match self {
            Self::SinceStart => (since_start(time.0, step), None),
            Self::Utc if step >= DAY => (date(time), None),
            Self::Utc => {
                let begins_day = time.0.rem_euclid(DAY) == 0;
                (time_of_day(time, step), begins_day.then(|| date(time)))
            }
        };
        Tick { time, text, date }
    }

    /// The day of the first tick is stated as well, unless the next date would touch it.
    fn add_first_date(self, ticks: &mut [Tick], step: i64) {
        if self == Self::SinceStart || step >= DAY {
            return;
        }
        // A date is as long as two times of day.
        let next_begins = ticks.iter().take(3).skip(1).any(|tick| tick.date.is_some());
        if let Some(first) = ticks.first_mut().filter(|_| !next_begins) {
            first.date = Some(date(first.time));
        }
    }
}

/// Such as `2026-11-24`.
fn date(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// With seconds and milliseconds where ticks need them.
fn time_of_day(time: Timestamp, step: i64) -> String {
    let text = time.to_string();
    let until = if step < MINUTE { 19 } else { 16 };
    let mut label: String = text.chars().take(until).skip(11).collect();
    if step < SECOND {
        _ = write!(label, ".{:03}", time.0.rem_euclid(SECOND) / MILLI);
    }
    label
}

/// Such as `0:05` of hours and minutes, `0:00:05`, or `3 d`.
fn since_start(nanos: i64, step: i64) -> String {
    if step >= DAY {
        return format!("{} d", nanos / DAY);
    }
    let mut label = format!("{}:{:02}", nanos / HOUR, nanos % HOUR / MINUTE);
    if step < MINUTE {
        _ = write!(label, ":{:02}", nanos % MINUTE / SECOND);
    }
    if step < SECOND {
        _ = write!(label, ".{:03}", nanos % SECOND / MILLI);
    }
    label
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const WIDTH: f64 = 864.0;
    const PER_CHAR: f64 = 7.0;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_rfc3339(text).unwrap()
    }

    fn labels(axis: TimeAxis, from: Timestamp, to: Timestamp) -> Vec<(String, Option<String>)> {
        let ticks = axis.ticks((from, to), WIDTH, PER_CHAR);
        let texts = ticks.into_iter().map(|tick| (tick.text, tick.date));
        texts.collect()
    }

    fn texts(from: &str, to: &str) -> Vec<String> {
        let labels = labels(TimeAxis::Utc, at(from), at(to));
        labels.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn ticks_are_round_times_within_the_span() {
        let minutes = texts("2026-11-24T10:03:20Z", "2026-11-24T10:41:00Z");
        let expected = [
            "10:05", "10:10", "10:15", "10:20", "10:25", "10:30", "10:35", "10:40",
        ];
        assert_eq!(minutes, expected);
        let seconds = texts("2026-11-24T10:00:00Z", "2026-11-24T10:00:30Z");
        assert_eq!((&*seconds[0], &*seconds[1]), ("10:00:00", "10:00:05"));
        assert_eq!(seconds.len(), 7);
        let millis = texts("2026-11-24T10:00:00Z", "2026-11-24T10:00:00.05Z");
        assert_eq!((&*millis[0], &*millis[1]), ("10:00:00.000", "10:00:00.010"));
        let days = texts("2026-11-24T10:00:00Z", "2026-12-03T14:00:00Z");
        assert_eq!((&*days[0], &*days[8]), ("2026-11-25", "2026-12-03"));
        let years = texts("2020-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
        assert!(years.len() >= 3, "{years:?}");
    }

    #[test]
    fn a_date_is_below_the_first_tick_and_where_a_day_begins() {
        let dates = |from: &str, to: &str| {
            let labels = labels(TimeAxis::Utc, at(from), at(to)).into_iter();
            labels
                .filter_map(|(text, date)| Some((text, date?)))
                .collect::<Vec<_>>()
        };
        let own = |text: &str, date: &str| (text.to_owned(), date.to_owned());
        assert_eq!(
            dates("2026-11-24T10:00:00Z", "2026-11-24T12:00:00Z"),
            [own("10:00", "2026-11-24")]
        );
        assert_eq!(
            dates("2026-11-23T13:00:00Z", "2026-11-24T12:00:00Z"),
            [own("14:00", "2026-11-23"), own("00:00", "2026-11-24")]
        );
        // No room for both.
        assert_eq!(
            dates("2026-11-23T22:30:00Z", "2026-11-24T12:00:00Z"),
            [own("00:00", "2026-11-24")]
        );
    }

    #[test]
    fn times_since_the_start_begin_at_zero() {
        let since = |seconds: i64| {
            labels(
                TimeAxis::SinceStart,
                Timestamp(0),
                Timestamp(seconds * SECOND),
            )
        };
        let text = |labels: &[(String, Option<String>)], at: usize| labels[at].0.clone();
        assert_eq!(text(&since(30), 1), "0:00:05");
        assert_eq!(text(&since(3_600), 1), "0:05");
        assert_eq!(text(&since(40 * 3_600), 2), "6:00");
        assert_eq!(text(&since(20 * 86_400), 1), "1 d");
        assert!(since(86_400).iter().all(|(_, date)| date.is_none()));
    }

    #[test]
    fn labels_have_room_in_spans_of_every_length() {
        let mut nanos: i64 = 1;
        while nanos < 30_000 * DAY {
            for axis in [TimeAxis::Utc, TimeAxis::SinceStart] {
                for begin in [0, at("2026-11-24T23:59:59.7Z").0] {
                    let span = (Timestamp(begin), Timestamp(begin).plus_nanos(nanos));
                    let ticks = axis.ticks(span, WIDTH, PER_CHAR);
                    assert!(!ticks.is_empty() && ticks.len() < 30, "{nanos}");
                    let x = |tick: &Tick| {
                        #[expect(clippy::cast_precision_loss, reason = "pixels")]
                        let part = tick.time.nanos_since(span.0) as f64 / nanos as f64;
                        part * WIDTH
                    };
                    let half = |text: &str| text.chars().map(|_| PER_CHAR / 2.0).sum::<f64>();
                    for pair in ticks.windows(2) {
                        let apart = x(&pair[1]) - x(&pair[0]);
                        assert!(
                            apart > half(&pair[0].text) + half(&pair[1].text),
                            "{pair:?}"
                        );
                    }
                    let dated: Vec<_> = ticks.iter().filter(|tick| tick.date.is_some()).collect();
                    for pair in dated.windows(2) {
                        assert!(x(pair[1]) - x(pair[0]) > 10.0 * PER_CHAR, "{pair:?}");
                    }
                }
            }
            nanos = nanos * 3 + 1;
        }
    }
}
