//! Copies of a data folder, complete and verified, made while the exchange runs.
//!
//! A copy is itself a data folder, with a manifest of its files. It holds at least everything that was acknowledged
//! before the copy began.

use std::path::Path;

use super::archive::{self, ARCHIVES};
use super::disk::{Disk, Folder};
use super::files::{COPY_PARTIAL, Files, segment_name, snapshot_name};
use super::generations::{self, Inventory};
use super::manifest::{Inside, Kind, Listed, Manifest, Point};
use super::recover::recover;
use super::verify::verify;
use super::{DataError, MissingInputs, io_of, snapshot};
use crate::durable::log_format::Opening;
use crate::durable::log_reader::read_frames;

/// How often copying starts again because the running exchange changed the folder: a new snapshot removed old files, or
/// a frame was being written.
const ATTEMPTS_MAX: u32 = 20;

/// How much of the history a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Everything in the folder: all snapshots, the log since the oldest, the archives.
    Everything,
    /// What a start needs: the newest snapshot and the log since it.
    Newest,
}

/// Contents of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFacts {
    /// Inputs since the exchange was made.
    pub position: u64,
    /// Inputs in its newest snapshot.
    pub snapshot_position: u64,
    /// Inputs before its oldest snapshot.
    pub oldest_position: u64,
    /// Number of files.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// The source had no manifest, so its completeness could not be verified.
    pub unknown_source: bool,
    /// Inputs that the source should hold and does not.
    pub missing: Vec<MissingInputs>,
}

/// Copies the exchange in folder `data`, which may be running, to the folder `to`, which must be empty or must not
/// exist.
pub fn backup(data: &Path, to: &Path, extent: Extent) -> Result<BackupFacts, DataError> {
    let from = Folder::open_for_reading(data)?;
    copy(&from, to, extent)
}

/// Creates the folder `data`, which must be empty or must not exist, from a copy. The copy is verified first; one that
/// does not match its manifest is refused.
pub fn restore(from: &Path, data: &Path) -> Result<BackupFacts, DataError> {
    let facts = verify(from)?;
    let unknown_source = facts.recovery.manifest.is_none();
    let copied = copy(&Folder::open_for_reading(from)?, data, Extent::Everything)?;
    Ok(BackupFacts {
        unknown_source,
        ..copied
    })
}

fn copy(from: &Folder, to: &Path, extent: Extent) -> Result<BackupFacts, DataError> {
    let target = Folder::take(to)?;
    let not_empty = !target.list().map_err(io_of(&target, ""))?.is_empty();
    if not_empty {
        return Err(DataError::NotEmpty {
            folder: target.name(),
        });
    }
    let marked = target
        .create(COPY_PARTIAL)
        .and_then(|mut mark| mark.sync())
        .and_then(|()| target.sync_folder());
    marked.map_err(io_of(&target, COPY_PARTIAL))?;
    let facts = retry_if_changed(|| {
        for name in target.list().map_err(io_of(&target, ""))? {
            if name == ARCHIVES {
                target.remove_inside(&name).map_err(io_of(&target, &name))?;
            } else if name != COPY_PARTIAL {
                target.remove(&name).map_err(io_of(&target, &name))?;
            }
        }
        copy_once(from, &target, extent)
    })?;
    target
        .remove(COPY_PARTIAL)
        .and_then(|()| target.sync_folder())
        .map_err(io_of(&target, COPY_PARTIAL))?;
    Ok(facts)
}

/// Copies what the extent includes. The manifest is written last and completes the copy.
fn copy_once(from: &Folder, to: &Folder, extent: Extent) -> Result<BackupFacts, DataError> {
    let files = Files::of(from)?;
    let good = good_snapshots(from, &files, extent)?;
    let (Some(oldest), Some((newest, opened))) = (good.first(), good.last()) else {
        // Reports why the folder cannot be read.
        return Err(recover(from, None).err().unwrap_or(DataError::Empty {
            folder: from.name(),
        }));
    };
    // Only verified data is copied.
    let log_end = read_frames(from, &files, opened.folder, opened.place, None, |_| Ok(()))?;
    let begin = Point::new(oldest.1.place, None);
    let end = Point::new(log_end.place, None);
    let mut manifest = Manifest::new(Kind::Copy, opened.folder, Some(begin), end);
    let log_from = match extent {
        Extent::Everything => log_from(from, &files, oldest.0)?,
        Extent::Newest => oldest.0,
    };
    for position in files.segments.iter().copied() {
        if position < log_from {
            continue;
        }
        let name = segment_name(position);
        let mut bytes = from.read(&name).map_err(io_of(from, &name))?;
        if position == log_end.last.position {
            bytes.truncate(log_end.last.good_bytes);
        }
        manifest.files.push(put(to, &name, &bytes)?);
    }
    for (position, _) in &good {
        let name = snapshot_name(*position);
        let bytes = from.read(&name).map_err(io_of(from, &name))?;
        manifest.files.push(put(to, &name, &bytes)?);
    }
    let mut facts = BackupFacts {
        position: log_end.place.position,
        snapshot_position: *newest,
        oldest_position: oldest.0,
        files: manifest.files.len() as u64,
        bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        unknown_source: false,
        missing: Vec::new(),
    };
    if extent == Extent::Everything {
        copy_archives(from, to, &mut manifest, &mut facts)?;
        let expected = Inventory::of(from)?.logged().expected;
        let first = expected.map(|expected| expected.from);
        facts.missing = generations::missing(first, &generations::archives(to)?, &Files::of(to)?);
    }
    manifest.write(to).map_err(io_of(to, "manifest"))?;
    Ok(facts)
}

