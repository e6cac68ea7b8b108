//! Reading the log: every frame from a place on, across segments, as far as it is good.
//!
//! A crash leaves at most one batch that was being written, at the very end: what is no frame there,
//! and has no frame after it, is that. Anything else that does not fit is damage, and is refused with
//! its place, because what follows could not be trusted.

use crate::durable::data_folder::SEGMENT_BYTES;
use crate::durable::disk::Disk;
use crate::durable::files::{Files, segment_name};
use crate::durable::log_format::{BLOCK, FolderId, Found, Frame, Layout, Place, read_frame};
use crate::durable::log_format::{Opening, read_segment_opening};
use crate::durable::{DataError, io_of, versions};

/// How far the log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Walked {
    pub place: Place,
    pub frames: u64,
    /// Bytes of good frames.
    pub bytes: u64,
    /// The last segment looked at.
    pub last: Last,
}

/// The last segment of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    /// Where it begins.
    pub position: u64,
    /// Where its last good frame begins, if it has one.
    pub final_frame: Option<usize>,
    /// Where good bytes end.
    pub good_bytes: usize,
    /// Bytes other than zero behind that: a batch that a crash has cut off.
    pub torn_bytes: usize,
    /// How it is laid out; `None` of a walk that looked at none.
    pub layout: Option<Layout>,
    /// Its length.
    pub bytes: usize,
}

impl Last {
    /// Whether it is shorter than it was made. A part is made in its full length and shortened when a
    /// later one is there; copies are shortened as well.
    pub fn is_short(&self) -> bool {
        let made = match &self.layout {
            // Nothing was read: it is not known.
            None => 0,
            // Not written down then, and always the same.
            Some(layout) if layout.bytes == 0 => SEGMENT_BYTES as u64,
            Some(layout) => layout.bytes,
        };
        (self.bytes as u64) < made
    }
}

/// A frame, with what is needed to read it.
pub(crate) struct Met<'a> {
    pub frame: &'a Frame<'a>,
    /// Version of the types inside.
    pub version: u32,
    /// Its segment.
    pub file: &'a str,
    pub offset: usize,
    pub layout: &'a Layout,
}

/// Gives every frame from `from` on to `take`, up to the segment that begins at `until`.
pub(crate) fn walk(
    disk: &dyn Disk,
    files: &Files,
    folder: FolderId,
    from: Place,
    until: Option<u64>,
    mut take: impl FnMut(&Met<'_>) -> Result<(), DataError>,
) -> Result<Walked, DataError> {
    let wanted =
        |position: &u64| *position >= from.position && until.is_none_or(|until| *position < until);
    let segments: Vec<u64> = files.segments.iter().copied().filter(wanted).collect();
    let mut walked = Walked {
        place: from,
        frames: 0,
        bytes: 0,
        last: Last {
            position: from.position,
            final_frame: None,
            good_bytes: 0,
            torn_bytes: 0,
            layout: None,
            bytes: 0,
        },
    };
    if segments.first() != Some(&from.position) && until != Some(from.position) {
        let name = segment_name(from.position);
        return Err(DataError::damaged(disk, &name, 0, "it is missing"));
    }
    for (index, position) in segments.iter().copied().enumerate() {
        let name = segment_name(position);
        let bytes = disk.read(&name).map_err(io_of(disk, &name))?;
        let damaged = |offset: usize, what| DataError::damaged(disk, &name, offset as u64, what);
        let found = read_segment_opening(&bytes);
        let found = versions::known(disk, &name, found, "it does not begin as a part of the log");
        let (opened, layout, version) = found?;
        let place = walked.place;
        if opened != (Opening { folder, place }) || position != place.position {
            return Err(damaged(0, "it does not continue what lies before it"));
        }
        let mut offset = BLOCK;
        let mut final_frame = None;
        let broken = loop {
            let rest = bytes.get(offset..).unwrap_or_default();
            match read_frame(folder, layout.format, rest) {
                Found::Nothing => break "a frame is missing",
                Found::Broken(what) => break what,
                Found::Frame(frame) => {
                    let chain = walked.place.chain.next(frame.first, frame.payload);
                    if frame.first != walked.place.position || frame.chain != chain {
                        return Err(damaged(offset, "a frame does not follow the one before it"));
                    }
                    take(&Met {
                        frame: &frame,
                        version,
                        file: &name,
                        offset,
                        layout: &layout,
                    })?;
                    walked.place = Place {
                        position: frame.first + u64::from(frame.count),
                        chain,
                    };
                    walked.frames += 1;
                    walked.bytes += frame.bytes as u64;
                    final_frame = Some(offset);
                    offset += frame.bytes;
                }
            }
        };
        let good = offset.min(bytes.len());
        let rest = &bytes[good..];
        match segments.get(index + 1).copied().or(until) {
            Some(next) if next != walked.place.position => return Err(damaged(good, broken)),
            None if frame_follows(folder, layout.format, rest) => {
                return Err(damaged(good, broken));
            }
            Some(_) | None => {}
        }
        walked.last = Last {
            position,
            final_frame,
            good_bytes: good,
            torn_bytes: rest
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1),
            layout: Some(layout),
            bytes: bytes.len(),
        };
    }
    Ok(walked)
}

/// Whether a whole frame stands anywhere behind the first block.
fn frame_follows(folder: FolderId, format: u32, bytes: &[u8]) -> bool {
    (BLOCK..bytes.len())
        .step_by(BLOCK)
        .any(|at| matches!(read_frame(folder, format, &bytes[at..]), Found::Frame(_)))
}
