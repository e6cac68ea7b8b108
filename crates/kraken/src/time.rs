//! Times in requests and answers. RFC 3339 is read here because clients write offsets (Python: `+00:00`), which the
//! reader of times that the programs use for other purposes (`humantime`) refuses.

/// Milliseconds since the Unix epoch as seconds with decimals, as a JSON number.
pub fn seconds(ms: u64) -> serde_json::Number {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    // A decimal of at most 20 digits is a number, and one of 17 digits is shown as it was written.
    text.parse::<f64>()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .unwrap_or_else(|| serde_json::Number::from(ms / 1_000))
}

/// RFC 3339 in UTC, whole seconds: `2021-04-01T00:18:45Z`.
pub fn rfc3339(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1_000 % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Reads RFC 3339 with an optional fraction and offset into milliseconds since the Unix epoch; digits beyond
/// milliseconds are dropped, so that a deadline is never later than it was written. `None` for anything else.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse().ok())?
    };
    let at = |index: usize, among: &[u8]| among.contains(bytes.get(index).unwrap_or(&0));
    if !(at(4, b"-") && at(7, b"-") && at(10, b"Tt ") && at(13, b":") && at(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let days = days_of(year, month, day)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            (
                rest.get(..end).filter(|digits| !digits.is_empty())?,
                rest.get(end..)?,
            )
        }
        None => ("", rest),
    };
    let ms: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let local = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + ms;
    if zone.eq_ignore_ascii_case("z") {
        return Some(local);
    }
    let (sign, offset) = zone.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    if hours.len() != 2
        || minutes.len() != 2
        || !offset.bytes().all(|b| b.is_ascii_digit() || b == b':')
    {
        return None;
    }
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset_ms = (hours * 60 + minutes) * 60_000;
    match sign {
        "+" => local.checked_sub(offset_ms),
        "-" => Some(local + offset_ms),
        _ => None,
    }
}

/// Year, month and day of a number of days since the Unix epoch (H. Hinnant, "chrono-compatible low-level date
/// algorithms", `civil_from_days`).
const fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let next = if month <= 2 { 1 } else { 0 };
    (year + era * 400 + next, month, day)
}

/// The inverse, for dates from 1970 on (`days_from_civil`).
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = days.checked_sub(719_468)?;
    // A day that the month does not have is one of the next month.
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_617_236_325_000, "2021-04-01T00:18:45Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (3_600_000, "1970-01-01T01:00:00Z"),
            (253_402_300_799_000, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(parse_rfc3339(text), Some(ms));
        }
        for days in 0..80_000 {
            let (year, month, day) = date(days);
            assert_eq!(days_of(year, month, day), Some(days));
        }
        assert_eq!(seconds(1_688_666_559_897).to_string(), "1688666559.897");
        assert_eq!(seconds(0).to_string(), "0.0");
    }

    #[test]
    fn fractions_are_cut_and_offsets_counted() {
        let base = Some(1_617_236_325_000);
        assert_eq!(
            parse_rfc3339("2021-04-01T00:18:45.9999Z"),
            base.map(|ms| ms + 999)
        );
        assert_eq!(
            parse_rfc3339("2021-04-01T00:18:45.5z"),
            base.map(|ms| ms + 500)
        );
        assert_eq!(parse_rfc3339("2021-04-01T02:18:45+02:00"), base);
        assert_eq!(parse_rfc3339("2021-04-01T23:18:45+23:00"), base);
        assert_eq!(parse_rfc3339("2021-04-01T01:17:45+00:59"), base);
        assert_eq!(parse_rfc3339("2021-03-31T19:48:45-04:30"), base);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2021-04-01",
            "2021-04-01T00:18:45",
            "2021-04-31T00:00:00Z",
            "2021-13-01T00:00:00Z",
            "2021-04-01T24:00:00Z",
            "2021-04-01T00:60:00Z",
            "2021-04-01T00:00:60Z",
            "2021-+4-01T00:00:00Z",
            "2021-04-01T00:18:45+24:00",
            "2021-04-01T00:18:45+00:60",
            "2021-04-01T00:18:45.Z",
            "2021-04-01T00:18:45+2:00",
            "1969-12-31T23:59:59Z",
            "2021-04-01T00:18:4xZ",
            "2021-04-01T00:18:45+ab:cd",
            "1700000000",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
