//! Times and spans as people read them. Programs read numbers.

use std::time::{Duration, UNIX_EPOCH};

/// `2026-01-31T12:00:00Z` of seconds since the Unix epoch.
pub fn iso(unix_s: u64) -> String {
    // The last second that has four digits for its year.
    let unix_s = unix_s.min(253_402_300_799);
    let at = UNIX_EPOCH + Duration::from_secs(unix_s);
    humantime::format_rfc3339_seconds(at).to_string()
}

/// `2m 5s` of seconds.
pub fn span(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}

/// `1s 250ms` of milliseconds.
pub fn span_ms(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_are_plain() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso(1_769_860_800), "2026-01-31T12:00:00Z");
        assert_eq!(iso(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(span(125), "2m 5s");
        assert_eq!(span(0), "0s");
    }
}
