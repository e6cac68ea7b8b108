//! Ticks: an excerpt of a real recording, and defects of files.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use cambist_core::{Price, Qty, Side};
use cambist_market_data::npy::{TickOptions, TickReader, find_grid};
use cambist_market_data::{
    Book, DefectKind, Event, EventSource, Grid, Timestamp, Tolerance, Update, Visibility,
};

/// 2024-08-08T00:00:00Z, in nanoseconds.
const BEGIN: i64 = 1_723_075_200_000_000_000;
const BOTH: u64 = 3 << 30;
const BUY: u64 = 1 << 29;
const SELL: u64 = 1 << 28;

fn grid() -> Grid {
    Grid::parse("0.01", "0.001").unwrap()
}

fn options(tolerance: &str) -> TickOptions {
    TickOptions {
        tolerance: Tolerance::parse(tolerance).unwrap(),
        ..TickOptions::new(grid())
    }
}

/// Rows 0 to 19, the beginnings of the clears and snapshots of both sides in both views, and some rows after them, of
/// Binance's USD-M ETHUSDT on 2024-08-08: the example data of hftbacktest (nkaz001/hftbacktest, MIT licence), in its
/// normalised format.
fn excerpt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ethusdt-20240808-excerpt.npz")
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[derive(Clone, Copy)]
struct Row {
    ev: u64,
    times: (i64, i64),
    px: f64,
    qty: f64,
    order: u64,
}

const ROW: Row = Row {
    ev: BOTH | BUY | 1,
    times: (BEGIN + 1_000, BEGIN + 2_000),
    px: 100.0,
    qty: 0.5,
    order: 0,
};

fn npy(rows: &[Row]) -> Vec<u8> {
    let header = format!(
        "{{'descr': [('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), \
         ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')], \
         'fortran_order': False, 'shape': ({},), }}\n",
        rows.len()
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    for row in rows {
        bytes.extend(row.ev.to_le_bytes());
        bytes.extend(row.times.0.to_le_bytes());
        bytes.extend(row.times.1.to_le_bytes());
        bytes.extend(row.px.to_le_bytes());
        bytes.extend(row.qty.to_le_bytes());
        bytes.extend(row.order.to_le_bytes());
        bytes.extend([0; 16]);
    }
    bytes
}

fn npz(member: &str, bytes: &[u8], deflated: bool) -> Vec<u8> {
    let mut archive = rawzip::ZipArchiveWriter::new(Vec::new());
    let method = if deflated {
        rawzip::CompressionMethod::DEFLATE
    } else {
        rawzip::CompressionMethod::STORE
    };
    let (mut entry, config) = archive
        .new_file(member)
        .compression_method(method)
        .start()
        .unwrap();
    let descriptor = if deflated {
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::best());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        descriptor
    } else {
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap().1
    };
    entry.finish(descriptor).unwrap();
    archive.finish().unwrap()
}

fn reader(rows: &[Row], tolerance: &str) -> TickReader {
    TickReader::new(
        std::io::Cursor::new(npy(rows)),
        "a.npy",
        &options(tolerance),
    )
    .unwrap()
}

/// Reads until the end or the first error.
fn read(mut reader: TickReader) -> (Vec<Event>, Option<String>, TickReader) {
    let mut events = Vec::new();
    loop {
        match reader.next_event() {
            Ok(Some(event)) => events.push(*event),
            Ok(None) => return (events, None, reader),
            Err(error) => {
                assert!(
                    reader.next_event().unwrap().is_none(),
                    "nothing is read after an error"
                );
                return (events, Some(error.to_string()), reader);
            }
        }
    }
}

#[test]
fn a_real_recording_is_read_in_both_views() {
    let (events, error, reader) = read(TickReader::open(&excerpt(), &options("")).unwrap());
    assert_eq!((events.len(), error), (232, None));
    assert_eq!(
        events[0],
        Event {
            exchange_time: Timestamp(1_723_161_256_302_000_000),
            local_time: Timestamp(1_723_161_256_360_385_470),
            visibility: Visibility::Both,
            update: Update::Level {
                side: Side::Buy,
                price: Price(20_000),
                qty: Qty(10_229)
            },
        }
    );
    let trades = events
        .iter()
        .filter(|event| matches!(event.update, Update::Trade { .. }));
    assert_eq!(trades.count(), 13);
    // The two views consist of different rows, in different orders.
    let (mut exchange, mut local) = (Book::new(), Book::new());
    for event in &events {
        if event.visibility.at_exchange() {
            exchange.apply(&event.update);
        }
        if event.visibility.at_local() {
            local.apply(&event.update);
        }
    }
    assert!(exchange.best_bid().is_some() && local.best_bid().is_some());
    let report = reader.report();
    assert_eq!((report.rows, report.kept, report.ignored), (232, 232, 0));
    assert_eq!(report.first, Some(events[0].exchange_time));
    assert_eq!(report.last, Some(events[231].exchange_time));
    let found = find_grid(&excerpt(), u64::MAX).unwrap().unwrap();
    assert_eq!(found, grid());
}

