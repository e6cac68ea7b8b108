//! Exact parsing of a row's cells: times, prices, quantities.

use cambist_core::Side;

use super::level;
use crate::columns::Columns;
use crate::decimal::Decimal;
use crate::defect::Defect;
use crate::grid::{Grid, Step};
use crate::snapshot::{Level, Snapshot};
use crate::time::{TimeUnit, Timestamp, WITH_ZONE};
use crate::units::{Unit, Units};
use ::csv::ByteRecord;

/// Formats of the cells.
#[derive(Clone, Debug)]
pub struct Cells {
    pub grid: Grid,
    price: Unit,
    qty: Unit,
    /// The unit of local and exchange times; RFC 3339 if `None`.
    time: Option<TimeUnit>,
    exchange_time: Option<TimeUnit>,
}

impl Cells {
    /// Combines columns and units. An error names what is missing.
    pub fn new(columns: &Columns, units: &Units, default: Option<Grid>) -> Result<Self, String> {
        let grid = units.grid_or(default).ok_or(
            "tick and lot are not known: set them with --tick and --lot, or in a comment before the \
             header, such as # tick=0.01 lot=0.001",
        )?;
        let exchange_time = columns.exchange_time.and_then(|column| column.1);
        Ok(Self {
            grid,
            price: units.price.unwrap_or(Unit::Decimal),
            qty: units.qty.unwrap_or(Unit::Decimal),
            time: columns.time.1.or(units.time),
            exchange_time: exchange_time.or(units.time),
        })
    }

    /// Reads times and version of a row.
    pub fn times(
        &self,
        columns: &Columns,
        record: &ByteRecord,
        snapshot: &mut Snapshot,
    ) -> Result<(), Defect> {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        snapshot.local_time = time(cell(columns.time.0), "time", self.time)?;
        snapshot.exchange_time = match columns.exchange_time {
            None => snapshot.local_time,
            Some((at, _)) => time(cell(at), "exchange_time", self.exchange_time)?,
        };
        snapshot.sequence = match columns.sequence {
            None => 0,
            Some(at) => {
                whole(cell(at)).ok_or_else(|| bad("sequence", cell(at), "a whole number from 0"))?
            }
        };
        Ok(())
    }

    /// The cells that all rows of one snapshot share.
    pub fn key(columns: &Columns, record: &ByteRecord) -> [Vec<u8>; 3] {
        let cell = |at: usize| record.get(at).unwrap_or_default().to_vec();
        [
            cell(columns.time.0),
            columns
                .exchange_time
                .map(|(at, _)| cell(at))
                .unwrap_or_default(),
            columns.sequence.map(cell).unwrap_or_default(),
        ]
    }

    /// Parses the levels of a side, up to the first empty one.
    pub fn side(
        &self,
        record: &ByteRecord,
        side: Side,
        columns: &[(usize, usize)],
        levels: &mut Vec<Level>,
    ) -> Result<(), Defect> {
        let name = |what: &str, number: usize| match side {
            Side::Buy => format!("bid_{what}_{number}"),
            Side::Sell => format!("ask_{what}_{number}"),
        };
        let mut over = false;
        for (number, (price_at, qty_at)) in (1..).zip(columns) {
            let price = record.get(*price_at).unwrap_or_default();
            let qty = record.get(*qty_at).unwrap_or_default();
            if price.is_empty() && qty.is_empty() {
                over = true;
                continue;
            }
            if over {
                let column = name("px", number);
                return Err(bad(
                    &column,
                    price,
                    "empty, because a better level is empty",
                ));
            }
            levels.push(level(
                self.price(price, || name("px", number))?,
                self.quantity(qty, || name("qty", number))?,
            ));
        }
        Ok(())
    }

    /// Parses the level of a row in long form.
    pub fn level(
        &self,
        record: &ByteRecord,
        side: usize,
        price: usize,
        quantity: usize,
    ) -> Result<(Side, Level), Defect> {
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let side = match cell(side) {
            b"bid" | b"buy" => Side::Buy,
            b"ask" | b"sell" => Side::Sell,
            other => return Err(bad("side", other, "bid or ask")),
        };
        let price = self.price(cell(price), || "px".to_owned())?;
        let qty = self.quantity(cell(quantity), || "qty".to_owned())?;
        Ok((side, level(price, qty)))
    }

