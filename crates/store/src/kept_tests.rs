//! Stores of earlier versions (`tests/kept`), and the copies made before an upgrade.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

use cambist_core::MarketId;
use cambist_core::books::{Booking, Books};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::{FILE, Listing, Store, StoreEntry, StoreError, flows, schema, view};
use tempfile::TempDir;

#[path = "../../../tests/kept/packed.rs"]
mod packed;

fn kept() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
    let entries = std::fs::read_dir(all).unwrap();
    let mut found: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("expected.json").is_file());
    found.sort();
    assert!(!found.is_empty());
    found
}

fn unpacked(kept: &Path, folder: &TempDir) {
    let bytes = std::fs::read(kept.join("folder.packed")).unwrap();
    packed::unpack(&bytes, folder.path());
}

fn version(file: &Path) -> i64 {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    schema::pragma(&database, "user_version").unwrap()
}

fn count(database: &Connection, table: &str) -> i64 {
    let query = format!("SELECT count(*) FROM {table}");
    database.query_row(&query, [], |row| row.get(0)).unwrap()
}

/// All tables and indexes with their columns, created or upgraded.
fn tables(folder: &Path) -> Vec<String> {
    let database = Connection::open(folder.join(FILE)).unwrap();
    let query = "SELECT m.type, m.name, group_concat(c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk, ', ')
        FROM sqlite_schema m JOIN pragma_table_info(m.name) c GROUP BY m.name ORDER BY m.name";
    let mut query = database.prepare(query).unwrap();
    let rows = query.query_map([], |row| {
        let [kind, name, columns] = [row.get(0)?, row.get(1)?, row.get::<_, String>(2)?];
        Ok(format!("{kind} {name}: {columns}"))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn copies(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<_> = names.filter(|name| name.contains("before")).collect();
    found.sort();
    found
}

#[test]
fn every_kept_store_is_opened_with_everything_in_it() {
    for kept in kept() {
        let name = kept.file_name().unwrap().to_str().unwrap();
        let folder = crate::testing::private_folder();
        unpacked(&kept, &folder);
        let expected = std::fs::read_to_string(kept.join("expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();

        let mut store =
            Store::open(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(store.instance(), expected["instance"], "{name}");
        let recovered = store.recover(&["ETH-USDC".to_owned()]).unwrap();
        let orders = recovered.open.iter().map(|open| open.recovered.hash);
        let moves = recovered.open_moves.iter().map(|open| open.recovered.hash);
        let mut open: Vec<_> = orders.chain(moves).map(|hash| hash.to_string()).collect();
        let listed = expected["open_hashes"].as_array().unwrap().iter();
        let mut listed: Vec<_> = listed
            .map(|hash| format!("0x{}", hash.as_str().unwrap()))
            .collect();
        open.sort();
        listed.sort();
        assert_eq!(open, listed, "{name}");
        assert_eq!(
            recovered.restrictions.state.name(),
            expected["level"],
            "{name}"
        );
        assert_eq!(
            recovered.restrictions.pauses.len() as u64,
            expected["pauses"]
        );
        assert!(recovered.next_number >= expected["next_number"].as_u64().unwrap());
        drop(store);

        let database = Connection::open(folder.path().join(FILE)).unwrap();
        for table in ["intents", "ends", "fills", "moves", "moved", "flows"] {
            assert_eq!(count(&database, table), expected[table], "{name} {table}");
        }
        drop(database);
        // It belongs to the account of its next start.
        assert_eq!(view::account(folder.path()).unwrap(), None, "{name}");
        let flows = flows::explained(folder.path()).unwrap();
        assert_eq!(flows.len() as u64, expected["flows"], "{name}");
        assert_eq!(view::level(folder.path()).unwrap().0.name(), "trading");

        // A copy was made if the store was upgraded, and not at later starts.
        let was = expected["version"].as_i64().unwrap();
        let made = copies(folder.path());
        assert_eq!(made.len(), usize::from(was < schema::SCHEMA), "{made:?}");
        for copy in &made {
            assert_eq!(version(&folder.path().join(copy)), was);
        }
        drop(Store::open(folder.path()).unwrap());
        assert_eq!(copies(folder.path()), made);

        // An upgraded store has the same tables as a new one; a table changed without a version does not.
        let fresh = crate::testing::private_folder();
        drop(Store::open(fresh.path()).unwrap());
        assert!(tables(fresh.path()).len() > 10);
        assert_eq!(tables(folder.path()), tables(fresh.path()), "{name}");
    }
}

/// A store of version 4 has loss bounds in its rows of the trading state and no ledger: counting continues from them
/// and the opening balances are taken, until the operator resets the losses.
#[test]
fn losses_of_a_store_before_version_5_are_carried_on() {
    let market = ["ETH-USDC".to_owned()];
    let kept = kept();
    let fourth = kept.iter().find(|kept| kept.ends_with("store-4fb51ac"));
    let folder = crate::testing::private_folder();
    unpacked(fourth.unwrap(), &folder);
    let begun = || {
        let mut store = Store::open(folder.path()).unwrap();
        store.recover(&market).unwrap();
        let (books, lost) = store.books(&Listing::default()).unwrap();
        assert_eq!(books, Books::default());
        (store, lost)
    };
    let (mut store, lost) = begun();
    let bound = lost[&MarketId(0)];
    assert_eq!((bound.total, bound.drawdown), (1_280_100_001, 655_100_001));
    store
        .book(&[StoreEntry::LossesForgotten], &Booking::default())
        .unwrap();
    drop(store);
    assert!(begun().1.is_empty());
}

/// A store as the first version created it.
fn first_version() -> TempDir {
    let folder = crate::testing::private_folder();
    drop(Store::open(folder.path()).unwrap());
    to_first_version(folder.path());
    folder
}

fn to_first_version(folder: &Path) {
    let database = Connection::open(folder.join(FILE)).unwrap();
    let query = "SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT IN ('meta', 'anchor', 'counters', 'intents', 'bodies', 'ends', 'fills', 'levels', 'runs')";
    let mut tables = database.prepare(query).unwrap();
    let rows = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let later: Vec<_> = rows.map(Result::unwrap).collect();
    for table in later {
        let drop = format!("DROP TABLE {table}");
        database.execute_batch(&drop).unwrap();
    }
    let back = "DROP INDEX fills_at; ALTER TABLE fills DROP COLUMN strategy;
        ALTER TABLE levels DROP COLUMN pauses; ALTER TABLE intents DROP COLUMN rests_until_s; ALTER TABLE intents DROP COLUMN swap_most; PRAGMA user_version = 1;";
    database.execute_batch(back).unwrap();
}

#[test]
fn a_store_is_copied_before_an_upgrade_and_the_copy_can_be_restored() {
    use std::os::unix::fs::PermissionsExt;
    let folder = first_version();
    let store = Store::open(folder.path()).unwrap();
    let instance = store.instance();
    drop(store);
    let name = format!("{FILE}.before-version-{}", schema::SCHEMA);
    assert_eq!(copies(folder.path()), std::slice::from_ref(&name));
    let copy = folder.path().join(&name);
    assert_eq!(version(&copy), 1);
    let mode = std::fs::metadata(&copy).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(version(&folder.path().join(FILE)), schema::SCHEMA);

    // The message of an older program names the copy: that of the highest version, and of several the last one.
    for later in ["98", "99", "99-2", "99-2.partial", "99-x"] {
        let name = format!("{FILE}.before-version-{later}");
        std::fs::copy(&copy, folder.path().join(name)).unwrap();
    }
    let database = Connection::open(folder.path().join(FILE)).unwrap();
    database.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(database);
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { found: 99, .. }));
    let text = refused.to_string();
    let file = folder.path().join(FILE);
    let way = format!(
        "replace {} by {}.before-version-99-2",
        file.display(),
        file.display()
    );
    assert!(text.contains(&way), "{text}");

    // The instructions work.
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.path().join(format!("{FILE}{ending}")));
    }
    std::fs::rename(
        folder.path().join(format!("{FILE}.before-version-99-2")),
        &file,
    )
    .unwrap();
    assert_eq!(Store::open(folder.path()).unwrap().instance(), instance);
}

#[test]
fn a_copy_is_reused_only_for_the_same_state() {
    let folder = first_version();
    let name = format!("{FILE}.before-version-{}", schema::SCHEMA);
    drop(Store::open(folder.path()).unwrap());
    // The upgrade was interrupted after the copy: the copy equals the store.
    let copy = std::fs::read(folder.path().join(&name)).unwrap();
    std::fs::write(folder.path().join(FILE), &copy).unwrap();
    let half = folder.path().join(format!("{name}-2.partial"));
    std::fs::write(half, "half").unwrap();
    drop(Store::open(folder.path()).unwrap());
    let partial = format!("{name}-2.partial");
    assert_eq!(copies(folder.path()), [name.clone(), partial.clone()]);

    // An older program continued from it meanwhile.
    to_first_version(folder.path());
    drop(Store::open(folder.path()).unwrap());
    let second = format!("{name}-2");
    assert_eq!(copies(folder.path()), [name.clone(), second]);
    let kept = std::fs::read(folder.path().join(&name)).unwrap();
    assert_eq!(kept, copy, "the first one stays");
}

#[test]
fn a_foreign_database_is_neither_changed_nor_copied() {
    let folder = crate::testing::private_folder();
    let file = folder.path().join(FILE);
    let database = Connection::open(&file).unwrap();
    let other = "CREATE TABLE recipes (id INTEGER); PRAGMA user_version = 2;";
    database.execute_batch(other).unwrap();
    drop(database);
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    let database = Connection::open(&file).unwrap();
    assert_eq!(count(&database, "sqlite_schema"), 1);
    assert_eq!(version(&file), 2);
    assert_eq!(copies(folder.path()), [] as [String; 0]);
}
