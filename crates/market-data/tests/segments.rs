//! Recordings in the compact format: written data is read, found, and survives crashes.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use cambist_core::{Price, Qty, Side};
use cambist_market_data::npy::{TickOptions, TickReader};
use cambist_market_data::segment::{
    EventSegments, EventWriter, Header, Limits, ReadOptions, SnapshotSegments, SnapshotWriter,
    WriteError,
};
use cambist_market_data::{
    DefectKind, Event, EventSource, Grid, Level, Snapshot, SnapshotSource, Timestamp, Tolerance,
    Update, Visibility,
};

const SECOND: i64 = 1_000_000_000;
const BEGIN: i64 = 1_723_161_256 * SECOND;

fn header() -> Header {
    Header {
        market: "ETH-USDC".to_owned(),
        grid: Grid::parse("0.01", "0.001").unwrap(),
    }
}

/// Segments of a few hundred bytes, a key frame every four records.
const SMALL: Limits = Limits {
    segment_bytes: 400,
    key_records: 4,
    total_bytes: None,
};

/// One segment.
const ONE: Limits = Limits {
    segment_bytes: u64::MAX,
    ..SMALL
};

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    path
}

/// The snapshot of a second in a moving book.
fn snapshot(second: u64) -> Snapshot {
    let mid = 268_450 + second % 7;
    let level = |away: u64, side: Side| Level {
        price: match side {
            Side::Buy => Price(mid - away),
            Side::Sell => Price(mid + away),
        },
        qty: Qty(1 + second * away % 11),
    };
    let time = BEGIN + i64::try_from(second).unwrap() * SECOND;
    Snapshot {
        exchange_time: Timestamp(time - 250),
        local_time: Timestamp(time),
        sequence: 5 * second,
        bids: (1..4).map(|away| level(away, Side::Buy)).collect(),
        asks: (1..3).map(|away| level(away, Side::Sell)).collect(),
    }
}

fn tolerating(names: &str) -> ReadOptions {
    ReadOptions {
        tolerance: Tolerance::parse(names).unwrap(),
        ..ReadOptions::default()
    }
}

fn record(path: &Path, seconds: std::ops::Range<u64>, limits: Limits) -> SnapshotWriter {
    let mut writer = SnapshotWriter::begin(path, header(), limits).unwrap();
    for second in seconds {
        writer.write(&snapshot(second)).unwrap();
    }
    writer
}

