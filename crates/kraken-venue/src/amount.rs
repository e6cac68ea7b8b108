//! Amounts in answers: decimals as strings, exact, with a sign only where one is meant.

use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, VenueTime};
use cambist_protocol::number::{NumberError, quoted, scaled};

use crate::json::{DecodeError, Json};

/// Most bytes of a decimal.
const BYTES_MAX: usize = 80;
/// Most characters of a value in an error.
const SHOWN_MAX: usize = 48;

/// The decimals of amounts that are only shown.
pub const SHOWN_DECIMALS: u8 = 8;

/// An amount of an order or a trade: a decimal from 0 on of at most 96 bits, in units of its last allowed place.
pub fn amount(json: &Json, decimals: u8) -> Result<Amount, DecodeError> {
    let units = total(json, decimals)?;
    if units > AMOUNT_MAX {
        return Err(json.is_not("an amount of at most 96 bits"));
    }
    Ok(units)
}

/// An amount that nothing is computed from, with [`SHOWN_DECIMALS`]: further digits are dropped, and one that is too large
/// is the largest.
pub fn shown(json: &Json) -> Result<Amount, DecodeError> {
    let text = json.text(BYTES_MAX)?;
    let kept = text.find('.').map_or(text, |point| {
        let end = text.len().min(point + 1 + usize::from(SHOWN_DECIMALS));
        text.get(..end).unwrap_or(text)
    });
    match scaled(kept, SHOWN_DECIMALS) {
        Ok(units) => Ok(units.min(AMOUNT_MAX)),
        Err(NumberError::TooLarge) => Ok(AMOUNT_MAX),
        Err(error) => Err(bad(text, error)),
    }
}

/// What is held: a decimal from 0 on.
pub fn total(json: &Json, decimals: u8) -> Result<Amount, DecodeError> {
    let text = json.text(BYTES_MAX)?;
    scaled(text, decimals).map_err(|error| bad(text, error))
}

/// A decimal with a sign, of at most 96 bits without it.
pub fn signed(json: &Json, decimals: u8) -> Result<i128, DecodeError> {
    let text = json.text(BYTES_MAX)?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let units = scaled(digits, decimals).map_err(|error| bad(text, error))?;
    let units = i128::try_from(units)
        .ok()
        .filter(|units| units.unsigned_abs() <= AMOUNT_MAX);
    let units = units.ok_or_else(|| bad(text, NumberError::TooLarge))?;
    Ok(if is_negative { -units } else { units })
}

fn bad(text: &str, error: NumberError) -> DecodeError {
    DecodeError::new(format!("\"{}\" {error}", quoted(text, SHOWN_MAX)))
}

/// Seconds since the Unix epoch with or without decimals, as a number; digits beyond milliseconds are dropped, so that
/// the time is never later than it was.
pub fn time(json: &Json) -> Result<VenueTime, DecodeError> {
    let Json::Number(digits) = json else {
        return Err(json.is_not("a time"));
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let ms = format!("{fraction:0<3}");
    let ms = ms.get(..3).and_then(|ms| ms.parse::<u64>().ok());
    let seconds = cambist_protocol::number::bounded::<u32>(whole).ok();
    match (seconds, ms) {
        (Some(seconds), Some(ms)) if is_plain => Ok(VenueTime(u64::from(seconds) * 1_000 + ms)),
        _ => Err(json.is_not("a time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    fn number(text: &str) -> Json {
        Json::Number(text.to_owned())
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(amount(&text("0.7812500000"), 10), Ok(7_812_500_000));
        assert_eq!(amount(&text("3"), 4), Ok(30_000));
        assert_eq!(signed(&text("-100.5000"), 4), Ok(-1_005_000));
        assert_eq!(signed(&text("-0.0000"), 4), Ok(0));
        for wrong in [
            "", "-", "--1", "+1", "1e3", ".5", "5.", "1,0", "1.00001", "NaN", " 1",
        ] {
            assert!(signed(&text(wrong), 4).is_err(), "{wrong}");
        }
        assert!(
            amount(&text("-1"), 4).is_err(),
            "a sign where none is meant"
        );
        assert!(
            amount(&number("1"), 4).is_err(),
            "a number in place of a string"
        );
        assert!(amount(&text(&"9".repeat(60)), 0).is_err());
        let (most, more) = (AMOUNT_MAX.to_string(), (AMOUNT_MAX + 1).to_string());
        assert_eq!(amount(&text(&most), 0), Ok(AMOUNT_MAX));
        assert!(amount(&text(&more), 0).is_err());
        assert!(signed(&text(&format!("-{most}")), 0).is_ok());
        assert!(signed(&text(&format!("-{more}")), 0).is_err());
        assert_eq!(total(&text(&more), 0), Ok(AMOUNT_MAX + 1));
    }

    #[test]
    fn amounts_that_are_only_shown_are_cut() {
        assert_eq!(shown(&text("1.5")), Ok(150_000_000));
        assert_eq!(shown(&text("0.123456789999")), Ok(12_345_678));
        assert_eq!(shown(&text(&"9".repeat(40))), Ok(AMOUNT_MAX));
        for wrong in ["", "-1", "1e3", "x", "1.x"] {
            assert!(shown(&text(wrong)).is_err(), "{wrong}");
        }
        assert!(shown(&number("1")).is_err());
    }

    #[test]
    fn times_are_cut_to_milliseconds() {
        assert_eq!(
            time(&number("1688666559.8974")),
            Ok(VenueTime(1_688_666_559_897))
        );
        assert_eq!(
            time(&number("1688666559.9999999")),
            Ok(VenueTime(1_688_666_559_999))
        );
        assert_eq!(
            time(&number("1688666559.9")),
            Ok(VenueTime(1_688_666_559_900))
        );
        assert_eq!(time(&number("0")), Ok(VenueTime(0)));
        assert_eq!(
            time(&number("4294967295")),
            Ok(VenueTime(4_294_967_295_000))
        );
        for wrong in ["-1", "1e9", "4294967296", "1.5e3", "-0.5", "1.123e5"] {
            assert!(time(&number(wrong)).is_err(), "{wrong}");
        }
        assert!(time(&text("1688666559")).is_err());
    }
}
