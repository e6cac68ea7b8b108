//! Exact conversion of cells: times, versions, sides, ticks and lots.

use cambist_core::Side;

use super::column::Cell;
use crate::decimal::Decimal;
use crate::defect::Defect;
use crate::grid::Step;
use crate::time::{TimeUnit, Timestamp, WITH_ZONE};
use crate::units::Unit;

/// A point in time; `unit` applies to columns of integers.
pub fn time(cell: Cell<'_>, name: &str, unit: Option<TimeUnit>) -> Result<Timestamp, Defect> {
    let nanos = match (cell, unit) {
        (Cell::Nanos(nanos), _) => Some(nanos),
        (Cell::Whole { value, scale: 0 }, Some(unit)) => i64::try_from(value)
            .ok()
            .and_then(|value| value.checked_mul(unit.nanos())),
        (Cell::Text(text), _) => std::str::from_utf8(text)
            .ok()
            .and_then(Timestamp::from_rfc3339)
            .map(|time| time.0),
        _ => None,
    };
    nanos
        .filter(|nanos| *nanos >= 0)
        .map(Timestamp)
        .ok_or_else(|| {
            let must = match cell {
                Cell::Text(text) if std::str::from_utf8(text).is_ok_and(Timestamp::lacks_zone) => {
                    WITH_ZONE
                }
                _ => {
                    "a point in time since 1970: a timestamp, a whole number with its unit in the \
                         column's name, or a text such as 2024-08-08T23:54:16.302Z"
                }
            };
            bad(name, cell, must)
        })
}

/// A version of the book.
pub fn sequence(cell: Cell<'_>) -> Result<u64, Defect> {
    let version = match cell {
        Cell::Whole { value, scale: 0 } => u64::try_from(value).ok(),
        _ => None,
    };
    version.ok_or_else(|| bad("sequence", cell, "a whole number from 0"))
}

/// A side.
pub fn side(cell: Cell<'_>) -> Result<Side, Defect> {
    match cell {
        Cell::Text(b"bid" | b"buy") => Ok(Side::Buy),
        Cell::Text(b"ask" | b"sell") => Ok(Side::Sell),
        _ => Err(bad("side", cell, "bid or ask")),
    }
}

/// A price in ticks or a quantity in lots.
pub fn count(
    cell: Cell<'_>,
    unit: Unit,
    step: Step,
    step_name: &str,
    name: impl Fn() -> String,
) -> Result<u64, Defect> {
    const MUST: &str = "a number above 0";
    let count = match (unit, cell) {
        (Unit::Steps, Cell::Whole { value, scale: 0 }) => u64::try_from(value).ok(),
        (Unit::Decimal, _) => match of_decimal(cell, step) {
            Some(OnGrid::Count(count)) => Some(count),
            Some(OnGrid::Off) => {
                return Err(Defect::OffGrid {
                    column: name(),
                    value: text(cell),
                    step: format!("the {step_name} {step}"),
                });
            }
            None => None,
        },
        _ => None,
    };
    count
        .filter(|count| *count > 0)
        .ok_or_else(|| bad(&name(), cell, MUST))
}

enum OnGrid {
    Count(u64),
    Off,
}

/// `None` if the cell is not a non-negative number.
fn of_decimal(cell: Cell<'_>, step: Step) -> Option<OnGrid> {
    let count = match cell {
        Cell::Float(value) if value.is_finite() && value >= 0.0 => step.count_float(value),
        Cell::Whole { value, scale } => {
            let mantissa = u64::try_from(value).ok()?;
            step.count(Decimal { mantissa, scale })
        }
        Cell::Text(text) => step.count(Decimal::parse(text)?),
        _ => return None,
    };
    Some(count.map_or(OnGrid::Off, OnGrid::Count))
}

/// Adds a value of a price or quantity column to a step finder.
pub fn learn(cell: Cell<'_>, finder: &mut crate::grid::StepFinder) {
    match cell {
        Cell::Float(value) => finder.float(value),
        Cell::Whole { value, scale } => {
            if let Ok(mantissa) = u64::try_from(value) {
                finder.decimal(Decimal { mantissa, scale });
            }
        }
        Cell::Text(text) => {
            if let Some(value) = Decimal::parse(text) {
                finder.decimal(value);
            }
        }
        Cell::Null | Cell::Nanos(_) => {}
    }
}

/// Whether a level is absent: a null, or NaN, as pandas writes it.
pub fn is_empty(cell: Cell<'_>) -> bool {
    match cell {
        Cell::Null => true,
        Cell::Float(value) => value.is_nan(),
        _ => false,
    }
}

pub fn bad(column: &str, cell: Cell<'_>, must: &'static str) -> Defect {
    Defect::BadValue {
        column: column.to_owned(),
        value: text(cell),
        must,
    }
}

fn text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Null => "missing".to_owned(),
        Cell::Whole { value, scale: 0 } => value.to_string(),
        Cell::Whole { value, scale } => format!("{value}e-{scale}"),
        Cell::Float(value) => value.to_string(),
        Cell::Text(text) => String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned(),
        Cell::Nanos(nanos) => Timestamp(nanos).to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    #[test]
    fn a_text_without_a_zone_is_refused_with_the_remedy() {
        let read = |text: &str| time(Cell::Text(text.as_bytes()), "time", None);
        let whole = read("2024-08-08 23:54:16+00:00").unwrap();
        assert_eq!(whole, Timestamp(1_723_161_256_000_000_000));
        let error = read("2024-08-08 23:54:16").unwrap_err().to_string();
        assert!(error.contains("append Z or +00:00"), "{error}");
        let error = read("yesterday").unwrap_err().to_string();
        assert!(error.contains("a point in time since 1970"), "{error}");
    }
}
