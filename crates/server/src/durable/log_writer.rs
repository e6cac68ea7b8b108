//! Log writer: appends one frame after the other and syncs each before it counts, segment by segment. Threads and
//! waiting are in `commit`.

use std::io;
use std::sync::Arc;

use crate::durable::disk::{Disk, DiskFile};
use crate::durable::files::{LOG_PARTIAL, segment_name};
use crate::durable::log_format::{
    BLOCK, Batch, FolderId, Opening, Place, frame, frame_bytes, segment_opening,
};
use crate::durable::manifest::{Kind, Listed, Manifest, Point};
use crate::durable::versions;

/// Zeros are written in blocks of this size.
const FILL_BYTES: usize = 1 << 20;

/// The end of the log.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    folder: FolderId,
    segment_bytes: usize,
    file: Box<dyn DiskFile>,
    /// Offset of the next frame.
    offset: usize,
    /// Bytes of the segment, all of which were written once.
    size: usize,
    place: Place,
    buffer: Vec<u8>,
}

impl Writer {
    /// Creates a segment at `place`, replacing an empty one at the same position.
    pub fn begin(
        disk: Arc<dyn Disk>,
        folder: FolderId,
        place: Place,
        segment_bytes: usize,
    ) -> io::Result<Self> {
        let (file, size) = begin_segment(&*disk, folder, place, segment_bytes)?;
        Ok(Self {
            disk,
            folder,
            segment_bytes,
            file,
            offset: BLOCK,
            size,
            place,
            buffer: Vec::new(),
        })
    }

    /// The current position; everything before it is durable.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Writes and syncs a batch; true if it created a new segment. After an error nothing more may be written, because
    /// the content of the disk is unknown.
    pub fn write(&mut self, batch: &Batch) -> io::Result<bool> {
        let needed = frame_bytes(batch.payload.len());
        let full = self.offset + needed > self.size;
        if full {
            let least = self.segment_bytes.max(BLOCK + needed);
            (self.file, self.size) = begin_segment(&*self.disk, self.folder, self.place, least)?;
            self.offset = BLOCK;
        }
        let after = frame(self.folder, self.place, batch, &mut self.buffer);
        self.file.write_at(self.offset as u64, &self.buffer)?;
        self.file.sync()?;
        self.offset += needed;
        self.place = after;
        Ok(full)
    }
}

/// Creates the segment under a temporary name, so that a segment with its final name is complete. It is filled with
/// zeros: overwriting them changes neither length nor block map of the file, which makes syncs cheap.
fn begin_segment(
    disk: &dyn Disk,
    folder: FolderId,
    place: Place,
    bytes: usize,
) -> io::Result<(Box<dyn DiskFile>, usize)> {
    let size = bytes.next_multiple_of(BLOCK).max(2 * BLOCK);
    let mut file = disk.create(LOG_PARTIAL)?;
    let opened = Opening { folder, place };
    file.write_at(
        0,
        &segment_opening(&opened, versions::written(), size as u64),
    )?;
    let zeros = vec![0; FILL_BYTES.min(size - BLOCK)];
    let mut offset = BLOCK;
    while offset < size {
        let part = zeros.len().min(size - offset);
        file.write_at(offset as u64, &zeros[..part])?;
        offset += part;
    }
    file.sync()?;
    let name = segment_name(place.position);
    disk.rename(LOG_PARTIAL, &name)?;
    disk.sync_folder()?;
    // Listed once it exists, so that a manifest never lists a segment that never existed.
    let mut manifest = Manifest::new(Kind::Live, folder, None, Point::new(place, None));
    manifest.files.push(Listed {
        name,
        bytes: size as u64,
        sha256: None,
    });
    manifest.write(disk)?;
    Ok((file, size))
}
