//! Small files of a state folder that are written whole: numbers that were given out, names, blocks, requests.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file whole or not at all, for its owner alone, and waits until it is on disk.
///
/// # Errors
/// Of the disk; the file is then what it was.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    // The name is on disk with its folder.
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
