//! The two decimal floating-point encodings of amounts on chain. (Clause: matching, fees, rounding.)
//!
//! An encoded amount is mantissa · 10^exponent; encoding rounds down. Signed amounts need not be representable.

use crate::error::SignError;

/// A float encoding: five bits of exponent above some bits of mantissa.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatEncoding {
    mantissa_bits: u32,
}

/// For fills and transferred amounts: 19 bits of mantissa, relative error up to 2·10⁻⁵.
pub const FLOAT24: FloatEncoding = FloatEncoding { mantissa_bits: 19 };
/// For fees: 11 bits of mantissa, relative error up to 5·10⁻³.
pub const FLOAT16: FloatEncoding = FloatEncoding { mantissa_bits: 11 };

const EXPONENT_BITS: u32 = 5;

impl FloatEncoding {
    /// The amount encoded, rounded down, with the smallest exponent whose largest mantissa is not below it.
    ///
    /// # Errors
    /// [`SignError::FloatRange`] if the amount needs a larger exponent than there is.
    pub fn encode(self, amount: u128) -> Result<u32, SignError> {
        // An amount just above the largest mantissa of an exponent uses the next exponent, although its quotient would
        // fit.
        let largest = (1_u128 << self.mantissa_bits) - 1;
        let exponent =
            (0..1_u32 << EXPONENT_BITS).find(|exponent| amount <= largest * 10_u128.pow(*exponent));
        let exponent = exponent.ok_or(SignError::FloatRange)?;
        let mantissa =
            u32::try_from(amount / 10_u128.pow(exponent)).map_err(|_| SignError::FloatRange)?;
        Ok(exponent << self.mantissa_bits | mantissa)
    }

    /// The amount of an encoded number.
    ///
    /// # Errors
    /// [`SignError::FloatRange`] if the number has more bits than the encoding.
    pub fn decode(self, encoded: u32) -> Result<u128, SignError> {
        if encoded >> (self.mantissa_bits + EXPONENT_BITS) != 0 {
            return Err(SignError::FloatRange);
        }
        let exponent = encoded >> self.mantissa_bits;
        let mantissa = encoded & ((1 << self.mantissa_bits) - 1);
        // At most 2^19 · 10^31 < 2^123.
        Ok(u128::from(mantissa) * 10_u128.pow(exponent))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::samples::Samples;

    #[test]
    fn encoding_rounds_down_within_the_stated_error() {
        let mut samples = Samples::new(6);
        for shift in 0..96 {
            let amount =
                (u128::from(samples.bits()) << 64 | u128::from(samples.bits())) >> (32 + shift);
            for (encoding, error) in [(FLOAT24, 50_000), (FLOAT16, 200)] {
                let decoded = encoding.decode(encoding.encode(amount).unwrap()).unwrap();
                assert!(
                    decoded <= amount && (amount - decoded) <= amount / error,
                    "{amount}"
                );
                assert_eq!(
                    encoding.decode(encoding.encode(decoded).unwrap()).unwrap(),
                    decoded
                );
            }
        }
    }

    #[test]
    fn out_of_range_is_an_error() {
        assert_eq!(FLOAT24.encode(u128::MAX), Err(SignError::FloatRange));
        assert_eq!(FLOAT24.decode(1 << 24), Err(SignError::FloatRange));
        assert_eq!(FLOAT16.decode(1 << 16), Err(SignError::FloatRange));
        assert_eq!(
            FLOAT24.decode((1 << 24) - 1).unwrap(),
            524_287 * 10_u128.pow(31)
        );
    }
}