/// Reads until the end or the first error.
fn read(mut reader: SnapshotSegments) -> (Vec<Snapshot>, Option<String>, SnapshotSegments) {
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

fn open(path: &Path, names: &str) -> SnapshotSegments {
    SnapshotSegments::open(path, tolerating(names)).unwrap()
}

fn expected(seconds: std::ops::Range<u64>) -> Vec<Snapshot> {
    seconds.map(snapshot).collect()
}

#[test]
fn recorded_snapshots_are_read_across_segments() {
    let path = folder("over-all");
    record(&path, 0..100, SMALL).finish().unwrap();
    assert!(fs::read_dir(&path).unwrap().count() > 5, "several segments");
    let reader = open(&path, "");
    assert_eq!(*reader.header(), header());
    assert_eq!(reader.grid(), header().grid);
    let (snapshots, error, reader) = read(reader);
    assert_eq!((snapshots, error), (expected(0..100), None));
    assert_eq!((reader.report().rows, reader.report().kept), (100, 100));
    // A single segment can be read alone.
    let (first, error, _) = read(open(&path.join("0000000001.mkt"), ""));
    assert_eq!(error, None);
    assert!(first.len() >= 4 && expected(0..100).starts_with(&first));
    // Another run continues it.
    record(&path, 100..110, SMALL).finish().unwrap();
    assert_eq!(read(open(&path, "")).0, expected(0..110));
}

#[test]
fn what_is_flushed_can_be_read_while_the_recording_goes_on() {
    let path = folder("flushed");
    let mut writer = record(&path, 0..2, ONE);
    assert!(SnapshotSegments::open(&path, tolerating("")).is_ok());
    writer.flush().unwrap();
    writer.write(&snapshot(2)).unwrap();
    assert_eq!(read(open(&path, "")).0, expected(0..2));
    writer.sync().unwrap();
    assert_eq!(read(open(&path, "")).0, expected(0..3));
    let other = SnapshotWriter::begin(&path, header(), ONE);
    assert!(
        matches!(other, Err(WriteError::Locked(_))),
        "one writer a folder"
    );
    drop(writer);
    assert!(SnapshotWriter::begin(&path, header(), ONE).is_ok());
}

#[test]
fn every_second_is_found() {
    let path = folder("every-second");
    // Finished segments and an unfinished one: the process was killed.
    let mut writer = record(&path, 0..90, SMALL);
    writer.flush().unwrap();
    drop(writer);
    let mut reader = open(&path, "");
    for second in (0..90).rev().chain(0..90) {
        let time = snapshot(second).local_time;
        for (asked, found) in [
            (time, second),
            (Timestamp(time.0 + SECOND - 1), second),
            (Timestamp(time.0 - 1), second.saturating_sub(1)),
        ] {
            reader.seek(asked).unwrap();
            assert_eq!(
                reader.next_snapshot().unwrap(),
                Some(&snapshot(found)),
                "{asked}"
            );
            // Reading continues after it.
            let following = reader.next_snapshot().unwrap().cloned();
            assert_eq!(following, (found < 89).then(|| snapshot(found + 1)));
        }
    }
    reader.seek(Timestamp(i64::MAX)).unwrap();
    assert_eq!(reader.next_snapshot().unwrap(), Some(&snapshot(89)));
    reader.seek(Timestamp(0)).unwrap();
    let (snapshots, error, _) = read(reader);
    assert_eq!((snapshots, error), (expected(0..90), None));
}

/// A crash leaves any part of the last write. In every case the flushed data is read, the truncation is reported, and
/// the next writer repairs the recording.
#[test]
fn a_crash_costs_only_what_was_not_flushed() {
    let path = folder("crash");
    let mut writer = record(&path, 0..6, ONE);
    writer.flush().unwrap();
    let file = path.join("0000000001.mkt");
    let before = fs::read(&file).unwrap();
    for second in 6..8 {
        writer.write(&snapshot(second)).unwrap();
    }
    writer.flush().unwrap();
    drop(writer);
    let after = fs::read(&file).unwrap();
    for end in before.len() + 1..after.len() {
        for zeros in [0, 5_000] {
            let mut bytes = after[..end].to_vec();
            bytes.resize(end + zeros, 0);
            fs::write(&file, &bytes).unwrap();
            let (snapshots, error, _) = read(open(&path, ""));
            assert_eq!(snapshots, expected(0..6));
            assert!(error.unwrap().contains("row 6: the file ends too early"));
            let (snapshots, error, reader) = read(open(&path, "truncated"));
            assert_eq!((snapshots, error), (expected(0..6), None));
            assert_eq!(reader.report().skipped(DefectKind::Truncated), 1);
        }
        record(&path, 6..7, ONE).finish().unwrap();
        let (snapshots, error, _) = read(open(&path, ""));
        assert_eq!((snapshots, error), (expected(0..7), None), "repaired");
        fs::remove_file(path.join("0000000002.mkt")).unwrap();
    }
    // Nothing was written to the segment: it is removed, and its number used again, so that none is missing.
    for bytes in [Vec::new(), before[..20].to_vec(), vec![0; 9_000]] {
        fs::write(path.join("0000000002.mkt"), &bytes).unwrap();
        let (snapshots, error, _) = read(open(&path, ""));
        assert_eq!(snapshots, expected(0..6));
        let error = error.unwrap();
        assert!(error.contains("before its header was written"), "{error}");
        let (snapshots, error, mut reader) = read(open(&path, "truncated"));
        assert_eq!((snapshots, error), (expected(0..6), None));
        assert_eq!(reader.report().skipped(DefectKind::Truncated), 1);
        reader.seek(Timestamp(BEGIN + 3 * SECOND)).unwrap();
        assert_eq!(read(reader).0, expected(3..6));
        record(&path, 7..8, ONE).finish().unwrap();
        let (snapshots, error, _) = read(open(&path, ""));
        let all = [expected(0..6), expected(7..8)].concat();
        assert_eq!((snapshots, error), (all, None));
        assert!(!path.join("0000000003.mkt").exists());
        fs::remove_file(path.join("0000000002.mkt")).unwrap();
    }
}

/// Every flipped bit is detected, or does not change what is read.
#[test]
fn damage_is_detected_or_harmless() {
    let path = folder("damage");
    record(&path, 0..10, ONE).finish().unwrap();
    let file = path.join("0000000001.mkt");
    let whole = fs::read(&file).unwrap();
    let all = expected(0..10);
    let (mut found, mut harmless) = (0, 0);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&file, &bytes).unwrap();
        match SnapshotSegments::open(&path, tolerating("")) {
            Err(_) => found += 1,
            Ok(mut reader) => {
                if reader.seek(Timestamp(BEGIN + 5 * SECOND)).is_ok()
                    && let Ok(Some(snapshot)) = reader.next_snapshot()
                {
                    assert_eq!(*snapshot, all[5], "byte {at}");
                }
                let (snapshots, error, _) = read(open(&path, ""));
                assert!(all.starts_with(&snapshots), "byte {at}");
                if error.is_some() {
                    found += 1;
                } else {
                    assert_eq!(snapshots.len(), 10, "byte {at}");
                    harmless += 1;
                }
            }
        }
    }
    // Index and trailer are not needed to read from the beginning.
    assert!(found > 5 * harmless, "{found} found, {harmless} harmless");
    // If tolerated, the unreadable part is left out, reported and counted.
    let mut bytes = whole.clone();
    bytes[200] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = read(open(&path, "")).1.unwrap();
    assert!(
        error.contains("0000000001.mkt: row") && error.contains("damaged"),
        "{error}"
    );
    let (snapshots, error, reader) = read(open(&path, "damaged"));
    assert!(error.is_none() && snapshots.len() < 10);
    assert_eq!(reader.report().skipped(DefectKind::Damaged), 1);
    // A segment that is missing right behind it is named as well.
    record(&path, 10..11, ONE).finish().unwrap();
    record(&path, 11..12, ONE).finish().unwrap();
    fs::remove_file(path.join("0000000002.mkt")).unwrap();
    let error = read(open(&path, "damaged")).1.unwrap();
    assert!(error.contains("are missing before this one: 1"), "{error}");
    fs::remove_file(path.join("0000000003.mkt")).unwrap();
    // Recording continues after a damaged segment.
    record(&path, 10..12, ONE).finish().unwrap();
    let (with_more, error, _) = read(open(&path, "damaged"));
    assert_eq!((with_more.len(), error), (snapshots.len() + 2, None));
}

