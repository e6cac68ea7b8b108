#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use cambist_core::{Price, Qty, Side};

use super::super::frame::{self, CONTINUATION};
use super::super::wire::Records;
use super::*;
use crate::defect::DefectKind;
use crate::event::{Update, Visibility};

const MS: i64 = 1_000_000;
const BEGIN: i64 = 1_723_161_256_000 * MS;
const DAY_MS: i64 = 86_400_000;
/// The number of the next file.
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn level(ms: i64, price: u64) -> Event {
    Event {
        exchange_time: Timestamp(BEGIN + ms * MS),
        local_time: Timestamp(BEGIN + ms * MS + MS),
        visibility: Visibility::Both,
        update: Update::Level {
            side: Side::Buy,
            price: Price(price),
            qty: Qty(1),
        },
    }
}

/// A segment of these events in frames of up to 1,000, whatever they are: a writer refuses some.
fn segment(events: &[Event]) -> PathBuf {
    segment_without(events, None)
}

/// The same, from which a frame is missing.
fn segment_without(events: &[Event], missing: Option<usize>) -> PathBuf {
    let header = Header {
        market: "ETH-USDC".to_owned(),
        grid: Grid::parse("0.01", "0.001").unwrap(),
    };
    let mut bytes = opening::<EventCodec>(&header);
    let mut codec = EventCodec::default();
    for (at, events) in events.chunks(1_000).enumerate() {
        let mut records = Records::default();
        for event in events {
            codec.encode(event, &mut records);
        }
        let mut payload = vec![if at == 0 { KEY } else { CONTINUATION }];
        payload.extend_from_slice(&u32::try_from(events.len()).unwrap().to_le_bytes());
        payload.extend_from_slice(&events[0].exchange_time.0.to_le_bytes());
        payload.extend_from_slice(&records.heads);
        payload.extend_from_slice(&records.values);
        if missing != Some(at) {
            bytes.extend_from_slice(&frame::head(&payload));
            bytes.extend_from_slice(&payload);
        }
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("cambist-events-{}-{number}.mkt", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// What is read of events until the end or the first error, in blocks, and the report.
fn read(path: &Path, names: &str) -> (Vec<Event>, Option<String>, Report) {
    let options = ReadOptions {
        tolerance: Tolerance::parse(names).unwrap(),
        ..ReadOptions::default()
    };
    let mut reader = EventSegments::open(path, options).unwrap();
    let (mut events, mut block) = (Vec::new(), Vec::new());
    let error = loop {
        match reader.next_events(&mut block) {
            Ok(()) if block.is_empty() => break None,
            Ok(()) => events.append(&mut block),
            Err(error) => break Some(error.to_string()),
        }
    };
    assert!(reader.next_event().unwrap().is_none());
    (events, error, reader.report().clone())
}

/// One bad event at a place among good ones is named with its row, or left out and counted if that is tolerated.
fn one_bad_event(bad: impl Fn(i64) -> Event, words: &str, kind: DefectKind) {
    for place in [1_usize, 2, 255, 256, 257, 999, 1_000, 1_300] {
        let mut events: Vec<_> = (0..1_310).map(|ms| level(ms, 268_450)).collect();
        events[place] = bad(i64::try_from(place).unwrap());
        let path = segment(&events);
        let (before, error, _) = read(&path, "gap");
        assert_eq!(before, events[..place], "{place}");
        let error = error.unwrap();
        assert!(error.contains(&format!("row {place}: ")), "{error}");
        assert!(error.contains(words), "{error}");
        let (kept, error, report) = read(&path, kind.name());
        let bad = events.remove(place);
        assert_eq!((kept, error), (events, None), "{place} {bad:?}");
        assert_eq!(report.skipped(kind), 1);
        assert_eq!((report.rows, report.kept), (1_310, 1_309));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn an_event_that_goes_back_is_named_wherever_it_is() {
    let early = |ms| level(ms - 2, 268_450);
    one_bad_event(early, "exchange time", DefectKind::Backward);
    let received_early = |ms| {
        let mut event = level(ms, 268_450);
        event.local_time.0 -= MS + 1;
        event.exchange_time.0 -= MS;
        event
    };
    one_bad_event(received_early, "local time", DefectKind::Backward);
}

#[test]
fn an_event_of_price_0_is_named_wherever_it_is() {
    let words = "price is \"0\", but must be a number above 0";
    one_bad_event(|ms| level(ms, 0), words, DefectKind::BadValue);
    for update in [
        Update::Trade {
            aggressor: Side::Sell,
            price: Price(0),
            qty: Qty(1),
        },
        Update::Fill {
            order: 1,
            price: Price(0),
            qty: Qty(1),
        },
    ] {
        let bad = |ms| Event {
            update,
            ..level(ms, 1)
        };
        one_bad_event(bad, words, DefectKind::BadValue);
    }
    // Neither of these has a price.
    let without = [
        Update::Clear {
            side: Some(Side::Buy),
            to: None,
        },
        Update::Cancel { order: 1 },
    ];
    let events = without.map(|update| Event {
        update,
        ..level(0, 1)
    });
    let path = segment(&events);
    let (kept, error, _) = read(&path, "");
    assert_eq!((kept, error), (events.to_vec(), None));
    fs::remove_file(path).unwrap();
}

#[test]
fn an_event_more_than_three_months_later_is_no_gap() {
    let words = "is more than three months after that of the row before it, 2024-08-0";
    let late = |ms| level(ms + 93 * DAY_MS, 268_450);
    one_bad_event(late, words, DefectKind::BadValue);
    let path = segment(&[level(0, 1), level(92 * DAY_MS, 1)]);
    let (kept, error, report) = read(&path, "gap");
    assert_eq!((kept.len(), error), (2, None), "a gap of three months");
    assert_eq!(report.skipped(DefectKind::Gap), 1);
    fs::remove_file(path).unwrap();
}

#[test]
fn events_behind_a_frame_that_is_missing_are_not_read() {
    let events: Vec<_> = (0..3_500).map(|ms| level(ms, 268_450)).collect();
    for missing in [1, 2] {
        let path = segment_without(&events, Some(missing));
        let before = &events[..1_000 * missing];
        let (kept, error, _) = read(&path, "");
        assert_eq!(kept, before);
        let what = format!(
            "row {}: damaged: frames before this row are missing",
            kept.len()
        );
        assert!(error.unwrap().ends_with(&what), "{missing}");
        let (kept, error, report) = read(&path, "damaged");
        assert_eq!((&kept[..], error), (before, None));
        assert_eq!(report.skipped(DefectKind::Damaged), 1);
        fs::remove_file(path).unwrap();
    }
}
