//! The end of the log: one frame after the other, each synced before it counts, segment after segment.
//! Which thread does this, and who waits for it, is not known here.

use std::io;
use std::sync::Arc;

use crate::durable::disk::{Disk, DiskFile};
use crate::durable::files::{LOG_PARTIAL, segment_name};
use crate::durable::log_format::{
    BLOCK, Batch, FolderId, Opening, Place, frame, frame_bytes, segment_opening,
};
use crate::durable::manifest::{Kind, Listed, Manifest, Point};
use crate::durable::versions;

/// Zeros are written this many at a time.
const FILL_BYTES: usize = 1 << 20;

/// The end of the log.
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    folder: FolderId,
    segment_bytes: usize,
    file: Box<dyn DiskFile>,
    /// Where the next frame goes.
    offset: usize,
    /// Bytes of the segment, all of them written once.
    size: usize,
    place: Place,
    buffer: Vec<u8>,
}

impl Writer {
    /// Begins a segment at `place`. An empty one of that place is replaced.
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

    /// Where the history stands; all of it is durable.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Writes and syncs a batch; true if it began a new segment. After an error nothing more may be
    /// written: what is on the disk is no longer known.
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

/// Makes a segment under another name first, so that one with a good name is whole. It is filled with
/// zeros: writing over them changes no length and no map of the file, so that syncs are cheap.
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
    // Named once it is there: a manifest never names a part that never was.
    let mut manifest = Manifest::new(Kind::Live, folder, None, Point::new(place, None));
    manifest.files.push(Listed {
        name,
        bytes: size as u64,
        sha256: None,
    });
    manifest.write(disk)?;
    Ok((file, size))
}
