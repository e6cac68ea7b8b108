//! Durability: whatever happens to the process, nothing that was acknowledged or shown is lost.
//!
//! The venue is a deterministic state machine, so its inputs are its whole history. `state` defines the inputs,
//! `commit` collects them into batches and makes answers wait for the sync, `log_writer` appends a batch as a frame
//! (`log_format`), `snapshotter` turns old log into a `snapshot`, and `recover` reads snapshot and log.
//!
//! | guarantee | mechanism |
//! |---|---|
//! | no answer before its inputs are durable | every answer waits until the log is synced up to its length when the answer was computed |
//! | no later write can damage what was synced | frames begin at blocks of their own |
//! | a failed write or sync is never retried | the log refuses everything from then on, and the server ends |
//! | a crash costs nothing that was synced | a batch cut off at the very end is dropped; it was never acknowledged |
//! | damage is never repaired by guessing | checksums, a chain over all inputs, refusal with the position |
//! | recovery time is bounded | a snapshot after a number of inputs or segments, made from the log while the machine runs |
//!
//! The files hold the books of all accounts and the digests of API keys: the folder has mode 0700, files 0600.

mod archive;
mod backup;
mod commit;
pub(crate) mod data_folder;
mod disk;
mod dump;
mod files;
mod free_space;
mod generations;
mod history;
pub(crate) mod history_reader;
pub(crate) mod json_values;
mod load;
pub(crate) mod log_format;
pub(crate) mod log_reader;
pub(crate) mod log_writer;
mod manifest;
mod recover;
mod snapshot;
pub(crate) mod snapshotter;
#[cfg(test)]
mod tests;
mod upgrade;
mod verify;
mod versions;

use std::fmt::Display;
use std::io;

use cambist_host::folder::FolderError;

pub use crate::durable::data_folder::{DataFolder, Durable};
pub use crate::durable::history_reader::{HistoryRecord, read_history};
pub use archive::Retention;
pub use backup::{BackupFacts, Extent, backup, restore};
pub(crate) use commit::{Log, LogState};
pub use dump::{DumpFacts, dump};
pub(crate) use free_space::FreeSpace;
pub use load::load;
pub use verify::{Generation, VerifyFacts, verify};

use cambist_host::program;
use disk::Disk;

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another process holds its lock.
    #[error("folder {folder} is in use by another process")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// The folder is not private, or cannot be used.
    #[error("data folder {0}")]
    Folder(FolderError),
    /// It contains no exchange.
    #[error("there is no exchange in folder {folder}")]
    Empty {
        /// The folder.
        folder: String,
    },
    /// It is not empty.
    #[error("folder {folder} is not empty")]
    NotEmpty {
        /// The folder.
        folder: String,
    },
    /// Folders given together belong to different exchanges.
    #[error("{folder} is of another exchange than the folders before it")]
    OtherExchange {
        /// The first folder of another exchange.
        folder: String,
    },
    /// Inputs are missing between folders given together.
    #[error(
        "inputs {from} to {to} are in none of the folders: name the archive that holds them, or leave out what is older than {before}"
    )]
    Gap {
        /// The first input that is missing.
        from: u64,
        /// The first input after the gap.
        to: u64,
        /// The folder that begins after the gap.
        before: String,
    },
    /// A dump cannot be made or loaded.
    #[error("{place}: {what}")]
    Dump {
        /// The folder, or the dump and the line.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// The exchange's time is too far ahead of the system clock.
    #[error(
        "the exchange in {folder} is {ahead_s} s ahead of the system clock, more than the {max_s} s of data.time_ahead_max_s; nothing was changed. If the system clock is wrong, correct it. If it is right, the exchange ran under a wrong clock: restore an older backup, or set data.time_ahead_max_s to at least {ahead_s}: the exchange's time then continues from where it was, and clients must read it (GET /api/v3/timestamp) instead of using their own clocks"
    )]
    TimeAhead {
        /// The folder.
        folder: String,
        /// The lead in seconds, rounded up.
        ahead_s: u64,
        /// The bound, in seconds.
        max_s: u64,
    },
    /// An I/O error.
    #[error("{what}: {source}")]
    Io {
        /// The operation or file.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The content of a file is damaged.
    #[error(
        "{file} is damaged at byte {offset}: {what}; keep a copy of the folder, then restore a backup with 'cambist venue restore'"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Offset of the damage.
        offset: u64,
        /// The mismatch.
        what: &'static str,
    },
    /// Written by a program with later stored types or a later format.
    #[error(
        "{file} was written by {writer} and holds types that {this} does not know ({found}; it knows versions up to {known}); nothing was changed. {way}", this = program::build().name
    )]
    Version {
        /// The file.
        file: String,
        /// Version or format of the file.
        found: String,
        /// The newest version that this program supports.
        known: u32,
        /// The program that wrote it, if the file names it.
        writer: String,
        /// What to do.
        way: String,
    },
    /// Replaying inputs gives other answers than those that were acknowledged.
    #[error(
        "{file}: replaying inputs {first} and later gives other answers than the ones sent (written by {writer}; this is {this}); nothing was changed. Continue with the program that wrote it", this = program::build().name
    )]
    Diverged {
        /// The file.
        file: String,
        /// Number of the first input of the batch.
        first: u64,
        /// The program that wrote it, if the file names it.
        writer: String,
    },
    /// The recovered state fails its audit.
    #[error("the recovered books do not add up: {0}")]
    Audit(String),
}