#[test]
fn plain_stored_and_deflated_files_read_alike() {
    let bytes = npy(&[ROW; 3]);
    for (name, content) in [
        ("plain.npy", bytes.clone()),
        ("stored.npz", npz("data.npy", &bytes, false)),
        ("deflated.npz", npz("data.npy", &bytes, true)),
    ] {
        let path = file(name, &content);
        let (events, error, _) = read(TickReader::open(&path, &options("")).unwrap());
        assert_eq!((events.len(), error), (3, None), "{name}");
    }
}

#[test]
fn every_kind_of_row_is_understood() {
    let of = |ev, order| Row { ev, order, ..ROW };
    let rows = [
        of(BOTH | BUY | 1, 0),
        of(BOTH | SELL | 2, 0),
        of(BOTH | BUY | 3, 0),
        of(BOTH | 3, 0),
        of(BOTH | SELL | 4, 0),
        of(BOTH | BUY | 0x0a, 7),
        of(BOTH | BUY | 0x0b, 7),
        of(BOTH | BUY | 0x0c, 7),
        of(BOTH | BUY | 0x0d, 7),
        // In no view: best bid, the recorder's own kind, no visibility.
        of(BOTH | BUY | 5, 0),
        of(BOTH | 0x7b, 0),
        of(BUY | 1, 0),
    ];
    let (events, error, reader) = read(reader(&rows, ""));
    assert_eq!(error, None);
    let (price, qty) = (Price(10_000), Qty(500));
    let updates: Vec<_> = events.iter().map(|event| event.update).collect();
    assert_eq!(
        updates,
        [
            Update::Level {
                side: Side::Buy,
                price,
                qty
            },
            Update::Trade {
                aggressor: Side::Sell,
                price,
                qty
            },
            Update::Clear {
                side: Some(Side::Buy),
                to: Some(price)
            },
            Update::Clear {
                side: None,
                to: None
            },
            Update::SnapshotLevel {
                side: Side::Sell,
                price,
                qty
            },
            Update::Add {
                order: 7,
                side: Side::Buy,
                price,
                qty
            },
            Update::Cancel { order: 7 },
            Update::Modify {
                order: 7,
                price,
                qty
            },
            Update::Fill {
                order: 7,
                price,
                qty
            },
        ]
    );
    let report = reader.report();
    assert_eq!(
        (report.rows, report.ignored, report.best_prices),
        (12, 2, 1)
    );
}

