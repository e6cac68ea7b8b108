//! The recorder of the tape on a real folder: what is written, how much is kept, and that a disk that fails ends the
//! recording and nothing else.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use cambist_core::event::Event;
use cambist_core::{Engine, MarketSpec, Time};
use cambist_tape::Header;
use cambist_tape::segments::{Folder, Limits, Segments};

use super::{Recorder, Task, limits, take};
use crate::config::Daemon;
use crate::config::daemon::TapeConfig;
use crate::feeds::RunTime;
use crate::recording;
use cambist_host::clock::Clock;

fn config(dir: &Path, max_mb: u64, keep_days: u32) -> TapeConfig {
    TapeConfig {
        dir: dir.to_owned(),
        max_mb,
        keep_days,
    }
}

/// An eighth of the space, and from half a megabyte to four.
#[test]
fn segments_are_a_part_of_the_space() {
    for (max_mb, segment_bytes) in [
        (1, 500_000),
        (4, 500_000),
        (5, 625_000),
        (16, 2_000_000),
        (32, 4_000_000),
        (33, 4_000_000),
        (1_024, 4_000_000),
    ] {
        let limits = limits(&config(Path::new("/x"), max_mb, 3));
        assert_eq!(limits.segment_bytes, segment_bytes, "{max_mb}");
        assert_eq!(limits.total_bytes, max_mb * 1_000_000);
        assert_eq!((limits.segment_ms, limits.keep_s), (3_600_000, 259_200));
    }
}

fn header() -> (Header, Vec<MarketSpec>) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    let daemon = Daemon::load(Path::new(example)).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let header = recording::header(&bound, daemon.source.text.clone(), daemon.source.hash());
    (header, bound.markets)
}

fn recorder(config: Option<&TapeConfig>) -> anyhow::Result<Recorder> {
    let (header, markets) = header();
    Recorder::begin(config, header, &markets, Clock::new())
}

/// The bytes of all segments.
fn bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

#[test]
fn events_and_actions_are_on_the_tape_when_it_is_finished() {
    let folder = crate::testing::private_folder();
    let engine = Engine::new(Vec::new());
    let written = |name: &str, events: u64| {
        let dir = folder.path().join(name);
        let mut recorder = recorder(Some(&config(&dir, 8, 3))).unwrap();
        for at in 0..events {
            recorder.record_event(Time(at), &Event::Wake);
            recorder.record_actions(&[], &engine);
        }
        assert!(!recorder.has_failed());
        recorder.finish();
        let mode = std::fs::metadata(&dir).unwrap().permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&mode);
        assert_eq!(mode & 0o777, 0o700);
        bytes(&dir)
    };
    let (none, some, more) = (
        written("none", 0),
        written("some", 100),
        written("more", 200),
    );
    assert!(none > 0, "the header");
    assert!(
        some > none + 200 && more > some + 200,
        "{none} {some} {more}"
    );
}

/// A thread that has ended, as after a disk that failed.
#[test]
fn a_recording_that_ended_before_the_run_has_failed() {
    let mut recorder = recorder(None).unwrap();
    let ended = crate::live::task_thread::TaskThread::start("ended", |_| ());
    recorder.thread = Some(ended.unwrap());
    assert!(!recorder.has_failed());
    while !recorder.has_failed() {
        recorder.record_event(Time(1), &Event::Wake);
    }
    recorder.record_actions(&[], &Engine::new(Vec::new()));
    assert!(recorder.has_failed());
}

#[test]
fn without_a_folder_nothing_is_recorded_and_nothing_has_failed() {
    let mut recorder = recorder(None).unwrap();
    recorder.record_event(Time(1), &Event::Wake);
    recorder.record_actions(&[], &Engine::new(Vec::new()));
    assert!(!recorder.has_failed());
    recorder.finish();
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = crate::testing::private_folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = recorder(Some(&config(&file, 8, 3))).err().unwrap();
    assert!(
        format!("{error:#}").contains(&file.display().to_string()),
        "{error:#}"
    );
}

/// If much was waiting, a segment is requested again before the first request is executed.
#[test]
fn a_segment_that_was_requested_twice_begins_once() {
    let folder = crate::testing::private_folder();
    let by_time = Limits {
        segment_ms: 1_000,
        ..limits(&config(folder.path(), 8, 3))
    };
    let mut tape = Segments::begin(Folder::new(folder.path()), header().0, by_time, 1).unwrap();
    let (tasks, inbox) = channel();
    let wake = |ms| Task::Event(Time::from_ms(ms), Event::Wake);
    for task in [
        wake(1_000),
        Task::Rotate(Vec::new()),
        wake(2_000),
        Task::Rotate(Vec::new()),
        Task::Rotate(Vec::new()),
    ] {
        tasks.send(task).unwrap();
    }
    let first = inbox.recv().unwrap();
    let due = AtomicBool::new(false);
    take(
        &mut tape,
        first,
        &inbox,
        &due,
        &RunTime::begin(Clock::new()),
    )
    .unwrap();
    assert_eq!(tape.number(), 2);
}
