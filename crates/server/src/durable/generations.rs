//! The history that a folder in use must hold (`generations.json`), and the inputs that are missing from it.
//!
//! The file lists the snapshots that are kept and the first input of the history. It is written after a snapshot is
//! made and before anything is removed, so that everything in the list exists unless something outside this program
//! removed it. The manifest of a folder in use states that the file exists. Folders of earlier programs, copies and
//! archives have none; in those only gaps between existing files are detected.

use serde::{Deserialize, Serialize};

use super::archive;
use super::disk::Disk;
use super::files::{Files, GENERATIONS_PARTIAL};
use super::manifest::{Kind, Manifest, hex, read_summed, write_summed};
use super::{DataError, MissingInputs, io_of};
use crate::durable::log_format::FolderId;

/// Its file name.
pub(super) const GENERATIONS: &str = "generations.json";

/// Version of the format below.
const FORM: u32 = 1;

/// How often listing a folder starts again because the snapshot thread changed it.
const ATTEMPTS_MAX: u32 = 20;

/// The history that must exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Generations {
    form: u32,
    /// The folder's id, hexadecimal.
    folder: String,
    /// The first input of the history that is kept, in archives and log.
    pub from: u64,
    /// Positions of the snapshots that are kept, oldest first.
    pub snapshots: Vec<u64>,
}

/// What a folder should hold and what it holds, at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    /// The history that must exist; `None` if the folder has no list.
    pub expected: Option<Generations>,
    /// Why the list cannot be read.
    pub problem: Option<String>,
    /// Listed snapshots that do not exist.
    pub missing_snapshots: Vec<u64>,
    /// Inputs that should exist and do not.
    pub missing: Vec<MissingInputs>,
}

impl Generations {
    pub fn new(folder: FolderId, from: u64, snapshots: Vec<u64>) -> Self {
        Self {
            form: FORM,
            folder: hex(&folder.0),
            from,
            snapshots,
        }
    }

    /// The list of a folder whose manifest states that there is one.
    pub fn in_force(disk: &dyn Disk) -> Result<Option<Self>, DataError> {
        let Some((manifest, _)) = Manifest::read(disk)? else {
            return Ok(None);
        };
        if manifest.kind != Kind::Live || !manifest.generations {
            return Ok(None);
        }
        let damaged = |what| DataError::damaged(disk, GENERATIONS, 0, what);
        let Some((value, _)) = read_summed(disk, GENERATIONS)? else {
            return Err(damaged("it is missing, but the manifest lists it"));
        };
        let found: Self = serde_json::from_value(value)
            .map_err(|_| damaged("it has missing or invalid fields"))?;
        if found.form != FORM {
            return Err(damaged(
                "its format version is not supported by this program",
            ));
        }
        if found.folder != manifest.folder {
            return Err(damaged("it belongs to another folder"));
        }
        Ok(Some(found))
    }

    /// Writes the list atomically.
    pub fn write(&self, disk: &dyn Disk) -> Result<(), DataError> {
        serde_json::to_value(self)
            .map_err(std::io::Error::from)
            .and_then(|value| write_summed(disk, GENERATIONS, GENERATIONS_PARTIAL, value))
            .map(drop)
            .map_err(io_of(disk, GENERATIONS))
    }

    /// Writes the list of a folder that is created or continued. Earlier expectations are kept, so that a start does
    /// not hide missing data.
    pub fn renew(disk: &dyn Disk, folder: FolderId) -> Result<(), DataError> {
        let known = Self::known(disk)?;
        let files = Files::of(disk)?;
        let Some(oldest) = files.snapshots.first().copied() else {
            return Ok(());
        };
        let next = if let Some(known) = &known {
            let last = known.snapshots.last().copied();
            let later = files.snapshots.iter().filter(|one| Some(**one) > last);
            let snapshots = known.snapshots.iter().chain(later).copied();
            Self::new(folder, known.from, snapshots.collect())
        } else {
            let first = archive::positions(disk)?.first().copied();
            let from = first.map_or(oldest, |first| first.min(oldest));
            Self::new(folder, from, files.snapshots)
        };
        next.replace(disk, known.as_ref())
    }

    /// Called before snapshots and the log before them are removed: records what is kept. `from` is the first input
    /// that is kept, if the removal shortens the history.
    pub fn keep(
        disk: &dyn Disk,
        folder: FolderId,
        from: Option<u64>,
        snapshots: Vec<u64>,
    ) -> Result<(), DataError> {
        let known = Self::known(disk)?;
        let first = if let Some(known) = &known {
            known.from
        } else {
            let archives = archive::positions(disk)?;
            let all = archives.first().into_iter().chain(snapshots.first());
            all.min().copied().unwrap_or_default()
        };
        let from = from.map_or(first, |from| from.max(first));
        Self::new(folder, from, snapshots).replace(disk, known.as_ref())
    }

