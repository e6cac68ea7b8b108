//! What errors say, and whether a retry can help.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io;
use std::path::PathBuf;

use cambist_host::folder::FolderError;
use rusqlite::ffi;

use super::{Store, StoreError, database_error};
use crate::tests::{names, seal_one};

fn sqlite(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

fn folder_error(kind: io::ErrorKind) -> StoreError {
    StoreError::Folder(FolderError::Io {
        path: PathBuf::from("/state"),
        source: io::Error::from(kind),
    })
}

/// A folder that another process uses, and one that cannot be read, may be free or readable later.
#[test]
fn what_no_retry_can_mend_is_misconfigured() {
    let file = PathBuf::from("/state/cambist.db");
    let database = |code| database_error(&file, sqlite(code));
    let dir = file.clone();
    for (error, misconfigured) in [
        (database(ffi::SQLITE_CANTOPEN), true),
        (database(ffi::SQLITE_PERM), true),
        (database(ffi::SQLITE_READONLY), true),
        (database(ffi::SQLITE_FULL), false),
        (database(ffi::SQLITE_IOERR), false),
        (database(ffi::SQLITE_BUSY), false),
        (database(ffi::SQLITE_CORRUPT), false),
        (folder_error(io::ErrorKind::PermissionDenied), true),
        (folder_error(io::ErrorKind::Interrupted), false),
        (
            StoreError::TooNew {
                file: file.clone(),
                found: 9,
                known: 8,
                copy: None,
            },
            true,
        ),
        (
            StoreError::MarketGone {
                market: "ETH-USDC".to_owned(),
            },
            true,
        ),
        (StoreError::AnotherInstance { dir, holder: None }, false),
        (StoreError::Broken, false),
        (
            StoreError::Refused {
                what: "used".to_owned(),
            },
            false,
        ),
        (
            StoreError::Corrupt {
                file: file.clone(),
                what: "torn".to_owned(),
            },
            false,
        ),
    ] {
        assert_eq!(error.is_misconfigured(), misconfigured, "{error:?}");
    }
}

#[test]
fn errors_of_the_database_say_what_to_do() {
    let file = PathBuf::from("/state/cambist.db");
    for (code, advice) in [
        (ffi::SQLITE_FULL, "free some space"),
        (ffi::SQLITE_IOERR, "check the system's log"),
        (ffi::SQLITE_CANTOPEN, "check its owner and mode"),
        (ffi::SQLITE_PERM, "check its owner and mode"),
        (ffi::SQLITE_READONLY, "check its owner and mode"),
        (ffi::SQLITE_BUSY, "the database reported an error"),
    ] {
        let error = database_error(&file, sqlite(code));
        assert!(matches!(error, StoreError::Database { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("store /state/cambist.db: "), "{text}");
        assert!(text.contains(advice), "{code}: {text}");
    }
    for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB] {
        let error = database_error(&file, sqlite(code));
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    }
}

#[test]
fn a_locked_folder_is_an_error_of_its_own() {
    let dir = PathBuf::from("/state");
    let error = StoreError::from(FolderError::InUse(dir.clone()));
    assert_eq!(
        error.to_string(),
        "another process uses the state folder /state; stop it first, or set another store.dir"
    );
    let of =
        |error| matches!(error, StoreError::AnotherInstance { dir: of, holder: None } if of == dir);
    assert!(of(error));
    let holder = Some(4_711);
    let error = StoreError::AnotherInstance { dir, holder };
    let named = "the state folder /state (process 4711); stop it";
    assert!(error.to_string().contains(named), "{error}");
}

#[test]
fn a_newer_store_is_left_to_the_newer_program_if_there_is_no_copy() {
    let too_new = StoreError::TooNew {
        file: PathBuf::from("/state/cambist.db"),
        found: 9,
        known: 8,
        copy: None,
    };
    let text = too_new.to_string();
    assert!(
        text.ends_with("nothing was changed. Use the newer program"),
        "{text}"
    );
}

#[test]
fn numbers_that_were_skipped_are_not_given_out() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    let first = store.recover(&names()).unwrap().next_number;
    store.skip_past(first + 5).unwrap();
    assert_eq!(store.recover(&names()).unwrap().next_number, first + 6);
    store.skip_past(first).unwrap();
    assert_eq!(store.recover(&names()).unwrap().next_number, first + 6);
    assert_eq!(store.newest_number(), 0, "none was written");
    let sealed = seal_one(&mut store);
    assert_eq!(sealed.intent.id().number, first + 6);
    drop(store);
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!(store.newest_number(), first + 6);
    // More than a log that was lost could contain.
    let next = store.recover(&names()).unwrap().next_number;
    assert_eq!(next, first + 7 + 1_024);
    store.database.execute_batch("DROP TABLE meta").unwrap();
    assert!(store.skip_past(next).is_err());
    assert!(store.has_failed());
}

/// The database and its log.
#[test]
fn the_size_is_that_of_all_files() {
    let folder = crate::testing::private_folder();
    let mut store = Store::open(folder.path()).unwrap();
    seal_one(&mut store);
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
    let (database, log) = (size("cambist.db"), size("cambist.db-wal"));
    assert!(database > 0 && log > 0);
    assert_eq!(store.size_bytes(), database + log);
}
