//! Exact numbers of any size: integers, decimals, fractions.

use cambist_quant::Exact;
use num_bigint::{BigInt, Sign};

/// Most digits of a stated result; averages over many fills have thousands.
const DIGITS_MAX: usize = 100_000;

/// Most digits of an input; the largest in use have 77.
const INPUT_DIGITS_MAX: usize = 400;

/// Largest power of ten.
const POWER_MAX: u32 = 400;

/// As [`rational`], with the digits of an input.
pub(super) fn input(text: &str) -> Option<Exact> {
    rational(text).filter(|_| text.len() <= INPUT_DIGITS_MAX)
}

/// Parses `12`, `-1.25`, `3e-5` or `7/3`. `None` for anything else.
pub(super) fn rational(text: &str) -> Option<Exact> {
    if text.len() > DIGITS_MAX {
        return None;
    }
    if let Some((numerator, denominator)) = text.split_once('/') {
        let (numerator, denominator) = (whole(numerator)?, whole(denominator)?);
        let is_positive = denominator.sign() == Sign::Plus;
        return is_positive.then(|| Exact::new(numerator, denominator));
    }
    let (digits, power) = match text.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    if !after.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = Exact::from_integer(whole(&format!("{before}{after}"))?);
    let power = power.checked_sub(i32::try_from(after.len()).ok()?)?;
    let scale =
        |power: u32| (power <= POWER_MAX).then(|| Exact::from_integer(BigInt::from(10).pow(power)));
    if power < 0 {
        Some(value / scale(power.unsigned_abs())?)
    } else {
        Some(value * scale(power.unsigned_abs())?)
    }
}

/// A whole number with an optional minus.
fn whole(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}
