//! The words in which assumptions are written on the command line.
//!
//! Durations are one whole number and one unit: `humantime` would take `1month 2us` for a latency.

use std::path::PathBuf;

use cambist_backtest::{LatencyRange, RateLimit};
use cambist_host::clock::Clock;
use cambist_host::times::{self, PeriodEnd};
use cambist_market_data::{Timestamp, Tolerance};

/// A day.
const DAY_NANOS: i64 = 86_400_000_000_000;
/// Longest duration that is taken: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Reads a duration such as `500us`, `25ms`, `2s` or `1m`, up to `1h`, in microseconds.
pub fn micros(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!("{text:?} is no duration; write a whole number and us, ms, s, m or h, such as 25ms")
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => LONGEST_US,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let total = number.checked_mul(factor);
    total
        .filter(|total| *total <= LONGEST_US)
        .ok_or_else(|| format!("{text} is more than an hour"))
}

/// Reads a duration such as `90s`, `30m`, `2h` or `7d`, in seconds, from a second to a year.
pub fn long_seconds(text: &str) -> Result<u64, String> {
    seconds_to(text, 31_536_000, "one year")
}

/// Reads a duration such as `90s`, `30m`, `2h` or `7d`, in seconds, from a second to `longest_s`, which is `longest`.
pub fn seconds_to(text: &str, longest_s: u64, longest: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no duration; write a whole number and s, m, h or d, such as 2h");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let total = number.checked_mul(factor);
    total
        .filter(|total| (1..=longest_s).contains(total))
        .ok_or_else(|| format!("{text} is outside 1s to {longest}"))
}

/// Reads a duration above zero, in milliseconds.
pub fn sample_ms(text: &str) -> Result<u64, String> {
    match micros(text)? {
        us if us >= 1_000 && us % 1_000 == 0 => Ok(us / 1_000),
        _ => Err(format!("{text} must be whole milliseconds, 1ms at least")),
    }
}

/// Reads a latency: `25ms`, or `10ms..80ms` for one that is drawn for every message.
pub fn latency(text: &str) -> Result<LatencyRange, String> {
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    let (min_us, max_us) = (micros(min)?, micros(max)?);
    if min_us > max_us {
        return Err(format!("{text}: the first must not be the longer one"));
    }
    Ok(LatencyRange { min_us, max_us })
}

/// Reads a rate limit: `5`, `5/10` for five a second and ten at once, or `none`.
pub fn rate_limit(text: &str) -> Result<Option<RateLimit>, String> {
    if text == "none" {
        return Ok(None);
    }
    let wrong = || {
        format!(
            "{text:?} is no rate limit; write requests a second, perhaps with the burst, such as 5/10, or none"
        )
    };
    let (per_s, burst) = text.split_once('/').unwrap_or((text, text));
    let number = |text: &str| text.parse().ok().filter(|n| (1..=1_000_000).contains(n));
    let (per_s, burst) = number(per_s).zip(number(burst)).ok_or_else(wrong)?;
    Ok(Some(RateLimit { per_s, burst }))
}

/// Reads a share from 0 to 1 as millionths.
pub fn share_ppm(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is no share; write a number from 0 to 1, such as 0.25");
    let share: f64 = text.parse().map_err(|_| wrong())?;
    if !(0.0..=1.0).contains(&share) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to a million"
    )]
    Ok((share * 1e6).round() as u32)
}

/// Reads a moment of a recording: a time with or without seconds, the beginning of a day, or an age.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    if let Some(time) = Timestamp::from_rfc3339(text).or_else(|| minute(text)) {
        return Ok(time);
    }
    let now_ms = Clock::new().unix_micros() / 1_000;
    let at_ms = times::moment_ms(text, PeriodEnd::From, now_ms)?;
    let nanos = i64::try_from(at_ms).unwrap_or(i64::MAX);
    Ok(Timestamp(nanos.saturating_mul(1_000_000)))
}

/// Reads the beginning of a period: a time, or a day from its first second.
pub fn from_time(text: &str) -> Result<Timestamp, String> {
    period_end(text, 0)
}

/// Reads the end of a period: a time, or a day with all its hours.
pub fn to_time(text: &str) -> Result<Timestamp, String> {
    period_end(text, DAY_NANOS)
}

fn period_end(text: &str, whole_day_nanos: i64) -> Result<Timestamp, String> {
    let day = Timestamp::from_rfc3339(&format!("{text}T00:00:00Z"));
    let day = day.map(|day| day.plus_nanos(whole_day_nanos));
    let time = || Timestamp::from_rfc3339(text).or_else(|| minute(text));
    day.or_else(time).ok_or_else(|| {
        times::fault(text).unwrap_or_else(|| {
            format!(
                "{text:?} is no time; write a time (2024-08-08T23:54:00Z or 2024-08-08T23:54Z) or a day (2024-08-08), both UTC"
            )
        })
    })
}

/// Reads a time without seconds: `2024-08-08T23:54Z`.
fn minute(text: &str) -> Option<Timestamp> {
    let (time, zone) = text.split_at_checked(16)?;
    let is_zone = zone.starts_with(['Z', 'z', '+', '-']);
    is_zone.then(|| Timestamp::from_rfc3339(&format!("{time}:00{zone}")))?
}

/// Reads kinds of defects that are skipped.
pub fn tolerance(text: &str) -> Result<Tolerance, String> {
    Tolerance::parse(text).map_err(|name| {
        let kinds = cambist_market_data::DefectKind::ALL.map(cambist_market_data::DefectKind::name);
        format!(
            "{name:?} is no kind of defect; there are {}",
            kinds.join(", ")
        )
    })
}

