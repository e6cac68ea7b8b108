//! Copies of the database made before its tables are changed, which allow going back to an earlier version.
//!
//! `cambist.db.before-version-5` is the store before it was upgraded to version 5, in one file. Copies are never
//! removed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cambist_host::folder::FolderError;
use rusqlite::{Connection, OpenFlags};

use super::schema::pragma;
use super::{StoreError, database_error};

/// Between the name of the database and the next version.
const BEFORE: &str = ".before-version-";

/// Copies the database before it is upgraded to version `next`. A copy of the same state from an interrupted upgrade is
/// reused.
pub(super) fn make(database: &Connection, file: &Path, next: i64) -> Result<PathBuf, StoreError> {
    let failed = |error| database_error(file, error);
    let mut number = 1_u32;
    let copy = loop {
        let ending = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let copy = named(file, &format!("{BEFORE}{next}{ending}"));
        if !copy.exists() {
            break copy;
        }
        if state(&copy).is_ok_and(|known| state_of(database).is_ok_and(|now| known == now)) {
            return Ok(copy);
        }
        number = number.saturating_add(1);
    };
    let partial = named(&copy, ".partial");
    let io = |source| {
        StoreError::Folder(FolderError::Io {
            path: copy.clone(),
            source,
        })
    };
    // One that cannot be removed cannot be created either.
    let _ = std::fs::remove_file(&partial);
    // Created first with a private mode; the database fills an existing empty file.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(&partial).map_err(io)?;
    let name = partial.display().to_string();
    database.execute("VACUUM INTO ?1", [name]).map_err(failed)?;
    let durable = File::open(&partial)
        .and_then(|copied| copied.sync_all())
        .and_then(|()| std::fs::rename(&partial, &copy))
        .and_then(|()| File::open(file.parent().unwrap_or(Path::new(".")))?.sync_all());
    durable.map_err(io)?;
    Ok(copy)
}

/// The copy from before the upgrade to the highest version.
pub(super) fn newest(file: &Path) -> Option<PathBuf> {
    let beginning = format!("{}{BEFORE}", file.file_name()?.to_str()?);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(file.parent()?).ok()? {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let numbers = name.strip_prefix(&beginning).map(|rest| {
            let mut parts = rest.split('-').map(str::parse::<u32>);
            let version = parts.next().and_then(Result::ok);
            // The first copy before a version has no number.
            version.zip(parts.next().transpose().ok())
        });
        if let Some(Some(numbers)) = numbers {
            found.push((numbers, name));
        }
    }
    let (_, name) = found.into_iter().max()?;
    Some(file.with_file_name(name))
}

fn named(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Identifies a state of a store: every start advances its numbers.
type State = (i64, u32, i64, Vec<u8>);

fn state(file: &Path) -> rusqlite::Result<State> {
    state_of(&Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_ONLY,
    )?)
}

fn state_of(database: &Connection) -> rusqlite::Result<State> {
    let version = pragma(database, "user_version")?;
    database.query_row("SELECT instance, next_number, head FROM meta", [], |row| {
        Ok((version, row.get(0)?, row.get(1)?, row.get(2)?))
    })
}
