//! Verifies a folder: what a start needs, and everything that a start would fall back to.

use std::path::Path;

use cambist_venue::Venue;

use super::archive::{self, Unpacked};
use super::backup::retry_if_changed;
use super::disk::{Disk, Folder};
use super::files::Files;
use super::generations::{GENERATIONS, Inventory};
use super::manifest::{Kind, Manifest};
use super::recover::{recover, replay};
use super::{DataError, RecoveryFacts, snapshot};
use crate::durable::log_format::Place;
use crate::durable::log_reader::read_frames;
use crate::state::State;

/// Result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyFacts {
    /// Statistics of the recovery.
    pub recovery: RecoveryFacts,
    /// Number of snapshots in the folder.
    pub snapshots: u64,
    /// Number of log segments in the folder.
    pub segments: u64,
    /// Open orders at the end.
    pub open_orders: u64,
    /// Snapshots with the log up to the next, oldest first, the last up to the end; archives before them.
    pub generations: Vec<Generation>,
    /// Why the record of the folder's history cannot be read.
    pub records_problem: Option<String>,
}

/// A snapshot and the inputs up to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Number of inputs before it.
    pub from: u64,
    /// Number of inputs up to the next.
    pub to: u64,
    /// Whether it is an archive.
    pub archived: bool,
    /// Why it cannot be used for recovery.
    pub problem: Option<String>,
}

impl VerifyFacts {
    /// Whether everything in the folder is valid, older generations and archives included.
    pub fn is_whole(&self) -> bool {
        self.generations.iter().all(|one| one.problem.is_none())
            && self.recovery.missing.is_empty()
            && self.records_problem.is_none()
    }
}

/// Verifies a folder, which may be in use: its manifest, every snapshot and every log segment; replays every
/// generation, compares the result with the next snapshot, and audits the books at the end. An `Err` is an error that a
/// start would have; other damage is reported by generation.
pub fn verify(data: &Path) -> Result<VerifyFacts, DataError> {
    let disk = Folder::open_for_reading(data)?;
    retry_if_changed(|| verify_once(&disk))
}

pub(super) fn verify_once(disk: &dyn Disk) -> Result<VerifyFacts, DataError> {
    let files = Files::of(disk)?;
    if let Some(manifest) = Manifest::in_force(disk, &files)?
        && manifest.kind != Kind::Live
    {
        manifest.check_files(disk, true)?;
        check_archives(disk, &manifest)?;
    }
    let recovered = recover(disk, None)?;
    let venue = &recovered.state.venue;
    venue.audit().map_err(DataError::Audit)?;
    let open_orders = venue.open_orders() as u64;
    let mut facts = recovered.facts;
    let end = recovered.place.position;
    drop(recovered.state);

    let mut generations = Vec::new();
    for position in archive::positions(disk)? {
        let packed = Unpacked(archive::packed(disk, position));
        generations.push(archived(&packed, position)?);
    }
    for (index, position) in files.snapshots.iter().copied().enumerate() {
        let next = files.snapshots.get(index + 1).copied();
        let problem = if position == facts.snapshot_position {
            // Recovered above.
            None
        } else {
            problem_of(disk, &files, position, next)?
        };
        generations.push(Generation {
            from: position,
            to: next.unwrap_or(end),
            archived: false,
            problem,
        });
    }
    let inventory = Inventory::of(disk)?;
    for from in inventory.missing_snapshots {
        let expected = inventory.expected.iter().flat_map(|all| &all.snapshots);
        let next = expected.chain(&files.snapshots).filter(|one| **one > from);
        let name = disk.path_of(&super::files::snapshot_name(from));
        generations.push(Generation {
            from,
            to: next.min().copied().unwrap_or(end),
            archived: false,
            problem: Some(format!(
                "{name} is missing, but {GENERATIONS} lists it: nothing can be recovered from it"
            )),
        });
    }
    generations.sort_by_key(|one| (one.from, !one.archived));
    facts.missing = inventory.missing;
    let damaged = |one: &&Generation| !one.archived && one.problem.is_some();
    facts.damaged_snapshots = generations.iter().filter(damaged).count() as u64;
    Ok(VerifyFacts {
        recovery: facts,
        snapshots: files.snapshots.len() as u64,
        segments: files.segments.len() as u64,
        open_orders,
        generations,
        records_problem: inventory.problem,
    })
}

/// Checks that a copy has the archives in its manifest.
fn check_archives(disk: &dyn Disk, manifest: &Manifest) -> Result<(), DataError> {
    for inside in &manifest.archives {
        let folder = disk.inside(archive::ARCHIVES).inside(&inside.name);
        let found = Manifest::read(&*folder)?;
        if found.is_none_or(|(_, sum)| sum != inside.sum) {
            let what = "it is missing, or differs from the archive in the manifest";
            let all = disk.inside(archive::ARCHIVES);
            return Err(DataError::damaged(&*all, &inside.name, 0, what));
        }
    }
    Ok(())
}

/// Verifies an archive: its files, and that its inputs lead to its end.
fn archived(disk: &Unpacked, position: u64) -> Result<Generation, DataError> {
    let mut generation = Generation {
        from: position,
        to: position,
        archived: true,
        problem: None,
    };
    let mut check = || -> Result<(), DataError> {
        let manifest = Manifest::read(disk)?;
        let Some((manifest, _)) = manifest else {
            let name = super::manifest::MANIFEST;
            return Err(DataError::damaged(disk, name, 0, "it is missing"));
        };
        generation.to = manifest.to.inputs;
        manifest.check_files(&*disk.0, true)?;
        let files = Files::of(disk)?;
        let (_, end) = replayed(disk, &files, position, None)?;
        manifest.check_end(disk, end)
    };
    generation.problem = problem(check())?;
    Ok(generation)
}

/// Why nothing can be recovered from a snapshot and the log up to the next.
fn problem_of(
    disk: &dyn Disk,
    files: &Files,
    position: u64,
    next: Option<u64>,
) -> Result<Option<String>, DataError> {
    let check = || -> Result<(), DataError> {
        let (state, _) = replayed(disk, files, position, next)?;
        let Some(next) = next else {
            return Ok(());
        };
        match snapshot::read(disk, next) {
            Ok((_, _, known)) if known.venue != state.venue => Err(DataError::damaged(
                disk,
                &super::files::snapshot_name(next),
                0,
                "the inputs before it lead to another state",
            )),
            // An unreadable snapshot is reported by its own generation.
            Ok(_) | Err(DataError::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    };
    problem(check())
}

/// Damage as a message; other errors say nothing about the folder.
fn problem(checked: Result<(), DataError>) -> Result<Option<String>, DataError> {
    match checked {
        Ok(()) => Ok(None),
        Err(
            error @ (DataError::Damaged { .. }
            | DataError::Version { .. }
            | DataError::Diverged { .. }
            | DataError::Audit(_)),
        ) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// The state after the inputs that follow a snapshot, up to a segment or the end.
fn replayed(
    disk: &dyn Disk,
    files: &Files,
    position: u64,
    until: Option<u64>,
) -> Result<(State, Place), DataError> {
    let (opened, _, mut state) = snapshot::read(disk, position)?;
    let mut facts = RecoveryFacts::default();
    let log_end = read_frames(disk, files, opened.folder, opened.place, until, |met| {
        replay(disk, met, &mut state, &mut facts, &mut |_, _, _, _, _| ())
    })?;
    audit(&state.venue)?;
    Ok((state, log_end.place))
}

fn audit(venue: &Venue) -> Result<(), DataError> {
    venue.audit().map_err(DataError::Audit)
}
