//! The files of a recording in their folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ENDING: &str = ".mkt";

/// The file of a segment.
pub fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}{ENDING}"))
}

/// The file that a writer holds a lock on.
pub fn lock(folder: &Path) -> PathBuf {
    folder.join("lock")
}

/// Numbers of the segments, lowest first. Other files in the folder are not ours.
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

/// Makes the names in a folder durable.
pub fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}