/// A file of data, perhaps with the market it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// `NAME=` before the path.
    pub market: Option<String>,
    /// The path.
    pub path: PathBuf,
}

/// Reads `PATH` or `MARKET=PATH`. A name of a market has no `/` and no `.`.
pub fn data_file(text: &str) -> Result<DataFile, String> {
    let named = text.split_once('=').filter(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    });
    let (market, path) = match named {
        Some((market, path)) => (Some(market.to_owned()), path),
        None => (None, text),
    };
    if path.is_empty() {
        return Err("a file must be named".to_owned());
    }
    Ok(DataFile {
        market,
        path: path.into(),
    })
}

/// Reads `SYMBOL=AMOUNT`.
pub fn balance(text: &str) -> Result<(String, String), String> {
    let (symbol, amount) = text
        .split_once('=')
        .filter(|(symbol, amount)| !symbol.is_empty() && !amount.is_empty())
        .ok_or_else(|| format!("{text:?} is no balance; write it like ETH=2.5"))?;
    Ok((symbol.to_owned(), amount.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn durations_and_latencies_are_strict() {
        assert_eq!(micros("500us"), Ok(500));
        assert_eq!(micros("0ms"), Ok(0));
        assert_eq!(micros("60m"), Ok(LONGEST_US));
        assert_eq!(micros("1h"), Ok(LONGEST_US));
        for bad in [
            "",
            "25",
            "ms",
            "-1ms",
            "1.5s",
            "61m",
            "99999999999999999999s",
            "2h",
        ] {
            assert!(micros(bad).is_err(), "{bad}");
        }
        let range = latency("10ms..2s").unwrap();
        assert_eq!((range.min_us, range.max_us), (10_000, 2_000_000));
        assert_eq!(
            latency("7us").unwrap(),
            LatencyRange {
                min_us: 7,
                max_us: 7
            }
        );
        for bad in ["2s..10ms", "10ms..", "..", "10ms...20ms"] {
            assert!(latency(bad).is_err(), "{bad}");
        }
        assert_eq!(sample_ms("1s"), Ok(1_000));
        assert!(sample_ms("500us").is_err() && sample_ms("0s").is_err());
        assert_eq!(long_seconds("2h"), Ok(7_200));
        assert_eq!(long_seconds("365d"), Ok(31_536_000));
        for bad in ["", "2", "h", "0s", "366d", "1w", "-1h", "1.5h"] {
            assert!(long_seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_is_a_period() {
        let text = |at: Result<Timestamp, String>| at.unwrap().to_string();
        assert_eq!(text(from_time("2024-11-14")), "2024-11-14T00:00:00Z");
        assert_eq!(text(to_time("2024-11-14")), "2024-11-15T00:00:00Z");
        for parse in [from_time, to_time] {
            let time = "2024-11-14T12:30:00.500Z";
            assert_eq!(text(parse(time)), time);
            assert_eq!(text(parse("2024-11-14T12:30Z")), "2024-11-14T12:30:00Z");
            assert_eq!(
                text(parse("2024-11-14T12:30+01:00")),
                "2024-11-14T11:30:00Z"
            );
            for bad in [
                "",
                "2024-11-31",
                "14.11.2024",
                "2024-11-14T",
                "7d",
                "2024-11-14T12:30",
                "2024-11-14T12:61Z",
                "2024-11-14T12Z",
            ] {
                assert!(parse(bad).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn a_time_without_its_zone_and_second_60_are_named() {
        for parse in [moment, from_time, to_time] {
            let refused = parse("2024-11-14T12:30:05").unwrap_err();
            assert!(refused.contains("zone"), "{refused}");
            assert!(refused.ends_with("2024-11-14T12:30:05Z"), "{refused}");
            for leap in ["2024-11-14T12:30:60Z", "2024-11-14T12:30:60"] {
                let refused = parse(leap).unwrap_err();
                assert!(refused.contains("second 60"), "{refused}");
            }
        }
        assert!(moment("2024-11-14T12:30:05+01:00").is_ok());
    }

    #[test]
    fn assumptions_have_words() {
        assert_eq!(rate_limit("none"), Ok(None));
        assert_eq!(
            rate_limit("5/10"),
            Ok(Some(RateLimit {
                per_s: 5,
                burst: 10
            }))
        );
        assert_eq!(rate_limit("7"), Ok(Some(RateLimit { per_s: 7, burst: 7 })));
        for bad in ["0", "5/0", "x", "5/10/2", "-1"] {
            assert!(rate_limit(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (share_ppm("0"), share_ppm("0.25"), share_ppm("1")),
            (Ok(0), Ok(250_000), Ok(1_000_000))
        );
        assert!(
            share_ppm("1.01").is_err() && share_ppm("-0.1").is_err() && share_ppm("nan").is_err()
        );
    }

    #[test]
    fn data_may_name_their_market() {
        let file = |text: &str| data_file(text).unwrap();
        assert_eq!(file("ETH-USDC=a/b.csv").market.as_deref(), Some("ETH-USDC"));
        assert_eq!(file("a/b=c.csv").market, None);
        assert_eq!(file("a/b=c.csv").path, PathBuf::from("a/b=c.csv"));
        assert!(data_file("ETH-USDC=").is_err() && data_file("").is_err());
        assert_eq!(balance("ETH=2.5").unwrap().1, "2.5");
        assert!(balance("ETH").is_err() && balance("=1").is_err());
    }
}
