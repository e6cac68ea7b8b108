//! Reading everything in a folder: what a start needs, and everything that it would fall back to.

use std::path::Path;

use cambist_venue::Venue;

use super::archive::{self, Unpacked};
use super::backup::patiently;
use super::disk::{Disk, Folder};
use super::files::Files;
use super::generations::{GENERATIONS, Inventory};
use super::manifest::{Kind, Manifest};
use super::recover::{recover, replay};
use super::{DataError, RecoveryFacts, snapshot};
use crate::durable::log_format::Place;
use crate::durable::log_reader::walk;
use crate::state::State;

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
    /// From each snapshot to the next, oldest first; the last to the end. Archives before them.
    pub generations: Vec<Generation>,
    /// Why it cannot be read which history the folder has to hold.
    pub records_problem: Option<String>,
}

/// A snapshot and the inputs up to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Inputs before it.
    pub from: u64,
    /// Inputs up to the next.
    pub to: u64,
    /// Whether it is an archive.
    pub archived: bool,
    /// Why nothing can be recovered from it.
    pub problem: Option<String>,
}

impl VerifyFacts {
    /// Whether everything in the folder is good, older generations and archives included.
    pub fn is_whole(&self) -> bool {
        self.generations.iter().all(|one| one.problem.is_none())
            && self.recovery.missing.is_empty()
            && self.records_problem.is_none()
    }
}

/// Reads everything in a folder, which may be running: its manifest, every snapshot and every part of the
/// log; replays every generation, compares it with the snapshot that follows, and audits the books at the
/// end. An error is one that a start would meet; what is broken besides is told by generation.
pub fn verify(data: &Path) -> Result<VerifyFacts, DataError> {
    let disk = Folder::look(data)?;
    patiently(|| verify_once(&disk))
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
            // What has just been recovered.
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
                "{name} is missing, and {GENERATIONS} names it: nothing can be recovered from here"
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

/// Whether a copy has the archives that it was made with.
fn check_archives(disk: &dyn Disk, manifest: &Manifest) -> Result<(), DataError> {
    for inside in &manifest.archives {
        let folder = disk.inside(archive::ARCHIVES).inside(&inside.name);
        let found = Manifest::read(&*folder)?;
        if found.is_none_or(|(_, sum)| sum != inside.sum) {
            let what = "it is missing, or not the archive that the manifest names";
            let all = disk.inside(archive::ARCHIVES);
            return Err(DataError::damaged(&*all, &inside.name, 0, what));
        }
    }
    Ok(())
}

/// An archive: its files, and that its inputs lead to where it says.
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

/// Why nothing can be recovered from a snapshot and what follows, up to the next.
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
                "the inputs before it lead to another state than it holds",
            )),
            // One that cannot be read has a line of its own.
            Ok(_) | Err(DataError::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    };
    problem(check())
}

/// Damage as a word; whatever else went wrong says nothing about the folder.
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

/// The state after the inputs that follow a snapshot, up to a part of the log or to its end.
fn replayed(
    disk: &dyn Disk,
    files: &Files,
    position: u64,
    until: Option<u64>,
) -> Result<(State, Place), DataError> {
    let (opened, _, mut state) = snapshot::read(disk, position)?;
    let mut facts = RecoveryFacts::default();
    let walked = walk(disk, files, opened.folder, opened.place, until, |met| {
        replay(disk, met, &mut state, &mut facts, &mut |_, _, _, _| ())
    })?;
    audit(&state.venue)?;
    Ok((state, walked.place))
}

fn audit(venue: &Venue) -> Result<(), DataError> {
    venue.audit().map_err(DataError::Audit)
}