/// A bad row between two valid ones: reported with file and row, or left out and counted.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn bad_rows_are_named_or_skipped_and_counted() {
    let later = Row {
        times: (BEGIN + 3_000, BEGIN + 4_000),
        ..ROW
    };
    let cases = [
        (
            "off-grid",
            Row {
                px: 100.005,
                ..later
            },
            "px 100.005 is not a multiple of the tick 0.01",
        ),
        (
            "off-grid",
            Row {
                qty: 0.0005,
                ..later
            },
            "qty 0.0005 is not a multiple of the lot 0.001",
        ),
        (
            "bad-value",
            Row { px: 0.0, ..later },
            "px is \"0\", but must be a number above 0",
        ),
        (
            "bad-value",
            Row {
                px: f64::NAN,
                ..later
            },
            "px is \"NaN\"",
        ),
        (
            "bad-value",
            Row { px: 1e300, ..later },
            "0…\", but must be in range",
        ),
        (
            "bad-value",
            Row { qty: -1.0, ..later },
            "qty is \"-1\", but must be a number from 0",
        ),
        (
            "bad-value",
            Row {
                ev: BOTH | BUY | 2,
                qty: 0.0,
                ..later
            },
            "qty is \"0\", but must be a number above 0",
        ),
        (
            "bad-value",
            Row {
                times: (-1, 5),
                ..later
            },
            "nanoseconds since 1970",
        ),
        (
            "unknown-event",
            Row {
                ev: BOTH | BUY | 9,
                ..later
            },
            "low byte is not a known kind",
        ),
        (
            "unknown-event",
            Row {
                ev: BOTH | 1,
                ..later
            },
            "must have one side",
        ),
        (
            "unknown-event",
            Row {
                ev: BOTH | BUY | SELL | 3,
                ..later
            },
            "must have one side",
        ),
        (
            "backward",
            Row {
                times: (BEGIN + 999, BEGIN + 5_000),
                ..later
            },
            "exchange time",
        ),
        (
            "backward",
            Row {
                times: (BEGIN + 2_001, BEGIN + 1_999),
                ..later
            },
            "local time",
        ),
        (
            "negative-latency",
            Row {
                times: (BEGIN + 5_000, BEGIN + 4_999),
                ..later
            },
            "before it happened",
        ),
        (
            "mixed-units",
            Row {
                times: (BEGIN / 1_000, BEGIN + 5_000),
                ..later
            },
            "0.001 times",
        ),
    ];
    for (name, bad, text) in cases {
        let rows = [ROW, bad, later];
        let (events, error, _) = read(reader(&rows, ""));
        let error = error.unwrap_or_else(|| panic!("{name} passes"));
        assert!(
            error.starts_with("a.npy: row 1: ") && error.contains(text),
            "{error}"
        );
        assert_eq!(events.len(), 1);
        let (events, error, reader) = read(reader(&rows, name));
        assert_eq!((events.len(), error), (2, None), "{name}");
        let kind = DefectKind::from_name(name).unwrap();
        assert_eq!(reader.report().skipped(kind), 1);
        assert_eq!((reader.report().rows, reader.report().kept), (3, 2));
    }
}

#[test]
fn a_book_left_crossed_is_reported_if_it_is_built() {
    let ask = |time, px| Row {
        ev: BOTH | SELL | 1,
        times: (BEGIN + time, BEGIN + time),
        px,
        ..ROW
    };
    let rows = [ROW, ask(2_000, 101.0), ask(3_000, 99.99), ask(4_000, 102.0)];
    assert_eq!(read(reader(&rows, "")).1, None, "no book is built");
    let with_book = |tolerance| {
        let options = TickOptions {
            build_book: true,
            ..options(tolerance)
        };
        let bytes = std::io::Cursor::new(npy(&rows));
        read(TickReader::new(bytes, "a.npy", &options).unwrap())
    };
    let error = with_book("").1.unwrap();
    assert!(
        error.starts_with("a.npy: row 2: the book is crossed"),
        "{error}"
    );
    let (events, error, reader) = with_book("crossed");
    assert_eq!((events.len(), error), (4, None));
    assert_eq!(reader.report().skipped(DefectKind::Crossed), 1);
}

#[test]
fn rows_that_repeat_the_one_before_are_counted() {
    let later = Row {
        times: (BEGIN + 3_000, BEGIN + 4_000),
        ..ROW
    };
    let (events, error, reader) = read(reader(&[ROW, ROW, ROW, later], ""));
    assert_eq!((events.len(), error), (4, None));
    assert_eq!(reader.report().repeated, 2);
}

#[test]
fn a_whole_file_in_milliseconds_is_refused_with_its_row() {
    let at = |second: i64| {
        let ms = BEGIN / 1_000_000 + 1_000 * second;
        Row {
            times: (ms, ms),
            ..ROW
        }
    };
    let (events, error, _) = read(reader(&[at(0), at(1)], ""));
    let error = error.unwrap();
    assert!(
        events.is_empty() && error.starts_with("a.npy: row 0: "),
        "{error}"
    );
    assert!(
        error.contains("milliseconds, 2024-08-08T00:00:00Z"),
        "{error}"
    );
}

#[test]
fn a_gap_is_an_error_unless_it_is_tolerated() {
    let minute = 60_000_000_000;
    let at = |time| Row {
        times: (BEGIN + time, BEGIN + time),
        ..ROW
    };
    let rows = [at(minute), at(2 * minute), at(3 * minute + 1)];
    let (events, error, _) = read(reader(&rows, ""));
    assert_eq!(events.len(), 2, "a minute is allowed");
    assert_eq!(
        error.unwrap(),
        "a.npy: row 2: no row for 60.000 s since 2024-08-08T00:02:00Z (allowed: 60.000 s)"
    );
    let (events, error, reader) = read(reader(&rows, "gap"));
    assert_eq!((events.len(), error), (3, None));
    assert_eq!(reader.report().skipped(DefectKind::Gap), 1);
}

