//! Conversion of configured values (whole tokens, decimal prices) to lots and ticks, exactly, with the rounding
//! direction in the function's name.

use cambist_core::{Amount, MarketSpec, Price, Qty};
use rust_decimal::Decimal;

use crate::parameter::{ParamError, Params};

/// Whole base tokens under `name` as lots, rounded down. A positive amount below one lot is an error, because it would
/// have no effect.
pub fn lots_floor(params: &Params, name: &str, market: &MarketSpec) -> Result<Qty, ParamError> {
    let tokens = params.decimal(name)?;
    let lots = floor_scaled(tokens, u32::from(market.base.decimals))
        .map(|units| units / market.lot)
        .and_then(|lots| u64::try_from(lots).ok())
        .ok_or_else(|| {
            params.conflict(name, format!("{tokens} {} is too much", market.base.symbol))
        })?;
    if lots == 0 && !tokens.is_zero() {
        return Err(params.conflict(
            name,
            format!(
                "{tokens} {} is less than one lot of {} ({})",
                market.base.symbol,
                market.name,
                whole_tokens(market.lot, market.base.decimals)
            ),
        ));
    }
    Ok(Qty(lots))
}

/// Whole base tokens under `name` in base units, rounded down to whole lots.
pub fn base_floor(params: &Params, name: &str, market: &MarketSpec) -> Result<Amount, ParamError> {
    let lots = lots_floor(params, name, market)?;
    Ok(market.base_amount(lots).unwrap_or(Amount::MAX))
}

/// Whole quote tokens under `name` in base units, rounded down.
pub fn quote_floor(params: &Params, name: &str, market: &MarketSpec) -> Result<Amount, ParamError> {
    let tokens = params.decimal(name)?;
    floor_scaled(tokens, u32::from(market.quote.decimals)).ok_or_else(|| {
        params.conflict(
            name,
            format!("{tokens} {} is too much", market.quote.symbol),
        )
    })
}

/// A price under `name` in ticks, rounded down.
pub fn ticks_floor(params: &Params, name: &str, market: &MarketSpec) -> Result<Price, ParamError> {
    let price = params.decimal(name)?;
    floor_scaled(price, u32::from(market.price_decimals))
        .and_then(|ticks| u64::try_from(ticks).ok())
        .map(Price)
        .ok_or_else(|| params.conflict(name, format!("price {price} is too high")))
}

/// A price under `name` in ticks, rounded up.
pub fn ticks_ceil(params: &Params, name: &str, market: &MarketSpec) -> Result<Price, ParamError> {
    let price = params.decimal(name)?;
    let down = ticks_floor(params, name, market)?;
    let exact = price.normalize().scale() <= u32::from(market.price_decimals);
    Ok(if exact { down } else { Price(down.0 + 1) })
}

/// A number under `name` for a model: the nearest float.
pub fn float(params: &Params, name: &str) -> Result<f64, ParamError> {
    let text = params.decimal(name)?.to_string();
    text.parse()
        .map_err(|_| params.conflict(name, format!("{text} is not a number")))
}

/// A non-negative decimal times 10^`shift`, rounded down; integers throughout.
fn floor_scaled(value: Decimal, shift: u32) -> Option<u128> {
    let value = value.normalize();
    let digits = u128::try_from(value.mantissa()).ok()?;
    if shift >= value.scale() {
        digits.checked_mul(10u128.checked_pow(shift - value.scale())?)
    } else {
        Some(digits / 10u128.checked_pow(value.scale() - shift)?)
    }
}

/// An amount in base units as decimal text in whole tokens.
fn whole_tokens(units: u128, decimals: u8) -> String {
    i128::try_from(units)
        .ok()
        .and_then(|units| Decimal::try_from_i128_with_scale(units, u32::from(decimals)).ok())
        .map_or_else(
            || format!("{units} units"),
            |tokens| tokens.normalize().to_string(),
        )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::parameter::{Kind, Looser, Parameter};
    use crate::testing::market;

    const DECLARED: &[Parameter] = &[Parameter {
        name: "amount",
        unit: "",
        kind: Kind::Decimal {
            min: "0",
            max: "1000000000",
        },
        default: None,
        looser: Looser::Never,
        meaning: "A number.",
    }];

    fn read(value: &str) -> Result<Params, ParamError> {
        Params::read(DECLARED, &format!("amount = {value}").parse().unwrap())
    }

    #[test]
    fn decimals_are_read_exactly() {
        let market = market();
        for (value, lots, down, up) in [
            ("1", 10_000, 100, 100),
            ("0.3", 3_000, 30, 30),
            ("\"0.3\"", 3_000, 30, 30),
            ("1.00019", 10_001, 100, 101),
            ("123456.789", 1_234_567_890, 12_345_678, 12_345_679),
            ("0", 0, 0, 0),
            ("\"1.50\"", 15_000, 150, 150),
        ] {
            let params = read(value).unwrap();
            assert_eq!(
                lots_floor(&params, "amount", &market),
                Ok(Qty(lots)),
                "{value}"
            );
            assert_eq!(
                ticks_floor(&params, "amount", &market),
                Ok(Price(down)),
                "{value}"
            );
            assert_eq!(
                ticks_ceil(&params, "amount", &market),
                Ok(Price(up)),
                "{value}"
            );
        }
    }

    #[test]
    fn non_decimal_values_are_refused() {
        for (value, message) in [
            (
                "-1",
                "amount: -1 is out of range, allowed is 0 to 1000000000",
            ),
            (
                "1000000000.1",
                "amount: 1000000000.1 is out of range, allowed is 0 to 1000000000",
            ),
            (
                "true",
                "amount: expected a decimal number, found boolean true",
            ),
            ("nan", "amount: expected a decimal number, found float NaN"),
            ("inf", "amount: expected a decimal number, found float inf"),
            (
                "\"1e3\"",
                "amount: expected a decimal number, found string \"1e3\"",
            ),
            (
                "\"+1\"",
                "amount: expected a decimal number, found string \"+1\"",
            ),
            (
                "\"1_0\"",
                "amount: expected a decimal number, found string \"1_0\"",
            ),
            (
                "\".5\"",
                "amount: expected a decimal number, found string \".5\"",
            ),
            (
                "\"5.\"",
                "amount: expected a decimal number, found string \"5.\"",
            ),
            (
                "\"\"",
                "amount: expected a decimal number, found string \"\"",
            ),
            (
                "[1]",
                "amount: expected a decimal number, found array of 1 entries",
            ),
        ] {
            assert_eq!(read(value).unwrap_err().to_string(), message);
        }
        let missing = Params::read(DECLARED, &toml::Table::new()).unwrap_err();
        assert_eq!(missing.to_string(), "amount: must be given");
        let undeclared = read("1").unwrap().whole("amount").unwrap_err();
        assert_eq!(undeclared.problem, crate::parameter::Problem::Undeclared);
    }
}
