//! Data folders of earlier versions (`tests/kept`): each is opened with all its data, after a copy was made, and is
//! then a folder of the current version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cambist_server::{DataFolder, Server, verify};
use serde_json::Value;

use super::crash::Folder;
use super::support::config;

#[path = "../../../../tests/kept/packed.rs"]
mod packed;

/// The kept data folders, by name.
fn kept() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
    let mut found: Vec<_> = std::fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("verify.json").is_file())
        .collect();
    found.sort();
    assert!(found.len() >= 3, "{found:?}");
    found
}

fn unpacked(kept: &Path, name: &str) -> Folder {
    let folder = Folder::new(name);
    let bytes = std::fs::read(kept.join("folder.packed")).unwrap();
    packed::unpack(&bytes, folder.path());
    folder
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name != "lock")
        .collect()
}

fn copies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.is_dir());
    found
}

#[test]
fn every_kept_folder_is_opened_with_everything_in_it() {
    for kept in kept() {
        let name = kept.file_name().unwrap().to_str().unwrap();
        let folder = unpacked(&kept, name);
        let was = files(folder.path());
        let expected = std::fs::read_to_string(kept.join("verify.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();

        // Verifying changes nothing.
        let facts = verify(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(facts.recovery.position, expected["inputs"], "{name}");
        assert_eq!(facts.open_orders, expected["open_orders"], "{name}");
        let snapshot = facts.recovery.snapshot_position;
        assert_eq!(snapshot, expected["snapshot_inputs"], "{name}");
        let writer = facts.recovery.written_by.unwrap().writer;
        assert_eq!(writer.as_deref(), Some("cambist 0.1.0"), "{name}");
        assert_eq!(files(folder.path()), was, "{name}");

        // A start upgrades it, after a copy of everything.
        let data = DataFolder::take(folder.path()).unwrap();
        let opened = data.recover().unwrap().unwrap();
        assert!(opened.facts().written_by.is_some(), "{name}");
        assert_eq!(opened.venue().open_orders() as u64, facts.open_orders);
        let mut config = config();
        config.audit_every_request = false;
        drop(Server::bind_durable(&config, opened).unwrap());
        drop(data);
        let [copy] = copies(folder.path()).try_into().unwrap();
        let mut copied = files(&copy);
        assert!(copied.remove("manifest.json").is_some(), "{name}");
        assert_eq!(copied, was, "{name}: the copy equals the original");
        let facts_of_copy = verify(&copy).unwrap();
        assert_eq!(facts_of_copy.recovery.manifest, Some("copy"), "{name}");
        assert_eq!(facts_of_copy.open_orders, facts.open_orders, "{name}");
        let again = verify(folder.path()).unwrap();
        assert_eq!(again.recovery.position, facts.recovery.position, "{name}");
        assert_eq!(again.open_orders, facts.open_orders, "{name}");
        assert_eq!(again.recovery.replayed, 0, "{name}: a snapshot of today");

        // It is a folder of the current version from now on.
        let data = DataFolder::take(folder.path()).unwrap();
        let opened = data.recover().unwrap().unwrap();
        assert_eq!(opened.facts().written_by, None, "{name}");
        drop((opened, data));
        assert_eq!(copies(folder.path()), [copy], "{name}: no second copy");
    }
}
