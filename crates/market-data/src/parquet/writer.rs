//! Writes Parquet for other programs: flat tables, and snapshots in wide form.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::{
    ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::{Type, TypePtr};
use cambist_core::Side;

use crate::grid::Grid;
use crate::snapshot::Snapshot;
use crate::time::Timestamp;

/// Cells buffered for one row group: some 20 MB.
const CELLS_PER_GROUP: usize = 2 << 20;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A point in time, as a UTC timestamp in nanoseconds.
    Time,
    /// A whole number.
    Whole,
    /// The nearest float of a decimal.
    Number,
    /// An exact decimal of up to 38 digits, so many of them after the point.
    Decimal(u8),
    /// A text.
    Text,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Missing,
    /// In a column of times.
    Time(Timestamp),
    /// In a column of whole numbers.
    Whole(i64),
    /// In a column of numbers.
    Number(f64),
    /// In a column of decimals: the value in units of the last place.
    Decimal(i128),
    /// In a column of texts.
    Text(&'a str),
}

/// Digits of a [`ColumnKind::Decimal`].
pub const DECIMAL_DIGITS: u32 = 38;
/// The first number that does not fit into them.
const DECIMAL_BOUND: u128 = 10_u128.pow(DECIMAL_DIGITS);
/// Bytes of a decimal.
const DECIMAL_BYTES: i32 = 16;

enum Values {
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Decimal(Vec<FixedLenByteArray>),
    Text(Vec<ByteArray>),
}

struct Column {
    kind: ColumnKind,
    values: Values,
    present: Vec<i16>,
}

/// Writes a flat table in row groups, compressed with Zstandard.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
    rows_per_group: usize,
}

impl<W: Write + Send> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").finish_non_exhaustive()
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn schema(columns: &[(String, ColumnKind)]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(columns.len());
    for (name, kind) in columns {
        let physical = match kind {
            ColumnKind::Time | ColumnKind::Whole => Physical::INT64,
            ColumnKind::Number => Physical::DOUBLE,
            ColumnKind::Decimal(_) => Physical::FIXED_LEN_BYTE_ARRAY,
            ColumnKind::Text => Physical::BYTE_ARRAY,
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL);
        let field = match kind {
            ColumnKind::Time => {
                field.with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::NANOS)))
            }
            ColumnKind::Decimal(places) => {
                let places = i32::from(*places);
                let digits = DECIMAL_DIGITS.cast_signed();
                field
                    .with_length(DECIMAL_BYTES)
                    .with_logical_type(Some(LogicalType::decimal(places, digits)))
                    .with_precision(digits)
                    .with_scale(places)
            }
            ColumnKind::Text => field.with_converted_type(ConvertedType::UTF8),
            ColumnKind::Whole | ColumnKind::Number => field,
        };
        fields.push(Arc::new(field.build()?));
    }
    let group = Type::group_type_builder("schema").with_fields(fields);
    Ok(Arc::new(group.build()?))
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table; `properties` become the file's metadata.
    pub fn new(
        out: W,
        columns: &[(String, ColumnKind)],
        properties: &[(&str, String)],
    ) -> io::Result<Self> {
        let pair = |(key, value): &(&str, String)| KeyValue::new((*key).to_owned(), value.clone());
        let settings = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("cambist ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(properties.iter().map(pair).collect()))
            .build();
        let schema = schema(columns).map_err(io_error)?;
        let file = SerializedFileWriter::new(out, schema, Arc::new(settings)).map_err(io_error)?;
        let column = |(_, kind): &(String, ColumnKind)| Column {
            kind: *kind,
            values: match kind {
                ColumnKind::Time | ColumnKind::Whole => Values::Whole(Vec::new()),
                ColumnKind::Number => Values::Number(Vec::new()),
                ColumnKind::Decimal(_) => Values::Decimal(Vec::new()),
                ColumnKind::Text => Values::Text(Vec::new()),
            },
            present: Vec::new(),
        };
        Ok(Self {
            file,
            columns: columns.iter().map(column).collect(),
            rows: 0,
            rows_per_group: (CELLS_PER_GROUP / columns.len().max(1)).max(1),
        })
    }

    /// Writes a row with one value of the right type for every column.
    pub fn write(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        if row.len() != self.columns.len() {
            let expected = self.columns.len();
            return Err(invalid(format!(
                "expected {expected} cells, found {}",
                row.len()
            )));
        }
        for (at, (column, value)) in self.columns.iter().zip(row).enumerate() {
            let fits = matches!(
                (column.kind, value),
                (_, Value::Missing)
                    | (ColumnKind::Time, Value::Time(_))
                    | (ColumnKind::Whole, Value::Whole(_))
                    | (ColumnKind::Number, Value::Number(_))
                    | (ColumnKind::Decimal(_), Value::Decimal(_))
                    | (ColumnKind::Text, Value::Text(_))
            );
            if !fits {
                let kind = column.kind;
                return Err(invalid(format!(
                    "column {at} has the type {kind:?}, found {value:?}"
                )));
            }
            if let Value::Decimal(units) = value
                && units.unsigned_abs() >= DECIMAL_BOUND
            {
                return Err(invalid(format!(
                    "column {at}: {units} has more than {DECIMAL_DIGITS} digits"
                )));
            }
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value);
        }
        self.rows += 1;
        if self.rows == self.rows_per_group {
            self.flush().map_err(io_error)?;
        }
        Ok(())
    }

    /// Writes the last row group and the end of the file, and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.flush().map_err(io_error)?;
        }
        let mut out = self.file.into_inner().map_err(io_error)?;
        out.flush()?;
        Ok(out)
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Column {
    fn push(&mut self, value: Value<'_>) {
        match (&mut self.values, value) {
            (Values::Whole(values), Value::Time(Timestamp(value)) | Value::Whole(value)) => {
                values.push(value);
            }
            (Values::Number(values), Value::Number(value)) => values.push(value),
            (Values::Decimal(values), Value::Decimal(units)) => {
                values.push(units.to_be_bytes().to_vec().into());
            }
            (Values::Text(values), Value::Text(value)) => values.push(value.into()),
            // A missing value; the types of the others were checked.
            _ => {
                self.present.push(0);
                return;
            }
        }
        self.present.push(1);
    }

    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Ok(());
        };
        let present = Some(&self.present[..]);
        match &mut self.values {
            Values::Whole(values) => {
                let writer = column.typed::<Int64Type>();
                writer.write_batch(values, present, None)?;
                values.clear();
            }
            Values::Number(values) => {
                let writer = column.typed::<DoubleType>();
                writer.write_batch(values, present, None)?;
                values.clear();
            }
            Values::Decimal(values) => {
                let writer = column.typed::<FixedLenByteArrayType>();
                writer.write_batch(values, present, None)?;
                values.clear();
            }
            Values::Text(values) => {
                let writer = column.typed::<ByteArrayType>();
                writer.write_batch(values, present, None)?;
                values.clear();
            }
        }
        self.present.clear();
        column.close()
    }
}

