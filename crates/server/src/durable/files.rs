//! File names of a data folder.

use super::disk::Disk;
use super::{DataError, io_of};

/// A segment being written.
pub(crate) const LOG_PARTIAL: &str = "log.partial";

/// A snapshot being written.
pub(crate) const SNAPSHOT_PARTIAL: &str = "snapshot.partial";

/// A manifest being written.
pub(crate) const MANIFEST_PARTIAL: &str = "manifest.partial";

/// A list of generations being written.
pub(crate) const GENERATIONS_PARTIAL: &str = "generations.partial";

/// Marks a copy that is not complete.
pub(crate) const COPY_PARTIAL: &str = "copy.partial";

/// Incomplete files of a folder in use.
const PARTIAL: [&str; 4] = [
    LOG_PARTIAL,
    SNAPSHOT_PARTIAL,
    MANIFEST_PARTIAL,
    GENERATIONS_PARTIAL,
];

const SEGMENT: &str = "log-";
const SNAPSHOT: &str = "snapshot-";

/// The segment that begins after `position` inputs.
pub(crate) fn segment_name(position: u64) -> String {
    format!("{SEGMENT}{position:016x}")
}

/// The snapshot after `position` inputs.
pub(crate) fn snapshot_name(position: u64) -> String {
    format!("{SNAPSHOT}{position:016x}")
}

/// The files of a folder, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    pub segments: Vec<u64>,
    pub snapshots: Vec<u64>,
    pub partial: Vec<String>,
}

impl Files {
    /// Lists a folder. Files with other names are ignored.
    pub fn of(disk: &dyn Disk) -> Result<Self, DataError> {
        let mut files = Self::default();
        for name in disk.list().map_err(io_of(disk, "listing"))? {
            if let Some(position) = number(&name, SEGMENT) {
                files.segments.push(position);
            } else if let Some(position) = number(&name, SNAPSHOT) {
                files.snapshots.push(position);
            } else if PARTIAL.contains(&name.as_str()) {
                files.partial.push(name);
            }
        }
        files.segments.sort_unstable();
        files.snapshots.sort_unstable();
        Ok(files)
    }
}

fn number(name: &str, prefix: &str) -> Option<u64> {
    let digits = name.strip_prefix(prefix)?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (format!("{number:016x}") == digits).then_some(number)
}
