//! Tick and lot of a recording: decimals become whole numbers, exactly or not at all.
//!
//! 2684.49 and 0.194 in a file are 268449 ticks and 194 lots here. A value that is not a multiple of its step is an
//! error.

use std::fmt;

use crate::decimal::Decimal;

/// The size of a tick in quote per base, or of a lot in base: `mantissa` · 10^−`scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    mantissa: u64,
    scale: u8,
    /// Steps in 1, as the nearest float.
    per_one: f64,
}

/// Why a value is not a valid step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Not a number above 0 with at most 18 decimals.
    #[error("must be a number above 0 with at most 18 decimals, such as 0.01")]
    NotAStep,
}

/// Powers of ten that a `u64` holds.
fn power(scale: u8) -> Option<u64> {
    10_u64.checked_pow(u32::from(scale))
}

impl Step {
    /// A step of `mantissa` · 10^−`scale`.
    pub fn new(mantissa: u64, scale: u8) -> Result<Self, StepError> {
        if mantissa == 0 || scale > 18 {
            return Err(StepError::NotAStep);
        }
        let ten = power(scale).ok_or(StepError::NotAStep)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "it is only used to look for a neighbour"
        )]
        let per_one = ten as f64 / mantissa as f64;
        Ok(Self {
            mantissa,
            scale,
            per_one,
        })
    }

    /// Reads a step such as `0.01`.
    pub fn parse(text: &str) -> Result<Self, StepError> {
        let decimal = Decimal::parse(text.as_bytes()).ok_or(StepError::NotAStep)?;
        Self::new(decimal.mantissa, decimal.scale)
    }

    /// The mantissa: the step is this number of 10^−`scale`.
    pub const fn mantissa(self) -> u64 {
        self.mantissa
    }

    /// Decimals of the step.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The number of steps in a decimal, if it is a whole number.
    pub fn count(self, decimal: Decimal) -> Option<u64> {
        // mantissa_d · 10^−scale_d = n · mantissa · 10^−scale
        let value = u128::from(decimal.mantissa);
        let step = u128::from(self.mantissa);
        let (value, step) = if decimal.scale <= self.scale {
            let ten = power(self.scale - decimal.scale)?;
            (value.checked_mul(u128::from(ten))?, step)
        } else {
            let ten = 10_u128.checked_pow(u32::from(decimal.scale - self.scale))?;
            (value, step.checked_mul(ten)?)
        };
        (value % step == 0).then(|| u64::try_from(value / step).ok())?
    }

    /// 2^52: from here on floats have no room for the parts of a step.
    const FLOAT_LIMIT: f64 = 4_503_599_627_370_496.0;

    /// Whether a finite float is more steps than [`Step::count_float`] counts.
    pub fn is_beyond_float(self, value: f64) -> bool {
        value.is_finite() && value * self.per_one >= Self::FLOAT_LIMIT
    }

    /// The number of steps in a float, if the float is that of a decimal on the grid.
    ///
    /// A computed multiple of the step (`268449 * 0.01`), a few last places off, is accepted too: at a million steps
    /// the tolerance is 4·10^−9 of a step. `None` for negative and non-finite values and beyond 2^52 steps.
    #[inline]
    pub fn count_float(self, value: f64) -> Option<u64> {
        /// 2^−48.
        const LAST_PLACES: f64 = 1.0 / 281_474_976_710_656.0;
        let steps = value * self.per_one;
        if !(0.0..Self::FLOAT_LIMIT).contains(&steps) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "between 0 and 2^52"
        )]
        {
            let whole = (steps + 0.5) as i64;
            let apart = (steps - whole as f64).abs();
            (apart <= steps * LAST_PLACES).then_some(whole as u64)
        }
    }

    /// Whether a decimal is more steps than can be counted.
    pub fn is_beyond(self, decimal: Decimal) -> bool {
        let ten = |scale: u8| 10_u128.checked_pow(u32::from(scale));
        let most = u128::from(self.mantissa) * u128::from(u64::MAX);
        let value = u128::from(decimal.mantissa);
        // value · 10^−scale_d > most · 10^−scale, without the powers that both have.
        let less = self.scale.min(decimal.scale);
        let value = ten(self.scale - less).and_then(|ten| value.checked_mul(ten));
        let most = ten(decimal.scale - less).and_then(|ten| most.checked_mul(ten));
        match (value, most) {
            (Some(value), Some(most)) => value > most,
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    /// The value of `count` steps; `None` if it does not fit.
    pub fn value(self, count: u64) -> Option<Decimal> {
        let mut mantissa = self.mantissa.checked_mul(count)?;
        let mut scale = self.scale;
        while scale > 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            scale -= 1;
        }
        Some(Decimal { mantissa, scale })
    }

    /// The value of `count` steps as the nearest float, for other programs.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest float is what is asked for"
    )]
    pub fn to_float(self, count: u64) -> f64 {
        let whole = u128::from(self.mantissa) * u128::from(count);
        whole as f64 / 10_f64.powi(i32::from(self.scale))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Decimal {
            mantissa: self.mantissa,
            scale: self.scale,
        };
        value.fmt(f)
    }
}

/// Tick and lot of one market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Quote per base in one tick.
    pub tick: Step,
    /// Base in one lot.
    pub lot: Step,
}

