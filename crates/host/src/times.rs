//! Times and durations in readable form.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Formats seconds since the Unix epoch as `2026-01-31T12:00:00Z`.
pub fn iso(unix_s: u64) -> String {
    // The last second of the year 9999.
    let unix_s = unix_s.min(253_402_300_799);
    let at = UNIX_EPOCH + Duration::from_secs(unix_s);
    humantime::format_rfc3339_seconds(at).to_string()
}

/// Formats milliseconds since the Unix epoch as `2026-01-31T12:00:00.000Z`.
pub fn iso_ms(unix_ms: u64) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(unix_ms.min(253_402_300_799_999));
    humantime::format_rfc3339_millis(at).to_string()
}

/// Parses what [`iso`] and [`iso_ms`] write into milliseconds since the Unix epoch.
pub fn unix_ms(text: &str) -> Option<u64> {
    let at = parse_rfc3339(text)?;
    let since = at.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// Parses a time with its zone, `2026-01-31T12:00:30.250Z` or `2026-01-31 13:00:30+01:00`, with or without seconds. Second
/// 60, which the library takes for 59, is none: in the counts of seconds that recordings have there is no leap second.
fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (local, zone) = match text.strip_suffix('Z') {
        Some(local) => (local, "+00:00"),
        None => text.split_at_checked(text.len().checked_sub(6)?)?,
    };
    let ahead = offset(zone)?;
    // The library would read some texts with two zones.
    if local.get(17..19) == Some("60") || local.contains(['Z', '+']) {
        return None;
    }
    let mut local = local.replacen(' ', "T", 1);
    if local.len() == 16 {
        local.push_str(":00");
    }
    let at = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    if zone.starts_with('-') {
        at.checked_add(ahead)
    } else {
        at.checked_sub(ahead)
    }
}

/// How far a zone is from UTC in either direction: `+01:00`.
fn offset(zone: &str) -> Option<Duration> {
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let number = |text: &str, below: u64| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = text.parse().ok().filter(|_| is_number)?;
        (number < below).then_some(number)
    };
    let minutes: u64 = number(hours, 24)? * 60 + number(minutes, 60)?;
    Some(Duration::from_secs(minutes * 60))
}

/// Why a text is no time although it looks like one: its zone is missing, or its second is 60. `None` for a time with its
/// zone, and for everything else.
pub fn fault(text: &str) -> Option<String> {
    if text.get(17..19) == Some("60") {
        let before = format!("{}59{}", text.get(..17)?, text.get(19..)?);
        let is_other = parse_rfc3339(&before).is_some() || fault(&before).is_some();
        return is_other.then(|| {
            format!("{text:?} has the second 60; seconds are 00 to 59, such as {before}")
        });
    }
    let zoned = text.replacen(' ', "T", 1) + "Z";
    parse_rfc3339(&zoned)?;
    Some(format!(
        "the time zone of {text:?} is missing: write Z behind a time in UTC, as in {zoned}"
    ))
}

/// The end of a period that a time is for: a day means its first second at the beginning, and includes the whole day at
/// the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodEnd {
    /// The beginning.
    From,
    /// The end.
    To,
}

/// Parses a time into milliseconds since the Unix epoch: a day in UTC (`2026-01-31`), a time with its zone
/// (`2026-01-31T12:00Z`, `2026-01-31T13:00:30.250+01:00`), or an age (`24h`, `7d`). What is below a millisecond is left
/// out, as where times are printed.
pub fn moment_ms(text: &str, end: PeriodEnd, now_ms: u64) -> Result<u64, String> {
    let wrong = || {
        fault(text).unwrap_or_else(|| {
            format!(
                "{text:?} is not a time; write a day (2026-01-31), a time (2026-01-31T12:00Z) or an age (24h, 7d)"
            )
        })
    };
    if let Ok(ago) = humantime::parse_duration(text) {
        let ago_ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
        return Ok(now_ms.saturating_sub(ago_ms));
    }
    let is_day = text.len() == 10;
    let full = if is_day {
        format!("{text}T00:00Z")
    } else {
        text.to_owned()
    };
    let at = parse_rfc3339(&full).ok_or_else(wrong)?;
    let since = at.duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
    let at_ms = u64::try_from(since.as_millis()).map_err(|_| wrong())?;
    Ok(match end {
        PeriodEnd::To if is_day => at_ms + 86_400_000,
        PeriodEnd::From | PeriodEnd::To => at_ms,
    })
}

