//! `cambist history --parquet`: rows as a Parquet file. Amounts and prices are exact decimals, times are timestamps.

use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::Path;

use anyhow::Context;
use cambist_market_data::Timestamp;
use cambist_market_data::parquet::{ColumnKind, DECIMAL_DIGITS, TableWriter, Value};

use cambist_host::times;
use cambist_store::history::{self, CellKind, Filter, RecordKind};

/// Nanoseconds of a millisecond.
const MS: i64 = 1_000_000;

/// Writes all matching rows into a new file; returns their number.
///
/// All decimals of the file have one number of places, the most that any token of the account needs.
pub fn write(dir: &Path, kind: RecordKind, filter: &Filter, path: &Path) -> anyhow::Result<u64> {
    let places = history::decimal_places(dir)?;
    let kinds: Vec<_> = kind
        .columns()
        .iter()
        .copied()
        .map(RecordKind::kind)
        .collect();
    let columns = kind.columns().iter().zip(&kinds).map(|(name, kind)| {
        let kind = match kind {
            CellKind::Time => ColumnKind::Time,
            CellKind::Decimal => ColumnKind::Decimal(places),
            CellKind::Text => ColumnKind::Text,
        };
        ((*name).to_owned(), kind)
    });
    let columns: Vec<_> = columns.collect();
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).open(path);
    let file = file.with_context(|| format!("creating {}", path.display()))?;
    let written = rows(file, dir, kind, filter, (&columns, &kinds, places));
    if written.is_err() {
        // Without its end a file cannot be read.
        drop(std::fs::remove_file(path));
    }
    written.with_context(|| format!("writing {}", path.display()))
}

type Columns<'a> = (&'a [(String, ColumnKind)], &'a [CellKind], u8);

fn rows(
    file: File,
    dir: &Path,
    kind: RecordKind,
    filter: &Filter,
    (columns, kinds, places): Columns<'_>,
) -> anyhow::Result<u64> {
    let mut table = TableWriter::new(BufWriter::new(file), columns, &[])?;
    let written = history::each::<anyhow::Error>(dir, kind, filter, |row| {
        let cells = row.iter().zip(kinds);
        let values: Vec<_> = cells
            .map(|(cell, kind)| value(cell, *kind, places))
            .collect::<anyhow::Result<_>>()?;
        Ok(table.write(&values)?)
    })?;
    let file = table.finish()?;
    file.into_inner()?.sync_all()?;
    Ok(written)
}

/// A cell of text as a value; an empty one is missing.
fn value(cell: &str, kind: CellKind, places: u8) -> anyhow::Result<Value<'_>> {
    if cell.is_empty() {
        return Ok(Value::Missing);
    }
    match kind {
        CellKind::Text => Ok(Value::Text(cell)),
        CellKind::Time => {
            let ms = times::unix_ms(cell).and_then(|ms| i64::try_from(ms).ok());
            let time = ms.and_then(|ms| ms.checked_mul(MS));
            let time = time.with_context(|| format!("{cell:?} is not a time"))?;
            Ok(Value::Time(Timestamp(time)))
        }
        CellKind::Decimal => {
            let units = units(cell, places);
            let units = units.with_context(|| {
                format!("{cell:?} has more than {DECIMAL_DIGITS} digits with {places} decimals")
            })?;
            Ok(Value::Decimal(units))
        }
    }
}

/// A decimal in units of its last place; `None` if it has more places, or too many digits.
fn units(text: &str, places: u8) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(places).checked_sub(part.len())?;
    let units: i128 = format!("{whole}{part}{}", "0".repeat(missing))
        .parse()
        .ok()?;
    (units.unsigned_abs() < 10_u128.pow(DECIMAL_DIGITS)).then_some(units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_units_of_the_last_place() {
        for (text, found) in [
            ("1", Some(1_000)),
            ("1.5", Some(1_500)),
            ("-0.25", Some(-250)),
            ("0.001", Some(1)),
            ("0.0001", None),
            (
                "99999999999999999999999999999999999",
                Some(10_i128.pow(38) - 1_000),
            ),
            ("100000000000000000000000000000000000", None),
            ("x", None),
        ] {
            assert_eq!(units(text, 3), found, "{text}");
        }
    }
}