#[test]
fn gaps_in_a_recording_are_named() {
    let path = folder("gap");
    let mut writer = record(&path, 0..3, ONE);
    writer.write(&snapshot(63)).unwrap();
    writer.finish().unwrap();
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!(snapshots.len(), 3);
    assert!(error.unwrap().contains("row 3: no row for 61.000 s"));
    let (snapshots, error, reader) = read(open(&path, "gap"));
    assert_eq!((snapshots.len(), error), (4, None));
    assert_eq!(reader.report().skipped(DefectKind::Gap), 1);
    let mut reader = open(&path, "");
    reader.seek(snapshot(63).local_time).unwrap();
    assert_eq!(
        reader.next_snapshot().unwrap(),
        Some(&snapshot(63)),
        "a jump is no gap"
    );
}

/// A row of another time is no gap: all of it would be simulated.
#[test]
fn a_snapshot_more_than_three_months_later_is_named_and_left_out() {
    let path = folder("months");
    let mut writer = record(&path, 0..3, ONE);
    writer.write(&snapshot(3 + 92 * 86_400)).unwrap();
    writer.finish().unwrap();
    let (snapshots, error, _) = read(open(&path, "gap"));
    assert_eq!(snapshots, expected(0..3));
    let error = error.unwrap();
    assert!(
        error.contains("0000000001.mkt: row 3: local time 2024-11-08")
            && error.contains("than three months"),
        "{error}"
    );
    let (snapshots, error, reader) = read(open(&path, "bad-value"));
    assert_eq!((snapshots, error), (expected(0..3), None));
    assert_eq!(reader.report().skipped(DefectKind::BadValue), 1);
    assert_eq!(reader.report().rows, 4);
}