impl Grid {
    /// Reads tick and lot, as `0.01` and `0.001`.
    pub fn parse(tick: &str, lot: &str) -> Result<Self, StepError> {
        Ok(Self {
            tick: Step::parse(tick)?,
            lot: Step::parse(lot)?,
        })
    }
}

/// Finds the largest step that divides all given values.
///
/// The result holds for these values only: the recording may have a smaller step than a few rows show. Readers verify
/// every row against the given step, so that a wrong one is detected.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepFinder {
    divisor: u64,
    scale: u8,
    unsuitable: bool,
}

impl StepFinder {
    /// Adds a value.
    pub fn decimal(&mut self, value: Decimal) {
        let scale = self.scale.max(value.scale);
        let raise = |mantissa: u64, from: u8| power(scale - from)?.checked_mul(mantissa);
        match (
            raise(self.divisor, self.scale),
            raise(value.mantissa, value.scale),
        ) {
            (Some(divisor), Some(mantissa)) => {
                self.divisor = greatest_common_divisor(divisor, mantissa);
                self.scale = scale;
            }
            _ => self.unsuitable = true,
        }
    }

    /// Adds the float of a decimal with at most 12 decimals.
    pub fn float(&mut self, value: f64) {
        let decimal = (self.scale..=12).chain(0..self.scale).find_map(|scale| {
            let mantissa = Step::new(1, scale).ok()?.count_float(value)?;
            Some(Decimal { mantissa, scale })
        });
        match decimal {
            Some(decimal) => self.decimal(decimal),
            None => self.unsuitable = true,
        }
    }

    /// The step; `None` if there was no value above 0, or one that is on no decimal grid.
    pub fn step(self) -> Option<Step> {
        if self.unsuitable || self.divisor == 0 {
            return None;
        }
        let (mut mantissa, mut scale) = (self.divisor, self.scale);
        while scale > 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            scale -= 1;
        }
        Step::new(mantissa, scale).ok()
    }
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    fn step(text: &str) -> Step {
        Step::parse(text).unwrap()
    }

    fn count(step_text: &str, value: &str) -> Option<u64> {
        step(step_text).count(Decimal::parse(value.as_bytes()).unwrap())
    }

    #[test]
    fn decimals_on_the_grid_are_counted_and_others_are_not() {
        assert_eq!(count("0.01", "2684.49"), Some(268_449));
        assert_eq!(count("0.01", "2684"), Some(268_400));
        assert_eq!(count("0.05", "1.15"), Some(23));
        assert_eq!(count("0.05", "1.17"), None);
        assert_eq!(count("0.01", "2684.495"), None);
        assert_eq!(count("25", "100"), Some(4));
        assert_eq!(count("25", "110"), None);
        assert_eq!(count("0.01", "0"), Some(0));
        assert_eq!(
            count("0.000000000000000001", "18.446744073709551615"),
            Some(u64::MAX)
        );
        assert_eq!(count("0.000000000000000001", "19"), None);
    }

    #[test]
    fn floats_count_as_the_decimal_they_were() {
        let tick = step("0.01");
        for n in (1..3_000_000_u64).step_by(7) {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let (parsed, computed) = (n as f64 / 100.0, n as f64 * 0.01);
            assert_eq!(tick.count_float(parsed), Some(n));
            assert_eq!(tick.count_float(computed), Some(n));
            assert_eq!(tick.count_float(parsed + 0.000_001), None, "{n}");
            assert_eq!(tick.count_float(parsed - 0.000_001), None, "{n}");
            assert!((tick.to_float(n) - parsed).abs() == 0.0);
        }
        for bad in [-0.01, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e15] {
            assert_eq!(tick.count_float(bad), None, "{bad}");
        }
        assert_eq!(tick.count_float(0.0), Some(0));
        assert_eq!(step("0.05").count_float(1.17), None);
    }

    #[test]
    fn invalid_steps_are_refused() {
        for bad in ["0", "-0.01", "", "x", "0.0000000000000000001"] {
            assert_eq!(Step::parse(bad), Err(StepError::NotAStep), "{bad}");
        }
    }

    #[test]
    fn steps_are_found_in_values() {
        let found = |values: &[&str]| {
            let mut finder = StepFinder::default();
            for value in values {
                finder.decimal(Decimal::parse(value.as_bytes()).unwrap());
            }
            finder.step().map(|step| step.to_string())
        };
        assert_eq!(found(&["2684.49", "2684.5", "0"]).as_deref(), Some("0.01"));
        assert_eq!(found(&["1.25", "1.5", "2"]).as_deref(), Some("0.25"));
        assert_eq!(found(&["100", "350"]).as_deref(), Some("50"));
        assert_eq!(found(&["0", "0"]), None);
        assert_eq!(
            found(&["0.000000000000000001", "18446744073709551615"]),
            None
        );
        let mut floats = StepFinder::default();
        for n in [100_283_u32, 100_284, 7] {
            floats.float(f64::from(n) * 0.01);
        }
        assert_eq!(floats.step().unwrap().to_string(), "0.01");
        floats.float(std::f64::consts::PI);
        assert_eq!(floats.step(), None);
    }

    #[test]
    fn a_count_is_written_as_its_decimal() {
        assert_eq!(step("0.01").value(268_450).unwrap().to_string(), "2684.5");
        assert_eq!(step("0.05").value(0).unwrap().to_string(), "0");
        assert_eq!(step("0.05").value(u64::MAX), None);
    }
}
