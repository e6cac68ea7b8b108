//! A table of results: CSV always, Parquet as well if asked.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use cambist_market_data::Timestamp;
#[cfg(feature = "parquet")]
use cambist_market_data::parquet::{ColumnKind, TableWriter, Value};

use crate::backtest::flat::quoted;
use crate::exit::{Exit, Failure};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A point in time: RFC 3339 in CSV, with a column of nanoseconds beside it; a timestamp in Parquet.
    Time,
    /// A whole number.
    Whole,
    /// A decimal: exact in CSV, the nearest float in Parquet.
    Decimal,
    /// A text; in CSV with quotation marks where it needs them.
    Text,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// There is no value.
    Missing,
    /// Of a column of times.
    Time(Timestamp),
    /// Of a column of whole numbers.
    Whole(u64),
    /// Of a column of decimals.
    Decimal(String),
    /// Of a column of texts.
    Text(String),
}

impl Cell {
    /// A decimal, if there is one.
    pub fn decimal(value: Option<String>) -> Self {
        value.map_or(Self::Missing, Self::Decimal)
    }
}

/// Writes one table.
pub struct Table {
    csv: BufWriter<File>,
    line: String,
    #[cfg(feature = "parquet")]
    parquet: Option<TableWriter<BufWriter<File>>>,
}

impl Table {
    /// Begins `NAME.csv` in a folder, and `NAME.parquet` if asked, which a build without Parquet refuses.
    pub fn begin(
        folder: &Path,
        name: &str,
        columns: &[(&str, Kind)],
        parquet: bool,
    ) -> anyhow::Result<Self> {
        let create = |ending: &str| {
            let path = folder.join(format!("{name}.{ending}"));
            File::create(&path)
                .map(BufWriter::new)
                .with_context(|| path.display().to_string())
        };
        let mut csv = create("csv")?;
        let mut names: Vec<String> = Vec::new();
        for (name, kind) in columns {
            names.push(quoted(name).into_owned());
            if *kind == Kind::Time {
                names.push(format!("{name}_ns"));
            }
        }
        writeln!(csv, "{}", names.join(","))?;
        #[cfg(not(feature = "parquet"))]
        if parquet {
            return Err(no_parquet().into());
        }
        Ok(Self {
            csv,
            line: String::new(),
            #[cfg(feature = "parquet")]
            parquet: if parquet {
                Some(TableWriter::new(create("parquet")?, &kinds(columns), &[])?)
            } else {
                None
            },
        })
    }

    /// Writes a row: a cell for every column.
    pub fn write(&mut self, row: &[Cell]) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            match cell {
                Cell::Missing => {}
                Cell::Time(time) => _ = write!(line, "{time},{}", time.0),
                Cell::Whole(number) => _ = write!(line, "{number}"),
                Cell::Decimal(text) => line.push_str(text),
                Cell::Text(text) => line.push_str(&quoted(text)),
            }
        }
        line.push('\n');
        self.csv.write_all(line.as_bytes())?;
        #[cfg(feature = "parquet")]
        if let Some(parquet) = &mut self.parquet {
            let values: Vec<_> = row.iter().map(value).collect::<io::Result<_>>()?;
            parquet.write(&values)?;
        }
        Ok(())
    }

    /// Passes the rows of the CSV file to the system, so that they survive the end of the process.
    pub fn flush(&mut self) -> io::Result<()> {
        self.csv.flush()
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.csv.flush()?;
        #[cfg(feature = "parquet")]
        if let Some(parquet) = self.parquet {
            parquet.finish()?;
        }
        Ok(())
    }
}

/// The error of every command in a build without Parquet.
pub fn no_parquet() -> Failure {
    let what =
        "this build writes no Parquet: build it with --features parquet, or use a release package";
    Failure::new(Exit::Usage, what)
}

/// Refuses Parquet in a build without it, before anything is read or written.
pub fn check_parquet(requested: bool) -> Result<(), Failure> {
    if requested && !cfg!(feature = "parquet") {
        return Err(no_parquet());
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn kinds(columns: &[(&str, Kind)]) -> Vec<(String, ColumnKind)> {
    let kind = |(name, kind): &(&str, Kind)| {
        let kind = match kind {
            Kind::Time => ColumnKind::Time,
            Kind::Whole => ColumnKind::Whole,
            Kind::Decimal => ColumnKind::Number,
            Kind::Text => ColumnKind::Text,
        };
        ((*name).to_owned(), kind)
    };
    columns.iter().map(kind).collect()
}

#[cfg(feature = "parquet")]
fn value(cell: &Cell) -> io::Result<Value<'_>> {
    Ok(match cell {
        Cell::Missing => Value::Missing,
        Cell::Time(time) => Value::Time(*time),
        Cell::Whole(number) => Value::Whole(i64::try_from(*number).map_err(io::Error::other)?),
        Cell::Decimal(text) => Value::Number(text.parse().map_err(io::Error::other)?),
        Cell::Text(text) => Value::Text(text),
    })
}
