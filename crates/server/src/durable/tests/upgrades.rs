//! Upgrading a folder of an earlier version on a disk that loses unsynced data: wherever the upgrade is interrupted,
//! nothing is lost, and a copy with its final name is complete.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cambist_venue::Random;

use super::model::{Fault, Model};
use crate::durable::data_folder::DataFolder;
use crate::durable::disk::Disk;
use crate::durable::generations::GENERATIONS;
use crate::durable::manifest::MANIFEST;
use crate::durable::recover::recover;
use crate::durable::{DataError, versions};

#[path = "../../../../../tests/kept/packed.rs"]
pub mod packed;

/// A kept folder on a simulated disk of its own.
fn kept(name: &str) -> Model {
    // Concurrent tests unpack the same folder.
    static UNPACKED: AtomicU32 = AtomicU32::new(0);
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
    let bytes = std::fs::read(place.join(name).join("folder.packed")).unwrap();
    let number = UNPACKED.fetch_add(1, Ordering::Relaxed);
    let folder = format!("cambist-{name}-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    packed::unpack(&bytes, &folder);
    let disk = Model::default();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let mut file = disk
            .create(path.file_name().unwrap().to_str().unwrap())
            .unwrap();
        file.write_at(0, &std::fs::read(&path).unwrap()).unwrap();
        file.sync().unwrap();
    }
    disk.sync_folder().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    disk
}

fn copies(disk: &Model) -> Vec<String> {
    let names = disk.list().unwrap();
    let whole = |name: &String| name.starts_with("before-") && !name.ends_with(".partial");
    names.into_iter().filter(whole).collect()
}

#[test]
fn an_upgrade_can_be_interrupted_anywhere_and_happens_once() {
    let before = kept("exchange-4fb51ac");
    let whole = recover(&before, None).unwrap();
    let mut random = Random::new(1);
    let mut cuts = 0;
    for operations in 1.. {
        let disk = before.copy();
        let folder = DataFolder::on(Arc::new(disk.clone()), 1 << 16);
        disk.fail_after(operations, Fault::End);
        let done = match folder.resume() {
            Ok(ready) => ready.is_some(),
            Err(DataError::Io { .. }) => false,
            Err(error) => panic!("operation {operations}: {error}"),
        };
        cuts += u64::from(!done);
        if random.chance(1, 2) {
            disk.power_cut(&mut random);
        } else {
            disk.restart();
        }
        // Every copy with a final name is complete.
        for name in copies(&disk) {
            let copy = disk.inside(&name);
            let copied = recover(&*copy, None)
                .unwrap_or_else(|error| panic!("operation {operations}: {error}"));
            assert_eq!(copied.place, whole.place, "operation {operations}");
        }
        let ready = folder.resume().unwrap().unwrap();
        assert!(ready.state == whole.state, "operation {operations}");
        assert_eq!(ready.writer.place(), whole.place);
        assert_eq!(copies(&disk).len(), 1, "operation {operations}");
        // Now it is a folder of the current version.
        let again = folder.resume().unwrap().unwrap();
        assert_eq!(again.facts.written_by, None, "operation {operations}");
        assert_eq!(copies(&disk).len(), 1);
        if done {
            break;
        }
    }
    assert!(cuts > 50, "{cuts}");
}

/// Strings that look like API keys: 64 letters and digits in a row.
fn keys_in(bytes: &[u8]) -> Vec<String> {
    let runs = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    // A length or number before it may look like a letter.
    let runs = runs.filter(|run| (64..=66).contains(&run.len()));
    let cut = runs.flat_map(|run| run.windows(64).map(<[u8]>::to_vec));
    cut.map(|key| String::from_utf8(key).unwrap()).collect()
}

fn all_keys(disk: &Model) -> Vec<String> {
    let names = disk.list().unwrap();
    // These contain digests, which look like keys.
    let sums = [MANIFEST, GENERATIONS];
    let files = names
        .iter()
        .filter(|name| !name.starts_with("before-") && !sums.contains(&name.as_str()));
    files
        .flat_map(|name| keys_in(&disk.read(name).unwrap()))
        .collect()
}

#[test]
fn an_upgraded_folder_holds_no_api_keys_and_each_still_opens_its_account() {
    for name in ["exchange-4fb51ac", "exchange-4fb51ac-killed"] {
        let disk = kept(name);
        let before = all_keys(&disk);
        assert!(!before.is_empty(), "{name}");
        let folder = DataFolder::on(Arc::new(disk.clone()), 1 << 16);
        let ready = folder.resume().unwrap().unwrap();
        assert_eq!(all_keys(&disk), Vec::<String>::new(), "{name}");
        let opens = |key: &String| {
            let digest = crate::api_key_digest(key);
            ready.state.venue.account_of_api_key(&digest).is_some()
        };
        assert!(before.iter().any(opens), "{name}");
        // The copy still has the keys.
        let copy = disk.inside(&copies(&disk)[0]);
        assert_eq!(recover(&*copy, None).unwrap().state, ready.state);
        assert_eq!(folder.resume().unwrap().unwrap().state, ready.state);
    }
}

#[test]
fn the_copy_is_named_after_version_and_position_and_an_incomplete_one_is_made_again() {
    let disk = kept("exchange-5b984bc");
    let name = format!("before-version-{}-input-5", versions::history().newest());
    let partial = disk.inside(&format!("{name}.partial"));
    partial.create("log-0000000000000099").unwrap();
    let folder = DataFolder::on(Arc::new(disk.clone()), 1 << 16);
    folder.resume().unwrap().unwrap();
    assert_eq!(copies(&disk), std::slice::from_ref(&name));
    let mut names = disk.inside(&name).list().unwrap();
    names.sort();
    let all = [
        "log-0000000000000000",
        "manifest.json",
        "snapshot-0000000000000000",
    ];
    assert_eq!(names, all);
}
