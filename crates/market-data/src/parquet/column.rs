//! One column of a file, read in batches of rows.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit as FileUnit, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::Result;
use ::parquet::schema::types::ColumnDescriptor;

use crate::time::TimeUnit;

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    /// `value` · 10^−`scale`.
    Whole {
        value: i128,
        scale: u8,
    },
    Float(f64),
    Text(&'a [u8]),
    /// A time in nanoseconds since 1970, from a column whose type is a point in time.
    Nanos(i64),
}

/// Interpretation of a column's values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    /// A whole number of 10^−scale; the flag: unsigned.
    Whole(u8, bool),
    Float,
    Text,
    /// A decimal as big-endian bytes.
    Bytes(u8),
    Time(TimeUnit),
}

/// The values of the current batch.
enum Buffer {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<::parquet::data_type::Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<::parquet::data_type::ByteArray>),
    Fixed(Vec<::parquet::data_type::FixedLenByteArray>),
}

/// A column: reads batches of rows and returns their cells.
pub struct Column {
    meaning: Meaning,
    buffer: Buffer,
    /// 1 for every row with a value; empty if all rows have one.
    present: Vec<i16>,
    optional: bool,
    /// Positions of the rows' values in the buffer, if some rows have none.
    places: Vec<u32>,
}

impl Column {
    /// An error describes an unsupported column type.
    pub fn new(column: &ColumnDescriptor) -> std::result::Result<Self, String> {
        let name = column.path().string();
        let meaning = meaning(column)
            .ok_or_else(|| format!("wrong columns: {name:?} is not a number, time or text"))?;
        let buffer = match column.physical_type() {
            Type::INT32 => Buffer::Int32(Vec::new()),
            Type::INT64 => Buffer::Int64(Vec::new()),
            Type::INT96 => Buffer::Int96(Vec::new()),
            Type::FLOAT => Buffer::Float(Vec::new()),
            Type::DOUBLE => Buffer::Double(Vec::new()),
            Type::BYTE_ARRAY => Buffer::Bytes(Vec::new()),
            Type::FIXED_LEN_BYTE_ARRAY => Buffer::Fixed(Vec::new()),
            Type::BOOLEAN => return Err(format!("wrong columns: {name:?} is not a number")),
        };
        Ok(Self {
            meaning,
            buffer,
            present: Vec::new(),
            optional: column.max_def_level() > 0,
            places: Vec::new(),
        })
    }