/// The frames of a segment, as they are in the file: the first one is the header.
fn frames(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut frames, mut at) = (Vec::new(), 10);
    while let Some(length) = bytes.get(at..at + 4) {
        let length = u32::from_le_bytes(length.try_into().unwrap());
        let end = at + 12 + usize::try_from(length).unwrap();
        if end > bytes.len() {
            break;
        }
        frames.push(at..end);
        at = end;
    }
    frames
}

/// Records are differences to those before them, and the trailer has the place of the index: without one of its frames
/// a finished segment is damaged, and of an unfinished one every frame is missed that the next one continues.
#[test]
fn a_frame_that_is_missing_within_a_segment_is_noticed() {
    let path = folder("missing-frames");
    let mut writer = SnapshotWriter::begin(&path, header(), ONE).unwrap();
    for second in 0..10 {
        writer.write(&snapshot(second)).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    let file = path.join("0000000001.mkt");
    let whole = fs::read(&file).unwrap();
    let all = frames(&whole);
    // A header, ten records of which every fourth is a key frame, and the index.
    assert_eq!(all.len(), 12);
    let index = all[11].start;
    for (missing, frame) in all[..11].iter().enumerate().skip(1) {
        let cut = |end: usize| {
            let [before, after] = [0..frame.start, frame.end..end];
            [&whole[before], &whole[after]].concat()
        };
        fs::write(&file, cut(whole.len())).unwrap();
        let (snapshots, error, _) = read(open(&path, ""));
        let error = error.unwrap();
        assert!(error.contains("damaged: "), "{missing}: {error}");
        let before = expected(0..u64::try_from(missing).unwrap() - 1);
        assert!(snapshots.starts_with(&before), "{missing}");
        let (_, error, reader) = read(open(&path, "damaged"));
        assert_eq!(error, None);
        assert_eq!(reader.report().skipped(DefectKind::Damaged), 1);
        // The next writer leaves it as it is.
        record(&path, 20..21, ONE).finish().unwrap();
        assert_eq!(fs::read(&file).unwrap(), cut(whole.len()));
        fs::remove_file(path.join("0000000002.mkt")).unwrap();
        // Unfinished: without index and trailer.
        fs::write(&file, cut(index)).unwrap();
        let (_, error, _) = read(open(&path, ""));
        let continues = (missing + 1) % 4 != 1 && missing < 10;
        assert_eq!(error.is_some(), continues, "{missing}: {error:?}");
    }
}

/// Segments in another order than they were written in, or a clock that was set back between two runs.
#[test]
fn segments_that_go_back_in_time_are_named() {
    let path = folder("backward");
    record(&path, 0..3, ONE).finish().unwrap();
    record(&path, 3..6, ONE).finish().unwrap();
    let [first, third] = [1, 3].map(|number| path.join(format!("000000000{number}.mkt")));
    fs::rename(&first, &third).unwrap();
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!(snapshots, expected(3..6));
    let error = error.unwrap();
    assert!(
        error.contains("0000000003.mkt: row 0: local time") && error.contains("before that"),
        "{error}"
    );
    // If tolerated, what goes back is left out, and what is later than everything before is not.
    record(&path, 5..8, ONE).finish().unwrap();
    let (snapshots, error, reader) = read(open(&path, "backward,duplicate"));
    assert_eq!((snapshots, error), (expected(3..8), None));
    assert_eq!(reader.report().skipped(DefectKind::Backward), 3);
    assert_eq!(reader.report().skipped(DefectKind::Duplicate), 1);
    assert_eq!(reader.report().rows, 9);
}

/// Lost data, however short the time that is missing.
#[test]
fn segments_that_are_missing_between_others_are_named() {
    let path = folder("missing");
    for at in 0..4 {
        let range = 2 * at..2 * at + 2;
        record(&path, range, ONE).finish().unwrap();
    }
    for number in [2, 3] {
        fs::remove_file(path.join(format!("000000000{number}.mkt"))).unwrap();
    }
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!(snapshots, expected(0..2));
    let error = error.unwrap();
    let what = "0000000004.mkt: segments of the recording that are missing before this one: 2";
    assert!(error.ends_with(what), "{error}");
    let (snapshots, error, reader) = read(open(&path, "gap"));
    let all = [expected(0..2), expected(6..8)].concat();
    assert_eq!((snapshots, error), (all, None));
    assert_eq!(reader.report().skipped(DefectKind::Gap), 1);
    // The oldest are removed by the recording itself, and time without data may be of no interest.
    fs::remove_file(path.join("0000000001.mkt")).unwrap();
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!((snapshots, error), (expected(6..8), None));
}

#[test]
fn a_folder_has_one_recording() {
    let path = folder("one-recording");
    record(&path, 0..3, ONE).finish().unwrap();
    let other = Header {
        market: "BTC-USDC".to_owned(),
        ..header()
    };
    let error = SnapshotWriter::begin(&path, other, ONE).unwrap_err();
    assert!(error.to_string().contains("another market"), "{error}");
    let error = EventWriter::begin(&path, header(), ONE).unwrap_err();
    assert!(matches!(error, WriteError::Other { .. }));
    let error = EventSegments::open(&path, tolerating("")).unwrap_err();
    assert!(error.to_string().contains("not events"), "{error}");
    let long = Header {
        market: "x".repeat(256),
        ..header()
    };
    let error = SnapshotWriter::begin(&folder("long-name"), long, ONE).unwrap_err();
    assert!(matches!(error, WriteError::MarketName));
    let error = SnapshotSegments::open(&folder("nothing"), tolerating("")).unwrap_err();
    assert!(error.to_string().contains("nothing"));
    fs::write(
        path.join("0000000002.mkt"),
        b"something else that is longer than a header is",
    )
    .unwrap();
    let error = SnapshotWriter::begin(&path, header(), ONE).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("0000000002.mkt: it is not a segment"),
        "{error}"
    );
}

