//! One history from several folders: a data folder or a copy, its archives, and archives stored elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::archive::{self, Unpacked, read_only};
use super::disk::{Disk, DiskFile, Folder};
use super::files::Files;
use super::generations::Generations;
use super::manifest::{Kind, Manifest};
use super::recover::no_snapshot;
use super::{DataError, io_of};

/// Several folders of one exchange, read as one.
pub(super) struct History {
    parts: Vec<Box<dyn Disk>>,
    /// The folders that have a file, by its name.
    holders: BTreeMap<String, Vec<usize>>,
    /// The first input that the folders should hold.
    from: u64,
}

/// The range of a folder.
struct Covered {
    from: u64,
    /// Where its log begins, which continues an older folder.
    log_from: u64,
    /// Where an archive ends; `None` for a folder.
    to: Option<u64>,
    name: String,
}

impl History {
    /// Opens the folders, each with its archives. An error if they belong to different exchanges, or if inputs are
    /// missing between two of them.
    pub fn open(folders: &[&Path]) -> Result<Self, DataError> {
        let mut parts: Vec<Box<dyn Disk>> = Vec::new();
        for folder in folders {
            let disk = Folder::open_for_reading(folder)?;
            let is_archive =
                Manifest::read(&disk)?.is_some_and(|(manifest, _)| manifest.kind == Kind::Archive);
            if is_archive {
                parts.push(Box::new(Unpacked(Box::new(disk))));
                continue;
            }
            for position in archive::positions(&disk)? {
                parts.push(Box::new(Unpacked(archive::packed(&disk, position))));
            }
            parts.push(Box::new(disk));
        }
        let mut expected = None;
        let mut covered = Vec::new();
        let mut exchanges = BTreeSet::new();
        let mut holders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, part) in parts.iter().enumerate() {
            let files = Files::of(&**part)?;
            let manifest = Manifest::read(&**part)?.map(|(manifest, _)| manifest);
            exchanges.extend(manifest.as_ref().map(|manifest| manifest.folder.clone()));
            if exchanges.len() > 1 {
                return Err(DataError::OtherExchange {
                    folder: part.name(),
                });
            }
            let Some(from) = files.snapshots.first().copied() else {
                match no_snapshot(&**part, &files)? {
                    DataError::Empty { .. } => continue,
                    lost => return Err(lost),
                }
            };
            if let Some(known) = Generations::known(&**part)? {
                expected = Some(expected.map_or(known.from, |one: u64| one.min(known.from)));
            }
            let archive = manifest.filter(|manifest| manifest.kind == Kind::Archive);
            covered.push(Covered {
                from,
                log_from: files.segments.first().copied().unwrap_or(from).min(from),
                to: archive.map(|manifest| manifest.to.inputs),
                name: part.name(),
            });
            let names = part.list().map_err(io_of(&**part, "listing"))?;
            for name in names {
                holders.entry(name).or_default().push(index);
            }
        }
        covered.sort_by_key(|part| (part.from, part.to.is_none()));
        let mut reached = covered.first().map_or(0, |part| part.from);
        for part in &covered {
            let from = if part.log_from <= reached {
                part.log_from
            } else {
                part.from
            };
            if from > reached {
                return Err(DataError::Gap {
                    from: reached,
                    to: from,
                    before: part.name.clone(),
                });
            }
            reached = reached.max(part.to.unwrap_or(u64::MAX));
        }
        let first = covered.first().map_or(0, |part| part.from);
        Ok(Self {
            parts,
            holders,
            from: expected.map_or(first, |expected| expected.min(first)),
        })
    }
}

impl History {
    /// The first input that the folders should hold.
    pub const fn from(&self) -> u64 {
        self.from
    }
}

impl Disk for History {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.holders.keys().cloned().collect())
    }

    /// The longest file, if several folders have it: a segment in a copy is shorter if the copy was made while the
    /// segment was written.
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let holders = self.holders.get(name).ok_or(io::ErrorKind::NotFound)?;
        let mut longest: Option<Vec<u8>> = None;
        for index in holders {
            let bytes = self.parts[*index].read(name)?;
            if longest
                .as_ref()
                .is_none_or(|known| known.len() < bytes.len())
            {
                longest = Some(bytes);
            }
        }
        longest.ok_or_else(|| io::ErrorKind::NotFound.into())
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
        self.parts[0].inside(name)
    }

    fn make(&self) -> io::Result<()> {
        Err(read_only())
    }

    fn remove_inside(&self, _: &str) -> io::Result<()> {
        Err(read_only())
    }

    fn name(&self) -> String {
        let names: Vec<_> = self.parts.iter().map(|part| part.name()).collect();
        names.join(", ")
    }

    fn path_of(&self, file: &str) -> String {
        let holder = self.holders.get(file).and_then(|holders| holders.first());
        holder.map_or_else(
            || format!("{}/{file}", self.name()),
            |index| self.parts[*index].path_of(file),
        )
    }
}
