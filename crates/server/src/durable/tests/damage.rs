//! A small folder truncated at every byte and with one bit of every byte flipped: the result is an earlier state, or an
//! error with the position of the damage.

use std::sync::Arc;

use cambist_venue::Random;

use super::history::{Source, happen, same, venue};
use super::model::Model;
use crate::durable::data_folder::DataFolder;
use crate::durable::disk::Disk;
use crate::durable::log_format::{
    BLOCK, Batch, FORMAT, Found, frame, read_frame, read_segment_opening, segment_opening,
};
use crate::durable::recover::recover;
use crate::durable::{DataError, Retention, snapshotter, versions};
use crate::state::{Answers, State};

/// Writes a folder of two snapshots and three segments; returns the state after each input.
fn written() -> (Model, Vec<State>) {
    let disk = Model::default();
    let folder = DataFolder::on(Arc::new(disk.clone()), 4 * BLOCK);
    let first = State::new(venue(), Vec::new());
    let mut states = vec![first.clone()];
    let mut ready = folder.create(first).unwrap();
    let mut source = Source::new(Random::new(5));
    let (mut segments, mut last) = (0, 0);
    // Two frames in the last segment.
    while last < 2 {
        let mut batch = Batch::default();
        while batch.count < 3 {
            let (now, happening) = source.next();
            if let Some((entry, answers)) = happen(&mut ready.state, now, &happening) {
                batch.push(&entry, answers).unwrap();
                states.push(ready.state.clone());
            }
        }
        let before = ready.writer.place().position;
        let began = ready.writer.write(&batch).unwrap();
        last += u32::from(segments + u32::from(began) == 2);
        if began {
            segments += 1;
            if segments == 1 {
                snapshotter::keep(&disk, Retention::default(), before).unwrap();
            }
        }
    }
    (disk, states)
}

/// Recovers a damaged folder: the position, or the error.
fn outcome(disk: &Model, states: &[State], what: &str) -> Result<usize, DataError> {
    let recovered = recover(disk, None)?;
    let position = usize::try_from(recovered.place.position).unwrap();
    assert!(
        states
            .get(position)
            .is_some_and(|state| same(&recovered.state, state)),
        "{what}: recovered a state that never existed"
    );
    Ok(position)
}

fn names(disk: &Model) -> Vec<String> {
    disk.list().unwrap()
}

fn bytes(disk: &Model, name: &str) -> Vec<u8> {
    disk.read(name).unwrap()
}

