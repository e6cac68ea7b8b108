//! Status codes of the interface. Numbers, messages and conclusions are one table, `cambist_core::reason`.

use cambist_core::Reason;

/// The number in the body of a rate-limited answer.
pub const RATE_LIMITED: u32 = Reason::RateLimited.code();

/// The number of a reason.
pub const fn number(reason: Reason) -> u32 {
    reason.code()
}

/// The reason of a number; `Unlisted` if the interface does not have it.
pub fn reason(code: u32) -> Reason {
    let mut listed = Reason::LISTED.into_iter().chain([Reason::RateLimited]);
    let found = listed.find(|reason| reason.code() == code);
    found.unwrap_or(Reason::Unlisted(code))
}

/// A short text for the reason.
pub const fn message(reason: Reason) -> &'static str {
    reason.message()
}

/// The HTTP status that our venue sends with a reason. The interface specifies none; public clients read the body of
/// every 400 and throw on most other statuses, so 400 is used for everything except overload and internal failures.
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
    fn numbers_outside_the_interface_stay_unlisted() {
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
