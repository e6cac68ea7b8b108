//! Points in time of recordings: nanoseconds since the Unix epoch, and units of written times.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time in nanoseconds since 1970-01-01T00:00:00Z. Covers the years 1970 to 2262.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Nanoseconds from `earlier` to this time; negative if `earlier` is later.
    #[inline]
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time plus a number of nanoseconds.
    #[inline]
    #[must_use]
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// A time written as a whole number of `unit`; `None` before 1970 and after 2262.
    pub fn from_unit(value: i64, unit: TimeUnit) -> Option<Self> {
        let nanos = value.checked_mul(unit.nanos())?;
        (nanos >= 0).then_some(Self(nanos))
    }

    /// Parses RFC 3339, such as `2024-08-08T23:54:16.302Z` or `2024-08-08 23:54:16+00:00`, with up to nine decimals of
    /// a second. `None` for anything else, and for times before 1970 or after 2262.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let number = |range: std::ops::Range<usize>| -> Option<i64> {
            let digits = bytes.get(range)?;
            digits
                .iter()
                .all(u8::is_ascii_digit)
                .then(|| digits.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
        };
        let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
        let separated = matches!(bytes.get(10)?, b'T' | b't' | b' ');
        if !separated || marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
            return None;
        }
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let sensible = (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !sensible {
            return None;
        }
        let mut at = 19;
        let mut fraction = 0;
        if bytes.get(at) == Some(&b'.') {
            let digits = bytes[at + 1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits == 0 || digits > 9 {
                return None;
            }
            let scale = u32::try_from(9 - digits).ok()?;
            fraction = number(at + 1..at + 1 + digits)? * 10_i64.pow(scale);
            at += 1 + digits;
        }
        let offset_minutes = match bytes.get(at)? {
            b'Z' | b'z' if bytes.len() == at + 1 => 0,
            sign @ (b'+' | b'-') if bytes.len() == at + 6 && bytes[at + 3] == b':' => {
                let minutes = number(at + 1..at + 3)? * 60 + number(at + 4..at + 6)?;
                if *sign == b'+' { minutes } else { -minutes }
            }
            _ => return None,
        };
        let seconds =
            days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
                - offset_minutes * 60;
        let nanos = seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?;
        (nanos >= 0).then_some(Self(nanos))
    }

    /// Whether a text lacks nothing but the zone that [`Self::from_rfc3339`] requires.
    pub(crate) fn lacks_zone(text: &str) -> bool {
        Self::from_rfc3339(&format!("{text}Z")).is_some()
    }
}

/// What a time must be that has no zone.
pub(crate) const WITH_ZONE: &str =
    "a time with its zone: if it is UTC, append Z or +00:00, as in 2024-08-08 23:54:16Z";

/// As RFC 3339 in UTC, with as many decimals as are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000_000);
        let nanos = self.0.rem_euclid(1_000_000_000);
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            second / 3_600,
            second / 60 % 60,
            second % 60
        )?;
        match nanos {
            0 => f.write_str("Z"),
            n if n % 1_000_000 == 0 => write!(f, ".{:03}Z", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, ".{:06}Z", n / 1_000),
            n => write!(f, ".{n:09}Z"),
        }
    }
}

/// The unit of a time written as a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    /// `s`
    Seconds,
    /// `ms`
    Milliseconds,
    /// `us`
    Microseconds,
    /// `ns`
    Nanoseconds,
}

impl TimeUnit {
    /// Every unit, longest first.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// Nanoseconds in one unit.
    pub const fn nanos(self) -> i64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }

    /// `s`, `ms`, `us` or `ns`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    /// The unit with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.name() == name)
    }
}

const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from 1 March, so that
/// the leap day is the last of a year (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`]: year, month, day.
const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = (shifted + 2) % 12 + 1;
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_alike() {
        for (text, nanos) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-08-08T23:54:16.302Z", 1_723_161_256_302_000_000),
            ("2024-02-29T12:00:00.000001Z", 1_709_208_000_000_001_000),
            ("2000-03-01T00:00:00.000000001Z", 951_868_800_000_000_001),
            ("2262-04-11T23:47:16.854775807Z", i64::MAX),
        ] {
            assert_eq!(
                Timestamp::from_rfc3339(text),
                Some(Timestamp(nanos)),
                "{text}"
            );
            assert_eq!(Timestamp(nanos).to_string(), text);
        }
        // Offsets and blanks are read as well.
        let other = Timestamp::from_rfc3339("2024-08-09 01:54:16.302+02:00");
        assert_eq!(other, Some(Timestamp(1_723_161_256_302_000_000)));
    }

    #[test]
    fn every_day_of_four_centuries_is_found_again() {
        for days in 0..146_097 {
            let (year, month, day) = civil_from_days(days);
            assert!((1..=days_in(year, month)).contains(&day));
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in [
            "",
            "2024-08-08",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-08-08T24:00:00Z",
            "2024-08-08T23:54:16",
            "2024-08-08T23:54:16.Z",
            "2024-08-08T23:54:16.0123456789Z",
            "1969-12-31T23:59:59Z",
            "2263-01-01T00:00:00Z",
            "2024-08-08T23:54:16Zz",
        ] {
            assert_eq!(Timestamp::from_rfc3339(text), None, "{text}");
        }
        for (text, lacks_zone) in [
            ("2024-08-08T23:54:16", true),
            ("2024-08-08 23:54:16.123456", true),
            ("2024-08-08 23:54:16Z", false),
            ("2024-08-08 23:54:16+00:00", false),
            ("2024-08-08", false),
            ("1723161256", false),
        ] {
            assert_eq!(Timestamp::lacks_zone(text), lacks_zone, "{text}");
        }
        assert_eq!(Timestamp::from_unit(-1, TimeUnit::Seconds), None);
        assert_eq!(Timestamp::from_unit(i64::MAX, TimeUnit::Microseconds), None);
    }
}