#[test]
fn a_refused_record_has_no_effect() {
    let path = folder("refused");
    let mut writer = record(&path, 0..3, ONE);
    let mut bad = snapshot(3);
    bad.bids[0].price = bad.asks[0].price;
    assert!(matches!(writer.write(&bad), Err(WriteError::Refused(_))));
    assert!(matches!(
        writer.write(&snapshot(1)),
        Err(WriteError::Refused(_))
    ));
    writer.write(&snapshot(3)).unwrap();
    writer.finish().unwrap();
    assert_eq!(read(open(&path, "")).0, expected(0..4));
}

#[test]
fn the_oldest_segments_are_removed_beyond_the_limit() {
    let path = folder("too-many");
    let limits = Limits {
        total_bytes: Some(2_000),
        ..SMALL
    };
    record(&path, 0..300, limits).finish().unwrap();
    let bytes: u64 = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!((1_000..=2_000).contains(&bytes), "{bytes}");
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!(error, None);
    assert!(!snapshots.is_empty() && expected(0..300).ends_with(&snapshots));
    // Runs that are shorter than a segment leave one each; the next one makes room.
    for run in 300..340 {
        record(&path, run..run + 1, limits).finish().unwrap();
    }
    let bytes: u64 = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!((1_000..=2_000).contains(&bytes), "{bytes}");
    assert!(expected(0..340).ends_with(&read(open(&path, "")).0));
}

/// However rarely key frames are due: a segment that is full ends with its frame.
#[test]
fn segments_end_when_they_are_full() {
    let path = folder("full");
    let limits = Limits {
        segment_bytes: 1_000,
        key_records: 1_000_000,
        total_bytes: None,
    };
    let mut writer = SnapshotWriter::begin(&path, header(), limits).unwrap();
    for second in 0..300 {
        writer.write(&snapshot(second)).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    let segments = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap());
    let segments: Vec<_> = segments
        .filter(|entry| entry.path().extension().is_some())
        .collect();
    assert!(segments.len() > 5, "{}", segments.len());
    for segment in segments {
        let bytes = segment.metadata().unwrap().len();
        assert!(bytes < 1_500, "{bytes}");
    }
    let (snapshots, error, _) = read(open(&path, ""));
    assert_eq!((snapshots, error), (expected(0..300), None));
}

