//! Snapshots: the whole state in one file, written under a temporary name, synced and renamed.
//!
//! ```text
//! file  = opening block ("CAMBVSNP"), chunk*, an empty chunk
//! chunk = length:u32 check:u32 bytes
//! ```

use std::io::{self, Write};

use super::disk::{Disk, DiskFile};
use super::files::{SNAPSHOT_PARTIAL, snapshot_name};
use super::versions::{self, history};
use super::{DataError, io_of};
use crate::durable::log_format::{BLOCK, Layout, Opening, opening, read_opening};
use crate::state::State;

const MAGIC: [u8; 8] = *b"CAMBVSNP";
const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_HEAD_BYTES: usize = 8;

/// Writes a snapshot atomically and returns its size in bytes.
pub(crate) fn write(disk: &dyn Disk, opened: &Opening, state: &State) -> io::Result<u64> {
    let mut file = disk.create(SNAPSHOT_PARTIAL)?;
    file.write_at(0, &opening(MAGIC, opened, versions::written(), 0))?;
    let chunks = Chunks {
        file: &mut *file,
        offset: BLOCK as u64,
        bytes: Vec::with_capacity(CHUNK_BYTES),
    };
    let mut chunks = postcard::to_io(state, chunks).map_err(io::Error::other)?;
    chunks.flush()?;
    // An empty chunk marks the end.
    chunks.put()?;
    let size = chunks.offset;
    file.sync()?;
    disk.rename(SNAPSHOT_PARTIAL, &snapshot_name(opened.place.position))?;
    disk.sync_folder()?;
    Ok(size)
}

/// Reads the header of a snapshot, whatever the condition of the rest.
pub(crate) fn opening_of(disk: &dyn Disk, position: u64) -> Result<Opening, DataError> {
    let name = snapshot_name(position);
    let bytes = disk.read(&name).map_err(io_of(disk, &name))?;
    let found = read_opening(MAGIC, &bytes);
    let known = versions::known(
        disk,
        &name,
        found,
        "it does not begin with the header of a snapshot",
    );
    Ok(known?.0)
}

/// Reads a snapshot of this or an earlier version.
pub(crate) fn read(disk: &dyn Disk, position: u64) -> Result<(Opening, Layout, State), DataError> {
    let name = snapshot_name(position);
    let mut bytes = disk.read(&name).map_err(io_of(disk, &name))?;
    let damaged = |offset: usize, what| DataError::damaged(disk, &name, offset as u64, what);
    let found = read_opening(MAGIC, &bytes);
    let found = versions::known(
        disk,
        &name,
        found,
        "it does not begin with the header of a snapshot",
    );
    let (opened, layout, version) = found?;
    if opened.place.position != position {
        return Err(damaged(0, "its header is for another position"));
    }
    let (mut at, mut filled) = (BLOCK, 0);
    loop {
        let head = bytes.get(at..at + CHUNK_HEAD_BYTES);
        let Some((length, check)) = head.and_then(|head| {
            let (length, check) = head.split_at(4);
            Some((
                u32::from_le_bytes(length.try_into().ok()?) as usize,
                u32::from_le_bytes(check.try_into().ok()?),
            ))
        }) else {
            return Err(damaged(at, "it ends too early"));
        };
        let begin = at + CHUNK_HEAD_BYTES;
        let Some(chunk) = bytes.get(begin..begin.saturating_add(length)) else {
            return Err(damaged(at, "it ends within a chunk"));
        };
        if crc32fast::hash(chunk) != check {
            return Err(damaged(at, "the checksum of a chunk does not match"));
        }
        if length == 0 {
            break;
        }
        // Closes the gaps of the chunk headers, so that the state is contiguous.
        bytes.copy_within(begin..begin + length, filled);
        filled += length;
        at = begin + length;
    }
    let mut rest = &bytes[..filled];
    let state = history().read(versions::STATE, version, &mut rest);
    match state {
        Ok(state) if rest.is_empty() => Ok((opened, layout, state)),
        Ok(_) => Err(damaged(BLOCK, "it has more data than a state")),
        Err(error) => {
            tracing::error!(file = %name, %error, "a snapshot has valid checksums but cannot be decoded");
            Err(damaged(
                BLOCK,
                "its checksums are valid but it cannot be decoded as a state",
            ))
        }
    }
}

struct Chunks<'a> {
    file: &'a mut dyn DiskFile,
    offset: u64,
    bytes: Vec<u8>,
}

impl Chunks<'_> {
    fn put(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.bytes.len()).map_err(io::Error::other)?;
        let mut head = [0; CHUNK_HEAD_BYTES];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&crc32fast::hash(&self.bytes).to_le_bytes());
        self.file.write_at(self.offset, &head)?;
        self.file.write_at(self.offset + 8, &self.bytes)?;
        self.offset += 8 + u64::from(length);
        self.bytes.clear();
        Ok(())
    }
}

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = bytes.len().min(CHUNK_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..part]);
        if self.bytes.len() == CHUNK_BYTES {
            self.put()?;
        }
        Ok(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            self.put()
        }
    }
}
