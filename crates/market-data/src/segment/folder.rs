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
        let name = entry?.file_name();
        let number: Option<u64> = name
            .to_str()
            .and_then(|name| name.strip_suffix(ENDING))
            .filter(|stem| stem.len() == 10 && stem.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|stem| stem.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Syncs the folder's entries.
pub fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}