#[test]
fn a_file_that_ends_too_early_is_named_and_used_as_far_as_asked() {
    let whole = npy(&[ROW; 5]);
    // In the middle of row 3: plain, and in an archive with an intact directory.
    let short = &whole[..whole.len() - 100];
    for (name, content) in [
        ("short.npy", short.to_vec()),
        ("short-stored.npz", npz("data.npy", short, false)),
        ("short-deflated.npz", npz("data.npy", short, true)),
    ] {
        let path = file(name, &content);
        let (events, error, _) = read(TickReader::open(&path, &options("")).unwrap());
        let error = error.unwrap();
        assert!(
            error.contains(&format!("{name}: row 3: the file ends too early")),
            "{error}"
        );
        assert!(events.len() <= 3);
        let (events, error, reader) = read(TickReader::open(&path, &options("truncated")).unwrap());
        assert_eq!((events.len(), error), (3, None), "{name}");
        assert_eq!(reader.report().skipped(DefectKind::Truncated), 1);
    }
    // Without its end an archive has no directory, so nothing in it can be found.
    let archive = npz("data.npy", &whole, true);
    let path = file("cut.npz", &archive[..archive.len() - 30]);
    let error = TickReader::open(&path, &options("truncated")).unwrap_err();
    assert!(
        error.to_string().contains("directory cannot be read"),
        "{error}"
    );
}

#[test]
fn damage_is_found_by_the_checksum_of_the_archive() {
    for deflated in [false, true] {
        let mut bytes = npz("data.npy", &npy(&[ROW; 50]), deflated);
        let at = bytes.len() / 3;
        bytes[at] ^= 0x20;
        let path = file(&format!("damaged-{deflated}.npz"), &bytes);
        let error = match TickReader::open(&path, &options("off-grid,bad-value,unknown-event")) {
            Ok(reader) => read(reader).1,
            Err(error) => Some(error.to_string()),
        };
        assert!(error.is_some(), "deflated: {deflated}");
    }
    let mut long = npy(&[ROW; 2]);
    long.extend([0; 10]);
    let (events, error, _) =
        read(TickReader::open(&file("long.npy", &long), &options("")).unwrap());
    assert_eq!(events.len(), 2);
    assert!(error.unwrap().contains("bytes follow the 2 rows"));
}

#[test]
fn files_without_ticks_are_refused() {
    for (name, bytes, text) in [
        (
            "other.npz",
            npz("prices.npy", &npy(&[ROW]), true),
            "it has prices.npy",
        ),
        (
            "text.npy",
            b"time,bid_px_1\n".to_vec(),
            "neither a NumPy array",
        ),
        ("empty.npy", Vec::new(), "empty or cut off"),
    ] {
        let error = TickReader::open(&file(name, &bytes), &options("truncated,damaged"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(name), "{error}");
    }
    let missing = TickReader::open(Path::new("/nonexistent.npz"), &options("")).unwrap_err();
    assert!(missing.to_string().contains("/nonexistent.npz"));
}

#[test]
fn a_second_file_continues_the_first() {
    let path = file("first.npy", &npy(&[ROW]));
    let earlier = file(
        "second.npy",
        &npy(&[Row {
            times: (BEGIN + 500, BEGIN + 600),
            ..ROW
        }]),
    );
    let (_, _, first) = read(TickReader::open(&path, &options("")).unwrap());
    let (events, error, reader) = read(first.continue_with(&earlier).unwrap());
    assert!(events.is_empty() && error.unwrap().contains("second.npy: row 0"));
    assert_eq!(reader.report().rows, 2);
}

/// Reads of single bytes give the same result.
#[test]
fn short_reads_are_not_the_end() {
    struct Slow(std::io::Cursor<Vec<u8>>);
    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(3);
            self.0.read(&mut buffer[..length])
        }
    }
    let slow = Slow(std::io::Cursor::new(npy(&[ROW; 9])));
    let (events, error, _) = read(TickReader::new(slow, "slow.npy", &options("")).unwrap());
    assert_eq!((events.len(), error), (9, None));
}

