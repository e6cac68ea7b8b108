//! Log reader: iterates over frames from a position on, across segments, and stops at the first invalid one.
//!
//! A crash leaves at most one incomplete batch, at the very end: an invalid frame that no valid frame follows. Any
//! other mismatch is damage and is refused with its position, because the data after it cannot be trusted.

use crate::durable::data_folder::SEGMENT_BYTES;
use crate::durable::disk::Disk;
use crate::durable::files::{Files, segment_name};
use crate::durable::log_format::{BLOCK, FolderId, Found, Frame, Layout, Place, read_frame};
use crate::durable::log_format::{Opening, read_segment_opening};
use crate::durable::{DataError, io_of, versions};

/// How far the log was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub place: Place,
    pub frames: u64,
    /// Bytes of valid frames.
    pub bytes: u64,
    /// The last segment that was read.
    pub last: Last,
}

/// The last segment that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    /// Its first position.
    pub position: u64,
    /// Offset of its last valid frame, if it has one.
    pub final_frame: Option<usize>,
    /// Offset after its last valid frame.
    pub good_bytes: usize,
    /// Non-zero bytes after that: an incomplete batch.
    pub torn_bytes: usize,
    /// Its format; `None` if no segment was read.
    pub layout: Option<Layout>,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Last {
    /// Whether the segment is shorter than it was created. A segment is created with its full length and truncated when
    /// a later one exists; segments in copies are truncated as well.
    pub fn is_short(&self) -> bool {
        let made = match &self.layout {
            // No segment was read.
            None => 0,
            // Not recorded in format 1, and always the same.
            Some(layout) if layout.bytes == 0 => SEGMENT_BYTES as u64,
            Some(layout) => layout.bytes,
        };
        (self.bytes as u64) < made
    }
}

/// A frame with its context.
pub(crate) struct FrameInSegment<'a> {
    pub frame: &'a Frame<'a>,
    /// Version of the stored types.
    pub version: u32,
    /// Name of its segment.
    pub file: &'a str,
    pub offset: usize,
    pub layout: &'a Layout,
}

/// Passes every frame from `from` on to `take`, up to the segment that begins at `until`.
pub(crate) fn read_frames(
    disk: &dyn Disk,
    files: &Files,
    folder: FolderId,
    from: Place,
    until: Option<u64>,
    mut take: impl FnMut(&FrameInSegment<'_>) -> Result<(), DataError>,
) -> Result<LogEnd, DataError> {
    let wanted =
        |position: &u64| *position >= from.position && until.is_none_or(|until| *position < until);
    let segments: Vec<u64> = files.segments.iter().copied().filter(wanted).collect();
    let mut log_end = LogEnd {
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
        let found = versions::known(
            disk,
            &name,
            found,
            "it does not begin with the header of a log segment",
        );
        let (opened, layout, version) = found?;
        let place = log_end.place;
        if opened != (Opening { folder, place }) || position != place.position {
            return Err(damaged(0, "it does not continue the segment before it"));
        }
        let mut offset = BLOCK;
        let mut final_frame = None;
        let broken = loop {
            let rest = bytes.get(offset..).unwrap_or_default();
            match read_frame(folder, layout.format, rest) {
                Found::Nothing => break "a frame is missing",
                Found::Broken(what) => break what,
                Found::Frame(frame) => {
                    let chain = log_end.place.chain.next(frame.first, frame.payload);
                    if frame.first != log_end.place.position || frame.chain != chain {
                        return Err(damaged(offset, "a frame does not follow the one before it"));
                    }
                    take(&FrameInSegment {
                        frame: &frame,
                        version,
                        file: &name,
                        offset,
                        layout: &layout,
                    })?;
                    log_end.place = Place {
                        position: frame.first + u64::from(frame.count),
                        chain,
                    };
                    log_end.frames += 1;
                    log_end.bytes += frame.bytes as u64;
                    final_frame = Some(offset);
                    offset += frame.bytes;
                }
            }
        };
        let good = offset.min(bytes.len());
        let rest = &bytes[good..];
        match segments.get(index + 1).copied().or(until) {
            Some(next) if next != log_end.place.position => return Err(damaged(good, broken)),
            None if frame_follows(folder, layout.format, rest) => {
                return Err(damaged(good, broken));
            }
            Some(_) | None => {}
        }
        log_end.last = Last {
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
    Ok(log_end)
}

/// Whether a valid frame starts at any later block.
fn frame_follows(folder: FolderId, format: u32, bytes: &[u8]) -> bool {
    (BLOCK..bytes.len())
        .step_by(BLOCK)
        .any(|at| matches!(read_frame(folder, format, &bytes[at..]), Found::Frame(_)))
}
