//! Archives: created, chained, kept as long as configured, and read as one history.

use std::path::Path;

use super::copies::{Place, Written};
use crate::durable::archive::{self, Retention};
use crate::durable::disk::Folder;
use crate::durable::log_format::BLOCK;
use crate::durable::manifest::Manifest;
use crate::durable::{DataError, Extent, HistoryRecord, backup, read_history, verify};

const BATCHES: u32 = 60;

fn kept(data: &Path) -> Vec<(u64, u64)> {
    let disk = Folder::open_for_reading(data).unwrap();
    let all = archive::positions(&disk).unwrap();
    all.into_iter()
        .map(|position| {
            let (manifest, _) = Manifest::read(&*archive::packed(&disk, position))
                .unwrap()
                .unwrap();
            assert_eq!(manifest.from.unwrap().inputs, position);
            (position, manifest.to.inputs)
        })
        .collect()
}

/// Reads a history: its first input, the number of requests, and the end.
pub fn history_of(folders: &[&Path]) -> Result<(u64, u64, u64), DataError> {
    let (mut begin, mut asked, mut end) = (0, 0, 0);
    read_history(folders, |record| match record {
        HistoryRecord::Opening { position, .. } => begin = position,
        HistoryRecord::Asked { .. } => asked += 1,
        HistoryRecord::Closing { position, .. } => end = position,
    })?;
    Ok((begin, asked, end))
}

#[test]
fn archives_and_folder_are_chained_and_read_as_one_history() {
    let place = Place::new("archives");
    let (data, copy) = (place.path("data"), place.path("copy"));
    let mut written = Written::new(&data, Retention::default());
    for _ in 0..BATCHES {
        written.batch();
    }
    let end = written.position();
    let state = written.end();
    let archives = kept(&data);
    assert!(archives.len() >= 4, "{archives:?}");
    assert_eq!(archives[0].0, 0);
    for pair in archives.windows(2) {
        assert_eq!(pair[0].1, pair[1].0, "{archives:?}");
    }
    let facts = verify(&data).unwrap();
    assert!(facts.is_whole(), "{:?}", facts.generations);
    let mut reached = 0;
    for one in &facts.generations {
        assert_eq!(one.from, reached);
        reached = one.to;
    }
    assert_eq!(reached, end);

    // From the first input to the end of the history.
    let (begin, asked, to) = history_of(&[&data]).unwrap();
    assert_eq!((begin, to), (0, end));
    assert!(asked > end / 2, "{asked} requests in {end} inputs");
    let mut closing = None;
    read_history(&[&data], |record| {
        if let HistoryRecord::Closing { venue, .. } = record {
            closing = Some(venue.clone());
        }
    })
    .unwrap();
    let mut closing = closing.unwrap();
    closing.advance(state.venue.now());
    assert!(closing == state.venue, "another state at the end");

    // A full copy has the archives, a copy of what a start needs has none.
    backup(&data, &copy, Extent::Everything).unwrap();
    assert_eq!(history_of(&[&copy]).unwrap(), (begin, asked, to));
    let small = place.path("small");
    let facts = backup(&data, &small, Extent::Newest).unwrap();
    assert_eq!(facts.oldest_position, facts.snapshot_position);
    assert_eq!(history_of(&[&small]).unwrap().0, facts.snapshot_position);

    // Archives that were moved elsewhere, one by one, and the remaining folder.
    let elsewhere = place.path("elsewhere");
    std::fs::rename(copy.join("archive"), &elsewhere).unwrap();
    let folders: Vec<_> = archives
        .iter()
        .map(|(position, _)| elsewhere.join(format!("{position:016x}")))
        .chain([small.clone(), copy.clone()])
        .collect();
    let named: Vec<_> = folders.iter().map(std::path::PathBuf::as_path).collect();
    assert_eq!(history_of(&named).unwrap(), (begin, asked, to));
    // One archive is left out: the error names the missing inputs.
    let without: Vec<_> = named
        .iter()
        .copied()
        .filter(|path| *path != named[1])
        .collect();
    let Err(DataError::Gap { from, to, .. }) = history_of(&without) else {
        panic!("a history with a gap was read");
    };
    assert_eq!((from, to), archives[1]);
    // An archive of another exchange.
    let other = place.path("other");
    drop(Written::new(&other, Retention::default()).end());
    let mixed = history_of(&[&data, &other]);
    assert!(
        matches!(mixed, Err(DataError::OtherExchange { .. })),
        "{mixed:?}"
    );
}

#[test]
fn history_is_kept_by_days_and_by_bytes() {
    let run = |name: &str, retention: Retention, days: u64| {
        let place = Place::new(name);
        let data = place.path("data");
        let mut written = Written::new(&data, retention);
        for _ in 0..BATCHES {
            written.batch();
            written.pass_days(days);
        }
        drop(written.end());
        assert!(verify(&data).unwrap().is_whole());
        let disk = Folder::open_for_reading(&data).unwrap();
        let bytes: u64 = archive::positions(&disk)
            .unwrap()
            .into_iter()
            .filter_map(|position| Manifest::read(&*archive::packed(&disk, position)).unwrap())
            .flat_map(|(manifest, _)| manifest.files)
            .map(|file| file.bytes)
            .sum();
        (kept(&data).len(), bytes)
    };
    let forever = Retention {
        days: 36_500,
        bytes: u64::MAX,
    };
    let (all, all_bytes) = run("keep-all", forever, 1);
    assert!(all >= 5, "{all}");
    // One archive for every eight batches, one for each day.
    let days = |days| Retention { days, ..forever };
    let (some, _) = run("keep-days", days(20), 1);
    assert!((1..all - 1).contains(&some), "{some} of {all}");
    assert_eq!(run("keep-days-slow", days(20), 0).0, all, "no day passed");
    let (few, bytes) = run(
        "keep-bytes",
        Retention {
            bytes: all_bytes / 3,
            ..forever
        },
        1,
    );
    assert!(
        (1..all).contains(&few) && bytes <= all_bytes / 3,
        "{few} {bytes}"
    );
    assert_eq!(run("keep-none-days", days(0), 0).0, 0);
    let none = Retention {
        bytes: 0,
        ..forever
    };
    assert_eq!(run("keep-none-bytes", none, 0).0, 0);
}

#[test]
fn an_archive_is_a_fraction_of_the_log_that_it_was() {
    let place = Place::new("archive-size");
    let data = place.path("data");
    let mut written = Written::new(&data, Retention::default());
    for _ in 0..BATCHES {
        written.batch();
    }
    drop(written.end());
    let disk = Folder::open_for_reading(&data).unwrap();
    let first = archive::positions(&disk).unwrap()[0];
    let (manifest, _) = Manifest::read(&*archive::packed(&disk, first))
        .unwrap()
        .unwrap();
    let logs = manifest
        .files
        .iter()
        .filter(|file| file.name.starts_with("log-"));
    let (mut parts, mut bytes) = (0, 0);
    for file in logs {
        parts += 1;
        bytes += file.bytes;
    }
    assert!(
        bytes < parts * 5 * BLOCK as u64 / 3,
        "{bytes} bytes of {parts} parts"
    );
}