/// A book of 100.00 and 101.00, then one more row and one that ends its message.
fn beside_a_book(row: Row) -> [Row; 4] {
    let at = |time: i64| (BEGIN + time, BEGIN + time);
    let level = |time, side, px| Row {
        ev: BOTH | side | 1,
        times: at(time),
        px,
        ..ROW
    };
    [
        level(1_000, BUY, 100.0),
        level(1_000, SELL, 101.0),
        Row {
            times: at(2_000),
            ..row
        },
        level(3_000, BUY, 100.0),
    ]
}

/// Prices up to a factor of 2 from the book are taken, and those beyond refused with row, price and book, or left out.
#[test]
fn prices_far_from_the_book_are_named_or_skipped() {
    let of = |kind: u64, px| Row {
        ev: BOTH | kind,
        px,
        ..ROW
    };
    for (kind, inside, outside, what) in [
        (BUY | 2, 202.0, 202.01, "the trade at 202.01"),
        (SELL | 2, 50.0, 49.99, "the trade at 49.99"),
        (BUY | 0x0d, 202.0, 1_010.0, "the trade at 1010"),
        (BUY | 1, 202.0, 202.01, "the bid 202.01"),
        (BUY | 4, 202.0, 1_000.0, "the bid 1000"),
        (SELL | 1, 50.0, 49.99, "the ask 49.99"),
        (SELL | 4, 50.0, 10.1, "the ask 10.1"),
    ] {
        let (events, error, _) = read(reader(&beside_a_book(of(kind, inside)), ""));
        assert_eq!((events.len(), error), (4, None), "{inside}");
        let rows = beside_a_book(of(kind, outside));
        let error = read(reader(&rows, "")).1.unwrap();
        let expected = format!(
            "a.npy: row 2: {what} is implausible beside a book of 100 bid and 101 ask: it is outside of 2 times"
        );
        assert!(error.starts_with(&expected), "{error}");
        let (events, error, left) = read(reader(&rows, "implausible-price"));
        assert_eq!((events.len(), error), (3, None), "{what}");
        assert_eq!(left.report().skipped(DefectKind::ImplausiblePrice), 1);
        for (price_factor, taken) in [(None, true), (Some(10), true), (Some(2), false)] {
            let options = TickOptions {
                price_factor,
                ..options("")
            };
            let bytes = std::io::Cursor::new(npy(&rows));
            let (_, error, _) = read(TickReader::new(bytes, "a.npy", &options).unwrap());
            assert_eq!(error.is_none(), taken, "{price_factor:?}: {error:?}");
        }
    }
    // A level that ends can set no best price, wherever it was.
    for ended in [
        of(SELL | 1, 10.0),
        of(BUY | 1, 6_000.0),
        of(BUY | 4, 6_000.0),
    ] {
        let ended = Row { qty: 0.0, ..ended };
        let (events, error, _) = read(reader(&beside_a_book(ended), ""));
        assert_eq!((events.len(), error), (4, None), "{}", ended.px);
    }
    // Levels far behind the best are those of a deep book.
    for deep in [of(BUY | 1, 1.0), of(SELL | 1, 100_000.0)] {
        assert_eq!(read(reader(&beside_a_book(deep), "")).1, None);
    }
}

/// The best price of a side that is a factor worse after a message.
#[test]
fn a_best_price_that_moves_by_a_factor_is_named() {
    let after = |far: f64, tolerance: &str| {
        let at = |time: i64| (BEGIN + time, BEGIN + time);
        let ask = |time, px, qty| Row {
            ev: BOTH | SELL | 1,
            times: at(time),
            px,
            qty,
            ..ROW
        };
        let rows = [
            Row {
                times: at(1_000),
                ..ROW
            },
            ask(1_000, 101.0, 1.0),
            ask(1_000, far, 1.0),
            ask(2_000, 101.0, 0.0),
            Row {
                times: at(3_000),
                ..ROW
            },
        ];
        read(reader(&rows, tolerance))
    };
    assert_eq!(after(202.0, "").1, None);
    let error = after(1_010.0, "").1.unwrap();
    let expected =
        "a.npy: row 3: the best ask 1010 is implausible beside a book of 100 bid and 101 ask";
    assert!(error.starts_with(expected), "{error}");
    let (events, error, left) = after(1_010.0, "implausible-price");
    assert_eq!((events.len(), error), (5, None), "the book stays as it is");
    assert_eq!(left.report().skipped(DefectKind::ImplausiblePrice), 1);
}