    /// Called before archives are removed: records the first input that is kept.
    pub fn begin_at(disk: &dyn Disk, folder: FolderId, from: u64) -> Result<(), DataError> {
        let Some(known) = Self::known(disk)? else {
            return Ok(());
        };
        let snapshots = known.snapshots.clone();
        Self::new(folder, from.max(known.from), snapshots).replace(disk, Some(&known))
    }

    fn replace(&self, disk: &dyn Disk, known: Option<&Self>) -> Result<(), DataError> {
        if known == Some(self) {
            Ok(())
        } else {
            self.write(disk)
        }
    }

    /// The list in force; `None` also if it cannot be read, which is logged. A start and the next snapshot write a new
    /// one.
    pub fn known(disk: &dyn Disk) -> Result<Option<Self>, DataError> {
        match Self::in_force(disk) {
            Err(damage @ DataError::Damaged { .. }) => {
                tracing::error!(%damage, "generations.json cannot be read: the files that exist are taken as the complete history");
                Ok(None)
            }
            read => read,
        }
    }
}

impl Inventory {
    /// Returns the same value; logs what is missing.
    pub fn logged(self) -> Self {
        for position in &self.missing_snapshots {
            tracing::error!(
                position,
                "a snapshot of the data folder is missing, so a start has one snapshot less to fall back to; run 'cambist venue verify'"
            );
        }
        for inputs in &self.missing {
            tracing::error!(
                from = inputs.from,
                to = inputs.to,
                "inputs are missing from the history of the data folder; run 'cambist venue verify'"
            );
        }
        self
    }

    /// Examines a folder, which may be in use.
    pub fn of(disk: &dyn Disk) -> Result<Self, DataError> {
        let expected = || match Generations::in_force(disk) {
            Err(damage @ DataError::Damaged { .. }) => Ok((None, Some(damage.to_string()))),
            read => read.map(|read| (read, None)),
        };
        let mut before = expected()?;
        for _ in 0..ATTEMPTS_MAX {
            let archives = archives(disk)?;
            let files = Files::of(disk)?;
            // If the list did not change in between, nothing was removed in between.
            let after = expected()?;
            if before != after {
                before = after;
                continue;
            }
            let (expected, problem) = before;
            let named = expected.iter().flat_map(|expected| &expected.snapshots);
            let is_gone = |position: &&u64| !files.snapshots.contains(position);
            let missing_snapshots = named.filter(is_gone).copied().collect();
            let from = expected.as_ref().map(|expected| expected.from);
            return Ok(Self {
                missing: missing(from, &archives, &files),
                expected,
                problem,
                missing_snapshots,
            });
        }
        Err(DataError::damaged(
            disk,
            GENERATIONS,
            0,
            "it changed repeatedly while the folder was being listed; try again",
        ))
    }
}

/// Beginnings and ends of a folder's archives, oldest first; unreadable archives are left out.
pub(super) fn archives(disk: &dyn Disk) -> Result<Vec<(u64, u64)>, DataError> {
    let mut found = Vec::new();
    for position in archive::positions(disk)? {
        match Manifest::read(&*archive::packed(disk, position)) {
            Ok(Some((manifest, _))) => found.push((position, manifest.to.inputs)),
            Ok(None) | Err(DataError::Damaged { .. }) => {}
            // It was removed in between.
            Err(DataError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The inputs from `from` on, or from the oldest existing one, that are neither in an archive nor in the log after an
/// archive or a snapshot.
pub(super) fn missing(
    from: Option<u64>,
    archives: &[(u64, u64)],
    files: &Files,
) -> Vec<MissingInputs> {
    let Some(snapshot) = files.snapshots.first().copied() else {
        return Vec::new();
    };
    let oldest = archives.first().map_or(snapshot, |one| one.0.min(snapshot));
    let mut reached = from.unwrap_or(oldest);
    let mut missing = Vec::new();
    let mut reach = |reached: &mut u64, from: u64| {
        if from > *reached {
            missing.push(MissingInputs {
                from: *reached,
                to: from,
            });
        }
        *reached = from.max(*reached);
    };
    for (from, to) in archives.iter().copied() {
        reach(&mut reached, from);
        reached = reached.max(to);
    }
    // The log continues an archive directly, without a snapshot.
    let continued = archives
        .iter()
        .any(|(_, to)| *to < snapshot && *to >= reached && files.segments.contains(to));
    if !continued {
        reach(&mut reached, snapshot);
    }
    missing
}