#[test]
fn a_flipped_bit_in_any_byte_is_harmless_or_refused() {
    let (disk, states) = written();
    let all = states.len() - 1;
    let last_log = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .max();
    let (mut refused, mut shorter, mut checked) = (0, 0, 0);
    for name in names(&disk) {
        let content = bytes(&disk, &name);
        for at in 0..content.len() {
            // Padding is uniform: samples of it are enough.
            if content[at] == 0 && at % 97 != 0 {
                continue;
            }
            let bit = at % 8;
            let broken = disk.copy();
            broken.tamper(&name, |bytes| bytes[at] ^= 1 << bit);
            let what = format!("bit {bit} of byte {at} of {name}");
            checked += 1;
            match outcome(&broken, &states, &what) {
                Ok(position) if position == all => {}
                // The last batch looks like one that a crash interrupted.
                Ok(position) => {
                    assert_eq!(Some(&name), last_log.as_ref(), "{what}");
                    assert!(position + 3 >= all, "{what}: {position} of {all}");
                    shorter += 1;
                }
                Err(DataError::Damaged { file, .. }) => {
                    assert!(
                        ["log-", "snapshot-", "manifest"]
                            .iter()
                            .any(|name| file.contains(name)),
                        "{file}"
                    );
                    refused += 1;
                }
                Err(DataError::Version { .. }) => panic!("{what}: the opening has a check"),
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
    assert!(
        refused > 500 && shorter > 100,
        "{refused} {shorter} of {checked}"
    );
}

#[test]
fn a_log_truncated_anywhere_is_a_prefix_or_refused() {
    let (disk, states) = written();
    for name in names(&disk) {
        let content = bytes(&disk, &name);
        let is_log = name.starts_with("log");
        let mut longest = 0;
        for length in 0..content.len() {
            if is_log && length % 5 != 0 && length > BLOCK {
                continue;
            }
            let broken = disk.copy();
            broken.tamper(&name, |bytes| bytes.truncate(length));
            match outcome(&broken, &states, &format!("{name} cut at {length}")) {
                Ok(position) => {
                    assert!(
                        position >= longest,
                        "{name} cut at {length}: less than before"
                    );
                    longest = position;
                }
                Err(DataError::Damaged { .. }) => {}
                Err(error) => panic!("{name} cut at {length}: {error}"),
            }
        }
    }
}

#[test]
fn a_missing_log_segment_is_named() {
    let (disk, _) = written();
    let logs: Vec<_> = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .collect();
    let broken = disk.copy();
    Disk::remove(&broken, &logs[logs.len() - 2]).unwrap();
    let Err(DataError::Damaged { file, what, .. }) = recover(&broken, None) else {
        panic!("a hole in the log is damage");
    };
    assert!(
        file.contains(&logs[logs.len() - 2]) && what.contains("missing"),
        "{file}: {what}"
    );
}

#[test]
fn files_of_another_folder_are_refused() {
    let ((disk, _), (other, _)) = (written(), written());
    let last = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .max()
        .unwrap();
    let foreign = bytes(&other, &last);
    disk.tamper(&last, |bytes| *bytes = foreign);
    assert!(matches!(
        recover(&disk, None),
        Err(DataError::Damaged { .. })
    ));
}

#[test]
fn if_the_newest_snapshot_is_damaged_the_one_before_it_is_used() {
    let (disk, states) = written();
    let latest = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("snapshot"))
        .max()
        .unwrap();
    disk.tamper(&latest, |bytes| bytes[BLOCK + 20] ^= 1);
    assert_eq!(
        outcome(&disk, &states, "damaged snapshot").unwrap(),
        states.len() - 1
    );
    assert_eq!(
        recover(&disk, None)
            .unwrap_or_else(|error| panic!("{error}"))
            .facts
            .damaged_snapshots,
        1
    );
}

#[test]
fn a_folder_with_other_stored_types_is_refused_with_its_version() {
    let (disk, _) = written();
    let last = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .max()
        .unwrap();
    let (opened, layout) = read_segment_opening(&bytes(&disk, &last)).unwrap();
    let (types, version) = versions::written();
    let later = segment_opening(&opened, (types ^ 1, version + 1), layout.bytes);
    disk.tamper(&last, |bytes| bytes[..BLOCK].copy_from_slice(&later));
    let refused = |disk: &Model| match recover(disk, None).map(drop) {
        Err(DataError::Version { file, .. }) if !file.ends_with(&last) => panic!("{file}"),
        Err(error @ DataError::Version { .. }) => error.to_string(),
        other => panic!("other types were read: {other:?}"),
    };
    let text = refused(&disk);
    let expected = format!(
        "was written by {} and holds types that",
        cambist_host::program::build().name
    );
    assert!(text.contains(&expected), "{text}");
    let expected = format!(
        "(version {}; it knows versions up to {version})",
        version + 1
    );
    assert!(text.contains(&expected), "{text}");
    assert!(
        text.contains("Go on with the program that wrote it"),
        "{text}"
    );

    // The copy that the upgrade made is named: the newest one, and no incomplete one.
    for name in [
        "before-version-9-input-8",
        "before-version-10-input-7",
        "before-version-11-input-9.partial",
    ] {
        disk.inside(name).create("log-0").unwrap();
    }
    let text = refused(&disk);
    let way = "'cambist venue restore --from model/before-version-10-input-7 --data NEW_FOLDER'";
    assert!(text.contains(way), "{text}");
}

#[test]
fn an_unknown_format_counts_as_later_and_not_as_damage() {
    let (disk, _) = written();
    let last = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .max()
        .unwrap();
    // The checksum is where a later format may have it.
    disk.tamper(&last, |bytes| bytes[8..72].fill(9));
    let refused = recover(&disk, None).map(drop);
    let Err(DataError::Version { found, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(found, format!("layout {}", 0x0909_0909));
}

#[test]
fn inputs_that_would_be_answered_differently_now_are_detected() {
    let (disk, _) = written();
    let last = names(&disk)
        .into_iter()
        .filter(|name| name.starts_with("log"))
        .max()
        .unwrap();
    // The digest of answers in the last frame is changed; everything else is valid.
    let content = bytes(&disk, &last);
    let (opened, _) = read_segment_opening(&content).unwrap();
    let Found::Frame(first) = read_frame(opened.folder, FORMAT, &content[BLOCK..]) else {
        panic!("a part of the log begins with a frame");
    };
    let mut batch = Batch {
        payload: first.payload.to_vec(),
        count: first.count,
        answers: first.answers.unwrap(),
    };
    let mut again = Vec::new();
    frame(opened.folder, opened.place, &batch, &mut again);
    assert_eq!(again, content[BLOCK..][..again.len()], "the same frame");
    batch.answers = batch.answers.and(Answers::default());
    frame(opened.folder, opened.place, &batch, &mut again);
    disk.tamper(&last, |bytes| {
        bytes[BLOCK..][..again.len()].copy_from_slice(&again);
    });
    let refused = recover(&disk, None).map(drop);
    let Err(DataError::Diverged { file, first, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (file, first),
        (format!("model/{last}"), opened.place.position)
    );
}
