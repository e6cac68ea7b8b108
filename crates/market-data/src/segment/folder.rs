//! The files of a recording's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ENDING: &str = ".mkt";

/// The path of a segment.
pub fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}{ENDING}"))
}

/// The path of the file that a writer locks.
pub fn lock(folder: &Path) -> PathBuf {
    folder.join("lock")
}

/// Numbers of the segments, lowest first. Other files are ignored.
pub fn list(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(number(Path::new(&entry?.file_name())));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number of a segment; `None` for other files.
pub fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(ENDING)?;
    let is_number = stem.len() == 10 && stem.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| stem.parse().ok())?
}

/// Syncs the folder's entries.
pub fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}