impl From<FolderError> for DataError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::InUse(folder) => Self::InUse {
                folder: folder.display().to_string(),
            },
            other => Self::Folder(other),
        }
    }
}

impl DataError {
    /// Whether the folder itself is wrong, so that a retry cannot help.
    pub fn is_misconfigured(&self) -> bool {
        matches!(self, Self::Folder(error) if error.is_misconfigured())
    }

    fn io(what: impl Display, source: io::Error) -> Self {
        Self::Io {
            what: what.to_string(),
            source,
        }
    }

    fn damaged(disk: &dyn Disk, file: &str, offset: u64, what: &'static str) -> Self {
        Self::Damaged {
            file: disk.path_of(file),
            offset,
            what,
        }
    }

    fn version(disk: &dyn Disk, file: &str, layout: log_format::Layout) -> Self {
        let found = match (layout.format, layout.version) {
            (format, _) if format > log_format::FORMAT => format!("layout {format}"),
            (_, 0) => format!("types {:#x}", layout.types),
            (_, version) => format!("version {version}"),
        };
        // The copy was made by the program that upgraded the folder.
        let way = match upgrade::backup_in(disk) {
            Some(copy) => format!(
                "Before it was upgraded, everything in it was copied to {copy}: 'cambist venue restore --from {copy} --data NEW_FOLDER' restores that state, without everything since; or continue with the program that wrote it"
            ),
            None => "Go on with the program that wrote it, or a later one".to_owned(),
        };
        Self::Version {
            file: disk.path_of(file),
            found,
            known: versions::history().newest(),
            writer: layout
                .writer
                .unwrap_or_else(|| "another program".to_owned()),
            way,
        }
    }
}

/// Adds the file to an I/O error.
fn io_of(disk: &dyn Disk, name: &str) -> impl FnOnce(io::Error) -> DataError {
    let what = disk.path_of(name);
    move |source| DataError::Io { what, source }
}

/// Adds an operation that concerns no single file, and the folder, to an I/O error.
fn io_in(disk: &dyn Disk, doing: &str) -> impl FnOnce(io::Error) -> DataError {
    let what = format!("{doing} {}", disk.name());
    move |source| DataError::Io { what, source }
}

/// Inputs that a folder should hold and does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingInputs {
    /// Number of inputs before the gap.
    pub from: u64,
    /// Number of inputs before the end of the gap.
    pub to: u64,
}

impl std::fmt::Display for MissingInputs {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "inputs {} to {}", self.from, self.to)
    }
}

/// Statistics of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryFacts {
    /// Inputs since the exchange was created.
    pub position: u64,
    /// Inputs in the snapshot.
    pub snapshot_position: u64,
    /// Inputs replayed after the snapshot.
    pub replayed: u64,
    /// Batches of the replayed inputs.
    pub frames: u64,
    /// Bytes of these batches.
    pub log_bytes: u64,
    /// Bytes of an incomplete batch at the end; never acknowledged, and dropped.
    pub torn_bytes: u64,
    /// Newer snapshots that were damaged; an older one was used.
    pub damaged_snapshots: u64,
    /// Steps in which the simulated traders of this version would act differently.
    pub steps_changed: u64,
    /// The program and version of the newest segment, if an earlier version wrote it.
    pub written_by: Option<Earlier>,
    /// Kind of the folder's manifest: `live`, `copy` or `archive`; `None` in folders of earlier programs.
    pub manifest: Option<&'static str>,
    /// There is no manifest, and the newest segment is shorter than segments are created: the log may be truncated, or
    /// the folder is a copy that an earlier program made.
    pub may_be_cut: bool,
    /// Inputs missing from the history; a start does not need them.
    pub missing: Vec<MissingInputs>,
}

/// An earlier version that wrote a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Name of the program, if the file has it.
    pub writer: Option<String>,
    /// Version of its stored types.
    pub version: u32,
}