/// Writes snapshots in wide form with prices and quantities as decimals, as [`super::ParquetReader`]
/// reads them.
#[derive(Debug)]
pub struct SnapshotWriter<W: Write + Send> {
    table: TableWriter<W>,
    grid: Grid,
    depth: usize,
    row: Vec<Value<'static>>,
}

impl<W: Write + Send> SnapshotWriter<W> {
    /// Starts a table with `depth` levels per side.
    pub fn new(out: W, grid: Grid, depth: usize) -> io::Result<Self> {
        let mut columns = vec![
            ("time".to_owned(), ColumnKind::Time),
            ("exchange_time".to_owned(), ColumnKind::Time),
            ("sequence".to_owned(), ColumnKind::Whole),
        ];
        for side in ["bid", "ask"] {
            for level in 1..=depth {
                for what in ["px", "qty"] {
                    columns.push((format!("{side}_{what}_{level}"), ColumnKind::Number));
                }
            }
        }
        let properties = [
            ("tick", grid.tick.to_string()),
            ("lot", grid.lot.to_string()),
        ];
        Ok(Self {
            table: TableWriter::new(out, &columns, &properties)?,
            grid,
            depth,
            row: Vec::with_capacity(columns.len()),
        })
    }

    /// Writes a row: the best levels, as many as the table has columns for.
    pub fn write(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let sequence = i64::try_from(snapshot.sequence)
            .map_err(|_| invalid(format!("version {} does not fit", snapshot.sequence)))?;
        self.row.clear();
        self.row.extend([
            Value::Time(snapshot.local_time),
            Value::Time(snapshot.exchange_time),
            Value::Whole(sequence),
        ]);
        for side in Side::BOTH {
            let levels = snapshot.side(side);
            for at in 0..self.depth {
                let values = levels.get(at).map(|level| {
                    let price = self.grid.tick.to_float(level.price.0);
                    [price, self.grid.lot.to_float(level.qty.0)].map(Value::Number)
                });
                self.row.extend(values.unwrap_or([Value::Missing; 2]));
            }
        }
        self.table.write(&self.row)
    }

    /// Writes the last row group and the end of the file, and returns the output.
    pub fn finish(self) -> io::Result<W> {
        self.table.finish()
    }
}
