//! An exact amount of a token as a fraction of base units, with its text and its float.

use std::fmt;

/// `numerator / denominator` base units of a token with `decimals` decimals.
///
/// The denominator has no prime factors but 2 and 5 (it comes from lots and half ticks), so that the decimal text is
/// finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money {
    /// Signed numerator.
    pub numerator: i128,
    /// Denominator, never zero.
    pub denominator: u64,
    /// Decimals of the token's base unit.
    pub decimals: u8,
}

impl Money {
    /// Nothing.
    pub const fn zero(decimals: u8) -> Self {
        Self {
            numerator: 0,
            denominator: 1,
            decimals,
        }
    }

    /// The sum of two amounts of one token. `None` on overflow or if the decimals differ.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.decimals != other.decimals {
            return None;
        }
        let divisor = greatest_divisor(self.denominator.into(), other.denominator.into());
        let common = u128::from(self.denominator) / divisor * u128::from(other.denominator);
        let denominator = u64::try_from(common).ok()?;
        let raised = |part: Self| {
            part.numerator
                .checked_mul(i128::from(denominator / part.denominator))
        };
        Some(Self {
            numerator: raised(self)?.checked_add(raised(other)?)?,
            denominator,
            decimals: self.decimals,
        })
    }

    /// The difference of two amounts of one token. `None` on overflow or if the decimals differ.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(other.negated()?)
    }

    /// The amount with the other sign.
    pub(crate) fn negated(self) -> Option<Self> {
        let numerator = self.numerator.checked_neg()?;
        Some(Self { numerator, ..self })
    }

    /// Whole tokens as the nearest float, for JSON.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(0.0)
    }

    /// The digits and the number of decimal places; `None` on overflow.
    fn digits(self) -> Option<(i128, usize)> {
        let mut numerator = self.numerator;
        let mut places = usize::from(self.decimals);
        let mut rest = u128::from(self.denominator);
        while rest > 1 {
            // One more decimal place removes one factor 2 and one factor 5 from the denominator.
            numerator = numerator.checked_mul(10)?;
            let divisor = greatest_divisor(rest, 10);
            if divisor == 1 {
                return None;
            }
            rest /= divisor;
            numerator /= i128::try_from(divisor).ok()?;
            places += 1;
        }
        Some((numerator, places))
    }
}

impl fmt::Display for Money {
    /// Whole tokens, exact, without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((digits, places)) = self.digits() else {
            return f.write_str("uncounted");
        };
        let text = decimal_text(digits.unsigned_abs(), places, places);
        let sign = if digits < 0 { "-" } else { "" };
        write!(f, "{sign}{text}")
    }
}

/// `units` with `decimals` decimals as whole tokens, truncated after `places` places, without trailing zeros.
pub fn decimal_text(units: u128, decimals: usize, places: usize) -> String {
    let padded = format!("{units:0>width$}", width = decimals + 1);
    let (whole, part) = padded.split_at(padded.len() - decimals);
    let part = part.get(..places).unwrap_or(part).trim_end_matches('0');
    if part.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{part}")
    }
}

/// As `decimal_text`, with exactly `places` places.
pub fn fixed_text(units: u128, decimals: usize, places: usize) -> String {
    let text = decimal_text(units, decimals, places);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    if places == 0 {
        whole.to_owned()
    } else {
        format!("{whole}.{part:0<places$}")
    }
}

/// Greatest common divisor.
pub(crate) fn greatest_divisor(mut one: u128, mut two: u128) -> u128 {
    while two != 0 {
        (one, two) = (two, one % two);
    }
    one
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn text_is_exact_and_short() {
        let money = |numerator, denominator| Money {
            numerator,
            denominator,
            decimals: 6,
        };
        for (numerator, denominator, text) in [
            (0, 1, "0"),
            (1, 1, "0.000001"),
            (-1_500_000, 1, "-1.5"),
            (1, 200, "0.000000005"),
            (-3, 8, "-0.000000375"),
            (200_000_000, 200, "1"),
            (1, 3, "uncounted"),
        ] {
            assert_eq!(money(numerator, denominator).to_string(), text);
        }
        assert_eq!(
            money(-1_250_000, 1).to_f64().to_bits(),
            (-1.25f64).to_bits()
        );
        let sum = money(1, 200).checked_add(money(1, 8)).unwrap();
        assert_eq!(sum.to_string(), "0.00000013");
        let difference = money(1, 200).checked_sub(money(1, 8)).unwrap();
        assert_eq!(difference.to_string(), "-0.00000012");
        assert_eq!(money(i128::MAX, 1).checked_add(money(1, 1)), None);
        assert_eq!(Money::zero(5).checked_add(money(1, 1)), None);
    }

    #[test]
    fn cutting_never_rounds_up() {
        assert_eq!(decimal_text(1_999_999, 6, 2), "1.99");
        assert_eq!(decimal_text(5, 0, 2), "5");
        assert_eq!(decimal_text(5, 6, 2), "0");
        assert_eq!(fixed_text(1_500_000, 6, 2), "1.50");
        assert_eq!(fixed_text(2_000_000, 6, 0), "2");
        assert_eq!(fixed_text(5, 0, 2), "5.00");
    }
}
