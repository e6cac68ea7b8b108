//! Recovery: the newest valid snapshot, then every input after it.

use super::disk::Disk;
use super::files::{Files, segment_name, snapshot_name};
use super::manifest::{Kind, Manifest};
use super::{DataError, Earlier, RecoveryFacts, archive, io_of, snapshot, versions};
use crate::durable::log_format::{BLOCK, FolderId, Place};
use crate::durable::log_reader::{FrameInSegment, Last, LogEnd, read_frames};
use crate::state::{Answers, Entry, RequestObserver, State};
use cambist_venue::KrakenRules;

/// Result of a recovery.
pub(crate) struct Recovered {
    pub folder: FolderId,
    pub state: State,
    pub place: Place,
    pub last: Last,
    /// Whether an earlier version wrote the snapshot.
    pub from_earlier: bool,
    pub facts: RecoveryFacts,
}

/// Reads the state at the end of the log, or where the segment `until` begins. Changes nothing.
pub(crate) fn recover(disk: &dyn Disk, until: Option<u64>) -> Result<Recovered, DataError> {
    let files = Files::of(disk)?;
    let mut facts = RecoveryFacts::default();
    // The manifest describes the end of the log, not the state at a segment inside it.
    let manifest = match until {
        None => Manifest::in_force(disk, &files)?,
        Some(_) => None,
    };
    if let Some(manifest) = &manifest {
        check_names(disk, &files, manifest)?;
    }
    let mut problem = None;
    for position in files.snapshots.iter().rev().copied() {
        if until.is_some_and(|until| position > until) {
            continue;
        }
        let (opened, layout, mut state) = match snapshot::read(disk, position) {
            Ok(found) => found,
            Err(damage @ DataError::Damaged { .. }) => {
                // The snapshot before it and the log since then lead to the same state.
                tracing::warn!(%damage, "a snapshot is damaged; falling back to the one before it");
                facts.damaged_snapshots += 1;
                problem.get_or_insert(damage);
                continue;
            }
            Err(error) => return Err(error),
        };
        let log_end = read_frames(disk, &files, opened.folder, opened.place, until, |met| {
            replay(disk, met, &mut state, &mut facts, &mut |_, _, _, _, _| ())
        })?;
        if until.is_none() {
            check_end(disk, manifest.as_ref(), &log_end, &mut facts)?;
        }
        facts.snapshot_position = position;
        facts.position = log_end.place.position;
        facts.frames = log_end.frames;
        facts.log_bytes = log_end.bytes;
        facts.torn_bytes = log_end.last.torn_bytes as u64;
        let from_earlier = versions::earlier(&layout).is_some();
        let newest = log_end.last.layout.clone().unwrap_or(layout);
        facts.written_by = versions::earlier(&newest).map(|version| Earlier {
            writer: newest.writer,
            version,
        });
        return Ok(Recovered {
            folder: opened.folder,
            state,
            place: log_end.place,
            last: log_end.last,
            from_earlier,
            facts,
        });
    }
    Err(match problem {
        Some(problem) => problem,
        None => no_snapshot(disk, &files)?,
    })
}

/// The error for a folder without a snapshot: either no exchange was created in it, or its snapshots were lost. Log,
/// manifest and archives belong to an exchange that was created.
pub(super) fn no_snapshot(disk: &dyn Disk, files: &Files) -> Result<DataError, DataError> {
    let lost = |what| Ok(DataError::damaged(disk, &snapshot_name(0), 0, what));
    let manifest = Manifest::read(disk)?;
    if manifest.is_some_and(|(manifest, _)| manifest.to.inputs > 0) {
        return lost(
            "it is missing, as are all later snapshots, but the manifest lists later inputs",
        );
    }
    if !archive::positions(disk)?.is_empty() {
        return lost("it is missing, as are all later snapshots, but there are archives");
    }
    if !is_unborn(disk, files)? {
        return lost("it is missing, as are all later snapshots, but there is a log");
    }
    Ok(DataError::Empty {
        folder: disk.name(),
    })
}