#[test]
fn a_real_recording_of_ticks_is_the_same_afterwards() {
    let excerpt =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ethusdt-20240808-excerpt.npz");
    let ticks = || {
        let mut reader = TickReader::open(&excerpt, &TickOptions::new(header().grid)).unwrap();
        std::iter::from_fn(move || reader.next_event().unwrap().copied())
    };
    let path = folder("ticks");
    let mut writer = EventWriter::begin(&path, header(), SMALL).unwrap();
    for event in ticks() {
        writer.write(&event).unwrap();
    }
    writer.finish().unwrap();
    let mut reader = EventSegments::open(&path, tolerating("")).unwrap();
    assert_eq!(*reader.header(), header());
    for event in ticks() {
        assert_eq!(reader.next_event().unwrap(), Some(&event));
    }
    assert_eq!(reader.next_event().unwrap(), None);
    assert_eq!(reader.report().kept, 232);
    // Another run that records the same again goes back in time.
    let mut writer = EventWriter::begin(&path, header(), ONE).unwrap();
    for event in ticks() {
        writer.write(&event).unwrap();
    }
    writer.finish().unwrap();
    let last = ticks().last().unwrap();
    let goes_on = |event: &Event| {
        event.exchange_time >= last.exchange_time && event.local_time >= last.local_time
    };
    let mut reader = EventSegments::open(&path, tolerating("")).unwrap();
    for _ in 0..232 {
        reader.next_event().unwrap();
    }
    let error = reader.next_event().unwrap_err().to_string();
    assert!(error.contains("row 0: exchange time"), "{error}");
    let mut reader = EventSegments::open(&path, tolerating("backward")).unwrap();
    let mut kept = 0;
    while let Some(event) = reader.next_event().unwrap() {
        kept += 1;
        assert!(kept <= 232 || goes_on(event));
    }
    let at_the_end = ticks().filter(goes_on).count();
    assert_eq!(kept, 232 + at_the_end);
    assert_eq!(
        reader.report().skipped(DefectKind::Backward),
        232 - at_the_end as u64
    );
}

/// Wherever a gap is among the events that are decoded at once, it is named before the event behind it.
#[test]
fn a_gap_between_events_is_named_wherever_it_is() {
    let event = |second: i64| Event {
        exchange_time: Timestamp(BEGIN + second * SECOND),
        local_time: Timestamp(BEGIN + second * SECOND),
        visibility: Visibility::Both,
        update: Update::Cancel { order: 1 },
    };
    for before in [1_usize, 2, 3, 4, 5, 255, 256, 257, 512] {
        let path = folder("gap-of-events");
        let limits = Limits {
            key_records: if before < 10 { 4 } else { 1_024 },
            ..ONE
        };
        let mut writer = EventWriter::begin(&path, header(), limits).unwrap();
        for second in (0..before).chain(before + 100..before + 110) {
            writer
                .write(&event(i64::try_from(second).unwrap()))
                .unwrap();
        }
        writer.finish().unwrap();
        let read = |names| {
            let mut reader = EventSegments::open(&path, tolerating(names)).unwrap();
            let (mut block, mut events) = (Vec::new(), 0);
            let error = loop {
                // Both ways of reading go on where the other one was.
                let read = reader.next_events(&mut block);
                events += block.len();
                let next = read.and_then(|()| reader.next_event());
                match next.map(|event| event.is_some()) {
                    Ok(false) if block.is_empty() => break None,
                    Ok(more) => events += usize::from(more),
                    Err(error) => break Some(error.to_string()),
                }
            };
            assert!(reader.next_event().unwrap().is_none());
            (events, error, reader.report().skipped(DefectKind::Gap))
        };
        let (events, error, _) = read("");
        assert_eq!(events, before, "{error:?}");
        let expected = format!("row {before}: no row for 101.000 s");
        assert!(error.unwrap().contains(&expected), "{before}");
        assert_eq!(read("gap"), (before + 10, None, 1), "{before}");
    }
}

