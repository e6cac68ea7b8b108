//! Durability: nothing that was acknowledged or shown is lost, whatever happens to the process.
//!
//! The venue is a machine whose inputs are its whole history, so what is written are its inputs:
//! `state` says which, `commit` gathers them into batches and lets answers wait for the sync, `writer`
//! writes a batch as one `frame`, `keeper` turns old log into a `snapshot`, `recover` reads both back.
//!
//! | promise | how |
//! |---|---|
//! | no answer before its inputs are durable | every answer waits until the log is synced up to where it stood when the answer was computed |
//! | no later write can hurt what was synced | frames begin at blocks of their own |
//! | a failed write or sync is never retried | the log refuses everything from then on, and the server ends |
//! | a crash costs nothing that was synced | a batch cut off at the very end is dropped; it was never acknowledged |
//! | damage is never guessed away | checks, a chain over all inputs, refusal with the place |
//! | recovery is bounded | a snapshot after some inputs or parts of the log, made from the log beside the running machine |
//!
//! Files hold everybody's books, and of API keys the digests: the folder has mode 0700, files 0600.

mod archive;
mod backup;
mod commit;
pub(crate) mod data_folder;
mod disk;
mod dump;
mod files;
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
pub use crate::durable::history_reader::{Told, tell};
pub use archive::Retention;
pub use backup::{BackupFacts, Extent, backup, restore};
pub(crate) use commit::{Log, LogState};
pub use dump::{DumpFacts, dump};
pub use load::load;
pub use verify::{Generation, VerifyFacts, verify};

use cambist_host::program;
use disk::Disk;

/// Why a data folder is of no use now.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another process works in it.
    #[error("folder {folder} is in use by another process")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// It is not ours alone, or cannot be used.
    #[error("data folder {0}")]
    Folder(FolderError),
    /// There is no exchange in it.
    #[error("there is no exchange in folder {folder}")]
    Empty {
        /// The folder.
        folder: String,
    },
    /// There is something in it.
    #[error("folder {folder} is not empty")]
    NotEmpty {
        /// The folder.
        folder: String,
    },
    /// Folders that were named together are of several exchanges.
    #[error("{folder} is of another exchange than the folders before it")]
    Others {
        /// The first that does not fit.
        folder: String,
    },
    /// Folders that were named together leave inputs out between them.
    #[error(
        "inputs {from} to {to} are in none of the folders: name the archive that holds them, or leave out what is older than {before}"
    )]
    Gap {
        /// The first input that is missing.
        from: u64,
        /// The first that is there again.
        to: u64,
        /// The folder that begins there.
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
    /// Its time is far ahead of the machine's clock.
    #[error(
        "the exchange in {folder} stands {ahead_s} s ahead of the machine's clock, more than the {max_s} s of data.time_ahead_max_s; nothing was changed. If the machine's clock is wrong, set it right. If it is right, the exchange ran under a wrong one: restore a backup from before, or set data.time_ahead_max_s to at least {ahead_s}: its time then goes on from there, and clients must take the time from it (GET /api/v3/timestamp) instead of from their own clocks"
    )]
    TimeAhead {
        /// The folder.
        folder: String,
        /// By how much, in seconds, rounded up.
        ahead_s: u64,
        /// The bound, in seconds.
        max_s: u64,
    },
    /// The system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "{file} is damaged at byte {offset}: {what}; keep a copy of the folder, then restore a backup with 'cambist venue restore'"
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where it is damaged.
        offset: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// Written by a program that stores what this one does not know.
    #[error(
        "{file} was written by {writer} and holds types that {this} does not know ({found}; it knows versions up to {known}); nothing was changed. {way}", this = program::build().name
    )]
    Version {
        /// The file.
        file: String,
        /// What the file says of itself.
        found: String,
        /// The newest version known here.
        known: u32,
        /// The program that wrote it, where it left its name.
        writer: String,
        /// What to do.
        way: String,
    },
    /// Inputs that were answered in one way lead to other answers now.
    #[error(
        "{file}: inputs {first} and later lead to other answers than were given (written by {writer}; this is {this}); nothing was changed: go on with the program that wrote it", this = program::build().name
    )]
    Diverged {
        /// The file.
        file: String,
        /// Number of the first input of the batch in question.
        first: u64,
        /// The program that wrote it, where it left its name.
        writer: String,
    },
    /// The state does not add up.
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
    /// Whether the folder is wrong as it stands, so that trying again cannot help.
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
        // Made by whoever moved the folder on from what is known here.
        let way = match upgrade::backup_in(disk) {
            Some(copy) => format!(
                "Before it was moved on, everything in it was copied to {copy}: 'cambist venue restore --from {copy} --data NEW_FOLDER' goes back to that, without what was done since; or go on with the program that wrote it"
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

/// Says what was being done when the system refused.
fn io_of(disk: &dyn Disk, name: &str) -> impl FnOnce(io::Error) -> DataError {
    let what = disk.path_of(name);
    move |source| DataError::Io { what, source }
}

/// Inputs that a folder should hold and does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingInputs {
    /// Inputs before the first that is missing.
    pub from: u64,
    /// Inputs before the first that is there again.
    pub to: u64,
}

impl std::fmt::Display for MissingInputs {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "inputs {} to {}", self.from, self.to)
    }
}

/// What recovery met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryFacts {
    /// Inputs since the exchange was made.
    pub position: u64,
    /// Inputs that the snapshot holds.
    pub snapshot_position: u64,
    /// Inputs replayed after it.
    pub replayed: u64,
    /// Batches they were written in.
    pub frames: u64,
    /// Bytes of these.
    pub log_bytes: u64,
    /// Bytes of a batch that a crash had cut off; never acknowledged, and dropped.
    pub torn_bytes: u64,
    /// Newer snapshots that were damaged and not needed.
    pub damaged_snapshots: u64,
    /// Steps in which background traders would ask something else today than they did.
    pub steps_changed: u64,
    /// The newest part, where an earlier program wrote it.
    pub written_by: Option<Earlier>,
    /// What the folder's manifest is of: `live`, `copy` or `archive`; none in folders of earlier programs.
    pub manifest: Option<&'static str>,
    /// Without a manifest, a newest part of the log that is shorter than parts are made: it may have been cut
    /// off, or it is a copy that an earlier program made.
    pub may_be_cut: bool,
    /// Inputs of the history that are missing; a start does without them.
    pub missing: Vec<MissingInputs>,
}

/// An earlier program that wrote a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its name, where it left it.
    pub writer: Option<String>,
    /// Its version of the types inside.
    pub version: u32,
}