    /// Reads up to `rows` rows; returns their number.
    pub fn read(&mut self, reader: &mut ColumnReader, rows: usize) -> Result<usize> {
        fn fill<T: DataType>(
            reader: &mut ColumnReaderImpl<T>,
            rows: usize,
            present: Option<&mut Vec<i16>>,
            values: &mut Vec<T::T>,
        ) -> Result<usize> {
            values.clear();
            let mut present = present;
            let mut read = 0;
            while read < rows {
                let levels = present.as_deref_mut();
                let (records, _, _) = reader.read_records(rows - read, levels, None, values)?;
                if records == 0 {
                    break;
                }
                read += records;
            }
            Ok(read)
        }
        self.present.clear();
        let levels = self.optional.then_some(&mut self.present);
        let read = match (&mut self.buffer, reader) {
            (Buffer::Int32(values), ColumnReader::Int32ColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Int64(values), ColumnReader::Int64ColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Int96(values), ColumnReader::Int96ColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Float(values), ColumnReader::FloatColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Double(values), ColumnReader::DoubleColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Bytes(values), ColumnReader::ByteArrayColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            (Buffer::Fixed(values), ColumnReader::FixedLenByteArrayColumnReader(r)) => {
                fill(r, rows, levels, values)?
            }
            // A row group whose column type differs from the schema.
            _ => 0,
        };
        self.places.clear();
        let mut place = 0;
        for level in &self.present {
            self.places.push(place);
            place += u32::from(*level > 0);
        }
        if self.present.iter().all(|level| *level > 0) {
            self.present.clear();
        }
        Ok(read)
    }

    /// The cell of a row of the current batch.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        let at = match self.present.get(row) {
            None => row,
            Some(0) => return Cell::Null,
            Some(_) => self.places[row] as usize,
        };
        self.value(at).unwrap_or(Cell::Null)
    }

    fn value(&self, at: usize) -> Option<Cell<'_>> {
        let whole = |value: i64, scale: u8, unsigned: bool, bits: u32| {
            let value = if unsigned && value < 0 {
                i128::from(value) + (1_i128 << bits)
            } else {
                i128::from(value)
            };
            Cell::Whole { value, scale }
        };
        Some(match (&self.buffer, self.meaning) {
            (Buffer::Int32(values), Meaning::Whole(scale, unsigned)) => {
                whole(i64::from(*values.get(at)?), scale, unsigned, 32)
            }
            (Buffer::Int64(values), Meaning::Whole(scale, unsigned)) => {
                whole(*values.get(at)?, scale, unsigned, 64)
            }
            (Buffer::Int64(values), Meaning::Time(unit)) => {
                // A value that does not fit becomes a time that no recording has.
                Cell::Nanos(values.get(at)?.checked_mul(unit.nanos()).unwrap_or(-1))
            }
            (Buffer::Int96(values), _) => Cell::Nanos(values.get(at)?.to_nanos()),
            (Buffer::Float(values), _) => Cell::Float(f64::from(*values.get(at)?)),
            (Buffer::Double(values), _) => Cell::Float(*values.get(at)?),
            (Buffer::Bytes(values), Meaning::Bytes(scale)) => {
                decimal(values.get(at)?.data(), scale)
            }
            (Buffer::Fixed(values), Meaning::Bytes(scale)) => {
                decimal(values.get(at)?.data(), scale)
            }
            (Buffer::Bytes(values), _) => Cell::Text(values.get(at)?.data()),
            (Buffer::Fixed(values), _) => Cell::Text(values.get(at)?.data()),
            _ => return None,
        })
    }
}

fn meaning(column: &ColumnDescriptor) -> Option<Meaning> {
    let scale = || u8::try_from(column.type_scale()).ok();
    let unsigned = matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    if let Some(LogicalType::Timestamp(time)) = column.logical_type_ref() {
        return Some(Meaning::Time(match time.unit {
            FileUnit::MILLIS => TimeUnit::Milliseconds,
            FileUnit::MICROS => TimeUnit::Microseconds,
            FileUnit::NANOS => TimeUnit::Nanoseconds,
        }));
    }
    let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL;
    Some(match (column.converted_type(), column.physical_type()) {
        (ConvertedType::TIMESTAMP_MILLIS, _) => Meaning::Time(TimeUnit::Milliseconds),
        (ConvertedType::TIMESTAMP_MICROS, _) => Meaning::Time(TimeUnit::Microseconds),
        (_, Type::INT32 | Type::INT64) if is_decimal => Meaning::Whole(scale()?, false),
        (_, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) if is_decimal => {
            Meaning::Bytes(scale()?)
        }
        (ConvertedType::DATE | ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS, _) => {
            return None;
        }
        (_, Type::INT32 | Type::INT64) => Meaning::Whole(0, unsigned),
        (_, Type::INT96) => Meaning::Time(TimeUnit::Nanoseconds),
        (_, Type::FLOAT | Type::DOUBLE) => Meaning::Float,
        (_, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) => Meaning::Text,
        (_, Type::BOOLEAN) => return None,
    })
}

/// A decimal in big-endian two's complement; more than 16 bytes is not a price or quantity.
fn decimal(bytes: &[u8], scale: u8) -> Cell<'_> {
    if bytes.is_empty() || bytes.len() > 16 {
        return Cell::Text(bytes);
    }
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { u8::MAX };
    let mut all = [sign; 16];
    all[16 - bytes.len()..].copy_from_slice(bytes);
    Cell::Whole {
        value: i128::from_be_bytes(all),
        scale,
    }
}
