//! CSV snapshots: both forms, units, and defects of files.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::Cursor;
use std::path::Path;

use cambist_core::{Price, Qty};
use cambist_market_data::csv::{CsvOptions, CsvReader, CsvWriter, Unit, Units, find_grid};
use cambist_market_data::{
    DefectKind, Grid, Level, Snapshot, SnapshotSource, TimeUnit, Timestamp, Tolerance,
};

const WIDE: &str = "\
# ETH-USDC tick=0.01 lot=0.001
time_ms,sequence,bid_px_1,bid_qty_1,bid_px_2,bid_qty_2,ask_px_1,ask_qty_1
1723161256000,7,2684.49,0.194,2684.4,1,2684.50,12.5
1723161257000,8,2684.49,0.2,,,2684.50,12.5
1723161258000,9,,,,,2684.50,12.5
";

fn options(tolerance: &str) -> CsvOptions {
    CsvOptions {
        tolerance: Tolerance::parse(tolerance).unwrap(),
        ..CsvOptions::default()
    }
}

fn open(text: &str, options: &CsvOptions) -> Result<CsvReader, String> {
    let reader = CsvReader::new(Cursor::new(text.to_owned()), "a.csv", options);
    reader.map_err(|error| error.to_string())
}

/// Reads until the end or the first error.
fn read(mut reader: CsvReader) -> (Vec<Snapshot>, Option<String>, CsvReader) {
    let mut snapshots = Vec::new();
    loop {
        match reader.next_snapshot() {
            Ok(Some(snapshot)) => snapshots.push(snapshot.clone()),
            Ok(None) => return (snapshots, None, reader),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    reader.next_snapshot().unwrap().is_none(),
                    "nothing is read after an error"
                );
                return (snapshots, Some(error), reader);
            }
        }
    }
}

fn levels(levels: &[(u64, u64)]) -> Vec<Level> {
    let level = |(price, qty): &(u64, u64)| Level {
        price: Price(*price),
        qty: Qty(*qty),
    };
    levels.iter().map(level).collect()
}

fn wide() -> Vec<Snapshot> {
    let at = |second: i64, bids: &[(u64, u64)]| Snapshot {
        exchange_time: Timestamp((1_723_161_256 + second) * 1_000_000_000),
        local_time: Timestamp((1_723_161_256 + second) * 1_000_000_000),
        sequence: 7 + second.unsigned_abs(),
        bids: levels(bids),
        asks: levels(&[(268_450, 12_500)]),
    };
    vec![
        at(0, &[(268_449, 194), (268_440, 1_000)]),
        at(1, &[(268_449, 200)]),
        at(2, &[]),
    ]
}

#[test]
fn wide_rows_are_snapshots() {
    let (snapshots, error, reader) = read(open(WIDE, &options("")).unwrap());
    assert_eq!((snapshots, error), (wide(), None));
    assert_eq!((reader.report().rows, reader.report().kept), (3, 3));
    assert_eq!(reader.grid(), Grid::parse("0.01", "0.001").unwrap());
}

#[test]
fn long_rows_of_one_time_are_a_snapshot() {
    let text = "\
# tick=0.01 lot=0.001
time_s,exchange_time_us,sequence,side,px,qty
1723161256,1723161256000000,7,bid,2684.49,0.194
1723161256,1723161256000000,7,bid,2684.40,1
1723161256,1723161256000000,7,ask,2684.50,12.5
1723161257,1723161257000000,8,ask,2684.50,12.5
1723161257,1723161257000000,8,bid,2684.49,0.2
1723161258,1723161258000000,9,sell,2684.5,12.500
";
    let (snapshots, error, reader) = read(open(text, &options("")).unwrap());
    assert_eq!((snapshots, error), (wide(), None));
    assert_eq!((reader.report().rows, reader.report().kept), (3, 3));
}

#[test]
fn a_bad_row_in_long_form_spoils_its_snapshot_only() {
    let text = "\
# tick=0.01 lot=0.001
time_s,side,px,qty
1723161256,bid,2684.49,0.194
1723161257,bid,2684.49,0.194
1723161257,bid,2684.405,1
1723161257,ask,2684.50,1
1723161258,ask,2684.50,12.5
";
    let error = read(open(text, &options("")).unwrap()).1.unwrap();
    assert_eq!(
        error,
        "a.csv: line 5: px 2684.405 is not a multiple of the tick 0.01"
    );
    let (snapshots, error, reader) = read(open(text, &options("off-grid")).unwrap());
    assert_eq!((snapshots.len(), error), (2, None));
    assert_eq!(reader.report().skipped(DefectKind::OffGrid), 1);
    assert_eq!((reader.report().rows, reader.report().kept), (3, 2));
}