/// What the recorder received late is in the order of the recorder's times alone: it is neither a time that goes back,
/// wherever it is among the events that are decoded at once, nor the time from which a gap is counted.
#[test]
fn an_event_of_the_recorders_view_alone_may_have_happened_earlier() {
    let event = |exchange_ms: i64, local_ms: i64, visibility| Event {
        exchange_time: Timestamp(BEGIN + exchange_ms * 1_000_000),
        local_time: Timestamp(BEGIN + local_ms * 1_000_000),
        visibility,
        update: Update::Cancel { order: 1 },
    };
    for (before, late) in [
        (1, 1),
        (3, 2),
        (4, 4),
        (5, 1),
        (256, 1),
        (255, 300),
        (512, 256),
    ] {
        let mut events: Vec<_> = (0..before)
            .map(|at| event(at * 1_000, at * 1_000, Visibility::Both))
            .collect();
        let now = (before - 1) * 1_000;
        let of_late = event(now - 30_000, now + 1, Visibility::Local);
        events.extend(std::iter::repeat_n(of_late, late));
        // A minute after the one before, and more than that after the time of the late one.
        events.push(event(now + 60_000, now + 60_000, Visibility::Both));
        let path = folder("late-events");
        let limits = Limits {
            key_records: if before < 10 { 4 } else { 1_024 },
            ..ONE
        };
        let mut writer = EventWriter::begin(&path, header(), limits).unwrap();
        for event in &events {
            writer.write(event).unwrap();
        }
        writer.finish().unwrap();
        let mut reader = EventSegments::open(&path, tolerating("")).unwrap();
        for event in &events {
            assert_eq!(reader.next_event().unwrap(), Some(event), "{before} {late}");
        }
        assert_eq!(reader.next_event().unwrap(), None);
    }
}

/// The snapshot of a second with its prices times a factor.
fn scaled(second: u64, factor: u64) -> Snapshot {
    let mut scaled = snapshot(second);
    for level in scaled.bids.iter_mut().chain(&mut scaled.asks) {
        level.price.0 *= factor;
    }
    scaled
}

#[test]
fn prices_of_a_recording_are_checked_like_those_of_tables() {
    for (factor, kind, words) in [
        (
            10,
            DefectKind::MixedUnits,
            "the bid price is about 10 times",
        ),
        (
            3,
            DefectKind::ImplausiblePrice,
            "is implausible after one of",
        ),
    ] {
        let path = folder(&format!("recorded-times-{factor}"));
        let mut writer = record(&path, 0..5, SMALL);
        // A row without a book hides no jump.
        let mut empty = snapshot(5);
        (empty.bids, empty.asks) = (Vec::new(), Vec::new());
        writer.write(&empty).unwrap();
        for second in 6..9 {
            writer.write(&scaled(second, factor)).unwrap();
        }
        for second in 9..12 {
            writer.write(&snapshot(second)).unwrap();
        }
        writer.finish().unwrap();
        let (rows, error, _) = read(open(&path, ""));
        let error = error.unwrap();
        assert_eq!(rows.len(), 6);
        assert!(
            error.contains(".mkt: row ") && error.contains(words),
            "{error}"
        );
        let (rows, error, reader) = read(open(&path, kind.name()));
        assert_eq!((rows.len(), error), (9, None));
        let report = SnapshotSource::report(&reader);
        assert_eq!((report.rows, report.kept), (12, 9));
        assert_eq!(report.skipped(kind), 3);
        let all = ReadOptions {
            price_factor: None,
            ..ReadOptions::default()
        };
        let (rows, error, _) = read(SnapshotSegments::open(&path, all).unwrap());
        assert_eq!(error.is_none(), factor == 3, "{error:?}");
        assert_eq!(rows.len(), if factor == 3 { 12 } else { 6 });
        // Where reading begins, there is nothing to compare with.
        let mut reader = open(&path, "");
        reader.next_snapshot().unwrap();
        reader.seek(Timestamp(BEGIN + 7 * SECOND)).unwrap();
        let next = reader.next_snapshot().unwrap().unwrap();
        assert_eq!(*next, scaled(7, factor));
    }
}

#[test]
fn a_repeated_row_of_a_recording_is_refused_or_left_out() {
    let path = folder("recorded-twice");
    record(&path, 0..1, ONE).finish().unwrap();
    fs::copy(path.join("0000000001.mkt"), path.join("0000000002.mkt")).unwrap();
    let (rows, error, _) = read(open(&path, ""));
    let error = error.unwrap();
    assert_eq!(rows, expected(0..1));
    assert!(
        error.contains("0000000002.mkt: row 0: repeats the row before it"),
        "{error}"
    );
    let (rows, error, reader) = read(open(&path, "duplicate"));
    assert_eq!((rows, error), (expected(0..1), None));
    assert_eq!(
        SnapshotSource::report(&reader).skipped(DefectKind::Duplicate),
        1
    );
}