/// Formats seconds as `2m 5s`.
pub fn span(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}

/// Formats milliseconds as `1s 250ms`.
pub fn span_ms(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn times_and_spans_are_plain() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(1_769_860_800), "2026-01-31T12:00:00Z");
        assert_eq!(iso(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(iso_ms(1_500), "1970-01-01T00:00:01.500Z");
        assert_eq!(unix_ms(&iso_ms(1_500)), Some(1_500));
        assert_eq!(unix_ms(&iso(1_769_860_800)), Some(1_769_860_800_000));
        assert_eq!(unix_ms("yesterday"), None);
        assert_eq!(span(125), "2m 5s");
        assert_eq!(span(0), "0s");
    }

    #[test]
    fn times_are_days_times_or_ages() {
        let now_ms = 1_769_860_800_000;
        let from = |text| moment_ms(text, PeriodEnd::From, now_ms);
        let to = |text| moment_ms(text, PeriodEnd::To, now_ms);
        assert_eq!(from("2026-01-31"), Ok(1_769_817_600_000));
        assert_eq!(to("2026-01-31"), Ok(1_769_904_000_000));
        assert_eq!(to("2026-01-31T12:00Z"), Ok(now_ms));
        assert_eq!(from("2026-01-31T12:00:30Z"), Ok(now_ms + 30_000));
        assert_eq!(from("2026-01-31T12:00:30.983Z"), Ok(now_ms + 30_983));
        assert_eq!(to("2026-01-31T12:00:00.1Z"), Ok(now_ms + 100));
        assert_eq!(from("2026-01-31 13:00:30+01:00"), Ok(now_ms + 30_000));
        assert_eq!(from("2026-01-31T08:30-03:30"), Ok(now_ms));
        assert_eq!(from("24h"), Ok(now_ms - 86_400_000));
        assert_eq!(from("7d"), Ok(now_ms - 604_800_000));
        assert_eq!(from("500ms"), Ok(now_ms - 500));
        for (bad, zoned) in [
            ("2026-01-31T12:00", "2026-01-31T12:00Z"),
            ("2026-01-31 12:00", "2026-01-31T12:00Z"),
            ("2026-01-31T12:00:30", "2026-01-31T12:00:30Z"),
            ("2026-01-31 12:00:30.5", "2026-01-31T12:00:30.5Z"),
        ] {
            let refused = from(bad).unwrap_err();
            assert!(refused.starts_with("the time zone of \""), "{refused}");
            assert!(refused.ends_with(zoned), "{refused}");
        }
        for (bad, other) in [
            ("2026-01-31T12:00:60Z", "2026-01-31T12:00:59Z"),
            ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.5Z"),
            ("2026-01-31T12:00:60", "2026-01-31T12:00:59"),
        ] {
            let refused = from(bad).unwrap_err();
            assert!(refused.contains("has the second 60"), "{refused}");
            assert!(refused.ends_with(other), "{refused}");
            assert_eq!(unix_ms(bad), None);
        }
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-01-31T25:00",
            "2026-01-31T12:00:61Z",
            "2026-01-31T12:00+24:00",
            "2026-01-31T12:00+1:00",
            "2026-01-31T12:00:30+01:00Z",
            "2026-01-31T12:00:30Z+01:00",
            "2026-01-31T12:00:30+00:00+01:00",
            "2026-01-31T12:00:30ZZ",
            "+01:00",
            "Z",
            "1969-12-31",
        ] {
            let refused = from(bad);
            assert!(
                matches!(&refused, Err(error) if error.contains("is not a time")),
                "{refused:?}"
            );
        }
    }
}