#[test]
fn what_is_written_is_read() {
    let grid = Grid::parse("0.01", "0.001").unwrap();
    let mut writer = CsvWriter::new(Vec::new(), grid, 2).unwrap();
    for snapshot in wide() {
        writer.write(&snapshot).unwrap();
    }
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert!(
        text.contains("\n1723161258000000000,1723161258000000000,9,,,,,2684.5,12.5,,\n"),
        "{text}"
    );
    // Some programs write a byte order mark first.
    for text in [text.clone(), format!("\u{feff}{text}")] {
        let (snapshots, error, _) = read(open(&text, &options("")).unwrap());
        assert_eq!((snapshots, error), (wide(), None));
    }
}

#[test]
fn units_come_from_the_file_or_from_the_caller() {
    let in_steps = "\
# price=ticks qty=lots time=us
time,bid_px_1,bid_qty_1,note
1723161256000000.5,268449,194,x
";
    let mut options = options("");
    options.ignored_columns = vec!["note".to_owned()];
    let error = open(in_steps, &options).unwrap_err();
    assert!(error.contains("tick and lot are not known"), "{error}");
    let grid = Grid::parse("0.01", "0.001").unwrap();
    options.units = Units {
        tick: Some(grid.tick),
        lot: Some(grid.lot),
        ..Units::default()
    };
    let (snapshots, error, _) = read(open(in_steps, &options).unwrap());
    assert_eq!(error, None);
    assert_eq!(snapshots[0].bids, levels(&[(268_449, 194)]));
    assert_eq!(
        snapshots[0].local_time,
        Timestamp(1_723_161_256_000_000_500)
    );
    options.units.price = Some(Unit::Decimal);
    let error = open(in_steps, &options).unwrap_err();
    assert!(error.contains("another unit of prices"), "{error}");
    // A column named just `time` holds RFC 3339, unless the unit is given.
    let text = "# tick=1 lot=1\ntime,side,px,qty\n2024-08-08T23:54:16Z,bid,2684,1\n";
    let (snapshots, _, _) = read(open(text, &CsvOptions::default()).unwrap());
    assert_eq!(
        snapshots[0].local_time,
        Timestamp(1_723_161_256_000_000_000)
    );
    let text = "# tick=1 lot=1\ntime,side,px,qty\n1723161256,bid,2684,1\n";
    let error = read(open(text, &CsvOptions::default()).unwrap()).1.unwrap();
    assert!(error.contains("named with a unit"), "{error}");
    let mut in_seconds = CsvOptions::default();
    in_seconds.units.time = Some(TimeUnit::Seconds);
    assert_eq!(read(open(text, &in_seconds).unwrap()).0.len(), 1);
}

#[test]
fn floats_of_other_programs_are_read_exactly() {
    let text =
        "# tick=0.01 lot=0.001\ntime_s,side,px,qty\n1723161256,bid,1002.8300000000001,1e-03\n";
    let (snapshots, error, _) = read(open(text, &options("")).unwrap());
    assert_eq!(error, None);
    assert_eq!(snapshots[0].bids, levels(&[(100_283, 1)]));
}

/// As pandas writes them: a space instead of the T, and an offset or no zone.
#[test]
fn times_of_pandas_are_read_if_they_have_a_zone() {
    let text = |time: &str| {
        format!(
            "# tick=1 lot=1\ntime,exchange_time,side,px,qty\n{time},2024-08-08T23:54:16Z,bid,2684,1\n"
        )
    };
    for (time, nanos) in [
        ("2024-08-08 23:54:16+00:00", 0),
        ("2024-08-08 23:54:16.123456+00:00", 123_456_000),
        ("2024-08-09 01:54:16.5+02:00", 500_000_000),
        ("2024-08-08 23:54:16Z", 0),
    ] {
        let (snapshots, error, _) = read(open(&text(time), &options("")).unwrap());
        assert_eq!(error, None, "{time}");
        let expected = Timestamp(1_723_161_256_000_000_000 + nanos);
        assert_eq!(snapshots[0].local_time, expected, "{time}");
    }
    for time in ["2024-08-08 23:54:16.123456", "2024-08-08T23:54:16"] {
        let error = read(open(&text(time), &options("")).unwrap()).1.unwrap();
        let words = format!("a.csv: line 3: time is {time:?}, but must be a time with its zone");
        assert!(
            error.contains(&words) && error.contains("append Z or +00:00"),
            "{error}"
        );
    }
}

