//! Truncated, incomplete, unfinished and mixed up copies and folders. None is mistaken for one with a shorter history.

use std::path::{Path, PathBuf};

use cambist_venue::Random;

use super::history::{Source, happen, venue};
use crate::durable::archive::Retention;
use crate::durable::data_folder::{DataFolder, Ready};
use crate::durable::log_format::{BLOCK, Batch};
use crate::durable::{DataError, Extent, backup, restore, snapshotter, verify};
use crate::state::State;

/// A temporary folder, removed when dropped.
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        let name = format!("cambist-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// An exchange in a folder with hand-written inputs, segments of a few blocks and a snapshot every few segments.
pub struct Written {
    pub ready: Ready,
    source: Source,
    folder: DataFolder,
    path: PathBuf,
    retention: Retention,
    segments: u32,
}

impl Written {
    pub fn new(path: &Path, retention: Retention) -> Self {
        let folder = DataFolder::take(path)
            .unwrap()
            .with_segment_bytes(5 * BLOCK);
        let ready = folder.create(State::new(venue(), Vec::new())).unwrap();
        Self {
            ready,
            source: Source::new(Random::new(5)),
            folder,
            path: path.to_owned(),
            retention,
            segments: 0,
        }
    }

    /// One batch of three inputs.
    pub fn batch(&mut self) {
        let mut batch = Batch::default();
        while batch.count < 3 {
            let (now, happening) = self.source.next();
            if let Some((entry, answers)) = happen(&mut self.ready.state, now, &happening) {
                batch.push(&entry, answers).unwrap();
            }
        }
        let before = self.ready.writer.place().position;
        if self.ready.writer.write(&batch).unwrap() {
            self.segments += 1;
            if self.segments.is_multiple_of(2) {
                let disk = crate::durable::disk::Folder::open_for_reading(&self.path).unwrap();
                snapshotter::keep(&disk, self.retention, before).unwrap();
            }
        }
    }

    /// Advances the time by days.
    pub fn pass_days(&mut self, days: u64) {
        self.source.pass_ms(days * 86_400_000);
    }

    pub fn position(&self) -> u64 {
        self.ready.writer.place().position
    }

    /// Stops the exchange and unlocks the folder.
    pub fn end(self) -> State {
        drop(self.folder);
        self.ready.state
    }
}

/// Writes a folder with two generations and archives before them.
fn written(path: &Path) -> u64 {
    let mut written = Written::new(path, Retention::default());
    for _ in 0..33 {
        written.batch();
    }
    let position = written.position();
    drop(written.end());
    position
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn an_incomplete_copy_is_refused_by_verify_and_restore() {
    let place = Place::new("short-copies");
    let (data, copy, back) = (place.path("data"), place.path("copy"), place.path("back"));
    let position = written(&data);
    let facts = backup(&data, &copy, Extent::Everything).unwrap();
    assert_eq!((facts.position, facts.oldest_position), (position, 0));
    let whole = verify(&copy).unwrap();
    assert_eq!(whole.recovery.manifest, Some("copy"));
    assert!(whole.is_whole() && whole.generations.iter().any(|one| one.archived));

    let all = files(&copy);
    let live = all
        .iter()
        .filter(|path| path.parent() == Some(&copy))
        .count();
    assert!(live >= 6 && all.len() >= live + 6, "{all:#?}");
    for path in all {
        let name = path.display();
        let bytes = std::fs::read(&path).unwrap();
        let archived = path.parent() != Some(copy.as_path());
        // A manifest's final newline is not needed.
        let mut shorter = vec![bytes.len() - 2];
        // Damage in an archive does not prevent reading the rest.
        let steps = if archived { 4 } else { 40 };
        shorter.extend((0..bytes.len() - 2).step_by(bytes.len().div_ceil(steps)));
        // A log truncated after a complete frame has no invalid frame.
        shorter.extend((BLOCK..bytes.len()).step_by(BLOCK));
        for length in shorter.into_iter().map(Some).chain([None]) {
            match length {
                Some(length) => std::fs::write(&path, &bytes[..length]).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let what = format!("{name} cut off at {length:?}");
            match (verify(&copy), length) {
                // Without its manifest it is like a copy of an earlier program: reported as unknown, not as missing.
                (Ok(facts), None) if path == copy.join("manifest.json") => {
                    assert_eq!(facts.recovery.manifest, None);
                    assert!(facts.recovery.may_be_cut);
                    let restored = restore(&copy, &back).unwrap();
                    assert!(restored.unknown_source);
                    std::fs::remove_dir_all(&back).unwrap();
                }
                // An archive in the copy is damaged: a start would succeed, and the report names the archive.
                (Ok(facts), _) if archived => {
                    assert!(!facts.is_whole(), "{what}");
                    let broken = facts.generations.iter().find(|one| one.problem.is_some());
                    assert!(broken.unwrap().archived, "{what}");
                    assert!(restore(&copy, &back).is_err(), "{what}");
                    let _ = std::fs::remove_dir_all(&back);
                }
                (Err(DataError::Damaged { .. }), _) => {
                    let refused = restore(&copy, &back).unwrap_err();
                    assert!(matches!(refused, DataError::Damaged { .. }), "{what}");
                    assert!(!back.exists(), "{what}");
                }
                (other, _) => panic!("{what}: {other:?}"),
            }
            std::fs::write(&path, &bytes).unwrap();
        }
    }
    // The unchanged copy is valid, and an exchange continues from it.
    assert_eq!(restore(&copy, &back).unwrap().position, position);
    let folder = DataFolder::take(&back).unwrap();
    let again = folder.resume().unwrap().unwrap();
    assert_eq!(again.facts.position, position);
    assert_eq!(verify(&back).unwrap().recovery.manifest, Some("live"));
}

#[test]
fn a_manifest_no_longer_applies_after_an_earlier_program_continued_the_folder() {
    let place = Place::new("gone-on");
    let (data, copy) = (place.path("data"), place.path("copy"));
    let position = written(&data);
    backup(&data, &copy, Extent::Newest).unwrap();
    let manifest = std::fs::read(copy.join("manifest.json")).unwrap();
    // What a program without manifests does: it creates a segment, and later removes those that are not needed.
    drop(DataFolder::take(&copy).unwrap().resume().unwrap().unwrap());
    let disk = crate::durable::disk::Folder::open_for_reading(&copy).unwrap();
    snapshotter::keep(&disk, Retention::default(), position).unwrap();
    let oldest = names(&copy)
        .into_iter()
        .find(|name| name.starts_with("log-"));
    let snapshots = names(&copy)
        .into_iter()
        .filter(|name| name.starts_with("snapshot-"));
    let oldest_snapshot = snapshots.min().unwrap();
    std::fs::remove_file(copy.join(oldest.unwrap())).unwrap();
    std::fs::remove_file(copy.join(oldest_snapshot)).unwrap();
    std::fs::write(copy.join("manifest.json"), &manifest).unwrap();
    let facts = verify(&copy).unwrap();
    assert_eq!(
        (facts.recovery.position, facts.recovery.manifest),
        (position, None)
    );
    let folder = DataFolder::take(&copy).unwrap();
    assert_eq!(folder.resume().unwrap().unwrap().facts.position, position);
    drop(folder);
    assert_eq!(verify(&copy).unwrap().recovery.manifest, Some("live"));
}

#[test]
fn an_unfinished_copy_is_refused() {
    let place = Place::new("unfinished");
    let (data, copy) = (place.path("data"), place.path("copy"));
    written(&data);
    backup(&data, &copy, Extent::Everything).unwrap();
    std::fs::rename(copy.join("manifest.json"), copy.join("copy.partial")).unwrap();
    for refused in [
        verify(&copy).err(),
        restore(&copy, &place.path("back")).err(),
        DataFolder::take(&copy).unwrap().resume().err(),
    ] {
        let text = refused.unwrap().to_string();
        assert!(text.contains("this copy is incomplete"), "{text}");
    }
}

#[test]
fn a_folder_that_lost_its_newest_segment_or_its_end_is_refused() {
    let place = Place::new("short-folders");
    let data = place.path("data");
    written(&data);
    let newest = names(&data)
        .into_iter()
        .filter(|name| name.starts_with("log-"))
        .max()
        .unwrap();
    let path = data.join(&newest);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 5 * BLOCK);
    for length in [Some(5 * BLOCK - 1), Some(2 * BLOCK), Some(BLOCK), None] {
        match length {
            Some(length) => std::fs::write(&path, &bytes[..length]).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        for refused in [
            verify(&data).err(),
            DataFolder::take(&data).unwrap().resume().err(),
        ] {
            let Some(DataError::Damaged { file, what, .. }) = refused else {
                panic!("{length:?}: {refused:?}");
            };
            assert!(file.ends_with(&newest), "{length:?}: {file}");
            let expected = if length.is_some() {
                "shorter than it was created"
            } else {
                "missing, but the manifest lists it as the newest segment"
            };
            assert!(what.contains(expected), "{length:?}: {what}");
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    verify(&data).unwrap();
    // Only the manifest is left: no new exchange is created over it.
    for name in names(&data) {
        if name.starts_with("log-") || name.starts_with("snapshot-") {
            std::fs::remove_file(data.join(name)).unwrap();
        }
    }
    let refused = DataFolder::take(&data).unwrap().resume().err();
    assert!(
        matches!(refused, Some(DataError::Damaged { .. })),
        "{refused:?}"
    );
}

/// Removes files by prefixes of their names.
fn remove(folder: &Path, beginnings: &[&str]) {
    for name in names(folder) {
        if beginnings.iter().any(|one| name.starts_with(one)) {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }
}

#[test]
fn a_folder_without_any_snapshot_is_damaged_and_no_exchange_is_created_over_it() {
    let place = Place::new("no-snapshot");
    let young = |path: &Path, batches| {
        let mut written = Written::new(path, Retention::default());
        (0..batches).for_each(|_| written.batch());
        drop(written.end());
    };
    // With one segment and with many; the segment alone is left, and neither.
    for (index, batches, gone) in [
        (0, 33, &["snapshot-"][..]),
        (1, 1, &["snapshot-"][..]),
        (2, 1, &["snapshot-", "manifest"][..]),
        (3, 1, &["snapshot-", "log-"][..]),
        (4, 33, &["snapshot-", "log-", "manifest"][..]),
    ] {
        let data = place.path(&format!("data-{index}"));
        young(&data, batches);
        remove(&data, gone);
        let left = names(&data);
        for refused in [
            verify(&data).err(),
            DataFolder::take(&data).unwrap().resume().err(),
            backup(
                &data,
                &place.path(&format!("copy-{index}")),
                Extent::Everything,
            )
            .err(),
            crate::durable::read_history(&[&data], |_| ()).err(),
        ] {
            let Some(DataError::Damaged { file, what, .. }) = refused else {
                panic!("{batches} {gone:?}: {refused:?}");
            };
            assert!(file.ends_with("-0000000000000000"), "{file}");
            assert!(what.contains("it is missing"), "{what}");
        }
        assert_eq!(names(&data), left, "nothing is lost");
    }
    // If creating the exchange was interrupted before its first snapshot, no input was accepted, and it is created
    // again.
    let data = place.path("interrupted");
    young(&data, 0);
    remove(&data, &["snapshot-"]);
    assert!(matches!(verify(&data), Err(DataError::Empty { .. })));
    let folder = DataFolder::take(&data).unwrap();
    assert!(folder.resume().unwrap().is_none());
    assert_eq!(names(&data), Vec::<String>::new());
    folder.create(State::new(venue(), Vec::new())).unwrap();
}

#[test]
fn everything_a_start_would_fall_back_to_is_verified() {
    let place = Place::new("fallback");
    let data = place.path("data");
    let position = written(&data);
    let good = verify(&data).unwrap();
    let live: Vec<_> = good
        .generations
        .iter()
        .filter(|one| !one.archived)
        .collect();
    let [older, newer] = live.as_slice() else {
        panic!("{:?}", good.generations);
    };
    assert_eq!((older.to, newer.to), (newer.from, position));
    let first_archive = good.generations[0].from;
    let (older, newer) = (older.from, newer.from);
    let snapshot = |position: u64| format!("snapshot-{position:016x}");
    let log = |position: u64| format!("log-{position:016x}");
    for (name, broken) in [
        (snapshot(older), older),
        (log(older), older),
        (
            format!("archive/{first_archive:016x}/manifest.json"),
            first_archive,
        ),
        (
            format!("archive/{first_archive:016x}/{}.gz", log(first_archive)),
            first_archive,
        ),
    ] {
        let path = data.join(&name);
        let bytes = std::fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        let at = if name.starts_with("archive") {
            changed.len() / 2
        } else {
            BLOCK + 30
        };
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let facts = verify(&data).unwrap();
        assert_eq!(facts.recovery.position, position, "{name}");
        let problems = facts.generations.iter().filter(|one| one.problem.is_some());
        let problems: Vec<_> = problems.collect();
        assert!(
            !facts.is_whole() && problems.len() == 1,
            "{name}: {problems:?}"
        );
        assert_eq!(problems[0].from, broken, "{name}");
        let expected = problems[0].problem.as_ref().unwrap();
        assert!(
            expected.contains(path.file_name().unwrap().to_str().unwrap()),
            "{expected}"
        );
        std::fs::write(&path, &bytes).unwrap();
    }
    // The newest snapshot is damaged: a start falls back to the older one, and reports it.
    let path = data.join(snapshot(newer));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let facts = verify(&data).unwrap();
    assert_eq!(facts.recovery.snapshot_position, older);
    let broken: Vec<_> = facts
        .generations
        .iter()
        .filter(|one| one.problem.is_some())
        .map(|one| one.from)
        .collect();
    assert_eq!(broken, [newer]);
    std::fs::write(&path, &bytes).unwrap();
    assert!(verify(&data).unwrap().is_whole());
}

#[test]
fn inputs_that_do_not_lead_to_the_snapshot_that_follows_are_found() {
    let place = Place::new("other-state");
    let data = place.path("data");
    written(&data);
    let disk = crate::durable::disk::Folder::open_for_reading(&data).unwrap();
    let files = crate::durable::files::Files::of(&disk).unwrap();
    let [older, newer] = files.snapshots.as_slice() else {
        panic!("{files:?}");
    };
    // The newer snapshot is replaced by a valid one of another state.
    let (opened, _, state) = crate::durable::snapshot::read(&disk, *newer).unwrap();
    let (_, _, other) = crate::durable::snapshot::read(&disk, *older).unwrap();
    assert!(other.venue != state.venue);
    crate::durable::snapshot::write(&disk, &opened, &other).unwrap();
    // The inputs after it lead to other answers from there, which a start detects first.
    let refused = verify(&data);
    let expected = match refused {
        Err(error) => error.to_string(),
        Ok(facts) => format!("{:?}", facts.generations),
    };
    assert!(
        expected.contains("lead to another state") || expected.contains("other answers"),
        "{expected}"
    );
}
