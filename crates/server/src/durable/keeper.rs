//! Makes snapshots, from the log and beside the running machine, and drops what they replace.
//!
//! The machine is never stopped for this, and every snapshot is at the same time a proof that the log
//! replays. It costs the memory of a second state while it runs.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use super::disk::Disk;
use super::files::{Files, SNAPSHOT_PARTIAL, segment_name, snapshot_name};
use super::frame::Opening;
use super::recover::recover;
use super::{DataError, io_of, snapshot};

/// Snapshots kept: the one before the latest serves if that is damaged.
const SNAPSHOTS_KEPT: usize = 2;

/// Starts the thread; it ends when nobody can begin segments any more.
pub(crate) fn start(
    disk: Arc<dyn Disk>,
    segments: Receiver<u64>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("server-keeper".to_owned())
        .spawn(move || {
            while let Ok(begun) = segments.recv() {
                // The log itself is not touched by a failure here; the next segment tries again.
                if let Err(error) = keep(&*disk, begun) {
                    tracing::error!(%error, "no snapshot was made");
                }
            }
        })
}

/// Makes the snapshot at the beginning of a segment, then drops what it replaces.
pub(crate) fn keep(disk: &dyn Disk, begun: u64) -> Result<(), DataError> {
    let recovered = recover(disk, Some(begun))?;
    let opened = Opening {
        folder: recovered.folder,
        place: recovered.place,
    };
    let written = snapshot::write(disk, &opened, &recovered.state);
    if written.is_err() {
        // It may be the disk that is full.
        let _ = disk.remove(SNAPSHOT_PARTIAL);
    }
    let bytes = written.map_err(io_of(disk, SNAPSHOT_PARTIAL))?;
    tracing::info!(
        position = begun,
        bytes,
        replayed = recovered.facts.replayed,
        "snapshot made"
    );
    prune(disk)
}

/// Drops snapshots beyond the last ones, and the log before them.
fn prune(disk: &dyn Disk) -> Result<(), DataError> {
    let files = Files::of(disk)?;
    let Some(oldest_kept) = files.snapshots.iter().rev().nth(SNAPSHOTS_KEPT - 1) else {
        return Ok(());
    };
    let old = |position: &&u64| *position < oldest_kept;
    let names = files.snapshots.iter().filter(old).copied();
    let names = names.map(snapshot_name);
    let segments = files.segments.iter().filter(old).copied();
    for name in names.chain(segments.map(segment_name)) {
        disk.remove(&name).map_err(io_of(disk, &name))?;
    }
    disk.sync_folder().map_err(io_of(disk, "folder"))
}
