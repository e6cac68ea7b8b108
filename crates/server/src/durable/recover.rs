//! From files to the state: the latest good snapshot, then every input after it.

use super::disk::Disk;
use super::files::Files;
use super::frame::{FolderId, Frame, Place};
use super::walk::{Last, walk};
use super::{DataError, RecoveryFacts, snapshot};
use crate::state::{Entry, State};

/// What was recovered.
pub(crate) struct Recovered {
    pub folder: FolderId,
    pub state: State,
    pub place: Place,
    pub last: Last,
    pub facts: RecoveryFacts,
}

/// Reads the state at the end of the log, or where the segment `until` begins. Changes nothing.
pub(crate) fn recover(disk: &dyn Disk, until: Option<u64>) -> Result<Recovered, DataError> {
    let files = Files::of(disk)?;
    let mut facts = RecoveryFacts::default();
    let mut problem = None;
    for position in files.snapshots.iter().rev().copied() {
        if until.is_some_and(|until| position > until) {
            continue;
        }
        let (opened, mut state) = match snapshot::read(disk, position) {
            Ok(found) => found,
            Err(damage @ DataError::Damaged { .. }) => {
                // The one before it, and the log since then, say the same.
                tracing::warn!(%damage, "a snapshot is of no use");
                facts.damaged_snapshots += 1;
                problem.get_or_insert(damage);
                continue;
            }
            Err(error) => return Err(error),
        };
        let walked = walk(disk, &files, opened.folder, opened.place, until, |frame| {
            entries(frame, |entry| {
                let same = state.replay(entry, &mut |_, _, _, _| ());
                facts.steps_changed += u64::from(!same);
                facts.replayed += 1;
            })
        })?;
        facts.snapshot_position = position;
        facts.position = walked.place.position;
        facts.frames = walked.frames;
        facts.log_bytes = walked.bytes;
        facts.torn_bytes = walked.last.torn_bytes as u64;
        return Ok(Recovered {
            folder: opened.folder,
            state,
            place: walked.place,
            last: walked.last,
            facts,
        });
    }
    Err(problem.unwrap_or_else(|| DataError::Empty {
        folder: disk.name(),
    }))
}

/// Every input of a frame, in order.
pub(super) fn entries(
    frame: &Frame<'_>,
    mut take: impl FnMut(&Entry<'_>),
) -> Result<(), &'static str> {
    let mut rest = frame.payload;
    for _ in 0..frame.count {
        let (entry, behind) = postcard::take_from_bytes::<Entry<'_>>(rest)
            .map_err(|_| "a frame is good but holds no inputs of this program")?;
        take(&entry);
        rest = behind;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err("a frame is good but holds more than it says")
    }
}