/// Whether creating the exchange was interrupted before its first snapshot, so that no input was accepted. The manifest
/// is written after the first segment, so a manifest without a segment means that the log was lost.
fn is_unborn(disk: &dyn Disk, files: &Files) -> Result<bool, DataError> {
    match files.segments.as_slice() {
        [] => Ok(Manifest::read(disk)?.is_none()),
        [0] => {
            let name = segment_name(0);
            let bytes = disk.read(&name).map_err(io_of(disk, &name))?;
            let written = bytes.iter().skip(BLOCK).any(|byte| *byte != 0);
            Ok(!written)
        }
        _ => Ok(false),
    }
}

/// Checks that everything in the manifest exists.
fn check_names(disk: &dyn Disk, files: &Files, manifest: &Manifest) -> Result<(), DataError> {
    match manifest.kind {
        Kind::Copy | Kind::Archive => manifest.check_files(disk, false),
        // There may be a newer segment: it is listed after it was created.
        Kind::Live if files.segments.last() >= Some(&manifest.to.inputs) => Ok(()),
        Kind::Live => {
            let name = segment_name(manifest.to.inputs);
            let what = "it is missing, but the manifest lists it as the newest segment of the log";
            Err(DataError::damaged(disk, &name, 0, what))
        }
    }
}

/// Checks that the log is complete at its end.
fn check_end(
    disk: &dyn Disk,
    manifest: Option<&Manifest>,
    log_end: &LogEnd,
    facts: &mut RecoveryFacts,
) -> Result<(), DataError> {
    facts.manifest = manifest.map(|manifest| manifest.kind.word());
    match manifest {
        Some(manifest) => manifest.check_end(disk, log_end.place)?,
        // Of a program without manifests: a copy, or a folder with a truncated log.
        None => facts.may_be_cut = log_end.last.is_short(),
    }
    let is_live = manifest.is_some_and(|manifest| manifest.kind == Kind::Live);
    if is_live && log_end.last.is_short() {
        let name = segment_name(log_end.last.position);
        let what = "it is shorter than it was created";
        let at = log_end.last.bytes as u64;
        return Err(DataError::damaged(disk, &name, at, what));
    }
    Ok(())
}

/// Replays every input of a frame, in order.
pub(super) fn replay(
    disk: &dyn Disk,
    met: &FrameInSegment<'_>,
    state: &mut State,
    facts: &mut RecoveryFacts,
    on_request: &mut RequestObserver<'_>,
) -> Result<(), DataError> {
    let damaged = |what| DataError::damaged(disk, met.file, met.offset as u64, what);
    let mut rest = met.frame.payload;
    let mut answers = Answers::default();
    let rules = versions::kraken_rules(met.version);
    state.venue.set_kraken_rules(rules);
    for _ in 0..met.frame.count {
        let entry =
            versions::history().read::<Entry<'static>>(versions::INPUT, met.version, &mut rest);
        let entry = entry.map_err(|error| {
            tracing::error!(file = met.file, %error, "a frame has a valid checksum but cannot be decoded");
            damaged("a frame has a valid checksum but cannot be decoded as inputs of its version")
        })?;
        let replayed = state.replay(&entry, on_request);
        answers = answers.and(replayed.answers);
        facts.steps_changed += u64::from(!replayed.same);
        facts.replayed += 1;
    }
    // What follows the log is executed by the rules of today.
    state.venue.set_kraken_rules(KrakenRules::default());
    if !rest.is_empty() {
        return Err(damaged(
            "a frame has a valid checksum but more data than its header states",
        ));
    }
    if met.frame.answers.is_some_and(|given| given != answers) {
        return Err(DataError::Diverged {
            file: disk.path_of(met.file),
            first: met.frame.first,
            writer: met.layout.writer.clone().unwrap_or_default(),
        });
    }
    Ok(())
}
