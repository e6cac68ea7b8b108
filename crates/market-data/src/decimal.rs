//! Decimal numbers as text, converted exactly, without floats.

use std::fmt;

/// A number ≥ 0 as a whole number of 10^−`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Whole number of 10^−`scale`.
    pub mantissa: u64,
    /// Decimals, at most [`Decimal::MAX_SCALE`].
    pub scale: u8,
}

impl Decimal {
    /// More decimals than any market has; sufficient for tokens with 18 decimals.
    pub const MAX_SCALE: u8 = 30;

    /// Parses `12`, `+12.50`, `.5` or `1.25e-05`; trailing zeros after the point are dropped. `None` for a minus sign,
    /// for text that is not a number, and for a number that does not fit.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(b"+").unwrap_or(text);
        let (number, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            None => (text, 0),
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        };
        let mut mantissa: u64 = 0;
        let mut scale: i32 = 0;
        let mut digits = 0;
        let mut after_point = false;
        // Zeros are counted only when another digit follows, so that 0.100000000000000000000 fits.
        let mut zeros: u32 = 0;
        for byte in number {
            match byte {
                b'.' if !after_point => after_point = true,
                b'0' if after_point => {
                    zeros += 1;
                    digits += 1;
                }
                b'0'..=b'9' => {
                    digits += 1;
                    let shift = 10_u64.checked_pow(zeros + 1)?;
                    mantissa = mantissa
                        .checked_mul(shift)?
                        .checked_add(u64::from(byte - b'0'))?;
                    if after_point {
                        scale += i32::try_from(zeros).ok()? + 1;
                    }
                    zeros = 0;
                }
                _ => return None,
            }
        }
        if digits == 0 {
            return None;
        }
        scale -= exponent;
        if mantissa == 0 {
            return Some(Self {
                mantissa: 0,
                scale: 0,
            });
        }
        if scale < 0 {
            mantissa = mantissa.checked_mul(10_u64.checked_pow(scale.unsigned_abs())?)?;
            scale = 0;
        }
        // An exponent may have left zeros at the end.
        while scale > 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            scale -= 1;
        }
        let scale = u8::try_from(scale).ok()?;
        (scale <= Self::MAX_SCALE).then_some(Self { mantissa, scale })
    }
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let sound = (1..=3).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    let value = sound.then(|| digits.iter().fold(0, |n, d| n * 10 + i32::from(d - b'0')))?;
    Some(if negative { -value } else { value })
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>1$}", self.mantissa, usize::from(self.scale) + 1);
        let (whole, decimals) = digits.split_at(digits.len() - usize::from(self.scale));
        f.write_str(whole)?;
        if !decimals.is_empty() {
            write!(f, ".{decimals}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_exactly() {
        for (text, mantissa, scale) in [
            ("12", 12, 0),
            ("012.50", 125, 1),
            (".5", 5, 1),
            ("+12.50", 125, 1),
            ("7.", 7, 0),
            ("0", 0, 0),
            ("0.000", 0, 0),
            ("1.25e-05", 125, 7),
            ("1e3", 1_000, 0),
            ("1.5E+1", 15, 0),
            ("2.50e1", 25, 0),
            ("100e-2", 1, 0),
            ("0.100000000000000000000000000000", 1, 1),
            ("18446744073709551615", u64::MAX, 0),
            ("2684.490000000001", 2_684_490_000_000_001, 12),
        ] {
            let expected = Decimal { mantissa, scale };
            assert_eq!(Decimal::parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn invalid_numbers_are_refused() {
        for text in [
            "",
            ".",
            "-1",
            "+",
            "++1",
            "+-1",
            "1,5",
            "1.2.3",
            "nan",
            "inf",
            "1e",
            "1e-",
            "1e1000",
            "1 ",
            "0x1",
            "18446744073709551616",
            "1e20",
            "1e-31",
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_number_is_written_as_it_is_read() {
        for text in ["0", "12", "12.5", "0.05", "0.0000125"] {
            let number = Decimal::parse(text.as_bytes());
            assert_eq!(number.map(|n| n.to_string()).as_deref(), Some(text));
        }
    }
}
