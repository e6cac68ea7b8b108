//! Segments on disk: numbering across runs, snapshots, and the limit of their total size.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use cambist_core::Time;
use cambist_core::event::Event;
use cambist_tape::{Folder, Header, Limits, Reader, SegmentError, Segments, Shelf};

const LIMITS: Limits = Limits {
    segment_bytes: 1_000,
    segment_ms: 3_600_000,
    total_bytes: 3_500,
    keep_s: 86_400,
};
/// A time before all files, none of which is therefore old.
const EARLY: u64 = 1_000_000_000;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

fn record(segments: &mut Segments<Folder>, turns: u64) {
    for number in 0..turns {
        segments.write_event(Time(number), &Event::Wake).unwrap();
        segments.write_actions(&[]).unwrap();
        if segments.is_due() {
            let snapshot = segments.number().to_le_bytes();
            segments.rotate(&snapshot, EARLY).unwrap();
        }
    }
}

#[test]
fn the_oldest_are_removed_and_the_rest_is_readable() {
    let path = folder("segments-rotate");
    let mut segments =
        Segments::begin(Folder::new(&path), Header::default(), LIMITS, EARLY).unwrap();
    record(&mut segments, 1_000);
    let last = segments.number();
    segments.finish().unwrap();
    assert!(last > 20, "only {last} segments");

    let kept = Folder::new(&path).list().unwrap();
    let bytes: u64 = kept.iter().map(|segment| segment.bytes).sum();
    assert!(bytes <= LIMITS.total_bytes, "{bytes}");
    let numbers: Vec<u64> = kept.iter().map(|segment| segment.number).collect();
    assert_eq!(numbers, ((last - 2)..=last).collect::<Vec<_>>());
    let mut next = None;
    for number in numbers {
        let file = File::open(Folder::new(&path).file(number)).unwrap();
        let mut reader = Reader::open(BufReader::new(file)).unwrap();
        assert_eq!(reader.snapshot(), Some(&(number - 1).to_le_bytes()[..]));
        while let Some(entry) = reader.next_entry().unwrap() {
            if let cambist_tape::Entry::Event { now, .. } = entry {
                assert!(
                    next.is_none_or(|next| next == now),
                    "nothing between segments is lost"
                );
                next = Some(Time(now.0 + 1));
            }
        }
    }
    assert_eq!(next, Some(Time(1_000)));
}

#[test]
fn a_second_run_continues_the_numbers_and_keeps_other_files() {
    let path = folder("segments-again");
    fs::write(path.join("notes.tape"), "not ours").unwrap();
    for run in 1..=3 {
        let shelf = Folder::new(&path);
        let mut segments = Segments::begin(shelf, Header::default(), LIMITS, EARLY).unwrap();
        assert_eq!(segments.number(), run);
        record(&mut segments, 5);
        segments.flush().unwrap();
    }
    assert_eq!(Folder::new(&path).list().unwrap().len(), 3);
    assert!(path.join("notes.tape").exists());
    let first = File::open(Folder::new(&path).file(1)).unwrap();
    assert_eq!(Reader::open(first).unwrap().snapshot(), None);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_segment() {
    use std::os::unix::fs::PermissionsExt;
    let path = folder("segments-mode");
    let segments = Segments::begin(Folder::new(&path), Header::default(), LIMITS, EARLY).unwrap();
    let file = Folder::new(&path).file(segments.number());
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_segment_that_is_never_rotated_ends_at_the_limit() {
    let path = folder("segments-full");
    let mut segments =
        Segments::begin(Folder::new(&path), Header::default(), LIMITS, EARLY).unwrap();
    let full = (0..1_000).find_map(|number| {
        let written = segments.write_event(Time(number), &Event::Wake);
        let written = written.and_then(|()| segments.write_actions(&[]));
        written.err()
    });
    assert!(
        matches!(full, Some(SegmentError::Full { number: 1, .. })),
        "{full:?}"
    );
}

#[test]
fn a_segment_ends_when_it_spans_long_enough() {
    let path = folder("segments-span");
    let mut segments =
        Segments::begin(Folder::new(&path), Header::default(), LIMITS, EARLY).unwrap();
    let mut turn = |ms| {
        segments
            .write_event(Time::from_ms(ms), &Event::Wake)
            .unwrap();
        segments.write_actions(&[]).unwrap();
        segments.is_due()
    };
    // The first event need not be at zero.
    assert!(!turn(5_000));
    assert!(!turn(3_604_999));
    assert!(turn(3_605_000));
    segments.rotate(&[], EARLY).unwrap();
    segments
        .write_event(Time::from_ms(3_700_000), &Event::Wake)
        .unwrap();
    assert!(
        !segments.is_due(),
        "the next one counts from its own first event"
    );
}

#[test]
fn segments_written_too_long_ago_are_removed() {
    let path = folder("segments-age");
    let numbers = || {
        let kept = Folder::new(&path).list().unwrap();
        kept.iter()
            .map(|segment| segment.number)
            .collect::<Vec<_>>()
    };
    let begin =
        |now_s| Segments::begin(Folder::new(&path), Header::default(), LIMITS, now_s).unwrap();
    let mut segments = begin(EARLY);
    record(&mut segments, 5);
    segments.finish().unwrap();
    let written_s = Folder::new(&path).list().unwrap()[0].written_s;
    let mut segments = begin(written_s + LIMITS.keep_s);
    assert_eq!(numbers(), [1, 2], "as old as is kept");
    // A running recording removes segments that have become too old, also its own.
    segments.rotate(&[], written_s + LIMITS.keep_s + 1).unwrap();
    assert_eq!(numbers(), [2, 3]);
    segments
        .rotate(&[], written_s + 2 * LIMITS.keep_s + 2)
        .unwrap();
    assert_eq!(numbers(), [3, 4]);
}