#[test]
fn a_plus_sign_is_that_of_the_number() {
    let text =
        "# tick=0.01 lot=0.001\ntime_s,sequence,side,px,qty\n1723161256,+7,bid,+2681.62,+.5\n";
    let (snapshots, error, _) = read(open(text, &options("")).unwrap());
    assert_eq!(error, None);
    assert_eq!(snapshots[0].bids, levels(&[(268_162, 500)]));
    assert_eq!(snapshots[0].sequence, 7);
    for bad in ["++2681.62", "+-2681.62", "-2681.62", "+"] {
        let text = text.replace("+2681.62", bad);
        let error = read(open(&text, &options("")).unwrap()).1.unwrap();
        let expected = format!("px is {bad:?}, but must be a number above 0");
        assert!(error.contains(&expected), "{error}");
    }
}

/// The second of three rows is bad: reported with its line, or left out and counted.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn bad_rows_are_named_or_skipped_and_counted() {
    for (name, row, text) in [
        (
            "off-grid",
            "1723161257000,8,2684.495,1,,,2684.50,1",
            "bid_px_1 2684.495 is not a",
        ),
        (
            "off-grid",
            "1723161257000,8,2684.49,1,,,2684.50,0.0005",
            "ask_qty_1 0.0005 is not a",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,-1,,,2684.50,1",
            "bid_qty_1 is \"-1\"",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,0,,,2684.50,1",
            "bid_qty_1 is \"0\"",
        ),
        (
            "bad-value",
            "1723161257000,8,,,2684.40,1,2684.50,1",
            "bid_px_2 is \"2684.40\"",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,,,,2684.50,1",
            "bid_qty_1 is \"\"",
        ),
        ("bad-value", "x,8,2684.49,1,,,2684.50,1", "time is \"x\""),
        (
            "bad-value",
            "1723161257000,-8,2684.49,1,,,2684.50,1",
            "sequence is \"-8\"",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,1,,,2684.50",
            "number of cells is \"7\"",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,1e300,,,2684.50,1",
            "bid_qty_1 is \"1e300\", but must be in range",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,99999999999999999999999999999999999999999999999999,,,2684.50,1",
            "9…\", but must be in range",
        ),
        (
            "bad-value",
            "1723161257000,8,2684.49,18446744073709551615,,,2684.50,1",
            "but must be in range",
        ),
        (
            "bad-value",
            "99999999999999999,8,2684.49,1,,,2684.50,1",
            "milliseconds since 1970, up to the year 2262",
        ),
        (
            "unsorted",
            "1723161257000,8,2684.49,1,2684.49,1,2684.50,1",
            "level 2 of the bids",
        ),
        (
            "crossed",
            "1723161257000,8,2684.50,1,,,2684.50,1",
            "the book is crossed: best bid 2684.5, best ask 2684.5",
        ),
        (
            "backward",
            "1723161255000,8,2684.49,1,,,2684.50,1",
            "is before that of an earlier row",
        ),
        (
            "backward",
            "1723161257000,6,2684.49,1,,,2684.50,1",
            "sequence 6",
        ),
        (
            "duplicate",
            "1723161256000,7,2684.49,0.194,2684.4,1,2684.50,12.5",
            "repeats",
        ),
        (
            "mixed-units",
            "1723161257,8,2684.49,1,,,2684.50,1",
            "time is about 0.001 times",
        ),
        (
            "mixed-units",
            "1723161257000,8,26.84,1,,,26.85,1",
            "price is about 0.01 times",
        ),
    ] {
        let mut lines: Vec<_> = WIDE.lines().collect();
        lines[3] = row;
        let text_of_file = lines.join("\n") + "\n";
        let (snapshots, error, _) = read(open(&text_of_file, &options("")).unwrap());
        let error = error.unwrap_or_else(|| panic!("passes: {row}"));
        assert!(
            error.starts_with("a.csv: line 4: ") && error.contains(text),
            "{error}"
        );
        assert_eq!(snapshots.len(), 1);
        let (snapshots, error, reader) = read(open(&text_of_file, &options(name)).unwrap());
        assert_eq!((snapshots.len(), error), (2, None), "{row}");
        let kind = DefectKind::from_name(name).unwrap();
        assert_eq!(reader.report().skipped(kind), 1);
        assert_eq!((reader.report().rows, reader.report().kept), (3, 2));
    }
}

#[test]
fn a_gap_stays_when_it_is_tolerated() {
    let text = WIDE.replace("1723161258000", "1723161318000");
    let error = read(open(&text, &options("")).unwrap()).1.unwrap();
    assert!(error.contains("line 5: no row for 61.000 s"), "{error}");
    let (snapshots, error, reader) = read(open(&text, &options("gap")).unwrap());
    assert_eq!((snapshots.len(), error), (3, None));
    assert_eq!(reader.report().skipped(DefectKind::Gap), 1);
}

