//! Upgrading a folder of an earlier version: everything in it is copied before the first file of the current version is
//! written.
//!
//! Files of several versions can exist side by side; each is read in its version. Once there is a file of the current
//! version, an earlier program cannot read the folder; the copy allows going back.

use super::disk::Disk;
use super::files::{Files, segment_name, snapshot_name};
use super::generations::Generations;
use super::manifest::{Kind, Listed, Manifest, Point};
use super::recover::Recovered;
use super::{DataError, io_of, snapshot, versions};
use crate::durable::log_format::{Opening, read_segment_opening};

/// Prefix of a copy's name.
const BEFORE: &str = "before-";

/// Suffix of an incomplete copy's name.
const PARTIAL: &str = ".partial";

/// The newest copy from before an upgrade, if there is one.
pub(super) fn backup_in(disk: &dyn Disk) -> Option<String> {
    let names = disk.list().ok()?;
    let is_copy = |name: &String| name.starts_with(BEFORE) && !name.ends_with(PARTIAL);
    let numbers = |name: &str| {
        let digits = name.split(|letter: char| !letter.is_ascii_digit());
        let numbers = digits.filter_map(|digits| digits.parse::<u64>().ok());
        numbers.collect::<Vec<_>>()
    };
    let copies = names.into_iter().filter(is_copy);
    let newest = copies.max_by_key(|name| numbers(name))?;
    Some(disk.path_of(&newest))
}

/// Copies everything in a folder that an earlier version wrote last.
pub(super) fn copy(disk: &dyn Disk, recovered: &Recovered) -> Result<(), DataError> {
    let Some(earlier) = &recovered.facts.written_by else {
        return Ok(());
    };
    let position = recovered.place.position;
    let to_version = versions::history().newest();
    let name = format!("{BEFORE}version-{to_version}-input-{position}");
    // An existing copy is complete, and nothing was written since.
    if !disk.list().map_err(io_of(disk, "listing"))?.contains(&name) {
        copy_whole(disk, &name, recovered)?;
    }
    tracing::warn!(
        written_by = earlier.writer.as_deref().unwrap_or("an earlier program"),
        from_version = earlier.version,
        to_version,
        copy = %disk.path_of(&name),
        "the data folder was written by an earlier version and is upgraded; earlier versions can read the copy only"
    );
    Ok(())
}

/// Writes a snapshot of the current version if the state was read from one of an earlier version, so that the
/// conversion happens once. The segment that begins there must exist already.
pub(super) fn write_down(disk: &dyn Disk, recovered: &Recovered) -> Result<(), DataError> {
    if !recovered.from_earlier {
        return Ok(());
    }
    let opened = Opening {
        folder: recovered.folder,
        place: recovered.place,
    };
    snapshot::write(disk, &opened, &recovered.state)
        .map(drop)
        .map_err(io_of(disk, "snapshot of this version"))
}

/// Removes files from before API keys were digests, once a snapshot of the current version replaces them: they hold
/// keys as text. The copy keeps them.
pub(super) fn drop_keys(disk: &dyn Disk, recovered: &Recovered) -> Result<(), DataError> {
    let files = Files::of(disk)?;
    let Some(oldest) = files.segments.first().copied() else {
        return Ok(());
    };
    // Later segments were not written by an earlier program than earlier ones, and they are removed last.
    let name = segment_name(oldest);
    let bytes = disk.read(&name).map_err(io_of(disk, &name))?;
    let found = read_segment_opening(&bytes);
    let found = versions::known(
        disk,
        &name,
        found,
        "it does not begin with the header of a log segment",
    );
    let (_, _, version) = found?;
    if version >= versions::KEYS_ARE_DIGESTS {
        return Ok(());
    }
    let snapshot = if recovered.from_earlier {
        recovered.place.position
    } else {
        recovered.facts.snapshot_position
    };
    let is_old = |position: &&u64| **position < snapshot;
    let snapshots = files.snapshots.iter().filter(is_old).copied();
    let kept = files.snapshots.iter().filter(|one| !is_old(one)).copied();
    Generations::keep(disk, recovered.folder, Some(snapshot), kept.collect())?;
    let newest_first = files.segments.iter().filter(is_old).rev().copied();
    for name in snapshots
        .map(snapshot_name)
        .chain(newest_first.map(segment_name))
    {
        disk.remove(&name).map_err(io_of(disk, &name))?;
    }
    disk.sync_folder().map_err(io_of(disk, "folder"))?;
    tracing::warn!(
        copy = backup_in(disk).as_deref().unwrap_or("none"),
        "the copy of the old data folder holds API keys as text: remove it once it is not needed any more, and protect it like a key until then"
    );
    Ok(())
}

fn copy_whole(disk: &dyn Disk, name: &str, recovered: &Recovered) -> Result<(), DataError> {
    let partial = format!("{name}{PARTIAL}");
    disk.remove_inside(&partial)
        .map_err(io_of(disk, &partial))?;
    let copy = disk.inside(&partial);
    copy.make().map_err(io_of(disk, &partial))?;
    let files = Files::of(disk)?;
    let end = Point::new(recovered.place, None);
    let mut manifest = Manifest::new(Kind::Copy, recovered.folder, None, end);
    let segments = files.segments.iter().copied().map(segment_name);
    let snapshots = files.snapshots.iter().copied().map(snapshot_name);
    for file in segments.chain(snapshots) {
        let bytes = disk.read(&file).map_err(io_of(disk, &file))?;
        let write = || {
            let mut made = copy.create(&file)?;
            made.write_at(0, &bytes)?;
            made.sync()
        };
        write().map_err(io_of(&*copy, &file))?;
        manifest.files.push(Listed::of(&file, &bytes));
    }
    manifest.write(&*copy).map_err(io_of(&*copy, "manifest"))?;
    copy.sync_folder().map_err(io_of(&*copy, "folder"))?;
    disk.rename(&partial, name).map_err(io_of(disk, name))?;
    disk.sync_folder().map_err(io_of(disk, "folder"))
}
