//! Makes snapshots from the log, beside the running exchange, and removes what they replace.
//!
//! The exchange does not stop for it, and every snapshot verifies that the log replays. A snapshot needs memory for a
//! second state while it is made.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use crate::durable::archive;
use crate::durable::archive::Retention;
use crate::durable::disk::Disk;
use crate::durable::files::{Files, SNAPSHOT_PARTIAL, segment_name, snapshot_name};
use crate::durable::generations::Generations;
use crate::durable::log_format::{FolderId, Opening};
use crate::durable::recover::recover;
use crate::durable::{DataError, io_of, snapshot};

/// Number of snapshots kept: if the newest is damaged, the one before it is used.
const SNAPSHOTS_KEPT: usize = 2;

/// Number of inputs after which the next segment begins with a snapshot: some seconds of full load, about a second of
/// replay.
const INPUTS_BETWEEN: u64 = 200_000;

/// The same as a number of segments, for exchanges with few inputs.
const PARTS_BETWEEN: usize = 8;

/// Starts the thread; it ends when the sender of segments is dropped.
pub(crate) fn start(
    disk: Arc<dyn Disk>,
    retention: Retention,
    segments: Receiver<u64>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("server-snapshots".to_owned())
        .spawn(move || {
            while let Ok(begun) = segments.recv() {
                // A failure does not affect the log; the next segment tries again.
                if let Err(error) = keep_if_due(&*disk, retention, begun) {
                    tracing::error!(%error, "making a snapshot failed; it is tried again at the next segment");
                }
            }
        })
}

/// Makes a snapshot at the beginning of a segment if the last one is old enough.
fn keep_if_due(disk: &dyn Disk, retention: Retention, begun: u64) -> Result<(), DataError> {
    let files = Files::of(disk)?;
    let last = files.snapshots.last().copied().unwrap_or(0);
    let since = |position: &&u64| (last..begun).contains(*position);
    let parts = files.segments.iter().filter(since).count();
    if begun.saturating_sub(last) < INPUTS_BETWEEN && parts < PARTS_BETWEEN {
        return Ok(());
    }
    keep(disk, retention, begun)
}

/// Makes the snapshot at the beginning of a segment, then removes what it replaces.
pub(crate) fn keep(disk: &dyn Disk, retention: Retention, begun: u64) -> Result<(), DataError> {
    let recovered = recover(disk, Some(begun))?;
    let opened = Opening {
        folder: recovered.folder,
        place: recovered.place,
    };
    let written = snapshot::write(disk, &opened, &recovered.state);
    if written.is_err() {
        // The disk may be full.
        let _ = disk
            .remove(SNAPSHOT_PARTIAL)
            .and_then(|()| disk.sync_folder());
    }
    let bytes = written.map_err(io_of(disk, SNAPSHOT_PARTIAL))?;
    tracing::info!(
        position = begun,
        bytes,
        replayed = recovered.facts.replayed,
        "snapshot made"
    );
    prune(disk, recovered.folder, retention)?;
    archive::retain(
        disk,
        recovered.folder,
        retention,
        recovered.state.venue.now().0,
    )
}

/// Archives snapshots beyond the newest ones and the log before them.
fn prune(disk: &dyn Disk, folder: FolderId, retention: Retention) -> Result<(), DataError> {
    let files = Files::of(disk)?;
    let Some(oldest_kept) = files.snapshots.iter().rev().nth(SNAPSHOTS_KEPT - 1) else {
        return Generations::keep(disk, folder, None, files.snapshots);
    };
    let old = |position: &&u64| *position < oldest_kept;
    if !retention.is_none() {
        set_aside(disk, &files, *oldest_kept)?;
    }
    let from = retention.is_none().then_some(*oldest_kept);
    let kept = files.snapshots.iter().filter(|one| !old(one)).copied();
    Generations::keep(disk, folder, from, kept.collect())?;
    let names = files.snapshots.iter().filter(old).copied();
    let names = names.map(snapshot_name);
    let segments = files.segments.iter().filter(old).copied();
    for name in names.chain(segments.map(segment_name)) {
        disk.remove(&name).map_err(io_of(disk, &name))?;
    }
    disk.sync_folder().map_err(io_of(disk, "folder"))
}

/// Creates one archive from each snapshot to the next. The log before the first snapshot, or after an unreadable one,
/// cannot be replayed and is not archived.
fn set_aside(disk: &dyn Disk, files: &Files, oldest_kept: u64) -> Result<(), DataError> {
    let ends = files.snapshots.iter().skip(1);
    for (from, to) in files.snapshots.iter().zip(ends) {
        if *from >= oldest_kept {
            break;
        }
        match archive::create(disk, files, *from, *to) {
            Err(damage @ DataError::Damaged { .. }) => {
                tracing::error!(%damage, from, to, "cannot archive a part of the history; it is removed");
            }
            done => done?,
        }
    }
    Ok(())
}
