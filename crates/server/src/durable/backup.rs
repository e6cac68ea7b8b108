//! Copies of a data folder, whole and checked, while the exchange runs; and looking whether one is good.
//!
//! A copy is a data folder itself. It holds at least everything that was acknowledged before it began.

use std::path::Path;

use super::disk::{Disk, Folder};
use super::files::{Files, segment_name, snapshot_name};
use super::recover::recover;
use super::walk::walk;
use super::{DataError, RecoveryFacts, io_of, snapshot};

/// How often a look at a folder in use may be disturbed: by a snapshot that makes old files go, by a
/// frame that is being written.
const LOOKS_MAX: u32 = 20;

/// What a copy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFacts {
    /// Inputs since the exchange was made.
    pub position: u64,
    /// Inputs that its snapshot holds.
    pub snapshot_position: u64,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyFacts {
    /// What reading met.
    pub recovery: RecoveryFacts,
    /// Snapshots in the folder.
    pub snapshots: u64,
    /// Parts of the log in the folder.
    pub segments: u64,
    /// Orders open at the end.
    pub open_orders: u64,
}

/// Copies the exchange in folder `data`, which may be running, to the folder `to`, which must not exist
/// or be empty.
pub fn backup(data: &Path, to: &Path) -> Result<BackupFacts, DataError> {
    let from = Folder::look(data)?;
    copy(&from, to)
}

/// Makes the folder `data`, which must not exist or be empty, out of a copy; the copy is checked as by
/// `verify` before.
pub fn restore(from: &Path, data: &Path) -> Result<BackupFacts, DataError> {
    verify(from)?;
    copy(&Folder::look(from)?, data)
}

/// Reads everything in a folder, which may be running, replays it and audits the books at the end.
pub fn verify(data: &Path) -> Result<VerifyFacts, DataError> {
    let disk = Folder::look(data)?;
    patiently(|| {
        let files = Files::of(&disk)?;
        let recovered = recover(&disk, None)?;
        // The snapshots that recovery had no need of.
        let mut facts = recovered.facts;
        for position in files.snapshots.iter().copied() {
            if position < facts.snapshot_position {
                match snapshot::read(&disk, position) {
                    Ok(_) => {}
                    Err(DataError::Damaged { .. }) => facts.damaged_snapshots += 1,
                    Err(error) => return Err(error),
                }
            }
        }
        let venue = &recovered.state.venue;
        venue.audit().map_err(DataError::Audit)?;
        Ok(VerifyFacts {
            recovery: facts,
            snapshots: files.snapshots.len() as u64,
            segments: files.segments.len() as u64,
            open_orders: venue.open_orders() as u64,
        })
    })
}

fn copy(from: &Folder, to: &Path) -> Result<BackupFacts, DataError> {
    let target = Folder::take(to)?;
    let not_empty = !target.list().map_err(io_of(&target, ""))?.is_empty();
    if not_empty {
        return Err(DataError::NotEmpty {
            folder: target.name(),
        });
    }
    let facts = patiently(|| {
        let files = Files::of(&target)?;
        let names = files.segments.iter().copied().map(segment_name);
        let names = names.chain(files.snapshots.iter().copied().map(snapshot_name));
        for name in names.chain(files.partial) {
            target.remove(&name).map_err(io_of(&target, &name))?;
        }
        copy_once(from, &target)
    })?;
    target.sync_folder().map_err(io_of(&target, ""))?;
    Ok(facts)
}

/// The latest good snapshot and the log since then. The snapshot comes last: without it, the copy is
/// none.
fn copy_once(from: &Folder, to: &Folder) -> Result<BackupFacts, DataError> {
    let files = Files::of(from)?;
    let mut found = None;
    for position in files.snapshots.iter().rev().copied() {
        match snapshot::read(from, position) {
            Ok((opened, _, _)) => {
                found = Some((position, opened));
                break;
            }
            Err(DataError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (position, opened) = found.ok_or_else(|| DataError::Empty {
        folder: from.name(),
    })?;
    let walked = walk(from, &files, opened.folder, opened.place, None, |_| Ok(()))?;
    let mut facts = BackupFacts {
        position: walked.place.position,
        snapshot_position: position,
        files: 0,
        bytes: 0,
    };
    for segment in files.segments.iter().copied() {
        if segment < position {
            continue;
        }
        let name = segment_name(segment);
        let mut bytes = from.read(&name).map_err(io_of(from, &name))?;
        if segment == walked.last.position {
            bytes.truncate(walked.last.good_bytes);
        }
        put(to, &name, &bytes, &mut facts)?;
    }
    let name = snapshot_name(position);
    let bytes = from.read(&name).map_err(io_of(from, &name))?;
    put(to, &name, &bytes, &mut facts)?;
    Ok(facts)
}

fn put(to: &Folder, name: &str, bytes: &[u8], facts: &mut BackupFacts) -> Result<(), DataError> {
    let write = || {
        let mut file = to.create(name)?;
        file.write_at(0, bytes)?;
        file.sync()
    };
    write().map_err(io_of(to, name))?;
    facts.files += 1;
    facts.bytes += bytes.len() as u64;
    Ok(())
}

/// Looks again when a running exchange moved what was being looked at.
fn patiently<T>(mut look: impl FnMut() -> Result<T, DataError>) -> Result<T, DataError> {
    let mut looks = 1;
    loop {
        match look() {
            Err(DataError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound && looks < LOOKS_MAX => {}
            Err(DataError::Damaged { .. }) if looks < LOOKS_MAX.min(3) => {}
            done => return done,
        }
        looks += 1;
    }
}