/// Truncation is detected at every byte, even if the rest of the line could be a complete one.
#[test]
fn a_file_that_is_cut_is_named_wherever_it_is() {
    let last = WIDE.rfind("\n1723").unwrap() + 1;
    for end in last + 1..WIDE.len() {
        let text = &WIDE[..end];
        let (snapshots, error, _) = read(open(text, &options("")).unwrap());
        assert_eq!(snapshots.len(), 2);
        let error = error.unwrap();
        assert!(error.contains("line 5: the file ends too early"), "{error}");
        let (snapshots, error, reader) = read(open(text, &options("truncated")).unwrap());
        assert_eq!((snapshots.len(), error), (2, None));
        assert_eq!(reader.report().skipped(DefectKind::Truncated), 1);
    }
}

/// A last line that may be complete is refused with what makes it so; one that lacks cells is not.
#[test]
fn a_missing_line_break_at_the_end_has_a_remedy() {
    let (line, _) = WIDE.rsplit_once('\n').unwrap();
    let error = read(open(line, &options("")).unwrap()).1.unwrap();
    assert!(
        error.contains("does not end with a line break") && error.ends_with("`echo >> a.csv`"),
        "{error}"
    );
    let long = "# tick=1 lot=1\ntime_s,side,px,qty\n1723161256,bid,2684,1\n1723161256,ask,2685,1";
    let error = read(open(long, &options("")).unwrap()).1.unwrap();
    assert!(error.ends_with("`echo >> a.csv`"), "{error}");
    let whole = format!("{long}\n");
    assert_eq!(read(open(&whole, &options("")).unwrap()).1, None);
    let (short, _) = line.rsplit_once(',').unwrap();
    let error = read(open(short, &options("")).unwrap()).1.unwrap();
    assert!(
        error.ends_with("its last line is incomplete: it has 7 of 8 cells"),
        "{error}"
    );
}

#[test]
fn files_without_snapshots_are_refused() {
    for (text, expected) in [
        ("", "a.csv: the file is empty"),
        ("# tick=0.01 lot=1\n", "a.csv: the file is empty"),
        (
            "# tick=0\ntime_ms,side,px,qty\n",
            "a.csv: line 1: tick=0 in its comment",
        ),
        (
            "# tick=1 lot=1\ntime_ms,bid,ask\n",
            "a.csv: line 2: wrong columns: \"bid\"",
        ),
        ("time_ms,side,px,qty\n", "a.csv: tick and lot are not known"),
        (
            "# tick=1 lot=1\ntime_ms,side,px,q",
            "a.csv: line 2: the file ends too early",
        ),
    ] {
        let error = open(text, &options("truncated")).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let missing = CsvReader::open(Path::new("/nonexistent.csv"), &options("")).unwrap_err();
    assert!(missing.to_string().contains("/nonexistent.csv"));
}

#[test]
fn files_continue_each_other_and_steps_are_found() {
    let file = |name: &str, text: &str| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let first = file("first.csv", WIDE);
    let second = file(
        "second.csv",
        &WIDE.replace("1723161256000,7", "1723161259000,9"),
    );
    let other = file("other.csv", &WIDE.replace("tick=0.01", "tick=0.001"));
    let opened = || CsvReader::open(&first, &options("")).unwrap();
    assert!(opened().continue_with(&other, &options("")).is_err());
    let (_, _, reader) = read(opened());
    let (snapshots, error, reader) = read(reader.continue_with(&second, &options("")).unwrap());
    assert_eq!(snapshots.len(), 1);
    assert!(
        error.unwrap().contains("second.csv: line 4"),
        "its second row goes back"
    );
    assert_eq!(reader.report().rows, 5);
    let found = find_grid(&first, 100, &options("")).unwrap();
    assert_eq!(
        found,
        Grid::parse("0.01", "0.002").ok(),
        "all quantities there are even"
    );
}

#[test]
fn blank_lines_are_counted() {
    let text = WIDE.replacen("\n1723161257", "\n\n\n1723161257", 1);
    assert_ne!(text, WIDE);
    let text: &'static str = text.leak();
    let (snapshots, error, reader) = read(open(text, &options("")).unwrap());
    assert_eq!((snapshots, error), (wide(), None));
    assert_eq!((reader.report().rows, reader.report().ignored), (3, 2));
    let (_, _, reader) = read(open(WIDE, &options("")).unwrap());
    assert_eq!(reader.report().ignored, 0);
}
