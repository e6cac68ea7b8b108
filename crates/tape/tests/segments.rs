//! Segments on disk: numbering across runs, snapshots, and the limit of all together.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use cambist_core::Time;
use cambist_core::event::Event;
use cambist_tape::{Folder, Header, Limits, Reader, SegmentError, Segments, Shelf};

const LIMITS: Limits = Limits {
    segment_bytes: 1_000,
    total_bytes: 3_500,
};

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
        segments.heard(Time(number), &Event::Wake).unwrap();
        segments.did(&[]).unwrap();
        if segments.is_due() {
            let snapshot = segments.number().to_le_bytes();
            segments.rotate(&snapshot).unwrap();
        }
    }
}

#[test]
fn the_oldest_go_and_what_stays_can_be_read() {
    let path = folder("segments-rotate");
    let mut segments = Segments::begin(Folder::new(&path), Header::default(), LIMITS).unwrap();
    record(&mut segments, 1_000);
    let last = segments.number();
    segments.finish().unwrap();
    assert!(last > 20, "only {last} segments");

    let kept = Folder::new(&path).list().unwrap();
    let bytes: u64 = kept.iter().map(|segment| segment.1).sum();
    assert!(bytes <= LIMITS.total_bytes, "{bytes}");
    let numbers: Vec<u64> = kept.iter().map(|segment| segment.0).collect();
    assert_eq!(numbers, ((last - 2)..=last).collect::<Vec<_>>());
    let mut next = None;
    for number in numbers {
        let file = File::open(Folder::new(&path).file(number)).unwrap();
        let mut reader = Reader::open(BufReader::new(file)).unwrap();
        assert_eq!(reader.snapshot(), Some(&(number - 1).to_le_bytes()[..]));
        while let Some(entry) = reader.next_entry().unwrap() {
            if let cambist_tape::Entry::Heard { now, .. } = entry {
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
fn a_second_run_goes_on_with_the_numbers_and_leaves_other_files_alone() {
    let path = folder("segments-again");
    fs::write(path.join("notes.tape"), "not ours").unwrap();
    for run in 1..=3 {
        let shelf = Folder::new(&path);
        let mut segments = Segments::begin(shelf, Header::default(), LIMITS).unwrap();
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
    let segments = Segments::begin(Folder::new(&path), Header::default(), LIMITS).unwrap();
    let file = Folder::new(&path).file(segments.number());
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_segment_that_is_never_rotated_ends_at_the_limit() {
    let path = folder("segments-full");
    let mut segments = Segments::begin(Folder::new(&path), Header::default(), LIMITS).unwrap();
    let full = (0..1_000).find_map(|number| {
        let heard = segments.heard(Time(number), &Event::Wake);
        let did = heard.and_then(|()| segments.did(&[]));
        did.err()
    });
    assert!(
        matches!(full, Some(SegmentError::Full { number: 1, .. })),
        "{full:?}"
    );
}
