//! Archives: the part of the history that a start no longer needs, kept for as long as configured.
//!
//! An archive holds the snapshot at its beginning and the inputs up to the next snapshot, compressed (gzip), with a
//! manifest of its positions. Archives and the folder are linked by one chain over all inputs. `export` and `verify`
//! read archives in addition to the folder.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::disk::{Disk, DiskFile};
use super::files::{Files, segment_name, snapshot_name};
use super::generations::Generations;
use super::manifest::{Kind, Listed, Manifest, Point};
use super::{DataError, io_of, snapshot};
use crate::durable::log_format::FolderId;

/// The folder of archives inside a data folder.
pub(super) const ARCHIVES: &str = "archive";

/// Suffix of an incomplete archive's name.
const PARTIAL: &str = ".partial";

/// Suffix of file names inside an archive.
const GZIP: &str = ".gz";

/// Most bytes of an unpacked file.
const UNPACKED_MAX: u64 = 4 << 30;

/// How much history is kept beyond what a start needs; both limits apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Days of the exchange's time; 0 keeps no archives.
    pub days: u32,
    /// Bytes of all archives; 0 keeps no archives.
    pub bytes: u64,
}

impl Default for Retention {
    /// 30 days, 4 GB.
    fn default() -> Self {
        Self {
            days: 30,
            bytes: 4_000_000_000,
        }
    }
}

impl Retention {
    /// Whether no archives are kept.
    pub(super) const fn is_none(self) -> bool {
        self.days == 0 || self.bytes == 0
    }
}

/// The archives of a data folder, by the positions of their first inputs.
pub(super) fn positions(disk: &dyn Disk) -> Result<Vec<u64>, DataError> {
    let inside = disk.inside(ARCHIVES);
    let names = match inside.list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(io_of(&*inside, "listing"))?,
    };
    let number = |name: &String| {
        let number = u64::from_str_radix(name, 16).ok()?;
        (name_of(number) == *name).then_some(number)
    };
    let mut found: Vec<_> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    Ok(found)
}

/// An archive's name.
pub(super) fn name_of(position: u64) -> String {
    format!("{position:016x}")
}

/// An archive's files, still compressed.
pub(super) fn packed(disk: &dyn Disk, position: u64) -> Box<dyn Disk> {
    disk.inside(ARCHIVES).inside(&name_of(position))
}

/// Creates an archive of the history between two snapshots of a folder.
pub(super) fn create(disk: &dyn Disk, files: &Files, from: u64, to: u64) -> Result<(), DataError> {
    let (opened, _, state) = snapshot::read(disk, from)?;
    let begin = Point::new(opened.place, Some(state.venue.now().0));
    drop(state);
    let end = snapshot::opening_of(disk, to)?;
    let at_ms = snapshot::read(disk, to).map(|(_, _, state)| state.venue.now().0);
    let end = Point::new(end.place, at_ms.ok());

    let all = disk.inside(ARCHIVES);
    all.make().map_err(io_of(disk, ARCHIVES))?;
    let (name, partial) = (name_of(from), format!("{}{PARTIAL}", name_of(from)));
    for earlier in [&name, &partial] {
        all.remove_inside(earlier).map_err(io_of(&*all, earlier))?;
    }
    let made = all.inside(&partial);
    made.make().map_err(io_of(&*all, &partial))?;
    let mut manifest = Manifest::new(Kind::Archive, opened.folder, Some(begin), end);
    let segments = files.segments.iter().copied();
    let segments = segments.filter(|position| (from..to).contains(position));
    for file in segments.map(segment_name).chain([snapshot_name(from)]) {
        let bytes = disk.read(&file).map_err(io_of(disk, &file))?;
        let name = format!("{file}{GZIP}");
        let write = || {
            let bytes = pack(&bytes)?;
            let mut written = made.create(&name)?;
            written.write_at(0, &bytes)?;
            written.sync()?;
            Ok(Listed::of(&name, &bytes))
        };
        let listed = write().map_err(io_of(&*made, &name))?;
        manifest.files.push(listed);
    }
    manifest.write(&*made).map_err(io_of(&*made, "manifest"))?;
    all.rename(&partial, &name).map_err(io_of(&*all, &name))?;
    all.sync_folder().map_err(io_of(&*all, "folder"))?;
    disk.sync_folder().map_err(io_of(disk, "folder"))
}

/// Removes the oldest archives beyond the limits.
pub(super) fn retain(
    disk: &dyn Disk,
    folder: FolderId,
    retention: Retention,
    now_ms: u64,
) -> Result<(), DataError> {
    let all = disk.inside(ARCHIVES);
    let oldest_ms = now_ms.saturating_sub(u64::from(retention.days) * 86_400_000);
    let mut kept_bytes = 0_u64;
    let mut is_expired = retention.is_none();
    let mut expired = Vec::new();
    // First input after the newest removed archive.
    let mut from = None;
    // From the newest to the oldest: everything older than a removed archive is removed too.
    for position in positions(disk)?.into_iter().rev() {
        if !is_expired {
            let manifest = Manifest::read(&*packed(disk, position))?;
            let Some((manifest, _)) = manifest else {
                continue;
            };
            kept_bytes += manifest.files.iter().map(|file| file.bytes).sum::<u64>();
            let ended_ms = manifest.to.at_ms.unwrap_or(now_ms);
            is_expired = ended_ms < oldest_ms || kept_bytes > retention.bytes;
            from = is_expired.then_some(manifest.to.inputs);
        }
        if is_expired {
            expired.push(name_of(position));
        }
    }
    if let Some(from) = from {
        Generations::begin_at(disk, folder, from)?;
    }
    for name in expired {
        all.remove_inside(&name).map_err(io_of(&*all, &name))?;
    }
    Ok(())
}

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes)?;
    packer.finish()
}

/// An archive, read like an uncompressed folder.
pub(super) struct Unpacked(pub Box<dyn Disk>);

impl Disk for Unpacked {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = self.0.list()?;
        for name in &mut names {
            if let Some(plain) = name.strip_suffix(GZIP) {
                *name = plain.to_owned();
            }
        }
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let packed = match self.0.read(&format!("{name}{GZIP}")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.0.read(name),
            read => read?,
        };
        let mut bytes = Vec::new();
        GzDecoder::new(packed.as_slice())
            .take(UNPACKED_MAX)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn DiskFile>> {
        Err(read_only())
    }

    fn open(&self, _: &str) -> io::Result<Box<dyn DiskFile>> {
        Err(read_only())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(read_only())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Err(read_only())
    }

    fn inside(&self, name: &str) -> Box<dyn Disk> {
        self.0.inside(name)
    }

    fn make(&self) -> io::Result<()> {
        Err(read_only())
    }

    fn remove_inside(&self, _: &str) -> io::Result<()> {
        Err(read_only())
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn path_of(&self, file: &str) -> String {
        self.0.path_of(&format!("{file}{GZIP}"))
    }
}

pub(super) fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "only read")
}
