//! The grammar of numbers in text.
//!
//! Integers are `0` or `[1-9][0-9]*`, decimals may add `.` and digits. ASCII only; no sign, exponent, separator,
//! leading zero or space; at most [`LENGTH_MAX`] characters. Library parsers accept more (`+5`, `1_000`, `1e3`) or
//! round silently, so none is used.

use std::fmt::Write as _;

use cambist_core::Amount;
use cambist_core::token::AMOUNT_MAX;

/// Most characters of a number: 2^256 has 78 digits.
pub const LENGTH_MAX: usize = 78;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Empty, a sign, an exponent, a separator, a leading zero, a letter.
    #[error("is not a plain decimal number")]
    Grammar,
    /// More than [`LENGTH_MAX`] characters.
    #[error("has more than {LENGTH_MAX} characters")]
    TooLong,
    /// It does not fit the requested type.
    #[error("is too large")]
    TooLarge,
    /// It has more non-zero decimals than allowed.
    #[error("has more decimals than allowed")]
    TooFine,
}

/// A non-negative integer.
pub fn integer(text: &str) -> Result<u128, NumberError> {
    if text.len() > LENGTH_MAX {
        return Err(NumberError::TooLong);
    }
    let digits = text.as_bytes();
    match digits {
        [b'0'] => return Ok(0),
        [] | [b'0', ..] => return Err(NumberError::Grammar),
        _ => {}
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Grammar);
    }
    push_digits(0, digits)
}

/// An integer that fits `T`.
pub fn bounded<T: TryFrom<u128>>(text: &str) -> Result<T, NumberError> {
    T::try_from(integer(text)?).map_err(|_| NumberError::TooLarge)
}

/// An integer of at most 96 bits, as in orders, transfers and joins.
pub fn amount(text: &str) -> Result<Amount, NumberError> {
    let value = integer(text)?;
    if value > AMOUNT_MAX {
        return Err(NumberError::TooLarge);
    }
    Ok(value)
}

/// A decimal times 10^`decimals`, exactly; digits beyond `decimals` must be zero.
pub fn scaled(text: &str, decimals: u8) -> Result<u128, NumberError> {
    if text.len() > LENGTH_MAX {
        return Err(NumberError::TooLong);
    }
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction.as_bytes()),
        None => (text, &b""[..]),
    };
    if text.ends_with('.') || !fraction.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Grammar);
    }
    let mut value = integer(whole)?;
    let places = usize::from(decimals);
    let (kept, beyond) = fraction.split_at(fraction.len().min(places));
    if beyond.iter().any(|digit| *digit != b'0') {
        return Err(NumberError::TooFine);
    }
    value = push_digits(value, kept)?;
    for _ in kept.len()..places {
        value = value.checked_mul(10).ok_or(NumberError::TooLarge)?;
    }
    Ok(value)
}

/// `value` / 10^`decimals` with exactly `decimals` decimals; [`scaled`] reads it back.
pub fn decimal(value: u128, decimals: u8) -> String {
    let places = usize::from(decimals);
    // One more digit than there are decimals, so that there is one before the point.
    let mut text = format!("{value:0width$}", width = places + 1);
    if places > 0 {
        text.insert(text.len() - places, '.');
    }
    text
}

/// A text from outside, safe for logs: truncated, with control characters escaped.
pub fn quoted(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    for char in chars.by_ref().take(chars_max) {
        match char {
            '\'' | '"' => out.push(char),
            other => {
                let _ = write!(out, "{}", other.escape_debug());
            }
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

fn push_digits(start: u128, digits: &[u8]) -> Result<u128, NumberError> {
    digits.iter().try_fold(start, |value, digit| {
        value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u128::from(digit - b'0')))
            .ok_or(NumberError::TooLarge)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn integers_have_one_spelling() {
        assert_eq!(integer("0"), Ok(0));
        assert_eq!(integer(&u128::MAX.to_string()), Ok(u128::MAX));
        for bad in [
            "", "+5", "-1", "007", "00", "1_000", "1,000", "1e3", " 1", "1 ", "0x10", "1.0", "٣",
            "１", "NaN", "1\n",
        ] {
            assert_eq!(integer(bad), Err(NumberError::Grammar), "{bad:?}");
        }
        assert_eq!(integer(&"9".repeat(78)), Err(NumberError::TooLarge));
        assert_eq!(integer(&"9".repeat(79)), Err(NumberError::TooLong));
        assert_eq!(
            integer("340282366920938463463374607431768211456"),
            Err(NumberError::TooLarge)
        );
    }

    #[test]
    fn amounts_end_at_96_bits() {
        assert_eq!(amount(&AMOUNT_MAX.to_string()), Ok(AMOUNT_MAX));
        assert_eq!(
            amount(&(AMOUNT_MAX + 1).to_string()),
            Err(NumberError::TooLarge)
        );
        assert_eq!(bounded::<u16>("65536"), Err(NumberError::TooLarge));
        assert_eq!(bounded::<u16>("65535"), Ok(65_535));
    }

    #[test]
    fn decimals_scale_exactly_or_not_at_all() {
        assert_eq!(scaled("103422.027", 3), Ok(103_422_027));
        assert_eq!(scaled("0.1", 3), Ok(100));
        assert_eq!(scaled("7", 2), Ok(700));
        assert_eq!(scaled("1.500", 1), Ok(15));
        assert_eq!(scaled("1.501", 1), Err(NumberError::TooFine));
        assert_eq!(
            scaled("0.00000000000000000000000000001", 18),
            Err(NumberError::TooFine)
        );
        for bad in [
            "1.", ".5", "1.2.3", "01.5", "1.5e2", "+1.5", "1.٣", ".", "1.+5",
        ] {
            assert_eq!(scaled(bad, 3), Err(NumberError::Grammar), "{bad:?}");
        }
        assert_eq!(
            scaled("9999999999999999999999999999999999999", 3),
            Err(NumberError::TooLarge)
        );
    }

    #[test]
    fn written_numbers_read_back() {
        let mut state = 7u64;
        for round in 0..2_000u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let value = (u128::from(state) * u128::from(state >> 7)) >> (round % 100);
            let decimals = u8::try_from(round % 20).unwrap();
            assert_eq!(scaled(&decimal(value, decimals), decimals), Ok(value));
            assert_eq!(integer(&value.to_string()), Ok(value));
        }
        assert_eq!(decimal(5, 3), "0.005");
        assert_eq!(decimal(0, 0), "0");
        assert_eq!(decimal(250_000, 2), "2500.00");
    }

    #[test]
    fn outside_text_is_capped_and_escaped() {
        assert_eq!(quoted("a\u{1b}[31m\nb", 20), "a\\u{1b}[31m\\nb");
        assert_eq!(quoted("can't \u{202e}\\", 20), "can't \\u{202e}\\\\");
        assert_eq!(quoted("abcdef", 3), "abc…");
    }
}
