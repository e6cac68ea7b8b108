//! Parquet: written files are read, files of other programs are read, and defects are reported.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::File;
use std::path::{Path, PathBuf};

use cambist_core::{Price, Qty};
use cambist_market_data::parquet::{
    ColumnKind, ParquetOptions, ParquetReader, SnapshotWriter, TableWriter, Value, find_grid,
};
use cambist_market_data::units::{Unit, Units};
use cambist_market_data::{
    DefectKind, Grid, Level, Snapshot, SnapshotSource, Step, TimeUnit, Timestamp, Tolerance,
};

/// A file in a temporary folder, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let id = std::process::id();
        Self(std::env::temp_dir().join(format!("cambist-parquet-{id}-{name}.parquet")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn grid() -> Grid {
    Grid::parse("0.01", "0.001").unwrap()
}

const SECOND: i64 = 1_000_000_000;

fn snapshot(n: i64) -> Snapshot {
    let n64 = n.unsigned_abs();
    let levels = |first: u64, step: i64, count: u64| {
        let level = |at: u64| Level {
            price: Price(first.wrapping_add_signed(step * at.cast_signed())),
            qty: Qty(1 + (n64 * 7 + at * 13) % 5_000),
        };
        (0..count).map(level).collect()
    };
    Snapshot {
        exchange_time: Timestamp((1_723_161_256 + n) * SECOND + 1),
        local_time: Timestamp((1_723_161_256 + n) * SECOND + 2_000_003),
        sequence: 40 + n64,
        bids: levels(268_449 + n64 % 90, -1 - n % 2, 5 - n64 % 3),
        asks: levels(268_551 + n64 % 90, 1, n64 % 6),
    }
}

fn all(mut source: impl SnapshotSource) -> Vec<Snapshot> {
    let mut found = Vec::new();
    while let Some(snapshot) = source.next_snapshot().unwrap() {
        found.push(snapshot.clone());
    }
    found
}

fn options(units: Units) -> ParquetOptions {
    ParquetOptions {
        units,
        ..ParquetOptions::default()
    }
}

fn steps(tick: &str, lot: &str) -> Units {
    Units {
        tick: Step::parse(tick).ok(),
        lot: Step::parse(lot).ok(),
        ..Units::default()
    }
}

#[test]
fn snapshots_are_read_as_they_were_written_over_row_groups_and_batches() {
    let scratch = Scratch::new("round-trip");
    let mut writer = SnapshotWriter::new(File::create(&scratch.0).unwrap(), grid(), 5).unwrap();
    // Row groups hold 2^21 cells, 23 per row: there are two.
    let count = 95_000;
    for n in 0..count {
        writer.write(&snapshot(n)).unwrap();
    }
    writer.finish().unwrap();
    let mut reader = ParquetReader::open(&scratch.0, &ParquetOptions::default()).unwrap();
    assert_eq!(reader.grid(), grid());
    for n in 0..count {
        assert_eq!(reader.next_snapshot().unwrap(), Some(&snapshot(n)), "{n}");
    }
    assert_eq!(reader.next_snapshot().unwrap(), None);
    assert_eq!(reader.report().kept, count.unsigned_abs());
}

/// Files written by pandas, Polars and DuckDB with default settings: see `tests/parquet/make.py`. All hold the same
/// three snapshots.
#[test]
fn files_of_other_programs_are_read() {
    let expected = |sequence: bool| {
        let level = |price, qty| Level {
            price: Price(price),
            qty: Qty(qty),
        };
        let at = |second: i64, ms: i64, bids: &[(u64, u64)], asks: &[(u64, u64)]| Snapshot {
            exchange_time: Timestamp(second * SECOND + ms * 1_000_000),
            local_time: Timestamp(second * SECOND + ms * 1_000_000),
            sequence: if sequence {
                second.unsigned_abs() % 100
            } else {
                0
            },
            bids: bids.iter().map(|(p, q)| level(*p, *q)).collect(),
            asks: asks.iter().map(|(p, q)| level(*p, *q)).collect(),
        };
        [
            at(
                1_723_161_256,
                302,
                &[(268_449, 194), (268_440, 2_000)],
                &[(268_450, 12_500)],
            ),
            at(
                1_723_161_257,
                0,
                &[(268_449, 1)],
                &[(268_450, 3), (268_475, 7_250)],
            ),
            at(
                1_723_161_258,
                5,
                &[(268_448, 100), (268_447, 50)],
                &[(268_449, 1), (268_451, 1)],
            ),
        ]
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet");
    let options_given = options(steps("0.01", "0.001"));
    for (file, sequence) in [
        ("pandas-wide.parquet", true),
        ("pandas-long.parquet", false),
        ("pandas-int96.parquet", false),
        ("polars-wide.parquet", true),
        ("polars-text-times.parquet", false),
        ("duckdb-decimals.parquet", true),
        ("duckdb-long.parquet", false),
        ("gzip.parquet", true),
        ("lz4.parquet", true),
    ] {
        let path = folder.join(file);
        let found = all(ParquetReader::open(&path, &options_given).unwrap());
        assert_eq!(found, expected(sequence), "{file}");
        let without = ParquetOptions::default();
        let error = ParquetReader::open(&path, &without)
            .unwrap_err()
            .to_string();
        assert!(error.contains("tick and lot are not known"), "{error}");
        let steps = find_grid(&path, 100, &without).unwrap().unwrap();
        assert_eq!(
            (steps.tick.to_string(), steps.lot.to_string()),
            ("0.01".to_owned(), "0.001".to_owned())
        );
    }
    let ticks = Units {
        price: Some(Unit::Steps),
        qty: Some(Unit::Steps),
        time: Some(TimeUnit::Milliseconds),
        ..steps("0.01", "0.001")
    };
    let path = folder.join("ticks.parquet");
    assert_eq!(
        all(ParquetReader::open(&path, &options(ticks)).unwrap()),
        expected(true)
    );
    let path = folder.join("nested.parquet");
    let error = ParquetReader::open(&path, &options_given)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is a list or a struct"), "{error}");
    let path = folder.join("brotli.parquet");
    let mut reader = ParquetReader::open(&path, &options_given).unwrap();
    let error = reader.next_snapshot().unwrap_err().to_string();
    assert!(
        error.contains("row 0") && error.contains("brotli"),
        "{error}"
    );
}

/// A long table with times in milliseconds and the given prices.
fn write_long(path: &Path, rows: &[(i64, &str, f64, f64)]) {
    let columns = [
        ("time_ms", ColumnKind::Whole),
        ("side", ColumnKind::Text),
        ("px", ColumnKind::Number),
        ("qty", ColumnKind::Number),
    ];
    let columns = columns.map(|(name, kind)| (name.to_owned(), kind));
    let properties = [("tick", "0.01".to_owned()), ("lot", "0.001".to_owned())];
    let mut writer = TableWriter::new(File::create(path).unwrap(), &columns, &properties).unwrap();
    for (time, side, price, qty) in rows {
        let side = if side.is_empty() {
            Value::Missing
        } else {
            Value::Text(side)
        };
        let (price, qty) = (Value::Number(*price), Value::Number(*qty));
        writer
            .write(&[Value::Whole(*time), side, price, qty])
            .unwrap();
    }
    writer.finish().unwrap();
}

const BEGIN: i64 = 1_723_161_256_302;

#[test]
fn bad_rows_are_named_or_skipped_and_counted() {
    let good = |n: i64| {
        let time = BEGIN + n * 1_000;
        [(time, "bid", 2684.49, 0.5), (time, "ask", 2684.51, 0.5)]
    };
    let bad = |bad: &[(i64, &'static str, f64, f64)]| [&good(0), bad, &good(2)].concat();
    let now = BEGIN + 1_000;
    for (name, rows, kind, row, text) in [
        (
            "off-grid",
            bad(&[(now, "bid", 2684.495, 1.0)]),
            DefectKind::OffGrid,
            2,
            "tick 0.01",
        ),
        (
            "nan",
            bad(&[(now, "bid", f64::NAN, 1.0)]),
            DefectKind::BadValue,
            2,
            "px is",
        ),
        (
            "negative",
            bad(&[(now, "bid", 2684.49, -1.0)]),
            DefectKind::BadValue,
            2,
            "qty is",
        ),
        (
            "no-side",
            bad(&[(now, "", 2684.49, 1.0)]),
            DefectKind::BadValue,
            2,
            "bid or ask",
        ),
        (
            "second",
            bad(&[(now, "bid", 2684.49, 1.0), (now, "bod", 2684.48, 1.0)]),
            DefectKind::BadValue,
            3,
            "bid or ask",
        ),
        (
            "crossed",
            bad(&[(now, "bid", 2684.51, 1.0), (now, "ask", 2684.50, 1.0)]),
            DefectKind::Crossed,
            2,
            "crossed",
        ),
        (
            "backward",
            bad(&[(now - 2_000, "bid", 2684.49, 1.0)]),
            DefectKind::Backward,
            2,
            "before",
        ),
        (
            "seconds",
            bad(&[(now / 1_000, "bid", 2684.49, 1.0)]),
            DefectKind::MixedUnits,
            2,
            "unit",
        ),
    ] {
        let scratch = Scratch::new(name);
        write_long(&scratch.0, &rows);
        let mut reader = ParquetReader::open(&scratch.0, &ParquetOptions::default()).unwrap();
        assert!(reader.next_snapshot().unwrap().is_some(), "{name}");
        let error = reader.next_snapshot().unwrap_err().to_string();
        let place = format!("row {row}:");
        assert!(
            error.contains(&place) && error.contains(text),
            "{name}: {error}"
        );
        assert_eq!(
            reader.next_snapshot().unwrap(),
            None,
            "{name}: nothing is read after an error"
        );
        let tolerant = ParquetOptions {
            tolerance: Tolerance::NONE.with(kind),
            ..ParquetOptions::default()
        };
        let mut reader = ParquetReader::open(&scratch.0, &tolerant).unwrap();
        let mut kept = 0;
        while reader.next_snapshot().unwrap().is_some() {
            kept += 1;
        }
        assert_eq!((kept, reader.report().skipped(kind)), (2, 1), "{name}");
    }
}

#[test]
fn damaged_bytes_cause_no_panic() {
    let scratch = Scratch::new("damage");
    let mut writer = SnapshotWriter::new(File::create(&scratch.0).unwrap(), grid(), 1).unwrap();
    for n in 0..12 {
        writer.write(&snapshot(n)).unwrap();
    }
    writer.finish().unwrap();
    let whole = std::fs::read(&scratch.0).unwrap();
    let read = |bytes: &[u8]| {
        std::fs::write(&scratch.0, bytes).unwrap();
        let mut reader = ParquetReader::open(&scratch.0, &ParquetOptions::default())
            .map_err(|error| error.to_string())?;
        let mut kept = 0;
        while reader
            .next_snapshot()
            .map_err(|error| error.to_string())?
            .is_some()
        {
            kept += 1;
        }
        Ok::<_, String>(kept)
    };
    assert_eq!(read(&whole), Ok(12));
    for len in [0, 3, 4, 100, whole.len() / 2, whole.len() - 1] {
        let error = read(&whole[..len]).unwrap_err();
        assert!(error.contains("its end is missing"), "{len}: {error}");
    }
    // Every byte changed: an error or rows, never a panic.
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
        if let Ok(kept) = read(&bytes) {
            assert!(kept <= 12, "byte {at}: {kept} rows");
        }
    }
}

#[test]
fn tables_refuse_what_is_not_of_their_columns() {
    let columns = [("n".to_owned(), ColumnKind::Whole)];
    let mut writer = TableWriter::new(Vec::new(), &columns, &[]).unwrap();
    writer.write(&[Value::Whole(1)]).unwrap();
    writer.write(&[Value::Missing]).unwrap();
    let error = writer.write(&[Value::Number(1.0)]).unwrap_err().to_string();
    assert!(error.contains("Whole"), "{error}");
    let error = writer.write(&[]).unwrap_err().to_string();
    assert!(error.contains("expected 1 cells, found 0"), "{error}");
    assert!(writer.finish().unwrap().starts_with(b"PAR1"));
}

#[test]
fn decimals_are_exact_up_to_38_digits_and_refused_beyond() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    let columns = [("amount".to_owned(), ColumnKind::Decimal(18))];
    let file = Scratch::new("decimals");
    let mut writer = TableWriter::new(File::create(&file.0).unwrap(), &columns, &[]).unwrap();
    let most = 10_i128.pow(38) - 1;
    for units in [1, -1, 1_500_000_000_000_000_000, most, -most] {
        writer.write(&[Value::Decimal(units)]).unwrap();
    }
    writer.write(&[Value::Missing]).unwrap();
    for units in [most + 1, -most - 1] {
        let error = writer.write(&[Value::Decimal(units)]).unwrap_err();
        assert!(error.to_string().contains("38 digits"), "{error}");
    }
    writer.finish().unwrap();
    let reader = SerializedFileReader::new(File::open(&file.0).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let shown: Vec<_> = rows
        .map(|row| {
            let row = row.unwrap();
            let field = row.get_column_iter().next().unwrap().1;
            match field {
                Field::Decimal(decimal) => {
                    assert_eq!((decimal.precision(), decimal.scale()), (38, 18));
                    let bytes = decimal.data().try_into().unwrap();
                    Some(i128::from_be_bytes(bytes))
                }
                Field::Null => None,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    let expected = [1, -1, 1_500_000_000_000_000_000, most, -most].map(Some);
    assert_eq!(shown, [&expected[..], &[None]].concat());
}
