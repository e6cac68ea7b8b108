//! Amounts and prices as written in configuration files: `"0.5"`, `"0.5 ETH"`. A value converts exactly or is refused;
//! nothing is rounded.
//!
//! Decimals exist here and in reports only; everything else uses integers.

use cambist_core::{Amount, MarketSpec, Price, Qty, TokenSpec};
use rust_decimal::Decimal;
use toml::de::DeValue;

use crate::keys::Shape;
use crate::reader::Read;

/// A non-negative decimal with an optional token symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Money {
    /// The number.
    pub number: Decimal,
    /// The token's symbol, if one was written.
    pub symbol: Option<String>,
}

/// Why an amount cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// The symbol is that of another token.
    #[error("is in {written}, but this key is in {wanted}")]
    Symbol {
        /// The symbol as written.
        written: String,
        /// The symbol that the key requires.
        wanted: String,
    },
    /// More decimals than the unit has.
    #[error("{number} has more than the {decimals} decimals of {what}")]
    Digits {
        /// The number as written.
        number: Decimal,
        /// Most decimals allowed.
        decimals: u8,
        /// The token or price that the number is an amount of.
        what: String,
    },
    /// The result does not fit into an integer amount.
    #[error("{0} is too large")]
    TooLarge(Decimal),
}

impl Money {
    /// Parses the strict grammar: no sign, exponent, leading zero or separator.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, symbol) = match text.split_once(' ') {
            Some((number, symbol)) => (number, Some(symbol)),
            None => (text, None),
        };
        let known = |symbol: &str| {
            (1..=16).contains(&symbol.len()) && symbol.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        if symbol.is_some_and(|symbol| !known(symbol)) {
            return None;
        }
        Some(Self {
            number: decimal(number)?,
            symbol: symbol.map(str::to_owned),
        })
    }

    /// Converts to base units of a token.
    pub fn units(&self, token: &TokenSpec) -> Result<Amount, MoneyError> {
        self.check_symbol(&token.symbol)?;
        scaled(self.number, token.decimals, &token.symbol)
    }

    /// Refuses the symbol of another token. An amount without a symbol is accepted.
    pub fn check_symbol(&self, wanted: &str) -> Result<(), MoneyError> {
        match &self.symbol {
            Some(written) if written != wanted => Err(MoneyError::Symbol {
                written: written.clone(),
                wanted: wanted.to_owned(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Converts to ticks of a market.
    pub fn price(&self, market: &MarketSpec) -> Result<Price, MoneyError> {
        self.check_symbol(&market.quote.symbol)?;
        let what = format!("the price of {}", market.name);
        let ticks = scaled(self.number, market.price_decimals, &what)?;
        u64::try_from(ticks)
            .map(Price)
            .map_err(|_| MoneyError::TooLarge(self.number))
    }

    /// Converts to whole lots of a market, rounded down.
    pub fn lots(&self, market: &MarketSpec) -> Result<Qty, MoneyError> {
        Ok(market.lots_floor(self.units(&market.base)?))
    }
}

/// Parses a decimal by the strict grammar.
pub fn decimal(text: &str) -> Option<Decimal> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if text.len() > 40 || leading_zero || !digits(whole) || !fraction.is_none_or(digits) {
        return None;
    }
    Decimal::from_str_exact(text).ok()
}

/// `number × 10^decimals` as a whole number.
fn scaled(number: Decimal, decimals: u8, what: &str) -> Result<Amount, MoneyError> {
    let number = number.normalize();
    let spare = u32::from(decimals)
        .checked_sub(number.scale())
        .ok_or_else(|| MoneyError::Digits {
            number,
            decimals,
            what: what.to_owned(),
        })?;
    10u128
        .checked_pow(spare)
        .and_then(|power| number.mantissa().unsigned_abs().checked_mul(power))
        .ok_or(MoneyError::TooLarge(number))
}

/// Formats an amount in base units as whole tokens with a decimal point.
pub fn whole(amount: Amount, decimals: u8) -> String {
    cambist_core::math::decimal(amount, decimals)
}

/// A price in whole quote tokens, for display.
pub fn price(spec: &MarketSpec, price: Price) -> String {
    whole(price.0.into(), spec.price_decimals)
}

/// A middle in half ticks as a price, for display.
pub fn mid_text(spec: &MarketSpec, half_ticks: u64) -> String {
    whole(u128::from(half_ticks) * 5, spec.price_decimals + 1)
}

/// A quantity in whole base tokens, for display.
pub fn quantity(spec: &MarketSpec, qty: Qty) -> String {
    let units = u128::from(qty.0).saturating_mul(spec.lot);
    whole(units, spec.base.decimals)
}

impl Read for Money {
    const WHAT: &'static str =
        "an amount in quotes such as \"0.5\" or \"0.5 ETH\" (no sign, exponent or separator)";
    const SHAPE: Shape = Shape::Amount;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    fn in_toml(&self) -> Option<String> {
        Some(format!("\"{}\"", self.number))
    }
}

impl Read for Vec<Money> {
    const WHAT: &'static str =
        "an amount in quotes such as \"50 USDC\", or a list of them, one for each token";
    const SHAPE: Shape = Shape::Amounts;

    fn read(value: &DeValue<'_>) -> Option<Self> {
        if let Some(one) = Money::read(value) {
            return Some(vec![one]);
        }
        let items = value.as_array()?.iter();
        items.map(|item| Money::read(item.get_ref())).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::TokenId;

    use super::*;

    fn token(decimals: u8) -> TokenSpec {
        TokenSpec {
            id: TokenId(1),
            symbol: "USDC".to_owned(),
            decimals,
            precision: decimals,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        }
    }

    #[test]
    fn the_grammar_is_strict() {
        for bad in [
            "",
            ".5",
            "5.",
            "+5",
            "-5",
            "1e3",
            "1_000",
            "05",
            "00",
            "0x5",
            " 5",
            "5 ",
            "5  ETH",
            "5 E-H",
            "٥",
            "1,5",
            "79228162514264337593543950336",
        ] {
            assert_eq!(Money::parse(bad), None, "{bad}");
        }
        for good in ["0", "0.5", "10", "10.250", "1 ETH"] {
            assert!(Money::parse(good).is_some(), "{good}");
        }
    }

    #[test]
    fn conversion_is_exact_or_refused() {
        let usdc = token(6);
        let units = |text: &str| Money::parse(text).unwrap().units(&usdc);
        assert_eq!(units("0.5"), Ok(500_000));
        assert_eq!(units("2500.000000000 USDC"), Ok(2_500_000_000));
        assert!(matches!(
            units("0.0000001"),
            Err(MoneyError::Digits { decimals: 6, .. })
        ));
        assert!(matches!(units("1 ETH"), Err(MoneyError::Symbol { .. })));
        let wide = token(38);
        let large = Money::parse("10000000000000").unwrap();
        assert!(matches!(large.units(&wide), Err(MoneyError::TooLarge(_))));
    }

    #[test]
    fn whole_tokens_are_printed_without_loss() {
        assert_eq!(whole(1_500_000, 6), "1.5");
        assert_eq!(whole(1, 18), "0.000000000000000001");
        assert_eq!(whole(7, 0), "7");
        assert_eq!(whole(2_000_000, 6), "2");
    }
}
