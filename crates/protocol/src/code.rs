//! Status codes on the wire. Numbers, messages and what a code proves are one table, `cambist_core::reason`.

use cambist_core::Reason;

/// The number in the body of a rate-limited answer.
pub const RATE_LIMITED: u32 = Reason::RateLimited.code();

/// The number of a reason.
pub const fn number(reason: Reason) -> u32 {
    reason.code()
}

/// The reason behind a number; `Unlisted` for one that the interface does not name.
pub fn reason(code: u32) -> Reason {
    let mut listed = Reason::LISTED.into_iter().chain([Reason::RateLimited]);
    let found = listed.find(|reason| reason.code() == code);
    found.unwrap_or(Reason::Unlisted(code))
}

/// A short text.
pub const fn message(reason: Reason) -> &'static str {
    reason.message()
}

/// The HTTP status our venue sends with a reason. The interface names none; public clients read a body
/// with every 400 and throw on most others, so 400 carries everything but overload and our own faults.
pub const fn http_status(reason: Reason) -> u16 {
    match reason {
        Reason::RateLimited => 429,
        Reason::UnknownError => 500,
        _ => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_reasons_are_one_to_one() {
        let mut seen = Vec::new();
        for listed in Reason::LISTED {
            let code = number(listed);
            assert_eq!(reason(code), listed, "{code}");
            assert!((100_000..109_000).contains(&code), "{code}");
            assert!(!message(listed).is_empty());
            seen.push(code);
        }
        assert!(seen.is_sorted(), "table order of the interface");
        seen.dedup();
        assert_eq!(seen.len(), 36);
    }

    #[test]
    fn published_later_or_invented_numbers_stay_unlisted() {
        for code in [
            0,
            102_009,
            102_028,
            102_030,
            102_119,
            104_209,
            114_001,
            u32::MAX,
        ] {
            assert_eq!(reason(code), Reason::Unlisted(code));
            assert_eq!(number(Reason::Unlisted(code)), code);
        }
        assert_eq!(reason(429), Reason::RateLimited);
    }
}