/// Position of a copy's first part of the log: that of its oldest snapshot, or where the log continues an archive
/// directly.
fn log_from(from: &Folder, files: &Files, oldest: u64) -> Result<u64, DataError> {
    let ends = generations::archives(from)?.into_iter().map(|(_, to)| to);
    let newest = ends.filter(|to| *to < oldest).max();
    let continued = newest.filter(|to| files.segments.contains(to));
    Ok(continued.unwrap_or(oldest))
}

/// The snapshots to copy, oldest first.
fn good_snapshots(
    from: &Folder,
    files: &Files,
    extent: Extent,
) -> Result<Vec<(u64, Opening)>, DataError> {
    let mut good = Vec::new();
    for position in files.snapshots.iter().rev().copied() {
        match snapshot::read(from, position) {
            Ok((opened, _, _)) => good.push((position, opened)),
            Err(damage @ DataError::Damaged { .. }) => {
                tracing::warn!(%damage, "a damaged snapshot is not copied");
            }
            Err(error) => return Err(error),
        }
        if extent == Extent::Newest && !good.is_empty() {
            break;
        }
    }
    good.reverse();
    Ok(good)
}

fn copy_archives(
    from: &Folder,
    to: &Folder,
    manifest: &mut Manifest,
    facts: &mut BackupFacts,
) -> Result<(), DataError> {
    let positions = archive::positions(from)?;
    if positions.is_empty() {
        return Ok(());
    }
    let all = to.inside(ARCHIVES);
    all.make().map_err(io_of(to, ARCHIVES))?;
    for position in positions {
        let packed = archive::packed(from, position);
        let Some((inner, sum)) = Manifest::read(&*packed)? else {
            continue;
        };
        inner.check_files(&*packed, true)?;
        let name = archive::name_of(position);
        let copy = all.inside(&name);
        copy.make().map_err(io_of(&*all, &name))?;
        for file in &inner.files {
            let bytes = packed.read(&file.name);
            let bytes = bytes.map_err(io_of(&*packed, &file.name))?;
            put(&*copy, &file.name, &bytes)?;
            facts.files += 1;
            facts.bytes += file.bytes;
        }
        let bytes = packed.read(super::manifest::MANIFEST);
        let bytes = bytes.map_err(io_of(&*packed, super::manifest::MANIFEST))?;
        put(&*copy, super::manifest::MANIFEST, &bytes)?;
        copy.sync_folder().map_err(io_of(&*copy, "folder"))?;
        facts.oldest_position = facts.oldest_position.min(position);
        manifest.archives.push(Inside { name, sum });
    }
    all.sync_folder().map_err(io_of(&*all, "folder"))
}

fn put(to: &dyn Disk, name: &str, bytes: &[u8]) -> Result<Listed, DataError> {
    let write = || {
        let mut file = to.create(name)?;
        file.write_at(0, bytes)?;
        file.sync()
    };
    write().map_err(io_of(to, name))?;
    Ok(Listed::of(name, bytes))
}

/// Repeats a read that a running exchange disturbed.
pub(super) fn retry_if_changed<T>(
    mut read: impl FnMut() -> Result<T, DataError>,
) -> Result<T, DataError> {
    let mut attempts = 1;
    loop {
        match read() {
            Err(DataError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound && attempts < ATTEMPTS_MAX => {}
            Err(DataError::Damaged { .. }) if attempts < ATTEMPTS_MAX.min(3) => {}
            done => return done,
        }
        attempts += 1;
    }
}