    fn price(&self, cell: &[u8], name: impl Fn() -> String) -> Result<u64, Defect> {
        number(cell, self.price, self.grid.tick, "tick", name)
    }

    fn quantity(&self, cell: &[u8], name: impl Fn() -> String) -> Result<u64, Defect> {
        number(cell, self.qty, self.grid.lot, "lot", name)
    }
}

fn number(
    cell: &[u8],
    unit: Unit,
    step: Step,
    step_name: &str,
    name: impl Fn() -> String,
) -> Result<u64, Defect> {
    let count = match unit {
        Unit::Steps => whole(cell),
        Unit::Decimal => {
            let Some(decimal) = Decimal::parse(cell) else {
                let must = if is_positive(cell) {
                    IN_RANGE
                } else {
                    "a number above 0"
                };
                return Err(bad(&name(), cell, must));
            };
            if step.is_beyond(decimal) {
                return Err(bad(&name(), cell, IN_RANGE));
            }
            match step.count(decimal).or_else(|| float(cell, step)) {
                None => {
                    return Err(Defect::OffGrid {
                        column: name(),
                        value: String::from_utf8_lossy(cell).into_owned(),
                        step: format!("the {step_name} {step}"),
                    });
                }
                count => count,
            }
        }
    };
    match count {
        Some(count) if count > 0 => Ok(count),
        _ => Err(bad(&name(), cell, "a number above 0")),
    }
}

/// What a number that is too large, or too fine, must be.
const IN_RANGE: &str =
    "in range: below 10^19 ticks or lots, with at most 19 digits and 30 decimals";

/// Whether it is a number above 0, of any size.
fn is_positive(cell: &[u8]) -> bool {
    let number = std::str::from_utf8(cell).ok();
    let number = number.and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| number.is_finite() && number > 0.0)
}

/// A number with so many digits that a float was written: 2684.4900000000002 is 2684.49.
fn float(cell: &[u8], step: Step) -> Option<u64> {
    let digits = cell.iter().filter(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(cell).ok()?;
    (digits >= 16).then(|| step.count_float(text.parse().ok()?))?
}

fn whole(cell: &[u8]) -> Option<u64> {
    let digits = cell.strip_prefix(b"+").unwrap_or(cell);
    let sound = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    sound.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

fn time(cell: &[u8], name: &str, unit: Option<TimeUnit>) -> Result<Timestamp, Defect> {
    let time = match unit {
        Some(unit) => Decimal::parse(cell).and_then(|decimal| {
            let ten = 10_u128.checked_pow(u32::from(decimal.scale))?;
            let scaled = u128::from(decimal.mantissa) * u128::from(unit.nanos().unsigned_abs());
            let nanos = i64::try_from(scaled / ten).ok()?;
            scaled.is_multiple_of(ten).then_some(Timestamp(nanos))
        }),
        None => std::str::from_utf8(cell)
            .ok()
            .and_then(Timestamp::from_rfc3339),
    };
    time.ok_or_else(|| {
        let must = match unit {
            Some(TimeUnit::Seconds) => "seconds since 1970, up to the year 2262",
            Some(TimeUnit::Milliseconds) => "milliseconds since 1970, up to the year 2262",
            Some(TimeUnit::Microseconds) => "microseconds since 1970, up to the year 2262",
            Some(TimeUnit::Nanoseconds) => "nanoseconds since 1970, up to the year 2262",
            None if std::str::from_utf8(cell).is_ok_and(Timestamp::lacks_zone) => WITH_ZONE,
            None => "a time such as 2024-08-08T23:54:16.302Z, or its column named with a unit",
        };
        bad(name, cell, must)
    })
}

fn bad(column: &str, cell: &[u8], must: &'static str) -> Defect {
    Defect::BadValue {
        column: column.to_owned(),
        value: String::from_utf8_lossy(cell).into_owned(),
        must,
    }
}
