//! A data folder that a program wrote and the repository kept: what later programs make of it.
//!
//! `KEEP_FOLDER=1 cargo test -p cambist-server --test http kept` writes another, where the types inside have
//! changed and the new ones are to be kept.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use cambist_server::{DataError, DataFolder, verify};

use super::crash::{Folder, customer, populated};
use super::support::{Exchange, Want};

const ORDERS: u64 = 5;

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http/kept")
}

fn copy(from: &Path, to: &Path) {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(to)
        .unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn write(data: &Path) {
    let folder = DataFolder::take(data).unwrap().with_segment_bytes(65_536);
    let durable = folder.begin(populated(), Vec::new()).unwrap();
    let exchange = Exchange::durable(durable);
    let (mut connection, mut maker) = (exchange.connect(), customer(1));
    for _ in 0..ORDERS {
        connection.ask(&maker.submit(Want::Sell, 100_000, 1)).good();
    }
}

#[test]
fn a_folder_that_was_kept_is_read_or_refused_with_the_ways_on() {
    let folder = Folder::new("kept");
    let data = folder.path().join("data");
    if std::env::var_os("KEEP_FOLDER").is_some() {
        std::fs::create_dir_all(folder.path()).unwrap();
        write(&data);
        let _ = std::fs::remove_dir_all(kept());
        copy(&data, &kept());
    } else {
        copy(&kept(), &data);
    }
    let before = std::fs::read_dir(&data).unwrap().count();
    match verify(&data) {
        // The same types: every order is there.
        Ok(facts) => assert_eq!(facts.open_orders, ORDERS),
        // Others: who wrote it, what to do, and nothing is changed.
        Err(error) => {
            let text = error.to_string();
            let DataError::Version { writer, .. } = error else {
                panic!("{text}");
            };
            assert!(writer.starts_with("cambist "), "{text}");
            assert!(text.contains("'cambist venue export'"), "{text}");
            let taken = DataFolder::take(&data).unwrap().recover().err();
            assert!(
                matches!(taken, Some(DataError::Version { .. })),
                "{taken:?}"
            );
        }
    }
    // The mark of who has it aside.
    let after = std::fs::read_dir(&data).unwrap().count();
    assert!(after <= before + 1, "{before} files, then {after}");
}