/// Without a book, a trade is compared with the one before it.
#[test]
fn trades_alone_are_compared_with_each_other() {
    let trade = |time: i64, px| Row {
        ev: BOTH | BUY | 2,
        times: (BEGIN + time, BEGIN + time),
        px,
        ..ROW
    };
    let rows = |second| [trade(1_000, 100.0), trade(2_000, second)];
    assert_eq!(read(reader(&rows(200.0), "")).1, None);
    let error = read(reader(&rows(1_000.0), "")).1.unwrap();
    assert!(
        error.contains("row 1: the trade at 1000 is implausible beside the trade before it at 100"),
        "{error}"
    );
}

/// A snapshot of the end of a day has no times: it is the state before the first row that has one, in the same file or in
/// the next, and between other rows that at the row before it.
#[test]
fn a_snapshot_without_times_is_taken_in_its_place() {
    let side = |side, px| Row {
        ev: BOTH | side | 4,
        times: (0, 0),
        px,
        ..ROW
    };
    let clear = |side| Row {
        ev: BOTH | side | 3,
        times: (0, 0),
        px: 0.0,
        ..ROW
    };
    let half_timed = Row {
        times: (BEGIN, 0),
        ..side(BUY, 99.0)
    };
    let snapshot = [clear(BUY), side(BUY, 100.0), side(SELL, 101.0), half_timed];
    let change = |ms: i64, px| Row {
        times: (BEGIN + ms, BEGIN + ms + 500),
        px,
        ..ROW
    };
    let day = [change(1_000, 100.5), change(2_000, 100.2)];
    let times = |events: &[Event]| -> Vec<_> {
        let of = |event: &Event| (event.exchange_time.0 - BEGIN, event.local_time.0 - BEGIN);
        events.iter().map(of).collect()
    };
    let expected = [&[(1_000, 1_500); 5][..], &[(2_000, 2_500)]].concat();
    let (events, error, left) = read(reader(&[&snapshot[..], &day[..]].concat(), ""));
    assert_eq!((times(&events), error), (expected.clone(), None));
    let report = left.report();
    assert_eq!((report.rows, report.kept, report.untimed), (6, 6, 4));
    let (delays, _) = report.delay.median_and_max().unwrap();
    assert!(
        (480..=520).contains(&delays),
        "{delays}: of two rows, 500 ns each"
    );
    assert_eq!(report.begins_whole, Some(true));
    assert_eq!(report.first, Some(Timestamp(BEGIN + 1_000)));
    let next = file("day-after-snapshot.npy", &npy(&day));
    let (none, error, first) = read(reader(&snapshot, ""));
    assert_eq!((none.len(), error), (0, None));
    let (events, error, _) = read(first.continue_with(&next).unwrap());
    assert_eq!((times(&events), error), (expected, None));
    let (events, error, left) = read(reader(&[&day[..], &snapshot[..]].concat(), ""));
    let at_end = [&[(1_000, 1_500)][..], &[(2_000, 2_500); 5]].concat();
    assert_eq!((times(&events), error), (at_end, None));
    assert_eq!(left.report().begins_whole, Some(true));
    // Of changes and trades without a time it is not known when they were.
    for kind in [1, 2, 10] {
        let untimed = Row {
            ev: BOTH | BUY | kind,
            times: (0, 0),
            ..ROW
        };
        let error = read(reader(&[untimed, day[0]], "")).1.unwrap();
        assert!(
            error.contains("row 0: ") && error.contains("1970"),
            "{error}"
        );
    }
}

/// A book that is built from changes alone is stated.
#[test]
fn a_recording_begins_whole_if_a_snapshot_is_among_its_first_rows() {
    let whole = |before: i64| {
        let at = |row: i64| (BEGIN + 1_000 * row, BEGIN + 1_000 * row);
        let changes = (0..before).map(|row| Row {
            times: at(row),
            ..ROW
        });
        let snapshot = Row {
            ev: BOTH | BUY | 4,
            times: at(before),
            ..ROW
        };
        let rows: Vec<_> = changes.chain([snapshot]).collect();
        read(reader(&rows, "")).2.report().begins_whole
    };
    assert_eq!(
        [0, 1, 9_999, 10_000].map(whole),
        [true, true, true, false].map(Some)
    );
}
